//===- Operators.cpp - dtypes, shapes, arithmetic
//--------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elaborator.h"
#include "Elementwise.h"
#include <cmath>

using namespace mlir;
using namespace timerl;
using namespace timerl::elaboration;
using ast::BinaryOp;

//===----------------------------------------------------------------------===//
// dtypes and lengths
//===----------------------------------------------------------------------===//

static RankedTensorType tensorType(mlir::Value value) {
  return cast<RankedTensorType>(value.getType());
}

Type Elaborator::elementTypeOf(const Term &value) {
  if (value.kind == Term::Kind::Leaf)
    return tensorType(value.leaf).getElementType();
  if (value.kind == Term::Kind::Lazy || value.kind == Term::Kind::Arg)
    return value.type.getElementType();
  if (value.kind == Term::Kind::Cond)
    return builder.getI1Type();
  if (value.kind == Term::Kind::List) {
    Type best;
    bool anyFloat = false;
    for (const Term &element : value.elements) {
      anyFloat |= isFloatValue(element);
      if (Type type = elementTypeOf(element))
        best = best ? widerElement(best, type) : type;
    }
    // [x, 1.0] with x an integer is a list of floats.
    if (best && anyFloat && !isa<FloatType>(best))
      best = builder.getF32Type();
    return best;
  }
  // What a wide arg is part of is as wide; all other indices are weak.
  if (value.kind == Term::Kind::Int &&
      llvm::any_of(wideArgs, [&](const std::string &name) {
        return value.expr.mentions(name);
      }))
    return builder.getI64Type();
  return Type();
}

bool Elaborator::isFloatValue(const Term &value) {
  if (value.kind == Term::Kind::Float)
    return true;
  if (value.kind == Term::Kind::Weak)
    return value.weakFloat;
  if (value.kind == Term::Kind::List)
    return llvm::any_of(value.elements, [&](const Term &element) {
      return isFloatValue(element);
    });
  Type type = elementTypeOf(value);
  return type && isa<FloatType>(type);
}

bool Elaborator::isBoolValue(const Term &value) {
  Type type = elementTypeOf(value);
  return type && type.isInteger(1);
}

std::vector<Expr> Elaborator::lengthsOf(const Term &value) {
  if (value.kind == Term::Kind::Leaf || value.kind == Term::Kind::Lazy) {
    SmallVector<Expr> lengths =
        trl::getLengths(value.kind == Term::Kind::Leaf ? value.leaf.getType()
                                                       : Type(value.type));
    return {lengths.begin(), lengths.end()};
  }
  if (value.kind == Term::Kind::Weak)
    return value.lengths;
  if (value.kind == Term::Kind::List) {
    std::vector<Expr> lengths{Expr::constant(value.elements.size())}, inner;
    for (const Term &element : value.elements)
      if (std::vector<Expr> own = lengthsOf(element);
          own.size() >= inner.size())
        inner = own;
    lengths.insert(lengths.end(), inner.begin(), inner.end());
    return lengths;
  }
  return {};
}

int elaboration::elementRank(Type type) {
  if (type.isInteger(1))
    return 0;
  if (type.isUnsignedInteger(8))
    return 1;
  if (type.isInteger(32))
    return 2;
  if (type.isInteger(64))
    return 3;
  return type.isF32() ? 4 : 5;
}

Type elaboration::widerElement(Type a, Type b) {
  return elementRank(a) < elementRank(b) ? b : a;
}

/// The common dtype of operands; null when all are weak.
Type Elaborator::promote(ArrayRef<Term> values, bool forceFloat) {
  Type best;
  bool anyFloat = forceFloat, anyNumber = forceFloat;
  for (const Term &value : values) {
    anyFloat |= isFloatValue(value);
    anyNumber |=
        value.kind == Term::Kind::Int || value.kind == Term::Kind::Weak;
    Type type = value.kind == Term::Kind::Cond ? Type() : elementTypeOf(value);
    if (type)
      best = best ? widerElement(best, type) : type;
  }
  if (!best)
    return best;
  if (anyFloat && !isa<FloatType>(best))
    return builder.getF32Type();
  if (anyNumber && best.isInteger(1))
    return builder.getI32Type();
  return best;
}

