//===- VjpShapes.cpp - Vector-Jacobian products of ops on shapes ----------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Vjp.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "trl/TrlInterfaces.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::autodiff;
using namespace timerl::trl;

namespace {

/// An op whose float operands all carry cotangents. `Derived` gives
/// `vjp(OpTy, Emit, Value cotangent)`.
template <typename Derived, typename OpTy>
struct Model : DifferentiableOpInterface::ExternalModel<Derived, OpTy> {
  bool isDifferentiable(Operation *op, unsigned operand) const {
    return isFloat(op->getOperand(operand).getType());
  }
  SmallVector<Value> buildVjp(Operation *op, OpBuilder &builder,
                              ValueRange cotangents) const {
    return static_cast<const Derived *>(this)->vjp(
        cast<OpTy>(op), Emit{builder, op->getLoc()}, cotangents[0]);
  }
};

struct Fill : Model<Fill, FillOp> {
  SmallVector<Value> vjp(FillOp op, Emit emit, Value ct) const {
    return {emit.reduce(
        Reduction::sum, ct,
        llvm::to_vector(llvm::seq<int64_t>(0, typeOf(ct).getRank())))};
  }
};

struct Broadcast : Model<Broadcast, BroadcastOp> {
  SmallVector<Value> vjp(BroadcastOp op, Emit emit, Value ct) const {
    SmallVector<Expr> from = getLengths(op.getOperand().getType()),
                      to = getLengths(op.getType());
    SmallVector<int64_t> stretched;
    unsigned added = to.size() - from.size();
    for (unsigned k = 0; k < to.size(); ++k)
      if (k < added || from[k - added] != to[k])
        stretched.push_back(k);
    return {emit.reshape(emit.reduce(Reduction::sum, ct, stretched), from)};
  }
};

struct Reshape : Model<Reshape, ReshapeOp> {
  SmallVector<Value> vjp(ReshapeOp op, Emit emit, Value ct) const {
    return {emit.reshape(ct, getLengths(op.getOperand().getType()))};
  }
};

struct Transpose : Model<Transpose, TransposeOp> {
  SmallVector<Value> vjp(TransposeOp op, Emit emit, Value ct) const {
    return {emit.transpose(ct, invertPermutationVector(op.getPermutation()))};
  }
};

Attribute at(MLIRContext *context, const Expr &expr) {
  return AtAttr::get(context, ExprAttr::get(context, expr));
}
Attribute range(MLIRContext *context, const Expr &lo, const Expr &hi) {
  return RangeAttr::get(context, ExprAttr::get(context, lo),
                        ExprAttr::get(context, hi));
}

struct Stack : Model<Stack, StackOp> {
  SmallVector<Value> vjp(StackOp op, Emit emit, Value ct) const {
    SmallVector<Value> result;
    for (unsigned k = 0; k < op.getOperands().size(); ++k)
      result.push_back(
          emit.extract(ct, at(op.getContext(), Expr::constant(k))));
    return result;
  }
};

struct Concat : Model<Concat, ConcatOp> {
  SmallVector<Value> vjp(ConcatOp op, Emit emit, Value ct) const {
    SmallVector<Expr> lengths = getLengths(op.getType());
    SmallVector<Attribute> indices;
    for (int64_t k = 0; k < static_cast<int64_t>(op.getAxis()); ++k)
      indices.push_back(range(op.getContext(), Expr(), lengths[k]));
    indices.emplace_back();
    SmallVector<Value> result;
    Expr from;
    for (Value operand : op.getOperands()) {
      Expr to = from + getLengths(operand.getType())[op.getAxis()];
      indices.back() = range(op.getContext(), from, to);
      result.push_back(emit.extract(ct, indices));
      from = to;
    }
    return result;
  }
};

/// Puts the cotangent of a part back into its place among zeros: ranges by
/// joining zeros on both sides, points by a mask along their axis.
struct Extract : Model<Extract, ExtractOp> {
  SmallVector<Value> vjp(ExtractOp op, Emit emit, Value ct) const {
    SmallVector<Expr> full = getLengths(op.getOperand().getType());
    Type element = typeOf(ct).getElementType();
    unsigned axis = 0, nextDynamic = 0;
    SmallVector<int64_t> points;
    SmallVector<Value> positions; // of the points, i32 scalars
    for (auto [k, index] : llvm::enumerate(op.getIndices())) {
      if (auto slice = dyn_cast<RangeAttr>(index)) {
        Expr lo = slice.getLo().getExpr(), hi = slice.getHi().getExpr();
        SmallVector<Value> parts;
        auto pad = [&](const Expr &length) {
          if (length == Expr())
            return;
          SmallVector<Expr> lengths = getLengths(ct.getType());
          lengths[axis] = length;
          parts.push_back(emit.zero(getTensorType(lengths, element)));
        };
        pad(lo);
        parts.push_back(ct);
        pad(full[k] - hi);
        if (parts.size() > 1) {
          SmallVector<Expr> lengths = getLengths(ct.getType());
          lengths[axis] = full[k];
          ct = ConcatOp::create(emit.builder, emit.loc,
                                getTensorType(lengths, element), parts, axis);
        }
        ++axis;
        continue;
      }
      points.push_back(k);
      auto scalar = RankedTensorType::get({}, emit.builder.getI32Type());
      if (auto fixed = dyn_cast<AtAttr>(index)) {
        positions.push_back(emit.index(scalar, fixed.getIndex().getExpr()));
        continue;
      }
      // An index outside the axis reads its nearest end.
      Value j = op.getDynamic()[nextDynamic++];
      Value last = emit.cast(emit.index(scalar, full[k] - Expr::constant(1)),
                             typeOf(j).getElementType());
      j = ClipOp::create(emit.builder, emit.loc, j.getType(), j,
                         emit.zero(j.getType()), last);
      positions.push_back(emit.cast(j, emit.builder.getI32Type()));
    }
    Type type = op.getOperand().getType();
    if (points.empty())
      return with(op, ct);
    if (points.size() == 1 && points[0] == 0)
      return with(op, ScatterOp::create(emit.builder, emit.loc, type,
                                        emit.zero(type), positions[0], ct,
                                        /*add=*/false));
    Value mask;
    for (auto [point, position] : llvm::zip(points, positions)) {
      Value along = emit.iota(cast<RankedTensorType>(type), point);
      Value here = emit.compare(
          Predicate::eq, along,
          FillOp::create(emit.builder, emit.loc, along.getType(), position));
      mask = mask ? emit.both(mask, here) : here;
    }
    return with(op, emit.masked(mask, emit.spread(ct, points, full)));
  }

