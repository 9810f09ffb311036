//===- Builtins.cpp - Functions known to the compiler
//----------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Builtins.h"
#include "Elaborator.h"
#include "Elementwise.h"
#include <cmath>

using namespace mlir;
using namespace timerl;
using namespace timerl::elaboration;
using ast::BinaryOp;

namespace timerl::elaboration {

/// The builtins as members of one friend, so that the table below can name
/// them.
struct Builtins {
  using Argument = Elaborator::CallArgument;
  using Arguments = ArrayRef<Argument>;
  using Function = Term (*)(Elaborator &, Arguments, SourceSpan);

  /// Parameters by name, as in the table: `x, axis?`; a `?` marks optional
  /// ones.
  struct Entry {
    StringRef name;
    StringRef parameters;
    Function call;
  };

  static const Term *optional(Arguments arguments, unsigned k) {
    return arguments[k].value.isError() ? nullptr : &arguments[k].value;
  }

  /// A scalar function of floats, folded at compile time.
  template <typename Op, double (*fold)(double)>
  static Term floatFunction(Elaborator &e, Arguments a, SourceSpan span) {
    return e.mapLeaves({a[0].value}, span, [&](ArrayRef<Term> leaves) -> Term {
      if (leaves[0].kind == Term::Kind::Float)
        return Term::real(fold(leaves[0].number));
      if (leaves[0].isConstInt())
        return Term::real(fold(static_cast<double>(leaves[0].expr.value())));
      return e.elementwise<Op>({leaves[0]}, true, span);
    });
  }

  static Term abs(Elaborator &e, Arguments a, SourceSpan span) {
    return e.mapLeaves({a[0].value}, span, [&](ArrayRef<Term> leaves) -> Term {
      if (leaves[0].kind == Term::Kind::Float)
        return Term::real(std::fabs(leaves[0].number));
      if (leaves[0].kind == Term::Kind::Int)
        return Term::integer(Expr::max({leaves[0].expr, -leaves[0].expr}));
      if (e.isBoolValue(leaves[0]))
        return e.fail("E0301", span,
                      "`abs` needs numbers, not " + leaves[0].describe());
      return e.elementwise<trl::AbsOp>({leaves[0]}, false, span);
    });
  }

  template <typename Op, double (*fold)(double)>
  static Term rounding(Elaborator &e, Arguments a, SourceSpan span) {
    return e.mapLeaves({a[0].value}, span, [&](ArrayRef<Term> leaves) -> Term {
      if (!leaves[0].isData())
        return e.fail("E0204", span,
                      "expected a number or tensor, found " +
                          leaves[0].describe());
      if (leaves[0].kind == Term::Kind::Float)
        return Term::real(fold(leaves[0].number));
      return e.isFloatValue(leaves[0])
                 ? e.elementwise<Op>({leaves[0]}, false, span)
                 : leaves[0];
    });
  }

  /// 0 where x <= 0, so that its derivative at 0 is 0 and NaN stays NaN.
  static Term relu(Elaborator &e, Arguments a, SourceSpan span) {
    return e.mapLeaves({a[0].value}, span, [&](ArrayRef<Term> leaves) -> Term {
      mlir::Value x = e.materialize(leaves[0], span);
      if (!x)
        return Term::error();
      Term leaf = Term::ofLeaf(x);
      Term test = e.binary(BinaryOp::Le, leaf, Term::integer(0), span);
      if (test.isError())
        return test;
      Type type = cast<RankedTensorType>(x.getType()).getElementType();
      mlir::Value zero = e.broadcast(e.constant(type, int64_t(0), span),
                                     trl::getLengths(x.getType()), span);
      return Term::ofLeaf(trl::SelectOp::create(
          e.builder, e.location(span), x.getType(), test.leaf, zero, x));
    });
  }

  template <bool isMax>
  static Term minMax(Elaborator &e, Arguments a, SourceSpan span) {
    bool oneArgument = true;
    const Term *axis = nullptr;
    std::vector<Term> operands;
    for (const Argument &argument : a) {
      if (argument.name == "axis")
        axis = &argument.value;
      else if (!argument.name.empty())
        return e.fail("E0212", argument.span,
                      "`" + std::string(isMax ? "max" : "min") +
                          "` has no parameter `" + argument.name + "`");
      else
        operands.push_back(argument.value);
    }
    oneArgument = operands.size() == 1;
    if (operands.empty())
      return e.fail("E0212", span,
                    "`" + std::string(isMax ? "max" : "min") +
                        "` needs an argument");
    if (oneArgument)
      return e.reduceAxes(isMax ? "max" : "min", operands[0], axis, span);
    if (axis)
      return e.fail("E0212", span, "`axis` goes with one argument");
    Term result = operands[0];
    for (unsigned k = 1; k < operands.size(); ++k)
      result = e.mapLeaves(
          {result, operands[k]}, span, [&](ArrayRef<Term> leaves) -> Term {
            const Term &x = leaves[0], &y = leaves[1];
            if (x.kind == Term::Kind::Int && y.kind == Term::Kind::Int)
              return Term::integer(isMax ? Expr::max({x.expr, y.expr})
                                         : Expr::min({x.expr, y.expr}));
            if (x.isConst() && y.isConst() && x.kind != Term::Kind::Cond &&
                y.kind != Term::Kind::Cond) {
              double p =
                  x.kind == Term::Kind::Int ? double(x.expr.value()) : x.number;
              double q =
                  y.kind == Term::Kind::Int ? double(y.expr.value()) : y.number;
              return Term::real(isMax ? std::max(p, q) : std::min(p, q));
            }
            if (e.isBoolValue(x) || e.isBoolValue(y))
              return e.fail(
                  "E0301", span,
                  "`max` and `min` need numbers; for bools use `or` and `and`");
            return isMax ? e.elementwise<trl::MaxOp>({x, y}, false, span)
                         : e.elementwise<trl::MinOp>({x, y}, false, span);
          });
    return result;
  }