//===----------------------------------------------------------------------===//
// From values to SSA
//===----------------------------------------------------------------------===//

mlir::Value Elaborator::constant(Type elementType, double number,
                                 SourceSpan span) {
  auto type = RankedTensorType::get({}, elementType);
  return trl::ConstantOp::create(
      builder, location(span), type,
      DenseElementsAttr::get(type, builder.getFloatAttr(elementType, number)));
}

mlir::Value Elaborator::constant(Type elementType, int64_t number,
                                 SourceSpan span) {
  if (isa<FloatType>(elementType))
    return constant(elementType, static_cast<double>(number), span);
  auto type = RankedTensorType::get({}, elementType);
  APInt bits =
      APInt(64, number, true).trunc(elementType.getIntOrFloatBitWidth());
  return trl::ConstantOp::create(builder, location(span), type,
                                 DenseElementsAttr::get(type, bits));
}

mlir::Value Elaborator::castTo(mlir::Value value, Type elementType,
                               SourceSpan span) {
  if (!value || tensorType(value).getElementType() == elementType)
    return value;
  SmallVector<Expr> lengths = trl::getLengths(value.getType());
  return trl::CastOp::create(builder, location(span),
                             trl::getTensorType(lengths, elementType), value);
}

mlir::Value Elaborator::broadcast(mlir::Value value, ArrayRef<Expr> lengths,
                                  SourceSpan span) {
  if (!value || ArrayRef<Expr>(trl::getLengths(value.getType())) == lengths)
    return value;
  auto type = trl::getTensorType(lengths, tensorType(value).getElementType());
  return trl::BroadcastOp::create(builder, location(span), type, value);
}

mlir::Value Elaborator::materialize(const Term &value, SourceSpan span) {
  Type type = elementTypeOf(value);
  if (!type)
    type =
        isFloatValue(value) ? Type(builder.getF32Type()) : builder.getI32Type();
  return materialize(value, type, span);
}

/// The numbers that a dtype holds; all of them for floats.
static Interval rangeOfDtype(Type type) {
  if (type.isUnsignedInteger(8))
    return {0, 255};
  if (type.isInteger(1))
    return {0, 1};
  if (type.isInteger(32))
    return {INT32_MIN, INT32_MAX};
  return {INT64_MIN, INT64_MAX};
}

Interval Elaborator::reach(const Expr &index) const {
  Intervals known;
  for (const DimInfo *dim : allDims)
    if (dim->until)
      known.set(
          dim->hi().name(),
          rangeOf(Expr::constant(0), dim->extent + Expr::constant(1), known));
  for (const Iterator &iterator : context->iterators)
    known.set(iterator.name, rangeOf(iterator.lo, iterator.hi, known));
  known.assume(context->when);
  return known.of(index);
}

