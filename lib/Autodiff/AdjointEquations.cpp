//===- AdjointEquations.cpp - Bodies of the equations of adjoints ---------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adjoint.h"
#include "Outline.h"
#include "Vjp.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::autodiff;
using namespace timerl::trl;

static SmallVector<IterAttr> iterAttrs(MLIRContext *context,
                                       ArrayRef<Range> ranges) {
  SmallVector<IterAttr> result;
  for (const Range &range : ranges)
    result.push_back(IterAttr::get(
        context, StringAttr::get(context, range.name),
        ExprAttr::get(context, range.lo), ExprAttr::get(context, range.hi)));
  return result;
}

static SmallVector<Expr> variables(ArrayRef<Range> ranges) {
  SmallVector<Expr> result;
  for (const Range &range : ranges)
    result.push_back(Expr::var(range.name));
  return result;
}

/// Removes what the cotangents do not need and what is computed twice.
static void finish(EquationOp equation) {
  eraseDeadOps(equation.getBody().front());
  IRRewriter rewriter(equation.getContext());
  DominanceInfo dominance(equation);
  eliminateCommonSubExpressions(rewriter, dominance, equation);
}

//===----------------------------------------------------------------------===//
// Local cotangents
//===----------------------------------------------------------------------===//

LogicalResult AdjointBuilder::buildLocal(Local &local) {
  MLIRContext *context = module.getContext();
  Context known(isl, local.dims, local.when);
  local.products = EquationOp::create(
      top, local.equation.getLoc(), iterAttrs(context, local.dims), local.when,
      ArrayRef<StringRef>(), ArrayRef<SmallVector<Expr>>());
  OpBuilder builder(context);
  builder.setInsertionPointToStart(&local.products.getBody().front());
  auto products = emitProducts(builder, local, known);
  if (failed(products))
    return mlir::failure();
  SmallVector<Value> yields;
  for (auto [k, product] : llvm::zip(local.accesses, *products))
    yields.push_back(product
                         ? product
                         : Emit{builder, loc}.zero(
                               graph.accesses[k].op->getResult(0).getType()));
  YieldOp::create(builder, loc, yields);
  finish(local.products);
  for (auto [k, value] :
       llvm::zip(local.accesses, local.products.getYield().getValues())) {
    local.cotangents[k] = value;
    store(local, value, k);
  }
  return success();
}

/// Ops, besides reads and constants, that one cotangent may cost at its use.
static constexpr unsigned maxInlinedOps = 6;

/// Counts what computing a value again would take; false if it holds an op
/// that is not little work.
static bool countOps(Value value, SmallPtrSetImpl<Operation *> &seen,
                     unsigned &count) {
  Operation *op = value.getDefiningOp();
  if (!seen.insert(op).second)
    return true;
  bool isSource = op->getNumOperands() == 0 && op->getNumRegions() == 0 &&
                  isa<ReadOp, ConstantOp, IndexOp, ArgValueOp>(op);
  if (!isSource && !op->hasTrait<OpTrait::Elementwise>() &&
      !isa<FillOp, BroadcastOp, ReshapeOp, CaseOp>(op))
    return false;
  count += !isSource;
  bool cheap = true;
  op->walk([&](Operation *inner) {
    if (inner != op)
      cheap &= isa<ReadOp, ConstantOp, YieldOp>(inner);
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getDefiningOp()))
        cheap = cheap && countOps(operand, seen, count);
  });
  return cheap && count <= maxInlinedOps;
}

static int64_t elements(Value value) { return typeOf(value).getNumElements(); }

