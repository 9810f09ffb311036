//===- VectorMath.cpp - Elementary functions as arithmetic ----------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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
  /// The integer that an integral x, of magnitude below 2^22 (f32) or 2^51
  /// (f64), is, and back: next to such a number the integers are its last bits.
  /// Conversions of f64 are vector instructions on few processors.
  Value integral(Value x, Type type) {
    Value image = bits(add(x, real(x.getType(), shifted(x.getType()))), type);
    return subInt(image, integer(type, shiftedBits(x.getType())));
  }
  Value integralReal(Value x, Type type) {
    Value image = addInt(x, integer(x.getType(), shiftedBits(type)));
    return sub(bits(image, type), real(type, shifted(type)));
  }
  static double shifted(Type type) {
    return isWide(type) ? 0x1.8p52 : 0x1.8p23;
  }
  static int64_t shiftedBits(Type type) {
    return isWide(type) ? 0x4338000000000000 : 0x4b400000;
  }
  static bool isWide(Type type) { return getElementTypeOrSelf(type).isF64(); }
  /// 2^n for an integral n in the exponent's range.
  Value powerOfTwo(Value n, Type type) {
    Value biased = addInt(n, integer(n.getType(), isWide(type) ? 1023 : 127));
    return bits(shiftLeft(biased, isWide(type) ? 52 : 23), type);
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

/// The integers as wide as a floating-point value's elements.
static Type bitsOf(Value x) {
  auto element = cast<FloatType>(getElementTypeOrSelf(x.getType()));
  return like(x, IntegerType::get(x.getContext(), element.getWidth()));
}

Value timerl::codegen::emitExp(OpBuilder &b, Location loc, Value x) {
  Arithmetic a{b, loc};
  Type type = x.getType(), integers = bitsOf(x);
  bool wide = a.isWide(type);
  static const double narrowFit[] = {0.5,
                                     0.1666666716337204,
                                     0.04166625440120697,
                                     0.008333262987434864,
                                     0.0013947224942967296,
                                     0.00019919377518817782};
  static const double wideFit[] = {0.5,
                                   0.16666666666666682,
                                   0.04166666666666611,
                                   0.00833333333331693,
                                   0.0013888888889107861,
                                   0.00019841269896652281,
                                   2.4801586942707387e-05,
                                   2.7557234586599775e-06,
                                   2.755756734361762e-07,
                                   2.5112135012212657e-08,
                                   2.0831365610235805e-09};
  // e^x = 2^n e^r with |r| <= ln(2) / 2. Past the clamp the result is 0 or
  // infinite anyway.
  Value inside = wide ? a.clamp(x, -746, 710) : a.clamp(x, -104, 89);
  Value n = a.round(a.mul(inside, a.real(type, 1.44269504088896340736)));
  // ln(2) in two parts, the first with zeros enough that n times it is exact.
  Value r =
      a.fma(n, a.real(type, wide ? -0x1.62e42fefa38p-1 : -0.693359375), inside);
  r = a.fma(n, a.real(type, wide ? -5.497923018708371e-14 : 2.12194440e-4), r);
  Value p = a.polynomial(r, wide ? ArrayRef(wideFit) : ArrayRef(narrowFit));
  Value y = a.add(a.fma(a.mul(r, r), p, r), a.real(type, 1));
  // In two steps, since 2^n alone may leave the range that y 2^n is in.
  Value whole = a.integral(n, integers);
  Value half = a.shiftRight(whole, 1);
  y = a.mul(a.mul(y, a.powerOfTwo(half, type)),
            a.powerOfTwo(a.subInt(whole, half), type));
  return a.select(a.isNaN(x), x, y);
}

/// log(1 + f) + power ln(2), in f32, for 1 + f within [sqrt(1/2), sqrt(2)).
static Value narrowLog(Arithmetic a, Value f, Value power) {
  Type type = f.getType();
  Value square = a.mul(f, f);
  Value p = a.polynomial(
      f, {0.3333331048488617, -0.24999986588954926, 0.20002242922782898,
          -0.16669270396232605, 0.14218325912952423, -0.12383799999952316,
          0.11875075846910477, -0.11794091761112213, 0.06915595382452011});
  Value y = a.mul(a.mul(f, square), p);
  y = a.fma(power, a.real(type, -2.12194440e-4), y);
  y = a.fma(square, a.real(type, -0.5), y);
  return a.fma(power, a.real(type, 0.693359375), a.add(f, y));
}

/// The same in f64. With s = f / (2 + f), log(1 + f) = 2 s + s R(s^2), and
/// 2 s = f - f^2/2 + s f^2/2, where f is exact.
static Value wideLog(Arithmetic a, Value f, Value power) {
  Type type = f.getType();
  Value s = a.div(f, a.add(f, a.real(type, 2))), square = a.mul(s, s);
  Value half = a.mul(a.mul(f, f), a.real(type, 0.5));
  Value rest = a.polynomial(square, {0.6666666666666734, 0.3999999999941401,
                                     0.285714287425515, 0.2222219855494103,
                                     0.18183565343892033, 0.153140228151462,
                                     0.14796243563942718});
  rest = a.mul(s, a.fma(square, rest, half));
  rest = a.fma(power, a.real(type, 5.497923018708371e-14), rest);
  Value y = a.sub(f, a.sub(half, rest));
  return a.fma(power, a.real(type, 0x1.62e42fefa38p-1), y);
}

Value timerl::codegen::emitLog(OpBuilder &b, Location loc, Value x) {
  Arithmetic a{b, loc};
  Type type = x.getType(), integers = bitsOf(x);
  bool wide = a.isWide(type);
  int64_t fraction = wide ? 52 : 23;
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
  Value image = a.bits(x, integers);
  Value root =
      a.integer(integers, wide ? 0x3fe6a09e667f3bcd : int64_t(0x3f3504f3));
  Value e = a.shiftRight(a.subInt(image, root), fraction);
  Value m = a.bits(a.subInt(image, a.shiftLeft(e, fraction)), type);
  Value f = a.sub(m, a.real(type, 1)), power = a.integralReal(e, type);
  Value y = wide ? wideLog(a, f, power) : narrowLog(a, f, power);
  y = a.select(a.equal(x, 0), a.real(type, -infinity), y);
  y = a.select(a.less(x, 0), a.real(type, notANumber), y);
  return a.select(a.either(a.isNaN(x), a.equal(x, infinity)), x, y);
}

Value timerl::codegen::emitTanh(OpBuilder &b, Location loc, Value x) {
  Arithmetic a{b, loc};
  Type type = x.getType();
  static const double narrowFit[] = {
      -0.3333333134651184,  0.1333320438861847,    -0.05394645407795906,
      0.021698690950870514, -0.008171704597771168, 0.00213716272264719};
  static const double wideFit[] = {
      -0.33333333333333315, 0.13333333333329886,    -0.053968253966131786,
      0.021869488470584043, -0.008863234340418592,  0.003592114260718354,
      -0.00145572754925309, 0.0005894583358860906,  -0.00023702932109874987,
      9.15883877484027e-05, -3.021653331661343e-05, 6.05499909048786e-06};
  Value magnitude = a.abs(x), one = a.real(type, 1);
  Value t = emitExp(b, loc, a.mul(magnitude, a.real(type, -2)));
  Value large = a.div(a.sub(one, t), a.add(one, t));
  // Near 0 the difference above cancels.
  Value square = a.mul(x, x);
  Value p = a.polynomial(square, a.isWide(type) ? ArrayRef(wideFit)
                                                : ArrayRef(narrowFit));
  Value small = a.fma(a.mul(x, square), p, x);
  // The sign last: that of a zero, too, is x's.
  return math::CopySignOp::create(
      b, loc, a.select(a.less(magnitude, 0.625), small, large), x);
}

/// sin(r) and cos(r) for |r| <= pi / 4.
static std::pair<Value, Value> sineAndCosine(Arithmetic a, Value r) {
  Type type = r.getType();
  static const double narrowSine[] = {-0.1666666716337204, 0.008333329111337662,
                                      -0.0001983933470910415,
                                      2.7183036763744894e-06};
  static const double narrowCosine[] = {
      0.0416666679084301, -0.0013888883404433727, 2.4799519451335073e-05,
      -2.721017153817229e-07};
  static const double wideSine[] = {
      -0.16666666666666632,   0.008333333333322415,    -0.00019841269829808014,
      2.7557313691945947e-06, -2.5050758114788677e-08, 1.5896795422676938e-10};
  static const double wideCosine[] = {
      0.0416666666666666,      -0.0013888888888874125, 2.480158728948289e-05,
      -2.7557314352548796e-07, 2.087572330414698e-09,  -1.1359649472016383e-11};
  bool wide = a.isWide(type);
  Value square = a.mul(r, r), one = a.real(type, 1);
  Value sine =
      a.polynomial(square, wide ? ArrayRef(wideSine) : ArrayRef(narrowSine));
  sine = a.fma(a.mul(r, square), sine, r);
  Value cosine = a.polynomial(square, wide ? ArrayRef(wideCosine)
                                           : ArrayRef(narrowCosine));
  // What 1 - r^2/2 is rounded by is exact, and is added back.
  Value half = a.mul(square, a.real(type, 0.5)), most = a.sub(one, half);
  Value lost = a.sub(a.sub(one, most), half);
  cosine = a.add(most, a.fma(a.mul(square, square), cosine, lost));
  return {sine, cosine};
}

/// sin(x) for `quarters` 0 and sin(x + pi / 2) for 1; `whole` is the library's.
static Value emitWave(OpBuilder &b, Location loc, Value x, int64_t quarters,
                      llvm::function_ref<Value(OpBuilder &, Location)> whole) {
  Arithmetic a{b, loc};
  Type type = x.getType(), f64 = like(x, b.getF64Type()),
       i64 = like(x, b.getI64Type());
  bool wide = a.isWide(type);
  Value number = wide ? x : Value(arith::ExtFOp::create(b, loc, f64, x));
  // x = n pi/2 + r, with pi/2 in three parts of f64: enough for the bits of r
  // up to this limit.
  constexpr double limit = 0x1p30;
  Value inside = a.select(a.less(a.abs(number), limit), number, a.real(f64, 0));
  Value n = a.round(a.mul(inside, a.real(f64, 0.63661977236758134308)));
  Value r = a.fma(n, a.real(f64, -0x1.921fb54442d18p+0), inside);
  r = a.fma(n, a.real(f64, -0x1.1a62633145c07p-54), r);
  r = a.fma(n, a.real(f64, 0x1.f1976b7ed8fbcp-110), r);
  if (!wide)
    r = arith::TruncFOp::create(b, loc, type, r);
  auto [sine, cosine] = sineAndCosine(a, r);
  Value quadrant = a.addInt(a.integral(n, i64), a.integer(i64, quarters));
  auto hasBit = [&](int64_t bit) -> Value {
    return arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::ne,
        arith::AndIOp::create(b, loc, quadrant, a.integer(i64, bit)),
        a.integer(i64, 0));
  };
  Value y = a.select(hasBit(1), cosine, sine);
  y = a.select(hasBit(2), arith::NegFOp::create(b, loc, y), y);
  if (quarters == 0)
    y = a.select(a.equal(x, 0), x, y); // -0 too
  y = a.select(a.isNaN(x), x, y);
  // Beyond the limit, in the rare case that there is any, the library knows.
  Value beyond =
      a.compare(arith::CmpFPredicate::OGE, a.abs(x), a.real(type, limit));
  Value any = beyond;
  if (auto vector = dyn_cast<VectorType>(beyond.getType()))
    any = LLVM::CallIntrinsicOp::create(
              b, loc, b.getI1Type(),
              b.getStringAttr("llvm.vector.reduce.or.v" +
                              std::to_string(vector.getNumElements()) + "i1"),
              ValueRange{beyond})
              .getResult(0);
  return scf::IfOp::create(
             b, loc, any,
             [&](OpBuilder &then, Location) {
               Value exact = whole(then, loc);
               scf::YieldOp::create(
                   then, loc,
                   arith::SelectOp::create(then, loc, beyond, exact, y)
                       .getResult());
             },
             [&](OpBuilder &otherwise, Location) {
               scf::YieldOp::create(otherwise, loc, y);
             })
      .getResult(0);
}

