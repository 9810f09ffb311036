//===- Emit.cpp - Builders of values for derivatives ----------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Vjp.h"
#include <cmath>

using namespace mlir;
using namespace timerl;
using namespace timerl::autodiff;
using namespace timerl::trl;

RankedTensorType autodiff::typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

bool autodiff::isFloat(Type tensorType) {
  auto type = dyn_cast<RankedTensorType>(tensorType);
  return type && isa<FloatType>(type.getElementType());
}

RankedTensorType autodiff::withElement(Type type, Type elementType) {
  auto ranked = cast<RankedTensorType>(type);
  return RankedTensorType::get(ranked.getShape(), elementType,
                               ranked.getEncoding());
}

/// The one value of a float constant's elements.
static std::optional<double> splatOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || !elements.isSplat() || !isFloat(value.getType()))
    return std::nullopt;
  APFloat number = elements.getSplatValue<APFloat>();
  bool inexact;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

Value Emit::fill(Type type, double value) {
  auto ranked = cast<RankedTensorType>(type);
  Type element = ranked.getElementType();
  Attribute scalar =
      isa<FloatType>(element)
          ? Attribute(FloatAttr::get(element, value))
          : Attribute(IntegerAttr::get(element, static_cast<int64_t>(value)));
  if (ranked.hasStaticShape())
    return ConstantOp::create(builder, loc, ranked,
                              DenseElementsAttr::get(ranked, scalar));
  auto scalarType = RankedTensorType::get({}, element);
  Value constant = ConstantOp::create(
      builder, loc, scalarType, DenseElementsAttr::get(scalarType, scalar));
  return FillOp::create(builder, loc, ranked, constant);
}

Value Emit::index(RankedTensorType type, const Expr &expr) {
  Type i32 = builder.getI32Type();
  Value scalar = IndexOp::create(builder, loc, RankedTensorType::get({}, i32),
                                 ExprAttr::get(builder.getContext(), expr));
  if (type.getRank() == 0)
    return scalar;
  return FillOp::create(builder, loc, withElement(type, i32), scalar);
}

Value Emit::add(Value a, Value b) {
  return AddOp::create(builder, loc, a.getType(), a, b);
}
Value Emit::sub(Value a, Value b) {
  return SubOp::create(builder, loc, a.getType(), a, b);
}
Value Emit::mul(Value a, Value b) {
  return MulOp::create(builder, loc, a.getType(), a, b);
}
Value Emit::div(Value a, Value b) {
  return DivOp::create(builder, loc, a.getType(), a, b);
}
Value Emit::neg(Value a) { return NegOp::create(builder, loc, a.getType(), a); }
Value Emit::scaled(Value cotangent, Value partial) {
  // The seed is 1 and is often scaled by constants.
  if (auto value = splatOf(cotangent)) {
    auto factor = splatOf(partial);
    if (*value == 1)
      return partial;
    if (factor && std::isfinite(*factor))
      return fill(cotangent.getType(), *value * *factor);
  }
  return CotangentMulOp::create(builder, loc, cotangent.getType(), cotangent,
                                partial);
}
Value Emit::compare(Predicate predicate, Value a, Value b) {
  return CompareOp::create(builder, loc,
                           withElement(a.getType(), builder.getI1Type()),
                           predicate, a, b);
}
Value Emit::both(Value a, Value b) {
  return AndOp::create(builder, loc, a.getType(), a, b);
}
Value Emit::select(Value condition, Value a, Value b) {
  return SelectOp::create(builder, loc, a.getType(), condition, a, b);
}
Value Emit::masked(Value condition, Value cotangent) {
  return select(condition, cotangent, zero(cotangent.getType()));
}

Value Emit::cast(Value value, Type elementType) {
  if (typeOf(value).getElementType() == elementType)
    return value;
  return CastOp::create(builder, loc, withElement(value.getType(), elementType),
                        value);
}

Value Emit::reshape(Value value, ArrayRef<Expr> lengths) {
  RankedTensorType type =
      getTensorType(lengths, typeOf(value).getElementType());
  if (type == value.getType())
    return value;
  if (auto splat = splatOf(value))
    return fill(type, *splat);
  return ReshapeOp::create(builder, loc, type, value);
}

Value Emit::broadcast(Value value, ArrayRef<Expr> lengths) {
  RankedTensorType type =
      getTensorType(lengths, typeOf(value).getElementType());
  if (type == value.getType())
    return value;
  if (auto splat = splatOf(value))
    return fill(type, *splat);
  return BroadcastOp::create(builder, loc, type, value);
}

Value Emit::spread(Value value, ArrayRef<int64_t> axes,
                   ArrayRef<Expr> lengths) {
  SmallVector<Expr> kept(lengths);
  for (int64_t axis : axes)
    kept[axis] = Expr::constant(1);
  return broadcast(reshape(value, kept), lengths);
}

Value Emit::transpose(Value value, ArrayRef<int64_t> permutation) {
  SmallVector<Expr> from = getLengths(value.getType()), to;
  for (int64_t axis : permutation)
    to.push_back(from[axis]);
  return TransposeOp::create(builder, loc,
                             getTensorType(to, typeOf(value).getElementType()),
                             value, permutation);
}

Value Emit::matmul(Value a, Value b) {
  SmallVector<Expr> lhs = getLengths(a.getType()),
                    rhs = getLengths(b.getType()), result;
  if (lhs.size() > 2)
    result.assign(lhs.begin(), lhs.end() - 2);
  if (lhs.size() > 1)
    result.push_back(lhs[lhs.size() - 2]);
  if (rhs.size() > 1)
    result.push_back(rhs.back());
  return MatmulOp::create(
      builder, loc, getTensorType(result, typeOf(a).getElementType()), a, b);
}

Value Emit::reduce(Reduction reduction, Value value, ArrayRef<int64_t> axes) {
  if (axes.empty())
    return value;
  SmallVector<Expr> from = getLengths(value.getType()), to;
  for (unsigned k = 0; k < from.size(); ++k)
    if (!llvm::is_contained(axes, k))
      to.push_back(from[k]);
  Type element = reduction == Reduction::argmax
                     ? Type(builder.getI32Type())
                     : typeOf(value).getElementType();
  return ReduceOp::create(builder, loc, getTensorType(to, element), reduction,
                          value, axes);
}

Value Emit::iota(RankedTensorType type, int64_t axis) {
  return IotaOp::create(builder, loc, withElement(type, builder.getI32Type()),
                        axis);
}

Value Emit::extract(Value value, ArrayRef<Attribute> indices,
                    ValueRange dynamic) {
  ArrayAttr list = builder.getArrayAttr(indices);
  SmallVector<Expr> from = getLengths(value.getType()),
                    lengths = getRangeLengths(list);
  for (unsigned k = indices.size(); k < from.size(); ++k)
    lengths.push_back(from[k]);
  return ExtractOp::create(
      builder, loc, getTensorType(lengths, typeOf(value).getElementType()),
      value, list, dynamic);
}
