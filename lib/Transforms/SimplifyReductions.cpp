//===- SimplifyReductions.cpp - Sums over ranges become recurrences -------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction over k in t + c : hi, or lo : t + c, whose terms do not depend on
// t but for a factor g^(k - t) (or g^(t - k)), is a recurrence over t:
//
//   y[t] = term(t + c) + g * y[t + 1]        instead of O(T) terms a point.
//
// This is the simplification of reductions by reuse (Gautam and Rajopadhye,
// POPL 2006) along one dim, with a geometric weight; it never divides by a
// power. At the end of the dim's range, where no neighbour is, the reduction
// stays as it was.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "timerl/Transforms/Passes.h"
#include "trl/TrlDialect.h"

using namespace mlir;
using namespace timerl;

namespace {

/// Does the op itself, or an op in its regions, mention the dim?
bool mentions(Operation *op, StringRef name) {
  bool found = false;
  AttrTypeWalker walker;
  walker.addWalk(
      [&](trl::ExprAttr attr) { found |= attr.getExpr().mentions(name); });
  op->walk([&](Operation *inner) {
    walker.walk(inner->getAttrDictionary());
    for (Type type : inner->getResultTypes())
      walker.walk(type);
  });
  return found;
}

/// Renames or replaces dims in every expression inside an op.
void substitute(Operation *op, StringRef name, const Expr &by) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](trl::ExprAttr attr) -> std::optional<Attribute> {
    return trl::ExprAttr::get(
        attr.getContext(),
        attr.getExpr().substitute([&](StringRef other) -> std::optional<Expr> {
          return other == name ? std::optional<Expr>(by) : std::nullopt;
        }));
  });
  replacer.recursivelyReplaceElementsIn(op, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

/// A reduction that can be computed from its neighbour along `dim`.
struct Recurrence {
  trl::EquationOp equation;
  trl::ReduceOverOp reduce;
  trl::IterAttr dim;
  bool suffix = true; ///< over t + c : hi, else lo : t + c
  /// The factor between neighbours; null: none.
  Value weight;
};

class SimplifyReductions
    : public PassWrapper<SimplifyReductions, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SimplifyReductions)
  StringRef getArgument() const override { return "trl-simplify-reductions"; }
  StringRef getDescription() const override {
    return "Turns reductions over ranges that grow along a dim into "
           "recurrences";
  }
  void runOnOperation() override {
    SmallVector<trl::EquationOp> equations(
        getOperation().getOps<trl::EquationOp>());
    for (trl::EquationOp equation : equations) {
      SmallVector<trl::ReduceOverOp> reductions(
          equation.getBody().getOps<trl::ReduceOverOp>());
      for (trl::ReduceOverOp reduce : reductions)
        if (auto found = match(equation, reduce))
          rewrite(*found);
    }
  }

private:
  unsigned count = 0;

  std::optional<Recurrence> match(trl::EquationOp equation,
                                  trl::ReduceOverOp reduce);
  bool findWeight(Value term, Recurrence &found, StringRef binder,
                  llvm::SmallPtrSetImpl<Operation *> &exempt);
  bool isInvariant(Value value, StringRef dim, trl::ReduceOverOp reduce);
  void rewrite(const Recurrence &found);
};

} // namespace

/// Whether a value has nothing to do with `dim`, wherever it is computed.
bool SimplifyReductions::isInvariant(Value value, StringRef dim,
                                     trl::ReduceOverOp reduce) {
  Operation *op = value.getDefiningOp();
  if (mentions(op, dim))
    return false;
  bool invariant = true;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getDefiningOp()))
        invariant &= isInvariant(operand, dim, reduce);
  });
  return invariant;
}

/// Walks the product that a term is, looking for a power whose exponent counts
/// the distance from the range's moving end.
bool SimplifyReductions::findWeight(
    Value term, Recurrence &found, StringRef binder,
    llvm::SmallPtrSetImpl<Operation *> &exempt) {
  StringRef dim = found.dim.getName().getValue();
  Operation *op = term.getDefiningOp();
  if (!found.reduce->isProperAncestor(op))
    return false;
  if (auto product = dyn_cast<trl::MulOp>(op))
    return findWeight(product.getLhs(), found, binder, exempt) ||
           findWeight(product.getRhs(), found, binder, exempt);
  if (auto spread = dyn_cast<trl::BroadcastOp>(op))
    return findWeight(spread.getOperand(), found, binder, exempt);
  auto power = dyn_cast<trl::PowOp>(op);
  if (!power || power.getType().getRank() != 0)
    return false;
  Value exponent = power.getRhs();
  while (auto cast = exponent.getDefiningOp<trl::CastOp>())
    exponent = cast.getOperand();
  auto index = exponent.getDefiningOp<trl::IndexOp>();
  if (!index)
    return false;
  Expr distance = found.suffix ? Expr::var(binder) - Expr::var(dim)
                               : Expr::var(dim) - Expr::var(binder);
  if (!(index.getExpr().getExpr() - distance).isConst())
    return false;
  if (!isInvariant(power.getLhs(), dim, found.reduce) ||
      !isInvariant(power.getLhs(), binder, found.reduce))
    return false;
  found.weight = power.getLhs();
  exempt.insert(index);
  return true;
}

