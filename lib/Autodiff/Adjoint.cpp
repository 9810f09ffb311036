//===- Adjoint.cpp - Plans of adjoints ------------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adjoint.h"
#include "Outline.h"
#include "Vjp.h"
#include "timerl/Poly/Convert.h"
#include <isl/ilp.h>
#include <set>

using namespace mlir;
using namespace timerl;
using namespace timerl::autodiff;
using namespace timerl::poly;
using namespace timerl::trl;

static Range rangeOf(IterAttr iterator) {
  return {iterator.getName().str(), iterator.getLo().getExpr(),
          iterator.getHi().getExpr()};
}

static SmallVector<std::string> namesOf(ArrayRef<Range> ranges) {
  SmallVector<std::string> names;
  for (const Range &range : ranges)
    names.push_back(range.name);
  return names;
}

/// `name`, or with a number if it is taken.
static std::string freshName(StringRef name, ArrayRef<std::string> taken) {
  std::string fresh = name.str();
  for (unsigned k = 1; llvm::is_contained(taken, fresh); ++k)
    fresh = (name + "_" + Twine(k)).str();
  return fresh;
}

/// The points of a relation as a set: domain's dims, then range's.
static Set flatten(const Map &map) {
  return Set(isl_set_flatten(isl_map_wrap(map.copy())));
}

/// What the equations of an affine hull say, each expression being 0.
static SmallVector<Expr> equalities(const Set &set,
                                    ArrayRef<std::string> names) {
  SmallVector<Expr> result;
  Set hull(isl_set_from_basic_set(isl_set_affine_hull(set.copy())));
  if (auto condition = toCondition(hull, names))
    for (const Expr &part : conjuncts(*condition))
      if (part.kind() == Expr::Kind::Eq)
        result.push_back(part.operands()[0]);
  return result;
}

AdjointBuilder::AdjointBuilder(ModuleOp module, IslContext &isl,
                               const Graph &graph, const Demand &demand,
                               const Site &site)
    : module(module), isl(isl), graph(graph), demand(demand), site(site),
      loc(GradOp(site.grad).getLoc()), top(module.getContext()) {
  Operation *equation = site.grad;
  while (equation->getParentOp() != module)
    equation = equation->getParentOp();
  top.setInsertionPoint(equation);
  for (IterAttr iterator : site.outer) {
    outerRanges.push_back(rangeOf(iterator));
    outerNames.push_back(outerRanges.back().name);
  }
}

LogicalResult AdjointBuilder::failure(Operation *op, const Twine &what) {
  op->emitError("E0703: ") << what;
  return mlir::failure();
}

std::string AdjointBuilder::declare(StringRef name, ArrayRef<Range> dims,
                                    Type type) {
  std::string unique = uniqueName(module, name);
  SmallVector<std::string> names = namesOf(dims);
  SmallVector<StringRef> positions(names.begin(), names.end());
  TensorOp::create(top, loc, top.getStringAttr(unique), TypeAttr::get(type),
                   top.getStrArrayAttr(positions), top.getUnitAttr());
  return unique;
}

/// A condition for membership of `set`, given a box and what is known in it.
Expr AdjointBuilder::conditionOf(const Set &set, ArrayRef<Range> box,
                                 const Expr &known,
                                 ArrayRef<std::string> names) {
  Coordinates coordinates(isl, names, {});
  SmallVector<Expr> all = {known};
  for (const Range &range : box) {
    all.push_back(Expr::le(range.lo, Expr::var(range.name)));
    all.push_back(Expr::lt(Expr::var(range.name), range.hi));
  }
  Set context = coordinates.where(Expr::conj(all));
  Set gist(isl_set_coalesce(
      isl_set_gist(isl_set_reset_tuple_id(set.copy()), context.release())));
  if (auto condition = toCondition(gist, names))
    return *condition;
  // Too large is harmless: it costs adjoints that are 0.
  Set hull(isl_set_from_basic_set(
      isl_set_simple_hull(isl_set_remove_divs(gist.release()))));
  if (auto condition = toCondition(hull, names))
    return *condition;
  return Expr::boolean(true);
}

//===----------------------------------------------------------------------===//
// Adjoints
//===----------------------------------------------------------------------===//

