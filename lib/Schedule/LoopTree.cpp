//===- LoopTree.cpp - A schedule as a tree of loops -----------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Schedule/LoopTree.h"
#include <numeric>

using namespace timerl;
using namespace timerl::schedule;

static void fill(const Graph &graph, LoopTree &tree, unsigned depth,
                 unsigned &counter) {
  std::map<unsigned, LoopTree> children;
  for (unsigned s : tree.members) {
    const Statement &statement = graph.statements[s];
    bool inLoop = statement.steps.size() > depth;
    LoopTree &child =
        children[inLoop ? statement.steps[depth].place : statement.place];
    child.loop = inLoop ? int(statement.steps[depth].loop) : -1;
    child.statement = s;
    child.members.push_back(s);
  }
  tree.first = counter;
  for (auto &[place, child] : children) {
    if (child.loop < 0)
      child.first = child.last = counter++;
    else
      fill(graph, child, depth + 1, counter);
    tree.children.push_back(std::move(child));
  }
  tree.last = counter - 1;
}

LoopTree schedule::buildLoopTree(const Graph &graph) {
  LoopTree root;
  root.members.resize(graph.statements.size());
  std::iota(root.members.begin(), root.members.end(), 0);
  unsigned counter = 0;
  fill(graph, root, 0, counter);
  return root;
}
