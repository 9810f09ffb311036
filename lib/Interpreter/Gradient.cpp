//===- Gradient.cpp - Reverse mode over evaluated points ------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `trl.grad` is evaluated on the graph of points that the run has made: from y
// back through every read that was executed, to the leaf. Each equation on the
// way is run once more to record its tape, which is dropped after use, so what
// is kept is one cotangent a point.
//
//===----------------------------------------------------------------------===//

#include "GradientTape.h"
#include "llvm/ADT/DenseMap.h"

using namespace timerl;
using namespace timerl::interp;
using llvm::ArrayRef;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Static activity
//===----------------------------------------------------------------------===//

bool interp::isDifferentiable(Opcode code) {
  switch (code) {
  case Opcode::StopGradient:
  case Opcode::Floor:
  case Opcode::Ceil:
  case Opcode::FloorDiv:
  case Opcode::Constant:
  case Opcode::Index:
  case Opcode::Iota:
  case Opcode::Random:
    return false;
  default:
    return true;
  }
}

/// `useful`: slots whose value reaches a float target.
static void markRegion(Region &region, std::vector<bool> &useful,
                       Equation &equation) {
  for (Instruction &inst : llvm::reverse(region.instructions)) {
    for (auto [k, type] : llvm::enumerate(inst.types))
      inst.useful |= isFloat(type.dtype) && useful[inst.result + k];
    if (!inst.useful)
      continue;
    for (Region &inner : inst.regions) {
      for (auto [k, type] : llvm::enumerate(inst.types))
        if (isFloat(type.dtype) && useful[inst.result + k])
          useful[inner.yields[k]] = true;
      markRegion(inner, useful, equation);
    }
    if (isDifferentiable(inst.code))
      for (int operand : inst.operands)
        useful[operand] = true; // Integers end at their own type.
    auto reads = [&](unsigned tensor) {
      if (!llvm::is_contained(equation.activeReads, tensor))
        equation.activeReads.push_back(tensor);
    };
    if (inst.code == Opcode::Read && !inst.isInput)
      reads(inst.source);
    if (inst.code == Opcode::Grad) {
      reads(inst.source);
      llvm::for_each(inst.leaves, reads);
    }
  }
}

void interp::markActivity(Equation &equation) {
  std::vector<bool> useful(equation.numSlots, false);
  for (int slot : equation.region.yields)
    useful[slot] = true;
  markRegion(equation.region, useful, equation);
}

/// Tensors with a path to a leaf tensor.
static std::vector<bool> variedTensors(const Program &program,
                                       ArrayRef<unsigned> leaves) {
  std::vector<bool> varied(program.tensors.size(), false);
  for (unsigned leaf : leaves)
    varied[leaf] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Equation &equation : program.equations)
      if (llvm::any_of(equation.activeReads,
                       [&](unsigned tensor) { return varied[tensor]; }))
        for (const Target &target : equation.targets)
          if (!varied[target.tensor] &&
              isFloat(program.tensors[target.tensor].type.dtype))
            changed = varied[target.tensor] = true;
  }
  return varied;
}

//===----------------------------------------------------------------------===//
// The graph of points
//===----------------------------------------------------------------------===//

namespace {
/// Notes the points whose values reach a float target of one equation.
class ReadCollector : public Observer {
public:
  struct Use {
    PointRef ref;
    mlir::Operation *gradOp; ///< Set when used under another gradient.
  };
  std::vector<Use> uses;

  void restarted() override { uses.clear(); }
  void executed(const Instruction &inst, const Frame &,
                ArrayRef<PointRef> points) override {
    if (!inst.useful)
      return;
    for (PointRef ref : points)
      uses.push_back({ref, inst.code == Opcode::Grad ? inst.op : nullptr});
  }
  void forwarded(const Instruction &, ArrayRef<int>) override {}
  void reduced(const Instruction &, const Frame &) override {}
  void reductionDone(const Instruction &, const Frame &) override {}
  void chosen(const Instruction &, const Frame &) override {}
};

/// An equation at a point, met on the way from y to the leaf.
struct Node {
  Instance instance;
  std::vector<ReadCollector::Use> uses;
  size_t next = 0; ///< The next of `uses` to visit.
  bool varied = false;
};

class Backward {
public:
  Backward(Evaluator &evaluator, const Instruction &grad,
           ArrayRef<PointRef> leaves)
      : evaluator(evaluator), grad(grad), leaves(leaves),
        mayVary(variedTensors(evaluator.program, grad.leaves)) {}

