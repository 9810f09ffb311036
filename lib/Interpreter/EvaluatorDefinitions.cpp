//===- EvaluatorDefinitions.cpp - Which equation defines a point ----------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

using namespace timerl;
using namespace timerl::interp;
using llvm::ArrayRef;
using llvm::SmallVector;

/// Solves one position for the iterator that it alone leaves unknown. False
/// when it cannot hold.
static bool solve(const IndexExpr &index, int64_t value, ArrayRef<bool> solved,
                  ArrayRef<int64_t> environment, int &slot, int64_t &solution) {
  slot = -1;
  if (index.kind == Expr::Kind::Const)
    return index.value == value;
  if (index.kind == Expr::Kind::Var && index.slot >= 0) {
    slot = index.slot;
    solution = value;
    return true;
  }
  if (index.kind != Expr::Kind::Sum)
    return true;
  int64_t rest = value - index.value, factor = 0;
  for (auto [operand, coefficient] :
       llvm::zip(index.operands, index.coefficients)) {
    if (operand.kind != Expr::Kind::Var || operand.slot < 0)
      return true;
    if (solved[operand.slot]) {
      rest -= environment[operand.slot] * coefficient;
    } else if (slot >= 0) {
      slot = -1;
      return true; // Two unknowns.
    } else {
      slot = operand.slot;
      factor = coefficient;
    }
  }
  if (slot < 0)
    return rest == 0;
  solution = rest / factor;
  return rest % factor == 0;
}

bool Evaluator::matches(const Equation &equation, const Target &target,
                        ArrayRef<int64_t> point,
                        llvm::SmallVectorImpl<int64_t> &environment,
                        bool &unknown) {
  SmallVector<bool> solved(equation.environmentSize, false);
  bool progress = true;
  while (progress) {
    progress = false;
    for (auto [index, value] : llvm::zip(target.indices, point)) {
      int slot;
      int64_t solution;
      if (!solve(index, value, solved, environment, slot, solution))
        return false;
      if (slot < 0)
        continue;
      if (solved[slot]) {
        if (environment[slot] != solution)
          return false;
        continue;
      }
      solved[slot] = progress = true;
      environment[slot] = solution;
    }
  }
  return search(equation, target, point, solved, 0, environment, unknown);
}

/// Tries the values of iterators that no position gives, and tests everything.
bool Evaluator::search(const Equation &equation, const Target &target,
                       ArrayRef<int64_t> point, ArrayRef<bool> solved,
                       unsigned depth,
                       llvm::SmallVectorImpl<int64_t> &environment,
                       bool &unknown) {
  auto known = [&](const IndexExpr &expr) {
    auto value = evaluate(expr, environment);
    unknown |= !value;
    return value;
  };
  if (depth == equation.domain.size()) {
    for (auto [index, value] : llvm::zip(target.indices, point)) {
      auto at = known(index);
      if (!at || *at != value)
        return false;
    }
    auto holds = known(equation.when);
    return holds && *holds;
  }
  const Iterator &iterator = equation.domain[depth];
  auto lo = known(iterator.lo);
  if (!lo)
    return false;
  int64_t &k = environment[iterator.slot];
  auto below = [&] {
    auto holds = isBelow(iterator.hi, environment, k);
    unknown |= !holds;
    return holds && *holds;
  };
  if (solved[iterator.slot])
    return *lo <= k && below() &&
           search(equation, target, point, solved, depth + 1, environment,
                  unknown);
  for (k = *lo; below(); ++k)
    if (search(equation, target, point, solved, depth + 1, environment,
               unknown) ||
        unknown)
      return !unknown;
  return false;
}

std::optional<Instance> Evaluator::resolve(unsigned tensor,
                                           ArrayRef<int64_t> point) {
  std::optional<Instance> found;
  const TensorInfo &info = program.tensors[tensor];
  for (auto [number, k] : info.definitions) {
    const Equation &equation = program.equations[number];
    SmallVector<int64_t> environment(equation.environmentSize);
    bool unknown = false;
    bool match =
        matches(equation, equation.targets[k], point, environment, unknown);
    if (unknown)
      return std::nullopt;
    if (!match)
      continue;
    if (found)
      fail("E0911", equation.op->getLoc(),
           "two equations define `" + pointText(info.name, point) + "`");
    found = Instance{number, environment};
  }
  return found;
}

std::optional<Instance> Evaluator::findDefinition(unsigned tensor,
                                                  ArrayRef<int64_t> point) {
  std::optional<Instance> found;
  untilKnown(program.tensors[tensor].loc,
             [&] { found = resolve(tensor, point); });
  return found;
}

void Evaluator::failUndefined(PointRef ref) {
  std::string reader = "an output";
  for (const Pending &pending : llvm::reverse(stack))
    if (pending.started && !(pending.ref == ref)) {
      reader = "`" + describe(pending.ref) + "`";
      break;
    }
  fail("E0912", locationOf(ref),
       "`" + describe(ref) + "` is read by " + reader +
           ", and no equation defines it");
}