mlir::Value Elaborator::materialize(const Term &value, Type elementType,
                                    SourceSpan span) {
  if (value.isError())
    return {};
  if (!value.isData()) {
    error("E0204", span,
          "expected a number or tensor, found " + value.describe());
    return {};
  }
  if (!canEmit()) {
    error("E0215", span, "this must be known at compile time");
    return {};
  }
  switch (value.kind) {
  case Term::Kind::Int: {
    if (value.expr.isOverflow()) {
      error("E0209", span, "the integer does not fit 64 bits");
      return {};
    }
    if (auto number = value.expr.getConst()) {
      Interval range = rangeOfDtype(elementType);
      if (*number < *range.lo || *number > *range.hi) {
        error("E0209", span,
              std::to_string(*number) + " does not fit " +
                  typeText(RankedTensorType::get({}, elementType)));
        return {};
      }
      return constant(elementType, *number, span);
    }
    if (elementType.isInteger(1))
      return castTo(materialize(value, builder.getI64Type(), span), elementType,
                    span);
    Interval range = rangeOfDtype(elementType), reached = reach(value.expr);
    if ((reached.lo && *reached.lo < *range.lo) ||
        (reached.hi && *reached.hi > *range.hi)) {
      bool below = reached.lo && *reached.lo < *range.lo;
      error("E0209", span,
            "this index reaches " +
                std::to_string(below ? *reached.lo : *reached.hi) +
                ", which does not fit " +
                typeText(RankedTensorType::get({}, elementType)))
          .suggest(elementType.isInteger(32)
                       ? "convert it: `i64(...)`"
                       : "convert it: `u8(...)`, which saturates");
      return {};
    }
    return trl::IndexOp::create(builder, location(span),
                                RankedTensorType::get({}, elementType),
                                trl::ExprAttr::get(&mlirContext, value.expr));
  }
  case Term::Kind::Cond: {
    mlir::Value bit;
    if (value.isConstBool())
      bit = constant(builder.getI1Type(), int64_t(value.expr.isTrue()), span);
    else
      bit = trl::IndexOp::create(builder, location(span),
                                 RankedTensorType::get({}, builder.getI1Type()),
                                 trl::ExprAttr::get(&mlirContext, value.expr));
    return castTo(bit, elementType, span);
  }
  case Term::Kind::Float:
    if (!isa<FloatType>(elementType)) {
      error("E0301", span,
            "a float where " +
                typeText(RankedTensorType::get({}, elementType)) +
                " is expected")
          .suggest("convert it: `i32(...)`");
      return {};
    }
    return constant(elementType, value.number, span);
  case Term::Kind::Weak:
    if (value.weakFloat && !isa<FloatType>(elementType)) {
      error("E0301", span,
            "a float where " +
                typeText(RankedTensorType::get({}, elementType)) +
                " is expected")
          .suggest("convert it: `i32(...)`");
      return {};
    }
    if (elementType.isInteger(1))
      return castTo(value.build(builder.getI32Type()), elementType, span);
    return value.build(elementType);
  case Term::Kind::List: {
    Term settled = settleList(value, span);
    return settled.isError() ? mlir::Value()
                             : materialize(settled, elementType, span);
  }
  case Term::Kind::Arg: {
    mlir::Value scalar = trl::ArgValueOp::create(builder, location(span),
                                                 value.type, value.symbol);
    return castTo(scalar, elementType, span);
  }
  case Term::Kind::Lazy:
    return castTo(emitRead(value, span), elementType, span);
  case Term::Kind::Leaf:
    return castTo(capture(value.leaf, span), elementType, span);
  default:
    return {};
  }
}

/// A list as one tensor value: weak when all its elements are.
Term Elaborator::settleList(const Term &list, SourceSpan span) {
  if (list.elements.empty())
    return fail("E0302", span, "an empty list has no dtype");
  std::vector<Expr> inner;
  for (const Term &element : list.elements) {
    if (!element.isData())
      return fail("E0204", span,
                  "a list holds numbers or tensors, not " + element.describe());
    auto joined = broadcastLengths(inner, lengthsOf(element), span);
    if (!joined)
      return Term::error();
    inner = *joined;
  }
  std::vector<Expr> lengths{Expr::constant(list.elements.size())};
  lengths.insert(lengths.end(), inner.begin(), inner.end());
  auto build = [this, elements = list.elements, inner, lengths,
                span](Type type) -> mlir::Value {
    SmallVector<mlir::Value> parts;
    for (const Term &element : elements) {
      parts.push_back(broadcast(materialize(element, type, span), inner, span));
      if (!parts.back())
        return {};
    }
    return trl::StackOp::create(builder, location(span),
                                trl::getTensorType(lengths, type), parts);
  };
  Type type = elementTypeOf(list);
  if (!type)
    return Term::weak(isFloatValue(list), lengths, build);
  mlir::Value stacked = canEmit() ? build(type) : mlir::Value();
  if (!canEmit())
    return fail("E0215", span, "this must be known at compile time");
  return stacked ? Term::ofLeaf(stacked) : Term::error();
}

