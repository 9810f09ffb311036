//===- Equations.cpp - Left-hand sides, domains, and output of ops --------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scopes.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Casting.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::elaboration;

//===----------------------------------------------------------------------===//
// Left-hand sides
//===----------------------------------------------------------------------===//

/// Names of dims that an index mentions, in order.
static void collectNames(const ast::Expr *expr,
                         std::vector<std::string> &names) {
  if (!expr)
    return;
  if (const auto *name = llvm::dyn_cast<ast::NameExpr>(expr)) {
    if (!llvm::is_contained(names, name->name))
      names.push_back(name->name);
  } else if (const auto *unary = llvm::dyn_cast<ast::UnaryExpr>(expr)) {
    collectNames(unary->operand.get(), names);
  } else if (const auto *binary = llvm::dyn_cast<ast::BinaryExpr>(expr)) {
    collectNames(binary->lhs.get(), names);
    collectNames(binary->rhs.get(), names);
  } else if (const auto *call = llvm::dyn_cast<ast::CallExpr>(expr)) {
    for (const ast::Argument &argument : call->arguments)
      collectNames(argument.value.get(), names);
  }
}

/// The indices a left-hand side brings, then their ranges: a dim's own, or the
/// one written with `t in lo:hi`.
void Elaborator::resolveLhs(EquationInfo &equation, const ModuleScope &scope) {
  const auto &targets = equation.lhs;
  equation.domain = equation.outer;
  EnvironmentPtr environment = Environment::inner(equation.environment);
  std::map<std::string, SourceSpan> bound;
  auto bring = [&](const std::string &name, Iterator iterator) {
    bound[name] = equation.span;
    equation.dimNames[name] = iterator.name;
    environment->define(name, Term::integer(Expr::var(iterator.name)));
    equation.domain.push_back(std::move(iterator));
  };
  auto invalid = [&] { equation.valid = false; };
  for (const ast::LhsTensor *target : targets) {
    for (const ast::LhsItem &item : target->items) {
      if (item.lo) {
        const auto *name = llvm::dyn_cast<ast::NameExpr>(item.index.get());
        if (!name) {
          error("E0207", item.span, "a range needs a name: `t in lo:hi`");
          return invalid();
        }
        auto lo =
            evaluateIndex(*item.lo, equation.environment, "the end of a range");
        auto hi =
            evaluateIndex(*item.hi, equation.environment, "the end of a range");
        if (!lo || !hi)
          return invalid();
        if (bound.count(name->name))
          continue; // A second target repeats it.
        bring(name->name, {name->name, *lo, *hi});
        continue;
      }
      std::vector<std::string> names;
      collectNames(item.index.get(), names);
      for (const std::string &name : names)
        if (auto dim = scope.dims.find(name);
            dim != scope.dims.end() && !bound.count(name))
          bring(name, {dim->second->name, Expr(), dim->second->hi()});
    }
  }
  std::string site;
  for (auto [k, target] : llvm::enumerate(targets)) {
    std::vector<Expr> indices;
    for (const Iterator &outer : equation.outer)
      indices.push_back(Expr::var(outer.name));
    for (const ast::LhsItem &item : target->items) {
      auto index = evaluateIndex(*item.index, environment, "a left-hand index");
      if (!index)
        return invalid();
      std::vector<std::string> own;
      for (const std::string &name : index->variables())
        if (llvm::any_of(equation.domain,
                         [&](const Iterator &i) { return i.name == name; }))
          own.push_back(name);
      bool shift =
          own.size() == 1 && !(*index - Expr::var(own[0])).mentions(own[0]);
      if (!own.empty() && !shift) {
        error("E0207", item.span,
              "a left-hand index is a dim, a dim plus a constant, or a "
              "constant, not `" +
                  index->str() + "`")
            .suggest("define it over its own dim, with a guard: `x[k] = ... "
                     "when k % 2 == 0`");
        return invalid();
      }
      indices.push_back(*index);
    }
    // Each target has all the indices, or its points would be defined twice.
    for (const Iterator &iterator : equation.domain) {
      bool used = llvm::any_of(
          indices, [&](const Expr &e) { return e.mentions(iterator.name); });
      if (!used) {
        error("E0207", target->span,
              "`" + target->name + "` does not have index `" + iterator.name +
                  "` of this equation's other left-hand sides");
        return invalid();
      }
    }
    equation.indices.push_back(indices);
  }
  // The site names the equation by what it defines, with indices by number: it
  // depends neither on the order of equations nor on the names of dims.
  auto numbered = [&](const Expr &expr) {
    return expr
        .rename([&](StringRef name) -> std::string {
          for (auto [k, iterator] : llvm::enumerate(equation.domain))
            if (iterator.name == name)
              return "_" + std::to_string(k);
          return name.str();
        })
        .str();
  };
  site = targets[0]->name + "[";
  for (auto [k, index] :
       llvm::enumerate(ArrayRef<Expr>(equation.indices[0])
                           .drop_front(equation.outer.size())))
    site += (k ? "," : "") + numbered(index);
  equation.site = site + "]";
  if (equation.guard) {
    auto guard = evaluateGuard(*equation.guard, environment);
    if (!guard)
      return invalid();
    equation.when = *guard;
    equation.site += " when " + numbered(*guard);
  } else if (equation.isOtherwise) {
    equation.site += " otherwise";
  }
  for (const Iterator &iterator : equation.domain)
    if (iterator.lo.isConst() && iterator.hi.isConst() &&
        iterator.hi.value() < iterator.lo.value()) {
      error("E0406", equation.span,
            "the range " + iterator.lo.str() + ":" + iterator.hi.str() +
                " of `" + iterator.name + "` has a negative length");
      return invalid();
    }
  equation.when = Expr::conj({equation.outerWhen, equation.when});
}

