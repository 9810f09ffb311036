//===- Scalars.cpp - Arithmetic of single elements ------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "VectorMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::codegen;

/// A type with another element in place of a type's own.
static Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

static Value constantOf(OpBuilder &b, Location loc, Type type,
                        TypedAttr element) {
  auto vector = dyn_cast<VectorType>(type);
  return arith::ConstantOp::create(
      b, loc,
      vector ? TypedAttr(DenseElementsAttr::get(vector, Attribute(element)))
             : element);
}

/// Bytes are widened to compute with them: their signed order is their own.
static bool isByte(Type type) {
  return getElementTypeOrSelf(type).isInteger(16);
}

/// What is left of a result that a byte holds.
static Value wrapByte(OpBuilder &b, Location loc, Value value) {
  Type type = value.getType();
  if (!isByte(type))
    return value;
  return arith::AndIOp::create(
      b, loc, value,
      constantOf(b, loc, type,
                 b.getIntegerAttr(getElementTypeOrSelf(type), 255)));
}

Value Generator::castScalar(Value value, Type to) {
  Type whole = value.getType(), from = getElementTypeOrSelf(whole);
  if (from == to)
    return value;
  Type result = withElement(whole, to);
  unsigned width = to.getIntOrFloatBitWidth();
  if (isa<FloatType>(from) && isa<FloatType>(to))
    return width > from.getIntOrFloatBitWidth()
               ? Value(arith::ExtFOp::create(b, loc, result, value))
               : Value(arith::TruncFOp::create(b, loc, result, value));
  if (to.isInteger(1)) {
    if (isa<FloatType>(from))
      return arith::CmpFOp::create(
          b, loc, arith::CmpFPredicate::ONE, value, // NaN is false
          constantOf(b, loc, whole, b.getFloatAttr(from, 0)));
    return arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::ne, value,
        constantOf(b, loc, whole, b.getIntegerAttr(from, 0)));
  }
  // A byte saturates on both sides.
  if (isByte(to) && !from.isInteger(1)) {
    if (isa<FloatType>(from))
      value = castScalar(value, b.getI32Type());
    whole = value.getType();
    Type wide = getElementTypeOrSelf(whole);
    auto limit = [&](int64_t bound) {
      return constantOf(b, loc, whole, b.getIntegerAttr(wide, bound));
    };
    value = arith::MaxSIOp::create(b, loc, value, limit(0));
    value = arith::MinSIOp::create(b, loc, value, limit(255));
    return arith::TruncIOp::create(b, loc, result, value);
  }
  if (isa<FloatType>(from)) {
    // Saturates, and gives 0 for NaN.
    std::string shape =
        isa<VectorType>(whole) ? "v" + std::to_string(lanes) : std::string();
    std::string name = "llvm.fptosi.sat." + shape + "i" +
                       std::to_string(width) + "." + shape + "f" +
                       std::to_string(from.getIntOrFloatBitWidth());
    return LLVM::CallIntrinsicOp::create(b, loc, result, b.getStringAttr(name),
                                         ValueRange{value})
        .getResult(0);
  }
  if (isa<FloatType>(to))
    return from.isInteger(1)
               ? Value(arith::UIToFPOp::create(b, loc, result, value))
               : Value(arith::SIToFPOp::create(b, loc, result, value));
  if (from.isInteger(1))
    return arith::ExtUIOp::create(b, loc, result, value);
  if (width > from.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(b, loc, result, value);
  auto limit = [&](const APInt &bound) {
    return constantOf(
        b, loc, whole,
        b.getIntegerAttr(from, bound.sext(from.getIntOrFloatBitWidth())));
  };
  value = arith::MaxSIOp::create(b, loc, value,
                                 limit(APInt::getSignedMinValue(width)));
  value = arith::MinSIOp::create(b, loc, value,
                                 limit(APInt::getSignedMaxValue(width)));
  return arith::TruncIOp::create(b, loc, result, value);
}

Value Generator::select(Value condition, Value then, Value otherwise) {
  if (isa<VectorType>(condition.getType())) {
    then = splat(then);
    otherwise = splat(otherwise);
  }
  match(then, otherwise);
  return arith::SelectOp::create(b, loc, condition, then, otherwise);
}

Value Generator::negate(Value condition) {
  return arith::XOrIOp::create(
      b, loc, condition,
      constantOf(b, loc, condition.getType(), b.getBoolAttr(true)));
}