std::optional<std::vector<Expr>> Elaborator::broadcastLengths(ArrayRef<Expr> a,
                                                              ArrayRef<Expr> b,
                                                              SourceSpan span) {
  std::vector<Expr> result(std::max(a.size(), b.size()));
  for (unsigned k = 0; k < result.size(); ++k) {
    const Expr one = Expr::constant(1);
    const Expr &x = k < a.size() ? a[a.size() - 1 - k] : one;
    const Expr &y = k < b.size() ? b[b.size() - 1 - k] : one;
    if (x != y && x != one && y != one) {
      auto text = [](ArrayRef<Expr> lengths) {
        std::vector<std::string> parts;
        for (const Expr &length : lengths)
          parts.push_back(length.str());
        return "[" + llvm::join(parts, ", ") + "]";
      };
      error("E0302", span,
            "shapes " + text(a) + " and " + text(b) +
                " do not match: lengths " + x.str() + " and " + y.str() +
                " differ");
      return std::nullopt;
    }
    result[result.size() - 1 - k] = x == one ? y : x;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Leaf by leaf
//===----------------------------------------------------------------------===//

/// Applies to the leaves of records of one structure; data broadcasts to all.
Term Elaborator::mapLeaves(ArrayRef<Term> values, SourceSpan span,
                           function_ref<Term(ArrayRef<Term>)> apply) {
  const Term *aggregate = nullptr;
  for (const Term &value : values) {
    if (value.isError())
      return value;
    if (value.isAggregate() && !aggregate)
      aggregate = &value;
  }
  if (!aggregate)
    return apply(values);
  for (const Term &value : values) {
    if (!value.isAggregate())
      continue;
    if (value.kind != aggregate->kind || value.names != aggregate->names ||
        value.elements.size() != aggregate->elements.size())
      return fail("E0304", span,
                  "these records differ in structure: " +
                      structureOf(*aggregate).str() + " and " +
                      structureOf(value).str());
  }
  Term result = *aggregate;
  bool failed = false;
  for (unsigned k = 0; k < aggregate->elements.size(); ++k) {
    std::vector<Term> parts;
    for (const Term &value : values)
      parts.push_back(value.isAggregate() ? value.elements[k] : value);
    result.elements[k] = mapLeaves(parts, span, apply);
    failed |= result.elements[k].isError();
  }
  return failed ? Term::error() : result;
}

Term Elaborator::unary(ast::UnaryOp op, const Term &operand, SourceSpan span) {
  return mapLeaves({operand}, span, [&](ArrayRef<Term> leaves) -> Term {
    Term leaf = leaves[0];
    if (leaf.kind == Term::Kind::List)
      leaf = settleList(leaf, span);
    if (leaf.isError())
      return leaf;
    if (op == ast::UnaryOp::Not) {
      if (leaf.kind == Term::Kind::Cond)
        return Term::condition(Expr::negate(leaf.expr));
      if (!isBoolValue(leaf))
        return fail("E0301", span,
                    "`not` needs a bool, not " + leaf.describe());
      return elementwise<trl::NotOp>({leaf}, false, span);
    }
    if (leaf.kind == Term::Kind::Int)
      return Term::integer(-leaf.expr);
    if (leaf.kind == Term::Kind::Float)
      return Term::real(-leaf.number);
    if (isBoolValue(leaf))
      leaf = binary(BinaryOp::Mul, leaf, Term::integer(1), span);
    return elementwise<trl::NegOp>({leaf}, false, span);
  });
}

Term Elaborator::binary(BinaryOp op, const Term &lhs, const Term &rhs,
                        SourceSpan span) {
  if (lhs.isError() || rhs.isError())
    return Term::error();
  if (op == BinaryOp::MatMul)
    return matmul(lhs, rhs, span);
  return mapLeaves({lhs, rhs}, span, [&](ArrayRef<Term> leaves) {
    return binaryLeaf(op, leaves[0], leaves[1], span);
  });
}

static bool isComparison(BinaryOp op) {
  return op >= BinaryOp::Eq && op <= BinaryOp::Ge;
}

static StringRef spelling(BinaryOp op) {
  static const StringRef names[] = {
      "+",  "-",  "*", "/",  "//", "%",  "^",   "@",
      "==", "!=", "<", "<=", ">",  ">=", "and", "or"};
  return names[static_cast<unsigned>(op)];
}

static Expr compareExprs(BinaryOp op, const Expr &lhs, const Expr &rhs) {
  switch (op) {
  case BinaryOp::Eq:
    return Expr::eq(lhs, rhs);
  case BinaryOp::Ne:
    return Expr::ne(lhs, rhs);
  case BinaryOp::Lt:
    return Expr::lt(lhs, rhs);
  case BinaryOp::Le:
    return Expr::le(lhs, rhs);
  case BinaryOp::Gt:
    return Expr::gt(lhs, rhs);
  default:
    return Expr::ge(lhs, rhs);
  }
}

/// Arithmetic on what is known at compile time or symbolic over dims.
Term Elaborator::foldConstants(BinaryOp op, const Term &lhs, const Term &rhs,
                               SourceSpan span, bool &folded) {
  folded = true;
  auto number = [](const Term &value) {
    if (value.kind == Term::Kind::Float)
      return value.number;
    return static_cast<double>(value.kind == Term::Kind::Int
                                   ? value.expr.value()
                                   : value.expr.isTrue());
  };
  bool ints = lhs.kind == Term::Kind::Int && rhs.kind == Term::Kind::Int;
  if (op == BinaryOp::And || op == BinaryOp::Or) {
    if (lhs.kind == Term::Kind::Cond && rhs.kind == Term::Kind::Cond)
      return Term::condition(op == BinaryOp::And
                                 ? Expr::conj({lhs.expr, rhs.expr})
                                 : Expr::disj({lhs.expr, rhs.expr}));
  } else if (ints) {
    if (isComparison(op))
      return Term::condition(compareExprs(op, lhs.expr, rhs.expr));
    bool bothConst = lhs.expr.isConst() && rhs.expr.isConst();
    switch (op) {
    case BinaryOp::Add:
      return Term::integer(lhs.expr + rhs.expr);
    case BinaryOp::Sub:
      return Term::integer(lhs.expr - rhs.expr);
    case BinaryOp::Mul:
      if (auto product = Expr::mul(lhs.expr, rhs.expr))
        return Term::integer(*product);
      break;
    case BinaryOp::FloorDiv:
    case BinaryOp::Mod:
      if (rhs.expr.isConst()) {
        if (rhs.expr.value() == 0)
          return fail("E0209", span, "division by the constant zero");
        return Term::integer(op == BinaryOp::FloorDiv
                                 ? Expr::floorDiv(lhs.expr, rhs.expr.value())
                                 : Expr::mod(lhs.expr, rhs.expr.value()));
      }
      break;
    case BinaryOp::Pow:
      if (bothConst && rhs.expr.value() >= 0) {
        Expr product = Expr::constant(1);
        if (lhs.expr.value() == 0 || lhs.expr.value() == 1)
          return rhs.expr.value() == 0 ? Term::integer(1) : lhs;
        if (lhs.expr.value() == -1)
          return Term::integer(rhs.expr.value() % 2 ? -1 : 1);
        for (int64_t k = 0; k < rhs.expr.value() && !product.isOverflow(); ++k)
          product = product * lhs.expr.value();
        return Term::integer(product);
      }
      break;
    case BinaryOp::Div:
      if (bothConst)
        return Term::real(number(lhs) / number(rhs));
      break;
    default:
      break;
    }
  }
  if (lhs.isConst() && rhs.isConst() && op != BinaryOp::And &&
      op != BinaryOp::Or) {
    if (lhs.kind == Term::Kind::Cond && rhs.kind == Term::Kind::Cond &&
        (op == BinaryOp::Eq || op == BinaryOp::Ne))
      return Term::condition(Expr::boolean(
          (lhs.expr.isTrue() == rhs.expr.isTrue()) == (op == BinaryOp::Eq)));
    double a = number(lhs), b = number(rhs);
    // A bool counts as 0 or 1.
    if (lhs.kind != Term::Kind::Float && rhs.kind != Term::Kind::Float)
      return foldConstants(op, Term::integer(int64_t(a)),
                           Term::integer(int64_t(b)), span, folded);
    switch (op) {
    case BinaryOp::Add:
      return Term::real(a + b);
    case BinaryOp::Sub:
      return Term::real(a - b);
    case BinaryOp::Mul:
      return Term::real(a * b);
    case BinaryOp::Div:
      return Term::real(a / b);
    case BinaryOp::FloorDiv:
      return Term::real(std::floor(a / b));
    case BinaryOp::Mod:
      return Term::real(a - b * std::floor(a / b));
    case BinaryOp::Pow:
      return Term::real(std::pow(a, b));
    case BinaryOp::Eq:
      return Term::condition(Expr::boolean(a == b));
    case BinaryOp::Ne:
      return Term::condition(Expr::boolean(a != b));
    case BinaryOp::Lt:
      return Term::condition(Expr::boolean(a < b));
    case BinaryOp::Le:
      return Term::condition(Expr::boolean(a <= b));
    case BinaryOp::Gt:
      return Term::condition(Expr::boolean(a > b));
    case BinaryOp::Ge:
      return Term::condition(Expr::boolean(a >= b));
    default:
      break;
    }
  }
  folded = false;
  return Term::error();
}

Term Elaborator::binaryLeaf(BinaryOp op, const Term &lhsIn, const Term &rhsIn,
                            SourceSpan span) {
  bool folded;
  Term result = foldConstants(op, lhsIn, rhsIn, span, folded);
  if (folded)
    return result;
  Term lhs = lhsIn, rhs = rhsIn;
  for (Term *side : {&lhs, &rhs}) {
    if (side->kind == Term::Kind::List)
      *side = settleList(*side, span);
    if (side->isError())
      return *side;
    if (!side->isData())
      return fail("E0204", span,
                  "`" + spelling(op).str() +
                      "` needs numbers or tensors, not " + side->describe());
  }
  if (op == BinaryOp::And || op == BinaryOp::Or) {
    for (const Term &side : {lhs, rhs})
      if (!isBoolValue(side))
        return fail("E0301", span,
                    "`" + spelling(op).str() + "` needs bools, not " +
                        side.describe());
    return op == BinaryOp::And
               ? elementwise<trl::AndOp>({lhs, rhs}, false, span)
               : elementwise<trl::OrOp>({lhs, rhs}, false, span);
  }
  // In arithmetic a bool counts as 0 or 1.
  bool bothBool = isBoolValue(lhs) && isBoolValue(rhs);
  if (!isComparison(op) && bothBool) {
    lhs = Term::ofLeaf(materialize(lhs, builder.getI32Type(), span));
    if (!lhs.leaf)
      return Term::error();
  }
  switch (op) {
  case BinaryOp::Add:
    return elementwise<trl::AddOp>({lhs, rhs}, false, span);
  case BinaryOp::Sub:
    return elementwise<trl::SubOp>({lhs, rhs}, false, span);
  case BinaryOp::Mul:
    return elementwise<trl::MulOp>({lhs, rhs}, false, span);
  case BinaryOp::Div:
    return elementwise<trl::DivOp>({lhs, rhs}, true, span);
  case BinaryOp::FloorDiv:
    return elementwise<trl::FloorDivOp>({lhs, rhs}, false, span);
  case BinaryOp::Mod:
    return elementwise<trl::ModOp>({lhs, rhs}, false, span);
  case BinaryOp::Pow:
    return power(lhs, rhs, span);
  default:
    break;
  }
  auto lengths = broadcastLengths(lengthsOf(lhs), lengthsOf(rhs), span);
  if (!lengths)
    return Term::error();
  Type type = promote({lhs, rhs});
  if (bothBool)
    type = builder.getI1Type();
  // Two weak numbers compare exactly.
  if (!type)
    type = isFloatValue(lhs) || isFloatValue(rhs) ? Type(builder.getF64Type())
                                                  : builder.getI64Type();
  mlir::Value a = broadcast(materialize(lhs, type, span), *lengths, span);
  mlir::Value b = broadcast(materialize(rhs, type, span), *lengths, span);
  if (!a || !b)
    return Term::error();
  auto predicate = static_cast<trl::Predicate>(
      static_cast<unsigned>(op) - static_cast<unsigned>(BinaryOp::Eq));
  return Term::ofLeaf(trl::CompareOp::create(
      builder, location(span),
      trl::getTensorType(*lengths, builder.getI1Type()), predicate, a, b));
}

/// Small constant exponents become products: x^2 is x * x.
Term Elaborator::power(const Term &base, const Term &exponent,
                       SourceSpan span) {
  if (exponent.isConstInt() && exponent.expr.value() >= 1 &&
      exponent.expr.value() <= 4) {
    Term once = base;
    if (base.kind == Term::Kind::Lazy || base.kind == Term::Kind::Leaf) {
      mlir::Value leaf = materialize(base, span);
      if (!leaf)
        return Term::error();
      once = Term::ofLeaf(leaf);
    }
    Term result = once;
    if (exponent.expr.value() >= 2)
      result = binary(BinaryOp::Mul, once, once, span);
    if (exponent.expr.value() == 3)
      result = binary(BinaryOp::Mul, result, once, span);
    if (exponent.expr.value() == 4)
      result = binary(BinaryOp::Mul, result, result, span);
    return result;
  }
  return elementwise<trl::PowOp>({base, exponent}, false, span);
}

Term Elaborator::matmul(const Term &lhsIn, const Term &rhsIn, SourceSpan span) {
  if (!lhsIn.isData() || !rhsIn.isData() || lhsIn.isWeakScalar() ||
      rhsIn.isWeakScalar())
    return fail("E0204", span,
                "`@` needs two tensors, not " + lhsIn.describe() + " and " +
                    rhsIn.describe());
  Type type = promote({lhsIn, rhsIn});
  if (!type)
    type = isFloatValue(lhsIn) || isFloatValue(rhsIn)
               ? Type(builder.getF32Type())
               : builder.getI32Type();
  mlir::Value lhs = materialize(lhsIn, type, span),
              rhs = materialize(rhsIn, type, span);
  if (!lhs || !rhs)
    return Term::error();
  SmallVector<Expr> a = trl::getLengths(lhs.getType()),
                    b = trl::getLengths(rhs.getType());
  if (a.empty() || b.empty())
    return fail("E0302", span,
                "`@` needs two tensors; multiply by a scalar with `*`");
  const Expr &inner = b.size() == 1 ? b[0] : b[b.size() - 2];
  if (a.back() != inner)
    return fail("E0302", span,
                "`@` contracts the last axis of " + typeText(tensorType(lhs)) +
                    " (length " + a.back().str() + ") with an axis of " +
                    typeText(tensorType(rhs)) + " of length " + inner.str());
  SmallVector<Expr> lengths;
  if (a.size() > 2 || b.size() > 2) {
    // NumPy: leading axes broadcast; a vector is no batch.
    if (a.size() == 1 || b.size() == 1)
      return fail(
          "E0504", span,
          "`@` of a vector and a batch of matrices is not supported yet");
    auto batch = broadcastLengths(ArrayRef<Expr>(a).drop_back(2),
                                  ArrayRef<Expr>(b).drop_back(2), span);
    if (!batch)
      return Term::error();
    SmallVector<Expr> fullA(batch->begin(), batch->end()), fullB = fullA;
    fullA.append(a.end() - 2, a.end());
    fullB.append(b.end() - 2, b.end());
    lhs = broadcast(lhs, fullA, span);
    rhs = broadcast(rhs, fullB, span);
    lengths.assign(batch->begin(), batch->end());
  }
  if (a.size() > 1)
    lengths.push_back(a[a.size() - 2]);
  if (b.size() > 1)
    lengths.push_back(b.back());
  return Term::ofLeaf(trl::MatmulOp::create(
      builder, location(span), trl::getTensorType(lengths, type), lhs, rhs));
}