  static Term clip(Elaborator &e, Arguments a, SourceSpan span) {
    return e.mapLeaves(
        {a[0].value, a[1].value, a[2].value}, span,
        [&](ArrayRef<Term> v) -> Term {
          if (v[0].kind == Term::Kind::Int && v[1].kind == Term::Kind::Int &&
              v[2].kind == Term::Kind::Int)
            return Term::integer(
                Expr::min({Expr::max({v[0].expr, v[1].expr}), v[2].expr}));
          return e.elementwise<trl::ClipOp>({v[0], v[1], v[2]}, false, span);
        });
  }

  /// sum, mean, prod, any, all, argmax over axes.
  template <const char *name>
  static Term reduction(Elaborator &e, Arguments a, SourceSpan span) {
    return e.reduceAxes(name, a[0].value, optional(a, 1), span);
  }

  static Term castLeaf(Elaborator &e, const Term &value, Type type,
                       SourceSpan span) {
    if (!value.isData())
      return e.fail("E0204", span,
                    "only numbers and tensors have a dtype, not " +
                        value.describe());
    if (!e.canEmit()) {
      // At compile time a number stays one.
      if (isa<FloatType>(type))
        return value.kind == Term::Kind::Int && value.expr.isConst()
                   ? Term::real(double(value.expr.value()))
                   : value;
      if (value.kind == Term::Kind::Float)
        return Term::integer(static_cast<int64_t>(std::trunc(value.number)));
      return value;
    }
    // A weak float becomes an integer by rounding toward zero, from f64.
    Type own = e.elementTypeOf(value);
    mlir::Value leaf;
    if (!own && e.isFloatValue(value) && !isa<FloatType>(type))
      leaf = e.materialize(value, e.builder.getF64Type(), span);
    else if (value.kind == Term::Kind::Int && !value.expr.isConst() &&
             !isa<FloatType>(type)) // An index may leave the dtype's range.
      leaf = e.materialize(value, e.builder.getI64Type(), span);
    else
      leaf =
          own ? e.materialize(value, span) : e.materialize(value, type, span);
    leaf = e.castTo(leaf, type, span);
    return leaf ? Term::ofLeaf(leaf) : Term::error();
  }

  template <int dtype>
  static Term cast_(Elaborator &e, Arguments a, SourceSpan span) {
    Type type =
        dtype == 0   ? Type(e.builder.getF32Type())
        : dtype == 1 ? Type(e.builder.getF64Type())
        : dtype == 2 ? Type(e.builder.getI32Type())
        : dtype == 3 ? Type(e.builder.getI64Type())
        : dtype == 4
            ? Type(IntegerType::get(&e.mlirContext, 8, IntegerType::Unsigned))
            : Type(e.builder.getI1Type());
    return e.mapLeaves({a[0].value}, span, [&](ArrayRef<Term> v) {
      return castLeaf(e, v[0], type, span);
    });
  }

  static Term unsupportedDtype(Elaborator &e, Arguments, SourceSpan span) {
    return e.fail("E0505", span, "f16 and bf16 are not supported yet");
  }

  //===--- Shapes ---------------------------------------------------------===//

  template <int number>
  static Term filled(Elaborator &e, Arguments a, SourceSpan span) {
    return e.filled(a[0].value, number, span);
  }

  static Term len(Elaborator &e, Arguments a, SourceSpan span) {
    const Term &x = a[0].value;
    if (x.isAggregate() || x.kind == Term::Kind::List)
      return Term::integer(x.elements.size());
    std::vector<Expr> lengths = e.lengthsOf(x);
    if (lengths.empty())
      return e.fail("E0302", span,
                    "`len` needs a tuple or a value with an axis, not " +
                        x.describe());
    return Term::integer(lengths[0]);
  }