/// Decides what has to be stored for `value` to be had at its uses.
void AdjointBuilder::store(Local &local, Value value, unsigned access) {
  if (local.stored.count(value))
    return;
  Operation *op = value.getDefiningOp();
  auto operands = [&] {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getDefiningOp()))
          store(local, operand, access);
    });
  };
  if (!typeOf(value).hasStaticShape())
    return operands(); // No tensor can hold it.
  // A slice is used element by element, which computes it as often.
  bool isSlice = llvm::any_of(graph.accesses[access].indices,
                              [](Attribute k) { return isa<RangeAttr>(k); });
  SmallPtrSet<Operation *, 8> seen;
  unsigned count = isSlice ? maxInlinedOps : 0;
  if (countOps(value, seen, count))
    return;
  if (isa<ReshapeOp, BroadcastOp, FillOp>(op))
    return operands();
  if (auto product = dyn_cast<MatmulOp>(op);
      product &&
      elements(product.getLhs()) + elements(product.getRhs()) < elements(value))
    return operands();
  local.stored[value] = declare(("d." + GradOp(site.grad).getOf() + "." +
                                 local.equation.getTarget(0) + ".of." +
                                 graph.accesses[access].source)
                                    .str(),
                                local.dims, value.getType());
}

/// Leaves what is stored.
void AdjointBuilder::finishLocal(Local &local) {
  if (local.stored.empty()) {
    local.products.erase();
    return;
  }
  MLIRContext *context = module.getContext();
  SmallVector<Value> values;
  SmallVector<Attribute> targets;
  for (auto &[value, name] : local.stored) {
    values.push_back(value);
    targets.push_back(FlatSymbolRefAttr::get(context, name));
  }
  local.products.getYield().getValuesMutable().assign(values);
  local.products.setTargetsAttr(ArrayAttr::get(context, targets));
  local.products.setIndicesAttr(ArrayAttr::get(
      context,
      SmallVector<Attribute>(
          targets.size(), getExprArrayAttr(context, variables(local.dims)))));
  eraseDeadOps(local.products.getBody().front());
}

FailureOr<SmallVector<Value>>
AdjointBuilder::emitProducts(OpBuilder &builder, const Local &local,
                             const Context &context) {
  IRMapping mapping;
  EquationOp equation = local.equation;
  ReduceOverOp reduce = local.reduce;
  Block &block = reduce ? reduce.getBody().front() : equation.getBody().front();
  if (reduce)
    reduce.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!reduce->isProperAncestor(operand.getDefiningOp()))
          cloneSlice(builder, operand, mapping);
    });
  auto seeds = [&] {
    SmallVector<Value> result;
    for (unsigned k = 0; k < equation.getNumTargets(); ++k) {
      result.emplace_back();
      auto found = adjoints.find(equation.getTarget(k));
      if (found == adjoints.end())
        continue;
      const Adjoint &adjoint = found->second;
      SmallVector<Expr> point = equation.getTargetIndices(k);
      Index index = indexOf(adjoint, local.outer, point);
      if (site.hasSeveralLeaves() &&
          llvm::is_contained(site.leaves, adjoint.tensor)) {
        // What defines the leaf itself is not followed.
        Assignment values;
        for (auto [name, value] : llvm::zip(outerNames, local.outer))
          values[name] = value;
        SmallVector<Expr> same;
        for (auto [leaf, position] : llvm::zip(site.leafIndices, point))
          same.push_back(Expr::eq(substitute(leaf, values), position));
        index.guard = Expr::conj({index.guard, Expr::negate(Expr::conj(same))});
      }
      Value cotangent =
          readGuarded(builder, equation.getLoc(),
                      adjoint.isOne ? StringRef() : StringRef(adjoint.name),
                      index, adjoint.type, context);
      if (reduce)
        cotangent = reductionSeed(builder, local, k, cotangent, mapping);
      result.back() = cotangent;
    }
    if (reduce && reduce.getFiltered())
      result.emplace_back();
    return result;
  };
  SmallVector<Operation *> reads;
  for (unsigned k : local.accesses)
    reads.push_back(graph.accesses[k].op);
  return Reverse(builder).run(block, mapping, seeds, reads);
}

