//===- LoopTree.h - A schedule as a tree of loops ---------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_SCHEDULE_LOOPTREE_H
#define TIMERL_SCHEDULE_LOOPTREE_H

#include "timerl/Schedule/Graph.h"

namespace timerl::schedule {

/// A loop, or a statement, in the order of execution.
struct LoopTree {
  int loop = -1;          ///< number of the loop; -1 for a statement
  unsigned statement = 0; ///< else
  unsigned first = 0;     ///< the statements inside, counted in this order
  unsigned last = 0;
  std::vector<LoopTree> children;
  std::vector<unsigned> members; ///< statements inside, ascending
};

/// The whole program, as a tree whose root is no loop.
LoopTree buildLoopTree(const Graph &graph);

} // namespace timerl::schedule

#endif // TIMERL_SCHEDULE_LOOPTREE_H
