//===- Vjp.h - Vector-Jacobian products of single ops -----------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The trl dialect's implementations of `DifferentiableOpInterface`, and the
// small builders that they share with the pass.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_AUTODIFF_VJP_H
#define TIMERL_LIB_AUTODIFF_VJP_H

#include "mlir/IR/Builders.h"
#include "trl/TrlDialect.h"

namespace timerl::autodiff {

/// Attaches the interface to elementwise ops and to ops on shapes and axes.
void attachElementwiseModels(mlir::MLIRContext *context);
void attachShapeModels(mlir::MLIRContext *context);

mlir::RankedTensorType typeOf(mlir::Value value);
bool isFloat(mlir::Type tensorType);

/// Emits ops at one place; types are those of the operands unless given.
struct Emit {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  /// A tensor of any numeric type, dynamic lengths included, with one value.
  mlir::Value fill(mlir::Type type, double value);
  mlir::Value zero(mlir::Type type) { return fill(type, 0); }
  /// The value of an index expression, as i32, in every element of `type`.
  mlir::Value index(mlir::RankedTensorType type, const Expr &expr);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value neg(mlir::Value a);
  /// cotangent * partial, exactly 0 where the cotangent is.
  mlir::Value scaled(mlir::Value cotangent, mlir::Value partial);
  mlir::Value compare(trl::Predicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// `cotangent` where the condition holds, 0 elsewhere.
  mlir::Value masked(mlir::Value condition, mlir::Value cotangent);

  mlir::Value cast(mlir::Value value, mlir::Type elementType);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<Expr> lengths);
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<Expr> lengths);
  /// Reinserts reduced axes and stretches them to `lengths`.
  mlir::Value spread(mlir::Value value, llvm::ArrayRef<int64_t> axes,
                     llvm::ArrayRef<Expr> lengths);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  mlir::Value matmul(mlir::Value a, mlir::Value b);
  mlir::Value reduce(trl::Reduction reduction, mlir::Value value,
                     llvm::ArrayRef<int64_t> axes);
  mlir::Value iota(mlir::RankedTensorType type, int64_t axis);
  mlir::Value extract(mlir::Value value,
                      llvm::ArrayRef<mlir::Attribute> indices,
                      mlir::ValueRange dynamic = {});
};

/// `type` with other elements.
mlir::RankedTensorType withElement(mlir::Type type, mlir::Type elementType);

} // namespace timerl::autodiff

#endif // TIMERL_LIB_AUTODIFF_VJP_H