/// Constant bounds of a dim of the set, or what the tensor's equations say.
std::optional<Range> AdjointBuilder::positionRange(StringRef tensor,
                                                   unsigned position,
                                                   const Set &set,
                                                   unsigned dim) const {
  Isl<isl_val> lo(isl_set_dim_min_val(set.copy(), dim)),
      hi(isl_set_dim_max_val(set.copy(), dim));
  if (lo && hi && isl_val_is_int(lo.get()) && isl_val_is_int(hi.get()))
    return Range{"", Expr::constant(isl_val_get_num_si(lo.get())),
                 Expr::constant(isl_val_get_num_si(hi.get()) + 1)};
  std::optional<Range> hull;
  auto found = graph.definitions.find(tensor);
  if (found == graph.definitions.end())
    return std::nullopt;
  for (auto [equation, target] : found->second) {
    Expr index = equation.getTargetIndices(target)[position];
    Range part{"", index, index + Expr::constant(1)};
    for (auto iterator : equation.getDomain().getAsRange<IterAttr>()) {
      StringRef name = iterator.getName().getValue();
      if (!index.mentions(name))
        continue;
      std::optional<Expr> rest = solveFor(index, name);
      if (!rest)
        return std::nullopt;
      Expr offset = index - Expr::var(name);
      part.lo = iterator.getLo().getExpr() + offset;
      part.hi = iterator.getHi().getExpr() + offset;
    }
    if (hull) {
      part.lo = Expr::min({hull->lo, part.lo});
      part.hi = Expr::max({hull->hi, part.hi});
    }
    hull = part;
  }
  if (!hull)
    return std::nullopt;
  for (const Expr &bound : {hull->lo, hull->hi})
    for (const std::string &name : bound.variables())
      if (!SymbolTable::lookupSymbolIn(module, name) ||
          !isa<ArgOp>(SymbolTable::lookupSymbolIn(module, name)))
        return std::nullopt;
  return hull;
}

LogicalResult AdjointBuilder::planAdjoint(StringRef tensor) {
  auto declaration =
      cast<TensorOp>(SymbolTable::lookupSymbolIn(module, tensor));
  Adjoint adjoint;
  adjoint.tensor = tensor;
  adjoint.type = cast<RankedTensorType>(declaration.getType());
  Set set = flatten(demand.points(tensor));
  unsigned rank = declaration.getRank();

  SmallVector<std::string> names = outerNames, positions;
  for (auto [k, position] : llvm::enumerate(declaration.getPositions())) {
    StringRef name = cast<StringAttr>(position).getValue();
    positions.push_back(
        freshName(name.empty() ? "p" + std::to_string(k) : name.str(), names));
    names.push_back(positions.back());
  }
  SmallVector<Expr> ignored;
  // Lengths of dims that stop speak of outer dims by name: these stay.
  std::set<std::string> outer;
  for (auto dim : module.getOps<DimOp>())
    if (dim.getUntil())
      for (const std::string &name : dim.getOuterDims())
        outer.insert(name);
  SmallVector<std::string> unknowns;
  for (const std::string &position : positions)
    if (!outer.count(position))
      unknowns.push_back(position);
  Assignment solved = solve(equalities(set, names), unknowns, ignored);
  adjoint.dims = outerRanges;
  for (unsigned k = rank; k-- > 0;)
    if (solved.count(positions[k]))
      set = Set(isl_set_project_out(set.release(), isl_dim_set,
                                    outerNames.size() + k, 1));
  for (unsigned k = 0; k < rank; ++k) {
    auto value = solved.find(positions[k]);
    if (value != solved.end()) {
      adjoint.point.push_back(value->second);
      continue;
    }
    auto range =
        positionRange(tensor, k, set, outerNames.size() + adjoint.free.size());
    if (!range)
      return failure(site.grad, "the gradient needs the adjoint of `" + tensor +
                                    "` over a range that is not known");
    range->name = positions[k];
    adjoint.point.push_back(Expr::var(positions[k]));
    adjoint.free.push_back(k);
    adjoint.dims.push_back(*range);
  }
  adjoint.when = conditionOf(set, adjoint.dims, Expr::boolean(true),
                             namesOf(adjoint.dims));
  adjoints[tensor] = std::move(adjoint);
  return success();
}