std::optional<Recurrence> SimplifyReductions::match(trl::EquationOp equation,
                                                    trl::ReduceOverOp reduce) {
  using trl::Reduction;
  if (reduce.getBinders().size() != 1 || reduce.getFiltered() ||
      reduce.getNumResults() != 1 || !reduce.getWhen().getExpr().isTrue() ||
      reduce.getReduction() == Reduction::argmax)
    return std::nullopt;
  auto binder = cast<trl::IterAttr>(reduce.getBinders()[0]);
  Expr lo = binder.getLo().getExpr(), hi = binder.getHi().getExpr();
  for (auto dim : equation.getDomain().getAsRange<trl::IterAttr>()) {
    StringRef name = dim.getName().getValue();
    Recurrence found{equation, reduce, dim, true, Value()};
    Expr t = Expr::var(name);
    if ((lo - t).isConst() && !hi.mentions(name))
      found.suffix = true;
    else if ((hi - t).isConst() && !lo.mentions(name))
      found.suffix = false;
    else
      continue;
    // The neighbour must be a point of the equation whenever it is in range.
    bool fits = !equation.getWhen().getExpr().mentions(name);
    for (auto other : equation.getDomain().getAsRange<trl::IterAttr>())
      fits &= other == dim || (!other.getLo().getExpr().mentions(name) &&
                               !other.getHi().getExpr().mentions(name));
    Expr points = dim.getHi().getExpr() - dim.getLo().getExpr();
    // A short range is cheaper as it is.
    if (!fits || (points.isConst() && points.value() < 4))
      continue;
    llvm::SmallPtrSet<Operation *, 2> exempt;
    Value term = reduce.getYield().getValues()[0];
    StringRef variable = binder.getName().getValue();
    if (reduce.getReduction() == Reduction::sum)
      findWeight(term, found, variable, exempt);
    // Nothing else in the terms may depend on t.
    bool invariant = true;
    reduce.getBody().walk([&](Operation *op) {
      if (exempt.contains(op))
        return;
      AttrTypeWalker walker;
      walker.addWalk([&](trl::ExprAttr attr) {
        invariant &= !attr.getExpr().mentions(name);
      });
      walker.walk(op->getAttrDictionary());
      for (Type type : op->getResultTypes())
        walker.walk(type);
      for (Value operand : op->getOperands())
        if (!reduce->isAncestor(operand.getDefiningOp()))
          invariant &= isInvariant(operand, name, reduce);
    });
    if (invariant)
      return found;
  }
  return std::nullopt;
}

/// Copies into the current block what a value outside is computed from.
static void copyInputs(OpBuilder &builder, Operation *op, IRMapping &mapping) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (op->isAncestor(producer) || mapping.contains(operand))
        continue;
      copyInputs(builder, producer, mapping);
      builder.clone(*producer, mapping);
    }
  });
}

static Value combine(OpBuilder &builder, Location loc, trl::Reduction kind,
                     Value x, Value y) {
  using trl::Reduction;
  switch (kind) {
  case Reduction::sum:
    return trl::AddOp::create(builder, loc, x.getType(), x, y);
  case Reduction::prod:
    return trl::MulOp::create(builder, loc, x.getType(), x, y);
  case Reduction::max:
    return trl::MaxOp::create(builder, loc, x.getType(), x, y);
  case Reduction::min:
    return trl::MinOp::create(builder, loc, x.getType(), x, y);
  case Reduction::any:
    return trl::OrOp::create(builder, loc, x.getType(), x, y);
  case Reduction::all:
  case Reduction::argmax:
    break;
  }
  return trl::AndOp::create(builder, loc, x.getType(), x, y);
}

