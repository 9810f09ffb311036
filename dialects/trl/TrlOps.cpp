//===- TrlOps.cpp - Operations of the trl dialect -------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrlAssembly.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "trl/TrlDialect.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::trl;

#define GET_OP_CLASSES
#include "trl/TrlOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Equations and outputs
//===----------------------------------------------------------------------===//

static YieldOp yieldOf(Region &region) {
  return cast<YieldOp>(region.front().getTerminator());
}

SmallVector<std::string> DimOp::getOuterDims() {
  SmallVector<std::string> names;
  auto until = getUntilAttr() ? SymbolTable::lookupNearestSymbolFrom<TensorOp>(
                                    *this, getUntilAttr())
                              : TensorOp();
  if (until && until.getRank() > 0)
    for (Attribute name : until.getPositions().getValue().drop_back())
      names.push_back(cast<StringAttr>(name).str());
  return names;
}

SmallVector<std::string> trl::getMentionedEnds(Operation *op) {
  SmallVector<std::string> ends;
  AttrTypeWalker walker;
  walker.addWalk([&](ExprAttr attr) {
    for (const std::string &name : attr.getExpr().variables())
      if (StringRef(name).starts_with("end(") &&
          !llvm::is_contained(ends, name))
        ends.push_back(name);
  });
  op->walk<WalkOrder::PreOrder>(
      [&](Operation *inner) { walker.walk(inner->getAttrDictionary()); });
  return ends;
}

YieldOp EquationOp::getYield() { return yieldOf(getBody()); }
YieldOp OutputOp::getYield() { return yieldOf(getBody()); }
YieldOp ReduceOverOp::getYield() { return yieldOf(getBody()); }

StringRef EquationOp::getTarget(unsigned k) {
  return cast<FlatSymbolRefAttr>(getTargets()[k]).getValue();
}

SmallVector<Expr> EquationOp::getTargetIndices(unsigned k) {
  return getExprs(cast<ArrayAttr>(getIndices()[k]));
}

void EquationOp::build(OpBuilder &builder, OperationState &state,
                       ArrayRef<IterAttr> domain, const Expr &when,
                       ArrayRef<StringRef> targets,
                       ArrayRef<SmallVector<Expr>> indices) {
  SmallVector<Attribute> lists;
  for (const SmallVector<Expr> &list : indices)
    lists.push_back(getExprArrayAttr(builder.getContext(), list));
  SmallVector<Attribute> iterators(domain.begin(), domain.end());
  state.getOrAddProperties<Properties>().domain =
      builder.getArrayAttr(iterators);
  state.getOrAddProperties<Properties>().when =
      ExprAttr::get(builder.getContext(), when);
  SmallVector<Attribute> names;
  for (StringRef target : targets)
    names.push_back(FlatSymbolRefAttr::get(builder.getContext(), target));
  state.getOrAddProperties<Properties>().targets = builder.getArrayAttr(names);
  state.getOrAddProperties<Properties>().indices = builder.getArrayAttr(lists);
  state.addRegion()->emplaceBlock();
}

void OutputOp::build(OpBuilder &builder, OperationState &state, OutputKind kind,
                     StringRef name, ArrayRef<IterAttr> domain,
                     const Expr &when) {
  SmallVector<Attribute> iterators(domain.begin(), domain.end());
  state.getOrAddProperties<Properties>().kind =
      OutputKindAttr::get(builder.getContext(), kind);
  state.getOrAddProperties<Properties>().name = builder.getStringAttr(name);
  state.getOrAddProperties<Properties>().domain =
      builder.getArrayAttr(iterators);
  state.getOrAddProperties<Properties>().when =
      ExprAttr::get(builder.getContext(), when);
  state.addRegion()->emplaceBlock();
}

LogicalResult EquationOp::verify() {
  if (getTargets().size() != getIndices().size())
    return emitOpError("has ") << getTargets().size() << " targets but "
                               << getIndices().size() << " index lists";
  if (getYield().getValues().size() != getTargets().size())
    return emitOpError("defines ")
           << getTargets().size() << " tensors but yields "
           << getYield().getValues().size() << " values";
  for (unsigned k = 0; k < getNumTargets(); ++k) {
    auto tensor = SymbolTable::lookupNearestSymbolFrom<TensorOp>(
        *this, cast<FlatSymbolRefAttr>(getTargets()[k]));
    if (!tensor)
      return emitOpError("defines unknown tensor @") << getTarget(k);
    if (tensor.getRank() != cast<ArrayAttr>(getIndices()[k]).size())
      return emitOpError("gives ")
             << cast<ArrayAttr>(getIndices()[k]).size() << " indices for @"
             << getTarget(k) << ", which has " << tensor.getRank();
    if (getYield().getValues()[k].getType() != tensor.getType())
      return emitOpError("yields ")
             << getYield().getValues()[k].getType() << " for @" << getTarget(k)
             << ", which holds " << tensor.getType();
  }
  return success();
}