  static SmallVector<Value> with(ExtractOp op, Value operand) {
    SmallVector<Value> result(op->getNumOperands());
    result[0] = operand;
    return result;
  }
};

/// i clamped to the leading axis of `lengths`.
Value clampIndices(Emit emit, Value indices, ArrayRef<Expr> lengths) {
  Value last =
      emit.cast(emit.index(typeOf(indices), lengths[0] - Expr::constant(1)),
                typeOf(indices).getElementType());
  return ClipOp::create(emit.builder, emit.loc, indices.getType(), indices,
                        emit.zero(indices.getType()), last);
}

struct Take : Model<Take, TakeOp> {
  SmallVector<Value> vjp(TakeOp op, Emit emit, Value ct) const {
    SmallVector<Expr> lengths = getLengths(op.getOperand().getType());
    Value indices = clampIndices(emit, op.getIndices(), lengths);
    RankedTensorType type = typeOf(indices);
    if (type.getRank() > 1) {
      SmallVector<Expr> flat = {Expr::constant(type.getNumElements())};
      indices = emit.reshape(indices, flat);
      flat.append(std::next(lengths.begin()), lengths.end());
      ct = emit.reshape(ct, flat);
    }
    Type operand = op.getOperand().getType();
    return {ScatterOp::create(emit.builder, emit.loc, operand,
                              emit.zero(operand), indices, ct, /*add=*/true),
            Value()};
  }
};

struct Scatter : Model<Scatter, ScatterOp> {
  SmallVector<Value> vjp(ScatterOp op, Emit emit, Value ct) const {
    OpBuilder &builder = emit.builder;
    Value indices = op.getIndices();
    SmallVector<Expr> base = getLengths(op.getType()),
                      updates = getLengths(op.getUpdates().getType());
    Value back = TakeOp::create(builder, emit.loc, op.getUpdates().getType(),
                                ct, indices);
    // `take` clamps, so updates that were dropped are masked out.
    Value valid =
        emit.compare(Predicate::eq, indices, clampIndices(emit, indices, base));
    if (op.getAdd())
      return {ct, Value(), emit.masked(spreadMask(emit, valid, updates), back)};
    // Of several updates to one place the last one is seen.
    Value overwritten =
        ScatterOp::create(builder, emit.loc, op.getType(), ct, indices,
                          emit.zero(op.getUpdates().getType()), /*add=*/false);
    if (typeOf(indices).getRank() == 1) {
      auto winners = getTensorType(base[0], builder.getI32Type());
      Value order = emit.iota(typeOf(indices), 0);
      Value winner = ScatterOp::create(builder, emit.loc, winners,
                                       emit.fill(winners, -1), indices, order,
                                       /*add=*/false);
      Value seen =
          TakeOp::create(builder, emit.loc, order.getType(), winner, indices);
      valid = emit.both(valid, emit.compare(Predicate::eq, seen, order));
    }
    return {overwritten, Value(),
            emit.masked(spreadMask(emit, valid, updates), back)};
  }

