//===- KernelsShape.cpp - Operations on shapes and along axes -------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

using namespace timerl;
using namespace timerl::interp;
using llvm::SmallVector;

static const char *bytesAt(const Array &x, int64_t element) {
  return static_cast<const char *>(x.raw()) + element * sizeOf(x.dtype());
}
static char *bytesAt(Array &x, int64_t element) {
  return static_cast<char *>(x.mutableRaw()) + element * sizeOf(x.dtype());
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

SmallVector<int64_t> interp::stridesOf(Shape shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (int64_t axis = shape.size() - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

SmallVector<int64_t> interp::broadcastStrides(Shape from, Shape to) {
  SmallVector<int64_t> own = stridesOf(from), strides(to.size(), 0);
  size_t added = to.size() - from.size();
  for (size_t axis = 0; axis < from.size(); ++axis)
    if (from[axis] == to[added + axis])
      strides[added + axis] = own[axis];
  return strides;
}

Array interp::gather(const Array &x, Shape shape,
                     llvm::ArrayRef<int64_t> strides, int64_t base) {
  return dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Array result(x.dtype(), shape);
    forEachOffset(shape, strides, base, [&](int64_t k, int64_t offset) {
      result.mutableData<T>()[k] = x.data<T>()[offset];
    });
    return result;
  });
}

Array interp::iota(DType dtype, Shape shape, int64_t axis) {
  Array result(dtype, shape);
  SmallVector<int64_t> strides(shape.size(), 0);
  strides[axis] = 1;
  dispatch(dtype, [&](auto zero) {
    forEachOffset(shape, strides, 0, [&](int64_t k, int64_t offset) {
      result.mutableData<decltype(zero)>()[k] =
          static_cast<decltype(zero)>(offset);
    });
  });
  return result;
}

Array interp::concat(llvm::ArrayRef<Array> parts, int64_t axis, DType dtype,
                     Shape shape) {
  Array result(dtype, shape);
  int64_t outer = sizeOf(shape.take_front(axis)),
          inner = sizeOf(shape.drop_front(axis + 1)), at = 0;
  for (const Array &part : parts) {
    int64_t run = part.shape()[axis] * inner;
    for (int64_t k = 0; k < outer; ++k)
      std::memcpy(bytesAt(result, k * shape[axis] * inner + at),
                  bytesAt(part, k * run), run * sizeOf(dtype));
    at += run;
  }
  return result;
}

Array interp::take(const Array &x, const Array &indices) {
  SmallVector<int64_t> shape(indices.shape());
  llvm::append_range(shape, x.shape().drop_front());
  Array result(x.dtype(), shape);
  int64_t inner = sizeOf(x.shape().drop_front()), length = x.shape()[0];
  if (length == 0) // Nothing to clamp to.
    return Array::zeros(x.dtype(), shape);
  for (int64_t k = 0; k < indices.size(); ++k) {
    int64_t row = std::clamp<int64_t>(indices.getInt(k), 0, length - 1);
    std::memcpy(bytesAt(result, k * inner), bytesAt(x, row * inner),
                inner * sizeOf(x.dtype()));
  }
  return result;
}

Array interp::scatter(const Array &base, const Array &indices,
                      const Array &updates, bool add) {
  Array result = base.reshaped(base.shape());
  int64_t inner = sizeOf(base.shape().drop_front());
  dispatch(base.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t k = 0; k < indices.size(); ++k) {
      int64_t row = indices.getInt(k);
      if (row < 0 || row >= base.shape()[0])
        continue;
      T *to = result.mutableData<T>() + row * inner;
      const T *from = updates.data<T>() + k * inner;
      for (int64_t j = 0; j < inner; ++j)
        if constexpr (std::is_floating_point_v<T>)
          to[j] = add ? to[j] + from[j] : from[j];
        else
          to[j] = static_cast<T>(static_cast<uint64_t>(add ? to[j] : T(0)) +
                                 static_cast<uint64_t>(from[j]));
    }
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Accumulator::Accumulator(trl::Reduction reduction, DType dtype, Shape shape)
    : reduction(reduction), floating(isFloat(dtype)), shape(shape) {
  int64_t size = sizeOf(shape);
  double real = 0;
  int64_t integer = 0;
  switch (reduction) {
  case trl::Reduction::sum:
  case trl::Reduction::any:
    break;
  case trl::Reduction::prod:
  case trl::Reduction::all:
    real = integer = 1;
    break;
  case trl::Reduction::max:
  case trl::Reduction::argmax:
    real = -std::numeric_limits<double>::infinity();
    dispatch(dtype, [&](auto zero) {
      if constexpr (std::is_integral_v<decltype(zero)>)
        integer = std::numeric_limits<decltype(zero)>::min();
    });
    break;
  case trl::Reduction::min:
    real = std::numeric_limits<double>::infinity();
    dispatch(dtype, [&](auto zero) {
      if constexpr (std::is_integral_v<decltype(zero)>)
        integer = std::numeric_limits<decltype(zero)>::max();
    });
    break;
  }
  if (floating)
    reals.assign(size, real);
  else
    integers.assign(size, integer);
  if (reduction == trl::Reduction::argmax)
    labels.assign(size, -1);
}

/// Whether a new value takes the place of the present extreme: NaN beats all,
/// the first one stays on a tie.
static bool exceeds(double value, double present) {
  return std::isnan(value) ? !std::isnan(present) : value > present;
}
static bool exceeds(int64_t value, int64_t present) { return value > present; }

void Accumulator::add(int64_t to, const Array &x, int64_t from, int64_t label) {
  auto into = [&](auto &total, auto value) {
    using T = std::remove_reference_t<decltype(total)>;
    switch (reduction) {
    case trl::Reduction::sum:
      if constexpr (std::is_integral_v<T>)
        total = static_cast<uint64_t>(total) + static_cast<uint64_t>(value);
      else
        total += value;
      break;
    case trl::Reduction::prod:
      if constexpr (std::is_integral_v<T>)
        total = static_cast<uint64_t>(total) * static_cast<uint64_t>(value);
      else
        total *= value;
      break;
    case trl::Reduction::max:
      if (exceeds(value, total))
        total = value;
      break;
    case trl::Reduction::min:
      if (std::isnan(static_cast<double>(value)) || value < total)
        total = std::isnan(static_cast<double>(total)) ? total : value;
      break;
    case trl::Reduction::any:
      total = total != 0 || value != 0;
      break;
    case trl::Reduction::all:
      total = total != 0 && value != 0;
      break;
    case trl::Reduction::argmax:
      if (labels[to] < 0 || exceeds(value, total)) {
        total = value;
        labels[to] = label;
      }
      break;
    }
  };
  if (floating)
    into(reals[to], x.getDouble(from));
  else
    into(integers[to], x.getInt(from));
}

Array Accumulator::finish(DType dtype) const {
  Array result(dtype, shape);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T *out = result.mutableData<T>();
    for (int64_t k = 0; k < result.size(); ++k)
      out[k] = !labels.empty() ? static_cast<T>(labels[k])
               : floating      ? static_cast<T>(reals[k])
                               : static_cast<T>(integers[k]);
  });
  return result;
}

