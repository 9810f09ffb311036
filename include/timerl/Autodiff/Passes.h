//===- Passes.h - Passes of lib/Autodiff ------------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_AUTODIFF_PASSES_H
#define TIMERL_AUTODIFF_PASSES_H

#include <memory>

namespace mlir {
class DialectRegistry;
class Pass;
} // namespace mlir

namespace timerl::autodiff {

/// `trl-grad`: rewrites each `trl.grad` into ordinary equations, by reverse
/// mode, and drops `trl.stop_gradient`. A module of the trl dialect stays one.
/// Errors: E0701 the differentiated tensor is no float scalar, E0702 a leaf has
/// no float elements, E0703 what cannot be differentiated yet.
std::unique_ptr<mlir::Pass> createTrlGradPass();

/// Makes the pass known to command lines.
void registerPasses();

/// Attaches `DifferentiableOpInterface` to the trl dialect's ops when it is
/// loaded. The pass does this itself.
void registerDifferentiableOps(mlir::DialectRegistry &registry);

} // namespace timerl::autodiff

#endif // TIMERL_AUTODIFF_PASSES_H