Value Generator::initial(trl::Reduction kind, Type type) {
  using trl::Reduction;
  bool max = kind == Reduction::max || kind == Reduction::argmax;
  if (auto floating = dyn_cast<FloatType>(type)) {
    double value = kind == Reduction::prod ? 1 : 0;
    if (max || kind == Reduction::min)
      return arith::ConstantOp::create(
          b, loc,
          b.getFloatAttr(type, APFloat::getInf(floating.getFloatSemantics(),
                                               /*Negative=*/max)));
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  APInt value(width, kind == Reduction::prod || kind == Reduction::all);
  if (max)
    value = isByte(type) ? APInt(width, 0) : APInt::getSignedMinValue(width);
  if (kind == Reduction::min)
    value = isByte(type) ? APInt(width, 255) : APInt::getSignedMaxValue(width);
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
}

Value Generator::combine(trl::Reduction kind, Value x, Value y) {
  match(x, y);
  bool floating = isa<FloatType>(getElementTypeOrSelf(x.getType()));
  switch (kind) {
  case trl::Reduction::sum:
    return floating ? Value(arith::AddFOp::create(b, loc, x, y))
                    : wrapByte(b, loc, arith::AddIOp::create(b, loc, x, y));
  case trl::Reduction::prod:
    return floating ? Value(arith::MulFOp::create(b, loc, x, y))
                    : wrapByte(b, loc, arith::MulIOp::create(b, loc, x, y));
  case trl::Reduction::argmax:
  case trl::Reduction::max:
    return floating ? Value(arith::MaximumFOp::create(b, loc, x, y))
                    : Value(arith::MaxSIOp::create(b, loc, x, y));
  case trl::Reduction::min:
    return floating ? Value(arith::MinimumFOp::create(b, loc, x, y))
                    : Value(arith::MinSIOp::create(b, loc, x, y));
  case trl::Reduction::any:
    return arith::OrIOp::create(b, loc, x, y);
  case trl::Reduction::all:
    return arith::AndIOp::create(b, loc, x, y);
  }
  llvm_unreachable("every reduction is covered");
}

/// By squaring, wrapping. A negative exponent gives 0, but for the bases 1 and
/// -1.
Value Generator::integerPower(Value x, Value y) {
  Type whole = x.getType(), type = getElementTypeOrSelf(whole);
  auto number = [&](int64_t value) {
    return constantOf(b, loc, whole, b.getIntegerAttr(type, value));
  };
  auto isOdd = [&](Value value) -> Value {
    return arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::ne,
        arith::AndIOp::create(b, loc, value, number(1)), number(0));
  };
  int64_t bits = isByte(type) ? 8 : type.getIntOrFloatBitWidth() - 1;
  SmallVector<Value> result =
      fold(constant(0), constant(bits), 1, {number(1), x, y},
           [&](Value, ValueRange so) -> SmallVector<Value> {
             Value product = combine(trl::Reduction::prod, so[0], so[1]);
             return {select(isOdd(so[2]), product, so[0]),
                     combine(trl::Reduction::prod, so[1], so[1]),
                     arith::ShRUIOp::create(b, loc, so[2], number(1))};
           });
  auto compare = [&](arith::CmpIPredicate predicate, Value a, int64_t to) {
    return arith::CmpIOp::create(b, loc, predicate, a, number(to));
  };
  Value inverse = select(compare(arith::CmpIPredicate::eq, x, -1),
                         select(isOdd(y), number(-1), number(1)), number(0));
  inverse = select(compare(arith::CmpIPredicate::eq, x, 1), number(1), inverse);
  return select(compare(arith::CmpIPredicate::slt, y, 0), inverse, result[0]);
}