/// `otherwise`: where no guard of the same left-hand side holds.
void Elaborator::resolveGuards(ArrayRef<EquationInfo *> equations) {
  auto lhs = [](const EquationInfo &equation, const Expr *guard) {
    auto rename = [&](StringRef name) -> std::string {
      for (auto [k, iterator] : llvm::enumerate(equation.domain))
        if (iterator.name == name)
          return "_" + std::to_string(k);
      return name.str();
    };
    std::string text;
    if (guard)
      return guard->rename(rename);
    for (const auto &indices : equation.indices)
      for (const Expr &index : indices)
        text += index.rename(rename).str() + ",";
    return Expr::var(text);
  };
  for (EquationInfo *equation : equations) {
    if (!equation->valid || !equation->isOtherwise)
      continue;
    std::vector<Expr> guards;
    bool unknown = false;
    for (EquationInfo *other : equations) {
      if (other == equation || other->targets != equation->targets)
        continue;
      // Its mistake has been told.
      unknown |= !other->valid;
      if (!other->valid)
        continue;
      if (lhs(*other, nullptr) != lhs(*equation, nullptr) || other->isOtherwise)
        continue;
      Expr guard = lhs(*other, &other->when);
      guards.push_back(guard.rename([&](StringRef name) -> std::string {
        unsigned k;
        if (name.consume_front("_") && !name.getAsInteger(10, k) &&
            k < equation->domain.size())
          return equation->domain[k].name;
        return name.str();
      }));
    }
    if (unknown) {
      equation->valid = false;
      continue;
    }
    if (guards.empty()) {
      error("E0208", equation->guardSpan,
            "`otherwise` needs another equation with the same left-hand side "
            "and a guard");
      equation->valid = false;
      continue;
    }
    equation->when =
        Expr::conj({equation->when, Expr::negate(Expr::disj(guards))});
  }
}

