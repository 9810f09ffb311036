//===- Solve.cpp - Conditions over dims, solved and simplified ------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Solve.h"

using namespace llvm;
using namespace timerl;
using namespace timerl::autodiff;
using namespace timerl::poly;

/// The coefficient of `var` as an atom of a sum.
static int64_t coefficientOf(const Expr &expr, StringRef var) {
  if (expr.kind() == Expr::Kind::Var)
    return expr.name() == var;
  if (expr.kind() != Expr::Kind::Sum)
    return 0;
  for (auto [atom, coefficient] : zip(expr.operands(), expr.coefficients()))
    if (atom.kind() == Expr::Kind::Var && atom.name() == var)
      return coefficient;
  return 0;
}

std::optional<Expr> autodiff::solveFor(const Expr &zero, StringRef var) {
  int64_t coefficient = coefficientOf(zero, var);
  if (coefficient != 1 && coefficient != -1)
    return std::nullopt;
  Expr rest = zero - Expr::var(var) * coefficient;
  if (rest.mentions(var))
    return std::nullopt;
  return rest * -coefficient;
}

Expr autodiff::substitute(const Expr &expr, const Assignment &assignment) {
  if (assignment.empty())
    return expr;
  return expr.substitute([&](StringRef name) -> std::optional<Expr> {
    auto found = assignment.find(name.str());
    if (found == assignment.end())
      return std::nullopt;
    return found->second;
  });
}

Assignment autodiff::solve(SmallVector<Expr> equations,
                           ArrayRef<std::string> unknowns,
                           SmallVectorImpl<Expr> &rest) {
  Assignment solved;
  for (bool progress = true; progress;) {
    progress = false;
    for (Expr &equation : equations) {
      for (const std::string &name : unknowns) {
        if (solved.count(name))
          continue;
        std::optional<Expr> value = solveFor(equation, name);
        if (!value)
          continue;
        Assignment step;
        step[name] = *value;
        for (auto &[other, expr] : solved)
          expr = substitute(expr, step);
        for (Expr &other : equations)
          other = substitute(other, step);
        solved[name] = *value;
        progress = true;
        break;
      }
    }
  }
  for (const Expr &equation : equations) {
    Expr condition = Expr::eq(equation, Expr());
    if (!condition.isTrue())
      rest.push_back(condition);
  }
  return solved;
}

static SmallVector<std::string> namesOf(ArrayRef<Range> ranges) {
  SmallVector<std::string> names;
  for (const Range &range : ranges)
    names.push_back(range.name);
  return names;
}

Context::Context(IslContext &isl, ArrayRef<Range> ranges, const Expr &condition)
    : isl(&isl), ranges(ranges), condition(condition),
      coordinates(isl, namesOf(ranges), {}) {
  SmallVector<Expr> all = {condition};
  for (const Range &range : ranges) {
    all.push_back(Expr::le(range.lo, Expr::var(range.name)));
    all.push_back(Expr::lt(Expr::var(range.name), range.hi));
  }
  known = coordinates.where(Expr::conj(all));
}

bool Context::implies(const Expr &condition) const {
  if (condition.isTrue())
    return true;
  return isSubset(known, coordinates.where(condition));
}

Context Context::with(const Range &range) const {
  SmallVector<Range> more = ranges;
  more.push_back(range);
  return Context(*isl, more, condition);
}

Expr Context::simplify(const Expr &condition) const {
  SmallVector<Expr> parts = conjuncts(condition);
  SmallVector<bool> dropped(parts.size());
  // Last first, so that what the author wrote first stays.
  for (unsigned k = parts.size(); k-- > 0;) {
    Set others = known;
    for (unsigned j = 0; j < parts.size(); ++j)
      if (j != k && !dropped[j])
        others = others & coordinates.where(parts[j]);
    dropped[k] = isSubset(others, coordinates.where(parts[k]));
  }
  SmallVector<Expr> kept;
  for (unsigned k = 0; k < parts.size(); ++k)
    if (!dropped[k])
      kept.push_back(parts[k]);
  return Expr::conj(kept);
}

/// Conjuncts, with what an equation over a quotient says about its operand:
/// e // c == q is c*q <= e < c*q + c.
static SmallVector<Expr> withConsequences(const Expr &condition,
                                          StringRef binder) {
  SmallVector<Expr> parts;
  for (const Expr &part : conjuncts(condition)) {
    if (part.kind() != Expr::Kind::Eq)
      continue;
    const Expr &zero = part.operands()[0];
    auto quotient = [&](const Expr &atom, int64_t coefficient) {
      if (atom.kind() != Expr::Kind::FloorDiv || !atom.mentions(binder) ||
          (coefficient != 1 && coefficient != -1))
        return;
      Expr value = (zero - atom * coefficient) * -coefficient;
      if (value.mentions(binder))
        return;
      Expr least = value * atom.value();
      const Expr &operand = atom.operands()[0];
      parts.push_back(Expr::le(least, operand));
      parts.push_back(Expr::lt(operand, least + Expr::constant(atom.value())));
    };
    if (zero.kind() == Expr::Kind::FloorDiv)
      quotient(zero, 1);
    if (zero.kind() == Expr::Kind::Sum)
      for (auto [atom, coefficient] : zip(zero.operands(), zero.coefficients()))
        quotient(atom, coefficient);
  }
  return parts;
}

Expr autodiff::tighten(IslContext &isl, const Context &context,
                       SmallVectorImpl<Range> &binders, const Expr &condition) {
  SmallVector<Expr> rest = conjuncts(condition);
  Context known = context;
  for (unsigned k = 0; k < binders.size(); ++k) {
    Range &binder = binders[k];
    auto usable = [&](const Expr &bound) {
      // The term of the binder itself has been taken off.
      for (unsigned j = k; j < binders.size(); ++j)
        if (bound.mentions(binders[j].name))
          return false;
      return !bound.isOverflow();
    };
    auto divide = [](const Expr &expr, int64_t by) {
      return by == 1 ? expr : Expr::floorDiv(expr, by);
    };
    /// Whether the part is expressed by the range from here on.
    auto narrow = [&](const Expr &part) {
      if (part.kind() != Expr::Kind::Ge)
        return false;
      const Expr &zero = part.operands()[0];
      int64_t coefficient = coefficientOf(zero, binder.name);
      Expr rest = zero - Expr::var(binder.name) * coefficient;
      if (!coefficient || !usable(rest))
        return false;
      if (coefficient > 0) { // binder >= ceil(-rest / coefficient)
        Expr bound = -divide(rest, coefficient);
        if (known.implies(Expr::le(binder.lo, bound)))
          binder.lo = bound;
        else if (!known.implies(Expr::le(bound, binder.lo)))
          binder.lo = Expr::max({binder.lo, bound});
        return true;
      }
      Expr end = divide(rest, -coefficient) + Expr::constant(1);
      if (known.implies(Expr::le(end, binder.hi)))
        binder.hi = end;
      else if (!known.implies(Expr::le(binder.hi, end)))
        binder.hi = Expr::min({binder.hi, end});
      return true;
    };
    llvm::erase_if(rest, narrow);
    for (const Expr &part : withConsequences(Expr::conj(rest), binder.name))
      narrow(part);
    known = known.with(binder);
  }
  return known.simplify(Expr::conj(rest));
}
