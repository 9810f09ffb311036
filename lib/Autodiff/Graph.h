//===- Graph.h - Reads as a dependence graph --------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What differentiation has to know of a module: which reads the value of which
// target depends on differentiably, and where each of them stands.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_AUTODIFF_GRAPH_H
#define TIMERL_LIB_AUTODIFF_GRAPH_H

#include "mlir/IR/BuiltinOps.h"
#include "trl/TrlDialect.h"
#include "llvm/ADT/MapVector.h"

namespace timerl::autodiff {

/// The iterators in scope at an op, outermost first, and what holds there.
struct Scope {
  llvm::SmallVector<trl::IterAttr> iterators;
  llvm::SmallVector<Expr> conditions;

  std::string text() const;
};
Scope scopeOf(mlir::Operation *op);

/// A `trl.read`, or a `trl.grad` that has not been rewritten yet and counts as
/// a read of the tensor that it differentiates.
struct Access {
  mlir::Operation *op;
  trl::EquationOp equation;
  llvm::StringRef source;
  /// One attribute a position, as in `trl.read`.
  llvm::SmallVector<mlir::Attribute> indices;
  Scope scope;
  /// Ordinals of the equation's targets that depend on it differentiably.
  llvm::SmallVector<unsigned> targets;

  bool isGrad() const { return mlir::isa<trl::GradOp>(op); }
  trl::ReadOp read() const { return mlir::cast<trl::ReadOp>(op); }
  /// Whether its value's lengths depend on dims.
  bool isDynamicallyShaped() const {
    return !mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType())
                .hasStaticShape();
  }
};

/// All accesses of a module in program order.
struct Graph {
  explicit Graph(mlir::ModuleOp module);

  std::vector<Access> accesses;
  /// Ordinals of the accesses to a tensor, and of those in an equation.
  llvm::MapVector<llvm::StringRef, llvm::SmallVector<unsigned>> bySource;
  llvm::MapVector<trl::EquationOp, llvm::SmallVector<unsigned>> byEquation;
  /// The equations of a tensor, with the target's ordinal.
  llvm::MapVector<llvm::StringRef,
                  llvm::SmallVector<std::pair<trl::EquationOp, unsigned>>>
      definitions;
};

} // namespace timerl::autodiff

#endif // TIMERL_LIB_AUTODIFF_GRAPH_H
