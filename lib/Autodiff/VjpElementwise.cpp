//===- VjpElementwise.cpp - Vector-Jacobian products of elementwise ops ---===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Vjp.h"
#include "mlir/IR/Matchers.h"
#include "trl/TrlInterfaces.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::autodiff;
using namespace timerl::trl;

namespace {

/// What an elementwise op's product is made from.
struct Point : Emit {
  Operation *op;
  Value ct; ///< the result's cotangent

  Value in(unsigned k) { return op->getOperand(k); }
  Value out() { return op->getResult(0); }
  Value number(double value) { return fill(ct.getType(), value); }
};

using Rule = SmallVector<Value> (*)(Point &);

/// An op whose derivative is given by one function; `Rule == nullptr` marks an
/// op that is a constant under differentiation.
template <typename OpTy, Rule rule>
struct Model
    : DifferentiableOpInterface::ExternalModel<Model<OpTy, rule>, OpTy> {
  bool isDifferentiable(Operation *op, unsigned operand) const {
    return rule != nullptr && isFloat(op->getOperand(operand).getType());
  }
  SmallVector<Value> buildVjp(Operation *op, OpBuilder &builder,
                              ValueRange cotangents) const {
    if constexpr (rule == nullptr) {
      return SmallVector<Value>(op->getNumOperands());
    } else {
      Point at{{builder, op->getLoc()}, op, cotangents[0]};
      return rule(at);
    }
  }
};

SmallVector<Value> negRule(Point &p) { return {p.neg(p.ct)}; }
SmallVector<Value> absRule(Point &p) {
  Value zero = p.number(0);
  Value below = p.masked(p.compare(Predicate::lt, p.in(0), zero), p.neg(p.ct));
  return {p.select(p.compare(Predicate::gt, p.in(0), zero), p.ct, below)};
}
SmallVector<Value> expRule(Point &p) { return {p.scaled(p.ct, p.out())}; }
SmallVector<Value> logRule(Point &p) {
  return {p.scaled(p.ct, p.div(p.number(1), p.in(0)))};
}
SmallVector<Value> sqrtRule(Point &p) {
  return {p.scaled(p.ct, p.div(p.number(0.5), p.out()))};
}
SmallVector<Value> sinRule(Point &p) {
  return {
      p.scaled(p.ct, CosOp::create(p.builder, p.loc, p.ct.getType(), p.in(0)))};
}
SmallVector<Value> cosRule(Point &p) {
  return {p.scaled(
      p.ct, p.neg(SinOp::create(p.builder, p.loc, p.ct.getType(), p.in(0))))};
}
SmallVector<Value> tanhRule(Point &p) {
  return {p.scaled(p.ct, p.sub(p.number(1), p.mul(p.out(), p.out())))};
}
SmallVector<Value> addRule(Point &p) { return {p.ct, p.ct}; }
SmallVector<Value> subRule(Point &p) { return {p.ct, p.neg(p.ct)}; }
SmallVector<Value> mulRule(Point &p) {
  return {p.scaled(p.ct, p.in(1)), p.scaled(p.ct, p.in(0))};
}
SmallVector<Value> divRule(Point &p) {
  Value inverse = p.div(p.number(1), p.in(1));
  return {p.scaled(p.ct, inverse),
          p.scaled(p.ct, p.neg(p.mul(p.out(), inverse)))};
}
/// x - y * floor(x / y): the floor is piecewise constant.
SmallVector<Value> modRule(Point &p) {
  Value floor =
      FloorDivOp::create(p.builder, p.loc, p.ct.getType(), p.in(0), p.in(1));
  return {p.ct, p.scaled(p.ct, p.neg(floor))};
}

Value power(Point &p, Value base, Value exponent) {
  return PowOp::create(p.builder, p.loc, base.getType(), base, exponent);
}

/// A constant exponent keeps `x^2` a product, and its zero powers exact.
SmallVector<Value> powRule(Point &p) {
  DenseElementsAttr constant;
  if (matchPattern(p.in(1), m_Constant(&constant)) && constant.isSplat()) {
    APFloat number = constant.getSplatValue<APFloat>();
    bool inexact;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &inexact);
    double exponent = number.convertToDouble();
    if (exponent == 0)
      return {p.number(0), Value()};
    Value partial = exponent == 1 ? p.number(1)
                    : exponent == 2
                        ? p.mul(p.number(2), p.in(0))
                        : p.mul(p.number(exponent),
                                power(p, p.in(0), p.number(exponent - 1)));
    return {p.scaled(p.ct, partial), Value()};
  }
  Value zero = p.number(0), one = p.number(1);
  Value lowered = p.mul(p.in(1), power(p, p.in(0), p.sub(p.in(1), one)));
  Value byBase =
      p.select(p.compare(Predicate::eq, p.in(1), zero), zero, lowered);
  // 0^y is 0 for every y > 0, so that its derivative by y is 0 there.
  Value atZero = p.compare(Predicate::eq, p.in(0), zero);
  Value log = LogOp::create(p.builder, p.loc, p.ct.getType(),
                            p.select(atZero, one, p.in(0)));
  return {p.scaled(p.ct, byBase), p.scaled(p.ct, p.mul(p.out(), log))};
}

