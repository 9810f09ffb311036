//===- Passes.h - Loops whose iterations run side by side -------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_VECTORIZE_PASSES_H
#define TIMERL_VECTORIZE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace timerl {

/// Elements that one instruction works on, at most.
constexpr unsigned maxLanes = 16;

/// `sched-choose-lanes`: parallel loops, and binders of reductions, whose
/// iterations are computed side by side, one in each lane of a vector
/// (`lanes`), and buffers with one position stored innermost (`minor`), so that
/// neighbouring iterations find their values next to each other. `lanes` bounds
/// the number; 1 leaves the program as it is.
std::unique_ptr<mlir::Pass> createChooseLanesPass(unsigned lanes = maxLanes);

void registerVectorize();

} // namespace timerl

#endif // TIMERL_VECTORIZE_PASSES_H
