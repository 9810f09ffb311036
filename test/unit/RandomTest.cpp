//===- RandomTest.cpp - Counter-based random draws ------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Runtime/Random.h"
#include "catch2/catch.hpp"
#include <algorithm>
#include <cstring>
#include <vector>

static timerl_random_site siteOf(const char *name, int64_t point,
                                 uint64_t seed = 0) {
  return timerl_random_at(seed, timerl_random_hash(name, strlen(name)), &point,
                          1);
}

TEST_CASE("Philox4x32-10 gives the vectors published with Random123") {
  struct {
    uint32_t counter[4], key[2], expected[4];
  } table[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (auto &row : table) {
    uint32_t out[4];
    timerl_philox4x32(row.counter, row.key[0] | uint64_t(row.key[1]) << 32,
                      out);
    CHECK(std::equal(out, out + 4, row.expected));
  }
}

/// Pearson's statistic of counts that should be equal.
static double chiSquare(const std::vector<int> &counts) {
  double total = 0, result = 0;
  for (int count : counts)
    total += count;
  double expected = total / counts.size();
  for (int count : counts)
    result += (count - expected) * (count - expected) / expected;
  return result;
}
/// Within five standard deviations of the statistic's mean.
static bool plausible(const std::vector<int> &counts) {
  double freedom = counts.size() - 1;
  return std::fabs(chiSquare(counts) - freedom) < 5 * std::sqrt(2 * freedom);
}

TEST_CASE("uniform draws are uniform over elements, points, sites and seeds") {
  std::vector<int> byElement(64), byPoint(64), bySeed(64), f64(64);
  for (int k = 0; k < 64000; ++k) {
    auto site = siteOf("a.0", 7);
    ++byElement[int(timerl_uniform_f32(&site, k) * 64)];
    ++f64[int(timerl_uniform_f64(&site, k) * 64)];
    site = siteOf("a.0", k);
    ++byPoint[int(timerl_uniform_f32(&site, 0) * 64)];
    site = siteOf("a.0", 7, k);
    ++bySeed[int(timerl_uniform_f32(&site, 0) * 64)];
  }
  CHECK(plausible(byElement));
  CHECK(plausible(byPoint));
  CHECK(plausible(bySeed));
  CHECK(plausible(f64));
}

TEST_CASE("neighbouring sites, points and elements are independent") {
  std::vector<int> sites(256), points(256), elements(256), far(256);
  auto cell = [](float a, float b) { return int(a * 16) * 16 + int(b * 16); };
  for (int k = 0; k < 128000; ++k) {
    auto here = siteOf("a.0", k), other = siteOf("a.1", k),
         next = siteOf("a.0", k + 1);
    float u = timerl_uniform_f32(&here, 0);
    ++sites[cell(u, timerl_uniform_f32(&other, 0))];
    ++points[cell(u, timerl_uniform_f32(&next, 0))];
    ++elements[cell(u, timerl_uniform_f32(&here, 1))];
    int64_t a[] = {k, 1, 2, 3, 4}, b[] = {k + 1, 1, 2, 3, 4};
    auto first = timerl_random_at(0, 1, a, 5),
         second = timerl_random_at(0, 1, b, 5);
    ++far[cell(timerl_uniform_f32(&first, 0), timerl_uniform_f32(&second, 0))];
  }
  CHECK(plausible(sites));
  CHECK(plausible(points));
  CHECK(plausible(elements));
  CHECK(plausible(far));
}

TEST_CASE("normal draws have the moments of the standard normal") {
  auto site = siteOf("n", 0);
  double sum = 0, square = 0, fourth = 0;
  const int count = 200000;
  for (int k = 0; k < count; ++k) {
    double z = timerl_normal_f64(&site, k);
    REQUIRE(std::isfinite(z));
    sum += z;
    square += z * z;
    fourth += z * z * z * z;
  }
  CHECK(std::fabs(sum / count) < 0.012);
  CHECK(std::fabs(square / count - 1) < 0.02);
  CHECK(std::fabs(fourth / count - 3) < 0.12);
}

TEST_CASE("randint covers its range evenly, and the whole of 64 bits") {
  auto site = siteOf("r", 0);
  std::vector<int> counts(10);
  for (int k = 0; k < 50000; ++k) {
    int64_t value = timerl_randint(&site, k, -3, 7);
    REQUIRE(-3 <= value);
    REQUIRE(value < 7);
    ++counts[value + 3];
  }
  CHECK(plausible(counts));
  CHECK(timerl_randint(&site, 0, 5, 5) == 5);
  CHECK(timerl_randint(&site, 0, 5, 2) == 5);
  CHECK(timerl_randint(&site, 0, INT64_MIN, INT64_MAX) !=
        timerl_randint(&site, 1, INT64_MIN, INT64_MAX));
}

TEST_CASE("all permutations are equally likely") {
  std::vector<int> counts(24);
  for (int k = 0; k < 24000; ++k) {
    auto site = siteOf("p", k);
    int32_t order[4];
    timerl_permutation(&site, order, 4);
    int rank = 0;
    for (int i = 0; i < 4; ++i) {
      int smaller = 0;
      for (int j = i + 1; j < 4; ++j)
        smaller += order[j] < order[i];
      rank = rank * (4 - i) + smaller;
    }
    ++counts[rank];
  }
  CHECK(plausible(counts));
}