  /// A mask over the leading axis, or a scalar, for whole updates.
  static Value spreadMask(Emit emit, Value mask, ArrayRef<Expr> lengths) {
    SmallVector<int64_t> rest;
    for (int64_t k = typeOf(mask).getRank(), end = lengths.size(); k < end; ++k)
      rest.push_back(k);
    return emit.spread(mask, rest, lengths);
  }
};

struct Matmul : Model<Matmul, MatmulOp> {
  SmallVector<Value> vjp(MatmulOp op, Emit emit, Value ct) const {
    Value lhs = op.getLhs(), rhs = op.getRhs();
    unsigned ranks[2] = {static_cast<unsigned>(typeOf(lhs).getRank()),
                         static_cast<unsigned>(typeOf(rhs).getRank())};
    if (ranks[0] == 1 && ranks[1] == 1) {
      Value spread = emit.broadcast(ct, getLengths(lhs.getType()));
      return {emit.scaled(spread, rhs), emit.scaled(spread, lhs)};
    }
    if (ranks[1] == 1)
      return {emit.matmul(column(emit, ct), row(emit, rhs)),
              emit.matmul(ct, lhs)};
    if (ranks[0] == 1)
      return {emit.matmul(rhs, ct),
              emit.matmul(column(emit, lhs), row(emit, ct))};
    return {emit.matmul(ct, flipped(emit, rhs)),
            emit.matmul(flipped(emit, lhs), ct)};
  }

