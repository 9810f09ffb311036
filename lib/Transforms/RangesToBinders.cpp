//===- RangesToBinders.cpp - Values of dynamic length as reductions -------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `sum(x[0:t+1] * y[0:t+1])` has values whose length depends on t. What is made
// of them in the end does not: an axis of such a length is reduced, contracted
// or indexed. There, the axis becomes a binder, and what was computed along it
// is computed at the binder's value instead. So nothing of dynamic length is
// stored, and later passes see the reduction as if it had been written with a
// binder.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "timerl/Transforms/Passes.h"
#include "trl/TrlDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>

using namespace mlir;
using namespace timerl;

namespace {

/// Axes of a value, each with the place at which the value is taken.
using Index = std::map<int64_t, Expr>;

/// An axis of dynamic length, and the index at which it starts in what it was
/// cut from: with binders that begin there, reads get plain indices.
struct Axis {
  Expr length, start;
};

bool isDynamic(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.hasStaticShape();
}

Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

/// Where the first read that a value's axis comes from begins; 0 if nothing
/// tells.
Expr startOf(Value value, int64_t axis) {
  Operation *op = value.getDefiningOp();
  Expr none = Expr::constant(0);
  if (!op)
    return none;
  if (op->hasTrait<OpTrait::Elementwise>()) {
    for (Value operand : op->getOperands())
      if (isDynamic(operand.getType()) && rankOf(operand) == rankOf(value))
        if (Expr start = startOf(operand, axis); start != none)
          return start;
    return none;
  }
  if (auto read = dyn_cast<trl::ReadOp>(op)) {
    for (Attribute position : read.getIndices())
      if (auto range = dyn_cast<trl::RangeAttr>(position))
        if (axis-- == 0)
          return range.getLo().getExpr();
    return none;
  }
  if (auto broadcast = dyn_cast<trl::BroadcastOp>(op)) {
    int64_t inner = axis - (rankOf(value) - rankOf(broadcast.getOperand()));
    return inner < 0 ? none : startOf(broadcast.getOperand(), inner);
  }
  if (auto transpose = dyn_cast<trl::TransposeOp>(op))
    return startOf(transpose.getOperand(), transpose.getPermutation()[axis]);
  return none;
}

class RangesToBinders
    : public PassWrapper<RangesToBinders, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RangesToBinders)
  StringRef getArgument() const override { return "trl-ranges-to-binders"; }
  StringRef getDescription() const override {
    return "Reductions of values of dynamic length get binders";
  }
  void runOnOperation() override;

private:
  bool rewrite(Operation *op);
  Value replacement(Operation *op);
  /// What a value is at some of its axes' places; null: not supported.
  Value at(Value value, const Index &index);
  Value make(Value value, const Index &index);
  /// Indexes a value that is there as a whole.
  Value extract(Value value, const Index &index);
  Value reduceAt(trl::ReduceOp reduce, const Index &index);
  Value matmulAt(trl::MatmulOp matmul, const Index &index);
  Value extractAt(trl::ExtractOp extract, const Index &index);
  Value readAt(trl::ReadOp read, const Index &index);
  Value broadcastAt(trl::BroadcastOp broadcast, const Index &index);
  Value reshapeAt(trl::ReshapeOp reshape, const Index &index);
  Value ifAt(Operation *branch, unsigned result, const Index &index);
  Value reduceOverAt(trl::ReduceOverOp reduce, unsigned result,
                     const Index &index);
  /// A reduction over new binders, one for each axis; `body` gets the places on
  /// the axes.
  Value reduceOver(trl::Reduction kind, ArrayRef<Axis> axes, Type type,
                   llvm::function_ref<Value(ArrayRef<Expr>)> body);
  /// The value itself, or a copy where it is not in scope.
  Value inScope(Value value);
  Value broadcast(Value value, RankedTensorType type) {
    if (!value || value.getType() == type)
      return value;
    return trl::BroadcastOp::create(b(), *loc, type, value);
  }
  RankedTensorType typeAt(Value value, const Index &index) {
    SmallVector<Expr> lengths;
    for (auto [axis, length] :
         llvm::enumerate(trl::getLengths(value.getType())))
      if (!index.count(static_cast<int64_t>(axis)))
        lengths.push_back(length);
    return trl::getTensorType(lengths, elementOf(value));
  }
  trl::ExprAttr attr(const Expr &expr) {
    return trl::ExprAttr::get(&getContext(), expr);
  }
  Attribute point(const Expr &expr) {
    return trl::AtAttr::get(&getContext(), attr(expr));
  }
  OpBuilder &b() { return *builder; }

  std::optional<OpBuilder> builder;
  std::optional<Location> loc; ///< Of the op at hand.
  unsigned numBinders = 0;
  /// What has been made in a block already.
  std::map<std::tuple<Block *, void *, std::string>, Value> made;
};

} // namespace

