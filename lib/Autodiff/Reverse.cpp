//===- Reverse.cpp - Reverse mode inside one region -----------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reverse.h"
#include "Vjp.h"
#include "trl/TrlInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::autodiff;
using namespace timerl::trl;

void autodiff::eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    for (Region &region : op.getRegions())
      if (!region.empty())
        eraseDeadOps(region.front());
    if (isOpTriviallyDead(&op))
      op.erase();
  }
}

/// Marks the values that depend on a read asked for.
void Reverse::propagate(Operation &op) {
  auto mark = [&](Value value) {
    if (isFloat(value.getType()))
      varied.insert(value);
  };
  if (isa<ReadOp>(op)) {
    if (active.contains(&op))
      mark(op.getResult(0));
    return;
  }
  if (op.getNumRegions()) {
    for (Region &region : op.getRegions()) {
      for (Operation &inner : region.front().without_terminator())
        propagate(inner);
      auto yields = region.front().getTerminator()->getOperands();
      for (auto [result, yielded] : llvm::zip(op.getResults(), yields))
        if (isVaried(yielded))
          mark(result);
    }
    return;
  }
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  for (OpOperand &operand : op.getOpOperands())
    if (isVaried(operand.get()) &&
        (!differentiable ||
         differentiable.isDifferentiable(operand.getOperandNumber())))
      for (Value result : op.getResults())
        mark(result);
}

void Reverse::accumulate(Cotangents &cotangents, Value value, Value cotangent) {
  Value &sum = cotangents[value];
  sum = sum ? Emit{builder, cotangent.getLoc()}.add(sum, cotangent) : cotangent;
}

FailureOr<SmallVector<Value>>
Reverse::run(Block &block, IRMapping &mapping,
             function_ref<SmallVector<Value>()> seeds,
             ArrayRef<Operation *> reads, ArrayRef<Value> captured) {
  SmallVector<Operation *> clones;
  for (Operation &op : block.without_terminator())
    clones.push_back(builder.clone(op, mapping));
  for (Operation *read : reads)
    active.insert(mapping.lookup(read));
  for (Operation *op : clones)
    propagate(*op);

  Cotangents cotangents;
  for (auto [yielded, seed] :
       llvm::zip(block.getTerminator()->getOperands(), seeds())) {
    Value value = mapping.lookupOrDefault(yielded);
    if (seed && isVaried(value))
      accumulate(cotangents, value, seed);
  }
  for (Operation *op : llvm::reverse(clones))
    if (failed(reverse(op, cotangents)))
      return failure();

  SmallVector<Value> result;
  for (Operation *read : reads)
    result.push_back(cotangents.lookup(mapping.lookup(read)->getResult(0)));
  for (Value value : captured)
    result.push_back(cotangents.lookup(value));
  return result;
}

LogicalResult Reverse::reverse(Operation *op, Cotangents &cotangents) {
  SmallVector<Value> given;
  for (Value result : op->getResults())
    given.push_back(isVaried(result) ? cotangents.lookup(result) : Value());
  if (isa<ReadOp>(op) || llvm::none_of(given, [](Value v) { return bool(v); }))
    return success();
  if (auto choice = dyn_cast<IfOp>(op);
      choice && typeOf(choice.getCondition()).getRank() != 0)
    return reverseElementwise(choice, cotangents);
  if (isa<IfOp, CaseOp>(op))
    return reverseBranches(op, cotangents);
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitError("E0703: the gradient passes through '")
           << op->getName() << "', which has no derivative here";
  SmallVector<Value> products = differentiable.buildVjp(builder, given);
  for (auto [operand, product] : llvm::zip(op->getOpOperands(), products))
    if (product && isVaried(operand.get()) &&
        differentiable.isDifferentiable(operand.getOperandNumber()))
      accumulate(cotangents, operand.get(), product);
  return success();
}

/// Varied values from outside that the op's regions use.
SmallVector<Value> Reverse::capturedBy(Operation *op) const {
  llvm::SetVector<Value> values;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (isVaried(operand) && inner != op &&
          !op->isProperAncestor(operand.getDefiningOp()))
        values.insert(operand);
  });
  return values.takeVector();
}

static SmallVector<Operation *> readsIn(Region &region,
                                        const DenseSet<Operation *> &active) {
  SmallVector<Operation *> reads;
  region.walk([&](ReadOp read) {
    if (active.contains(read))
      reads.push_back(read);
  });
  return reads;
}

/// The same choice again, with the products of each branch inside.
LogicalResult Reverse::reverseBranches(Operation *op, Cotangents &cotangents) {
  SmallVector<Value> captured = capturedBy(op), leaves = captured;
  SmallVector<Operation *> reads[2];
  for (unsigned k = 0; k < 2; ++k) {
    reads[k] = readsIn(op->getRegion(k), active);
    for (Operation *read : reads[k])
      leaves.push_back(read->getResult(0));
  }
  if (leaves.empty())
    return success();
  SmallVector<Value> given;
  for (Value result : op->getResults())
    given.push_back(isVaried(result) ? cotangents.lookup(result) : Value());

  OperationState state(op->getLoc(), op->getName(), op->getOperands(),
                       TypeRange(ValueRange(leaves)), op->getAttrs());
  state.addRegion();
  state.addRegion();
  Operation *choice = builder.create(state);
  for (unsigned k = 0; k < 2; ++k) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&choice->getRegion(k).emplaceBlock());
    IRMapping mapping;
    auto found = run(
        op->getRegion(k).front(), mapping, [&] { return given; }, reads[k],
        captured);
    if (failed(found))
      return failure();
    SmallVector<Value> yields(leaves.size());
    for (unsigned j = 0; j < captured.size(); ++j)
      yields[j] = (*found)[reads[k].size() + j];
    unsigned first = captured.size() + (k ? reads[0].size() : 0);
    for (unsigned j = 0; j < reads[k].size(); ++j)
      yields[first + j] = (*found)[j];
    for (auto [yielded, leaf] : llvm::zip(yields, leaves))
      if (!yielded)
        yielded = Emit{builder, op->getLoc()}.zero(leaf.getType());
    YieldOp::create(builder, op->getLoc(), yields);
  }
  for (auto [leaf, result] : llvm::zip(leaves, choice->getResults()))
    accumulate(cotangents, leaf, result);
  return success();
}

/// Both branches were evaluated; each gets the cotangents of its elements.
LogicalResult Reverse::reverseElementwise(IfOp op, Cotangents &cotangents) {
  SmallVector<Value> captured = capturedBy(op);
  for (unsigned k = 0; k < 2; ++k) {
    Emit emit{builder, op.getLoc()};
    SmallVector<Value> given;
    for (Value result : op.getResults()) {
      Value whole = isVaried(result) ? cotangents.lookup(result) : Value();
      if (whole)
        whole = k == 0 ? emit.masked(op.getCondition(), whole)
                       : emit.select(op.getCondition(),
                                     emit.zero(whole.getType()), whole);
      given.push_back(whole);
    }
    Region &region = op->getRegion(k);
    SmallVector<Operation *> reads = readsIn(region, active);
    IRMapping mapping;
    auto found =
        run(region.front(), mapping, [&] { return given; }, reads, captured);
    if (failed(found))
      return failure();
    SmallVector<Value> leaves;
    for (Operation *read : reads)
      leaves.push_back(read->getResult(0));
    llvm::append_range(leaves, captured);
    for (auto [leaf, cotangent] : llvm::zip(leaves, *found))
      if (cotangent)
        accumulate(cotangents, leaf, cotangent);
  }
  return success();
}