  static Term shape(Elaborator &e, Arguments a, SourceSpan span) {
    if (!a[0].value.isData())
      return e.fail("E0204", span,
                    "`shape` needs a number or tensor, not " +
                        a[0].value.describe());
    std::vector<Term> lengths;
    for (const Expr &length : e.lengthsOf(a[0].value))
      lengths.push_back(Term::integer(length));
    Term list = Term::tuple(std::move(lengths));
    list.kind = Term::Kind::List;
    return list;
  }

  static void collectLeaves(const Term &value, std::vector<Term> &leaves) {
    if (!value.isAggregate())
      return leaves.push_back(value);
    for (const Term &element : value.elements)
      collectLeaves(element, leaves);
  }
  static Term leaves(Elaborator &, Arguments a, SourceSpan) {
    std::vector<Term> list;
    collectLeaves(a[0].value, list);
    return Term::tuple(std::move(list));
  }

  static Term reshape(Elaborator &e, Arguments a, SourceSpan span) {
    auto shape = e.shapeArgument(a[1].value, a[1].span);
    mlir::Value x = e.materialize(a[0].value, a[0].span);
    if (!shape || !x)
      return Term::error();
    // One length may be -1, as in NumPy.
    Expr have = Expr::constant(1), want = Expr::constant(1);
    std::optional<unsigned> open;
    bool known = true;
    for (const Expr &length : trl::getLengths(x.getType()))
      if (auto product = Expr::mul(have, length))
        have = *product;
      else
        known = false;
    for (unsigned k = 0; k < shape->size(); ++k) {
      if ((*shape)[k] == Expr::constant(-1)) {
        if (open)
          return e.fail("E0302", a[1].span, "only one length may be -1");
        open = k;
      } else if (auto product = Expr::mul(want, (*shape)[k])) {
        want = *product;
      } else {
        known = false;
      }
    }
    if (!known)
      return e.fail(
          "E0504", span,
          "`reshape` of several axes of dynamic length is not supported yet");
    if (open) {
      if (!have.isConst() || !want.isConst() || want.value() <= 0 ||
          have.value() % want.value())
        return e.fail("E0302", span,
                      "no length fits: " + have.str() + " elements, " +
                          want.str() + " in the other axes");
      (*shape)[*open] = Expr::constant(have.value() / want.value());
    } else if (have != want) {
      return e.fail("E0302", span,
                    "`reshape` from " + have.str() + " elements to " +
                        want.str());
    }
    auto type = trl::getTensorType(
        *shape, cast<RankedTensorType>(x.getType()).getElementType());
    return Term::ofLeaf(
        trl::ReshapeOp::create(e.builder, e.location(span), type, x));
  }

  static Term transpose(Elaborator &e, Arguments a, SourceSpan span) {
    mlir::Value x = e.materialize(a[0].value, a[0].span);
    if (!x)
      return Term::error();
    SmallVector<Expr> from = trl::getLengths(x.getType()), to;
    SmallVector<int64_t> permutation;
    if (const Term *order = optional(a, 1)) {
      for (const Term &axis : order->elements) {
        if (!axis.isConstInt())
          return e.fail("E0204", a[1].span,
                        "an order of axes is a list of compile-time integers");
        permutation.push_back(axis.expr.value());
      }
      if (permutation.size() != from.size() || !isPermutation(permutation))
        return e.fail("E0302", a[1].span,
                      "expected an order of " + std::to_string(from.size()) +
                          " axes");
    } else {
      for (unsigned k = from.size(); k-- > 0;)
        permutation.push_back(k);
    }
    for (int64_t axis : permutation)
      to.push_back(from[axis]);
    auto type = trl::getTensorType(
        to, cast<RankedTensorType>(x.getType()).getElementType());
    return Term::ofLeaf(trl::TransposeOp::create(e.builder, e.location(span),
                                                 type, x, permutation));
  }
  static bool isPermutation(ArrayRef<int64_t> order) {
    std::vector<bool> seen(order.size());
    for (int64_t k : order) {
      if (k < 0 || k >= static_cast<int64_t>(order.size()) || seen[k])
        return false;
      seen[k] = true;
    }
    return true;
  }

  /// A compile-time axis argument, 0 when absent.
  static std::optional<int64_t> axisOf(Elaborator &e, const Term *axis,
                                       int64_t rank, SourceSpan span) {
    if (!axis)
      return 0;
    if (!axis->isConstInt()) {
      e.error("E0204", span, "`axis` must be a compile-time integer");
      return std::nullopt;
    }
    int64_t k =
        axis->expr.value() < 0 ? axis->expr.value() + rank : axis->expr.value();
    if (k < 0 || k >= rank) {
      e.error("E0305", span,
              "axis " + axis->expr.str() + " is outside a value of rank " +
                  std::to_string(rank));
      return std::nullopt;
    }
    return k;
  }

