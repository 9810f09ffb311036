//===- Control.cpp - Choices, reductions, compile-time loops --------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elaborator.h"
#include "Elementwise.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/SaveAndRestore.h"
#include <limits>

using namespace mlir;
using namespace timerl;
using namespace timerl::elaboration;
using ast::BinaryOp;

/// Beyond this an unrolled compile-time loop is a mistake.
static constexpr int64_t maxUnrolled = 4096;

std::string Elaborator::freshName(const std::string &name) {
  auto used = [&](const std::string &candidate) {
    return llvm::any_of(context->iterators,
                        [&](const Iterator &i) { return i.name == candidate; });
  };
  std::string fresh = name;
  for (unsigned k = 1; used(fresh); ++k)
    fresh = name + "_" + std::to_string(k);
  return fresh;
}

//===----------------------------------------------------------------------===//
// if
//===----------------------------------------------------------------------===//

/// The common structure of two branches; weak leaves get their default dtype.
std::optional<Structure> Elaborator::unifyBranches(const Term &a, const Term &b,
                                                   SourceSpan span) {
  if (a.isAggregate() || b.isAggregate()) {
    const Term &shape = a.isAggregate() ? a : b;
    if (a.isAggregate() && b.isAggregate() &&
        (a.kind != b.kind || a.names != b.names ||
         a.elements.size() != b.elements.size())) {
      error("E0304", span,
            "the branches differ in structure: " + structureOf(a).str() +
                " and " + structureOf(b).str());
      return std::nullopt;
    }
    Structure result;
    result.kind = shape.kind == Term::Kind::Record ? Structure::Kind::Record
                                                   : Structure::Kind::Tuple;
    result.names = shape.names;
    for (unsigned k = 0; k < shape.elements.size(); ++k) {
      auto child = unifyBranches(a.isAggregate() ? a.elements[k] : a,
                                 b.isAggregate() ? b.elements[k] : b, span);
      if (!child)
        return std::nullopt;
      result.children.push_back(*child);
    }
    return result;
  }
  for (const Term *side : {&a, &b})
    if (!side->isData()) {
      error("E0204", span, "a branch must be data, not " + side->describe());
      return std::nullopt;
    }
  auto lengths = broadcastLengths(lengthsOf(a), lengthsOf(b), span);
  if (!lengths)
    return std::nullopt;
  Structure leaf;
  Type type = promote({a, b});
  bool bothBool = isBoolValue(a) && isBoolValue(b);
  if (bothBool)
    type = builder.getI1Type();
  else if ((isBoolValue(a) || isBoolValue(b)) && !bothBool) {
    error("E0301", span,
          "one branch is a bool, the other " +
              (isBoolValue(a) ? b : a).describe());
    return std::nullopt;
  }
  if (!type) {
    type = isFloatValue(a) || isFloatValue(b) ? Type(builder.getF32Type())
                                              : builder.getI32Type();
    leaf.weak = true;
  }
  leaf.type = trl::getTensorType(*lengths, type);
  return leaf;
}

/// A value as the leaves of a structure it was unified with.
bool Elaborator::coerce(const Term &value, const Structure &structure,
                        SourceSpan span, SmallVectorImpl<mlir::Value> &leaves) {
  if (structure.kind != Structure::Kind::Leaf) {
    for (unsigned k = 0; k < structure.children.size(); ++k)
      if (!coerce(value.isAggregate() ? value.elements[k] : value,
                  structure.children[k], span, leaves))
        return false;
    return true;
  }
  mlir::Value leaf = materialize(value, structure.type.getElementType(), span);
  leaf = broadcast(leaf, trl::getLengths(structure.type), span);
  leaves.push_back(leaf);
  return leaf != nullptr;
}

Term Elaborator::rebuild(const Structure &structure,
                         ArrayRef<mlir::Value> &leaves) {
  if (structure.kind == Structure::Kind::Leaf) {
    Term leaf = Term::ofLeaf(leaves.front());
    leaves = leaves.drop_front();
    return leaf;
  }
  std::vector<Term> elements;
  for (const Structure &child : structure.children)
    elements.push_back(rebuild(child, leaves));
  return structure.kind == Structure::Kind::Record
             ? Term::record(structure.names, std::move(elements))
             : Term::tuple(std::move(elements));
}

