//===- PdgDialect.cpp - The pdg dialect -----------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pdg/PdgDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "trl/TrlAssembly.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::trl;

// Shared with trl; found by their bare names in the generated parsers.
using trl::parseIterators;
using trl::printIterators;

#include "pdg/PdgDialect.cpp.inc"

/// `defines @x["t"], ...`, or nothing.
static ParseResult parseDefinedTargets(OpAsmParser &parser, ArrayAttr &targets,
                                       ArrayAttr &indices) {
  if (succeeded(parser.parseOptionalKeyword("defines")))
    return parseTargets(parser, targets, indices);
  targets = indices = ArrayAttr::get(parser.getContext(), {});
  return success();
}
static void printDefinedTargets(OpAsmPrinter &printer, Operation *op,
                                ArrayAttr targets, ArrayAttr indices) {
  if (targets.empty())
    return;
  printer << "defines ";
  printTargets(printer, op, targets, indices);
}

#define GET_OP_CLASSES
#include "pdg/PdgOps.cpp.inc"

using namespace timerl::pdg;

void PdgDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "pdg/PdgOps.cpp.inc"
      >();
}

YieldOp NodeOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}
StringRef NodeOp::getTarget(unsigned k) {
  return cast<FlatSymbolRefAttr>(getTargets()[k]).getValue();
}
SmallVector<Expr> NodeOp::getTargetIndices(unsigned k) {
  return getExprs(cast<ArrayAttr>(getIndices()[k]));
}

LogicalResult NodeOp::verify() {
  auto yielded = getYield().getValues();
  if (getOutput()) {
    if (!getTargets().empty() || !getLabel() || !getRange())
      return emitOpError("is an output and defines nothing");
    if (yielded.size() != 1)
      return emitOpError("yields one value");
    return success();
  }
  if (getTargets().size() != getIndices().size() ||
      yielded.size() != getTargets().size())
    return emitOpError("defines ")
           << getTargets().size() << " tensors but yields " << yielded.size();
  for (auto [symbol, list, value] :
       llvm::zip(getTargets(), getIndices(), yielded)) {
    auto name = cast<FlatSymbolRefAttr>(symbol);
    auto tensor = SymbolTable::lookupNearestSymbolFrom<TensorOp>(*this, name);
    if (!tensor)
      return emitOpError("defines unknown tensor ") << name;
    if (tensor.getRank() != cast<ArrayAttr>(list).size() ||
        tensor.getType() != value.getType())
      return emitOpError("does not define ") << name << " as it is declared";
  }
  return success();
}