  static Term concat(Elaborator &e, Arguments a, SourceSpan span) {
    const Term *axisValue = nullptr;
    std::vector<Term> parts;
    for (const Argument &argument : a) {
      if (argument.name == "axis")
        axisValue = &argument.value;
      else if (argument.value.kind == Term::Kind::List ||
               argument.value.kind == Term::Kind::Tuple)
        // concat([a, b]) joins the elements, unless they are numbers.
        for (const Term &element : argument.value.elements) {
          if (a.size() > 1 + (axisValue != nullptr) ||
              e.lengthsOf(element).empty()) {
            parts.push_back(argument.value);
            break;
          }
          parts.push_back(element);
        }
      else
        parts.push_back(argument.value);
    }
    if (parts.empty())
      return e.fail("E0212", span, "`concat` needs an argument");
    Type type = e.promote(parts);
    if (!type)
      type =
          llvm::any_of(parts, [&](const Term &v) { return e.isFloatValue(v); })
              ? Type(e.builder.getF32Type())
              : e.builder.getI32Type();
    SmallVector<mlir::Value> values;
    SmallVector<Expr> lengths;
    std::optional<int64_t> axis;
    for (const Term &part : parts) {
      mlir::Value value = e.materialize(part, type, span);
      if (!value)
        return Term::error();
      SmallVector<Expr> own = trl::getLengths(value.getType());
      if (own.empty())
        return e.fail("E0302", span,
                      "`concat` joins values along an axis; a scalar has none: "
                      "write `[x]`");
      if (values.empty()) {
        axis = axisOf(e, axisValue, own.size(), span);
        if (!axis)
          return Term::error();
        lengths = own;
      } else {
        SmallVector<Expr> compare = own;
        if (own.size() == lengths.size())
          compare[*axis] = lengths[*axis];
        if (compare != lengths)
          return e.fail(
              "E0302", span,
              "`concat` along axis " + std::to_string(*axis) + " of " +
                  typeText(cast<RankedTensorType>(values[0].getType())) +
                  " and " + typeText(cast<RankedTensorType>(value.getType())));
        lengths[*axis] = lengths[*axis] + own[*axis];
      }
      values.push_back(value);
    }
    return Term::ofLeaf(trl::ConcatOp::create(e.builder, e.location(span),
                                              trl::getTensorType(lengths, type),
                                              values, *axis));
  }

  //===--- Along axes -----------------------------------------------------===//

  static Term cumsum(Elaborator &e, Arguments a, SourceSpan span) {
    mlir::Value x = e.materialize(a[0].value, a[0].span);
    if (!x)
      return Term::error();
    auto axis = axisOf(e, optional(a, 1),
                       cast<RankedTensorType>(x.getType()).getRank(), span);
    if (!axis)
      return Term::error();
    if (cast<RankedTensorType>(x.getType()).getElementType().isInteger(1))
      x = e.castTo(x, e.builder.getI32Type(), span);
    return Term::ofLeaf(trl::CumsumOp::create(e.builder, e.location(span),
                                              x.getType(), x, *axis, false));
  }

