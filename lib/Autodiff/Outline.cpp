//===- Outline.cpp - One reduction an equation ----------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Outline.h"
#include "Reverse.h"
#include "Vjp.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::autodiff;
using namespace timerl::trl;

std::string autodiff::uniqueName(ModuleOp module, StringRef name) {
  std::string unique = name.str();
  for (unsigned k = 1; SymbolTable::lookupSymbolIn(module, unique); ++k)
    unique = (name + "." + Twine(k)).str();
  return unique;
}

Value autodiff::cloneSlice(OpBuilder &builder, Value value, IRMapping &mapping,
                           function_ref<void(Operation *)> cloned) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getDefiningOp()))
        cloneSlice(builder, operand, mapping, cloned);
  });
  Operation *clone = builder.clone(*op, mapping);
  if (cloned)
    cloned(clone);
  return mapping.lookup(value);
}

ReduceOverOp autodiff::reductionOf(EquationOp equation) {
  YieldOp yield = equation.getYield();
  if (yield.getValues().empty())
    return ReduceOverOp();
  auto reduce = yield.getValues()[0].getDefiningOp<ReduceOverOp>();
  if (reduce && llvm::equal(yield.getValues(), reduce.getResults()))
    return reduce;
  return ReduceOverOp();
}

namespace {

class Outliner {
public:
  Outliner(EquationOp equation, DenseSet<Operation *> active)
      : equation(equation), module(equation->getParentOfType<ModuleOp>()),
        active(std::move(active)) {}

  LogicalResult run();
  bool changed = false;

private:
  bool isActive(Operation *op) const {
    bool found = false;
    op->walk([&](Operation *inner) { found |= active.contains(inner); });
    return found;
  }
  bool sliceIsActive(Value value) const;
  bool isCheap(Value value) const;
  bool isNormal(ReduceOverOp reduce) const;
  LogicalResult outline(Operation *op, ValueRange results, StringRef what);
  LogicalResult outline(ReduceOverOp reduce);

  EquationOp equation;
  ModuleOp module;
  DenseSet<Operation *> active;
};

/// The ops that a value is computed from, within the equation.
SmallVector<Operation *> sliceOf(Value value) {
  llvm::SetVector<Operation *> ops;
  ops.insert(value.getDefiningOp());
  for (unsigned k = 0; k < ops.size(); ++k) {
    Operation *op = ops[k];
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getDefiningOp()))
          ops.insert(operand.getDefiningOp());
    });
  }
  return ops.takeVector();
}

bool Outliner::sliceIsActive(Value value) const {
  return llvm::any_of(sliceOf(value),
                      [&](Operation *op) { return isActive(op); });
}

/// Whether computing it again at each point of a reduction costs little.
bool Outliner::isCheap(Value value) const {
  SmallVector<Operation *> slice = sliceOf(value);
  return slice.size() <= 8 && llvm::all_of(slice, [](Operation *op) {
           return op->getNumRegions() == 0 &&
                  !isa<MatmulOp, ArgsortOp, ReduceOp, CumsumOp, ScatterOp>(op);
         });
}

llvm::SetVector<Value> capturedBy(Operation *op) {
  llvm::SetVector<Value> captured;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getDefiningOp()))
        captured.insert(operand);
  });
  return captured;
}

bool Outliner::isNormal(ReduceOverOp reduce) const {
  if (reduce != reductionOf(equation))
    return false;
  return llvm::none_of(capturedBy(reduce),
                       [&](Value value) { return sliceIsActive(value); });
}

LogicalResult Outliner::run() {
  SmallVector<ReduceOverOp> reductions;
  equation.getBody().walk([&](ReduceOverOp reduce) { // Inner ones first.
    bool usesActive = llvm::any_of(
        capturedBy(reduce), [&](Value value) { return sliceIsActive(value); });
    if (usesActive || isActive(reduce))
      reductions.push_back(reduce);
  });
  for (ReduceOverOp reduce : reductions)
    if (!isNormal(reduce) && failed(outline(reduce)))
      return failure();
  return success();
}

