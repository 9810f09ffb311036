//===- Adjoint.h - Equations of adjoints ------------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For one gradient dy/dx with outer dims o, two kinds of equations are made:
//
// * per equation E that carries cotangents, its *local* cotangents: hidden
//   tensors over E's own instances e (and those outer dims that e does not
//   determine) with the cotangent of each active read, computed once from the
//   adjoints of E's targets by reverse mode through E's body. A cotangent that
//   is little work is computed where it is used instead, and of the outer
//   product that belongs to a weight matrix the two factors are stored: summed
//   over samples, they make a matrix product;
// * per active tensor z, its *adjoint* `d.y.z` over o and z's positions: the
//   sum over all reads of z of local cotangents, each over the inverse of the
//   read's relation. Index equations are solved for e where they have unit
//   coefficients; what is not determined becomes a binder, and what is not
//   solved a condition. A gather is inverted by a filter.
//
// Positions of z that o determines are dropped from the adjoint, so that a
// tensor that persists over iterations gets no pairs (i, i').
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_AUTODIFF_ADJOINT_H
#define TIMERL_LIB_AUTODIFF_ADJOINT_H

#include "Demand.h"
#include "Reverse.h"
#include "Solve.h"
#include "mlir/IR/IRMapping.h"

namespace timerl::autodiff {

class AdjointBuilder {
public:
  AdjointBuilder(mlir::ModuleOp module, poly::IslContext &isl,
                 const Graph &graph, const Demand &demand, const Site &site);

  /// Adds all equations and replaces the gradient's results by reads. On
  /// failure an error has been emitted.
  llvm::LogicalResult run();

private:
  /// d.y.z
  struct Adjoint {
    llvm::StringRef tensor;
    std::string name;
    mlir::RankedTensorType type;
    /// z's positions, as functions of the adjoint's dims.
    llvm::SmallVector<Expr> point;
    llvm::SmallVector<unsigned> free; ///< positions that are dims of it
    llvm::SmallVector<Range> dims;    ///< o, then the free positions
    Expr when;
    /// y's own, when it is the seed alone: 1 wherever it is read.
    bool isOne = false;
  };

  /// The local cotangents of an equation.
  struct Local {
    trl::EquationOp equation;
    trl::ReduceOverOp reduce; ///< whose body the reads are in, or null
    llvm::SmallVector<unsigned> accesses;
    llvm::SmallVector<Range> dims; ///< outer dims left, then e
    llvm::SmallVector<Expr> outer; ///< o as functions of dims
    Expr when;                     ///< over dims
    /// Computes all cotangents; in the end it keeps what is stored.
    trl::EquationOp products;
    /// By access, the cotangent in `products`' body. Where it is used it is
    /// computed from stored values, or is one itself.
    std::map<unsigned, mlir::Value> cotangents;
    /// Values of `products`' body that are stored, with their tensors.
    llvm::MapVector<mlir::Value, std::string> stored;
  };

  struct Index {
    llvm::SmallVector<Expr> exprs;
    Expr guard; ///< what makes it a point of the tensor
  };

  llvm::LogicalResult failure(mlir::Operation *op, const llvm::Twine &what);
  llvm::LogicalResult planAdjoint(llvm::StringRef tensor);
  llvm::LogicalResult checkReduction(const Local &local);
  llvm::LogicalResult planLocal(trl::EquationOp equation);
  std::optional<Range> positionRange(llvm::StringRef tensor, unsigned position,
                                     const poly::Set &set, unsigned dim) const;
  Expr conditionOf(const poly::Set &set, llvm::ArrayRef<Range> box,
                   const Expr &known, llvm::ArrayRef<std::string> names);

  llvm::LogicalResult buildLocal(Local &local);
  void store(Local &local, mlir::Value value, unsigned access);
  void finishLocal(Local &local);
  llvm::FailureOr<llvm::SmallVector<mlir::Value>>
  emitProducts(mlir::OpBuilder &builder, const Local &local,
               const Context &context);
  mlir::Value reductionSeed(mlir::OpBuilder &builder, const Local &local,
                            unsigned target, mlir::Value cotangent,
                            mlir::IRMapping &mapping);
  Expr linearIndex(const Local &local) const;
  std::string reduceAgain(
      const Local &local, llvm::StringRef what, trl::Reduction reduction,
      mlir::RankedTensorType type, unsigned target,
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value)> body);

  llvm::LogicalResult buildAdjoint(Adjoint &adjoint);
  llvm::FailureOr<mlir::Value>
  contribution(mlir::OpBuilder &builder, const Adjoint &adjoint,
               const Context &context, const Local &local, unsigned access);
  mlir::Value cloneAt(mlir::OpBuilder &builder, mlir::Value value,
                      const Assignment &assignment, mlir::IRMapping mapping);

  Index indexOf(const Adjoint &adjoint, llvm::ArrayRef<Expr> outer,
                llvm::ArrayRef<Expr> point) const;
  mlir::Value readGuarded(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::StringRef tensor, const Index &index,
                          mlir::Type type, const Context &context);
  std::string declare(llvm::StringRef name, llvm::ArrayRef<Range> dims,
                      mlir::Type type);

  mlir::ModuleOp module;
  poly::IslContext &isl;
  const Graph &graph;
  const Demand &demand;
  const Site &site;
  mlir::Location loc;
  mlir::OpBuilder top; ///< inserts before the gradient's equation
  llvm::SmallVector<std::string> outerNames;
  llvm::SmallVector<Range> outerRanges;
  llvm::MapVector<llvm::StringRef, Adjoint> adjoints;
  llvm::MapVector<trl::EquationOp, Local> locals;
};

} // namespace timerl::autodiff

#endif // TIMERL_LIB_AUTODIFF_ADJOINT_H
