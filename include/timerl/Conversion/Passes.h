//===- Passes.h - Conversions from stage to stage ---------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_CONVERSION_PASSES_H
#define TIMERL_CONVERSION_PASSES_H

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace timerl {

/// `convert-trl-to-pdg`: equations and outputs become the nodes of one
/// `pdg.graph`, with their domains and what they read as integer sets and
/// relations. Needs a module without `trl.grad`.
std::unique_ptr<mlir::Pass> createTrlToPdgPass();

/// `convert-pdg-to-sched`: an order for all points of all nodes as a loop nest,
/// and a place in one arena for every value. Errors: E0801 a cycle of nodes
/// that no loop order resolves, E0802 what has no static storage, E0803 what is
/// not supported yet, E0804 the limit on work.
std::unique_ptr<mlir::Pass> createPdgToSchedPass();

/// `convert-sched-to-loops`: one function of loops over scalars in the arena,
/// and a global text that tells the runtime of args and reports. Error: E0501
/// what the code generator does not support yet. `recordable`: every value that
/// is stored goes to the runtime, too, which may keep it. `sanitize`: reads test
/// which point their slot holds; for schedules without lanes.
std::unique_ptr<mlir::Pass> createSchedToLoopsPass(bool recordable = false,
                                                   bool sanitize = false);

void registerTrlToPdgPass();
void registerPdgToSchedPass();
void registerSchedToLoopsPass();

} // namespace timerl

#endif // TIMERL_CONVERSION_PASSES_H
