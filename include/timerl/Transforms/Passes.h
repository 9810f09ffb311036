//===- Passes.h - Transformations of the pdg stage --------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_TRANSFORMS_PASSES_H
#define TIMERL_TRANSFORMS_PASSES_H

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace timerl {

/// `pdg-demand`: only what outputs need is computed. Domains shrink to the
/// points that are read, as far as a few rounds tell; nodes without points,
/// targets that nothing reads, and what only served them go.
std::unique_ptr<mlir::Pass> createPdgDemandPass();

/// `trl-ranges-to-binders`: where an axis of dynamic length is reduced,
/// contracted or indexed, what is computed along it is computed at a binder's
/// value instead. Values of dynamic length go, as far as their uses allow.
std::unique_ptr<mlir::Pass> createRangesToBindersPass();

/// `trl-simplify-reductions`: reductions over ranges that grow along a dim, with
/// a geometric weight or none, become recurrences along the dim.
std::unique_ptr<mlir::Pass> createSimplifyReductionsPass();

void registerTransforms();

} // namespace timerl

#endif // TIMERL_TRANSFORMS_PASSES_H
