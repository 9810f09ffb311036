//===- Indexing.cpp - Reads of recurrent tensors and of axes --------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elaborator.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::elaboration;

static std::string signature(const TensorInfo &tensor) {
  std::vector<std::string> names;
  for (unsigned k = tensor.numOuter; k < tensor.positions.size(); ++k)
    names.push_back(tensor.positions[k].empty() ? "_" : tensor.positions[k]);
  return tensor.name + "[" + llvm::join(names, ", ") + "]";
}

Term Elaborator::evaluateIndexing(const ast::IndexExpr &expr,
                                  const EnvironmentPtr &environment) {
  Term base = evaluateBase(*expr.base, environment);
  if (base.isError())
    return base;
  if (base.kind != Term::Kind::Tensor)
    return indexValue(base, expr, environment);

  TensorInfo &tensor = *base.tensor;
  unsigned rank = tensor.positions.size() - tensor.numOuter;
  if (expr.items.size() != rank) {
    // A tensor over no dims has no bracket of its own: this is the value's.
    if (rank == 0)
      return indexValue(bareRead(tensor, expr.base->span), expr, environment);
    error("E0206", expr.span,
          "`" + tensor.name + "` takes " + std::to_string(rank) +
              (rank == 1 ? " index" : " indices") + ", not " +
              std::to_string(expr.items.size()))
        .suggest("it is indexed as `" + signature(tensor) + "`");
    return Term::error();
  }
  std::vector<IndexValue> indices;
  for (unsigned k = 0; k < tensor.numOuter; ++k)
    indices.push_back({IndexValue::Kind::At,
                       Expr::var(tensor.positions[k]),
                       Expr(),
                       {},
                       false,
                       expr.span});
  for (unsigned k = 0; k < rank; ++k) {
    const Iterator &extent = tensor.extents[tensor.numOuter + k];
    auto index = evaluateItem(expr.items[k], environment, extent.lo, extent.hi);
    if (!index)
      return Term::error();
    if (index->kind == IndexValue::Kind::Dynamic &&
        cast<RankedTensorType>(index->dynamic.getType()).getRank() != 0)
      return fail("E0204", index->span,
                  "an index of a point is one integer, and this is a tensor");
    indices.push_back(*index);
  }
  return readTensor(tensor, std::move(indices), expr.span);
}

/// A tensor is read where only constants or indices can stand.
Term Elaborator::notConstant(const TensorInfo &tensor, SourceSpan span) {
  if (!inGuard)
    return fail(
        "E0215", span,
        "`" + tensor.name +
            "` is a recurrent tensor: its value is not known at compile time");
  error("E0208", span,
        "a guard is a condition over indices, and `" + tensor.name +
            "` is a recurrent tensor")
      .suggest("choose between values with `if ... then ... else ...`");
  return Term::error();
}

/// The point of a tensor at the equation's own indices.
Term Elaborator::bareRead(TensorInfo &tensor, SourceSpan span) {
  std::vector<IndexValue> indices;
  for (unsigned k = 0; k < tensor.positions.size(); ++k) {
    const std::string &name = tensor.positions[k];
    const Iterator *bound = nullptr;
    if (context)
      for (const Iterator &iterator : context->iterators)
        if (iterator.name == name)
          bound = &iterator;
    if (!bound) {
      if (!context)
        return notConstant(tensor, span);
      timerl::Diagnostic &diagnostic = error(
          "E0205", span,
          name.empty()
              ? "`" + tensor.name + "` needs explicit indices: position " +
                    std::to_string(k + 1 - tensor.numOuter) + " has no dim"
              : "`" + tensor.name + "` needs index `" + name +
                    "`, which this equation does not have");
      diagnostic.suggest("give the indices of `" + signature(tensor) + "`");
      return Term::error();
    }
    indices.push_back(
        {IndexValue::Kind::At, Expr::var(name), Expr(), {}, false, span});
  }
  return readTensor(tensor, std::move(indices), span);
}