Term Elaborator::evaluateIf(const ast::IfExpr &expr,
                            const EnvironmentPtr &environment) {
  Term condition = evaluate(*expr.condition, environment);
  if (condition.isError())
    return condition;
  if (condition.isConstBool())
    return evaluate(condition.expr.isTrue() ? *expr.then : *expr.otherwise,
                    environment);
  if (condition.kind == Term::Kind::List)
    condition = settleList(condition, expr.condition->span);
  if (condition.isError())
    return condition;
  if (!isBoolValue(condition))
    return fail("E0301", expr.condition->span,
                "the condition of `if` must be a bool, not " +
                    condition.describe());
  bool symbolic = condition.kind == Term::Kind::Cond;
  if (!canEmit())
    return fail("E0215", expr.condition->span,
                "this condition must be known at compile time");

  mlir::Value test;
  if (!symbolic && !(test = materialize(condition, expr.condition->span)))
    return Term::error();
  auto loc = location(expr.span);
  // The op's result types follow from its branches: it is made anew after them.
  auto create = [&](TypeRange types) -> Operation * {
    if (symbolic)
      return trl::CaseOp::create(
          builder, loc, types,
          trl::ExprAttr::get(&mlirContext, condition.expr));
    return trl::IfOp::create(builder, loc, types, test);
  };
  Operation *draft = create({});
  auto branch = [&](unsigned region, const ast::Expr &body) {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&draft->getRegion(region));
    llvm::SaveAndRestore<Expr> when(context->when);
    if (symbolic)
      context->when =
          Expr::conj({context->when,
                      region ? Expr::negate(condition.expr) : condition.expr});
    return evaluate(body, environment);
  };
  // While types are inferred, a branch that depends on what is being inferred
  // has the other one's type.
  TensorInfo *blocked = nullptr;
  auto attempt = [&](unsigned region,
                     const ast::Expr &body) -> std::optional<Term> {
    try {
      return branch(region, body);
    } catch (const Blocked &on) {
      if (blocked)
        throw;
      blocked = on.on;
      taint = std::min(taint, levelOf(*on.on));
      return std::nullopt;
    }
  };
  std::optional<Term> first = attempt(0, *expr.then),
                      second = attempt(1, *expr.otherwise);
  Term then = first ? *first : *second, otherwise = second ? *second : *first;
  auto discard = [&]() -> Term {
    draft->erase();
    return Term::error();
  };
  if (then.isError() || otherwise.isError())
    return discard();
  // Numbers without a dtype stay so: `if a == 1 then 10.0 else -10.0`.
  auto isNumber = [](const Term &v) {
    return v.isWeak() && v.kind != Term::Kind::Cond;
  };
  if (isNumber(then) && isNumber(otherwise) &&
      draft->getRegion(0).front().empty() &&
      draft->getRegion(1).front().empty()) {
    auto lengths =
        broadcastLengths(lengthsOf(then), lengthsOf(otherwise), expr.span);
    draft->erase();
    if (!lengths)
      return Term::error();
    if (test)
      lengths = broadcastLengths(*lengths, lengthsOf(condition), expr.span);
    if (!lengths)
      return Term::error();
    SourceSpan span = expr.span;
    Term kept = symbolic ? condition : Term::ofLeaf(test);
    return Term::weak(
        isFloatValue(then) || isFloatValue(otherwise), *lengths,
        [this, kept, then, otherwise, lengths = *lengths, span,
         symbolic](Type type) -> mlir::Value {
          mlir::Value bit = symbolic ? mlir::Value() : materialize(kept, span);
          auto side = [&](const Term &number, bool holds) {
            llvm::SaveAndRestore<Expr> when(context->when);
            if (symbolic)
              context->when = Expr::conj(
                  {context->when, holds ? kept.expr : Expr::negate(kept.expr)});
            return broadcast(materialize(number, type, span), lengths, span);
          };
          mlir::Value a = side(then, true);
          mlir::Value b = side(otherwise, false);
          if (symbolic)
            bit = materialize(kept, span);
          bit = broadcast(bit, lengths, span);
          if (!a || !b || !bit)
            return {};
          return trl::SelectOp::create(builder, location(span), a.getType(),
                                       bit, a, b);
        });
  }
  auto structure = unifyBranches(then, otherwise, expr.span);
  if (!structure)
    return discard();
  SmallVector<Expr> testLengths;
  if (test)
    testLengths = trl::getLengths(test.getType());
  // An elementwise choice has the condition's shape.
  bool ok = true;
  std::function<void(Structure &)> widen = [&](Structure &node) {
    for (Structure &child : node.children)
      widen(child);
    if (node.kind != Structure::Kind::Leaf || testLengths.empty())
      return;
    auto lengths =
        broadcastLengths(testLengths, trl::getLengths(node.type), expr.span);
    ok &= lengths.has_value();
    if (lengths)
      node.type = trl::getTensorType(*lengths, node.type.getElementType());
  };
  widen(*structure);
  if (!ok)
    return discard();
  SmallVector<Type> types;
  structure->forEachLeaf([&](const std::string &, const Structure &leaf) {
    types.push_back(leaf.type);
  });
  if (types.empty())
    return draft->erase(), then;
  // One condition shape serves all leaves, or each is selected alone.
  bool uniform = llvm::all_of(types, [&](Type type) {
    return trl::getLengths(type) == trl::getLengths(types[0]);
  });
  if (!testLengths.empty() && !uniform) {
    SmallVector<mlir::Value> results, sides[2];
    for (unsigned side = 0; side < 2; ++side) {
      // What the branches computed moves out: both are evaluated anyway.
      Block &block = draft->getRegion(side).front();
      draft->getBlock()->getOperations().splice(draft->getIterator(),
                                                block.getOperations());
    }
    draft->erase();
    if (!coerce(then, *structure, expr.then->span, sides[0]) ||
        !coerce(otherwise, *structure, expr.otherwise->span, sides[1]))
      return Term::error();
    for (unsigned k = 0; k < types.size(); ++k)
      results.push_back(trl::SelectOp::create(
          builder, loc, types[k],
          broadcast(test, trl::getLengths(types[k]), expr.span), sides[0][k],
          sides[1][k]));
    ArrayRef<mlir::Value> rest(results);
    return rebuild(*structure, rest);
  }
  if (!testLengths.empty() && trl::getLengths(types[0]) != testLengths) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(draft);
    test = broadcast(test, trl::getLengths(types[0]), expr.span);
  }
  for (unsigned region = 0; region < 2; ++region) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&draft->getRegion(region).front());
    SmallVector<mlir::Value> leaves;
    llvm::SaveAndRestore<Expr> when(context->when);
    if (symbolic)
      context->when =
          Expr::conj({context->when,
                      region ? Expr::negate(condition.expr) : condition.expr});
    if (!coerce(region ? otherwise : then, *structure,
                region ? expr.otherwise->span : expr.then->span, leaves))
      ok = false;
    else
      trl::YieldOp::create(builder, loc, leaves);
  }
  if (!ok)
    return discard();
  Operation *final = create(types);
  for (unsigned region = 0; region < 2; ++region)
    final->getRegion(region).takeBody(draft->getRegion(region));
  draft->erase();
  SmallVector<mlir::Value> results(final->getResults());
  ArrayRef<mlir::Value> rest(results);
  return rebuild(*structure, rest);
}

