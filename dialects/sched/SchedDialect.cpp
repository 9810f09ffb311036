//===- SchedDialect.cpp - The sched dialect -------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sched/SchedDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "trl/TrlAssembly.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::trl;

// The directives that this dialect shares with trl are found by their bare
// names in the generated parsers.
using trl::parseExprList;
using trl::parseExprText;
using trl::parseIterators;
using trl::printExprList;
using trl::printExprText;
using trl::printIterators;

#include "sched/SchedDialect.cpp.inc"

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

static ParseResult parseLoop(OpAsmParser &parser, StringAttr &name,
                             ExprAttr &lo, ExprAttr &hi) {
  ArrayAttr iterators;
  if (parseIterator(parser, iterators))
    return failure();
  auto iterator = cast<IterAttr>(iterators[0]);
  name = iterator.getName();
  lo = iterator.getLo();
  hi = iterator.getHi();
  return success();
}
static void printLoop(OpAsmPrinter &printer, Operation *, StringAttr name,
                      ExprAttr lo, ExprAttr hi) {
  printIterator(printer, IterAttr::get(name.getContext(), name, lo, hi));
}

static ParseResult parseBindings(OpAsmParser &parser, ArrayAttr &dims,
                                 ArrayAttr &values) {
  SmallVector<Attribute> names, exprs;
  auto one = [&]() -> ParseResult {
    std::string name;
    ExprAttr expr;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() ||
        parseExprText(parser, expr))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    exprs.push_back(expr);
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, one))
    return failure();
  dims = ArrayAttr::get(parser.getContext(), names);
  values = ArrayAttr::get(parser.getContext(), exprs);
  return success();
}
static void printBindings(OpAsmPrinter &printer, Operation *op, ArrayAttr dims,
                          ArrayAttr values) {
  printer << '(';
  llvm::interleaveComma(llvm::zip(dims, values), printer, [&](auto pair) {
    printer.printKeywordOrString(
        cast<StringAttr>(std::get<0>(pair)).getValue());
    printer << " = ";
    printExprText(printer, op, cast<ExprAttr>(std::get<1>(pair)));
  });
  printer << ')';
}

static ParseResult parsePlacedTargets(OpAsmParser &parser, ArrayAttr &targets,
                                      ArrayAttr &indices) {
  SmallVector<Attribute> names, lists;
  if (parser.parseCommaSeparatedList([&]() -> ParseResult {
        StringAttr name;
        ArrayAttr list;
        if (parser.parseSymbolName(name) || parseIndices(parser, list))
          return failure();
        names.push_back(FlatSymbolRefAttr::get(name));
        lists.push_back(list);
        return success();
      }))
    return failure();
  targets = ArrayAttr::get(parser.getContext(), names);
  indices = ArrayAttr::get(parser.getContext(), lists);
  return success();
}
static void printPlacedTargets(OpAsmPrinter &printer, Operation *op,
                               ArrayAttr targets, ArrayAttr indices) {
  llvm::interleaveComma(llvm::zip(targets, indices), printer, [&](auto pair) {
    printer.printAttribute(std::get<0>(pair));
    printIndices(printer, op, cast<ArrayAttr>(std::get<1>(pair)));
  });
}

#define GET_OP_CLASSES
#include "sched/SchedOps.cpp.inc"

using namespace timerl::sched;

void SchedDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "sched/SchedOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

YieldOp StmtOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}
YieldOp sched::OutputOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

static LogicalResult verifyNest(Operation *op) {
  if (!isa<ProgramOp, ForOp, sched::IfOp>(op->getParentOp()))
    return op->emitOpError("stands in a program, a loop or a guard");
  return success();
}

/// Whether a `sched.end` before the op, in its block or one around it, tells
/// this `end(...)`.
static bool isEndKnown(Operation *op, StringRef name) {
  for (; op && !isa<ProgramOp>(op); op = op->getParentOp())
    for (Operation *before = op->getPrevNode(); before;
         before = before->getPrevNode())
      if (auto end = dyn_cast<EndOp>(before))
        if (name == ("end(" + end.getDim() + ")").str())
          return true;
  return false;
}

/// Every variable is one of the loops around, an argument or a known
/// `end(...)`.
static LogicalResult verifyScope(Operation *op, const Expr &expr) {
  for (const std::string &name : expr.variables()) {
    bool known = isEndKnown(op, name) ||
                 SymbolTable::lookupNearestSymbolFrom<ArgOp>(
                     op, StringAttr::get(op->getContext(), name));
    for (auto loop = op->getParentOfType<ForOp>(); loop && !known;
         loop = loop->getParentOfType<ForOp>())
      known = loop.getName() == name;
    if (!known)
      return op->emitOpError("uses '")
             << name << "', which is no variable of a loop around it";
  }
  return success();
}

LogicalResult ProgramOp::verify() {
  bool begun = false;
  llvm::DenseSet<Attribute> stored;
  for (Operation &op : getBody().front()) {
    auto buffer = dyn_cast<BufferOp>(op);
    if (buffer && begun)
      return op.emitOpError("stands behind the first statement");
    if (buffer && !stored.insert(buffer.getTensorAttr()).second)
      return op.emitOpError("is a second buffer of @") << buffer.getTensor();
    if (buffer && buffer.getOffset() + buffer.getBytes() >
                      static_cast<uint64_t>(getArena()))
      return op.emitOpError("ends behind the arena");
    begun |= !buffer;
    if (!isa<BufferOp, ForOp, EndOp, sched::IfOp, StmtOp, sched::OutputOp>(op))
      return op.emitOpError("has no place in a program");
  }
  return success();
}

