//===- VectorMath.h - Elementary functions as arithmetic --------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp, log, tanh and pow in f32, written out as arithmetic without branches or
// calls, so that a loop over elements becomes vector code, and so that vector
// bodies, tails and scalars compute the same bits. The polynomials are minimax
// fits of our own. Errors, over all normal results: exp, log and tanh at most
// 2 ulp, pow at most 1 ulp. Results below the normal range may be flushed to 0.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_CONVERSION_SCHEDTOLOOPS_VECTORMATH_H
#define TIMERL_LIB_CONVERSION_SCHEDTOLOOPS_VECTORMATH_H

#include "mlir/IR/Builders.h"

namespace timerl::codegen {

/// Each takes f32 numbers, or vectors of them, and gives the like.
mlir::Value emitExp(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
mlir::Value emitLog(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
mlir::Value emitTanh(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
mlir::Value emitPow(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                    mlir::Value y);

} // namespace timerl::codegen

#endif // TIMERL_LIB_CONVERSION_SCHEDTOLOOPS_VECTORMATH_H