Array interp::reduce(trl::Reduction reduction, const Array &x,
                     llvm::ArrayRef<int64_t> axes, DType dtype, Shape shape) {
  // The result's strides seen from the operand: 0 along reduced axes.
  SmallVector<int64_t> own = stridesOf(shape), strides;
  for (unsigned axis = 0, kept = 0; axis < x.rank(); ++axis)
    strides.push_back(llvm::is_contained(axes, axis) ? 0 : own[kept++]);
  int64_t stride = axes.empty() ? 1 : stridesOf(x.shape())[axes.back()],
          length = axes.empty() ? 1 : x.shape()[axes.back()];
  Accumulator accumulator(reduction, x.dtype(), shape);
  forEachOffset(x.shape(), strides, 0, [&](int64_t k, int64_t to) {
    accumulator.add(to, x, k, k / stride % length);
  });
  return accumulator.finish(dtype);
}

Array interp::matmul(const Array &x, const Array &y, Shape shape) {
  int64_t inner = x.shape().back(),
          rows = x.rank() > 1 ? x.shape().end()[-2] : 1,
          columns = y.rank() > 1 ? y.shape().back() : 1,
          batches = x.rank() > 2 ? sizeOf(x.shape().drop_back(2)) : 1;
  Array result(x.dtype(), shape);
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    using Sum =
        std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    std::vector<Sum> row(columns);
    T *out = result.mutableData<T>();
    for (int64_t batch = 0; batch < batches; ++batch)
      for (int64_t i = 0; i < rows; ++i) {
        std::fill(row.begin(), row.end(), Sum(0));
        const T *left = x.data<T>() + (batch * rows + i) * inner,
                *right = y.data<T>() + batch * inner * columns;
        for (int64_t k = 0; k < inner; ++k, right += columns)
          for (int64_t j = 0; j < columns; ++j)
            row[j] += static_cast<Sum>(left[k]) * static_cast<Sum>(right[j]);
        for (Sum value : row)
          *out++ = static_cast<T>(value);
      }
  });
  return result;
}

Array interp::cumsum(const Array &x, int64_t axis, bool reverse) {
  Array result(x.dtype(), x.shape());
  int64_t length = x.shape()[axis], stride = stridesOf(x.shape())[axis];
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    using Sum =
        std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    for (int64_t k = 0; k < x.size(); ++k) {
      if (k / stride % length != 0)
        continue; // Not the first element of a line.
      Sum total = 0;
      for (int64_t j = 0; j < length; ++j) {
        int64_t at = k + (reverse ? length - 1 - j : j) * stride;
        total += static_cast<Sum>(x.data<T>()[at]);
        result.mutableData<T>()[at] = static_cast<T>(total);
      }
    }
  });
  return result;
}

Array interp::argsort(const Array &x) {
  Array result(DType::I32, x.shape());
  int64_t length = x.shape().back();
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t line = 0; line + length <= x.size() && length;
         line += length) {
      const T *in = x.data<T>() + line;
      int32_t *order = result.mutableData<int32_t>() + line;
      std::iota(order, order + length, 0);
      std::stable_sort(order, order + length, [&](int32_t a, int32_t b) {
        if (in[b] != in[b]) // NaN comes last.
          return in[a] == in[a];
        return in[a] < in[b];
      });
    }
  });
  return result;
}
