//===- Draws.cpp - Random draws of generated code -------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "timerl/Runtime/Random.h"

/// Fills `out` with `count` draws at each of `lanes` points, the lanes of a
/// draw next to each other; `points` has the first coordinates of all points,
/// then the second ones, and so on. `kind` is twice the distribution (uniform,
/// normal, randint, permutation) plus one for 64-bit elements.
extern "C" void timerl_rt_draw(int64_t kind, void *out, int64_t count,
                               uint64_t hash, const int64_t *points,
                               int64_t rank, int64_t seedOffset, int64_t lo,
                               int64_t hi, int64_t lanes) {
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t point[32];
    for (int64_t k = 0; k < rank; ++k)
      point[k] = points[k * lanes + lane];
    timerl_random_site site =
        timerl_random_at(timerl::rt::program.seed + (uint64_t)seedOffset, hash,
                         point, static_cast<int>(rank));
    if (kind == 6)
      return timerl_permutation(&site, static_cast<int32_t *>(out), count);
    for (int64_t k = 0; k < count; ++k) {
      int64_t at = k * lanes + lane;
      switch (kind) {
      case 0:
        static_cast<float *>(out)[at] = timerl_uniform_f32(&site, k);
        break;
      case 1:
        static_cast<double *>(out)[at] = timerl_uniform_f64(&site, k);
        break;
      case 2:
        static_cast<float *>(out)[at] = timerl_normal_f32(&site, k);
        break;
      case 3:
        static_cast<double *>(out)[at] = timerl_normal_f64(&site, k);
        break;
      case 4:
        static_cast<int32_t *>(out)[at] =
            static_cast<int32_t>(timerl_randint(&site, k, lo, hi));
        break;
      default:
        static_cast<int64_t *>(out)[at] = timerl_randint(&site, k, lo, hi);
      }
    }
  }
}