/// A number that orders the points of a reduction, as far as i32 goes.
Expr AdjointBuilder::linearIndex(const Local &local) const {
  ReduceOverOp reduce = local.reduce;
  Expr index;
  int64_t stride = 1;
  for (auto binder : llvm::reverse(
           llvm::to_vector(reduce.getBinders().getAsRange<IterAttr>()))) {
    index = index + Expr::var(binder.getName().getValue()) * stride;
    stride *= binder.getHi().getExpr().getConst().value_or(1);
  }
  return index;
}

/// The reduction's body once more, for each point of its equation, reduced in
/// another way: a hidden tensor. `body` makes the value from the one yielded.
std::string
AdjointBuilder::reduceAgain(const Local &local, StringRef what,
                            Reduction reduction, RankedTensorType type,
                            unsigned target,
                            function_ref<Value(OpBuilder &, Value)> body) {
  MLIRContext *context = module.getContext();
  EquationOp equation = local.equation;
  ReduceOverOp reduce = local.reduce;
  SmallVector<Range> dims;
  for (auto iterator : equation.getDomain().getAsRange<IterAttr>())
    dims.push_back({iterator.getName().str(), iterator.getLo().getExpr(),
                    iterator.getHi().getExpr()});
  std::string name =
      declare((equation.getTarget(target) + "." + what).str(), dims, type);
  StringRef target_name = name;
  auto made = EquationOp::create(top, reduce.getLoc(), iterAttrs(context, dims),
                                 equation.getWhen().getExpr(), target_name,
                                 ArrayRef<SmallVector<Expr>>(variables(dims)));
  OpBuilder builder(context);
  builder.setInsertionPointToStart(&made.getBody().front());
  IRMapping mapping;
  reduce.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!reduce->isProperAncestor(operand.getDefiningOp()))
        cloneSlice(builder, operand, mapping);
  });
  auto again = ReduceOverOp::create(builder, reduce.getLoc(), TypeRange(type),
                                    reduction, reduce.getBinders(),
                                    reduce.getWhenAttr(), reduce.getFiltered());
  YieldOp::create(builder, reduce.getLoc(), again.getResults());
  builder.setInsertionPointToStart(&again.getBody().emplaceBlock());
  for (Operation &op : reduce.getBody().front().without_terminator())
    builder.clone(op, mapping);
  ValueRange values = reduce.getYield().getValues();
  SmallVector<Value> yields = {
      body(builder, mapping.lookupOrDefault(values[target]))};
  if (reduce.getFiltered())
    yields.push_back(mapping.lookupOrDefault(values.back()));
  YieldOp::create(builder, reduce.getLoc(), yields);
  finish(made);
  return name;
}