/// Which dim stands at each position, and the hull of the points there.
void Elaborator::resolvePositions(TensorInfo &tensor) {
  unsigned rank = 0;
  bool first = true;
  for (EquationInfo *equation : tensor.equations) {
    // A broken guard leaves the left-hand side as good as it was.
    if (equation->indices.size() != equation->lhs.size())
      continue;
    unsigned k =
        llvm::find(equation->targets, &tensor) - equation->targets.begin();
    const std::vector<Expr> &indices = equation->indices[k];
    const ast::LhsTensor &target = *equation->lhs[k];
    if (first) {
      rank = indices.size();
      tensor.positions.resize(rank);
      tensor.extents.resize(rank);
    }
    if (indices.size() != rank) {
      error("E0206", target.span,
            "`" + tensor.name + "` has " +
                std::to_string(indices.size() - tensor.numOuter) +
                " indices here and " + std::to_string(rank - tensor.numOuter) +
                " elsewhere")
          .note(tensor.span, "first defined here");
      equation->valid = false;
      continue;
    }
    for (unsigned p = 0; p < rank; ++p) {
      Expr lo = indices[p], last = indices[p];
      std::string dim;
      for (const Iterator &iterator : equation->domain) {
        if (!indices[p].mentions(iterator.name))
          continue;
        dim = iterator.name;
        Expr shift = indices[p] - Expr::var(iterator.name);
        lo = iterator.lo + shift;
        last = iterator.hi + shift - Expr::constant(1);
      }
      if (p >= tensor.numOuter && !dim.empty()) {
        if (tensor.positions[p].empty()) {
          tensor.positions[p] = dim;
        } else if (tensor.positions[p] != dim) {
          error("E0206", target.items[p - tensor.numOuter].span,
                "index " + std::to_string(p + 1 - tensor.numOuter) + " of `" +
                    tensor.name + "` is `" + dim + "` here and `" +
                    tensor.positions[p] +
                    "` elsewhere: each position has one dim")
              .note(tensor.span, "first defined here");
          equation->valid = false;
        }
      }
      Expr hi = last + Expr::constant(1);
      tensor.extents[p].lo = first ? lo : Expr::min({tensor.extents[p].lo, lo});
      tensor.extents[p].hi = first ? hi : Expr::max({tensor.extents[p].hi, hi});
    }
    first = false;
  }
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static SmallVector<trl::IterAttr> iterAttrs(MLIRContext *context,
                                            ArrayRef<Iterator> iterators) {
  SmallVector<trl::IterAttr> attrs;
  for (const Iterator &iterator : iterators)
    attrs.push_back(
        trl::IterAttr::get(context, StringAttr::get(context, iterator.name),
                           trl::ExprAttr::get(context, iterator.lo),
                           trl::ExprAttr::get(context, iterator.hi)));
  return attrs;
}

EnvironmentPtr Elaborator::indexEnvironment(const EquationInfo &equation) {
  EnvironmentPtr environment = Environment::inner(equation.environment);
  for (const auto &[name, irName] : equation.dimNames)
    environment->define(name, Term::integer(Expr::var(irName)));
  return environment;
}

static std::string leafSymbol(const TensorInfo &tensor,
                              const std::string &path) {
  return path.empty() ? tensor.symbol : tensor.symbol + "." + path;
}

void Elaborator::writeTensor(TensorInfo &tensor) {
  const Structure *structure = structureOfTensor(tensor);
  if (!structure || tensor.isInput)
    return;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(output->getBody(),
                            declarationsEnd
                                ? std::next(Block::iterator(declarationsEnd))
                                : output->getBody()->begin());
  SmallVector<StringRef> positions(tensor.positions.begin(),
                                   tensor.positions.end());
  structure->forEachLeaf([&](const std::string &path, const Structure &leaf) {
    declarationsEnd = trl::TensorOp::create(
        builder, location(tensor.span), leafSymbol(tensor, path), leaf.type,
        builder.getStrArrayAttr(positions), tensor.hidden);
  });
}

void Elaborator::writeEquation(EquationInfo &equation) {
  if (!equation.valid || !equation.rhs)
    return;
  Inside inside(*this, equation);
  // A local recurrence stands before the equation that it is part of.
  if (inside.outer)
    builder.setInsertionPoint(inside.outer->top);
  else
    builder.setInsertionPointToEnd(output->getBody());
  SmallVector<const Structure *> structures;
  bool known = true;
  for (TensorInfo *target : equation.targets) {
    structures.push_back(structureOfTensor(*target));
    known &= structures.back() != nullptr;
  }
  SmallVector<std::string> names;
  SmallVector<SmallVector<Expr>> indices;
  if (known)
    for (auto [k, target] : llvm::enumerate(equation.targets))
      structures[k]->forEachLeaf(
          [&](const std::string &path, const Structure &) {
            names.push_back(leafSymbol(*target, path));
            indices.emplace_back(equation.indices[k].begin(),
                                 equation.indices[k].end());
          });
  SmallVector<StringRef> symbols(names.begin(), names.end());
  auto op = trl::EquationOp::create(builder, location(equation.span),
                                    iterAttrs(&mlirContext, equation.domain),
                                    equation.when, symbols, indices);
  inside.enter(op, op.getBody());
  Term value = evaluate(*equation.rhs, indexEnvironment(equation));
  std::vector<Term> parts{value};
  if (!value.isError() && equation.targets.size() > 1) {
    if ((!value.isAggregate() && value.kind != Term::Kind::List) ||
        value.elements.size() != equation.targets.size()) {
      error("E0304", equation.rhs->span,
            "expected " + std::to_string(equation.targets.size()) +
                " values, found " +
                (value.isAggregate() || value.kind == Term::Kind::List
                     ? std::to_string(value.elements.size())
                     : value.describe()));
      value = Term::error();
    } else {
      parts = value.elements;
    }
  }
  SmallVector<mlir::Value> yields;
  if (known && !value.isError())
    for (auto [k, target] : llvm::enumerate(equation.targets)) {
      auto leaves =
          convertTo(parts[k], *structures[k], equation.rhs->span, target->name);
      if (!leaves)
        break;
      llvm::append_range(yields, *leaves);
    }
  trl::YieldOp::create(builder, location(equation.span), yields);
}

void Elaborator::writeReport(ModuleScope &scope,
                             const ast::ReportStatement &statement) {
  EquationInfo equation;
  equation.lhs = {&statement.target};
  equation.guard = statement.when.get();
  equation.span = statement.span;
  equation.environment = scope.environment;
  resolveLhs(equation, scope);
  if (!equation.valid)
    return;
  EnvironmentPtr environment = indexEnvironment(equation);
  const Expr &when = equation.when;
  Inside inside(*this, equation.domain, when, "report " + equation.site, {});
  builder.setInsertionPointToEnd(output->getBody());
  auto op = trl::OutputOp::create(
      builder, location(statement.span), trl::OutputKind::report,
      statement.target.name, iterAttrs(&mlirContext, equation.domain), when);
  inside.enter(op, op.getBody());
  Term value = evaluate(*statement.value, environment);
  mlir::Value leaf;
  if (!value.isError()) {
    if (!value.isData() || !lengthsOf(value).empty())
      error("E0302", statement.value->span,
            "a report is a scalar, not " + value.describe());
    else
      leaf = materialize(value, statement.value->span);
  }
  trl::YieldOp::create(builder, location(statement.span),
                       leaf ? ValueRange(leaf) : ValueRange());
}

void Elaborator::writeSave(ModuleScope &scope,
                           const ast::SaveStatement &statement) {
  const ast::Expr *base = statement.value.get();
  std::vector<std::string> mentioned;
  std::string name;
  while (base) {
    if (const auto *field = llvm::dyn_cast<ast::FieldExpr>(base)) {
      name = "." + field->field + name;
      base = field->base.get();
    } else if (const auto *index = llvm::dyn_cast<ast::IndexExpr>(base)) {
      for (const ast::IndexItem &item : index->items)
        collectNames(item.lo.get(), mentioned);
      base = index->base.get();
    } else if (const auto *tensor = llvm::dyn_cast<ast::NameExpr>(base)) {
      name = tensor->name + name;
      break;
    } else {
      error("E0218", statement.value->span,
            "`save` takes a tensor at a point, such as `net[iterations]`");
      return;
    }
  }
  std::vector<Iterator> domain;
  EnvironmentPtr environment = Environment::inner(scope.environment);
  for (const std::string &dim : mentioned)
    if (auto it = scope.dims.find(dim); it != scope.dims.end()) {
      domain.push_back({it->second->name, Expr(), it->second->hi()});
      environment->define(dim, Term::integer(Expr::var(it->second->name)));
    }
  // First as one output to learn the structure, then one output per leaf.
  Inside inside(*this, domain, Expr::boolean(true), "save " + name, {});
  builder.setInsertionPointToEnd(output->getBody());
  auto draft = trl::OutputOp::create(
      builder, location(statement.span), trl::OutputKind::save, name,
      iterAttrs(&mlirContext, domain), Expr::boolean(true));
  inside.enter(draft, draft.getBody());
  Term value = evaluate(*statement.value, environment);
  if (value.isError() || !isStorable(value)) {
    if (!value.isError())
      error("E0218", statement.value->span,
            "`save` takes data, not " + value.describe());
    trl::YieldOp::create(builder, location(statement.span), ValueRange());
    return;
  }
  std::function<void(const Term &, const std::string &)> write =
      [&](const Term &v, const std::string &path) {
        if (v.isAggregate()) {
          for (auto [k, element] : llvm::enumerate(v.elements))
            write(element,
                  path + "." +
                      (v.kind == Term::Kind::Record ? v.names[k]
                                                    : std::to_string(k)));
          return;
        }
        // An archive has one array of a name.
        auto [first, isNew] = saved.try_emplace(path, statement.value->span);
        if (!isNew) {
          error("E0220", statement.value->span, "`" + path + "` is saved twice")
              .note(first->second, "first saved here")
              .suggest("give the second a name: `part[...] = ...`");
          return;
        }
        builder.setInsertionPointToEnd(output->getBody());
        auto op = trl::OutputOp::create(
            builder, location(statement.span), trl::OutputKind::save, path,
            iterAttrs(&mlirContext, domain), Expr::boolean(true));
        inside.enter(op, op.getBody());
        mlir::Value leaf = v.kind == Term::Kind::Leaf
                               ? hideAcross(v.leaf, op)
                               : materialize(v, statement.span);
        trl::YieldOp::create(builder, location(statement.span),
                             leaf ? ValueRange(leaf) : ValueRange());
      };
  write(value, name);
  draft.erase();
}

//===----------------------------------------------------------------------===//
// Values of one equation in another
//===----------------------------------------------------------------------===//

static Operation *topOf(mlir::Value value) {
  Operation *op = value.getDefiningOp();
  while (op->getParentOp() && !isa<ModuleOp>(op->getParentOp()))
    op = op->getParentOp();
  return op;
}

/// All that a value is computed from inside its equation, in order.
static void slice(mlir::Value value, llvm::SetVector<Operation *> &ops) {
  Operation *op = value.getDefiningOp();
  if (ops.contains(op))
    return;
  for (mlir::Value operand : op->getOperands())
    slice(operand, ops);
  op->walk([&](Operation *inner) {
    for (mlir::Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getDefiningOp()))
        slice(operand, ops);
  });
  ops.insert(op);
}