static Term lazyTree(TensorInfo &tensor, const Structure &structure,
                     const std::string &symbol,
                     const std::vector<IndexValue> &indices,
                     llvm::ArrayRef<Expr> leading) {
  if (structure.kind != Structure::Kind::Leaf) {
    std::vector<Term> elements;
    for (unsigned k = 0; k < structure.children.size(); ++k)
      elements.push_back(lazyTree(tensor, structure.children[k],
                                  symbol + "." +
                                      (structure.kind == Structure::Kind::Record
                                           ? structure.names[k]
                                           : std::to_string(k)),
                                  indices, leading));
    return structure.kind == Structure::Kind::Record
               ? Term::record(structure.names, std::move(elements))
               : Term::tuple(std::move(elements));
  }
  SmallVector<Expr> lengths(leading);
  llvm::append_range(lengths, trl::getLengths(structure.type));
  Term value;
  value.kind = Term::Kind::Lazy;
  value.tensor = &tensor;
  value.symbol = symbol;
  value.indices = indices;
  value.type = trl::getTensorType(lengths, structure.type.getElementType());
  if (structure.weak) {
    // Only while types are inferred: its dtype is open, so it is any constant.
    bool isFloat = isa<FloatType>(structure.type.getElementType());
    return Term::weak(
        isFloat, std::vector<Expr>(lengths.begin(), lengths.end()), nullptr);
  }
  return value;
}

Term Elaborator::readTensor(TensorInfo &tensor, std::vector<IndexValue> indices,
                            SourceSpan span) {
  if (!canEmit())
    return notConstant(tensor, span);
  const Structure *structure = structureOfTensor(tensor);
  if (!structure)
    return Term::error();
  std::vector<Expr> leading;
  for (const IndexValue &index : indices)
    if (index.kind == IndexValue::Kind::Range)
      leading.push_back(index.hi - index.lo);
  Term tree = lazyTree(tensor, *structure, tensor.symbol, indices, leading);
  // Provisional leaves stand for some constant while types are inferred.
  std::function<void(Term &)> provide = [&](Term &value) {
    for (Term &element : value.elements)
      provide(element);
    value.place = span;
    value.depth = frames.size();
    if (value.kind != Term::Kind::Weak || value.build)
      return;
    std::vector<Expr> lengths = value.lengths;
    value.build = [this, lengths, span](Type type) {
      mlir::Value zero = isa<FloatType>(type)
                             ? constant(type, 0.0, span)
                             : constant(type, int64_t(0), span);
      return broadcast(zero, lengths, span);
    };
  };
  provide(tree);
  return tree;
}

std::optional<IndexValue>
Elaborator::evaluateItem(const ast::IndexItem &item,
                         const EnvironmentPtr &environment,
                         std::optional<Expr> lo, std::optional<Expr> hi) {
  IndexValue index;
  index.span = item.span;
  if (item.isRange) {
    index.kind = IndexValue::Kind::Range;
    auto bound =
        [&](const ast::ExprPtr &expr,
            const std::optional<Expr> &fallback) -> std::optional<Expr> {
      if (expr)
        return evaluateIndex(*expr, environment, "the end of a range");
      if (!fallback)
        error("E0216", item.span, "this range needs both ends");
      return fallback;
    };
    auto from = bound(item.lo, lo), to = bound(item.hi, hi);
    if (!from || !to)
      return std::nullopt;
    index.lo = *from;
    index.hi = *to;
    return index;
  }
  Term value = evaluate(*item.lo, environment);
  if (value.isError())
    return std::nullopt;
  if (value.kind == Term::Kind::Int) {
    if (value.expr.isOverflow()) {
      error("E0209", item.span, "the index does not fit 64 bits");
      return std::nullopt;
    }
    index.lo = value.expr;
    return index;
  }
  if (value.kind == Term::Kind::List)
    value = settleList(value, item.span);
  if (!value.isData() || value.kind == Term::Kind::Cond ||
      isFloatValue(value) || isBoolValue(value)) {
    error("E0204", item.span,
          "an index must be an integer, not " + value.describe());
    return std::nullopt;
  }
  index.kind = IndexValue::Kind::Dynamic;
  index.dynamic = materialize(value, item.span);
  if (!index.dynamic)
    return std::nullopt;
  // 0:0 says that no range is known yet; the analysis of gathers finds it.
  if (item.declaredLo) {
    auto from =
        evaluateIndex(*item.declaredLo, environment, "the end of a range");
    auto to =
        evaluateIndex(*item.declaredHi, environment, "the end of a range");
    if (!from || !to)
      return std::nullopt;
    index.lo = *from;
    index.hi = *to;
    index.checked = true;
  }
  return index;
}

