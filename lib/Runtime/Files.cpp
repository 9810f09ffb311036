//===- Files.cpp - Output files and saved arrays --------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace timerl::rt;

FILE *timerl::rt::beginFile(const char *path, char **temporary) {
  size_t length = strlen(path) + 8;
  *temporary = static_cast<char *>(allocate(nullptr, length));
  snprintf(*temporary, length, "%s.XXXXXX", path);
  int descriptor = mkstemp(*temporary);
  if (descriptor < 0)
    return nullptr;
  // mkstemp's files are their owner's alone.
  mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  return fdopen(descriptor, "w");
}

bool timerl::rt::finishFile(FILE *file, char *temporary, const char *path) {
  bool good = !ferror(file);
  good &= !fclose(file);
  good = good && !rename(temporary, path);
  if (!good) {
    int reason = errno;
    unlink(temporary);
    errno = reason;
  }
  free(temporary);
  return good;
}

//===----------------------------------------------------------------------===//
// Saved arrays
//===----------------------------------------------------------------------===//

uint64_t timerl::rt::widthOf(Type type) {
  return type == Type::Bool || type == Type::U8   ? 1
         : type == Type::I32 || type == Type::F32 ? 4
                                                  : 8;
}

void timerl::rt::prepareSaves() {
  for (int k = 0; k < program.numSaves; ++k) {
    Save &save = program.saves[k];
    save.bytes = widthOf(save.type);
    for (int n = 0; n < save.rank; ++n)
      save.bytes *= save.axes[n];
    save.data = static_cast<char *>(allocate(nullptr, save.bytes));
    memset(save.data, 0, save.bytes);
  }
}

extern "C" void timerl_rt_save(int64_t number, int64_t point,
                               const void *value) {
  Save &save = program.saves[number];
  if (!save.data)
    return;
  uint64_t bytes = save.bytes / save.points;
  memcpy(save.data + point * bytes, value, bytes);
  int64_t points = save.points;
  for (int k = 0; points > 1; ++k) {
    points /= save.axes[k];
    int64_t index = point / points;
    point -= index * points;
    if (save.reached[k] >= 0 && save.reached[k] <= index)
      save.reached[k] = index + 1;
  }
}

/// Axes whose length the run gives end where the points did.
static void fitToPoints(Save &save) {
  if (!save.points)
    return;
  uint64_t bytes = save.bytes;
  int rank = 0;
  for (int64_t points = save.points; points > 1; ++rank)
    points /= save.axes[rank];
  bytes /= save.points;
  int64_t count = 1;
  for (int k = 0; k < rank; ++k)
    count *= save.reached[k] >= 0 ? save.reached[k] : save.axes[k];
  // Ascending: each value moves down.
  for (int64_t to = 0; to < count; ++to) {
    int64_t from = 0, stride = 1, rest = to;
    for (int k = rank - 1; k >= 0; --k) {
      int64_t extent = save.reached[k] >= 0 ? save.reached[k] : save.axes[k];
      from += rest % extent * stride;
      rest /= extent;
      stride *= save.axes[k];
    }
    if (from != to)
      memcpy(save.data + to * bytes, save.data + from * bytes, bytes);
  }
  for (int k = 0; k < rank; ++k)
    if (save.reached[k] >= 0)
      save.axes[k] = save.reached[k];
  save.points = count;
  save.bytes = count * bytes;
}

/// CRC-32 (ISO 3309), a bit at a time over the reflected polynomial.
static uint32_t addCrc(uint32_t crc, const void *data, uint64_t bytes) {
  static uint32_t table[256];
  if (!table[1])
    for (uint32_t k = 0; k < 256; ++k) {
      uint32_t value = k;
      for (int bit = 0; bit < 8; ++bit)
        value = (value >> 1) ^ (value & 1 ? 0xEDB88320u : 0);
      table[k] = value;
    }
  auto *at = static_cast<const unsigned char *>(data);
  crc = ~crc;
  for (uint64_t k = 0; k < bytes; ++k)
    crc = table[(crc ^ at[k]) & 255] ^ (crc >> 8);
  return ~crc;
}