void RangesToBinders::runOnOperation() {
  builder.emplace(&getContext());
  bool any = false;
  getOperation().walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      any |= isDynamic(type);
  });
  if (!any)
    return;
  // Inner bodies first: what is copied from them is done then.
  SmallVector<Operation *> ops;
  getOperation().walk([&](Operation *op) { ops.push_back(op); });
  SmallVector<Operation *> dead;
  for (Operation *op : ops)
    if (rewrite(op))
      dead.push_back(op);
  for (Operation *op : llvm::reverse(ops))
    if (op->getNumResults() && op->use_empty() &&
        (llvm::is_contained(dead, op) ||
         llvm::any_of(op->getResultTypes(), isDynamic)))
      op->erase();
}

/// Replaces an op in which an axis of dynamic length ends.
bool RangesToBinders::rewrite(Operation *op) {
  if (op->getNumResults() != 1 || isDynamic(op->getResultTypes()[0]) ||
      llvm::none_of(op->getOperandTypes(), isDynamic))
    return false;
  builder->setInsertionPoint(op);
  loc = op->getLoc();
  made.clear();
  Operation *last = op->getPrevNode();
  Value value = make(op->getResult(0), {});
  if (!value) {
    // What was begun goes again.
    while (op->getPrevNode() != last) {
      Operation *begun = op->getPrevNode();
      begun->dropAllUses();
      begun->erase();
    }
    return false;
  }
  op->getResult(0).replaceAllUsesWith(value);
  return true;
}

Value RangesToBinders::inScope(Value value) {
  Region *here = b().getInsertionBlock()->getParent();
  if (value.getParentRegion()->isAncestor(here))
    return value;
  Operation *op = value.getDefiningOp();
  if (!op)
    return nullptr;
  auto key = std::tuple(b().getInsertionBlock(), value.getAsOpaquePointer(),
                        std::string("copy"));
  if (auto found = made.find(key); found != made.end())
    return found->second;
  IRMapping mapping;
  bool complete = true;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      if (operand.getDefiningOp() &&
          op->isProperAncestor(operand.getDefiningOp()))
        continue;
      Value copy = inScope(operand);
      complete &= bool(copy);
      if (copy)
        mapping.map(operand, copy);
    }
  });
  if (!complete)
    return nullptr;
  Operation *copy = b().clone(*op, mapping);
  Value result = copy->getResult(cast<OpResult>(value).getResultNumber());
  made[key] = result;
  return result;
}

Value RangesToBinders::at(Value value, const Index &index) {
  if (index.empty())
    return isDynamic(value.getType()) ? Value() : inScope(value);
  std::string text;
  for (auto &[axis, expr] : index)
    text += std::to_string(axis) + ":" + expr.str() + ";";
  auto key =
      std::tuple(b().getInsertionBlock(), value.getAsOpaquePointer(), text);
  if (auto found = made.find(key); found != made.end())
    return found->second;
  Value result;
  if (!isDynamic(value.getType())) {
    Value whole = inScope(value);
    result = whole ? extract(whole, index) : Value();
  } else {
    result = make(value, index);
  }
  made[key] = result;
  return result;
}