/// A bracket on a value: the elements of tuples and lists, the axes of tensors.
Term Elaborator::indexValue(const Term &base, const ast::IndexExpr &expr,
                            const EnvironmentPtr &environment) {
  if (base.isError())
    return base;
  if (base.kind == Term::Kind::Tuple || base.kind == Term::Kind::List) {
    std::optional<Expr> position;
    if (expr.items.size() == 1 && !expr.items[0].isRange) {
      Term index = evaluate(*expr.items[0].lo, environment);
      if (index.isError())
        return index;
      if (index.isConstInt())
        position = index.expr;
    }
    if (position) {
      int64_t size = base.elements.size(), k = position->value();
      if (k < -size || k >= size)
        return fail("E0305", expr.items[0].span,
                    "index " + std::to_string(k) + " is outside the " +
                        std::to_string(size) + " elements");
      return base.elements[k < 0 ? k + size : k];
    }
    if (base.kind == Term::Kind::Tuple)
      return fail("E0204", expr.span,
                  "a tuple is indexed by one compile-time integer");
    return indexValue(settleList(base, expr.base->span), expr, environment);
  }
  if (base.kind == Term::Kind::Record) {
    // A bracket maps over a record only where it is one of recurrent tensors.
    return fail("E0204", expr.span,
                "a record cannot be indexed: select a field first");
  }
  if (!base.isData() || base.isWeakScalar())
    return fail("E0204", expr.span, base.describe() + " cannot be indexed");

  std::vector<Expr> lengths = lengthsOf(base);
  if (expr.items.size() > lengths.size())
    return fail("E0303", expr.span,
                "`" + std::to_string(expr.items.size()) +
                    "` indices for a value of rank " +
                    std::to_string(lengths.size()));
  std::vector<IndexValue> items;
  for (unsigned k = 0; k < expr.items.size(); ++k) {
    auto item =
        evaluateItem(expr.items[k], environment, Expr::constant(0), lengths[k]);
    if (!item)
      return Term::error();
    // NumPy: a negative constant counts from the end.
    auto wrap = [&](Expr &index) {
      if (index.isConst() && index.value() < 0)
        index = lengths[k] + index;
    };
    if (item->kind == IndexValue::Kind::At)
      wrap(item->lo);
    if (item->kind == IndexValue::Kind::Range) {
      wrap(item->lo);
      wrap(item->hi);
      // A constant range past the end is a mistake, unlike in NumPy.
      if (auto excess = (item->hi - lengths[k]).getConst();
          excess && *excess > 0)
        return fail("E0305", item->span,
                    "the range ends at " + item->hi.str() +
                        ", past the axis of length " + lengths[k].str());
      if (auto length = (item->hi - item->lo).getConst(); length && *length < 0)
        return fail("E0305", item->span,
                    "the range " + item->lo.str() + ":" + item->hi.str() +
                        " has a negative length");
    }
    if (item->kind == IndexValue::Kind::At && item->lo.isConst() &&
        lengths[k].isConst() &&
        (item->lo.value() < 0 || item->lo.value() >= lengths[k].value()))
      return fail("E0305", item->span,
                  "index " + item->lo.str() +
                      " is outside the axis of length " + lengths[k].str());
    items.push_back(*item);
  }
  return indexAxes(base, std::move(items), expr.span);
}

