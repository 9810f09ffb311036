//===- Access.cpp - What equations define and read, as relations ----------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Poly/Access.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::poly;
using namespace timerl::trl;

static std::string stopName(StringRef dim) {
  return ("end(" + dim + ")").str();
}

/// The dim of a variable `end(t)`; empty for other variables.
static StringRef stoppedDim(StringRef variable) {
  if (variable.consume_front("end(") && variable.consume_back(")"))
    return variable;
  return StringRef();
}

Program::Program(IslContext &context, ModuleOp module)
    : ctx(context), moduleOp(module) {
  for (auto dim : module.getOps<DimOp>())
    dims[dim.getSymName()] = dim;
  collectParameters();

  unsigned ordinal = 0;
  for (Operation &op : *module.getBody()) {
    ArrayAttr iters;
    Expr when;
    Statement statement;
    if (auto equation = dyn_cast<EquationOp>(op)) {
      iters = equation.getDomain();
      when = equation.getWhen().getExpr();
      statement.name = "E" + std::to_string(ordinal++);
    } else if (auto output = dyn_cast<OutputOp>(op)) {
      iters = output.getDomain();
      when = output.getWhen().getExpr();
      statement.name = "O" + std::to_string(ordinal++);
    } else {
      continue;
    }
    statement.op = &op;
    statement.scope = enter(nullptr, iters, when, statement.name);
    if (auto equation = dyn_cast<EquationOp>(op)) {
      for (unsigned k = 0; k < equation.getNumTargets(); ++k) {
        SmallVector<Attribute> points;
        SmallVector<Expr> indices = equation.getTargetIndices(k);
        for (const Expr &index : indices)
          points.push_back(AtAttr::get(op.getContext(),
                                       ExprAttr::get(op.getContext(), index)));
        Map map =
            bracket(*statement.scope, ArrayAttr::get(op.getContext(), points));
        map = Map(
            isl_map_set_tuple_name(map.release(), isl_dim_out,
                                   escapeName(equation.getTarget(k)).c_str()));
        defs[equation.getTarget(k)].push_back(
            {unsigned(list.size()), unsigned(statement.writes.size())});
        statement.writes.push_back(
            {equation.getTarget(k), std::move(indices), std::move(map)});
      }
    }
    addStops(statement, &op, iters, when, statement.scope);
    analyse(statement, op.getRegion(0), statement.scope);
    list.push_back(std::move(statement));
  }
}

void Program::collectParameters() {
  SmallVector<Expr> facts;
  for (auto dim : moduleOp.getOps<DimOp>()) {
    Expr extent = dim.getExtent().getExpr();
    if (!extent.isConst())
      facts.push_back(Expr::ge(extent, Expr::constant(1)));
  }
  for (auto arg : moduleOp.getOps<ArgOp>())
    if (isa<IntegerType>(arg.getDefaultValue().getType()) &&
        !arg.getDefaultValue().getType().isInteger(1))
      params.push_back(arg.getSymName().str());
  for (auto dim : moduleOp.getOps<DimOp>()) {
    if (!dim.getUntil())
      continue;
    Expr end = Expr::var(stopName(dim.getSymName()));
    params.push_back(end.name().str());
    facts.push_back(Expr::ge(end, Expr::constant(1)));
    facts.push_back(Expr::le(end, dim.getExtent().getExpr()));
  }
  // Only what some index expression mentions is a parameter: unused ones would
  // make every set of the program larger.
  llvm::StringMap<bool> mentioned;
  AttrTypeWalker walker;
  walker.addWalk([&](ExprAttr attr) {
    for (const std::string &name : attr.getExpr().variables())
      mentioned[name] = true;
  });
  moduleOp.walk([&](Operation *op) { walker.walk(op->getAttrDictionary()); });
  llvm::erase_if(params,
                 [&](const std::string &name) { return !mentioned[name]; });
  for (auto dim : moduleOp.getOps<DimOp>())
    if (llvm::is_contained(params, stopName(dim.getSymName())))
      stopVariables.emplace_back(stopName(dim.getSymName()), dim);
  llvm::erase_if(facts, [&](const Expr &fact) {
    return llvm::none_of(fact.variables(), [&](const std::string &name) {
      return llvm::is_contained(params, name);
    });
  });
  Coordinates none(ctx, {}, params);
  assumed = Set(isl_set_params(none.where(Expr::conj(facts)).release()));
}

