//===- VectorMath.cpp - Elementary functions as arithmetic ----------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include <limits>

using namespace mlir;

namespace {

/// Arithmetic on numbers, or vectors of them, with little writing.
struct Arithmetic {
  OpBuilder &b;
  Location loc;

  Value constant(Type type, TypedAttr element) {
    auto vector = dyn_cast<VectorType>(type);
    return arith::ConstantOp::create(
        b, loc,
        vector ? TypedAttr(DenseElementsAttr::get(vector, Attribute(element)))
               : element);
  }
  Value real(Type type, double value) {
    return constant(type, b.getFloatAttr(getElementTypeOrSelf(type), value));
  }
  Value integer(Type type, int64_t value) {
    return constant(type, b.getIntegerAttr(getElementTypeOrSelf(type), value));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, loc, x, y, z);
  }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
  Value round(Value x) { return math::RoundEvenOp::create(b, loc, x); }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value less(Value x, double y) {
    return compare(arith::CmpFPredicate::OLT, x, real(x.getType(), y));
  }
  Value equal(Value x, double y) {
    return compare(arith::CmpFPredicate::OEQ, x, real(x.getType(), y));
  }
  Value isNaN(Value x) { return compare(arith::CmpFPredicate::UNO, x, x); }
  Value select(Value condition, Value then, Value otherwise) {
    return arith::SelectOp::create(b, loc, condition, then, otherwise);
  }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
  /// To [lo, hi]; NaN becomes lo.
  Value clamp(Value x, double lo, double hi) {
    x = select(compare(arith::CmpFPredicate::OGT, x, real(x.getType(), lo)), x,
               real(x.getType(), lo));
    return select(less(x, hi), x, real(x.getType(), hi));
  }
  /// c[0] + c[1] x + c[2] x^2 + ...
  Value polynomial(Value x, ArrayRef<double> c) {
    Value sum = real(x.getType(), c.back());
    for (double next : llvm::reverse(c.drop_back()))
      sum = fma(sum, x, real(x.getType(), next));
    return sum;
  }
  Value addInt(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value subInt(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value shiftLeft(Value x, int64_t by) {
    return arith::ShLIOp::create(b, loc, x, integer(x.getType(), by));
  }
  Value shiftRight(Value x, int64_t by) {
    return arith::ShRSIOp::create(b, loc, x, integer(x.getType(), by));
  }
  Value bits(Value x, Type type) {
    return arith::BitcastOp::create(b, loc, type, x);
  }
  Value toInt(Value x, Type type) {
    return arith::FPToSIOp::create(b, loc, type, x);
  }
  Value toReal(Value x, Type type) {
    return arith::SIToFPOp::create(b, loc, type, x);
  }
  /// 2^n for an integral n in the exponent's range.
  Value powerOfTwo(Value n, Type type) {
    bool isDouble = getElementTypeOrSelf(type).isF64();
    Value biased = addInt(n, integer(n.getType(), isDouble ? 1023 : 127));
    return bits(shiftLeft(biased, isDouble ? 52 : 23), type);
  }
};

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// The type with this element that is as wide as a value.
Type like(Value x, Type element) {
  auto vector = dyn_cast<VectorType>(x.getType());
  return vector ? Type(vector.clone(element)) : element;
}

} // namespace

Value timerl::codegen::emitExp(OpBuilder &b, Location loc, Value x) {
  Arithmetic a{b, loc};
  Type f32 = x.getType(), i32 = like(x, b.getI32Type());
  // e^x = 2^n e^r with |r| <= ln(2) / 2. Past the clamp the result is 0 or
  // infinite anyway.
  Value inside = a.clamp(x, -104, 89);
  Value n = a.round(a.mul(inside, a.real(f32, 1.44269504088896340736)));
  Value r = a.fma(n, a.real(f32, -0.693359375), inside);
  r = a.fma(n, a.real(f32, 2.12194440e-4), r);
  Value p = a.polynomial(r, {0.5, 0.1666666716337204, 0.04166625440120697,
                             0.008333262987434864, 0.0013947224942967296,
                             0.00019919377518817782});
  Value y = a.add(a.fma(a.mul(r, r), p, r), a.real(f32, 1));
  // In two steps, since 2^n alone may leave the range that y 2^n is in.
  Value whole = a.toInt(n, i32);
  Value half = a.shiftRight(whole, 1);
  y = a.mul(a.mul(y, a.powerOfTwo(half, f32)),
            a.powerOfTwo(a.subInt(whole, half), f32));
  return a.select(a.isNaN(x), x, y);
}

Value timerl::codegen::emitLog(OpBuilder &b, Location loc, Value x) {
  Arithmetic a{b, loc};
  Type f32 = x.getType(), i32 = like(x, b.getI32Type());
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
  Value image = a.bits(x, i32);
  Value e = a.shiftRight(a.subInt(image, a.integer(i32, 0x3f3504f3)), 23);
  Value m = a.bits(a.subInt(image, a.shiftLeft(e, 23)), f32);
  Value f = a.sub(m, a.real(f32, 1)), square = a.mul(f, f);
  Value p = a.polynomial(
      f, {0.3333331048488617, -0.24999986588954926, 0.20002242922782898,
          -0.16669270396232605, 0.14218325912952423, -0.12383799999952316,
          0.11875075846910477, -0.11794091761112213, 0.06915595382452011});
  Value power = a.toReal(e, f32);
  Value y = a.mul(a.mul(f, square), p);
  y = a.fma(power, a.real(f32, -2.12194440e-4), y);
  y = a.fma(square, a.real(f32, -0.5), y);
  y = a.fma(power, a.real(f32, 0.693359375), a.add(f, y));
  y = a.select(a.less(x, 1.17549435e-38), a.real(f32, -infinity), y);
  y = a.select(a.less(x, 0), a.real(f32, notANumber), y);
  return a.select(a.either(a.isNaN(x), a.equal(x, infinity)), x, y);
}

Value timerl::codegen::emitTanh(OpBuilder &b, Location loc, Value x) {
  Arithmetic a{b, loc};
  Type f32 = x.getType();
  Value magnitude = a.abs(x), one = a.real(f32, 1);
  Value t = emitExp(b, loc, a.mul(magnitude, a.real(f32, -2)));
  Value large = a.div(a.sub(one, t), a.add(one, t));
  // Near 0 the difference above cancels.
  Value square = a.mul(x, x);
  Value p = a.polynomial(square, {-0.3333333134651184, 0.1333320438861847,
                                  -0.05394645407795906, 0.021698690950870514,
                                  -0.008171704597771168, 0.00213716272264719});
  Value small = a.fma(a.mul(x, square), p, x);
  // The sign last: that of a zero, too, is x's.
  return math::CopySignOp::create(
      b, loc, a.select(a.less(magnitude, 0.625), small, large), x);
}

Value timerl::codegen::emitPow(OpBuilder &b, Location loc, Value x, Value y) {
  Arithmetic a{b, loc};
  Type f32 = x.getType(), f64 = like(x, b.getF64Type()),
       i64 = like(x, b.getI64Type());
  // |x|^y = 2^(y log2 |x|), in double precision: its error is far below an ulp.
  Value base = a.abs(arith::ExtFOp::create(b, loc, f64, x));
  Value exponent = arith::ExtFOp::create(b, loc, f64, y);
  Value image = a.bits(base, i64);
  Value e =
      a.shiftRight(a.subInt(image, a.integer(i64, 0x3fe6a09e667f3bcd)), 52);
  Value m = a.bits(a.subInt(image, a.shiftLeft(e, 52)), f64);
  Value f = a.sub(m, a.real(f64, 1));
  Value s = a.div(f, a.add(f, a.real(f64, 2))), square = a.mul(s, s);
  Value q = a.polynomial(square, {0.6666666666663444, 0.40000000030222277,
                                  0.28571420478097803, 0.22223149694724958,
                                  0.18130324004569565, 0.1674502126005808});
  Value logarithm = a.fma(a.mul(s, square), q, a.add(s, s));
  Value log2 =
      a.fma(logarithm, a.real(f64, 1.44269504088896340736), a.toReal(e, f64));
  Value t = a.clamp(a.mul(exponent, log2), -200, 200);
  Value n = a.round(t);
  Value r = a.mul(a.sub(t, n), a.real(f64, 0.693147180559945309417));
  Value p = a.polynomial(r, {0.5000000000000028, 0.16666666666605343,
                             0.041666666666403, 0.008333333373880389,
                             0.0013888888977008397, 0.0001984118091535732,
                             2.480145950869699e-05, 2.7636899462695132e-06,
                             2.7641779786153784e-07});
  Value power = a.mul(a.add(a.fma(a.mul(r, r), p, r), a.real(f64, 1)),
                      a.powerOfTwo(a.toInt(n, i64), f64));
  Value result = arith::TruncFOp::create(b, loc, f32, power);
  // A base of magnitude 1 has no part in the exponent, even an infinite one.
  result = a.select(a.equal(base, 1), a.real(f32, 1), result);
  Value atZero = a.select(a.less(y, 0), a.real(f32, infinity), a.real(f32, 0));
  result = a.select(a.equal(x, 0), atZero, result);
  // A negative base takes integral exponents alone, and the sign of odd ones.
  Value whole = a.toInt(a.clamp(exponent, -67108864, 67108864), i64);
  Value parity = arith::AndIOp::create(b, loc, whole, a.integer(i64, 1));
  Value odd = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, parity,
                                    a.integer(i64, 0));
  Value integral = a.either(
      a.compare(arith::CmpFPredicate::OEQ, a.toReal(whole, f64), exponent),
      a.compare(arith::CmpFPredicate::OGE, a.abs(y), a.real(f32, 16777216)));
  Value negated = a.select(odd, arith::NegFOp::create(b, loc, result), result);
  Value fractional =
      a.select(a.equal(base, infinity), result, a.real(f32, notANumber));
  negated = a.select(integral, negated, fractional);
  result = a.select(a.less(x, 0), negated, result);
  result = a.select(a.either(a.isNaN(x), a.isNaN(y)), a.add(x, y), result);
  return a.select(a.either(a.equal(y, 0), a.equal(x, 1)), a.real(f32, 1),
                  result);
}