Value Generator::scalarOp(Operation &op, ArrayRef<Value> given) {
  SmallVector<Value> args(given);
  // One vector makes all operands vectors.
  if (llvm::any_of(args, [](Value x) { return isa<VectorType>(x.getType()); }))
    for (Value &arg : args)
      arg = splat(arg);
  Value x = args[0], y = args.size() > 1 ? args[1] : Value();
  Type whole = x.getType(), type = getElementTypeOrSelf(whole);
  bool floating = isa<FloatType>(type);
  auto number = [&](double value) -> Value {
    if (floating)
      return constantOf(b, loc, whole, b.getFloatAttr(type, value));
    return constantOf(b, loc, whole,
                      b.getIntegerAttr(type, static_cast<int64_t>(value)));
  };
  auto select = [&](Value condition, Value then, Value otherwise) -> Value {
    return arith::SelectOp::create(b, loc, condition, then, otherwise);
  };
  auto equalInt = [&](Value value, int64_t to) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, value,
                                 number(to));
  };
  // The quotient rounded down, 0 for a zero divisor. Dividing by -1 negates,
  // which wraps where the division would trap.
  auto integerFloorDiv = [&]() -> Value {
    Value zero = equalInt(y, 0), minus = equalInt(y, -1);
    Value safe =
        select(arith::OrIOp::create(b, loc, zero, minus), number(1), y);
    Value quotient = arith::FloorDivSIOp::create(b, loc, x, safe);
    quotient =
        select(minus, arith::SubIOp::create(b, loc, number(0), x), quotient);
    return select(zero, number(0), quotient);
  };
  auto floatFloorDiv = [&]() -> Value {
    return math::FloorOp::create(b, loc, arith::DivFOp::create(b, loc, x, y));
  };
  using trl::Reduction;
  return llvm::TypeSwitch<Operation *, Value>(&op)
      .Case<trl::AddOp>([&](auto) { return combine(Reduction::sum, x, y); })
      .Case<trl::MulOp>([&](auto) { return combine(Reduction::prod, x, y); })
      .Case<trl::MinOp>([&](auto) { return combine(Reduction::min, x, y); })
      .Case<trl::MaxOp>([&](auto) { return combine(Reduction::max, x, y); })
      .Case<trl::AndOp>([&](auto) { return combine(Reduction::all, x, y); })
      .Case<trl::OrOp>([&](auto) { return combine(Reduction::any, x, y); })
      .Case<trl::ClipOp>([&](auto) {
        return combine(Reduction::min, combine(Reduction::max, x, y), args[2]);
      })
      .Case<trl::SubOp>([&](auto) -> Value {
        if (floating)
          return arith::SubFOp::create(b, loc, x, y);
        return wrapByte(b, loc, arith::SubIOp::create(b, loc, x, y));
      })
      .Case<trl::DivOp>(
          [&](auto) -> Value { return arith::DivFOp::create(b, loc, x, y); })
      .Case<trl::FloorDivOp>([&](auto) -> Value {
        return floating ? floatFloorDiv() : integerFloorDiv();
      })
      .Case<trl::ModOp>([&](auto) -> Value {
        if (floating)
          return arith::SubFOp::create(
              b, loc, x, arith::MulFOp::create(b, loc, y, floatFloorDiv()));
        Value rest = arith::SubIOp::create(
            b, loc, x, arith::MulIOp::create(b, loc, y, integerFloorDiv()));
        return select(equalInt(y, 0), number(0), rest);
      })
      .Case<trl::PowOp>([&](auto) -> Value {
        if (!floating)
          return integerPower(x, y);
        if (type.isF32())
          return emitPow(b, loc, x, y);
        return math::PowFOp::create(b, loc, x, y);
      })
      .Case<trl::CotangentMulOp>([&](auto) -> Value {
        Value none = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x,
                                           number(0));
        return select(none, number(0), arith::MulFOp::create(b, loc, x, y));
      })
      .Case<trl::NegOp>([&](auto) -> Value {
        if (floating)
          return arith::NegFOp::create(b, loc, x);
        return wrapByte(b, loc, arith::SubIOp::create(b, loc, number(0), x));
      })
      .Case<trl::AbsOp>([&](auto) -> Value {
        if (floating)
          return math::AbsFOp::create(b, loc, x);
        return math::AbsIOp::create(b, loc, x);
      })
      .Case<trl::ExpOp>([&](auto) { return emitExp(b, loc, x); })
      .Case<trl::LogOp>([&](auto) { return emitLog(b, loc, x); })
      .Case<trl::SqrtOp>(
          [&](auto) -> Value { return math::SqrtOp::create(b, loc, x); })
      .Case<trl::SinOp>([&](auto) { return emitSin(b, loc, x); })
      .Case<trl::CosOp>([&](auto) { return emitCos(b, loc, x); })
      .Case<trl::TanhOp>([&](auto) { return emitTanh(b, loc, x); })
      .Case<trl::FloorOp>(
          [&](auto) -> Value { return math::FloorOp::create(b, loc, x); })
      .Case<trl::CeilOp>(
          [&](auto) -> Value { return math::CeilOp::create(b, loc, x); })
      .Case<trl::NotOp>([&](auto) -> Value { return negate(x); })
      .Case<trl::CompareOp>([&](trl::CompareOp compare) -> Value {
        unsigned k = static_cast<unsigned>(compare.getPredicate());
        if (floating) {
          constexpr arith::CmpFPredicate predicates[] = {
              arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE,
              arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE,
              arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
          return arith::CmpFOp::create(b, loc, predicates[k], x, y);
        }
        constexpr arith::CmpIPredicate numbers[] = {
            arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
            arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
            arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
        constexpr arith::CmpIPredicate booleans[] = {
            arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
            arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
            arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge};
        return arith::CmpIOp::create(
            b, loc, type.isInteger(1) ? booleans[k] : numbers[k], x, y);
      })
      .Case<trl::SelectOp>([&](auto) { return select(x, y, args[2]); })
      .Case<trl::CastOp>([&](auto) {
        return castScalar(
            x,
            cast<RankedTensorType>(op.getResult(0).getType()).getElementType());
      })
      .Case<trl::StopGradientOp>([&](auto) { return x; })
      .Default([](Operation *) { return Value(); });
}