/// The header of an NPY file, format 1.0, padded to 64 bytes.
static int writeHeader(char *header, const Save &save) {
  static const char *const descr[] = {"|b1", "<i4", "<i8", "<f4", "<f8", "|u1"};
  char shape[1024];
  int used = 0;
  shape[0] = 0;
  for (int k = 0; k < save.rank; ++k)
    used += snprintf(shape + used, sizeof(shape) - used,
                     k + 1 < save.rank ? "%" PRId64 ", "
                     : k               ? "%" PRId64
                                       : "%" PRId64 ",",
                     save.axes[k]);
  int length = 10 + sprintf(header + 10,
                            "{'descr': '%s', 'fortran_order': False, "
                            "'shape': (%s), }",
                            descr[static_cast<int>(save.type)], shape);
  while (length % 64 != 63)
    header[length++] = ' ';
  header[length++] = '\n';
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  header[8] = static_cast<char>((length - 10) & 255);
  header[9] = static_cast<char>((length - 10) >> 8);
  return length;
}

/// The bits of a NaN depend on how it came about, which levels of optimisation
/// change: files hold one NaN.
static void unifyNaNs(Save &save) {
  if (save.type == Type::F32) {
    auto *values = reinterpret_cast<float *>(save.data);
    for (uint64_t k = 0; k < save.bytes / sizeof(float); ++k)
      if (isnan(values[k]))
        values[k] = __builtin_nanf("");
  } else if (save.type == Type::F64) {
    auto *values = reinterpret_cast<double *>(save.data);
    for (uint64_t k = 0; k < save.bytes / sizeof(double); ++k)
      if (isnan(values[k]))
        values[k] = __builtin_nan("");
  }
}

bool timerl::rt::writeNpz(const char *path) {
  for (int k = 0; k < program.numSaves; ++k) {
    fitToPoints(program.saves[k]);
    unifyNaNs(program.saves[k]);
  }
  return writeArchive(path, program.saves, program.numSaves);
}

bool timerl::rt::writeArchive(const char *path, const Save *saves,
                              int numSaves) {
  char *temporary;
  FILE *file = beginFile(path, &temporary);
  if (!file)
    return false;
  auto put = [&](FILE *to, uint64_t value, int bytes) {
    for (int k = 0; k < bytes; ++k)
      fputc(static_cast<int>(value >> (8 * k) & 255), to);
  };
  // A stored zip archive; sizes and offsets have 32 bits.
  char *directory = nullptr;
  size_t directoryBytes = 0;
  FILE *entries = open_memstream(&directory, &directoryBytes);
  if (!entries)
    fail(1, "out of memory");
  uint64_t offset = 0;
  for (int k = 0; k < numSaves; ++k) {
    const Save &save = saves[k];
    char header[2048];
    int headerBytes = writeHeader(header, save);
    uint64_t size = headerBytes + save.bytes, name = strlen(save.name) + 4;
    if (offset + size + name + 30 > UINT32_MAX) {
      fclose(file);
      unlink(temporary);
      fail(1, "can't write `%s`: saved arrays of more than 4 GiB", path);
    }
    uint32_t crc =
        addCrc(addCrc(0, header, headerBytes), save.data, save.bytes);
    auto common = [&](FILE *to) {
      put(to, 20, 2);     // Version that reads it.
      put(to, 0x0800, 2); // Names are UTF-8.
      put(to, 0, 2);      // Stored.
      put(to, 0, 2);      // Midnight
      put(to, 0x21, 2);   // of 1 January 1980.
      put(to, crc, 4);
      put(to, size, 4);
      put(to, size, 4);
      put(to, name, 2);
      put(to, 0, 2);
    };
    put(file, 0x04034B50, 4);
    common(file);
    fprintf(file, "%s.npy", save.name);
    fwrite(header, 1, headerBytes, file);
    fwrite(save.data, 1, save.bytes, file);
    put(entries, 0x02014B50, 4);
    put(entries, 20, 2);
    common(entries);
    put(entries, 0, 10); // No comment, disk or attributes.
    put(entries, offset, 4);
    fprintf(entries, "%s.npy", save.name);
    offset += 30 + name + size;
  }
  fclose(entries);
  fwrite(directory, 1, directoryBytes, file);
  put(file, 0x06054B50, 4);
  put(file, 0, 4);
  put(file, numSaves, 2);
  put(file, numSaves, 2);
  put(file, directoryBytes, 4);
  put(file, offset, 4);
  put(file, 0, 2);
  free(directory);
  return finishFile(file, temporary, path);
}
