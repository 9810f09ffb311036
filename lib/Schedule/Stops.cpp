//===- Stops.cpp - What a loop that stops early may hold ------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stops.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::poly;
using namespace timerl::schedule;

/// How a statement's dim goes through the loops around it.
static std::optional<LoopStep> stepOf(const schedule::Statement &statement,
                                      unsigned dim) {
  for (const LoopStep &step : statement.steps)
    if (step.dim == dim)
      return step;
  return std::nullopt;
}

/// Whether `end(t)` is the same number for both.
static bool sharesOuterPoint(const Graph &graph, const Stop &stop,
                             const schedule::Statement &member) {
  const schedule::Statement &owner = graph.statements[stop.statement];
  for (const std::string &name : stop.outer) {
    auto mine = stepOf(member, graph.findDim(member, name)),
         theirs = stepOf(owner, graph.findDim(owner, name));
    if (!mine || !theirs || mine->loop != theirs->loop ||
        mine->scale != theirs->scale || mine->shift != theirs->shift)
      return false;
  }
  return true;
}

/// The points of the loops around, and of this one, at which it is executed.
static Set executedIn(const Graph &graph, const schedule::Statement &statement,
                      const Candidate::Alignment &alignment, int64_t origin) {
  schedule::Statement inside = statement;
  inside.steps.push_back(
      {0, 0, alignment.dim, alignment.scale, alignment.shift - origin});
  return graph.executed(inside, inside.steps.size());
}

/// Whether a statement's points in the loop are among those that the dim has.
static bool fits(const Graph &graph, const Stop &stop,
                 const schedule::Statement &member,
                 const Candidate::Alignment &alignment,
                 const Candidate::Alignment &owner) {
  if (graph.involves(member.domain, stop) &&
      !sharesOuterPoint(graph, stop, member))
    return false;
  return isSubset(
      executedIn(graph, member, alignment, owner.shift),
      executedIn(graph, graph.statements[stop.statement], owner, owner.shift));
}

std::optional<StopConflict> schedule::findStopConflict(const Graph &graph,
                                                       const Members &members,
                                                       const Candidate &loop) {
  for (unsigned k = 0; k < graph.stops.size(); ++k) {
    const Stop &stop = graph.stops[k];
    auto owner = loop.alignments.find(stop.statement);
    if (owner == loop.alignments.end() || owner->second.dim != stop.position)
      continue;
    const schedule::Statement &statement = graph.statements[stop.statement];
    if (loop.reverse || owner->second.scale != 1 || statement.countFree() > 1)
      return StopConflict{k, std::nullopt};
    for (unsigned s : members)
      if (s != stop.statement && !fits(graph, stop, graph.statements[s],
                                       loop.alignments.at(s), owner->second))
        return StopConflict{k, s};
  }
  return std::nullopt;
}

LogicalResult schedule::reportStopConflict(const Graph &graph,
                                           const StopConflict &conflict) {
  const Stop &stop = graph.stops[conflict.stop];
  auto nodeOf = [&](unsigned s) {
    return pdg::NodeOp(graph.statements[s].node);
  };
  pdg::NodeOp owner = nodeOf(stop.statement);
  auto diagnostic =
      owner.emitError("E0805: no order of evaluation was found in which a loop "
                      "over '")
      << stop.dim << "' can stop early";
  if (conflict.member)
    diagnostic.attachNote(nodeOf(*conflict.member).getLoc())
        << "this would have to run in the same loop, but has other points than "
           "those executed there";
  else if (!stop.outer.empty())
    diagnostic.attachNote(owner.getLoc())
        << "'" << stop.dim << "' stops at each point of "
        << llvm::join(stop.outer, ", ")
        << " by itself, but one's steps depend on another's";
  return failure();
}