void SimplifyReductions::rewrite(const Recurrence &found) {
  trl::EquationOp equation = found.equation;
  trl::ReduceOverOp reduce = found.reduce;
  MLIRContext *context = &getContext();
  Location loc = reduce.getLoc();
  OpBuilder builder(equation);
  auto type = cast<RankedTensorType>(reduce.getResult(0).getType());
  StringRef name = found.dim.getName().getValue();
  auto binder = cast<trl::IterAttr>(reduce.getBinders()[0]);
  Expr t = Expr::var(name), one = Expr::constant(1);
  Expr lo = binder.getLo().getExpr(), hi = binder.getHi().getExpr();

  std::string symbol = "running$" + std::to_string(count++);
  SmallVector<StringRef> positions;
  SmallVector<trl::IterAttr> domain;
  SmallVector<Expr> indices;
  SmallVector<Attribute> here, neighbour;
  Expr step = found.suffix ? t + one : t - one;
  auto at = [&](const Expr &expr) {
    return trl::AtAttr::get(context, trl::ExprAttr::get(context, expr));
  };
  for (auto iter : equation.getDomain().getAsRange<trl::IterAttr>()) {
    domain.push_back(iter);
    positions.push_back(iter.getName().getValue());
    indices.push_back(Expr::var(iter.getName().getValue()));
    here.push_back(at(indices.back()));
    neighbour.push_back(iter == found.dim ? at(step) : here.back());
  }
  trl::TensorOp::create(builder, loc, symbol, type,
                        builder.getStrArrayAttr(positions), true);
  StringRef target = symbol;
  SmallVector<Expr> targetIndices = indices;
  auto running = trl::EquationOp::create(builder, loc, domain,
                                         equation.getWhen().getExpr(), target,
                                         targetIndices);

  // Where the neighbour is a point: it, and the one term that it lacks.
  Block &block = running.getBody().front();
  builder.setInsertionPointToStart(&block);
  Expr hasNeighbour = found.suffix
                          ? Expr::lt(step, found.dim.getHi().getExpr())
                          : Expr::ge(step, found.dim.getLo().getExpr());
  auto choice = trl::CaseOp::create(builder, loc, TypeRange(type),
                                    trl::ExprAttr::get(context, hasNeighbour));
  builder.createBlock(&choice.getThen());
  Value rest =
      trl::ReadOp::create(builder, loc, type, symbol,
                          builder.getArrayAttr(neighbour), ValueRange());
  if (found.weight) {
    IRMapping mapping;
    Operation *producer = found.weight.getDefiningOp();
    copyInputs(builder, producer, mapping);
    builder.clone(*producer, mapping);
    Value weight = mapping.lookup(found.weight);
    if (weight.getType() != type)
      weight = trl::BroadcastOp::create(builder, loc, type, weight);
    rest = trl::MulOp::create(builder, loc, type, weight, rest);
  }
  Expr last = found.suffix ? lo : hi - one;
  Expr inRange = found.suffix ? Expr::lt(lo, hi) : Expr::ge(hi - one, lo);
  // At the first point of the dim the range may still be empty.
  auto addition = trl::CaseOp::create(builder, loc, TypeRange(type),
                                      trl::ExprAttr::get(context, inRange));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&addition.getThen());
    IRMapping mapping;
    copyInputs(builder, reduce, mapping);
    for (Operation &op : reduce.getBody().front().without_terminator()) {
      Operation *copy = builder.clone(op, mapping);
      substitute(copy, binder.getName().getValue(), last);
    }
    Value term = mapping.lookupOrDefault(reduce.getYield().getValues()[0]);
    Value sum = combine(builder, loc, reduce.getReduction(), term, rest);
    trl::YieldOp::create(builder, loc, sum);
    builder.createBlock(&addition.getOtherwise());
    trl::YieldOp::create(builder, loc, rest);
  }
  trl::YieldOp::create(builder, loc, addition.getResults());

  builder.createBlock(&choice.getOtherwise());
  IRMapping mapping;
  copyInputs(builder, reduce, mapping);
  Operation *whole = builder.clone(*reduce, mapping);
  trl::YieldOp::create(builder, loc, whole->getResults());
  builder.setInsertionPointToEnd(&block);
  trl::YieldOp::create(builder, loc, choice.getResults());

  builder.setInsertionPoint(reduce);
  Value read = trl::ReadOp::create(builder, loc, type, symbol,
                                   builder.getArrayAttr(here), ValueRange());
  reduce.getResult(0).replaceAllUsesWith(read);
  reduce.erase();
}

std::unique_ptr<Pass> timerl::createSimplifyReductionsPass() {
  return std::make_unique<SimplifyReductions>();
}