//===----------------------------------------------------------------------===//
// Reductions over binders
//===----------------------------------------------------------------------===//

std::optional<std::vector<Term>>
Elaborator::binderElements(const ast::Binder &binder,
                           const EnvironmentPtr &environment) {
  if (binder.elements) {
    Term sequence = evaluate(*binder.elements, environment);
    if (sequence.isError())
      return std::nullopt;
    if (!sequence.isAggregate() && sequence.kind != Term::Kind::List) {
      error("E0204", binder.span,
            "`" + binder.name +
                " in ...` needs a range, a tuple or a record, not " +
                sequence.describe());
      return std::nullopt;
    }
    return sequence.elements;
  }
  std::optional<Expr> lo, hi;
  if (binder.lo) {
    lo = evaluateIndex(*binder.lo, environment, "the end of a range");
    hi = evaluateIndex(*binder.hi, environment, "the end of a range");
  } else {
    error("E0217", binder.span,
          "a compile-time loop needs a range: `" + binder.name + " in 0:n`");
  }
  if (!lo || !hi)
    return std::nullopt;
  if (!lo->isConst() || !hi->isConst()) {
    error("E0215", binder.span, "this range must be known at compile time");
    return std::nullopt;
  }
  if (hi->value() - lo->value() > maxUnrolled) {
    error(
        "E0503", binder.span,
        "a compile-time loop of " + std::to_string(hi->value() - lo->value()) +
            " turns is too long (at most " + std::to_string(maxUnrolled) + ")")
        .suggest("make it a dim");
    return std::nullopt;
  }
  std::vector<Term> elements;
  for (int64_t k = lo->value(); k < hi->value(); ++k)
    elements.push_back(Term::integer(k));
  return elements;
}

