//===- Evaluator.cpp - Evaluation on demand -------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Demand: which points are evaluated, and in which order.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

using namespace timerl;
using namespace timerl::interp;
using llvm::ArrayRef;
using llvm::SmallVector;

Evaluator::Evaluator(const Program &program, const InterpreterOptions &options)
    : program(program), options(options) {
  for (const TensorInfo &tensor : program.tensors)
    tables.emplace_back(tensor.rank);
  for (const DimInfo &dim : program.dims)
    tables.emplace_back(dim.until < 0 ? 0
                                      : program.tensors[dim.until].rank - 1);
}

//===----------------------------------------------------------------------===//
// Index expressions
//===----------------------------------------------------------------------===//

static int64_t floorDivide(int64_t x, int64_t y) {
  return x / y - (x % y < 0); // y > 1.
}

std::optional<int64_t> Evaluator::evaluate(const IndexExpr &expr,
                                           ArrayRef<int64_t> environment) {
  auto operand = [&](unsigned k) {
    return evaluate(expr.operands[k], environment);
  };
  switch (expr.kind) {
  case Expr::Kind::Const:
  case Expr::Kind::Bool:
    return expr.value;
  case Expr::Kind::Var: {
    if (expr.slot >= 0)
      return environment[expr.slot];
    PointRef ref = stopRef(expr, environment);
    if (const Array &end = tables[ref.table][ref.number].value)
      return end.getInt(0);
    miss(ref);
    return std::nullopt;
  }
  case Expr::Kind::Sum: {
    int64_t total = expr.value;
    for (auto [k, coefficient] : llvm::enumerate(expr.coefficients)) {
      auto value = operand(k);
      if (!value)
        return std::nullopt;
      int64_t product;
      if (__builtin_mul_overflow(*value, coefficient, &product) ||
          __builtin_add_overflow(total, product, &total))
        fail("E0902", current ? current->getLoc() : program.loc,
             "an index expression does not fit 64 bits");
    }
    return total;
  }
  case Expr::Kind::FloorDiv:
  case Expr::Kind::Mod: {
    auto value = operand(0);
    if (!value)
      return std::nullopt;
    int64_t quotient = floorDivide(*value, expr.value);
    return expr.kind == Expr::Kind::FloorDiv ? quotient
                                             : *value - quotient * expr.value;
  }
  case Expr::Kind::Min:
  case Expr::Kind::Max: {
    auto best = operand(0);
    for (unsigned k = 1; k < expr.operands.size() && best; ++k) {
      auto next = operand(k);
      best = !next                          ? next
             : expr.kind == Expr::Kind::Min ? std::min(*best, *next)
                                            : std::max(*best, *next);
    }
    return best;
  }
  case Expr::Kind::Eq:
  case Expr::Kind::Ge:
  case Expr::Kind::Not: {
    bool applies = false;
    if (expr.kind != Expr::Kind::Not) {
      auto holds =
          compareStop(expr.kind, expr.operands[0], environment, applies);
      if (applies)
        return holds;
    }
    auto value = operand(0);
    if (!value)
      return std::nullopt;
    return expr.kind == Expr::Kind::Ge ? *value >= 0 : *value == 0;
  }
  case Expr::Kind::And:
  case Expr::Kind::Or:
    for (unsigned k = 0; k < expr.operands.size(); ++k) {
      auto value = operand(k);
      if (!value)
        return std::nullopt;
      if ((*value != 0) != (expr.kind == Expr::Kind::And))
        return expr.kind == Expr::Kind::Or;
    }
    return expr.kind == Expr::Kind::And;
  case Expr::Kind::Overflow:
    break;
  }
  return std::nullopt;
}

bool Evaluator::evaluateAll(ArrayRef<IndexExpr> exprs, Frame &frame,
                            llvm::SmallVectorImpl<int64_t> &values) {
  for (const IndexExpr &expr : exprs) {
    auto value = evaluate(expr, frame.environment);
    if (!value)
      return false;
    values.push_back(*value);
  }
  return true;
}

SmallVector<int64_t> Evaluator::targetPoint(const Target &target,
                                            ArrayRef<int64_t> environment) {
  SmallVector<int64_t> point;
  for (const IndexExpr &index : target.indices)
    point.push_back(*evaluate(index, environment));
  return point;
}

//===----------------------------------------------------------------------===//
// The stack of points
//===----------------------------------------------------------------------===//

void Evaluator::beginAttempt() {
  missing.clear();
  ++attempt;
}

void Evaluator::miss(PointRef ref) {
  PointTable::Entry &entry = tables[ref.table][ref.number];
  if (entry.attempt == attempt)
    return;
  entry.attempt = attempt;
  missing.push_back(ref);
}

std::string Evaluator::describe(PointRef ref) {
  ArrayRef<int64_t> point = tables[ref.table].point(ref.number);
  if (ref.table < program.tensors.size())
    return pointText(program.tensors[ref.table].name, point);
  return pointText(
      "end(" + program.dims[ref.table - program.tensors.size()].name + ")",
      point);
}