Value timerl::codegen::emitSin(OpBuilder &b, Location loc, Value x) {
  return emitWave(b, loc, x, 0, [&](OpBuilder &inside, Location at) {
    return math::SinOp::create(inside, at, x);
  });
}

Value timerl::codegen::emitCos(OpBuilder &b, Location loc, Value x) {
  return emitWave(b, loc, x, 1, [&](OpBuilder &inside, Location at) {
    return math::CosOp::create(inside, at, x);
  });
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
  Value log2 = a.fma(logarithm, a.real(f64, 1.44269504088896340736),
                     a.integralReal(e, f64));
  Value t = a.clamp(a.mul(exponent, log2), -200, 200);
  Value n = a.round(t);
  Value r = a.mul(a.sub(t, n), a.real(f64, 0.693147180559945309417));
  Value p = a.polynomial(r, {0.5000000000000028, 0.16666666666605343,
                             0.041666666666403, 0.008333333373880389,
                             0.0013888888977008397, 0.0001984118091535732,
                             2.480145950869699e-05, 2.7636899462695132e-06,
                             2.7641779786153784e-07});
  Value power = a.mul(a.add(a.fma(a.mul(r, r), p, r), a.real(f64, 1)),
                      a.powerOfTwo(a.integral(n, i64), f64));
  Value result = arith::TruncFOp::create(b, loc, f32, power);
  // A base of magnitude 1 has no part in the exponent, even an infinite one.
  result = a.select(a.equal(base, 1), a.real(f32, 1), result);
  // A negative base takes integral exponents alone, and the sign of odd ones;
  // so does a zero with a sign, but it takes the others as well.
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
  Value atZero = a.select(a.less(y, 0), a.real(f32, infinity), a.real(f32, 0));
  Value signedZero = math::CopySignOp::create(b, loc, atZero, x);
  atZero = a.select(arith::AndIOp::create(b, loc, odd, integral), signedZero,
                    atZero);
  result = a.select(a.equal(x, 0), atZero, result);
  result = a.select(a.either(a.isNaN(x), a.isNaN(y)), a.add(x, y), result);
  return a.select(a.either(a.equal(y, 0), a.equal(x, 1)), a.real(f32, 1),
                  result);
}