Term Elaborator::reduceUnrolled(const ast::ReduceExpr &expr,
                                const EnvironmentPtr &environment,
                                ArrayRef<Term> elements) {
  StringRef kind = expr.reduction;
  Term total;
  bool first = true;
  int64_t count = 0;
  for (const Term &element : elements) {
    EnvironmentPtr inner = Environment::inner(environment);
    inner->define(expr.binders[0].name, element);
    compileTimeIndices.push_back(std::to_string(count++));
    Term value = evaluate(*expr.body, inner);
    compileTimeIndices.pop_back();
    if (value.isError())
      return value;
    if (first)
      total = value;
    else if (kind == "sum" || kind == "mean")
      total = binary(BinaryOp::Add, total, value, expr.span);
    else if (kind == "prod")
      total = binary(BinaryOp::Mul, total, value, expr.span);
    else if (kind == "any" || kind == "all")
      total = binary(kind == "any" ? BinaryOp::Or : BinaryOp::And, total, value,
                     expr.span);
    else if (kind == "max" || kind == "min")
      total = callBuiltin(
          kind, {{"", expr.span, total}, {"", expr.span, value}}, expr.span);
    else
      return fail("E0504", expr.nameSpan,
                  "`" + kind.str() +
                      "` over compile-time elements is not supported yet");
    first = false;
    if (total.isError())
      return total;
  }
  if (first) {
    if (kind == "any" || kind == "all")
      return Term::condition(Expr::boolean(kind == "all"));
    if (kind == "max" || kind == "min")
      return Term::real(kind == "max"
                            ? -std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::infinity());
    return Term::integer(kind == "prod" ? 1 : 0);
  }
  if (kind == "mean")
    return binary(BinaryOp::Div, total, Term::integer(count), expr.span);
  return total;
}

static std::optional<trl::Reduction> reductionOf(StringRef name) {
  if (name == "mean")
    return trl::Reduction::sum;
  return trl::symbolizeReduction(name);
}

/// Does anything inside mention this binder?
static bool mentions(Operation *op, StringRef name) {
  bool found = false;
  AttrTypeWalker walker;
  walker.addWalk(
      [&](trl::ExprAttr attr) { found |= attr.getExpr().mentions(name); });
  op->walk([&](Operation *inner) {
    if (inner != op) {
      walker.walk(inner->getAttrDictionary());
      for (NamedAttribute attr : inner->getDiscardableAttrs())
        walker.walk(attr.getValue());
      for (Type type : inner->getResultTypes())
        walker.walk(type);
    }
  });
  return found;
}

