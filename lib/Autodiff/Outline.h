//===- Outline.h - One reduction an equation --------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_AUTODIFF_OUTLINE_H
#define TIMERL_LIB_AUTODIFF_OUTLINE_H

#include "Graph.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

namespace timerl::autodiff {

/// The reduction that is all an equation yields, its results in order; null if
/// the equation is of another form.
trl::ReduceOverOp reductionOf(trl::EquationOp equation);

/// Brings an equation with these active reads into one of two forms: no active
/// read lies inside a `trl.reduce_over` or is used there, or all of them lie
/// directly in the one of `reductionOf`. Inner reductions, and costly values
/// that they use, become hidden tensors with an equation of their own, so that
/// each product is computed once. `changed` is set when something was moved.
llvm::LogicalResult outlineReductions(trl::EquationOp equation,
                                      llvm::DenseSet<mlir::Operation *> active,
                                      bool &changed);

/// Clones what `value` is computed from at the builder's place, except for what
/// `mapping` gives already. `cloned` sees each op.
mlir::Value
cloneSlice(mlir::OpBuilder &builder, mlir::Value value,
           mlir::IRMapping &mapping,
           llvm::function_ref<void(mlir::Operation *)> cloned = nullptr);

/// A symbol that the module does not have yet: `name`, or with a number.
std::string uniqueName(mlir::ModuleOp module, llvm::StringRef name);

} // namespace timerl::autodiff

#endif // TIMERL_LIB_AUTODIFF_OUTLINE_H
