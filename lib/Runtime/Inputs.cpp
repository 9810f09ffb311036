//===- Inputs.cpp - Tensors read from NPY files and NPZ archives ----------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

using namespace timerl::rt;

namespace {
/// Bytes of a file, or a part of them.
struct Bytes {
  const unsigned char *data;
  uint64_t size;
};
} // namespace

static uint64_t number(const unsigned char *at, int bytes) {
  uint64_t value = 0;
  for (int k = 0; k < bytes; ++k)
    value |= static_cast<uint64_t>(at[k]) << (8 * k);
  return value;
}

static Bytes readWhole(const Input &input) {
  FILE *file = fopen(input.path, "rb");
  if (!file)
    fail(1, "can't read `%s`: %s", input.path, strerror(errno));
  unsigned char *data = nullptr;
  uint64_t size = 0, capacity = 0;
  for (;;) {
    if (size == capacity) {
      capacity = capacity ? 2 * capacity : 1 << 16;
      data = static_cast<unsigned char *>(allocate(data, capacity));
    }
    size_t read = fread(data + size, 1, capacity - size, file);
    if (!read)
      break;
    size += read;
  }
  if (ferror(file))
    fail(1, "can't read `%s`: %s", input.path, strerror(errno));
  fclose(file);
  return {data, size};
}

/// The entry NAME.npy of a zip archive, by its central directory.
static Bytes entryOf(const Input &input, Bytes archive) {
  auto damaged = [&] { fail(1, "`%s` is a damaged NPZ archive", input.path); };
  uint64_t end = archive.size;
  for (uint64_t back = 22; back <= archive.size && back <= 22 + 65535; ++back)
    if (!memcmp(archive.data + archive.size - back, "PK\5\6", 4)) {
      end = archive.size - back;
      break;
    }
  if (end == archive.size)
    damaged();
  uint64_t entries = number(archive.data + end + 10, 2),
           at = number(archive.data + end + 16, 4);
  size_t length = strlen(input.name);
  for (uint64_t k = 0; k < entries; ++k) {
    if (at + 46 > archive.size || memcmp(archive.data + at, "PK\1\2", 4))
      damaged();
    uint64_t nameBytes = number(archive.data + at + 28, 2);
    if (at + 46 + nameBytes > archive.size)
      damaged();
    const char *name = reinterpret_cast<const char *>(archive.data + at + 46);
    if (nameBytes == length + 4 && !memcmp(name, input.name, length) &&
        !memcmp(name + length, ".npy", 4)) {
      if (number(archive.data + at + 10, 2) != 0)
        fail(1, "`%s` is compressed; write it with numpy.savez", input.path);
      uint64_t size = number(archive.data + at + 24, 4),
               local = number(archive.data + at + 42, 4);
      if (local + 30 > archive.size)
        damaged();
      local += 30 + number(archive.data + local + 26, 2) +
               number(archive.data + local + 28, 2);
      if (local > archive.size || size > archive.size - local)
        damaged();
      return {archive.data + local, size};
    }
    at += 46 + nameBytes + number(archive.data + at + 30, 2) +
          number(archive.data + at + 32, 2);
  }
  fail(1, "`%s` holds no array `%s`", input.path, input.name);
}

/// `f32[4, 2]`.
static void describe(char *text, size_t size, const Input &input) {
  static const char *const names[] = {"bool", "i32", "i64", "f32", "f64", "u8"};
  size_t used =
      snprintf(text, size, "%s[", names[static_cast<int>(input.type)]);
  for (int k = 0; k < input.rank && used < size; ++k)
    used += snprintf(text + used, size - used, "%s%" PRId64, k ? ", " : "",
                     input.axes[k]);
  if (used < size)
    snprintf(text + used, size - used, "]");
}

static void load(Input &input) {
  char expected[1024];
  describe(expected, sizeof(expected), input);
  if (!input.path)
    fail(2, "input `%s` needs a file of type %s: --input %s=FILE", input.name,
         expected, input.name);
  Bytes file = readWhole(input);
  if (file.size > 4 && !memcmp(file.data, "PK\3\4", 4))
    file = entryOf(input, file);
  if (file.size < 12 || memcmp(file.data, "\x93NUMPY", 6))
    fail(1, "`%s` is no NPY file and no NPZ archive", input.path);
  int wide = file.data[6] > 1 ? 4 : 2;
  uint64_t start = 8 + wide, length = number(file.data + 8, wide);
  if (start + length > file.size)
    fail(1, "`%s` is a damaged NPY file", input.path);
  char *header = static_cast<char *>(allocate(nullptr, length + 1));
  memcpy(header, file.data + start, length);
  header[length] = 0;

  static const char *const descr[] = {"'|b1'", "'<i4'", "'<i8'",
                                      "'<f4'", "'<f8'", "'|u1'"};
  static const int widths[] = {1, 4, 8, 4, 8, 1};
  bool fits = strstr(header, descr[static_cast<int>(input.type)]) &&
              !strstr(header, "'fortran_order': True");
  // The shape, one extent after the other.
  uint64_t elements = 1;
  char *at = strstr(header, "'shape':");
  at = at ? strchr(at, '(') : nullptr;
  for (int k = 0; at && k < input.rank; ++k) {
    char *next = nullptr;
    long long extent = strtoll(at + 1, &next, 10);
    fits &= next != at + 1 && extent == input.axes[k];
    elements *= static_cast<uint64_t>(input.axes[k]);
    at = next + strspn(next, " ");
    if (k + 1 < input.rank && *at != ',')
      at = nullptr;
  }
  fits &= at != nullptr;
  if (at) {
    at += input.rank ? strspn(at, ", ") : 1;
    fits &= *at == ')';
  }
  if (!fits) {
    header[strcspn(header, "\n")] = 0;
    fail(1, "input `%s` needs %s, but `%s` holds %s", input.name, expected,
         input.path, header);
  }
  uint64_t bytes = elements * widths[static_cast<int>(input.type)];
  if (file.size - start - length < bytes)
    fail(1, "`%s` ends too early", input.path);
  free(header);
  input.data = allocate(nullptr, bytes);
  memcpy(input.data, file.data + start + length, bytes);
}

void timerl::rt::loadInputs(int64_t *slots) {
  for (int k = 0; k < program.numInputs; ++k) {
    load(program.inputs[k]);
    memcpy(slots + program.numArgs + k, &program.inputs[k].data,
           sizeof(void *));
  }
}
