//===- TrlAttrs.cpp - Attributes of the trl dialect -----------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "trl/TrlDialect.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::trl;

Expr ExprAttr::getExpr() const { return *Expr::parse(getText()); }

LogicalResult ExprAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringRef text) {
  std::string error;
  auto expr = Expr::parse(text, &error);
  if (!expr)
    return emitError() << "'" << text << "' is no index expression: " << error;
  if (expr->isOverflow())
    return emitError() << "'" << text << "' does not fit 64 bits";
  if (expr->str() != text)
    return emitError() << "'" << text
                       << "' is not in canonical form, which is '"
                       << expr->str() << "'";
  return success();
}

LogicalResult
ShapeAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                          function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getLengths().size())
    return emitError() << "the shape encoding has " << getLengths().size()
                       << " lengths for " << shape.size() << " axes";
  bool anyDynamic = false;
  for (auto [size, length] : llvm::zip(shape, getLengths())) {
    auto constant = length.getExpr().getConst();
    if (ShapedType::isDynamic(size) != !constant ||
        (constant && *constant != size))
      return emitError() << "length '" << length.getText()
                         << "' does not fit the axis";
    anyDynamic |= ShapedType::isDynamic(size);
  }
  if (!anyDynamic)
    return emitError() << "a static shape needs no encoding";
  return success();
}

SmallVector<Expr> trl::getExprs(ArrayAttr exprs) {
  SmallVector<Expr> result;
  for (auto attr : exprs.getAsRange<ExprAttr>())
    result.push_back(attr.getExpr());
  return result;
}

ArrayAttr trl::getExprArrayAttr(MLIRContext *context, ArrayRef<Expr> exprs) {
  SmallVector<Attribute> attrs;
  for (const Expr &expr : exprs)
    attrs.push_back(ExprAttr::get(context, expr));
  return ArrayAttr::get(context, attrs);
}

SmallVector<Expr> trl::getLengths(Type tensorType) {
  auto type = cast<RankedTensorType>(tensorType);
  SmallVector<Expr> lengths;
  if (auto encoding = dyn_cast_or_null<ShapeAttr>(type.getEncoding())) {
    for (ExprAttr length : encoding.getLengths())
      lengths.push_back(length.getExpr());
    return lengths;
  }
  for (int64_t size : type.getShape())
    lengths.push_back(Expr::constant(size));
  return lengths;
}

RankedTensorType trl::getTensorType(ArrayRef<Expr> lengths, Type elementType) {
  SmallVector<int64_t> shape;
  SmallVector<ExprAttr> attrs;
  bool anyDynamic = false;
  for (const Expr &length : lengths) {
    auto constant = length.getConst();
    anyDynamic |= !constant;
    shape.push_back(constant ? *constant : ShapedType::kDynamic);
    attrs.push_back(ExprAttr::get(elementType.getContext(), length));
  }
  Attribute encoding = anyDynamic
                           ? ShapeAttr::get(elementType.getContext(), attrs)
                           : Attribute();
  return RankedTensorType::get(shape, elementType, encoding);
}

SmallVector<Expr> trl::getRangeLengths(ArrayAttr indices) {
  SmallVector<Expr> lengths;
  for (auto range : indices.getAsRange<Attribute>())
    if (auto slice = dyn_cast<RangeAttr>(range))
      lengths.push_back(slice.getHi().getExpr() - slice.getLo().getExpr());
  return lengths;
}