Value RangesToBinders::extract(Value value, const Index &index) {
  SmallVector<Attribute> indices;
  SmallVector<Expr> lengths = trl::getLengths(value.getType());
  for (int64_t axis = 0; axis <= index.rbegin()->first; ++axis)
    if (auto found = index.find(axis); found != index.end())
      indices.push_back(point(found->second));
    else
      indices.push_back(trl::RangeAttr::get(
          &getContext(), attr(Expr::constant(0)), attr(lengths[axis])));
  return trl::ExtractOp::create(b(), *loc, typeAt(value, index), value,
                                b().getArrayAttr(indices), ValueRange());
}

Value RangesToBinders::make(Value value, const Index &index) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return nullptr;
  auto type = typeAt(value, index);
  if (op->hasTrait<OpTrait::Elementwise>()) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      // A scalar stands for all elements.
      operands.push_back(at(operand, rankOf(operand) ? index : Index()));
      if (!operands.back())
        return nullptr;
    }
    OperationState state(*loc, op->getName(), operands, TypeRange(type),
                         op->getAttrs());
    return b().create(state)->getResult(0);
  }
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](trl::ReadOp read) { return readAt(read, index); })
      .Case([&](trl::ReduceOp reduce) { return reduceAt(reduce, index); })
      .Case([&](trl::MatmulOp matmul) { return matmulAt(matmul, index); })
      .Case([&](trl::ExtractOp extract) { return extractAt(extract, index); })
      .Case([&](trl::BroadcastOp op) { return broadcastAt(op, index); })
      .Case([&](trl::ReshapeOp reshape) { return reshapeAt(reshape, index); })
      .Case([&](trl::FillOp fill) {
        return broadcast(at(fill.getValue(), {}), type);
      })
      .Case([&](trl::IotaOp iota) -> Value {
        auto along = index.find(static_cast<int64_t>(iota.getAxis()));
        if (along != index.end())
          return broadcast(
              trl::IndexOp::create(b(), *loc,
                                   trl::getTensorType({}, elementOf(value)),
                                   attr(along->second)),
              type);
        int64_t axis = static_cast<int64_t>(iota.getAxis()), before = 0;
        for (auto &[other, expr] : index)
          before += other < axis;
        return trl::IotaOp::create(b(), *loc, type, axis - before);
      })
      .Case([&](trl::TransposeOp transpose) -> Value {
        Index inner;
        SmallVector<int64_t> kept;
        for (auto [axis, from] : llvm::enumerate(transpose.getPermutation()))
          if (auto found = index.find(static_cast<int64_t>(axis));
              found != index.end())
            inner.emplace(from, found->second);
          else
            kept.push_back(from);
        Value operand = at(transpose.getOperand(), inner);
        if (!operand)
          return nullptr;
        SmallVector<int64_t> sorted(kept), permutation;
        llvm::sort(sorted);
        for (int64_t from : kept)
          permutation.push_back(llvm::find(sorted, from) - sorted.begin());
        return trl::TransposeOp::create(b(), *loc, type, operand, permutation);
      })
      .Case([&](trl::StackOp stack) -> Value {
        Index inner;
        for (auto &[axis, expr] : index) {
          if (axis == 0)
            return nullptr;
          inner.emplace(axis - 1, expr);
        }
        SmallVector<Value> operands;
        for (Value operand : stack.getOperands())
          if (Value one = at(operand, inner))
            operands.push_back(one);
          else
            return nullptr;
        return trl::StackOp::create(b(), *loc, type, operands);
      })
      .Case<trl::IfOp, trl::CaseOp>([&](Operation *branch) {
        return ifAt(branch, cast<OpResult>(value).getResultNumber(), index);
      })
      .Case([&](trl::ReduceOverOp reduce) {
        return reduceOverAt(reduce, cast<OpResult>(value).getResultNumber(),
                            index);
      })
      .Default([](Operation *) { return Value(); });
}

