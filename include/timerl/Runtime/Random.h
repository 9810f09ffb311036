//===- Random.h - Counter-based random draws --------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bits behind `uniform`, `normal`, `randint` and `permutation`, shared by
// the interpreter and the executables; no dependency but libm. A draw is a pure
// function of (seed, site, point, element), so no schedule, number of threads
// or target can change it.
//
//   generator  Philox4x32-10: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E.
//              Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
//   mix(h, v)  = f(h ^ f(v + 0x9e3779b97f4a7c15)), where f is the finaliser of
//              SplitMix64.
//   key        = mix(mix(0, seed + seed_offset), fnv1a64(site)); then, for
//              every coordinate of the point before the last three, in order,
//              key = mix(key, coordinate). Its low half is the first key word.
//   counter    word 0: the block, see below. Words 1 to 3: the last three
//              coordinates of the point, in order, modulo 2^32; 0 where the
//              point has fewer than three.
//   element e  of 32-bit draws (f32 uniform): block e / 4, word e % 4.
//              Of 64-bit draws (f64 uniform, normal, randint): block e / 2,
//              words 2 * (e % 2) and the next, low half first.
//
//   uniform f32    (w >> 8) * 2^-24
//   uniform f64    (w64 >> 11) * 2^-53
//   normal         sqrt(-2 log(1 - u1)) cos(2 pi u2) in double, with u1 and u2
//                  the two words times 2^-32; rounded once for f32
//   randint        lo + floor(w64 * (hi - lo) / 2^64); lo when hi <= lo
//   permutation    identity, then for k = n - 1 down to 1 entry k is swapped
//                  with entry randint(0, k + 1) of element k (Fisher-Yates)
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_RUNTIME_RANDOM_H
#define TIMERL_RUNTIME_RANDOM_H

#include <math.h>
#include <stdint.h>

/// Where a draw stands: everything but the element.
typedef struct {
  uint64_t key;
  uint32_t point[3]; ///< Counter words 1 to 3.
} timerl_random_site;

/// One block of four words.
static inline void timerl_philox4x32(const uint32_t counter[4], uint64_t key,
                                     uint32_t out[4]) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0,
             n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

static inline uint64_t timerl_random_finalise(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

static inline uint64_t timerl_random_mix(uint64_t h, uint64_t v) {
  return timerl_random_finalise(
      h ^ timerl_random_finalise(v + 0x9E3779B97F4A7C15u));
}

/// FNV-1a of the site's bytes; a compiler may compute it ahead of time.
static inline uint64_t timerl_random_hash(const char *site, uint64_t length) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (uint64_t k = 0; k < length; ++k)
    hash = (hash ^ (unsigned char)site[k]) * 0x100000001B3u;
  return hash;
}

/// `seed` is the run's seed plus the site's offset, `hash` the site's.
static inline timerl_random_site
timerl_random_at(uint64_t seed, uint64_t hash, const int64_t *point, int rank) {
  timerl_random_site site;
  site.key = timerl_random_mix(timerl_random_mix(0, seed), hash);
  int k = 0;
  for (; k < rank - 3; ++k)
    site.key = timerl_random_mix(site.key, (uint64_t)point[k]);
  for (int word = 0; word < 3; ++word, ++k)
    site.point[word] = k < rank ? (uint32_t)(uint64_t)point[k] : 0;
  return site;
}

static inline void timerl_random_block(const timerl_random_site *site,
                                       uint64_t block, uint32_t out[4]) {
  uint32_t counter[4] = {(uint32_t)block, site->point[0], site->point[1],
                         site->point[2]};
  timerl_philox4x32(counter, site->key, out);
}

static inline uint64_t timerl_random_word64(const timerl_random_site *site,
                                            uint64_t element) {
  uint32_t words[4];
  timerl_random_block(site, element / 2, words);
  const uint32_t *pair = words + 2 * (element % 2);
  return pair[0] | (uint64_t)pair[1] << 32;
}

static inline float timerl_uniform_f32(const timerl_random_site *site,
                                       uint64_t element) {
  uint32_t words[4];
  timerl_random_block(site, element / 4, words);
  return (float)(words[element % 4] >> 8) * 0x1p-24f;
}

static inline double timerl_uniform_f64(const timerl_random_site *site,
                                        uint64_t element) {
  return (double)(timerl_random_word64(site, element) >> 11) * 0x1p-53;
}

static inline double timerl_normal_f64(const timerl_random_site *site,
                                       uint64_t element) {
  uint64_t word = timerl_random_word64(site, element);
  double u1 = (double)(uint32_t)word * 0x1p-32,
         u2 = (double)(word >> 32) * 0x1p-32;
  return sqrt(-2.0 * log(1.0 - u1)) * cos(6.283185307179586477 * u2);
}

static inline float timerl_normal_f32(const timerl_random_site *site,
                                      uint64_t element) {
  return (float)timerl_normal_f64(site, element);
}

static inline int64_t timerl_randint(const timerl_random_site *site,
                                     uint64_t element, int64_t lo, int64_t hi) {
  if (hi <= lo)
    return lo;
  uint64_t range = (uint64_t)hi - (uint64_t)lo;
  unsigned __int128 product =
      (unsigned __int128)timerl_random_word64(site, element) * range;
  return (int64_t)((uint64_t)lo + (uint64_t)(product >> 64));
}

/// Fills `out` with a permutation of 0 .. n - 1.
static inline void timerl_permutation(const timerl_random_site *site,
                                      int32_t *out, int64_t n) {
  for (int64_t k = 0; k < n; ++k)
    out[k] = (int32_t)k;
  for (int64_t k = n - 1; k >= 1; --k) {
    int64_t other = timerl_randint(site, (uint64_t)k, 0, k + 1);
    int32_t held = out[k];
    out[k] = out[other];
    out[other] = held;
  }
}

#endif // TIMERL_RUNTIME_RANDOM_H