Term Elaborator::evaluateReduce(const ast::ReduceExpr &expr,
                                const EnvironmentPtr &outer) {
  bool compileTime =
      !canEmit() || llvm::any_of(expr.binders, [](const ast::Binder &b) {
        return b.elements != nullptr;
      });
  if (compileTime) {
    if (expr.binders.size() != 1 || expr.filter)
      return fail("E0504", expr.span,
                  "a compile-time reduction takes one binder and no filter");
    auto elements = binderElements(expr.binders[0], outer);
    return elements ? reduceUnrolled(expr, outer, *elements) : Term::error();
  }
  auto kind = reductionOf(expr.reduction);
  if (!kind)
    return fail("E0201", expr.nameSpan,
                "unknown reduction `" + expr.reduction + "`");

  EnvironmentPtr environment = Environment::inner(outer);
  llvm::SaveAndRestore<std::vector<Iterator>> iterators(context->iterators);
  llvm::SaveAndRestore<Expr> savedWhen(context->when);
  SmallVector<Attribute> binders;
  std::vector<Iterator> added;
  for (const ast::Binder &binder : expr.binders) {
    if (const Term *bound = outer->find(binder.name);
        bound && bound->kind == Term::Kind::Int &&
        bound->expr == Expr::var(binder.name)) {
      error("E0210", binder.span,
            "`" + binder.name + "` is already an index here")
          .suggest("bind `" + binder.name + "'`, which ranges like it");
      return Term::error();
    }
    if (llvm::any_of(added,
                     [&](const Iterator &i) { return i.name == binder.name; }))
      return fail("E0210", binder.span, "`" + binder.name + "` is bound twice");
    Iterator iterator;
    if (binder.lo) {
      auto lo = evaluateIndex(*binder.lo, environment, "the end of a range");
      auto hi = evaluateIndex(*binder.hi, environment, "the end of a range");
      if (!lo || !hi)
        return Term::error();
      iterator.lo = *lo;
      iterator.hi = *hi;
    } else {
      StringRef base = StringRef(binder.name).rtrim('\'');
      const Term *dim = outer->findDim(base);
      if (!dim) {
        timerl::Diagnostic &diagnostic =
            error("E0201", binder.span, "unknown dim `" + base.str() + "`");
        std::vector<std::string> names = visibleNames(*outer);
        StringRef nearest = nearestName(base, names);
        if (!nearest.empty())
          diagnostic.suggest("did you mean `" + nearest.str() + "`?");
        return Term::error();
      }
      iterator.hi = dim->expr;
    }
    iterator.name = freshName(binder.name);
    context->iterators.push_back(iterator);
    added.push_back(iterator);
    environment->define(binder.name, Term::integer(Expr::var(iterator.name)));
    binders.push_back(
        trl::IterAttr::get(&mlirContext, builder.getStringAttr(iterator.name),
                           trl::ExprAttr::get(&mlirContext, iterator.lo),
                           trl::ExprAttr::get(&mlirContext, iterator.hi)));
  }
  auto loc = location(expr.span);
  auto create = [&](TypeRange types, const Expr &when, bool filtered) {
    return trl::ReduceOverOp::create(
        builder, loc, types, *kind, builder.getArrayAttr(binders),
        trl::ExprAttr::get(&mlirContext, when), filtered);
  };
  trl::ReduceOverOp draft = create({}, Expr::boolean(true), false);
  mlir::Value filter;
  Expr when = Expr::boolean(true);
  Term body;
  SmallVector<mlir::Value> leaves;
  Structure structure;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&draft.getBody());
    bool ok = true;
    if (expr.filter) {
      Term condition = evaluate(*expr.filter, environment);
      if (condition.kind == Term::Kind::Cond) {
        when = condition.expr;
        context->when = Expr::conj({context->when, when});
        draft.setWhenAttr(trl::ExprAttr::get(&mlirContext, when));
      } else if (isBoolValue(condition) && lengthsOf(condition).empty()) {
        filter = materialize(condition, expr.filter->span);
      } else if (!condition.isError()) {
        error("E0301", expr.filter->span,
              "a filter must be a scalar bool, not " + condition.describe());
      }
      ok = condition.kind == Term::Kind::Cond || filter;
    }
    if (ok)
      body = evaluate(*expr.body, environment);
    if (!body.isError()) {
      body = prepareReduction(expr.reduction, body, expr.body->span);
      if (!body.isError()) {
        structure = structureOf(body);
        if (!coerce(body, structure, expr.body->span, leaves))
          body = Term::error();
      }
    }
    if (body.isError()) {
      builder.setInsertionPointAfter(draft);
      draft.erase();
      return Term::error();
    }
    SmallVector<mlir::Value> yields(leaves);
    if (filter)
      yields.push_back(filter);
    trl::YieldOp::create(builder, loc, yields);
  }
  SmallVector<Type> types;
  for (mlir::Value leaf : leaves)
    types.push_back(*kind == trl::Reduction::argmax
                        ? Type(RankedTensorType::get({}, builder.getI32Type()))
                        : leaf.getType());
  trl::ReduceOverOp reduce = create(types, when, filter != nullptr);
  reduce.getBody().takeBody(draft.getBody());
  draft.erase();
  for (unsigned k = 0; k < added.size(); ++k) {
    auto mentioned = [&](StringRef name) {
      return mentions(reduce, name) || when.mentions(name) ||
             llvm::any_of(added, [&](const Iterator &other) {
               return other.lo.mentions(name) || other.hi.mentions(name);
             });
    };
    bool used = mentioned(added[k].name);
    // The end of a dim that stops stands for the indices that it depends on.
    for (DimInfo *dim : allDims)
      used |= dim->stop &&
              llvm::is_contained(ArrayRef(dim->stop->positions).drop_back(),
                                 added[k].name) &&
              mentioned(dim->hi().name());
    // While types are inferred, values stand for reads that do not exist yet.
    if (!used && !scratchDepth)
      return fail("E0211", expr.binders[k].span,
                  "binder `" + expr.binders[k].name + "` is not used");
  }
  SmallVector<mlir::Value> results(reduce.getResults());
  if (*kind == trl::Reduction::argmax &&
      (results.size() != 1 || added.size() != 1 ||
       cast<RankedTensorType>(leaves[0].getType()).getRank() != 0))
    return fail("E0204", expr.nameSpan,
                "`argmax` takes one binder and a scalar body");
  if (expr.reduction == "mean") {
    for (mlir::Value &result : results) {
      Type type = cast<RankedTensorType>(result.getType()).getElementType();
      mlir::Value count = reductionCount(added, when, filter ? reduce : nullptr,
                                         type, expr.span);
      count = broadcast(count, trl::getLengths(result.getType()), expr.span);
      result =
          trl::DivOp::create(builder, loc, result.getType(), result, count);
    }
  }
  if (*kind == trl::Reduction::argmax)
    return Term::ofLeaf(results[0]);
  ArrayRef<mlir::Value> rest(results);
  return rebuild(structure, rest);
}