/// Moves `op`, cloned with all that it needs, into an equation of its own.
LogicalResult Outliner::outline(Operation *op, ValueRange results,
                                StringRef what) {
  OpBuilder builder(equation);
  Scope scope = scopeOf(op);
  SmallVector<StringRef> positions;
  SmallVector<Expr> point;
  SmallVector<Attribute> indices;
  for (IterAttr iterator : scope.iterators) {
    positions.push_back(iterator.getName().getValue());
    point.push_back(Expr::var(positions.back()));
    indices.push_back(
        AtAttr::get(builder.getContext(),
                    ExprAttr::get(builder.getContext(), point.back())));
  }
  SmallVector<std::string> names;
  SmallVector<StringRef> targets;
  SmallVector<SmallVector<Expr>> points(results.size(), point);
  for (Value result : results) {
    if (!typeOf(result).hasStaticShape())
      return op->emitError("E0703: the gradient of a reduction whose value's "
                           "length depends on dims is not supported yet");
    names.push_back(
        uniqueName(module, (equation.getTarget(0) + "." + what).str()));
    TensorOp::create(builder, op->getLoc(), builder.getStringAttr(names.back()),
                     TypeAttr::get(result.getType()),
                     builder.getStrArrayAttr(positions), builder.getUnitAttr());
  }
  llvm::append_range(targets, names);
  auto outlined =
      EquationOp::create(builder, op->getLoc(), scope.iterators,
                         Expr::conj(scope.conditions), targets, points);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&outlined.getBody().front());
    IRMapping mapping;
    SmallVector<Value> yields;
    for (Value result : results)
      yields.push_back(cloneSlice(builder, result, mapping));
    YieldOp::create(builder, op->getLoc(), yields);
    // Values that carry cotangents belong inside the reduction.
    if (auto reduce = yields[0].getDefiningOp<ReduceOverOp>()) {
      DenseSet<Operation *> clones;
      for (Operation *leaf : active)
        if (Operation *clone = mapping.lookupOrNull(leaf))
          clones.insert(clone);
      Outliner view(outlined, clones);
      builder.setInsertionPointToStart(&reduce.getBody().front());
      IRMapping inner;
      DenseSet<Operation *> copies;
      for (Value value : capturedBy(reduce))
        if (view.sliceIsActive(value)) {
          Value copy = cloneSlice(builder, value, inner,
                                  [&](Operation *op) { copies.insert(op); });
          // Not in the copies, which stand before all other uses.
          value.replaceUsesWithIf(copy, [&](OpOperand &use) {
            return reduce->isProperAncestor(use.getOwner()) &&
                   !copies.contains(use.getOwner());
          });
        }
      eraseDeadOps(outlined.getBody().front());
    }
  }
  bool carries = llvm::any_of(
      results, [&](Value result) { return sliceIsActive(result); });
  builder.setInsertionPoint(op);
  for (auto [result, name] : llvm::zip(results, names)) {
    auto read =
        ReadOp::create(builder, op->getLoc(), result.getType(),
                       FlatSymbolRefAttr::get(builder.getContext(), name),
                       builder.getArrayAttr(indices), ValueRange());
    if (carries)
      active.insert(read);
    result.replaceAllUsesWith(read.getResult());
  }
  changed = true;
  return success();
}

LogicalResult Outliner::outline(ReduceOverOp reduce) {
  for (Value value : capturedBy(reduce))
    if (!isCheap(value) && typeOf(value).hasStaticShape())
      if (failed(outline(value.getDefiningOp(), value, "part")))
        return failure();
  return outline(reduce, reduce.getResults(),
                 stringifyReduction(reduce.getReduction()));
}

} // namespace

LogicalResult autodiff::outlineReductions(EquationOp equation,
                                          DenseSet<Operation *> active,
                                          bool &changed) {
  Outliner outliner(equation, std::move(active));
  if (failed(outliner.run()))
    return failure();
  if (outliner.changed)
    eraseDeadOps(equation.getBody().front());
  changed |= outliner.changed;
  return success();
}