Term Elaborator::indexAxes(const Term &base, std::vector<IndexValue> items,
                           SourceSpan span) {
  // x[0:T][t] reads x[t]: a slice of a recurrent tensor is never built to take
  // one element of it.
  if (base.kind == Term::Kind::Lazy) {
    std::vector<unsigned> ranges;
    for (unsigned k = 0; k < base.indices.size(); ++k)
      if (base.indices[k].kind == IndexValue::Kind::Range)
        ranges.push_back(k);
    unsigned merged = 0;
    bool changed = false;
    Term result = base;
    for (unsigned k = 0; k < items.size() && k < ranges.size(); ++k) {
      IndexValue &range = result.indices[ranges[k]];
      if (items[k].kind == IndexValue::Kind::Dynamic)
        break;
      Expr start = range.lo;
      if (items[k].kind == IndexValue::Kind::At) {
        range.kind = IndexValue::Kind::At;
        range.lo = start + items[k].lo;
        changed = true;
      } else {
        // A whole axis stays as it is.
        changed |= items[k].lo != Expr::constant(0) ||
                   items[k].hi != range.hi - range.lo;
        range.hi = start + items[k].hi;
        range.lo = start + items[k].lo;
      }
      ++merged;
    }
    if (merged && !changed && merged == items.size())
      return base;
    if (changed) {
      SmallVector<Expr> lengths;
      for (const IndexValue &index : result.indices)
        if (index.kind == IndexValue::Kind::Range)
          lengths.push_back(index.hi - index.lo);
      SmallVector<Expr> all = trl::getLengths(base.type);
      lengths.append(all.begin() + ranges.size(), all.end());
      result.type = trl::getTensorType(lengths, base.type.getElementType());
      if (merged == items.size())
        return result;
      // The axes already taken by points are gone; ranges keep their place.
      std::vector<IndexValue> rest;
      for (unsigned k = 0; k < items.size(); ++k) {
        if (k >= merged)
          rest.push_back(items[k]);
        else if (items[k].kind == IndexValue::Kind::Range)
          rest.push_back({IndexValue::Kind::Range,
                          Expr(),
                          items[k].hi - items[k].lo,
                          {},
                          false,
                          items[k].span});
      }
      return indexAxes(result, std::move(rest), span);
    }
  }
  std::vector<Expr> lengths, from = lengthsOf(base);
  mlir::Value operand = base.isWeak() ? mlir::Value() : materialize(base, span);
  if (!operand && !base.isWeak())
    return Term::error();
  // A tensor of indices takes along the first axis.
  bool take = false;
  for (const IndexValue &item : items) {
    if (item.kind != IndexValue::Kind::Dynamic ||
        cast<RankedTensorType>(item.dynamic.getType()).getRank() == 0)
      continue;
    if (items.size() > 1)
      return fail(
          "E0504", item.span,
          "a tensor of indices next to other indices is not supported yet");
    take = true;
    for (const Expr &length : trl::getLengths(item.dynamic.getType()))
      lengths.push_back(length);
  }
  SmallVector<Attribute> attrs;
  auto expr = [&](const Expr &e) {
    return trl::ExprAttr::get(&mlirContext, e);
  };
  for (const IndexValue &item : items) {
    if (item.kind == IndexValue::Kind::At) {
      attrs.push_back(trl::AtAttr::get(&mlirContext, expr(item.lo)));
    } else if (item.kind == IndexValue::Kind::Range) {
      attrs.push_back(
          trl::RangeAttr::get(&mlirContext, expr(item.lo), expr(item.hi)));
      lengths.push_back(item.hi - item.lo);
    } else {
      attrs.push_back(trl::DynamicAttr::get(&mlirContext, expr(item.lo),
                                            expr(item.hi), item.checked));
    }
  }
  lengths.insert(lengths.end(), from.begin() + items.size(), from.end());
  auto build = [this, items, attrs, lengths, take,
                span](mlir::Value operand) -> mlir::Value {
    SmallVector<mlir::Value> dynamic;
    for (const IndexValue &item : items)
      if (item.kind == IndexValue::Kind::Dynamic)
        dynamic.push_back(capture(item.dynamic, span));
    auto type = trl::getTensorType(
        lengths, cast<RankedTensorType>(operand.getType()).getElementType());
    if (take)
      return trl::TakeOp::create(builder, location(span), type, operand,
                                 dynamic[0]);
    return trl::ExtractOp::create(builder, location(span), type, operand,
                                  builder.getArrayAttr(attrs), dynamic);
  };
  if (operand)
    return Term::ofLeaf(build(operand));
  // An element of weak numbers is weak.
  return Term::weak(isFloatValue(base), lengths,
                    [this, base, build, span](Type type) -> mlir::Value {
                      mlir::Value all = materialize(base, type, span);
                      return all ? build(all) : mlir::Value();
                    });
}

mlir::Value Elaborator::emitRead(const Term &lazy, SourceSpan span) {
  SmallVector<Attribute> attrs;
  SmallVector<mlir::Value> dynamic;
  auto expr = [&](const Expr &e) {
    return trl::ExprAttr::get(&mlirContext, e);
  };
  // Messages point at the read itself, unless it came here as an argument.
  if (lazy.place.isValid() && lazy.depth == frames.size())
    span = lazy.place;
  for (const IndexValue &index : lazy.indices) {
    if (index.kind == IndexValue::Kind::At) {
      attrs.push_back(trl::AtAttr::get(&mlirContext, expr(index.lo)));
    } else if (index.kind == IndexValue::Kind::Range) {
      attrs.push_back(
          trl::RangeAttr::get(&mlirContext, expr(index.lo), expr(index.hi)));
    } else {
      attrs.push_back(trl::DynamicAttr::get(&mlirContext, expr(index.lo),
                                            expr(index.hi), index.checked));
      dynamic.push_back(capture(index.dynamic, span));
    }
  }
  return trl::ReadOp::create(builder, location(span), lazy.type, lazy.symbol,
                             builder.getArrayAttr(attrs), dynamic);
}
