//===- Solve.h - Conditions over dims, solved and simplified ----*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_AUTODIFF_SOLVE_H
#define TIMERL_LIB_AUTODIFF_SOLVE_H

#include "timerl/Poly/Convert.h"
#include "timerl/Symbolic/Conditions.h"
#include "timerl/Symbolic/Expr.h"
#include "llvm/ADT/SmallVector.h"
#include <map>

namespace timerl::autodiff {

/// A named half-open range.
struct Range {
  std::string name;
  Expr lo, hi;
};

/// `var` as a function of the others where `zero` == 0, if it occurs with
/// coefficient 1 or -1 and nowhere else.
std::optional<Expr> solveFor(const Expr &zero, llvm::StringRef var);

/// A substitution of names.
using Assignment = std::map<std::string, Expr>;
Expr substitute(const Expr &expr, const Assignment &assignment);

/// Solves equations (each expression is 0) for the names in `unknowns`, in
/// their order; the values are over names that are not solved for. Equations
/// that are left, as conditions, are added to `rest`.
Assignment solve(llvm::SmallVector<Expr> equations,
                 llvm::ArrayRef<std::string> unknowns,
                 llvm::SmallVectorImpl<Expr> &rest);

/// What is known at a place: ranges of names and a condition over them.
class Context {
public:
  Context(poly::IslContext &isl, llvm::ArrayRef<Range> ranges,
          const Expr &condition);
  bool implies(const Expr &condition) const;
  /// The conjuncts that are not implied, by the context or by earlier ones.
  Expr simplify(const Expr &condition) const;
  Context with(const Range &range) const;

private:
  poly::IslContext *isl;
  llvm::SmallVector<Range> ranges;
  Expr condition;
  poly::Coordinates coordinates;
  poly::Set known;
};

/// Narrows the ranges of `binders` by the conjuncts of `condition`, a binder's
/// by those over the context and earlier binders; gives what is left.
Expr tighten(poly::IslContext &isl, const Context &context,
             llvm::SmallVectorImpl<Range> &binders, const Expr &condition);

} // namespace timerl::autodiff

#endif // TIMERL_LIB_AUTODIFF_SOLVE_H