  static mlir::Value order(Elaborator &e, mlir::Value x, SourceSpan span) {
    SmallVector<Expr> lengths = trl::getLengths(x.getType());
    if (lengths.size() != 1) {
      e.error("E0302", span,
              "sorting takes a vector, not rank " +
                  std::to_string(lengths.size()));
      return {};
    }
    if (cast<RankedTensorType>(x.getType()).getElementType().isInteger(1))
      x = e.castTo(x, e.builder.getI32Type(), span);
    return trl::ArgsortOp::create(
        e.builder, e.location(span),
        trl::getTensorType(lengths, e.builder.getI32Type()), x);
  }
  static mlir::Value take(Elaborator &e, mlir::Value x, mlir::Value indices,
                          SourceSpan span) {
    SmallVector<Expr> lengths = trl::getLengths(indices.getType()),
                      from = trl::getLengths(x.getType());
    lengths.append(from.begin() + 1, from.end());
    auto type = trl::getTensorType(
        lengths, cast<RankedTensorType>(x.getType()).getElementType());
    return trl::TakeOp::create(e.builder, e.location(span), type, x, indices);
  }
  static Term argsort(Elaborator &e, Arguments a, SourceSpan span) {
    mlir::Value x = e.materialize(a[0].value, a[0].span);
    mlir::Value result = x ? order(e, x, span) : mlir::Value();
    return result ? Term::ofLeaf(result) : Term::error();
  }
  static Term sort(Elaborator &e, Arguments a, SourceSpan span) {
    mlir::Value x = e.materialize(a[0].value, a[0].span);
    mlir::Value indices = x ? order(e, x, span) : mlir::Value();
    return indices ? Term::ofLeaf(take(e, x, indices, span)) : Term::error();
  }
  /// The k largest, largest first, ties by index: { value, index }.
  static Term topK(Elaborator &e, Arguments a, SourceSpan span) {
    mlir::Value x = e.materialize(a[0].value, a[0].span);
    if (!x)
      return Term::error();
    if (a[1].value.kind != Term::Kind::Int)
      return e.fail("E0204", a[1].span,
                    "the number of elements must be known at compile time");
    Term negated = e.unary(ast::UnaryOp::Neg, Term::ofLeaf(x), span);
    mlir::Value indices =
        negated.isError() ? mlir::Value() : order(e, negated.leaf, span);
    if (!indices)
      return Term::error();
    if (auto rest =
            (trl::getLengths(x.getType())[0] - a[1].value.expr).getConst();
        rest && *rest < 0)
      return e.fail("E0305", a[1].span,
                    "there are only " + trl::getLengths(x.getType())[0].str() +
                        " elements");
    Term first = e.indexAxes(
        Term::ofLeaf(indices),
        {IndexValue{
            IndexValue::Kind::Range, Expr(), a[1].value.expr, {}, false, span}},
        span);
    return Term::record({"value", "index"},
                        {Term::ofLeaf(take(e, x, first.leaf, span)), first});
  }
  static Term takeFrom(Elaborator &e, Arguments a, SourceSpan span) {
    mlir::Value x = e.materialize(a[0].value, a[0].span),
                indices = e.materialize(a[1].value, a[1].span);
    if (!x || !indices)
      return Term::error();
    if (cast<RankedTensorType>(x.getType()).getRank() == 0)
      return e.fail("E0302", a[0].span, "`take` needs a value with an axis");
    if (e.isFloatValue(a[1].value) || e.isBoolValue(a[1].value))
      return e.fail("E0301", a[1].span,
                    "indices must be integers, not " + a[1].value.describe());
    return Term::ofLeaf(take(e, x, indices, span));
  }
  static Term scatter(Elaborator &e, Arguments a, SourceSpan span) {
    mlir::Value base = e.materialize(a[0].value, a[0].span),
                indices = e.materialize(a[1].value, a[1].span);
    if (!base || !indices)
      return Term::error();
    if (e.isFloatValue(a[1].value) || e.isBoolValue(a[1].value))
      return e.fail("E0301", a[1].span,
                    "indices must be integers, not " + a[1].value.describe());
    auto type = cast<RankedTensorType>(base.getType());
    SmallVector<Expr> lengths = trl::getLengths(indices.getType()),
                      from = trl::getLengths(type);
    if (from.empty() || lengths.size() > 1)
      return e.fail("E0302", span,
                    "`scatter` needs a base with an axis, and a scalar or "
                    "vector of indices");
    lengths.append(from.begin() + 1, from.end());
    auto joined =
        e.broadcastLengths(lengths, e.lengthsOf(a[2].value), a[2].span);
    if (!joined)
      return Term::error();
    Type own = e.elementTypeOf(a[2].value);
    if (own && own != type.getElementType())
      return e.fail("E0301", a[2].span,
                    "the values are " + a[2].value.describe() +
                        ", the base holds " + typeText(type));
    mlir::Value updates =
        e.broadcast(e.materialize(a[2].value, type.getElementType(), a[2].span),
                    lengths, a[2].span);
    if (!updates ||
        *joined != std::vector<Expr>(lengths.begin(), lengths.end()))
      return updates ? e.fail("E0302", a[2].span,
                              "the values' shape does not fit the indices")
                     : Term::error();
    return Term::ofLeaf(trl::ScatterOp::create(
        e.builder, e.location(span), type, base, indices, updates, false));
  }

  static Term iota(Elaborator &e, Arguments a, SourceSpan span) {
    if (a[0].value.kind != Term::Kind::Int || !e.canEmit())
      return e.fail("E0204", span, "the length must be known at compile time");
    auto type = trl::getTensorType({a[0].value.expr}, e.builder.getI32Type());
    return Term::ofLeaf(
        trl::IotaOp::create(e.builder, e.location(span), type, 0));
  }
  static Term oneHot(Elaborator &e, Arguments a, SourceSpan span) {
    mlir::Value index = e.materialize(a[0].value, a[0].span);
    if (!index)
      return Term::error();
    if (a[1].value.kind != Term::Kind::Int)
      return e.fail("E0204", a[1].span,
                    "the number of classes must be known at compile time");
    if (e.isFloatValue(a[0].value) || e.isBoolValue(a[0].value))
      return e.fail("E0301", a[0].span,
                    "a class must be an integer, not " + a[0].value.describe());
    Type element = cast<RankedTensorType>(index.getType()).getElementType();
    SmallVector<Expr> lengths = trl::getLengths(index.getType());
    auto loc = e.location(span);
    SmallVector<Expr> column = lengths;
    column.push_back(Expr::constant(1));
    lengths.push_back(a[1].value.expr);
    index = trl::ReshapeOp::create(e.builder, loc,
                                   trl::getTensorType(column, element), index);
    index = e.broadcast(index, lengths, span);
    mlir::Value classes = trl::IotaOp::create(
        e.builder, loc, trl::getTensorType(lengths, element),
        lengths.size() - 1);
    mlir::Value hit = trl::CompareOp::create(
        e.builder, loc, trl::getTensorType(lengths, e.builder.getI1Type()),
        trl::Predicate::eq, index, classes);
    return Term::ofLeaf(e.castTo(hit, e.builder.getF32Type(), span));
  }

