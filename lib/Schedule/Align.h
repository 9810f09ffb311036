//===- Align.h - One loop for several statements ----------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCHEDULE_ALIGN_H
#define SCHEDULE_ALIGN_H

#include "Components.h"

namespace timerl::schedule {

/// A loop through one dim of each of some statements, which need not have one
/// name: its variable is scale * dim + shift. A statement without a dim of the
/// loop is executed in one iteration, the shift's.
struct Candidate {
  struct Alignment {
    unsigned dim;
    int64_t scale, shift;
  };
  std::map<unsigned, Alignment> alignments; ///< by statement
  bool reverse = false;
  bool parallel = false; ///< no dependence leads to another iteration
  int64_t spread = 0;    ///< greatest difference of two shifts
};

/// A loop over all the members in which this dim of the seed takes part, and
/// along which every edge between members goes forward, or every one backward;
/// none if there is none. `fused`: the members have no need to share it, so
/// shifts must be small against the dim.
std::optional<Candidate> align(Graph &graph, const Members &members,
                               Edges &edges, unsigned seed, unsigned dim,
                               bool fused);

} // namespace timerl::schedule

#endif // SCHEDULE_ALIGN_H