Value RangesToBinders::readAt(trl::ReadOp read, const Index &index) {
  SmallVector<Attribute> indices;
  int64_t axis = 0;
  for (Attribute position : read.getIndices()) {
    auto range = dyn_cast<trl::RangeAttr>(position);
    if (!range) {
      indices.push_back(position);
      continue;
    }
    auto found = index.find(axis++);
    indices.push_back(found == index.end()
                          ? position
                          : point(range.getLo().getExpr() + found->second));
  }
  // Axes of the stored values are indexed behind.
  Index rest;
  for (auto &[k, expr] : index)
    if (k >= axis)
      rest.emplace(
          k - static_cast<int64_t>(llvm::count_if(
                  index, [&](auto &other) { return other.first < axis; })),
          expr);
  SmallVector<Value> dynamic;
  for (Value value : read.getDynamic())
    if (Value copy = at(value, {}))
      dynamic.push_back(copy);
    else
      return nullptr;
  Index ranges;
  for (auto &[k, expr] : index)
    if (k < axis)
      ranges.emplace(k, expr);
  Value result =
      trl::ReadOp::create(b(), *loc, typeAt(read, ranges), read.getSource(),
                          b().getArrayAttr(indices), dynamic);
  return rest.empty() ? result : extract(result, rest);
}

Value RangesToBinders::reduceOver(
    trl::Reduction kind, ArrayRef<Axis> axes, Type type,
    llvm::function_ref<Value(ArrayRef<Expr>)> body) {
  SmallVector<Attribute> binders;
  SmallVector<Expr> places;
  for (const Axis &axis : axes) {
    std::string name = "range." + std::to_string(numBinders++);
    places.push_back(Expr::var(name) - axis.start);
    binders.push_back(trl::IterAttr::get(&getContext(), b().getStringAttr(name),
                                         attr(axis.start),
                                         attr(axis.start + axis.length)));
  }
  auto reduce = trl::ReduceOverOp::create(
      b(), *loc, TypeRange(type), kind, b().getArrayAttr(binders),
      attr(Expr::boolean(true)), /*filtered=*/false);
  OpBuilder::InsertionGuard guard(b());
  b().setInsertionPointToStart(&reduce.getBody().emplaceBlock());
  Value value = body(places);
  if (!value) {
    b().setInsertionPointAfter(reduce);
    reduce.erase();
    return nullptr;
  }
  trl::YieldOp::create(b(), *loc, value);
  return reduce.getResult(0);
}

Value RangesToBinders::reduceAt(trl::ReduceOp reduce, const Index &index) {
  // The operand's axes: reduced ones of dynamic length become binders, static
  // ones stay to be reduced, the others are the result's.
  SmallVector<Expr> lengths = trl::getLengths(reduce.getOperand().getType());
  SmallVector<Axis> dynamic;
  bool arg = reduce.getReduction() == trl::Reduction::argmax;
  Index outer;
  SmallVector<int64_t> dynamicAxes, staticAxes;
  int64_t resultAxis = 0;
  for (int64_t axis = 0; axis < static_cast<int64_t>(lengths.size()); ++axis) {
    if (!llvm::is_contained(reduce.getAxes(), axis)) {
      if (auto found = index.find(resultAxis++); found != index.end())
        outer.emplace(axis, found->second);
    } else if (lengths[axis].isConst()) {
      staticAxes.push_back(axis);
    } else {
      dynamicAxes.push_back(axis);
      // The place of a maximum counts from the axis's own start.
      dynamic.push_back(
          {lengths[axis],
           arg ? Expr::constant(0) : startOf(reduce.getOperand(), axis)});
    }
  }
  auto type = typeAt(reduce.getResult(), index);
  if (arg && (type.getRank() || dynamicAxes.empty()))
    return nullptr;
  auto body = [&](ArrayRef<Expr> variables) -> Value {
    Index inner = outer;
    for (auto [axis, variable] : llvm::zip(dynamicAxes, variables))
      inner.emplace(axis, variable);
    Value operand = at(reduce.getOperand(), inner);
    if (!operand || staticAxes.empty())
      return operand;
    SmallVector<int64_t> axes;
    for (int64_t axis : staticAxes)
      axes.push_back(
          axis - static_cast<int64_t>(llvm::count_if(
                     inner, [&](auto &other) { return other.first < axis; })));
    return trl::ReduceOp::create(b(), *loc, type, reduce.getReduction(),
                                 operand, axes);
  };
  if (dynamicAxes.empty())
    return body({});
  return reduceOver(reduce.getReduction(), dynamic, type, body);
}

