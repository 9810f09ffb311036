//===- KernelsElementwise.cpp - Elementwise operations --------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "timerl/Runtime/Random.h"
#include <cmath>
#include <limits>
#include <type_traits>

using namespace timerl;
using namespace timerl::interp;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// Integer arithmetic wraps: it is done on 64 unsigned bits and cut.
template <typename T>
static T wrapped(uint64_t bits) {
  return static_cast<T>(bits);
}

template <typename T>
static T floorDiv(T x, T y) {
  if constexpr (std::is_floating_point_v<T>)
    return std::floor(x / y);
  else if (y == 0)
    return 0;
  else if (std::is_signed_v<T> && y == static_cast<T>(-1))
    return wrapped<T>(0 - static_cast<uint64_t>(x)); // The least one overflows.
  else {
    T quotient = x / y;
    return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
  }
}

template <typename T>
static T floorMod(T x, T y) {
  if constexpr (std::is_floating_point_v<T>)
    return x - y * std::floor(x / y);
  else if (y == 0)
    return 0;
  else
    return wrapped<T>(static_cast<uint64_t>(x) -
                      static_cast<uint64_t>(y) *
                          static_cast<uint64_t>(floorDiv(x, y)));
}

template <typename T>
static T power(T x, T y) {
  if constexpr (std::is_floating_point_v<T>)
    return std::pow(x, y);
  else {
    if (y < 0)
      return x == 1 || (x == static_cast<T>(-1) && y % 2 == 0) ? 1
             : x == static_cast<T>(-1)                         ? x
                                                               : 0;
    uint64_t result = 1, base = static_cast<uint64_t>(x);
    for (uint64_t rest = static_cast<uint64_t>(y); rest; rest >>= 1) {
      if (rest & 1)
        result *= base;
      base *= base;
    }
    return wrapped<T>(result);
  }
}

template <typename T>
static bool isNan(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(x);
  return false;
}
template <typename T>
static T minimum(T x, T y) {
  return isNan(x) ? x : isNan(y) ? y : y < x ? y : x;
}
template <typename T>
static T maximum(T x, T y) {
  return isNan(x) ? x : isNan(y) ? y : x < y ? y : x;
}

