//===- Interval.cpp - Bounds of index expressions -------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Symbolic/Interval.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace timerl;

using Bound = std::optional<int64_t>;

static Bound add(Bound x, Bound y) {
  int64_t sum;
  if (!x || !y || llvm::AddOverflow(*x, *y, sum))
    return std::nullopt;
  return sum;
}

static Bound multiply(Bound x, int64_t y) {
  int64_t product;
  if (!x || llvm::MulOverflow(*x, y, product))
    return std::nullopt;
  return product;
}

static Interval scale(Interval x, int64_t by) {
  if (!by)
    return Interval::point(0);
  Interval result{multiply(x.lo, by), multiply(x.hi, by)};
  if (by < 0)
    std::swap(result.lo, result.hi);
  return result;
}

static Bound floorDiv(Bound x, int64_t by) {
  if (!x)
    return std::nullopt;
  return llvm::divideFloorSigned(*x, by);
}

Interval Intervals::of(const Expr &expr) const {
  switch (expr.kind()) {
  case Expr::Kind::Const:
    return Interval::point(expr.value());
  case Expr::Kind::Var: {
    auto found = known.find(expr.name().str());
    return found == known.end() ? Interval() : found->second;
  }
  case Expr::Kind::Sum: {
    Interval sum = Interval::point(expr.value());
    for (auto [factor, operand] :
         llvm::zip(expr.coefficients(), expr.operands())) {
      Interval term = scale(of(operand), factor);
      sum = {add(sum.lo, term.lo), add(sum.hi, term.hi)};
    }
    return sum;
  }
  case Expr::Kind::FloorDiv: {
    Interval x = of(expr.operands()[0]);
    int64_t by = expr.value();
    if (by <= 0)
      return {};
    return {floorDiv(x.lo, by), floorDiv(x.hi, by)};
  }
  case Expr::Kind::Mod: {
    Interval x = of(expr.operands()[0]);
    int64_t by = expr.value();
    if (by <= 0)
      return {};
    if (x.within(0, by - 1))
      return x;
    return {0, by - 1};
  }
  case Expr::Kind::Min:
  case Expr::Kind::Max: {
    bool min = expr.kind() == Expr::Kind::Min;
    Interval result = of(expr.operands()[0]);
    for (const Expr &operand : expr.operands().drop_front()) {
      Interval next = of(operand);
      auto both = [](Bound x, Bound y, bool least) -> Bound {
        if (!x || !y)
          return std::nullopt;
        return least ? std::min(*x, *y) : std::max(*x, *y);
      };
      // One known side bounds the result on that side, whatever the other is.
      auto either = [](Bound x, Bound y, bool least) -> Bound {
        if (!x || !y)
          return x ? x : y;
        return least ? std::min(*x, *y) : std::max(*x, *y);
      };
      result = min ? Interval{both(result.lo, next.lo, true),
                              either(result.hi, next.hi, true)}
                   : Interval{either(result.lo, next.lo, false),
                              both(result.hi, next.hi, false)};
    }
    return result;
  }
  default:
    return {};
  }
}

void Intervals::assume(const Expr &condition) {
  switch (condition.kind()) {
  case Expr::Kind::And:
    for (const Expr &operand : condition.operands())
      assume(operand);
    return;
  case Expr::Kind::Ge:
    return assumeNotNegative(condition.operands()[0]);
  case Expr::Kind::Eq:
    assumeNotNegative(condition.operands()[0]);
    return assumeNotNegative(-condition.operands()[0]);
  default:
    return;
  }
}

/// A variable x of a sum c x + rest >= 0 has c x >= -max(rest).
void Intervals::assumeNotNegative(const Expr &expr) {
  auto narrow = [&](const Expr &variable, int64_t factor, const Expr &rest) {
    Bound most = of(rest).hi;
    if (variable.kind() != Expr::Kind::Var || !most || *most == INT64_MIN)
      return;
    Interval &interval = known[variable.name().str()];
    if (factor > 0) {
      int64_t least = llvm::divideCeilSigned(-*most, factor);
      interval.lo = interval.lo ? std::max(*interval.lo, least) : least;
    } else if (factor != INT64_MIN) {
      int64_t bound = llvm::divideFloorSigned(*most, -factor);
      interval.hi = interval.hi ? std::min(*interval.hi, bound) : bound;
    }
  };
  if (expr.kind() == Expr::Kind::Var)
    return narrow(expr, 1, Expr::constant(0));
  if (expr.kind() != Expr::Kind::Sum)
    return;
  for (auto [factor, operand] : llvm::zip(expr.coefficients(), expr.operands()))
    narrow(operand, factor, expr - operand * factor);
}

Interval timerl::rangeOf(const Expr &lo, const Expr &hi,
                         const Intervals &known) {
  Interval range{known.of(lo).lo, known.of(hi).hi};
  range.hi = add(range.hi, -1);
  return range;
}