LogicalResult BufferOp::verify() {
  auto tensor =
      SymbolTable::lookupNearestSymbolFrom<TensorOp>(*this, getTensorAttr());
  if (!tensor)
    return emitOpError("stores unknown tensor @") << getTensor();
  if (getWindow().size() != tensor.getRank() ||
      getOrigin().size() != tensor.getRank())
    return emitOpError("needs a window and an origin for each of the ")
           << tensor.getRank() << " positions of @" << getTensor();
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.hasStaticShape())
    return emitOpError("stores a tensor of dynamic shape");
  int64_t bytes =
      type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
  for (int64_t extent : getWindow()) {
    if (extent < 1)
      return emitOpError("has an empty window");
    bytes *= extent;
  }
  if (static_cast<uint64_t>(bytes) != getBytes())
    return emitOpError("takes ") << bytes << " bytes, not " << getBytes();
  if (getOffset() < 0 || getOffset() % 64)
    return emitOpError("is not aligned to 64 bytes");
  if (getMinor() && *getMinor() >= getWindow().size())
    return emitOpError("has no position ") << *getMinor();
  if (getLive().size() != 2 || getLive()[0] > getLive()[1])
    return emitOpError("needs a first and a last statement");
  return success();
}

LogicalResult ForOp::verify() {
  if (failed(verifyNest(*this)) ||
      failed(verifyScope(*this, getLo().getExpr())) ||
      failed(verifyScope(*this, getHi().getExpr())))
    return failure();
  for (auto loop = (*this)->getParentOfType<ForOp>(); loop;
       loop = loop->getParentOfType<ForOp>())
    if (loop.getName() == getName())
      return emitOpError("has the variable of a loop around it, ") << getName();
  if (getLanes() && (!getParallel() || *getLanes() < 1))
    return emitOpError("runs in lanes, so it is parallel and has some");
  if (getUntil() && (getReverse() || getParallel()))
    return emitOpError("stops early, so it runs in ascending order");
  return success();
}

LogicalResult EndOp::verify() {
  if (failed(verifyNest(*this)))
    return failure();
  auto dim = SymbolTable::lookupNearestSymbolFrom<DimOp>(*this, getDimAttr());
  if (!dim || !dim.getCounted())
    return emitOpError("asks for the length of @")
           << getDim() << ", which is not counted";
  if (dim.getOuterDims().size() != getIndices().size())
    return emitOpError("needs an index for each of the ")
           << dim.getOuterDims().size() << " outer dims of @" << getDim();
  for (const Expr &index : getExprs(getIndices()))
    if (failed(verifyScope(*this, index)))
      return failure();
  return success();
}

LogicalResult sched::IfOp::verify() {
  if (!getCondition().getExpr().isCondition())
    return emitOpError("needs a condition");
  if (failed(verifyNest(*this)))
    return failure();
  return verifyScope(*this, getCondition().getExpr());
}

static LogicalResult verifyBindings(Operation *op, ArrayAttr dims,
                                    ArrayAttr values) {
  if (dims.size() != values.size())
    return op->emitOpError("binds ")
           << dims.size() << " dims to " << values.size() << " values";
  for (const Expr &value : getExprs(values))
    if (failed(verifyScope(op, value)))
      return failure();
  return success();
}

LogicalResult StmtOp::verify() {
  if (failed(verifyNest(*this)) ||
      failed(verifyBindings(*this, getDims(), getValues())))
    return failure();
  auto yielded = getYield().getValues();
  if (yielded.size() != getTargets().size())
    return emitOpError("defines ")
           << getTargets().size() << " tensors but yields " << yielded.size();
  for (auto [symbol, list, value] :
       llvm::zip(getTargets(), getIndices(), yielded)) {
    auto name = cast<FlatSymbolRefAttr>(symbol);
    auto indices = cast<ArrayAttr>(list);
    auto tensor = SymbolTable::lookupNearestSymbolFrom<TensorOp>(*this, name);
    if (!tensor)
      return emitOpError("defines unknown tensor ") << name;
    if (tensor.getRank() != indices.size())
      return emitOpError("gives ") << indices.size() << " indices for " << name
                                   << ", which has " << tensor.getRank();
    for (Attribute index : indices)
      if (isa<DynamicAttr>(index))
        return emitOpError("stores at an index known only at run time");
    auto type = cast<RankedTensorType>(tensor.getType());
    SmallVector<Expr> lengths = getRangeLengths(indices);
    llvm::append_range(lengths, getLengths(type));
    Type expected = getTensorType(lengths, type.getElementType());
    if (value.getType() != expected)
      return emitOpError("yields ") << value.getType() << " for " << name
                                    << " instead of " << expected;
  }
  return success();
}

LogicalResult sched::OutputOp::verify() {
  if (failed(verifyNest(*this)) ||
      failed(verifyBindings(*this, getDims(), getValues())))
    return failure();
  if (getYield().getValues().size() != 1)
    return emitOpError("yields one value");
  if (getDomain().size() != getDims().size())
    return emitOpError("needs a range for each dim");
  return success();
}