LogicalResult OutputOp::verify() {
  if (getYield().getValues().size() != 1)
    return emitOpError("yields ")
           << getYield().getValues().size() << " values instead of one";
  if (getKind() == OutputKind::report &&
      cast<RankedTensorType>(getYield().getValues()[0].getType()).getRank() !=
          0)
    return emitOpError("reports a value that is no scalar");
  return success();
}

//===----------------------------------------------------------------------===//
// Reads and sources of values
//===----------------------------------------------------------------------===//

static unsigned countDynamic(ArrayAttr indices) {
  return llvm::count_if(
      indices, [](Attribute index) { return isa<DynamicAttr>(index); });
}

static LogicalResult verifyDynamic(Operation *op, ArrayAttr indices,
                                   OperandRange dynamic) {
  if (countDynamic(indices) != dynamic.size())
    return op->emitOpError("has ")
           << countDynamic(indices) << " dynamic indices but " << dynamic.size()
           << " operands";
  for (Value value : dynamic)
    if (cast<RankedTensorType>(value.getType()).getRank() != 0)
      return op->emitOpError("needs scalar indices");
  return success();
}

LogicalResult ReadOp::verify() {
  if (failed(verifyDynamic(*this, getIndices(), getDynamic())))
    return failure();
  Operation *source =
      SymbolTable::lookupNearestSymbolFrom(*this, getSourceAttr());
  RankedTensorType type;
  unsigned rank;
  if (auto tensor = dyn_cast_or_null<TensorOp>(source)) {
    type = cast<RankedTensorType>(tensor.getType());
    rank = tensor.getRank();
  } else if (auto input = dyn_cast_or_null<InputOp>(source)) {
    type = cast<RankedTensorType>(input.getType());
    rank = input.getOver().size();
  } else {
    return emitOpError("reads unknown tensor @") << getSource();
  }
  if (rank != getIndices().size())
    return emitOpError("gives ") << getIndices().size() << " indices for @"
                                 << getSource() << ", which has " << rank;
  SmallVector<Expr> lengths = getRangeLengths(getIndices());
  llvm::append_range(lengths, getLengths(type));
  auto expected = getTensorType(lengths, type.getElementType());
  if (getType() != expected)
    return emitOpError("has type ") << getType() << " instead of " << expected;
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult FillOp::verify() {
  auto type = cast<RankedTensorType>(getValue().getType());
  if (type.getRank() != 0 ||
      type.getElementType() != getType().getElementType())
    return emitOpError("needs a scalar of the result's element type");
  return success();
}

LogicalResult IndexOp::verify() {
  auto type = getType();
  if (type.getRank() != 0)
    return emitOpError("gives a scalar");
  if (getExpr().getExpr().isCondition() != type.getElementType().isInteger(1))
    return emitOpError("gives a bool for a condition, and only then");
  return success();
}

LogicalResult RandomOp::verify() {
  if (getBounds().size() != (getDraw() == Draw::randint ? 2 : 0))
    return emitOpError("takes two bounds for randint, and none otherwise");
  bool isFloat = isa<FloatType>(getType().getElementType());
  if (isFloat != (getDraw() == Draw::uniform || getDraw() == Draw::normal))
    return emitOpError("has the wrong element type for its distribution");
  if (getDraw() == Draw::permutation && getType().getRank() != 1)
    return emitOpError("gives a permutation as a vector");
  return success();
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

static LogicalResult verifyOperandShape(Operation *op, Type operand,
                                        Type result) {
  auto from = cast<RankedTensorType>(operand);
  auto to = cast<RankedTensorType>(result);
  if (from.getShape() != to.getShape() ||
      from.getEncoding() != to.getEncoding())
    return op->emitOpError("changes the shape from ") << from << " to " << to;
  return success();
}

LogicalResult CompareOp::verify() {
  return verifyOperandShape(*this, getLhs().getType(), getType());
}
LogicalResult SelectOp::verify() {
  return verifyOperandShape(*this, getCondition().getType(), getType());
}
LogicalResult CastOp::verify() {
  return verifyOperandShape(*this, getOperand().getType(), getType());
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  SmallVector<Expr> from = getLengths(getOperand().getType()),
                    to = getLengths(getType());
  if (from.size() > to.size())
    return emitOpError("cannot lower the rank");
  for (unsigned k = 0; k < from.size(); ++k) {
    const Expr &target = to[to.size() - from.size() + k];
    if (from[k] != target && from[k] != Expr::constant(1))
      return emitOpError("cannot stretch length ")
             << from[k].str() << " to " << target.str();
  }
  return success();
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  if (from.hasStaticShape() && to.hasStaticShape() &&
      from.getNumElements() != to.getNumElements())
    return emitOpError("changes the number of elements from ")
           << from.getNumElements() << " to " << to.getNumElements();
  return success();
}

LogicalResult TransposeOp::verify() {
  SmallVector<Expr> from = getLengths(getOperand().getType()),
                    to = getLengths(getType());
  ArrayRef<int64_t> permutation = getPermutation();
  if (permutation.size() != from.size() ||
      !mlir::isPermutationVector(permutation))
    return emitOpError("needs a permutation of the axes");
  for (unsigned k = 0; k < to.size(); ++k)
    if (to[k] != from[permutation[k]])
      return emitOpError("has length ")
             << to[k].str() << " in axis " << k << " instead of "
             << from[permutation[k]].str();
  return success();
}

LogicalResult StackOp::verify() {
  if (getOperands().empty())
    return emitOpError("needs an operand");
  SmallVector<Expr> lengths = getLengths(getOperands()[0].getType());
  lengths.insert(lengths.begin(), Expr::constant(getOperands().size()));
  auto expected = getTensorType(
      lengths,
      cast<RankedTensorType>(getOperands()[0].getType()).getElementType());
  if (getType() != expected)
    return emitOpError("has type ") << getType() << " instead of " << expected;
  return success();
}

LogicalResult ConcatOp::verify() {
  if (getOperands().empty())
    return emitOpError("needs an operand");
  SmallVector<Expr> result = getLengths(getType());
  int64_t axis = getAxis();
  if (axis < 0 || axis >= static_cast<int64_t>(result.size()))
    return emitOpError("has no axis ") << axis;
  Expr total;
  for (Value operand : getOperands()) {
    SmallVector<Expr> lengths = getLengths(operand.getType());
    if (lengths.size() != result.size())
      return emitOpError("joins different ranks");
    total = total + lengths[axis];
    lengths[axis] = result[axis];
    if (lengths != result)
      return emitOpError("joins shapes that differ elsewhere than in axis ")
             << axis;
  }
  if (total != result[axis])
    return emitOpError("has length ") << result[axis].str() << " in axis "
                                      << axis << " instead of " << total.str();
  return success();
}

LogicalResult ExtractOp::verify() {
  if (failed(verifyDynamic(*this, getIndices(), getDynamic())))
    return failure();
  auto type = cast<RankedTensorType>(getOperand().getType());
  SmallVector<Expr> from = getLengths(type);
  if (getIndices().size() > from.size())
    return emitOpError("has ")
           << getIndices().size() << " indices for " << from.size() << " axes";
  SmallVector<Expr> lengths = getRangeLengths(getIndices());
  for (unsigned k = getIndices().size(); k < from.size(); ++k)
    lengths.push_back(from[k]);
  auto expected = getTensorType(lengths, type.getElementType());
  if (getType() != expected)
    return emitOpError("has type ") << getType() << " instead of " << expected;
  return success();
}

LogicalResult TakeOp::verify() {
  SmallVector<Expr> from = getLengths(getOperand().getType()),
                    lengths = getLengths(getIndices().getType());
  if (from.empty())
    return emitOpError("needs an axis to take from");
  lengths.append(std::next(from.begin()), from.end());
  if (getLengths(getType()) != lengths)
    return emitOpError("has the wrong shape");
  return success();
}

LogicalResult ScatterOp::verify() {
  SmallVector<Expr> base = getLengths(getBase().getType()),
                    indices = getLengths(getIndices().getType());
  if (base.empty() || indices.size() > 1)
    return emitOpError("needs a base with an axis, and indices of rank 0 or 1");
  indices.append(std::next(base.begin()), base.end());
  if (getLengths(getUpdates().getType()) != indices)
    return emitOpError("has updates of the wrong shape");
  return success();
}

//===----------------------------------------------------------------------===//
// Along axes
//===----------------------------------------------------------------------===//

LogicalResult MatmulOp::verify() {
  SmallVector<Expr> lhs = getLengths(getLhs().getType()),
                    rhs = getLengths(getRhs().getType());
  if (lhs.empty() || rhs.empty())
    return emitOpError("needs operands with axes");
  const Expr &inner = rhs.size() == 1 ? rhs[0] : rhs[rhs.size() - 2];
  if (lhs.back() != inner)
    return emitOpError("contracts length ")
           << lhs.back().str() << " with " << inner.str();
  SmallVector<Expr> expected;
  if (lhs.size() > 2 || rhs.size() > 2) {
    if (lhs.size() != rhs.size() ||
        !std::equal(lhs.begin(), lhs.end() - 2, rhs.begin()))
      return emitOpError("needs equal batch axes");
    expected.assign(lhs.begin(), lhs.end() - 2);
  }
  if (lhs.size() > 1)
    expected.push_back(lhs[lhs.size() - 2]);
  if (rhs.size() > 1)
    expected.push_back(rhs.back());
  if (getLengths(getType()) != expected)
    return emitOpError("has the wrong shape");
  return success();
}

LogicalResult ReduceOp::verify() {
  SmallVector<Expr> from = getLengths(getOperand().getType()), expected;
  ArrayRef<int64_t> axes = getAxes();
  for (unsigned k = 0; k < axes.size(); ++k)
    if (axes[k] < 0 || axes[k] >= static_cast<int64_t>(from.size()) ||
        (k && axes[k] <= axes[k - 1]))
      return emitOpError("needs ascending axes of the operand");
  for (unsigned k = 0; k < from.size(); ++k)
    if (!llvm::is_contained(axes, k))
      expected.push_back(from[k]);
  if (getLengths(getType()) != expected)
    return emitOpError("has the wrong shape");
  if (getReduction() == Reduction::argmax
          ? axes.size() != 1 || !getType().getElementType().isInteger(32)
          : getType().getElementType() !=
                cast<RankedTensorType>(getOperand().getType()).getElementType())
    return emitOpError("has the wrong element type");
  return success();
}

//===----------------------------------------------------------------------===//
// Structured control
//===----------------------------------------------------------------------===//

static LogicalResult verifyYields(Operation *op, Region &region) {
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield || yield.getValues().getTypes() != op->getResultTypes())
    return op->emitOpError("yields types that differ from its results");
  return success();
}

LogicalResult ReduceOverOp::verify() {
  SmallVector<Type> types(getYield().getValues().getTypes());
  unsigned expected = getNumResults() + getFiltered();
  if (types.size() != expected)
    return emitOpError("yields ")
           << types.size() << " values instead of " << expected;
  if (getFiltered()) {
    auto filter = cast<RankedTensorType>(types.back());
    if (filter.getRank() != 0 || !filter.getElementType().isInteger(1))
      return emitOpError(
          "needs a boolean scalar as its last value, the filter");
  }
  if (getBinders().empty())
    return emitOpError("needs a binder");
  if (getReduction() == Reduction::argmax) {
    if (getNumResults() != 1 || getBinders().size() != 1 ||
        cast<RankedTensorType>(types[0]).getRank() != 0)
      return emitOpError("takes one binder and one scalar for argmax");
    return success();
  }
  for (auto [result, type] : llvm::zip(getResultTypes(), types))
    if (result != type)
      return emitOpError("yields ")
             << type << " for a result of type " << result;
  return success();
}

LogicalResult IfOp::verify() {
  if (failed(verifyYields(*this, getThen())) ||
      failed(verifyYields(*this, getOtherwise())))
    return failure();
  auto condition = cast<RankedTensorType>(getCondition().getType());
  if (condition.getRank() != 0)
    for (Type type : getResultTypes())
      if (failed(verifyOperandShape(*this, condition, type)))
        return failure();
  return success();
}

LogicalResult CaseOp::verify() {
  if (!getCondition().getExpr().isCondition())
    return emitOpError("needs a condition");
  return success(succeeded(verifyYields(*this, getThen())) &&
                 succeeded(verifyYields(*this, getOtherwise())));
}

LogicalResult GradOp::verify() {
  if (getWrt().size() != getNumResults())
    return emitOpError("has ") << getNumResults() << " results for "
                               << getWrt().size() << " tensors";
  for (auto [symbol, type] : llvm::zip(getWrt(), getResultTypes())) {
    auto tensor = SymbolTable::lookupNearestSymbolFrom<TensorOp>(
        *this, cast<FlatSymbolRefAttr>(symbol));
    if (!tensor || tensor.getType() != type)
      return emitOpError(
          "needs results of the types of the tensors it differentiates by");
  }
  return success();
}
