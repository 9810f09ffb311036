//===- Array.h - Immutable n-dimensional arrays -----------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contiguous row-major array with an element type and a shape: what the
// interpreter computes with and what NPY files hold. Copies share their data;
// an array is written only by who made it, before it is shared.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_SUPPORT_ARRAY_H
#define TIMERL_SUPPORT_ARRAY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace timerl {

enum class DType : uint8_t { F32, F64, I32, I64, U8, Bool };

inline bool isFloat(DType dtype) { return dtype <= DType::F64; }
/// Bytes of an element; a bool takes one.
unsigned sizeOf(DType dtype);
/// `f32`, `bool`, ...
llvm::StringRef nameOf(DType dtype);

/// Calls `body` with a zero of the C++ type that holds the elements.
template <typename Body>
decltype(auto) dispatch(DType dtype, Body &&body) {
  switch (dtype) {
  case DType::F32:
    return body(float());
  case DType::F64:
    return body(double());
  case DType::I32:
    return body(int32_t());
  case DType::I64:
    return body(int64_t());
  case DType::U8:
    return body(uint8_t());
  case DType::Bool:
    break;
  }
  return body(bool());
}

class Array {
public:
  /// No array at all: false in a condition.
  Array() = default;
  /// Elements are not initialised. Throws std::bad_alloc, also for a size that
  /// no memory has.
  Array(DType dtype, llvm::ArrayRef<int64_t> shape);
  static Array zeros(DType dtype, llvm::ArrayRef<int64_t> shape);

  template <typename T>
  static Array scalar(DType dtype, T value) {
    Array array(dtype, {});
    dispatch(dtype, [&](auto zero) {
      *array.mutableData<decltype(zero)>() = static_cast<decltype(zero)>(value);
    });
    return array;
  }

  explicit operator bool() const { return buffer != nullptr; }
  DType dtype() const { return buffer->dtype; }
  llvm::ArrayRef<int64_t> shape() const {
    return {reinterpret_cast<const int64_t *>(buffer.get() + 1), buffer->rank};
  }
  unsigned rank() const { return buffer->rank; }
  int64_t size() const { return buffer->size; }
  int64_t byteSize() const { return size() * sizeOf(dtype()); }

  const void *raw() const {
    return reinterpret_cast<const int64_t *>(buffer.get() + 1) + buffer->rank;
  }
  void *mutableRaw() { return const_cast<void *>(raw()); }
  template <typename T>
  const T *data() const {
    return static_cast<const T *>(raw());
  }
  template <typename T>
  T *mutableData() {
    return static_cast<T *>(mutableRaw());
  }

  /// Element k in row-major order, as a double or an integer.
  double getDouble(int64_t k) const {
    return dispatch(dtype(), [&](auto zero) {
      return static_cast<double>(data<decltype(zero)>()[k]);
    });
  }
  int64_t getInt(int64_t k) const {
    return dispatch(dtype(), [&](auto zero) {
      return static_cast<int64_t>(data<decltype(zero)>()[k]);
    });
  }
  bool getBool() const { return getInt(0) != 0; }

  /// The same elements under another shape of equal size.
  Array reshaped(llvm::ArrayRef<int64_t> shape) const;

private:
  /// Followed by the shape, then the elements.
  struct Buffer {
    uint32_t references;
    DType dtype;
    uint32_t rank;
    int64_t size;
    void Retain() { ++references; }
    void Release() {
      if (--references == 0)
        ::operator delete(this);
    }
  };
  static_assert(sizeof(Buffer) % sizeof(int64_t) == 0);
  llvm::IntrusiveRefCntPtr<Buffer> buffer;
};

/// Elements of a shape.
int64_t sizeOf(llvm::ArrayRef<int64_t> shape);

/// `f32[4, 2]`.
std::string typeText(DType dtype, llvm::ArrayRef<int64_t> shape);

} // namespace timerl

#endif // TIMERL_SUPPORT_ARRAY_H