static mlir::Value cloneSlice(OpBuilder &builder, mlir::Value value) {
  llvm::SetVector<Operation *> ops;
  slice(value, ops);
  IRMapping mapping;
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  return mapping.lookup(value);
}

mlir::Value Elaborator::hideAcross(mlir::Value value, Operation *op) {
  return topOf(value) == op ? value : cloneSlice(builder, value);
}

mlir::Value Elaborator::capture(mlir::Value value, SourceSpan span) {
  if (!value || topOf(value) == context->top)
    return value;
  Term hidden = hide(value, span);
  return hidden.kind == Term::Kind::Lazy ? emitRead(hidden, span) : hidden.leaf;
}

Term Elaborator::hide(mlir::Value value, SourceSpan span) {
  auto type = cast<RankedTensorType>(value.getType());
  if (scratchDepth) {
    // Types alone: any value of this type serves.
    if (topOf(value) == context->top)
      return Term::ofLeaf(value);
    mlir::Value scalar = constant(type.getElementType(), int64_t(0), span);
    return Term::ofLeaf(broadcast(scalar, trl::getLengths(type), span));
  }
  Operation *top = topOf(value);
  // The indices in scope where the value is computed, and what holds there.
  std::vector<Iterator> iterators;
  std::vector<Expr> conditions;
  SmallVector<Operation *> chain;
  for (Operation *op = value.getDefiningOp()->getParentOp();
       op && !isa<ModuleOp>(op); op = op->getParentOp())
    chain.push_back(op);
  Region *inner = value.getDefiningOp()->getParentRegion();
  auto add = [&](ArrayAttr attrs) {
    for (auto attr : attrs.getAsRange<trl::IterAttr>())
      iterators.push_back({attr.getName().str(), attr.getLo().getExpr(),
                           attr.getHi().getExpr()});
  };
  for (unsigned k = chain.size(); k-- > 0;) {
    Operation *op = chain[k];
    Region *region = k == 0 ? inner : chain[k - 1]->getParentRegion();
    if (auto equation = dyn_cast<trl::EquationOp>(op)) {
      add(equation.getDomain());
      conditions.push_back(equation.getWhen().getExpr());
    } else if (auto report = dyn_cast<trl::OutputOp>(op)) {
      add(report.getDomain());
      conditions.push_back(report.getWhen().getExpr());
    } else if (auto reduce = dyn_cast<trl::ReduceOverOp>(op)) {
      add(reduce.getBinders());
      conditions.push_back(reduce.getWhen().getExpr());
    } else if (auto choice = dyn_cast<trl::CaseOp>(op)) {
      Expr condition = choice.getCondition().getExpr();
      conditions.push_back(
          region == &choice.getThen() ? condition : Expr::negate(condition));
    }
  }
  Term lazy;
  lazy.kind = Term::Kind::Lazy;
  lazy.type = type;
  for (const Iterator &iterator : iterators)
    lazy.indices.push_back({IndexValue::Kind::At,
                            Expr::var(iterator.name),
                            Expr(),
                            {},
                            false,
                            span});
  std::string &symbol = captures[value];
  if (symbol.empty()) {
    symbol = "hidden$" + std::to_string(numHidden++);
    TensorInfo &info = tensorStorage.emplace_back();
    info.name = info.symbol = symbol;
    info.span = span;
    info.hidden = true;
    info.state = TensorInfo::State::Known;
    info.structure.type = type;
    SmallVector<Expr> indices;
    for (const Iterator &iterator : iterators) {
      info.positions.push_back(iterator.name);
      indices.push_back(Expr::var(iterator.name));
    }
    writeTensor(info);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(top);
    StringRef target = symbol;
    auto op = trl::EquationOp::create(builder, location(span),
                                      iterAttrs(&mlirContext, iterators),
                                      Expr::conj(conditions), target, indices);
    builder.setInsertionPointToEnd(&op.getBody().front());
    mlir::Value clone = cloneSlice(builder, value);
    trl::YieldOp::create(builder, location(span), clone);
    hiddenTensors[symbol] = &info;
  }
  lazy.symbol = symbol;
  lazy.tensor = hiddenTensors[symbol];
  return lazy;
}