/// Ties give half to each side.
SmallVector<Value> extremum(Point &p, Predicate wins) {
  Value half = p.mul(p.ct, p.number(0.5));
  Value tie = p.masked(p.compare(Predicate::eq, p.in(0), p.in(1)), half);
  return {p.select(p.compare(wins, p.in(0), p.in(1)), p.ct, tie),
          p.select(p.compare(wins, p.in(1), p.in(0)), p.ct, tie)};
}
SmallVector<Value> minRule(Point &p) { return extremum(p, Predicate::lt); }
SmallVector<Value> maxRule(Point &p) { return extremum(p, Predicate::gt); }

SmallVector<Value> clipRule(Point &p) {
  Value x = p.in(0), lo = p.in(1), hi = p.in(2);
  Value inside =
      p.both(p.compare(Predicate::le, lo, x), p.compare(Predicate::le, x, hi));
  // min(max(x, lo), hi): hi wins where the bounds cross.
  Value below =
      p.both(p.compare(Predicate::lt, x, lo), p.compare(Predicate::le, lo, hi));
  Value above =
      p.both(p.compare(Predicate::lt, hi, x), p.compare(Predicate::le, lo, x));
  Value crossed =
      p.both(p.compare(Predicate::lt, x, lo), p.compare(Predicate::lt, hi, lo));
  return {p.masked(inside, p.ct), p.masked(below, p.ct),
          p.select(above, p.ct, p.masked(crossed, p.ct))};
}

SmallVector<Value> selectRule(Point &p) {
  return {Value(), p.masked(p.in(0), p.ct),
          p.select(p.in(0), p.number(0), p.ct)};
}

SmallVector<Value> castRule(Point &p) {
  return {p.cast(p.ct, typeOf(p.in(0)).getElementType())};
}

template <typename OpTy, Rule rule>
void attach(MLIRContext *context) {
  OpTy::template attachInterface<Model<OpTy, rule>>(*context);
}

} // namespace

void autodiff::attachElementwiseModels(MLIRContext *context) {
  attach<NegOp, negRule>(context);
  attach<AbsOp, absRule>(context);
  attach<ExpOp, expRule>(context);
  attach<LogOp, logRule>(context);
  attach<SqrtOp, sqrtRule>(context);
  attach<SinOp, sinRule>(context);
  attach<CosOp, cosRule>(context);
  attach<TanhOp, tanhRule>(context);
  attach<FloorOp, nullptr>(context);
  attach<CeilOp, nullptr>(context);
  attach<AddOp, addRule>(context);
  attach<SubOp, subRule>(context);
  attach<MulOp, mulRule>(context);
  attach<CotangentMulOp, mulRule>(context);
  attach<DivOp, divRule>(context);
  attach<FloorDivOp, nullptr>(context);
  attach<ModOp, modRule>(context);
  attach<PowOp, powRule>(context);
  attach<MinOp, minRule>(context);
  attach<MaxOp, maxRule>(context);
  attach<ClipOp, clipRule>(context);
  attach<SelectOp, selectRule>(context);
  attach<CastOp, castRule>(context);
  attach<StopGradientOp, nullptr>(context);
}
