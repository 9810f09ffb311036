//===- Interval.h - Bounds of index expressions -----------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_SYMBOLIC_INTERVAL_H
#define TIMERL_SYMBOLIC_INTERVAL_H

#include "timerl/Symbolic/Expr.h"
#include <map>

namespace timerl {

/// lo <= x <= hi; a missing side is unbounded.
struct Interval {
  std::optional<int64_t> lo, hi;

  static Interval point(int64_t value) { return {value, value}; }
  bool within(int64_t least, int64_t most) const {
    return lo && hi && *lo >= least && *hi <= most;
  }
};

/// What is known of the values of variables. Sound, not exact.
class Intervals {
public:
  void set(llvm::StringRef name, Interval interval) {
    known[name.str()] = interval;
  }
  /// Bounds of an integer expression.
  Interval of(const Expr &expr) const;
  /// Narrows the variables' bounds to where a condition holds.
  void assume(const Expr &condition);

private:
  void assumeNotNegative(const Expr &expr);
  std::map<std::string, Interval> known;
};

/// The values of a binder or a loop's variable, lo <= x < hi.
Interval rangeOf(const Expr &lo, const Expr &hi, const Intervals &known);

} // namespace timerl

#endif // TIMERL_SYMBOLIC_INTERVAL_H
