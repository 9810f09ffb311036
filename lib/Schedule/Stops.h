//===- Stops.h - What a loop that stops early may hold ----------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCHEDULE_STOPS_H
#define SCHEDULE_STOPS_H

#include "Align.h"

namespace timerl::schedule {

/// Why some statements can't share a loop.
struct StopConflict {
  unsigned stop;                  ///< of the graph
  std::optional<unsigned> member; ///< which does not fit; else an outer dim
                                  ///< would run inside of the loop
};

/// The loop along which a dim stops runs as long as the dim does, at one point
/// of the outer dims. So these are fixed outside of it, it runs forwards, and
/// each statement in it is executed at points of the dim that it goes through,
/// and for all of them. Gives what of that does not hold.
std::optional<StopConflict> findStopConflict(const Graph &graph,
                                             const Members &members,
                                             const Candidate &loop);

/// E0805, at the statement that defines the stop.
mlir::LogicalResult reportStopConflict(const Graph &graph,
                                       const StopConflict &conflict);

} // namespace timerl::schedule

#endif // SCHEDULE_STOPS_H