Value RangesToBinders::matmulAt(trl::MatmulOp matmul, const Index &index) {
  int64_t left = rankOf(matmul.getLhs()), right = rankOf(matmul.getRhs());
  if (left > 2 || right > 2)
    return nullptr;
  Index lhs, rhs;
  for (auto &[axis, expr] : index)
    if (left == 2 && axis == 0)
      lhs.emplace(0, expr);
    else
      rhs.emplace(1, expr);
  auto type = typeAt(matmul.getResult(), index);
  Expr inner = trl::getLengths(matmul.getLhs().getType()).back();
  if (inner.isConst()) {
    Value x = at(matmul.getLhs(), lhs), y = at(matmul.getRhs(), rhs);
    if (!x || !y)
      return nullptr;
    return trl::MatmulOp::create(b(), *loc, type, x, y);
  }
  return reduceOver(
      trl::Reduction::sum, Axis{inner, startOf(matmul.getLhs(), left - 1)},
      type, [&](ArrayRef<Expr> variables) -> Value {
        Index l = lhs, r = rhs;
        l.emplace(left - 1, variables[0]);
        r.emplace(0, variables[0]);
        Value x = at(matmul.getLhs(), l), y = at(matmul.getRhs(), r);
        if (!x || !y)
          return nullptr;
        // What is left of each: a column and a row, or scalars.
        if (rankOf(x) == 1 && type.getRank() == 2)
          x = trl::ReshapeOp::create(
              b(), *loc,
              trl::getTensorType(
                  {trl::getLengths(x.getType())[0], Expr::constant(1)},
                  elementOf(x)),
              x);
        x = broadcast(x, type);
        y = broadcast(y, type);
        return trl::MulOp::create(b(), *loc, type, x, y);
      });
}

Value RangesToBinders::extractAt(trl::ExtractOp extract, const Index &index) {
  // Points and ranges over axes of the operand; dynamic ones stay as they are.
  Index inner;
  int64_t resultAxis = 0, axis = 0;
  for (Attribute position : extract.getIndices()) {
    if (auto at = dyn_cast<trl::AtAttr>(position)) {
      inner.emplace(axis++, at.getIndex().getExpr());
      continue;
    }
    auto range = dyn_cast<trl::RangeAttr>(position);
    if (!range)
      return nullptr;
    auto found = index.find(resultAxis++);
    if (found != index.end())
      inner.emplace(axis, range.getLo().getExpr() + found->second);
    else
      return nullptr;
    ++axis;
  }
  for (int64_t rank = rankOf(extract.getOperand()); axis < rank; ++axis)
    if (auto found = index.find(resultAxis++); found != index.end())
      inner.emplace(axis, found->second);
  return at(extract.getOperand(), inner);
}