  //===--- Gradients ------------------------------------------------------===//

  static Term stopGradient(Elaborator &e, Arguments a, SourceSpan span) {
    return e.mapLeaves({a[0].value}, span, [&](ArrayRef<Term> v) -> Term {
      if (v[0].isWeak() || !e.isFloatValue(v[0]))
        return v[0];
      return e.elementwise<trl::StopGradientOp>({v[0]}, false, span);
    });
  }
  static Term grad(Elaborator &e, Arguments a, SourceSpan span) {
    return e.differentiate(a, span);
  }

  template <const char *name>
  static Term random(Elaborator &e, Arguments a, SourceSpan span) {
    return e.draw(name, a, span);
  }
  static Term end(Elaborator &e, Arguments, SourceSpan span) {
    return e.fail("E0204", span, "`end` takes the name of a dim");
  }

  static const Entry *find(StringRef name);
  static ArrayRef<Entry> all();
};

} // namespace timerl::elaboration

#define NAME(text) static constexpr char text##Name[] = #text;
NAME(sum)
NAME(mean)
NAME(prod)
NAME(any)
NAME(all)
NAME(argmax)
NAME(uniform)
NAME(normal) NAME(randint) NAME(permutation)
#undef NAME

    static double expFold(double x) {
  return std::exp(x);
}
static double logFold(double x) { return std::log(x); }
static double sqrtFold(double x) { return std::sqrt(x); }
static double sinFold(double x) { return std::sin(x); }
static double cosFold(double x) { return std::cos(x); }
static double tanhFold(double x) { return std::tanh(x); }
static double floorFold(double x) { return std::floor(x); }
static double ceilFold(double x) { return std::ceil(x); }

ArrayRef<Builtins::Entry> Builtins::all() {
  static const Entry table[] = {
      {"exp", "x", floatFunction<trl::ExpOp, expFold>},
      {"log", "x", floatFunction<trl::LogOp, logFold>},
      {"sqrt", "x", floatFunction<trl::SqrtOp, sqrtFold>},
      {"sin", "x", floatFunction<trl::SinOp, sinFold>},
      {"cos", "x", floatFunction<trl::CosOp, cosFold>},
      {"tanh", "x", floatFunction<trl::TanhOp, tanhFold>},
      {"floor", "x", rounding<trl::FloorOp, floorFold>},
      {"ceil", "x", rounding<trl::CeilOp, ceilFold>},
      {"abs", "x", abs},
      {"relu", "x", relu},
      {"max", "*", minMax<true>},
      {"min", "*", minMax<false>},
      {"clip", "x, lo, hi", clip},
      {"sum", "x, axis?", reduction<sumName>},
      {"mean", "x, axis?", reduction<meanName>},
      {"prod", "x, axis?", reduction<prodName>},
      {"any", "x, axis?", reduction<anyName>},
      {"all", "x, axis?", reduction<allName>},
      {"argmax", "x, axis?", reduction<argmaxName>},
      {"f32", "x", cast_<0>},
      {"f64", "x", cast_<1>},
      {"i32", "x", cast_<2>},
      {"i64", "x", cast_<3>},
      {"u8", "x", cast_<4>},
      {"bool", "x", cast_<5>},
      {"f16", "x", unsupportedDtype},
      {"bf16", "x", unsupportedDtype},
      {"zeros", "like", filled<0>},
      {"ones", "like", filled<1>},
      {"len", "x", len},
      {"shape", "x", shape},
      {"leaves", "x", leaves},
      {"reshape", "x, shape", reshape},
      {"transpose", "x, order?", transpose},
      {"concat", "*", concat},
      {"cumsum", "x, axis?", cumsum},
      {"argsort", "x", argsort},
      {"sort", "x", sort},
      {"top_k", "x, k", topK},
      {"take", "x, indices", takeFrom},
      {"scatter", "base, index, value", scatter},
      {"iota", "n", iota},
      {"one_hot", "index, n", oneHot},
      {"stop_gradient", "x", stopGradient},
      {"grad", "y, x", grad},
      {"uniform", "lo?, hi?, shape?", random<uniformName>},
      {"normal", "shape?", random<normalName>},
      {"randint", "lo, hi, shape?", random<randintName>},
      {"permutation", "n", random<permutationName>},
      {"end", "t", end},
  };
  return table;
}

const Builtins::Entry *Builtins::find(StringRef name) {
  for (const Entry &entry : all())
    if (entry.name == name)
      return &entry;
  return nullptr;
}

std::vector<std::string> elaboration::builtinNames() {
  std::vector<std::string> names;
  for (const Builtins::Entry &entry : Builtins::all())
    names.push_back(entry.name.str());
  return names;
}

