//===- Graph.cpp - Reads as a dependence graph ----------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "Vjp.h"
#include "trl/TrlInterfaces.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::autodiff;
using namespace timerl::trl;

std::string Scope::text() const {
  std::string result;
  for (IterAttr iterator : iterators)
    result += iterator.getName().str() + "=" +
              iterator.getLo().getText().str() + ":" +
              iterator.getHi().getText().str() + ";";
  for (const Expr &condition : conditions)
    result += condition.str() + ";";
  return result;
}

Scope autodiff::scopeOf(Operation *op) {
  SmallVector<Scope> levels;
  for (Operation *child = op, *parent = op->getParentOp(); parent;
       child = parent, parent = parent->getParentOp()) {
    Scope level;
    auto add = [&](ArrayAttr iterators, ExprAttr when) {
      llvm::append_range(level.iterators, iterators.getAsRange<IterAttr>());
      if (!when.getExpr().isTrue())
        level.conditions.push_back(when.getExpr());
    };
    if (auto equation = dyn_cast<EquationOp>(parent)) {
      add(equation.getDomain(), equation.getWhen());
    } else if (auto output = dyn_cast<OutputOp>(parent)) {
      add(output.getDomain(), output.getWhen());
    } else if (auto reduce = dyn_cast<ReduceOverOp>(parent)) {
      add(reduce.getBinders(), reduce.getWhen());
    } else if (auto branch = dyn_cast<CaseOp>(parent)) {
      Expr condition = branch.getCondition().getExpr();
      level.conditions.push_back(child->getParentRegion() == &branch.getThen()
                                     ? condition
                                     : Expr::negate(condition));
    }
    levels.push_back(std::move(level));
  }
  Scope scope;
  for (const Scope &level : llvm::reverse(levels)) {
    llvm::append_range(scope.iterators, level.iterators);
    llvm::append_range(scope.conditions, level.conditions);
  }
  return scope;
}

namespace {

/// For each value of an equation, the accesses that it depends on
/// differentiably, by their ordinal in the equation.
class Flow {
public:
  Flow(ArrayRef<Operation *> accesses) : count(accesses.size()) {
    for (auto [k, op] : llvm::enumerate(accesses))
      ordinals[op] = k;
  }

  void run(Block &block) {
    for (Operation &op : block.without_terminator())
      run(op);
  }

  llvm::SmallBitVector of(Value value) const {
    auto found = sets.find(value);
    return found == sets.end() ? llvm::SmallBitVector(count) : found->second;
  }

private:
  void add(Value value, const llvm::SmallBitVector &set) {
    if (!isFloat(value.getType()) || set.none())
      return;
    auto [place, inserted] = sets.try_emplace(value, set);
    if (!inserted)
      place->second |= set;
  }

  void run(Operation &op) {
    if (auto found = ordinals.find(&op); found != ordinals.end()) {
      llvm::SmallBitVector self(count);
      self.set(found->second);
      for (Value result : op.getResults())
        add(result, self);
      return;
    }
    if (op.getNumRegions()) {
      for (Region &region : op.getRegions()) {
        run(region.front());
        auto yields = region.front().getTerminator()->getOperands();
        for (auto [result, yielded] : llvm::zip(op.getResults(), yields))
          add(result, of(yielded));
      }
      return;
    }
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    llvm::SmallBitVector set(count);
    for (OpOperand &operand : op.getOpOperands())
      if (!differentiable ||
          differentiable.isDifferentiable(operand.getOperandNumber()))
        set |= of(operand.get());
    for (Value result : op.getResults())
      add(result, set);
  }

  unsigned count;
  DenseMap<Operation *, unsigned> ordinals; // looked up only
  DenseMap<Value, llvm::SmallBitVector> sets;
};

} // namespace

Graph::Graph(ModuleOp module) {
  for (auto equation : module.getOps<EquationOp>()) {
    for (unsigned k = 0; k < equation.getNumTargets(); ++k)
      definitions[equation.getTarget(k)].push_back({equation, k});
    SmallVector<Operation *> ops;
    equation.getBody().walk([&](Operation *op) {
      if (auto read = dyn_cast<ReadOp>(op);
          read && isFloat(read.getType()) &&
          isa_and_nonnull<TensorOp>(
              SymbolTable::lookupSymbolIn(module, read.getSourceAttr())))
        ops.push_back(op);
      if (isa<GradOp>(op))
        ops.push_back(op);
    });
    if (ops.empty())
      continue;
    Flow flow(ops);
    flow.run(equation.getBody().front());
    for (auto [ordinal, op] : llvm::enumerate(ops)) {
      Access access{op, equation, {}, {}, scopeOf(op), {}};
      if (auto read = dyn_cast<ReadOp>(op)) {
        access.source = read.getSource();
        llvm::append_range(access.indices, read.getIndices());
      } else {
        auto grad = cast<GradOp>(op);
        access.source = grad.getOf();
        for (auto index : grad.getOfIndices().getAsRange<ExprAttr>())
          access.indices.push_back(AtAttr::get(module.getContext(), index));
      }
      for (auto [k, value] : llvm::enumerate(equation.getYield().getValues()))
        if (flow.of(value).test(ordinal))
          access.targets.push_back(k);
      if (access.targets.empty())
        continue;
      bySource[access.source].push_back(accesses.size());
      byEquation[equation].push_back(accesses.size());
      accesses.push_back(std::move(access));
    }
  }
}
