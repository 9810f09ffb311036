//===- TrlAssembly.h - Custom assembly of the trl dialect -------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The `custom<...>` directives of TrlOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef TRL_TRLASSEMBLY_H
#define TRL_TRLASSEMBLY_H

#include "trl/TrlDialect.h"

namespace timerl::trl {

mlir::ParseResult parseExprText(mlir::OpAsmParser &parser, ExprAttr &attr);
void printExprText(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                   ExprAttr attr);
/// One iterator without parentheses, `t = "0 : 500"`, as an array of one.
mlir::ParseResult parseIterator(mlir::OpAsmParser &parser,
                                mlir::ArrayAttr &attr);
void printIterator(mlir::OpAsmPrinter &printer, IterAttr iterator);
mlir::ParseResult parseIterators(mlir::OpAsmParser &parser,
                                 mlir::ArrayAttr &attr);
void printIterators(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                    mlir::ArrayAttr attr);
mlir::ParseResult parseWhen(mlir::OpAsmParser &parser, ExprAttr &attr);
void printWhen(mlir::OpAsmPrinter &printer, mlir::Operation *op, ExprAttr attr);
mlir::ParseResult parseExprList(mlir::OpAsmParser &parser,
                                mlir::ArrayAttr &attr);
void printExprList(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                   mlir::ArrayAttr attr);
mlir::ParseResult parseTargets(mlir::OpAsmParser &parser,
                               mlir::ArrayAttr &targets,
                               mlir::ArrayAttr &indices);
void printTargets(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                  mlir::ArrayAttr targets, mlir::ArrayAttr indices);
mlir::ParseResult parseIndices(mlir::OpAsmParser &parser,
                               mlir::ArrayAttr &attr);
void printIndices(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                  mlir::ArrayAttr attr);
mlir::ParseResult parseSymbolList(mlir::OpAsmParser &parser,
                                  mlir::ArrayAttr &attr);
void printSymbolList(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                     mlir::ArrayAttr attr);

mlir::ParseResult parseLengths(mlir::AsmParser &parser,
                               llvm::SmallVector<ExprAttr> &lengths);
void printLengths(mlir::AsmPrinter &printer, llvm::ArrayRef<ExprAttr> lengths);

} // namespace timerl::trl

#endif // TRL_TRLASSEMBLY_H
