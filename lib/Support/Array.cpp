//===- Array.cpp - Immutable n-dimensional arrays -------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Support/Array.h"
#include <cstring>
#include <limits>
#include <new>
#include <string>

using namespace timerl;

unsigned timerl::sizeOf(DType dtype) {
  return dispatch(dtype, [](auto zero) -> unsigned { return sizeof(zero); });
}

llvm::StringRef timerl::nameOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "f32";
  case DType::F64:
    return "f64";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  case DType::U8:
    return "u8";
  case DType::Bool:
    return "bool";
  }
  return "";
}

int64_t timerl::sizeOf(llvm::ArrayRef<int64_t> shape) {
  int64_t size = 1;
  for (int64_t length : shape)
    size *= length;
  return size;
}

std::string timerl::typeText(DType dtype, llvm::ArrayRef<int64_t> shape) {
  std::string text = nameOf(dtype).str();
  for (size_t k = 0; k < shape.size(); ++k)
    text += (k ? ", " : "[") + std::to_string(shape[k]);
  return shape.empty() ? text : text + "]";
}

Array::Array(DType dtype, llvm::ArrayRef<int64_t> shape) {
  int64_t size = 1, bytes;
  bool tooLarge = false;
  for (int64_t length : shape)
    tooLarge |= __builtin_mul_overflow(size, length, &size);
  tooLarge |= __builtin_mul_overflow(
      size, static_cast<int64_t>(timerl::sizeOf(dtype)), &bytes);
  if (tooLarge || bytes > std::numeric_limits<int64_t>::max() / 2)
    throw std::bad_alloc();
  void *memory =
      ::operator new(sizeof(Buffer) + shape.size() * sizeof(int64_t) + bytes);
  buffer =
      new (memory) Buffer{0, dtype, static_cast<uint32_t>(shape.size()), size};
  if (!shape.empty())
    std::memcpy(buffer.get() + 1, shape.data(), shape.size() * sizeof(int64_t));
}

Array Array::zeros(DType dtype, llvm::ArrayRef<int64_t> shape) {
  Array array(dtype, shape);
  std::memset(array.mutableRaw(), 0, array.byteSize());
  return array;
}

Array Array::reshaped(llvm::ArrayRef<int64_t> shape) const {
  Array array(dtype(), shape);
  std::memcpy(array.mutableRaw(), raw(), byteSize());
  return array;
}