/// The cotangent of what one point of a reduction yields.
Value AdjointBuilder::reductionSeed(OpBuilder &builder, const Local &local,
                                    unsigned target, Value cotangent,
                                    IRMapping &mapping) {
  ReduceOverOp reduce = local.reduce;
  EquationOp equation = local.equation;
  Emit emit{builder, reduce.getLoc()};
  RankedTensorType type = typeOf(cotangent);
  ValueRange values = reduce.getYield().getValues();
  Value value = mapping.lookupOrDefault(values[target]);
  SmallVector<Expr> here;
  for (auto iterator : equation.getDomain().getAsRange<IterAttr>())
    here.push_back(Expr::var(iterator.getName().getValue()));
  auto read = [&](OpBuilder &at, StringRef tensor, ArrayRef<Expr> point,
                  Type type) -> Value {
    SmallVector<Attribute> indices;
    for (const Expr &expr : point)
      indices.push_back(
          AtAttr::get(at.getContext(), ExprAttr::get(at.getContext(), expr)));
    return ReadOp::create(at, reduce.getLoc(), type,
                          FlatSymbolRefAttr::get(at.getContext(), tensor),
                          at.getArrayAttr(indices), ValueRange());
  };

  Reduction reduction = reduce.getReduction();
  if (reduction == Reduction::max || reduction == Reduction::min) {
    Expr order = linearIndex(local);
    RankedTensorType orders = withElement(type, builder.getI32Type());
    std::string first = reduceAgain(
        local, "first", Reduction::min, orders, target,
        [&](OpBuilder &inner, Value each) -> Value {
          Emit emit{inner, reduce.getLoc()};
          Value best = read(inner, equation.getTarget(target),
                            equation.getTargetIndices(target), type);
          return emit.select(emit.compare(Predicate::eq, each, best),
                             emit.index(orders, order),
                             emit.fill(orders, INT32_MAX));
        });
    cotangent =
        emit.masked(emit.compare(Predicate::eq, emit.index(orders, order),
                                 read(builder, first, here, orders)),
                    cotangent);
  } else if (reduction == Reduction::prod) {
    auto isZero = [&](Emit at, Value each) {
      return at.compare(Predicate::eq, each, at.zero(type));
    };
    std::string zeros =
        reduceAgain(local, "zeros", Reduction::sum, type, target,
                    [&](OpBuilder &inner, Value each) -> Value {
                      Emit at{inner, reduce.getLoc()};
                      return at.masked(isZero(at, each), at.fill(type, 1));
                    });
    std::string others = reduceAgain(
        local, "nonzero", Reduction::prod, type, target,
        [&](OpBuilder &inner, Value each) -> Value {
          Emit at{inner, reduce.getLoc()};
          return at.select(isZero(at, each), at.fill(type, 1), each);
        });
    Value count = read(builder, zeros, here, type),
          product = read(builder, others, here, type);
    Value one = emit.fill(type, 1), zero = emit.zero(type);
    Value ofZero =
        emit.masked(emit.compare(Predicate::eq, count, one), product);
    Value ofOther = emit.masked(
        emit.compare(Predicate::eq, count, zero),
        emit.div(product, emit.select(isZero(emit, value), one, value)));
    cotangent = emit.scaled(cotangent,
                            emit.select(isZero(emit, value), ofZero, ofOther));
  }
  if (!reduce.getFiltered())
    return cotangent;
  Value filter = mapping.lookupOrDefault(values.back());
  if (type.getRank() != 0)
    filter = FillOp::create(builder, reduce.getLoc(),
                            withElement(type, builder.getI1Type()), filter);
  return emit.masked(filter, cotangent);
}

//===----------------------------------------------------------------------===//
// Adjoints
//===----------------------------------------------------------------------===//

LogicalResult AdjointBuilder::buildAdjoint(Adjoint &adjoint) {
  StringRef name = adjoint.name;
  auto equation = EquationOp::create(
      top, loc, iterAttrs(module.getContext(), adjoint.dims), adjoint.when,
      name, ArrayRef<SmallVector<Expr>>(variables(adjoint.dims)));
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToStart(&equation.getBody().front());
  Context context(isl, adjoint.dims, adjoint.when);
  Value sum;
  auto add = [&](Value value) {
    sum = sum ? Emit{builder, loc}.add(sum, value) : value;
  };
  if (adjoint.tensor == GradOp(site.grad).getOf()) {
    Index seed;
    SmallVector<Expr> same;
    for (auto [position, at] : llvm::zip(adjoint.point, site.ofIndices))
      same.push_back(Expr::eq(position, at));
    seed.guard = Expr::conj(same);
    add(readGuarded(builder, loc, "", seed, adjoint.type, context));
  }
  for (auto &[equation, local] : locals)
    for (unsigned access : local.accesses)
      if (graph.accesses[access].source == adjoint.tensor) {
        auto value = contribution(builder, adjoint, context, local, access);
        if (failed(value))
          return mlir::failure();
        if (*value)
          add(*value);
      }
  if (!sum)
    sum = Emit{builder, loc}.zero(adjoint.type);
  YieldOp::create(builder, loc, sum);
  finish(equation);
  return success();
}