/// The dtype a reduction works in: sums count bools, means are float.
Term Elaborator::prepareReduction(StringRef reduction, const Term &body,
                                  SourceSpan span) {
  return mapLeaves({body}, span, [&](ArrayRef<Term> leaves) -> Term {
    Term leaf = leaves[0];
    if (leaf.kind == Term::Kind::List)
      leaf = settleList(leaf, span);
    if (leaf.isError())
      return leaf;
    if (!leaf.isData())
      return fail("E0204", span,
                  "`" + reduction.str() + "` needs numbers or tensors, not " +
                      leaf.describe());
    bool isBool = isBoolValue(leaf);
    Type type = elementTypeOf(leaf);
    if (reduction == "any" || reduction == "all") {
      if (!isBool)
        return fail("E0301", span,
                    "`" + reduction.str() + "` needs bools, not " +
                        leaf.describe());
    } else if (reduction == "mean") {
      if (!type || !isa<FloatType>(type))
        type = builder.getF32Type();
    } else if (isBool) {
      if (reduction != "sum" && reduction != "prod")
        return fail("E0301", span,
                    "`" + reduction.str() + "` needs numbers, not " +
                        leaf.describe());
      type = builder.getI32Type();
    }
    if (!type)
      type = isFloatValue(leaf) ? Type(builder.getF32Type())
                                : builder.getI32Type();
    mlir::Value result = materialize(leaf, type, span);
    return result ? Term::ofLeaf(result) : Term::error();
  });
}

