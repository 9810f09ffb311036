//===- Sanitize.cpp - What each slot of the arena holds -------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For executables built with `--sanitize=points`. Beside each granule of the
// arena, as many bytes as the narrowest element, stands which point was written
// there last: a tensor, the element of its value, and the point's coordinates.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

using namespace timerl::rt;

namespace {
struct Shadow {
  const char *arena;
  int64_t granule; ///< bytes
  int64_t words;   ///< of an entry
  /// An entry a granule: the tensor's name (null: never written), the element,
  /// coordinates.
  int64_t *entries;
  bool descends;
} shadow;
} // namespace

void timerl::rt::prepareSanitizer(const char *arena, bool descends) {
  if (!program.sanitizeGranule)
    return;
  shadow.arena = arena;
  shadow.granule = program.sanitizeGranule;
  shadow.words = 2 + program.sanitizeRank;
  int64_t count = program.arenaBytes / shadow.granule + 1;
  shadow.entries = static_cast<int64_t *>(
      calloc(static_cast<size_t>(count * shadow.words), sizeof(int64_t)));
  if (!shadow.entries)
    fail(1, "out of memory: the sanitizer needs %" PRId64 " bytes",
         count * shadow.words * 8);
  shadow.descends = descends;
}

static void printPoint(char *text, const char *tensor, int64_t rank,
                       const int64_t *point) {
  int used = snprintf(text, 512, "%s[", tensor);
  for (int64_t k = 0; k < rank && used < 480; ++k)
    used += snprintf(text + used, 512 - used, k ? ", %" PRId64 : "%" PRId64,
                     point[k]);
  snprintf(text + used, 512 - used, "]");
}

/// How many coordinates the points of a tensor have, as it was written.
static int64_t rankOf(const int64_t *entry) { return entry[1] >> 48; }

extern "C" int64_t timerl_rt_descends() { return shadow.descends; }

extern "C" void timerl_rt_wrote(const char *tensor, int64_t rank,
                                const int64_t *point, const char *first,
                                int64_t elements, int64_t stride,
                                int64_t width) {
  for (int64_t k = 0; k < elements; ++k)
    for (int64_t byte = 0; byte < width; byte += shadow.granule) {
      int64_t at = first - shadow.arena + k * stride + byte;
      if (at < 0 || at >= program.arenaBytes) {
        char text[512];
        printPoint(text, tensor, rank, point);
        fail(1, "%s is written outside of the arena", text);
      }
      int64_t *entry = shadow.entries + at / shadow.granule * shadow.words;
      entry[0] = static_cast<int64_t>(reinterpret_cast<intptr_t>(tensor));
      entry[1] = k | rank << 48;
      memcpy(entry + 2, point, sizeof(int64_t) * rank);
    }
}

extern "C" void timerl_rt_expect(const char *place, const char *tensor,
                                 int64_t rank, const int64_t *point,
                                 const char *first, int64_t elements,
                                 int64_t stride, int64_t width) {
  for (int64_t k = 0; k < elements; ++k)
    for (int64_t byte = 0; byte < width; byte += shadow.granule) {
      int64_t at = first - shadow.arena + k * stride + byte;
      char wanted[512], found[512];
      if (at < 0 || at >= program.arenaBytes) {
        printPoint(wanted, tensor, rank, point);
        fail(1, "%s reads %s, whose slot lies outside of the arena", place,
             wanted);
      }
      const int64_t *entry =
          shadow.entries + at / shadow.granule * shadow.words;
      auto *name =
          reinterpret_cast<const char *>(static_cast<intptr_t>(entry[0]));
      if (name && !strcmp(name, tensor) && entry[1] == (k | rank << 48) &&
          !memcmp(entry + 2, point, sizeof(int64_t) * rank))
        continue;
      printPoint(wanted, tensor, rank, point);
      if (!name)
        fail(1, "%s reads %s, whose slot was never written", place, wanted);
      printPoint(found, name, rankOf(entry), entry + 2);
      fail(1, "%s reads %s, but its slot holds %s", place, wanted, found);
    }
}
