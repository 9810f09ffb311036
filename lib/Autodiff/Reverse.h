//===- Reverse.h - Reverse mode inside one region ---------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_AUTODIFF_REVERSE_H
#define TIMERL_LIB_AUTODIFF_REVERSE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "trl/TrlDialect.h"
#include "llvm/ADT/DenseSet.h"

namespace timerl::autodiff {

/// Emits the vector-Jacobian product of a block with respect to reads in it:
/// the block's forward ops, as far as they are needed, then the same backwards.
/// A read is a leaf here; reads not asked for are constants. Conditions are
/// recomputed, and a branch that is not taken contributes exactly 0.
class Reverse {
public:
  explicit Reverse(mlir::OpBuilder &builder) : builder(builder) {}

  /// `seeds` gives one cotangent an operand of the block's terminator, or null,
  /// once the forward values are there.
  /// Gives the cotangents of `reads`, which may lie in nested regions, and then
  /// those of `captured`, values from outside that the block uses; null for one
  /// that gets none. Values from outside map as `mapping` says, and forward
  /// values are added to it. On failure an error has been emitted.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  run(mlir::Block &block, mlir::IRMapping &mapping,
      llvm::function_ref<llvm::SmallVector<mlir::Value>()> seeds,
      llvm::ArrayRef<mlir::Operation *> reads,
      llvm::ArrayRef<mlir::Value> captured = {});

private:
  using Cotangents = llvm::DenseMap<mlir::Value, mlir::Value>;

  void propagate(mlir::Operation &op);
  bool isVaried(mlir::Value value) const { return varied.contains(value); }
  void accumulate(Cotangents &cotangents, mlir::Value value,
                  mlir::Value cotangent);
  llvm::LogicalResult reverse(mlir::Operation *op, Cotangents &cotangents);
  llvm::LogicalResult reverseBranches(mlir::Operation *op,
                                      Cotangents &cotangents);
  llvm::LogicalResult reverseElementwise(trl::IfOp op, Cotangents &cotangents);
  llvm::SmallVector<mlir::Value> capturedBy(mlir::Operation *op) const;

  mlir::OpBuilder &builder;
  llvm::DenseSet<mlir::Value> varied;
  llvm::DenseSet<mlir::Operation *> active; ///< clones of the reads asked for
};

/// Erases ops whose results are unused, last first.
void eraseDeadOps(mlir::Block &block);

} // namespace timerl::autodiff

#endif // TIMERL_LIB_AUTODIFF_REVERSE_H