/// A value of another equation, computed again at the instance that the
/// assignment gives.
Value AdjointBuilder::cloneAt(OpBuilder &builder, Value value,
                              const Assignment &assignment, IRMapping mapping) {
  llvm::SmallVector<std::string> used;
  for (auto &[name, expr] : assignment)
    for (const std::string &variable : expr.variables())
      used.push_back(variable);
  return cloneSlice(builder, value, mapping, [&](Operation *op) {
    // Inner binders give way to names that come in from outside.
    Assignment values = assignment;
    op->walk([&](ReduceOverOp reduce) {
      for (auto binder : reduce.getBinders().getAsRange<IterAttr>()) {
        std::string name = binder.getName().str(), fresh = name;
        while (llvm::is_contained(used, fresh))
          fresh += "'";
        values.erase(name);
        if (fresh != name)
          values[name] = Expr::var(fresh);
      }
    });
    auto replaced = [&](ExprAttr attr) {
      return ExprAttr::get(attr.getContext(),
                           substitute(attr.getExpr(), values));
    };
    AttrTypeReplacer replacer;
    replacer.addReplacement(
        [&](ExprAttr attr) -> Attribute { return replaced(attr); });
    replacer.addReplacement(
        [&](IterAttr attr) -> std::optional<std::pair<Attribute, WalkResult>> {
          Expr name = substitute(Expr::var(attr.getName().getValue()), values);
          return std::pair<Attribute, WalkResult>(
              IterAttr::get(attr.getContext(),
                            StringAttr::get(attr.getContext(), name.name()),
                            replaced(attr.getLo()), replaced(attr.getHi())),
              WalkResult::skip());
        });
    replacer.recursivelyReplaceElementsIn(op, /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
  });
}

/// value[element...], on the leading axes. What is computed elementwise, spread
/// or multiplied out is indexed before, so that one element costs one element.
static Value elementOf(Emit emit, Value value, ArrayRef<Expr> element) {
  if (element.empty())
    return value;
  Operation *op = value.getDefiningOp();
  auto part = [&](Type type) {
    SmallVector<Expr> lengths = getLengths(type);
    return getTensorType(ArrayRef<Expr>(lengths).drop_front(element.size()),
                         cast<RankedTensorType>(type).getElementType());
  };
  if (auto fill = dyn_cast<FillOp>(op)) {
    RankedTensorType type = part(value.getType());
    if (type.getRank() == 0)
      return fill.getValue();
    return FillOp::create(emit.builder, emit.loc, type, fill.getValue());
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    SmallVector<Expr> from = getLengths(broadcast.getOperand().getType()),
                      to = getLengths(value.getType()), inner;
    unsigned added = to.size() - from.size();
    for (unsigned k = added; k < element.size(); ++k)
      inner.push_back(from[k - added] == to[k] ? element[k] : Expr());
    Value rest = elementOf(emit, broadcast.getOperand(), inner);
    return emit.broadcast(rest, getLengths(part(value.getType())));
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op);
      reshape && typeOf(reshape.getOperand()).getRank() == 0)
    return emit.reshape(reshape.getOperand(),
                        getLengths(part(value.getType())));
  if (auto product = dyn_cast<MatmulOp>(op);
      product && element.size() == 1 && typeOf(value).getRank() <= 2 &&
      typeOf(product.getLhs()).getRank() == 2)
    return emit.matmul(elementOf(emit, product.getLhs(), element),
                       product.getRhs());
  if (op->hasTrait<OpTrait::Elementwise>()) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, elementOf(emit, operand, element));
    Operation *clone = emit.builder.clone(*op, mapping);
    clone->getResult(0).setType(part(value.getType()));
    return clone->getResult(0);
  }
  SmallVector<Attribute> indices;
  for (const Expr &expr : element)
    indices.push_back(
        AtAttr::get(emit.builder.getContext(),
                    ExprAttr::get(emit.builder.getContext(), expr)));
  return emit.extract(value, indices);
}