/// Brings arguments into the order of the table's parameters; absent optional
/// ones are error values.
Term Elaborator::callBuiltin(StringRef name,
                             std::vector<CallArgument> arguments,
                             SourceSpan span) {
  const Builtins::Entry *entry = Builtins::find(name);
  if (entry->parameters == "*")
    return entry->call(*this, arguments, span);
  SmallVector<StringRef> parameters;
  entry->parameters.split(parameters, ", ");
  std::vector<CallArgument> ordered(parameters.size());
  std::vector<bool> given(parameters.size());
  unsigned position = 0;
  for (CallArgument &argument : arguments) {
    unsigned slot = position;
    if (argument.name.empty()) {
      if (position++ >= parameters.size())
        return fail("E0212", span,
                    "`" + name.str() + "` takes " +
                        std::to_string(parameters.size()) +
                        (parameters.size() == 1 ? " argument, not "
                                                : " arguments, not ") +
                        std::to_string(arguments.size()));
    } else {
      for (slot = 0; slot < parameters.size() &&
                     parameters[slot].rtrim('?') != argument.name;)
        ++slot;
      if (slot == parameters.size())
        return fail("E0212", argument.span,
                    "`" + name.str() + "` has no parameter `" + argument.name +
                        "`");
    }
    if (given[slot])
      return fail("E0212", argument.span,
                  "parameter `" + parameters[slot].rtrim('?').str() +
                      "` is given twice");
    given[slot] = true;
    ordered[slot] = std::move(argument);
  }
  for (unsigned k = 0; k < parameters.size(); ++k)
    if (!given[k] && !parameters[k].ends_with("?"))
      return fail("E0212", span,
                  "`" + name.str() + "` needs its parameter `" +
                      parameters[k].str() + "`");
  // The same draw or shape from several functions shows where it was asked for.
  return entry->call(*this, ordered, span);
}

Term Elaborator::filled(const Term &like, double number, SourceSpan span) {
  auto ofShape = [&](std::vector<Expr> lengths, Type type) {
    return [this, lengths, number, span](Type element) {
      return broadcast(
          constant(element, number == 0 ? int64_t(0) : int64_t(1), span),
          lengths, span);
    };
  };
  if (like.kind == Term::Kind::List || like.kind == Term::Kind::Int) {
    auto shape = shapeArgument(like, span);
    if (!shape)
      return Term::error();
    return Term::weak(true, *shape, ofShape(*shape, Type()));
  }
  return mapLeaves({like}, span, [&](ArrayRef<Term> v) -> Term {
    if (!v[0].isData())
      return fail("E0204", span,
                  "expected a value or a shape, found " + v[0].describe());
    std::vector<Expr> lengths = lengthsOf(v[0]);
    Type type = elementTypeOf(v[0]);
    if (!type)
      return Term::weak(isFloatValue(v[0]), lengths, ofShape(lengths, type));
    mlir::Value leaf = ofShape(lengths, type)(type);
    return leaf ? Term::ofLeaf(leaf) : Term::error();
  });
}

std::optional<std::vector<Expr>> Elaborator::shapeArgument(const Term &value,
                                                           SourceSpan span) {
  std::vector<Expr> lengths;
  std::vector<Term> list =
      value.kind == Term::Kind::List || value.kind == Term::Kind::Tuple
          ? value.elements
          : std::vector<Term>{value};
  for (const Term &length : list) {
    if (length.kind != Term::Kind::Int) {
      error("E0204", span,
            "a shape is a list of compile-time integers, not of " +
                length.describe());
      return std::nullopt;
    }
    if (length.expr.isConst() && length.expr.value() < -1) {
      error("E0302", span, "a length cannot be " + length.expr.str());
      return std::nullopt;
    }
    lengths.push_back(length.expr);
  }
  return lengths;
}