Value RangesToBinders::broadcastAt(trl::BroadcastOp op, const Index &index) {
  // Axes align at the right; those of length 1 are equal everywhere.
  SmallVector<Expr> from = trl::getLengths(op.getOperand().getType());
  int64_t shift = rankOf(op.getResult()) - static_cast<int64_t>(from.size());
  Index inner;
  for (auto &[axis, expr] : index) {
    int64_t k = axis - shift;
    if (k >= 0)
      inner.emplace(k, from[k].getConst() == 1 ? Expr::constant(0) : expr);
  }
  return broadcast(at(op.getOperand(), inner), typeAt(op.getResult(), index));
}

/// Axes of length 1 come and go; each other one has its place among the rest.
Value RangesToBinders::reshapeAt(trl::ReshapeOp reshape, const Index &index) {
  SmallVector<Expr> from = trl::getLengths(reshape.getOperand().getType()),
                    to = trl::getLengths(reshape.getResult().getType());
  auto longAxes = [](ArrayRef<Expr> lengths) {
    SmallVector<int64_t> axes;
    for (auto [axis, length] : llvm::enumerate(lengths))
      if (length.getConst() != 1)
        axes.push_back(static_cast<int64_t>(axis));
    return axes;
  };
  SmallVector<int64_t> before = longAxes(from), after = longAxes(to);
  if (before.size() != after.size())
    return nullptr;
  Index inner;
  for (auto [x, y] : llvm::zip(before, after)) {
    if (from[x] != to[y])
      return nullptr;
    if (auto found = index.find(y); found != index.end())
      inner.emplace(x, found->second);
  }
  Value operand = at(reshape.getOperand(), inner);
  auto type = typeAt(reshape.getResult(), index);
  if (!operand || operand.getType() == type)
    return operand;
  return trl::ReshapeOp::create(b(), *loc, type, operand);
}

Value RangesToBinders::ifAt(Operation *branch, unsigned result,
                            const Index &index) {
  auto type = typeAt(branch->getResult(result), index);
  SmallVector<Value> operands;
  for (Value condition : branch->getOperands()) {
    operands.push_back(at(condition, rankOf(condition) ? index : Index()));
    if (!operands.back())
      return nullptr;
  }
  OperationState state(*loc, branch->getName(), operands, TypeRange(type),
                       branch->getAttrs());
  for (unsigned k = 0; k < branch->getNumRegions(); ++k)
    state.addRegion();
  Operation *copy = b().create(state);
  OpBuilder::InsertionGuard guard(b());
  for (auto [from, to] : llvm::zip(branch->getRegions(), copy->getRegions())) {
    b().setInsertionPointToStart(&to.emplaceBlock());
    Value value = at(from.front().getTerminator()->getOperand(result), index);
    if (!value) {
      b().setInsertionPointAfter(copy);
      copy->erase();
      return nullptr;
    }
    trl::YieldOp::create(b(), *loc, value);
  }
  return copy->getResult(0);
}

Value RangesToBinders::reduceOverAt(trl::ReduceOverOp reduce, unsigned result,
                                    const Index &index) {
  auto type = typeAt(reduce.getResult(result), index);
  auto copy = trl::ReduceOverOp::create(
      b(), *loc, TypeRange(type), reduce.getReduction(), reduce.getBinders(),
      reduce.getWhen(), reduce.getFiltered());
  OpBuilder::InsertionGuard guard(b());
  b().setInsertionPointToStart(&copy.getBody().emplaceBlock());
  SmallVector<Value> yielded{at(reduce.getYield().getValues()[result], index)};
  if (yielded[0] && reduce.getFiltered())
    yielded.push_back(at(reduce.getYield().getValues().back(), {}));
  if (!yielded.back()) {
    b().setInsertionPointAfter(copy);
    copy.erase();
    return nullptr;
  }
  trl::YieldOp::create(b(), *loc, yielded);
  return copy.getResult(0);
}

std::unique_ptr<Pass> timerl::createRangesToBindersPass() {
  return std::make_unique<RangesToBinders>();
}
