//===- Storage.cpp - Windows and lifetimes of tensors ---------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Window.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::memory;
using namespace timerl::poly;
using namespace timerl::schedule;

namespace {

class Planner {
public:
  Planner(const Graph &graph, const LoopTree &tree, WindowCache &cache)
      : graph(graph), tree(tree), cache(cache) {}
  std::optional<Plan> run();

private:
  bool setWindow(Buffer &buffer, const Uses &uses);
  void chooseLifetime(Buffer &buffer, StringRef name, const Uses &uses);

  const Graph &graph;
  const LoopTree &tree;
  WindowCache &cache;
};

} // namespace

bool Planner::setWindow(Buffer &buffer, const Uses &uses) {
  auto type = cast<RankedTensorType>(buffer.tensor.getType());
  if (!type.hasStaticShape()) {
    buffer.tensor.emitError("E0802: values of '")
        << buffer.tensor.getSymName()
        << "' have a length that varies, and cannot be stored yet";
    return false;
  }
  buffer.bytes =
      type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
  std::optional<Window> window = chooseWindow(graph, uses, cache);
  if (!window) {
    buffer.tensor.emitError("E0802: storage of '")
        << buffer.tensor.getSymName()
        << "' has no static bound; it may depend on a run-time argument: make "
           "the argument a param";
    return false;
  }
  if (llvm::MulOverflow(buffer.bytes, window->slots, buffer.bytes)) {
    buffer.tensor.emitError("E0802: '")
        << buffer.tensor.getSymName() << "' needs more than 2^63 bytes";
    return false;
  }
  buffer.window = window->sizes;
  buffer.origin = window->origin;
  return true;
}

/// The innermost stretch of the program that contains all uses, and outside of
/// which no value of the tensor survives.
void Planner::chooseLifetime(Buffer &buffer, StringRef name, const Uses &uses) {
  auto usedIn = [&](const LoopTree &node) {
    for (auto *list : {&uses.writes, &uses.reads})
      for (auto &[s, map] : *list)
        if (std::binary_search(node.members.begin(), node.members.end(), s))
          return true;
    return false;
  };
  const LoopTree *node = &tree;
  while (true) {
    SmallVector<const LoopTree *> users;
    for (const LoopTree &child : node->children)
      if (usedIn(child))
        users.push_back(&child);
    buffer.first = users.front()->first;
    buffer.last = users.back()->last;
    const LoopTree *only = users.front();
    if (users.size() > 1 || only->loop < 0 ||
        graph.loops[only->loop].parallel ||
        graph.carried[only->loop].count(name.str()))
      return;
    node = only;
  }
}

std::optional<Plan> Planner::run() {
  std::map<std::string, Uses> uses;
  for (auto [s, statement] : llvm::enumerate(graph.statements)) {
    for (auto &[tensor, map] : statement.writes)
      uses[tensor].writes.push_back({unsigned(s), &map});
    for (auto &[tensor, map] : statement.reads)
      uses[tensor].reads.push_back({unsigned(s), &map});
  }
  Plan plan;
  auto module = graph.op->getParentOfType<ModuleOp>();
  for (auto tensor : module.getOps<trl::TensorOp>()) {
    auto found = uses.find(tensor.getSymName().str());
    if (found == uses.end() || found->second.writes.empty())
      continue;
    Buffer buffer;
    buffer.tensor = tensor;
    if (!setWindow(buffer, found->second))
      return std::nullopt;
    chooseLifetime(buffer, tensor.getSymName(), found->second);
    plan.buffers.push_back(buffer);
  }
  plan.arena = placeBuffers(plan.buffers);
  return plan;
}

std::optional<Plan> memory::planMemory(const Graph &graph, const LoopTree &tree,
                                       WindowCache &cache) {
  return Planner(graph, tree, cache).run();
}