/// A random draw. Its site is the equation's own, the call path, and its number
/// among the draws of this frame; its point is the indices in scope but seeds.
Term Elaborator::draw(StringRef name, ArrayRef<CallArgument> a,
                      SourceSpan span) {
  if (!canEmit())
    return fail("E0215", span, "a random draw is not known at compile time");
  auto kind = *trl::symbolizeDraw(name);
  unsigned shapeSlot = kind == trl::Draw::normal ? 0 : 2;
  std::vector<Expr> lengths;
  if (kind == trl::Draw::permutation) {
    if (a[0].value.kind != Term::Kind::Int)
      return fail("E0204", a[0].span,
                  "the length of a permutation must be known at compile time");
    lengths.push_back(a[0].value.expr);
  } else if (!a[shapeSlot].value.isError()) {
    auto shape = shapeArgument(a[shapeSlot].value, a[shapeSlot].span);
    if (!shape)
      return Term::error();
    lengths = *shape;
  }
  std::string site = context->site + callPath() + "/" + name.str() + "." +
                     std::to_string(frames.back().ordinals["=" + name.str()]++);
  SmallVector<Expr> point;
  Expr seed;
  for (const Iterator &iterator : context->iterators) {
    bool isSeed = llvm::any_of(allDims, [&](DimInfo *dim) {
      return dim->isSeed && dim->name == iterator.name;
    });
    if (isSeed)
      seed = seed + Expr::var(iterator.name);
    else
      point.push_back(Expr::var(iterator.name));
  }
  Type element = builder.getF32Type();
  SmallVector<mlir::Value> bounds;
  if (kind == trl::Draw::permutation || kind == trl::Draw::randint)
    element = builder.getI32Type();
  if (kind == trl::Draw::randint) {
    if (isFloatValue(a[0].value) || isFloatValue(a[1].value) ||
        isBoolValue(a[0].value) || isBoolValue(a[1].value))
      return fail("E0301", span, "`randint` takes integers");
    Type own = promote({a[0].value, a[1].value});
    if (own)
      element = own;
    for (unsigned k = 0; k < 2; ++k) {
      bounds.push_back(materialize(a[k].value, element, a[k].span));
      if (!bounds.back())
        return Term::error();
      if (cast<RankedTensorType>(bounds.back().getType()).getRank() != 0)
        return fail("E0302", a[k].span, "the bounds of `randint` are scalars");
    }
  }
  mlir::Value value = trl::RandomOp::create(
      builder, location(span), trl::getTensorType(lengths, element), kind, site,
      trl::getExprArrayAttr(&mlirContext, point),
      trl::ExprAttr::get(&mlirContext, seed), bounds);
  Term result = Term::ofLeaf(value);
  if (kind != trl::Draw::uniform)
    return result;
  Term lo = a[0].value.isError() ? Term::integer(0) : a[0].value;
  Term hi = a[1].value.isError() ? Term::integer(1) : a[1].value;
  auto isNumber = [](const Term &v, double number) {
    return (v.isConstInt() && double(v.expr.value()) == number) ||
           (v.kind == Term::Kind::Float && v.number == number);
  };
  if (!isNumber(hi, 1) || !isNumber(lo, 0))
    result = binary(BinaryOp::Mul, result, binary(BinaryOp::Sub, hi, lo, span),
                    span);
  return isNumber(lo, 0) ? result : binary(BinaryOp::Add, lo, result, span);
}

Term Elaborator::differentiate(ArrayRef<CallArgument> a, SourceSpan span) {
  if (!canEmit())
    return fail("E0215", span, "a gradient is not known at compile time");
  Term of = a[0].value;
  if (!of.isData() || of.isWeakScalar() || !isFloatValue(of) ||
      !lengthsOf(of).empty())
    return fail("E0701", a[0].span,
                "`grad` differentiates a float scalar, not " + of.describe());
  auto isPoint = [](const Term &v) {
    return v.kind == Term::Kind::Lazy && !v.tensor->isInput &&
           llvm::all_of(v.indices, [](const IndexValue &i) {
             return i.kind == IndexValue::Kind::At;
           });
  };
  if (!isPoint(of)) {
    mlir::Value leaf = materialize(of, span);
    if (!leaf)
      return Term::error();
    of = hide(leaf, span);
  }
  SmallVector<Attribute> symbols;
  SmallVector<Type> types;
  SmallVector<Expr> ofIndices, wrtIndices;
  for (const IndexValue &index : of.indices)
    ofIndices.push_back(index.lo);
  std::vector<Term> leaves;
  Builtins::collectLeaves(a[1].value, leaves);
  const Term *first = nullptr;
  bool scratchWeak = false;
  for (const Term &leaf : leaves) {
    if (leaf.kind == Term::Kind::Weak && scratchDepth) {
      scratchWeak = true;
      continue;
    }
    if (!isPoint(leaf))
      return fail("E0702", a[1].span,
                  "`grad` differentiates by a point of a recurrent tensor, "
                  "such as `net[i]`");
    if (!isa<FloatType>(leaf.type.getElementType()))
      return fail("E0702", a[1].span,
                  "`grad` differentiates by floats, and `" + leaf.symbol +
                      "` is " + leaf.describe());
    if (!first)
      for (const IndexValue &index : leaf.indices)
        wrtIndices.push_back(index.lo);
    first = first ? first : &leaf;
    SmallVector<Expr> own;
    for (const IndexValue &index : leaf.indices)
      own.push_back(index.lo);
    if (own != wrtIndices)
      return fail("E0702", a[1].span,
                  "`grad` differentiates by leaves of one point");
    symbols.push_back(FlatSymbolRefAttr::get(&mlirContext, leaf.symbol));
    types.push_back(leaf.type);
  }
  if (scratchWeak)
    return a[1].value;
  if (symbols.empty())
    return fail("E0702", a[1].span,
                "`grad` needs something to differentiate by");
  auto op =
      trl::GradOp::create(builder, location(span), types,
                          FlatSymbolRefAttr::get(&mlirContext, of.symbol),
                          trl::getExprArrayAttr(&mlirContext, ofIndices),
                          builder.getArrayAttr(symbols),
                          trl::getExprArrayAttr(&mlirContext, wrtIndices));
  Structure structure = structureOf(a[1].value);
  SmallVector<mlir::Value> results(op.getResults());
  ArrayRef<mlir::Value> rest(results);
  return rebuild(structure, rest);
}