/// How many terms a reduction has, at least 1, as a scalar of `type`.
mlir::Value Elaborator::reductionCount(ArrayRef<Iterator> binders,
                                       const Expr &when,
                                       trl::ReduceOverOp filtered, Type type,
                                       SourceSpan span) {
  auto loc = location(span);
  Expr product = Expr::constant(1);
  bool simple = !filtered && when.isTrue();
  for (const Iterator &binder : binders) {
    for (const Iterator &other : binders)
      simple &=
          !binder.lo.mentions(other.name) && !binder.hi.mentions(other.name);
    // `end(t)` is another number at each point of t's outer dims.
    for (DimInfo *dim : allDims)
      if (dim->stop && binder.hi.mentions(dim->hi().name()))
        for (const Iterator &other : binders)
          simple &= !llvm::is_contained(dim->stop->positions, other.name) ||
                    other.name == dim->stop->positions.back();
    auto next = Expr::mul(product, binder.hi - binder.lo);
    simple &= next.has_value();
    if (next)
      product = *next;
  }
  if (simple)
    return materialize(Term::integer(Expr::max({product, Expr::constant(1)})),
                       type, span);
  // Counts with the same binders and filter, in integers: exact.
  Type integer = RankedTensorType::get({}, builder.getI32Type());
  SmallVector<Attribute> attrs;
  for (const Iterator &binder : binders)
    attrs.push_back(
        trl::IterAttr::get(&mlirContext, builder.getStringAttr(binder.name),
                           trl::ExprAttr::get(&mlirContext, binder.lo),
                           trl::ExprAttr::get(&mlirContext, binder.hi)));
  auto count = trl::ReduceOverOp::create(
      builder, loc, integer, trl::Reduction::sum, builder.getArrayAttr(attrs),
      trl::ExprAttr::get(&mlirContext, when), filtered != nullptr);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&count.getBody());
    SmallVector<mlir::Value> yields;
    IRMapping mapping;
    if (filtered)
      for (Operation &op : filtered.getBody().front().without_terminator())
        builder.clone(op, mapping);
    yields.push_back(constant(builder.getI32Type(), int64_t(1), span));
    if (filtered)
      yields.push_back(
          mapping.lookupOrDefault(filtered.getYield().getValues().back()));
    trl::YieldOp::create(builder, loc, yields);
  }
  mlir::Value one = constant(builder.getI32Type(), int64_t(1), span);
  mlir::Value atLeastOne =
      trl::MaxOp::create(builder, loc, integer, count.getResult(0), one);
  return castTo(atLeastOne, type, span);
}

//===----------------------------------------------------------------------===//
// Reductions over axes
//===----------------------------------------------------------------------===//