  SmallVector<Array> run(PointRef of);

private:
  Evaluator &evaluator;
  const Instruction &grad;
  ArrayRef<PointRef> leaves;
  std::vector<bool> mayVary;
  std::vector<Node> nodes;
  std::vector<uint32_t> finished; ///< Nodes, what they depend on first.
  llvm::DenseMap<uint64_t, uint32_t> nodeOf;
  llvm::DenseMap<uint64_t, std::vector<double>> cotangents;

  static uint64_t key(PointRef ref) {
    return uint64_t(ref.table) << 32 | ref.number;
  }
  bool isLeaf(PointRef ref) const { return llvm::is_contained(leaves, ref); }
  bool isVaried(PointRef ref) const {
    if (isLeaf(ref))
      return true;
    auto node = nodeOf.find(key(ref));
    return node != nodeOf.end() && nodes[node->second].varied;
  }
  uint32_t enter(PointRef ref);
  void collect(PointRef of);
  void propagate(const Node &node);
};
} // namespace

/// Makes the node that defines a point; all its points lead to it.
uint32_t Backward::enter(PointRef ref) {
  SmallVector<int64_t> point(evaluator.table(ref.table).point(ref.number));
  Node node;
  node.instance = *evaluator.findDefinition(ref.table, point);
  ReadCollector collector;
  evaluator.rerun(node.instance, &collector);
  node.uses = std::move(collector.uses);
  uint32_t number = nodes.size();
  for (const Target &target :
       evaluator.program.equations[node.instance.equation].targets) {
    auto at = evaluator.targetPoint(target, node.instance.environment);
    nodeOf[key({target.tensor, evaluator.table(target.tensor).find(at)})] =
        number;
  }
  nodes.push_back(std::move(node));
  return number;
}

void Backward::collect(PointRef of) {
  std::vector<uint32_t> stack{enter(of)};
  while (!stack.empty()) {
    uint32_t current = stack.back();
    Node &node = nodes[current];
    if (node.next == node.uses.size()) {
      for (const ReadCollector::Use &use : node.uses) {
        if (!isVaried(use.ref))
          continue;
        if (use.gradOp)
          fail("E0915", use.gradOp->getLoc(),
               "the interpreter does not differentiate a gradient");
        node.varied = true;
      }
      node.uses = {};
      node.next = 0;
      finished.push_back(current);
      stack.pop_back();
      continue;
    }
    PointRef ref = node.uses[node.next++].ref;
    if (mayVary[ref.table] && !isLeaf(ref) && !nodeOf.contains(key(ref)))
      stack.push_back(enter(ref)); // `node` is no longer valid.
  }
}

void Backward::propagate(const Node &node) {
  const Equation &equation =
      evaluator.program.equations[node.instance.equation];
  SmallVector<std::vector<double>> seeds(equation.targets.size());
  bool any = false;
  for (auto [target, seed] : llvm::zip(equation.targets, seeds)) {
    auto at = evaluator.targetPoint(target, node.instance.environment);
    PointRef ref{target.tensor, evaluator.table(target.tensor).find(at)};
    auto found = cotangents.find(key(ref));
    if (isLeaf(ref) || found == cotangents.end())
      continue;
    seed = std::move(found->second);
    cotangents.erase(found);
    any = true;
  }
  if (!any)
    return;
  GradientTape tape(equation, [&](PointRef ref) { return isVaried(ref); });
  evaluator.rerun(node.instance, &tape);
  tape.reverse(equation.region.yields, seeds,
               [&](PointRef ref, ArrayRef<double> cotangent) {
                 auto &total = cotangents[key(ref)];
                 total.resize(cotangent.size());
                 for (auto [sum, value] : llvm::zip(total, cotangent))
                   sum += value;
               });
}

SmallVector<Array> Backward::run(PointRef of) {
  cotangents[key(of)] = {1.0};
  if (!isLeaf(of) && mayVary[of.table]) {
    collect(of);
    for (uint32_t number : llvm::reverse(finished))
      if (nodes[number].varied)
        propagate(nodes[number]);
  }
  SmallVector<Array> results;
  for (auto [ref, type] : llvm::zip(leaves, grad.types)) {
    const Array &value = evaluator.table(ref.table)[ref.number].value;
    Array result = Array::zeros(type.dtype, value.shape());
    auto found = cotangents.find(key(ref));
    if (found != cotangents.end())
      dispatch(type.dtype, [&](auto zero) {
        for (int64_t k = 0; k < result.size(); ++k)
          result.mutableData<decltype(zero)>()[k] =
              static_cast<decltype(zero)>(found->second[k]);
      });
    results.push_back(std::move(result));
  }
  return results;
}

SmallVector<Array> interp::gradient(Evaluator &evaluator,
                                    const Instruction &inst, PointRef of,
                                    ArrayRef<PointRef> leaves) {
  return Backward(evaluator, inst, leaves).run(of);
}
