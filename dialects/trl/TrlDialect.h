//===- TrlDialect.h - The trl dialect ---------------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TRL_TRLDIALECT_H
#define TRL_TRLDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "timerl/Symbolic/Expr.h"

namespace mlir {
class ModuleOp;
}
namespace timerl::trl {
class YieldOp;
}

#include "trl/TrlDialect.h.inc"

#include "trl/TrlEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "trl/TrlAttrs.h.inc"

#define GET_OP_CLASSES
#include "trl/TrlOps.h.inc"

namespace timerl::trl {

/// The attribute arrays that ops hold, as expressions: `#trl.expr` elements.
llvm::SmallVector<Expr> getExprs(mlir::ArrayAttr exprs);
/// And back.
mlir::ArrayAttr getExprArrayAttr(mlir::MLIRContext *context,
                                 llvm::ArrayRef<Expr> exprs);

/// The variables `end(...)` that an op or one inside of it mentions, each once.
llvm::SmallVector<std::string> getMentionedEnds(mlir::Operation *op);

/// The lengths of a value's axes as expressions (constants for static axes).
llvm::SmallVector<Expr> getLengths(mlir::Type tensorType);
/// A tensor type with these lengths; carries a `#trl.shape` when one is not
/// constant.
mlir::RankedTensorType getTensorType(llvm::ArrayRef<Expr> lengths,
                                     mlir::Type elementType);

/// The lengths of the axes that the ranges of a `trl.read` prepend, in order:
/// hi - lo, which the proof of definition shows to be no less than 0.
llvm::SmallVector<Expr> getRangeLengths(mlir::ArrayAttr indices);

} // namespace timerl::trl

#endif // TRL_TRLDIALECT_H