AdjointBuilder::Index AdjointBuilder::indexOf(const Adjoint &adjoint,
                                              ArrayRef<Expr> outer,
                                              ArrayRef<Expr> point) const {
  Index index;
  Assignment values;
  for (auto [name, value] : llvm::zip(outerNames, outer)) {
    index.exprs.push_back(value);
    values[name] = value;
  }
  for (unsigned k : adjoint.free) {
    index.exprs.push_back(point[k]);
    values[adjoint.dims[index.exprs.size() - 1].name] = point[k];
  }
  SmallVector<Expr> guard;
  for (auto [range, value] : llvm::zip(adjoint.dims, index.exprs)) {
    guard.push_back(Expr::le(substitute(range.lo, values), value));
    guard.push_back(Expr::lt(value, substitute(range.hi, values)));
  }
  guard.push_back(substitute(adjoint.when, values));
  for (auto [position, value] : llvm::zip(adjoint.point, point))
    guard.push_back(Expr::eq(substitute(position, values), value));
  index.guard = Expr::conj(guard);
  return index;
}

/// Reads where the index is a point of the tensor, and is 0 elsewhere. A
/// tensor without a name is 1 at its points.
Value AdjointBuilder::readGuarded(OpBuilder &builder, Location loc,
                                  StringRef tensor, const Index &index,
                                  Type type, const Context &context) {
  auto read = [&]() -> Value {
    if (tensor.empty())
      return Emit{builder, loc}.fill(type, 1);
    SmallVector<Attribute> indices;
    for (const Expr &expr : index.exprs)
      indices.push_back(AtAttr::get(builder.getContext(),
                                    ExprAttr::get(builder.getContext(), expr)));
    return ReadOp::create(builder, loc, type,
                          FlatSymbolRefAttr::get(builder.getContext(), tensor),
                          builder.getArrayAttr(indices), ValueRange());
  };
  Expr condition = context.simplify(index.guard);
  if (condition.isTrue())
    return read();
  if (condition.isFalse())
    return Emit{builder, loc}.zero(type);
  auto choice = CaseOp::create(builder, loc, TypeRange(type),
                               ExprAttr::get(builder.getContext(), condition));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&choice.getThen().emplaceBlock());
  Value value = read();
  YieldOp::create(builder, loc, value);
  builder.setInsertionPointToStart(&choice.getOtherwise().emplaceBlock());
  Value zero = Emit{builder, loc}.zero(type);
  YieldOp::create(builder, loc, zero);
  return choice->getResult(0);
}

//===----------------------------------------------------------------------===//
// Local cotangents
//===----------------------------------------------------------------------===//

/// The first extremum of several binders is found by one number.
LogicalResult AdjointBuilder::checkReduction(const Local &local) {
  ReduceOverOp reduce = local.reduce;
  if (!reduce || reduce.getBinders().size() == 1 ||
      (reduce.getReduction() != Reduction::max &&
       reduce.getReduction() != Reduction::min))
    return success();
  int64_t points = 1;
  for (auto binder : reduce.getBinders().getAsRange<IterAttr>()) {
    auto lo = binder.getLo().getExpr().getConst(),
         hi = binder.getHi().getExpr().getConst();
    if (!lo || *lo < 0 || !hi || *hi > INT32_MAX ||
        (points *= std::max<int64_t>(*hi, 1)) > INT32_MAX)
      return failure(reduce,
                     "the gradient of a maximum or minimum over several "
                     "binders needs constant ranges; write one "
                     "reduction inside the other");
  }
  return success();
}

