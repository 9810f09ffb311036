//===- Records.cpp - Every value of a run ---------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the form that `timerlc --interpret --check` reads: an array over the box
// that holds a tensor's points, a mask of those that were computed, and the
// box's corner.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

using namespace timerl::rt;

static bool recording = false;

static char *nameWith(const char *name, const char *suffix) {
  size_t length = strlen(name) + strlen(suffix) + 1;
  auto *text = static_cast<char *>(allocate(nullptr, length));
  snprintf(text, length, "%s%s", name, suffix);
  return text;
}

static void makeRoom(Save &array) {
  double bytes = static_cast<double>(widthOf(array.type));
  for (int k = 0; k < array.rank; ++k)
    bytes *= static_cast<double>(array.axes[k]);
  if (bytes > 0x1p36)
    fail(1, "`%s` has too many points to be recorded", array.name);
  array.bytes = static_cast<uint64_t>(bytes);
  array.data = static_cast<char *>(allocate(nullptr, array.bytes));
  memset(array.data, 0, array.bytes);
}

void timerl::rt::prepareRecords() {
  if (!program.numRecords)
    fail(2, "`--record`: this program was not compiled with --recordable");
  recording = true;
  for (int k = 0; k < program.numRecords; ++k) {
    Record &record = program.records[k];
    makeRoom(record.values);
    record.mask = {nameWith(record.values.name, "@mask"),
                   Type::Bool,
                   1,
                   record.extents,
                   record.positions,
                   nullptr,
                   0};
    makeRoom(record.mask);
    auto *rank = static_cast<int64_t *>(allocate(nullptr, sizeof(int64_t)));
    *rank = record.positions;
    record.corner = {nameWith(record.values.name, "@lo"),
                     Type::I64,
                     1,
                     rank,
                     1,
                     reinterpret_cast<char *>(record.least),
                     sizeof(int64_t) * record.positions};
  }
}

/// Elements `first`, ... of a value at each of `lanes` points, whose
/// coordinates stand as in timerl_rt_draw; `stride` elements lie between two of
/// one lane.
extern "C" void timerl_rt_record(int64_t number, const int64_t *points,
                                 const char *data, int64_t first,
                                 int64_t elements, int64_t stride,
                                 int64_t lanes) {
  if (!recording)
    return;
  Record &record = program.records[number];
  uint64_t width = widthOf(record.values.type);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t place = 0;
    for (int k = 0; k < record.positions; ++k)
      place = place * record.extents[k] + points[k * lanes + lane] -
              record.least[k];
    record.mask.data[place] = 1;
    for (int64_t k = 0; k < elements; ++k)
      memcpy(record.values.data + (place * elements + k) * width,
             data + ((first + k) * stride + lane) * width, width);
  }
}

bool timerl::rt::writeRecords(const char *path) {
  int count = 0;
  auto *arrays = static_cast<Save *>(
      allocate(nullptr, sizeof(Save) * 3 * program.numRecords));
  for (int k = 0; k < program.numRecords; ++k) {
    arrays[count++] = program.records[k].values;
    arrays[count++] = program.records[k].mask;
    if (program.records[k].positions)
      arrays[count++] = program.records[k].corner;
  }
  bool good = writeArchive(path, arrays, count);
  free(arrays);
  return good;
}