const Statement *Program::find(StringRef tupleName) const {
  auto found = llvm::find_if(
      list, [&](const Statement &s) { return s.name == tupleName; });
  return found == list.end() ? nullptr : &*found;
}

ArrayRef<Definition> Program::definitions(StringRef tensor) const {
  auto found = defs.find(tensor);
  return found == defs.end() ? ArrayRef<Definition>() : found->second;
}

DimOp Program::dim(StringRef name) const { return dims.lookup(name); }

Set Program::defined(StringRef source) const {
  Operation *op = SymbolTable::lookupSymbolIn(
      moduleOp, StringAttr::get(moduleOp.getContext(), source));
  if (auto input = dyn_cast_or_null<InputOp>(op)) {
    SmallVector<std::string> names;
    SmallVector<Expr> facts;
    for (auto name : input.getOver().getAsRange<StringAttr>()) {
      names.push_back(name.str());
      DimOp over = dim(name);
      if (!over)
        continue;
      facts.push_back(Expr::ge(Expr::var(name), Expr::constant(0)));
      facts.push_back(Expr::lt(Expr::var(name), over.getExtent().getExpr()));
    }
    return Coordinates(ctx, names, params, escapeName(source))
        .where(Expr::conj(facts));
  }
  auto tensor = dyn_cast_or_null<TensorOp>(op);
  if (!tensor)
    return Set();
  SmallVector<std::string> names;
  for (unsigned k = 0; k < tensor.getRank(); ++k)
    names.push_back("p" + std::to_string(k));
  Coordinates coordinates(ctx, names, params, escapeName(source));
  Set result(isl_set_empty(coordinates.space().copy()));
  for (const Definition &definition : definitions(source))
    result = result |
             rangeOf(list[definition.statement].writes[definition.write].map);
  return result;
}

std::shared_ptr<const Scope> Program::enter(const Scope *outer, ArrayAttr iters,
                                            const Expr &when,
                                            StringRef tuple) const {
  auto scope = std::make_shared<Scope>();
  if (outer)
    scope->names = outer->names;
  SmallVector<Expr> facts{when};
  for (auto iter : iters.getAsRange<IterAttr>()) {
    Expr var = Expr::var(iter.getName());
    scope->names.push_back(iter.getName().str());
    facts.push_back(Expr::ge(var, iter.getLo().getExpr()));
    facts.push_back(Expr::lt(var, iter.getHi().getExpr()));
  }
  Coordinates coordinates(ctx, scope->names, params, tuple);
  scope->points = coordinates.where(Expr::conj(facts));
  if (!outer) {
    scope->points =
        Set(isl_set_intersect_params(scope->points.release(), assumed.copy()));
    return scope;
  }
  Set around(isl_set_add_dims(outer->points.copy(), isl_dim_set, iters.size()));
  around = Set(isl_set_set_tuple_name(around.release(), tuple.str().c_str()));
  scope->points = scope->points & around;
  return scope;
}

Map Program::bracket(const Scope &scope, ArrayAttr indices) const {
  auto names = scope.names;
  SmallVector<Expr> facts;
  for (auto [k, index] : llvm::enumerate(indices)) {
    names.push_back("p" + std::to_string(k) + ".");
    Expr point = Expr::var(names.back());
    auto between = [&](const Expr &lo, const Expr &hi) {
      facts.push_back(Expr::ge(point, lo));
      facts.push_back(Expr::lt(point, hi));
    };
    if (auto at = dyn_cast<AtAttr>(index))
      facts.push_back(Expr::eq(point, at.getIndex().getExpr()));
    else if (auto range = dyn_cast<RangeAttr>(index))
      between(range.getLo().getExpr(), range.getHi().getExpr());
    else if (auto dynamic = dyn_cast<DynamicAttr>(index))
      between(dynamic.getLo().getExpr(), dynamic.getHi().getExpr());
  }
  Set pairs = Coordinates(ctx, names, params).where(Expr::conj(facts));
  Map map(isl_map_from_domain(pairs.release()));
  map = Map(isl_map_move_dims(map.release(), isl_dim_out, 0, isl_dim_in,
                              scope.names.size(), indices.size()));
  if (isl_set_has_tuple_name(scope.points.get()) == isl_bool_true)
    map = Map(isl_map_set_tuple_name(
        map.release(), isl_dim_in, isl_set_get_tuple_name(scope.points.get())));
  return map & scope.points;
}