mlir::Location Evaluator::locationOf(PointRef ref) {
  unsigned tensor =
      ref.table < program.tensors.size()
          ? ref.table
          : program.dims[ref.table - program.tensors.size()].until;
  return program.tensors[tensor].loc;
}

void Evaluator::pushMissing(mlir::Location loc) {
  // The first point missed is evaluated first.
  for (PointRef ref : llvm::reverse(missing)) {
    if (!tables[ref.table][ref.number].active) {
      stack.push_back({ref, false});
      continue;
    }
    // Entries that have started are exactly the chain of dependences.
    std::vector<std::string> chain;
    bool inside = false;
    for (const Pending &pending : stack) {
      inside |= pending.ref == ref;
      if (inside && pending.started)
        chain.push_back(describe(pending.ref));
    }
    std::string text;
    const size_t shown = 8;
    for (size_t k = 0; k < chain.size(); ++k) {
      if (k == shown && chain.size() > shown + 1) {
        text += "... -> ";
        k = chain.size() - 1;
      }
      text += chain[k] + " -> ";
    }
    fail("E0910", loc,
         "`" + describe(ref) + "` depends on itself: " + text + describe(ref));
  }
}

void Evaluator::drain(size_t base) {
  while (stack.size() > base) {
    PointRef ref = stack.back().ref;
    PointTable::Entry &entry = tables[ref.table][ref.number];
    if (entry.value) {
      entry.active = false;
      stack.pop_back();
      continue;
    }
    entry.active = stack.back().started = true;
    beginAttempt();
    bool known = ref.table < program.tensors.size() ? attemptTensor(ref)
                                                    : attemptStop(ref);
    if (!known)
      pushMissing(locationOf(ref));
  }
}

bool Evaluator::attemptTensor(PointRef ref) {
  SmallVector<int64_t> point(tables[ref.table].point(ref.number));
  auto instance = resolve(ref.table, point);
  if (!missing.empty())
    return false;
  if (!instance)
    failUndefined(ref);
  const Equation &equation = program.equations[instance->equation];
  Frame frame(equation);
  llvm::copy(instance->environment, frame.environment.begin());
  runRegion(equation.region, frame);
  if (!missing.empty())
    return false;
  for (auto [target, slot] :
       llvm::zip(equation.targets, equation.region.yields)) {
    PointTable &table = tables[target.tensor];
    PointTable::Entry &entry =
        table[table.find(targetPoint(target, instance->environment))];
    if (!entry.value) // Else forced from a record.
      entry.value = frame.slots[slot];
  }
  return true;
}

void Evaluator::untilKnown(mlir::Location loc,
                           llvm::function_ref<void()> body) {
  // This may stand inside another attempt: a gradient under evaluation.
  std::vector<PointRef> outer = std::move(missing);
  size_t base = stack.size();
  while (true) {
    beginAttempt();
    body();
    if (missing.empty())
      break;
    pushMissing(loc);
    drain(base);
  }
  missing = std::move(outer);
}

SmallVector<Array> Evaluator::evaluate(const Body &body,
                                       ArrayRef<int64_t> environment) {
  Frame frame(body);
  llvm::copy(environment, frame.environment.begin());
  untilKnown(body.op->getLoc(), [&] { runRegion(body.region, frame); });
  SmallVector<Array> values;
  for (int slot : body.region.yields)
    values.push_back(frame.slots[slot]);
  return values;
}

const Array &Evaluator::evaluate(unsigned tensor, ArrayRef<int64_t> point) {
  PointRef ref{tensor, tables[tensor].find(point)};
  size_t base = stack.size();
  stack.push_back({ref, false});
  drain(base);
  return tables[tensor][ref.number].value;
}

SmallVector<Array> Evaluator::rerun(const Instance &instance,
                                    Observer *observer) {
  const Equation &equation = program.equations[instance.equation];
  Frame frame(equation);
  llvm::copy(instance.environment, frame.environment.begin());
  frame.observer = observer;
  untilKnown(equation.op->getLoc(), [&] {
    if (observer)
      observer->restarted();
    runRegion(equation.region, frame);
  });
  SmallVector<Array> values;
  for (int slot : equation.region.yields)
    values.push_back(frame.slots[slot]);
  return values;
}

void Evaluator::forEachPoint(
    const Body &body, llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> environment(body.environmentSize);
  // Bounds and guards may need the stop of a dim.
  auto value = [&](const IndexExpr &expr) {
    std::optional<int64_t> known;
    untilKnown(body.op->getLoc(), [&] { known = evaluate(expr, environment); });
    return *known;
  };
  auto nest = [&](auto &&self, unsigned depth) -> void {
    if (depth == body.domain.size()) {
      if (value(body.when))
        visit(environment);
      return;
    }
    const Iterator &iterator = body.domain[depth];
    int64_t hi = value(iterator.hi);
    for (int64_t k = value(iterator.lo); k < hi; ++k) {
      environment[iterator.slot] = k;
      self(self, depth + 1);
    }
  };
  nest(nest, 0);
}
