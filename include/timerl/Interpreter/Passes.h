//===- Passes.h - The interpreter as a pass ---------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_INTERPRETER_PASSES_H
#define TIMERL_INTERPRETER_PASSES_H

#include "mlir/Pass/Pass.h"

namespace timerl::interp {

/// `trl-interpret`: runs a `trl` module as it stands after the passes before it
/// and prints what it reports, so that a pass can be tested by what programs
/// compute.
std::unique_ptr<mlir::Pass> createInterpretPass();

void registerPasses();

} // namespace timerl::interp

#endif // TIMERL_INTERPRETER_PASSES_H
