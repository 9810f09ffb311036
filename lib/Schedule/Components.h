//===- Components.h - Strongly connected components -------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCHEDULE_COMPONENTS_H
#define SCHEDULE_COMPONENTS_H

#include "timerl/Schedule/Graph.h"

namespace timerl::schedule {

using Members = std::vector<unsigned>; ///< statements, ascending
using Edges = std::vector<Dependence>;

/// Strongly connected components in topological order; of those that are ready,
/// the one that begins first in the program comes first. `count` is the number
/// of statements in the program.
std::vector<Members> findComponents(const Members &members, const Edges &edges,
                                    unsigned count);

} // namespace timerl::schedule

#endif // SCHEDULE_COMPONENTS_H