Term Elaborator::reduceAxes(StringRef reduction, const Term &operandIn,
                            const Term *axis, SourceSpan span) {
  Term operand = prepareReduction(reduction, operandIn, span);
  return mapLeaves({operand}, span, [&](ArrayRef<Term> leaves) -> Term {
    mlir::Value leaf = materialize(leaves[0], span);
    if (!leaf)
      return Term::error();
    SmallVector<Expr> from = trl::getLengths(leaf.getType());
    int64_t rank = from.size();
    SmallVector<int64_t> axes;
    if (axis) {
      std::vector<Term> list =
          axis->kind == Term::Kind::List || axis->kind == Term::Kind::Tuple
              ? axis->elements
              : std::vector<Term>{*axis};
      for (const Term &one : list) {
        if (!one.isConstInt())
          return fail("E0204", span, "`axis` must be a compile-time integer");
        int64_t k =
            one.expr.value() < 0 ? one.expr.value() + rank : one.expr.value();
        if (k < 0 || k >= rank)
          return fail("E0305", span,
                      "axis " + one.expr.str() +
                          " is outside a value of rank " +
                          std::to_string(rank));
        axes.push_back(k);
      }
      llvm::sort(axes);
      if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
        return fail("E0305", span, "an axis is named twice");
    } else {
      for (int64_t k = 0; k < rank; ++k)
        axes.push_back(k);
    }
    auto kind = *reductionOf(reduction);
    auto loc = location(span);
    Type element = cast<RankedTensorType>(leaf.getType()).getElementType();
    if (kind == trl::Reduction::argmax) {
      if (rank == 0)
        return fail("E0302", span, "`argmax` needs an axis");
      if (axes.size() != 1) {
        if (axis || !cast<RankedTensorType>(leaf.getType()).hasStaticShape())
          return fail("E0504", span,
                      "`argmax` over several axes of dynamic length is not "
                      "supported yet");
        // Over all axes: the index into the flattened value, as NumPy.
        auto flat = RankedTensorType::get(
            {cast<RankedTensorType>(leaf.getType()).getNumElements()}, element);
        leaf = trl::ReshapeOp::create(builder, loc, flat, leaf);
        from = trl::getLengths(flat);
        axes = {0};
      }
      element = builder.getI32Type();
    }
    if (axes.empty())
      return Term::ofLeaf(leaf);
    SmallVector<Expr> kept;
    Expr count = Expr::constant(1);
    bool affine = true;
    for (unsigned k = 0; k < from.size(); ++k) {
      if (!llvm::is_contained(axes, k)) {
        kept.push_back(from[k]);
        continue;
      }
      auto product = Expr::mul(count, from[k]);
      affine &= product.has_value();
      if (product)
        count = *product;
    }
    mlir::Value result = trl::ReduceOp::create(
        builder, loc, trl::getTensorType(kept, element), kind, leaf, axes);
    if (reduction == "mean") {
      if (!affine)
        return fail("E0504", span,
                    "the mean over several axes of dynamic length is not "
                    "supported yet");
      mlir::Value divisor = materialize(
          Term::integer(Expr::max({count, Expr::constant(1)})), element, span);
      divisor = broadcast(divisor, kept, span);
      if (!divisor)
        return Term::error();
      result =
          trl::DivOp::create(builder, loc, result.getType(), result, divisor);
    }
    return Term::ofLeaf(result);
  });
}

//===----------------------------------------------------------------------===//
// Compile-time loops
//===----------------------------------------------------------------------===//

Term Elaborator::evaluateFold(const ast::FoldExpr &expr,
                              const EnvironmentPtr &environment) {
  auto elements = binderElements(expr.binder, environment);
  Term accumulator = evaluate(*expr.init, environment);
  if (!elements)
    return Term::error();
  unsigned turn = 0;
  for (const Term &element : *elements) {
    if (accumulator.isError())
      return accumulator;
    EnvironmentPtr inner = Environment::inner(environment);
    inner->define(expr.binder.name, element);
    inner->define(expr.accumulator, accumulator);
    compileTimeIndices.push_back(std::to_string(turn++));
    accumulator = evaluate(*expr.body, inner);
    compileTimeIndices.pop_back();
  }
  return accumulator;
}

Term Elaborator::evaluateBuild(const ast::BuildExpr &expr,
                               const EnvironmentPtr &environment) {
  auto elements = binderElements(expr.binder, environment);
  if (!elements)
    return Term::error();
  std::vector<Term> results;
  for (const Term &element : *elements) {
    EnvironmentPtr inner = Environment::inner(environment);
    inner->define(expr.binder.name, element);
    compileTimeIndices.push_back(std::to_string(results.size()));
    results.push_back(evaluate(*expr.body, inner));
    compileTimeIndices.pop_back();
    if (results.back().isError())
      return Term::error();
  }
  return Term::tuple(std::move(results));
}