  static Value column(Emit emit, Value vector) {
    return emit.reshape(vector,
                        {getLengths(vector.getType())[0], Expr::constant(1)});
  }
  static Value row(Emit emit, Value vector) {
    return emit.reshape(vector,
                        {Expr::constant(1), getLengths(vector.getType())[0]});
  }
  static Value flipped(Emit emit, Value matrix) {
    SmallVector<int64_t> axes =
        llvm::to_vector(llvm::seq<int64_t>(0, typeOf(matrix).getRank()));
    std::swap(axes[axes.size() - 2], axes.back());
    return emit.transpose(matrix, axes);
  }
};

struct Reduce : Model<Reduce, ReduceOp> {
  bool isDifferentiable(Operation *op, unsigned operand) const {
    return isFloat(op->getOperand(operand).getType()) &&
           cast<ReduceOp>(op).getReduction() != Reduction::argmax;
  }
  SmallVector<Value> vjp(ReduceOp op, Emit emit, Value ct) const {
    Value x = op.getOperand();
    SmallVector<Expr> lengths = getLengths(x.getType());
    ArrayRef<int64_t> axes = op.getAxes();
    switch (op.getReduction()) {
    case Reduction::sum:
      return {emit.spread(ct, axes, lengths)};
    case Reduction::prod:
      return {product(emit, x, axes, lengths, ct, op.getResult())};
    default:
      return {extremum(emit, x, axes, op.getReduction(), ct)};
    }
  }

  /// The product of the others, exact when some are 0.
  static Value product(Emit emit, Value x, ArrayRef<int64_t> axes,
                       ArrayRef<Expr> lengths, Value ct, Value result) {
    Value zero = emit.zero(x.getType()), one = emit.fill(x.getType(), 1);
    Value isZero = emit.compare(Predicate::eq, x, zero);
    Value zeros = emit.spread(
        emit.reduce(Reduction::sum, emit.select(isZero, one, zero), axes), axes,
        lengths);
    Value nonzero = emit.spread(
        emit.reduce(Reduction::prod, emit.select(isZero, one, x), axes), axes,
        lengths);
    Value ofZero =
        emit.masked(emit.compare(Predicate::eq, zeros, one), nonzero);
    Value ofOther = emit.masked(emit.compare(Predicate::eq, zeros, zero),
                                emit.div(nonzero, emit.select(isZero, one, x)));
    return emit.scaled(emit.spread(ct, axes, lengths),
                       emit.select(isZero, ofZero, ofOther));
  }

  /// All to the first in row-major order: the last axis is reduced first, so
  /// that each earlier one chooses among the first of its rows.
  static Value extremum(Emit emit, Value x, ArrayRef<int64_t> axes,
                        Reduction reduction, Value ct) {
    if (axes.empty())
      return ct;
    Value inner = emit.reduce(reduction, x, axes.back());
    ct = extremum(emit, inner, axes.drop_back(), reduction, ct);
    SmallVector<Expr> lengths = getLengths(x.getType());
    Value ranked = reduction == Reduction::min ? emit.neg(x) : x;
    Value first =
        emit.spread(emit.reduce(Reduction::argmax, ranked, axes.back()),
                    axes.back(), lengths);
    Value along = emit.iota(typeOf(x), axes.back());
    return emit.masked(emit.compare(Predicate::eq, along, first),
                       emit.spread(ct, axes.back(), lengths));
  }
};

struct Cumsum : Model<Cumsum, CumsumOp> {
  SmallVector<Value> vjp(CumsumOp op, Emit emit, Value ct) const {
    return {CumsumOp::create(emit.builder, emit.loc, ct.getType(), ct,
                             op.getAxis(), !op.getReverse())};
  }
};

} // namespace

void autodiff::attachShapeModels(MLIRContext *context) {
  FillOp::attachInterface<Fill>(*context);
  BroadcastOp::attachInterface<Broadcast>(*context);
  ReshapeOp::attachInterface<Reshape>(*context);
  TransposeOp::attachInterface<Transpose>(*context);
  StackOp::attachInterface<Stack>(*context);
  ConcatOp::attachInterface<Concat>(*context);
  ExtractOp::attachInterface<Extract>(*context);
  TakeOp::attachInterface<Take>(*context);
  ScatterOp::attachInterface<Scatter>(*context);
  MatmulOp::attachInterface<Matmul>(*context);
  ReduceOp::attachInterface<Reduce>(*context);
  CumsumOp::attachInterface<Cumsum>(*context);
}