LogicalResult AdjointBuilder::planLocal(EquationOp equation) {
  Local local;
  local.equation = equation;
  Set set;
  auto accesses = graph.byEquation.find(equation);
  if (accesses == graph.byEquation.end())
    return success();
  for (unsigned k : accesses->second) {
    const Access &access = graph.accesses[k];
    bool carries = false;
    for (unsigned target : access.targets)
      if (Map instances = demand.instances(k, target)) {
        Set part = flatten(instances);
        set = set ? set | part : part;
        carries = true;
      }
    if (carries)
      local.accesses.push_back(k);
  }
  if (local.accesses.empty())
    return success();
  const Access &first = graph.accesses[local.accesses[0]];
  local.reduce = first.op->getParentOfType<ReduceOverOp>();
  if (failed(checkReduction(local)))
    return mlir::failure();

  // Coordinates: the outer dims under names of their own, then e.
  SmallVector<std::string> names, outer;
  SmallVector<Range> iterators;
  for (const std::string &name : outerNames)
    outer.push_back("o." + name);
  names = outer;
  for (IterAttr iterator : first.scope.iterators) {
    iterators.push_back(rangeOf(iterator));
    names.push_back(iterators.back().name);
  }
  SmallVector<Expr> ignored;
  Assignment solved = solve(equalities(set, names), outer, ignored);
  for (unsigned k = outer.size(); k-- > 0;)
    if (solved.count(outer[k]))
      set = Set(isl_set_project_out(set.release(), isl_dim_set, k, 1));

  // Outer dims that stay keep their names unless the equation uses them.
  SmallVector<std::string> taken(names.begin() + outer.size(), names.end());
  Assignment renamed;
  for (auto [k, range] : llvm::enumerate(outerRanges))
    if (!solved.count(outer[k])) {
      std::string name = freshName(range.name, taken);
      taken.push_back(name);
      renamed[outer[k]] = Expr::var(name);
      local.dims.push_back({name, range.lo, range.hi});
    }
  for (auto [k, range] : llvm::enumerate(outerRanges)) {
    auto value = solved.find(outer[k]);
    local.outer.push_back(value == solved.end()
                              ? renamed[outer[k]]
                              : substitute(value->second, renamed));
  }
  // Their ranges may mention other outer dims.
  Assignment values;
  for (auto [name, value] : llvm::zip(outerNames, local.outer))
    values[name] = value;
  for (Range &range : local.dims) {
    range.lo = substitute(range.lo, values);
    range.hi = substitute(range.hi, values);
  }
  llvm::append_range(local.dims, iterators);
  SmallVector<Expr> known = {equation.getWhen().getExpr()};
  if (local.reduce)
    known.push_back(local.reduce.getWhen().getExpr());
  known.push_back(
      conditionOf(set, local.dims, Expr::conj(known), namesOf(local.dims)));
  local.when = Expr::conj(known);
  locals[equation] = std::move(local);
  return success();
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

LogicalResult AdjointBuilder::run() {
  for (const Range &range : outerRanges)
    for (const Expr &bound : {range.lo, range.hi})
      for (IterAttr iterator : site.scope.iterators)
        if (bound.mentions(iterator.getName().getValue()) &&
            !llvm::is_contained(site.outer, iterator))
          return failure(site.grad, "the range of `" + range.name +
                                        "` depends on a dim that the gradient "
                                        "does not mention");
  for (StringRef tensor : demand.tensors())
    if (failed(planAdjoint(tensor)))
      return mlir::failure();
  for (auto equation : module.getOps<EquationOp>())
    if (failed(planLocal(equation)))
      return mlir::failure();

  if (auto found = adjoints.find(GradOp(site.grad).getOf());
      found != adjoints.end()) {
    // Its adjoint is 1 when its one point is the seed and nothing else reads
    // it.
    Adjoint &end = found->second;
    end.isOne =
        llvm::equal(end.point, site.ofIndices) &&
        llvm::none_of(locals, [&](auto &entry) {
          return llvm::any_of(entry.second.accesses, [&](unsigned access) {
            return graph.accesses[access].source == end.tensor;
          });
        });
  }
  for (auto &[tensor, adjoint] : adjoints)
    if (!adjoint.isOne || llvm::is_contained(site.leaves, tensor))
      adjoint.name =
          declare(("d." + GradOp(site.grad).getOf() + "." + tensor).str(),
                  adjoint.dims, adjoint.type);
  for (auto &[equation, local] : locals)
    if (failed(buildLocal(local)))
      return mlir::failure();
  for (auto &[tensor, adjoint] : adjoints)
    if (!adjoint.name.empty() && failed(buildAdjoint(adjoint)))
      return mlir::failure();
  for (auto &[equation, local] : locals)
    finishLocal(local);

  OpBuilder builder(site.grad);
  SmallVector<Range> scope;
  for (IterAttr iterator : site.scope.iterators)
    scope.push_back(rangeOf(iterator));
  Context context(isl, scope, Expr::conj(site.scope.conditions));
  SmallVector<Expr> outer;
  for (const std::string &name : outerNames)
    outer.push_back(Expr::var(name));
  for (auto [leaf, result] :
       llvm::zip(site.leaves, GradOp(site.grad).getResults())) {
    auto found = adjoints.find(leaf);
    Value value =
        found == adjoints.end()
            ? Emit{builder, loc}.zero(result.getType())
            : readGuarded(builder, loc, found->second.name,
                          indexOf(found->second, outer, site.leafIndices),
                          result.getType(), context);
    result.replaceAllUsesWith(value);
  }
  GradOp(site.grad).erase();
  if (isl.failed())
    return failure(module, "the index sets of a gradient are too complex: " +
                               isl.message());
  return success();
}
