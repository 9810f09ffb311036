//===- VectorMath.h - Elementary functions as arithmetic --------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp, log, tanh, sin and cos in f32 and f64, and pow in f32, written out as
// arithmetic, so that vector bodies, tails and scalars compute the same bits.
// There are no calls but for sin and cos of magnitudes from 2^30. The
// polynomials are minimax fits of our own. Errors, over all normal results: at
// most 2 ulp; pow at most 1 ulp. Numbers below the normal range count as 0, as
// in the whole executable.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_CONVERSION_SCHEDTOLOOPS_VECTORMATH_H
#define TIMERL_LIB_CONVERSION_SCHEDTOLOOPS_VECTORMATH_H

#include "mlir/IR/Builders.h"

namespace timerl::codegen {

/// Each takes f32 or f64 numbers, or vectors of them, and gives the like.
mlir::Value emitExp(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
mlir::Value emitLog(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
mlir::Value emitTanh(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
mlir::Value emitSin(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
mlir::Value emitCos(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
/// In f32 alone.
mlir::Value emitPow(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                    mlir::Value y);

} // namespace timerl::codegen

#endif // TIMERL_LIB_CONVERSION_SCHEDTOLOOPS_VECTORMATH_H