void Program::addAccess(Statement &statement, Access::Kind kind, Operation *op,
                        StringRef source, ArrayAttr indices,
                        const std::shared_ptr<const Scope> &scope) {
  auto [entry, isNew] = brackets.try_emplace(
      {scope.get(), indices.getAsOpaquePointer()}, Map(), Map());
  auto &[full, relation] = entry->second;
  if (isNew) {
    full = bracket(*scope, indices);
    relation = full;
    unsigned rank = statement.dims().size();
    if (scope->names.size() > rank) {
      relation = Map(isl_map_project_out(relation.release(), isl_dim_in, rank,
                                         scope->names.size() - rank));
      relation = Map(isl_map_set_tuple_name(relation.release(), isl_dim_in,
                                            statement.name.c_str()));
    }
  }
  auto named = [&](const Map &map) {
    return Map(isl_map_set_tuple_name(map.copy(), isl_dim_out,
                                      escapeName(source).c_str()));
  };
  bool may = llvm::any_of(
      indices, [](Attribute index) { return isa<DynamicAttr>(index); });
  statement.accesses.push_back({kind, op, source, scope, named(full),
                                named(relation), may,
                                indices.getAsOpaquePointer()});
}

/// Accesses to the `until` of each stopped dim that decides whether a point is
/// there (`iters`), or on whose length a value depends (`exprs`); where a body
/// asks for the length, to its count, too, if that has a place.
void Program::addStops(Statement &statement, Operation *op, ArrayAttr iters,
                       ArrayRef<Expr> exprs,
                       const std::shared_ptr<const Scope> &scope) {
  MLIRContext *context = moduleOp.getContext();
  auto add = [&](StringRef name, Attribute last) {
    DimOp stopped = dims.lookup(name);
    if (!stopped || !stopped.getUntil())
      return;
    bool asked = last == nullptr;
    if (asked && !stopped.getCounted())
      return;
    auto until = SymbolTable::lookupNearestSymbolFrom<TensorOp>(
        moduleOp, stopped.getUntilAttr());
    if (!until)
      return;
    SmallVector<Attribute> indices;
    for (Attribute position : until.getPositions().getValue().drop_back()) {
      StringRef outer = cast<StringAttr>(position).getValue();
      if (!llvm::is_contained(scope->names, outer))
        return;
      indices.push_back(
          AtAttr::get(context, ExprAttr::get(context, Expr::var(outer))));
    }
    if (!asked)
      indices.push_back(last);
    addAccess(statement, Access::Kind::Stop, op,
              asked ? *stopped.getCounted() : until.getSymName(),
              ArrayAttr::get(context, indices), scope);
  };
  auto whole = [&](StringRef name) {
    add(name, nullptr);
    add(name,
        RangeAttr::get(context, ExprAttr::get(context, Expr::constant(0)),
                       ExprAttr::get(context, Expr::var(stopName(name)))));
  };

  llvm::SmallVector<std::string> lengths;
  auto mention = [&](const Expr &expr) {
    for (const std::string &variable : expr.variables())
      if (StringRef name = stoppedDim(variable);
          !name.empty() && !llvm::is_contained(lengths, name))
        lengths.push_back(name.str());
  };
  for (auto iter : iters.getAsRange<IterAttr>()) {
    mention(iter.getLo().getExpr());
    // Of t in 0:end(t) + c, a point t >= c + 1 is there unless the dim stopped
    // before: that is known once `until` is at t - c - 1.
    Expr hi = iter.getHi().getExpr();
    std::vector<std::string> variables = hi.variables();
    std::optional<int64_t> excess;
    if (variables.size() == 1 && !stoppedDim(variables[0]).empty())
      excess = (hi - Expr::var(variables[0])).getConst();
    if (!excess) {
      mention(hi);
      continue;
    }
    Expr last = Expr::var(iter.getName()) - Expr::constant(*excess + 1);
    // As a range of one point or none: nothing is read for the first points.
    add(stoppedDim(variables[0]),
        RangeAttr::get(
            context,
            ExprAttr::get(context, Expr::max({last, Expr::constant(0)})),
            ExprAttr::get(context, last + Expr::constant(1))));
    if (op != statement.op)
      add(stoppedDim(variables[0]), nullptr);
  }
  for (const Expr &expr : exprs)
    mention(expr);
  for (const std::string &name : lengths)
    whole(name);
}