template <typename To, typename From>
static To castScalar(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0) && !isNan(x);
  } else if constexpr (std::is_floating_point_v<From> &&
                       std::is_integral_v<To>) {
    if (std::isnan(x))
      return 0;
    // The limits as doubles: the upper one of i64 rounds up to 2^63.
    double value = x;
    if (value >= static_cast<double>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    if (value <= static_cast<double>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    return static_cast<To>(value);
  } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    // Every integer dtype is within i64.
    return static_cast<To>(std::clamp<int64_t>(
        x, std::numeric_limits<To>::min(), std::numeric_limits<To>::max()));
  } else {
    return static_cast<To>(x);
  }
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

template <typename From, typename To, typename Function>
static Array map(const Array &x, DType dtype, Function function) {
  Array result(dtype, x.shape());
  const From *in = x.data<From>();
  To *out = result.mutableData<To>();
  for (int64_t k = 0, size = x.size(); k < size; ++k)
    out[k] = function(in[k]);
  return result;
}

template <typename T, typename To, typename Function>
static Array map2(const Array &x, const Array &y, DType dtype,
                  Function function) {
  Array result(dtype, x.shape());
  const T *left = x.data<T>(), *right = y.data<T>();
  To *out = result.mutableData<To>();
  for (int64_t k = 0, size = x.size(); k < size; ++k)
    out[k] = function(left[k], right[k]);
  return result;
}

Array interp::unary(Opcode code, const Array &x) {
  return dispatch(x.dtype(), [&](auto zero) -> Array {
    using T = decltype(zero);
    auto with = [&](auto function) {
      return map<T, T>(x, x.dtype(), function);
    };
    if constexpr (std::is_floating_point_v<T>) {
      switch (code) {
      case Opcode::Neg:
        return with([](T v) { return -v; });
      case Opcode::Abs:
        return with([](T v) { return std::fabs(v); });
      case Opcode::Exp:
        return with([](T v) { return std::exp(v); });
      case Opcode::Log:
        return with([](T v) { return std::log(v); });
      case Opcode::Sqrt:
        return with([](T v) { return std::sqrt(v); });
      case Opcode::Sin:
        return with([](T v) { return std::sin(v); });
      case Opcode::Cos:
        return with([](T v) { return std::cos(v); });
      case Opcode::Tanh:
        return with([](T v) { return std::tanh(v); });
      case Opcode::Floor:
        return with([](T v) { return std::floor(v); });
      default:
        return with([](T v) { return std::ceil(v); });
      }
    } else if constexpr (std::is_same_v<T, bool>) {
      return with([](bool v) { return !v; });
    } else {
      auto negate = [](T v) {
        return wrapped<T>(0 - static_cast<uint64_t>(v));
      };
      if (code == Opcode::Neg)
        return with(negate);
      return with([&](T v) { return v < 0 ? negate(v) : v; });
    }
  });
}

Array interp::binary(Opcode code, const Array &x, const Array &y) {
  return dispatch(x.dtype(), [&](auto zero) -> Array {
    using T = decltype(zero);
    auto with = [&](auto function) {
      return map2<T, T>(x, y, x.dtype(), function);
    };
    if constexpr (std::is_same_v<T, bool>) {
      if (code == Opcode::And)
        return with([](bool a, bool b) { return a && b; });
      return with([](bool a, bool b) { return a || b; });
    } else {
      auto arithmetic = [&](auto function) {
        return with([&](T a, T b) -> T {
          if constexpr (std::is_floating_point_v<T>)
            return function(a, b);
          else
            return wrapped<T>(
                function(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
        });
      };
      switch (code) {
      case Opcode::Add:
        return arithmetic([](auto a, auto b) { return a + b; });
      case Opcode::Sub:
        return arithmetic([](auto a, auto b) { return a - b; });
      case Opcode::Mul:
        return arithmetic([](auto a, auto b) { return a * b; });
      case Opcode::CotangentMul:
        return with([](T a, T b) { return a == 0 ? T(0) : T(a * b); });
      case Opcode::Div:
        return with([](T a, T b) -> T {
          if constexpr (std::is_floating_point_v<T>)
            return a / b;
          return floorDiv(a, b);
        });
      case Opcode::FloorDiv:
        return with(floorDiv<T>);
      case Opcode::Mod:
        return with(floorMod<T>);
      case Opcode::Pow:
        return with(power<T>);
      case Opcode::Min:
        return with(minimum<T>);
      default:
        return with(maximum<T>);
      }
    }
  });
}

Array interp::compare(trl::Predicate predicate, const Array &x,
                      const Array &y) {
  return dispatch(x.dtype(), [&](auto zero) -> Array {
    using T = decltype(zero);
    auto with = [&](auto function) {
      return map2<T, bool>(x, y, DType::Bool, function);
    };
    switch (predicate) {
    case trl::Predicate::eq:
      return with([](T a, T b) { return a == b; });
    case trl::Predicate::ne:
      return with([](T a, T b) { return a != b; });
    case trl::Predicate::lt:
      return with([](T a, T b) { return a < b; });
    case trl::Predicate::le:
      return with([](T a, T b) { return a <= b; });
    case trl::Predicate::gt:
      return with([](T a, T b) { return a > b; });
    case trl::Predicate::ge:
      break;
    }
    return with([](T a, T b) { return a >= b; });
  });
}

Array interp::clip(const Array &x, const Array &lo, const Array &hi) {
  return binary(Opcode::Min, binary(Opcode::Max, x, lo), hi);
}

Array interp::select(const Array &condition, const Array &x, const Array &y) {
  return dispatch(x.dtype(), [&](auto zero) -> Array {
    using T = decltype(zero);
    Array result(x.dtype(), x.shape());
    for (int64_t k = 0; k < x.size(); ++k)
      result.mutableData<T>()[k] =
          (condition.data<bool>()[k] ? x : y).template data<T>()[k];
    return result;
  });
}

Array interp::castArray(const Array &x, DType dtype) {
  if (x.dtype() == dtype)
    return x;
  return dispatch(x.dtype(), [&](auto from) {
    return dispatch(dtype, [&](auto to) {
      return map<decltype(from), decltype(to)>(
          x, dtype, castScalar<decltype(to), decltype(from)>);
    });
  });
}

Array interp::fill(const Array &value, Shape shape) {
  return gather(value, shape, llvm::SmallVector<int64_t>(shape.size(), 0), 0);
}

Array interp::fromElements(mlir::ElementsAttr elements, DType dtype) {
  auto type = mlir::cast<mlir::RankedTensorType>(elements.getType());
  Array result(dtype, type.getShape());
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T *out = result.mutableData<T>();
    if (auto real = mlir::dyn_cast<mlir::FloatType>(type.getElementType())) {
      for (const llvm::APFloat &value : elements.getValues<llvm::APFloat>())
        *out++ = static_cast<T>(real.isF32() ? value.convertToFloat()
                                             : value.convertToDouble());
    } else {
      for (const llvm::APInt &value : elements.getValues<llvm::APInt>())
        *out++ =
            static_cast<T>(value.getBitWidth() == 1 ? value.getZExtValue()
                                                    : value.getSExtValue());
    }
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Random draws
//===----------------------------------------------------------------------===//

Array interp::draw(trl::Draw kind, const RandomPlace &place, DType declared,
                   DType dtype, Shape shape, int64_t lo, int64_t hi) {
  timerl_random_site site = timerl_random_at(
      place.seed, place.site, place.point.data(), place.point.size());
  Array result(dtype, shape);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T *out = result.mutableData<T>();
    if (kind == trl::Draw::permutation) {
      std::vector<int32_t> order(result.size());
      timerl_permutation(&site, order.data(), order.size());
      std::copy(order.begin(), order.end(), out);
      return;
    }
    for (int64_t k = 0; k < result.size(); ++k)
      switch (kind) {
      case trl::Draw::uniform:
        out[k] = declared == DType::F32 ? timerl_uniform_f32(&site, k)
                                        : timerl_uniform_f64(&site, k);
        break;
      case trl::Draw::normal:
        out[k] = declared == DType::F32 ? timerl_normal_f32(&site, k)
                                        : timerl_normal_f64(&site, k);
        break;
      default:
        out[k] = static_cast<T>(timerl_randint(&site, k, lo, hi));
      }
  });
  return result;
}
