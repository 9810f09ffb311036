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
#include <limits>

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

//===----------------------------------------------------------------------===//
// Early stops
//===----------------------------------------------------------------------===//

PointRef Evaluator::stopRef(const IndexExpr &end,
                            ArrayRef<int64_t> environment) {
  SmallVector<int64_t> point;
  for (int slot : end.outer)
    point.push_back(environment[slot]);
  uint32_t table = program.tensors.size() + end.dim;
  return {table, tables[table].find(point)};
}

void Evaluator::advanceStop(PointRef ref, int64_t wanted) {
  const DimInfo &dim = program.dims[ref.table - program.tensors.size()];
  PointTable &until = tables[dim.until];
  SmallVector<int64_t> point(tables[ref.table].point(ref.number));
  point.push_back(0);
  PointTable::Entry &entry = tables[ref.table][ref.number];
  for (; !entry.value && entry.progress < dim.extent; ++entry.progress) {
    point.back() = entry.progress;
    uint32_t number = until.find(point);
    if (!until[number].value) {
      if (entry.progress < wanted)
        miss({static_cast<uint32_t>(dim.until), number});
      return;
    }
    if (until[number].value.getBool())
      entry.value = Array::scalar(DType::I64, entry.progress + 1);
  }
  if (!entry.value)
    entry.value = Array::scalar(DType::I64, dim.extent);
}

std::optional<bool> Evaluator::isBeforeStop(const IndexExpr &end,
                                            ArrayRef<int64_t> environment,
                                            int64_t k) {
  if (k < 0)
    return true;
  if (k >= program.dims[end.dim].extent)
    return false;
  PointRef ref = stopRef(end, environment);
  advanceStop(ref, k);
  const PointTable::Entry &entry = tables[ref.table][ref.number];
  if (entry.value)
    return k < entry.value.getInt(0);
  if (entry.progress >= k)
    return true;
  return std::nullopt;
}

static bool isStop(const IndexExpr &expr) {
  return expr.kind == Expr::Kind::Var && expr.slot < 0;
}

std::optional<bool> Evaluator::compareStop(Expr::Kind kind,
                                           const IndexExpr &sum,
                                           ArrayRef<int64_t> environment,
                                           bool &applies) {
  // sum = rest + sign * end.
  int64_t rest = sum.value, sign = 0;
  const IndexExpr *end = nullptr;
  if (sum.kind != Expr::Kind::Sum)
    return std::nullopt;
  for (auto [operand, coefficient] :
       llvm::zip(sum.operands, sum.coefficients)) {
    if (isStop(operand)) {
      if (end || (coefficient != 1 && coefficient != -1))
        return std::nullopt;
      end = &operand;
      sign = coefficient;
    }
  }
  if (!end)
    return std::nullopt;
  applies = true;
  for (auto [operand, coefficient] :
       llvm::zip(sum.operands, sum.coefficients)) {
    if (isStop(operand))
      continue;
    auto value = evaluate(operand, environment);
    if (!value)
      return std::nullopt;
    rest += *value * coefficient;
  }
  auto before = [&](int64_t k) { return isBeforeStop(*end, environment, k); };
  if (kind == Expr::Kind::Ge) {
    if (sign > 0) // end >= -rest
      return before(-rest - 1);
    auto longer = before(rest); // not rest < end
    return longer ? std::optional<bool>(!*longer) : std::nullopt;
  }
  int64_t k = sign > 0 ? -rest : rest; // k - 1 < end and not k < end
  auto reaches = before(k - 1);
  if (!reaches || !*reaches)
    return reaches;
  auto passes = before(k);
  return passes ? std::optional<bool>(!*passes) : std::nullopt;
}

std::optional<bool> Evaluator::isBelow(const IndexExpr &bound,
                                       ArrayRef<int64_t> environment,
                                       int64_t k) {
  if (isStop(bound))
    return isBeforeStop(bound, environment, k);
  // k < bound is bound - k - 1 >= 0.
  if (bound.kind == Expr::Kind::Sum) {
    IndexExpr sum = bound;
    sum.value -= k + 1;
    bool applies = false;
    auto holds = compareStop(Expr::Kind::Ge, sum, environment, applies);
    if (applies)
      return holds;
  }
  auto value = evaluate(bound, environment);
  return value ? std::optional<bool>(k < *value) : std::nullopt;
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

bool Evaluator::attemptStop(PointRef ref) {
  advanceStop(ref, std::numeric_limits<int64_t>::max());
  return bool(tables[ref.table][ref.number].value);
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

//===----------------------------------------------------------------------===//
// Which equation defines a point
//===----------------------------------------------------------------------===//

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