void Program::analyse(Statement &statement, Region &region,
                      std::shared_ptr<const Scope> scope) {
  if (region.empty())
    return;
  ArrayAttr none = ArrayAttr::get(moduleOp.getContext(), {});
  auto points = [&](ArrayAttr exprs) {
    SmallVector<Attribute> indices;
    for (auto expr : exprs.getAsRange<ExprAttr>())
      indices.push_back(AtAttr::get(moduleOp.getContext(), expr));
    return ArrayAttr::get(moduleOp.getContext(), indices);
  };
  for (Operation &op : region.front()) {
    if (auto read = dyn_cast<ReadOp>(op)) {
      addAccess(statement, Access::Kind::Read, &op, read.getSource(),
                read.getIndices(), scope);
      SmallVector<Expr> exprs;
      for (Attribute index : read.getIndices()) {
        if (auto at = dyn_cast<AtAttr>(index))
          exprs.push_back(at.getIndex().getExpr());
        else if (auto range = dyn_cast<RangeAttr>(index))
          exprs.append({range.getLo().getExpr(), range.getHi().getExpr()});
      }
      addStops(statement, &op, none, exprs, scope);
    } else if (auto grad = dyn_cast<GradOp>(op)) {
      addAccess(statement, Access::Kind::Gradient, &op, grad.getOf(),
                points(grad.getOfIndices()), scope);
      ArrayAttr leaf = points(grad.getWrtIndices());
      for (auto wrt : grad.getWrt().getAsRange<FlatSymbolRefAttr>())
        addAccess(statement, Access::Kind::Leaf, &op, wrt.getValue(), leaf,
                  scope);
    } else if (isa<ExtractOp>(op)) {
      statement.extracts.push_back({&op, scope});
    } else if (auto index = dyn_cast<IndexOp>(op)) {
      addStops(statement, &op, none, index.getExpr().getExpr(), scope);
    } else if (auto over = dyn_cast<ReduceOverOp>(op)) {
      Expr when = over.getWhen().getExpr();
      auto inner = enter(scope.get(), over.getBinders(), when, statement.name);
      addStops(statement, &op, over.getBinders(), {}, inner);
      addStops(statement, &op, none, when, scope);
      analyse(statement, over.getBody(), inner);
    } else if (auto choice = dyn_cast<CaseOp>(op)) {
      Expr condition = choice.getCondition().getExpr();
      addStops(statement, &op, none, condition, scope);
      analyse(statement, choice.getThen(),
              enter(scope.get(), none, condition, statement.name));
      analyse(
          statement, choice.getOtherwise(),
          enter(scope.get(), none, Expr::negate(condition), statement.name));
    } else {
      for (Region &inner : op.getRegions())
        analyse(statement, inner, scope);
    }
  }
}

Set Program::renameStops(const Set &set) const {
  Set result = set;
  for (auto [name, dim] : stopVariables) {
    int position = isl_set_find_dim_by_name(result.get(), isl_dim_param,
                                            escapeName(name).c_str());
    if (position >= 0)
      result =
          Set(isl_set_set_dim_name(result.release(), isl_dim_param, position,
                                   escapeName(name + "'").c_str()));
  }
  return result;
}

Map Program::renameStops(const Map &map) const {
  Set wrapped(isl_map_wrap(map.copy()));
  return Map(isl_set_unwrap(renameStops(wrapped).release()));
}

unsigned Program::sourceClass(StringRef source) const {
  auto [entry, isNew] = classOf.try_emplace(source, 0);
  if (!isNew)
    return entry->second;
  std::string key;
  llvm::raw_string_ostream os(key);
  Operation *op = SymbolTable::lookupSymbolIn(
      moduleOp, StringAttr::get(moduleOp.getContext(), source));
  if (auto input = dyn_cast_or_null<InputOp>(op)) {
    os << "input";
    for (auto name : input.getOver().getAsRange<StringAttr>())
      os << ' ' << name.getValue();
  }
  for (const Definition &definition : definitions(source)) {
    os << definition.statement << '[';
    for (const Expr &index :
         list[definition.statement].writes[definition.write].indices)
      os << index.str() << ", ";
    os << ']';
  }
  entry->second = classes.try_emplace(key, classes.size()).first->second;
  return entry->second;
}

std::string poly::describe(ArrayRef<std::string> names,
                           ArrayRef<int64_t> values) {
  std::string text;
  for (auto [name, value] : llvm::zip(names, values)) {
    if (!text.empty())
      text += ", ";
    text += name + " = " + std::to_string(value);
  }
  return text;
}