/// The sum of an access's cotangents over all instances that read the
/// adjoint's point; null if there is none.
FailureOr<Value> AdjointBuilder::contribution(OpBuilder &builder,
                                              const Adjoint &adjoint,
                                              const Context &context,
                                              const Local &local,
                                              unsigned ordinal) {
  const Access &access = graph.accesses[ordinal];
  // The instance's dims, as unknowns.
  auto unknown = [](StringRef name) { return ("e." + name).str(); };
  Assignment asUnknown;
  for (const Range &range : local.dims)
    asUnknown[range.name] = Expr::var(unknown(range.name));
  auto ofInstance = [&](const Expr &expr) {
    return substitute(expr, asUnknown);
  };

  SmallVector<Expr> equations, conditions;
  SmallVector<std::string> unknowns;
  SmallVector<std::string> offsets; // along the axes that ranges prepend
  SmallVector<std::pair<Value, Expr>> filters;
  unsigned nextDynamic = 0;
  for (auto [k, index] : llvm::enumerate(access.indices)) {
    const Expr &point = adjoint.point[k];
    if (auto at = dyn_cast<AtAttr>(index)) {
      equations.push_back(ofInstance(at.getIndex().getExpr()) - point);
    } else if (auto range = dyn_cast<RangeAttr>(index)) {
      std::string name = "offset." + std::to_string(k);
      Expr lo = ofInstance(range.getLo().getExpr()),
           hi = ofInstance(range.getHi().getExpr());
      unknowns.push_back(name);
      offsets.push_back(name);
      equations.push_back(lo + Expr::var(name) - point);
      conditions.push_back(Expr::le(lo, point));
      conditions.push_back(Expr::lt(point, hi));
    } else {
      filters.push_back({access.read().getDynamic()[nextDynamic++], point});
    }
  }
  for (auto [value, outer] : llvm::zip(local.outer, outerNames))
    equations.push_back(ofInstance(value) - Expr::var(outer));
  for (const Range &range : local.dims)
    unknowns.push_back(unknown(range.name));
  Assignment solved = solve(equations, unknowns, conditions);

  for (const Expr &condition : access.scope.conditions)
    conditions.push_back(ofInstance(condition));
  conditions.push_back(ofInstance(local.when));
  SmallVector<Range> binders;
  SmallVector<std::string> taken;
  for (const Range &range : adjoint.dims)
    taken.push_back(range.name);
  Assignment names; // of the unknowns that stay
  for (const Range &range : local.dims) {
    Expr variable = Expr::var(unknown(range.name));
    Expr lo = ofInstance(range.lo), hi = ofInstance(range.hi);
    if (solved.count(variable.name().str())) {
      conditions.push_back(Expr::le(lo, variable));
      conditions.push_back(Expr::lt(variable, hi));
      continue;
    }
    std::string name = range.name;
    while (llvm::is_contained(taken, name))
      name += "'";
    taken.push_back(name);
    names[variable.name().str()] = Expr::var(name);
    binders.push_back({name, lo, hi});
  }
  for (auto &[name, value] : solved)
    value = substitute(value, names);
  auto resolve = [&](const Expr &expr) {
    return substitute(substitute(expr, solved), names);
  };
  for (unsigned k = 0; k < binders.size(); ++k) {
    binders[k].lo = resolve(binders[k].lo);
    binders[k].hi = resolve(binders[k].hi);
    for (unsigned j = k; j < binders.size(); ++j)
      if (binders[k].lo.mentions(binders[j].name) ||
          binders[k].hi.mentions(binders[j].name))
        return failure(access.op,
                       "the gradient runs backwards through this read, and its "
                       "dims' ranges depend on each other");
  }
  Expr condition = resolve(Expr::conj(conditions));

  // Where an index expression or a length speaks of the end of a stopped dim,
  // it means the end at the instance's own outer dims, by name.
  Assignment instance;
  for (const Range &range : local.dims)
    instance[range.name] = resolve(Expr::var(unknown(range.name)));
  SmallVector<Expr> mentioned = {condition};
  for (const Range &binder : binders) {
    mentioned.push_back(binder.lo);
    mentioned.push_back(binder.hi);
  }
  for (const Expr &expr : mentioned)
    for (const std::string &name : expr.variables()) {
      if (!StringRef(name).starts_with("end("))
        continue;
      auto dim = dyn_cast_or_null<DimOp>(SymbolTable::lookupSymbolIn(
          module, StringRef(name).drop_front(4).drop_back()));
      auto until = dim && dim.getUntil()
                       ? dyn_cast_or_null<TensorOp>(SymbolTable::lookupSymbolIn(
                             module, *dim.getUntil()))
                       : TensorOp();
      if (!until)
        continue;
      for (Attribute outer : until.getPositions().getValue().drop_back()) {
        auto own = instance.find(cast<StringAttr>(outer).getValue().str());
        if (own != instance.end() && own->second != Expr::var(own->first))
          return failure(access.op,
                         "the gradient runs backwards through this read to "
                         "where `" +
                             name + "` is another number");
      }
    }

  // The cotangent at one instance.
  auto emitValue = [&](OpBuilder &at) -> std::pair<Value, Value> {
    Emit emit{at, access.op->getLoc()};
    IRMapping mapping;
    Index point;
    for (const Range &range : local.dims)
      point.exprs.push_back(instance[range.name]);
    point.guard = Expr::boolean(true);
    for (auto &[value, name] : local.stored)
      mapping.map(value, readGuarded(at, access.op->getLoc(), name, point,
                                     value.getType(), context));
    Value value = cloneAt(at, local.cotangents.at(ordinal), instance, mapping);
    if (!offsets.empty()) {
      SmallVector<Expr> element;
      for (const std::string &offset : offsets)
        element.push_back(resolve(Expr::var(offset)));
      value = elementOf(emit, value, element);
    }
    Value filter;
    for (auto &[index, point] : filters) {
      Value computed = cloneAt(at, index, instance, IRMapping());
      Value expected = emit.cast(emit.index(typeOf(computed), resolve(point)),
                                 typeOf(computed).getElementType());
      Value same = emit.compare(Predicate::eq, computed, expected);
      filter = filter ? emit.both(filter, same) : same;
    }
    return {value, filter};
  };

  Location at = access.op->getLoc();
  if (!binders.empty()) {
    Expr rest = tighten(isl, context, binders, condition);
    if (rest.isFalse())
      return Value();
    auto sum = ReduceOverOp::create(
        builder, at, TypeRange(adjoint.type), Reduction::sum,
        builder.getArrayAttr(llvm::to_vector_of<Attribute>(
            iterAttrs(module.getContext(), binders))),
        ExprAttr::get(module.getContext(), rest), !filters.empty());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&sum.getBody().emplaceBlock());
    auto [value, filter] = emitValue(builder);
    SmallVector<Value> yields = {value};
    if (filter)
      yields.push_back(filter);
    YieldOp::create(builder, at, yields);
    return sum->getResult(0);
  }
  condition = context.simplify(condition);
  if (condition.isFalse())
    return Value();
  auto emitMasked = [&]() -> Value {
    auto [value, filter] = emitValue(builder);
    if (!filter)
      return value;
    if (typeOf(value).getRank() != 0)
      filter = FillOp::create(builder, at,
                              withElement(value.getType(), builder.getI1Type()),
                              filter);
    return Emit{builder, at}.masked(filter, value);
  };
  if (condition.isTrue())
    return emitMasked();
  auto choice = CaseOp::create(builder, at, TypeRange(adjoint.type),
                               ExprAttr::get(module.getContext(), condition));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&choice.getThen().emplaceBlock());
  Value value = emitMasked();
  YieldOp::create(builder, at, value);
  builder.setInsertionPointToStart(&choice.getOtherwise().emplaceBlock());
  Value zero = Emit{builder, at}.zero(adjoint.type);
  YieldOp::create(builder, at, zero);
  return choice->getResult(0);
}
