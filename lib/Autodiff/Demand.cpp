//===- Demand.cpp - Which points an adjoint is needed at ------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Demand.h"
#include "timerl/Poly/Convert.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/SetVector.h"
#include <deque>

using namespace mlir;
using namespace timerl;
using namespace timerl::autodiff;
using namespace timerl::poly;
using namespace timerl::trl;

Site::Site(GradOp grad)
    : grad(grad), ofIndices(getExprs(grad.getOfIndices())),
      leafIndices(getExprs(grad.getWrtIndices())), scope(scopeOf(grad)) {
  for (auto leaf : grad.getWrt().getAsRange<FlatSymbolRefAttr>())
    leaves.push_back(leaf.getValue());
  for (IterAttr iterator : scope.iterators) {
    StringRef name = iterator.getName().getValue();
    auto mentions = [&](const Expr &expr) { return expr.mentions(name); };
    if (llvm::any_of(ofIndices, mentions) ||
        (hasSeveralLeaves() && llvm::any_of(leafIndices, mentions)))
      outer.push_back(iterator);
  }
}

//===----------------------------------------------------------------------===//
// Relations
//===----------------------------------------------------------------------===//

/// Numbers some first dims of a set as a map's domain; further ones that stay
/// behind `domain + range` are projected out.
static Map asMap(Set set, unsigned domain, unsigned range) {
  unsigned rank = isl_set_dim(set.get(), isl_dim_set);
  isl_set *projected = isl_set_project_out(
      set.release(), isl_dim_set, domain + range, rank - domain - range);
  isl_map *map = isl_map_from_range(isl_set_reset_tuple_id(projected));
  map = isl_map_move_dims(map, isl_dim_in, 0, isl_dim_out, 0, domain);
  return Map(isl_map_compute_divs(map));
}

/// What a scope says of its iterators. Names that it does not bind are added
/// to `names`: run-time scalars, and the ends of stopped dims, of which only
/// the extent is known.
static Expr scopeCondition(const Scope &scope, ArrayRef<Expr> others,
                           const std::map<std::string, int64_t> &extents,
                           SmallVectorImpl<std::string> &names) {
  SmallVector<Expr> all(scope.conditions);
  for (IterAttr iterator : scope.iterators) {
    Expr variable = Expr::var(iterator.getName().getValue());
    all.push_back(Expr::le(iterator.getLo().getExpr(), variable));
    all.push_back(Expr::lt(variable, iterator.getHi().getExpr()));
  }
  llvm::append_range(all, others);
  SmallVector<Expr> bounds;
  for (const Expr &expr : all)
    for (const std::string &name : expr.variables()) {
      if (llvm::is_contained(names, name))
        continue;
      names.push_back(name);
      if (StringRef(name).starts_with("end(")) {
        bounds.push_back(Expr::le(Expr(), Expr::var(name)));
        auto extent =
            extents.find(StringRef(name).drop_front(4).drop_back().str());
        if (extent != extents.end())
          bounds.push_back(
              Expr::le(Expr::var(name), Expr::constant(extent->second)));
      }
    }
  llvm::append_range(all, bounds);
  return Expr::conj(all);
}

static std::string textOf(ArrayRef<Attribute> indices) {
  std::string text;
  for (Attribute index : indices) {
    if (auto at = dyn_cast<AtAttr>(index))
      text += at.getIndex().getText();
    else if (auto range = dyn_cast<RangeAttr>(index))
      text += (range.getLo().getText() + ":" + range.getHi().getText()).str();
    else
      text += ("dyn" + cast<DynamicAttr>(index).getLo().getText() + ":" +
               cast<DynamicAttr>(index).getHi().getText())
                  .str();
    text += ",";
  }
  return text;
}

Map Demand::relation(const Scope &scope, ArrayRef<Attribute> indices) const {
  Map &relation = cache.relations[scope.text() + "->" + textOf(indices)];
  if (relation)
    return relation;
  SmallVector<std::string> names;
  for (IterAttr iterator : scope.iterators)
    names.push_back(iterator.getName().str());
  SmallVector<Expr> conditions;
  for (auto [k, index] : llvm::enumerate(indices)) {
    names.push_back("at." + std::to_string(k));
    Expr position = Expr::var(names.back());
    if (auto at = dyn_cast<AtAttr>(index)) {
      conditions.push_back(Expr::eq(position, at.getIndex().getExpr()));
      continue;
    }
    Expr lo, hi;
    if (auto range = dyn_cast<RangeAttr>(index)) {
      lo = range.getLo().getExpr();
      hi = range.getHi().getExpr();
    } else {
      lo = cast<DynamicAttr>(index).getLo().getExpr();
      hi = cast<DynamicAttr>(index).getHi().getExpr();
      if (lo == Expr() && hi == Expr())
        continue; // No range is known.
    }
    conditions.push_back(Expr::le(lo, position));
    conditions.push_back(Expr::lt(position, hi));
  }
  Expr condition = scopeCondition(scope, conditions, extents, names);
  Coordinates coordinates(isl, names, {});
  relation = asMap(coordinates.where(condition), scope.iterators.size(),
                   indices.size());
  return relation;
}

Map Demand::seed(ArrayRef<Expr> indices) const {
  SmallVector<Attribute> attrs;
  for (const Expr &index : indices)
    attrs.push_back(AtAttr::get(site.grad->getContext(),
                                ExprAttr::get(site.grad->getContext(), index)));
  std::string key = site.scope.text() + "->" + textOf(attrs) + "/";
  for (IterAttr iterator : site.outer)
    key += iterator.getName().str() + ",";
  Map &map = cache.seeds[key];
  if (map)
    return map;
  map = relation(site.scope, attrs);
  // Iterators that no index mentions are projected out of the domain.
  for (int k = site.scope.iterators.size() - 1; k >= 0; --k)
    if (!llvm::is_contained(site.outer, site.scope.iterators[k]))
      map = Map(isl_map_project_out(map.release(), isl_dim_in, k, 1));
  map = Map(isl_map_compute_divs(map.release()));
  return map;
}

/// instance -> point of the target, over a scope that includes the equation's.
Map Demand::written(EquationOp equation, unsigned target,
                    const Scope *scope) const {
  SmallVector<Attribute> indices;
  for (const Expr &index : equation.getTargetIndices(target))
    indices.push_back(AtAttr::get(equation.getContext(),
                                  ExprAttr::get(equation.getContext(), index)));
  if (scope)
    return relation(*scope, indices);
  return relation(scopeOf(equation.getYield()), indices);
}

/// source point -> target point, or back.
const Map &Demand::edge(unsigned ordinal, unsigned target, bool forward) const {
  auto &known = edges[{ordinal, target}];
  if (!known) {
    const Access &access = graph.accesses[ordinal];
    EquationOp equation = access.equation;
    std::string to;
    for (const Expr &index : equation.getTargetIndices(target))
      to += index.str() + ",";
    auto &entry =
        cache.edges[access.scope.text() + textOf(access.indices) + "->" + to];
    auto &[map, back] = entry;
    if (!map) {
      map = compose(reverse(relation(access.scope, access.indices)),
                    written(access.equation, target, &access.scope));
      map = Map(isl_map_coalesce(isl_map_compute_divs(map.release())));
      map = cache.pool.unique(map);
      back = cache.pool.unique(reverse(map));
    }
    known = &entry;
  }
  return forward ? known->first : known->second;
}

//===----------------------------------------------------------------------===//
// Closures
//===----------------------------------------------------------------------===//

void Demand::findRecurrences() {
  // Tarjan's algorithm, with its own stack.
  struct Frame {
    StringRef tensor;
    SmallVector<StringRef> next;
    unsigned position = 0;
  };
  auto successors = [&](StringRef tensor) {
    llvm::SetVector<StringRef> next;
    if (auto found = graph.bySource.find(tensor); found != graph.bySource.end())
      for (unsigned k : found->second) {
        const Access &access = graph.accesses[k];
        EquationOp equation = access.equation;
        for (unsigned target : access.targets)
          next.insert(equation.getTarget(target));
      }
    return next.takeVector();
  };
  std::map<StringRef, unsigned> number, low;
  std::vector<StringRef> stack;
  for (auto &[root, unused] : graph.bySource) {
    if (number.count(root))
      continue;
    std::vector<Frame> frames;
    auto enter = [&](StringRef tensor) {
      unsigned index = number.size();
      number[tensor] = low[tensor] = index;
      stack.push_back(tensor);
      frames.push_back({tensor, successors(tensor)});
    };
    enter(root);
    while (!frames.empty()) {
      Frame &frame = frames.back();
      StringRef tensor = frame.tensor;
      if (frame.position < frame.next.size()) {
        StringRef next = frame.next[frame.position++];
        if (!number.count(next))
          enter(next);
        else if (!component.count(next))
          low[tensor] = std::min(low[tensor], number[next]);
        continue;
      }
      if (low[tensor] == number[tensor])
        for (StringRef member; member != tensor; stack.pop_back()) {
          member = stack.back();
          component[member] = number[tensor];
        }
      frames.pop_back();
      if (!frames.empty())
        low[frames.back().tensor] =
            std::min(low[frames.back().tensor], low[tensor]);
    }
  }
}

namespace {

/// The hull, with those orders between a position and an outer dim that hold
/// for all of `map`. Over small extents isl writes `i = 2, i' = 1` for i' = i -
/// 1, and a hull would lose that the one comes before the other.
Map ordered(isl_basic_map *hull, const Map &map) {
  Map result(isl_map_from_basic_map(hull));
  unsigned outers = isl_map_dim(map.get(), isl_dim_in),
           rank = isl_map_dim(map.get(), isl_dim_out);
  Map all(isl_map_universe(isl_map_get_space(map.get())));
  for (unsigned k = 0; k < rank; ++k)
    for (unsigned j = 0; j < outers; ++j)
      for (auto *order : {isl_map_order_gt, isl_map_order_lt, isl_map_order_ge,
                          isl_map_order_le}) {
        Map holds(order(all.copy(), isl_dim_out, k, isl_dim_in, j));
        if (isl_map_is_subset(map.get(), holds.get()) == isl_bool_true &&
            isl_map_is_subset(result.get(), holds.get()) == isl_bool_false)
          result = result & holds;
      }
  return result;
}

Map simpleHull(const Map &map) {
  return ordered(isl_map_simple_hull(map.copy()), map);
}

/// The constraints of the basic relation `old` that hold for `next`, too, and
/// orders from a finite set: so a chain of widenings comes to an end.
Map widen(const Map &old, const Map &next) {
  isl_map_list *olds = isl_map_list_from_map(old.copy());
  Map both = old | next;
  return ordered(isl_map_unshifted_simple_hull_from_map_list(both.copy(), olds),
                 both);
}

/// The basic relations of a relation, without empty ones.
SmallVector<Map> basicParts(const Map &map) {
  SmallVector<Map> parts;
  auto collect = [](isl_basic_map *part, void *user) {
    Map map(isl_map_from_basic_map(part));
    if (isl_map_is_empty(map.get()) == isl_bool_false)
      static_cast<SmallVector<Map> *>(user)->push_back(std::move(map));
    return isl_stat_ok;
  };
  isl_map_foreach_basic_map(map.get(), collect, &parts);
  return parts;
}

Map withoutPosition(const Map &map, unsigned position) {
  return Map(isl_map_project_out(map.copy(), isl_dim_out, position, 1));
}

/// More pieces of one tensor than this are joined.
constexpr unsigned maxPieces = 12;

} // namespace

/// Adds a basic relation; gives what is new and has to be followed, or null.
Map Demand::insert(Pieces &pieces, const Map &piece, bool recurrent) const {
  std::vector<const void *> key = {piece.get(), recurrent ? &cache : nullptr};
  for (const Map &old : pieces)
    key.push_back(old.get());
  auto [known, isNew] = cache.insertions.try_emplace(std::move(key));
  DemandCache::Insertion &insertion = known->second;
  if (isNew) {
    insertion.after = pieces;
    insertion.added = insertNew(insertion.after, piece, recurrent);
    insertion.added = cache.pool.unique(insertion.added);
    for (Map &map : insertion.after)
      map = cache.pool.unique(map);
  }
  if (insertion.added)
    pieces = insertion.after;
  return insertion.added;
}

Map Demand::insertNew(Pieces &pieces, const Map &piece, bool recurrent) const {
  // Most are inside one of the pieces; a difference with their union is dear.
  for (const Map &old : pieces)
    if (isl_map_plain_is_equal(piece.get(), old.get()) == isl_bool_true ||
        isl_map_is_subset(piece.get(), old.get()) == isl_bool_true)
      return Map();
  Map all;
  for (const Map &old : pieces)
    all = all ? all | old : old;
  if (pieces.size() > 1 &&
      isl_map_is_subset(piece.get(), all.get()) == isl_bool_true)
    return Map();
  unsigned rank = isl_map_dim(piece.get(), isl_dim_out);
  if (recurrent)
    for (Map &old : pieces)
      for (unsigned k = 0; k < rank; ++k) {
        // A step along one position, the others unchanged.
        Map rest = withoutPosition(old, k);
        Map moved = withoutPosition(piece, k);
        if (isl_map_is_subset(moved.get(), rest.get()) != isl_bool_true)
          continue;
        old = widen(old, piece);
        return old;
      }
  if (pieces.size() >= maxPieces) {
    // Twice, as the hull of parts that keep moving does not come to an end.
    Map hull = simpleHull(all);
    pieces.assign(1, recurrent ? widen(hull, piece) : simpleHull(hull | piece));
    return pieces.front();
  }
  pieces.push_back(piece);
  return piece;
}

const Demand::SameNames &Demand::sameNames(StringRef tensor) const {
  auto [known, isNew] = namesOf.try_emplace(tensor);
  SameNames &same = known->second;
  if (!isNew)
    return same;
  auto module = GradOp(site.grad)->getParentOfType<ModuleOp>();
  if (auto declaration = dyn_cast_or_null<TensorOp>(
          SymbolTable::lookupSymbolIn(module, tensor)))
    for (auto [k, name] : llvm::enumerate(declaration.getPositions()))
      for (auto [j, iterator] : llvm::enumerate(site.outer))
        if (iterator.getName() == name) {
          same.pairs.push_back({j, k});
          same.key += std::to_string(j) + "=" + std::to_string(k) + ",";
        }
  return same;
}

/// Splits a basic relation by the order of each position of the tensor and the
/// outer dim of the same name: before, at, after.
const DemandCache::Classes &Demand::classify(StringRef tensor,
                                             const Map &piece) const {
  const SameNames &same = sameNames(tensor);
  auto [known, isNew] = cache.classified.try_emplace({piece.get(), same.key});
  DemandCache::Classes &parts = known->second;
  if (!isNew)
    return parts;
  parts.push_back({0, piece});
  for (auto [j, k] : same.pairs) {
    DemandCache::Classes split;
    for (auto &[order, part] : parts) {
      unsigned ordinal = 0;
      for (auto *relation :
           {isl_map_order_lt, isl_map_equate, isl_map_order_gt}) {
        Map whole(relation(part.copy(), isl_dim_out, k, isl_dim_in, j));
        for (const Map &basic : basicParts(whole))
          split.push_back({order * 3 + ordinal, basic});
        ++ordinal;
      }
    }
    parts = std::move(split);
  }
  for (auto &[order, part] : parts)
    part = cache.pool.unique(part);
  return parts;
}

/// Of the points that a relation leads to.
static Map identity(const Map &map) {
  isl_space *space = isl_space_range(isl_map_get_space(map.get()));
  return Map(isl_map_identity(isl_space_map_from_set(space)));
}

/// Where a basic relation leads over an edge, as basic relations.
const SmallVector<Map> &Demand::image(const Map &piece, const Map &step) const {
  auto [known, isNew] = cache.images.try_emplace({piece.get(), step.get()});
  Pieces &parts = known->second;
  if (!isNew)
    return parts;
  Map whole = compose(piece, step);
  whole = Map(isl_map_coalesce(isl_map_compute_divs(whole.release())));
  parts = basicParts(whole);
  for (Map &part : parts)
    part = cache.pool.unique(part);
  return parts;
}

Demand::Closure Demand::close(ArrayRef<std::pair<StringRef, Map>> seeds,
                              bool forward) const {
  Closure closure;
  std::deque<std::pair<StringRef, Map>> open;
  auto add = [&](StringRef tensor, ArrayRef<Map> parts, bool recurrent) {
    for (const Map &part : parts)
      for (auto &[order, piece] : classify(tensor, part))
        if (Map added = insert(closure[tensor][order], piece, recurrent))
          open.push_back({tensor, added});
  };
  for (auto &[tensor, map] : seeds)
    add(tensor, image(cache.pool.unique(map), cache.pool.unique(identity(map))),
        false);

  auto follow = [&](StringRef from, StringRef to, const Map &piece,
                    unsigned access, unsigned target) {
    add(to, image(piece, edge(access, target, forward)),
        component.at(from) == component.at(to));
  };
  // Termination: a widening drops a bound, and there are finitely many.
  while (!open.empty() && !isl.failed()) {
    auto [tensor, piece] = open.front();
    open.pop_front();
    if (forward) {
      if (auto found = graph.bySource.find(tensor);
          found != graph.bySource.end())
        for (unsigned k : found->second) {
          const Access &access = graph.accesses[k];
          EquationOp equation = access.equation;
          for (unsigned target : access.targets)
            follow(tensor, equation.getTarget(target), piece, k, target);
        }
      continue;
    }
    auto found = graph.definitions.find(tensor);
    if (found == graph.definitions.end())
      continue;
    for (auto &[equation, target] : found->second)
      if (auto accesses = graph.byEquation.find(equation);
          accesses != graph.byEquation.end())
        for (unsigned k : accesses->second)
          if (llvm::is_contained(graph.accesses[k].targets, target))
            follow(tensor, graph.accesses[k].source, piece, k, target);
  }
  return closure;
}

static Map unite(const std::map<unsigned, DemandCache::Pieces> &classes) {
  Map all;
  for (auto &[order, pieces] : classes)
    for (const Map &piece : pieces)
      all = all ? all | piece : piece;
  return all;
}

Demand::Demand(IslContext &isl, DemandCache &cache, const Graph &graph,
               const Site &site, const std::map<std::string, int64_t> &extents)
    : isl(isl), cache(cache), graph(graph), site(site), extents(extents) {
  findRecurrences();
  for (auto &[tensor, unused] : graph.definitions)
    component.emplace(tensor, ~0u - component.size());
  auto known = [&](StringRef tensor) {
    component.emplace(tensor, ~0u - component.size());
  };
  known(GradOp(site.grad).getOf());
  SmallVector<std::pair<StringRef, Map>> leaves, ends;
  Map leaf = seed(site.leafIndices), end = seed(site.ofIndices);
  outer = domainOf(leaf);
  for (StringRef tensor : site.leaves) {
    known(tensor);
    leaves.push_back({tensor, leaf});
  }
  ends.push_back({GradOp(site.grad).getOf(), end});
  Closure varied = close(leaves, /*forward=*/true);
  Closure useful = close(ends, /*forward=*/false);
  for (auto &[tensor, pieces] : varied) {
    auto other = useful.find(tensor);
    if (other == useful.end())
      continue;
    Map both = unite(pieces) & unite(other->second);
    // Widening may have gone beyond the tensor's own domain.
    if (auto found = graph.definitions.find(tensor);
        found != graph.definitions.end()) {
      Set domain;
      for (auto &[equation, target] : found->second) {
        Set part = rangeOf(written(equation, target));
        domain = domain ? domain | part : part;
      }
      both = Map(isl_map_intersect_range(both.release(), domain.release()));
    }
    both = Map(isl_map_coalesce(both.release()));
    if (isl_map_is_empty(both.get()) == isl_bool_false) {
      demanded[tensor] = both;
      needed.push_back(tensor);
    }
  }
}

Map Demand::points(StringRef tensor) const {
  auto found = demanded.find(tensor);
  return found == demanded.end() ? Map() : found->second;
}

Map Demand::instances(unsigned ordinal, unsigned target) const {
  const Access &access = graph.accesses[ordinal];
  EquationOp equation = access.equation;
  Map source = points(access.source),
      result = points(equation.getTarget(target));
  if (!source || !result)
    return Map();
  // What defines a leaf is not followed: another leaf may be in it.
  if (site.hasSeveralLeaves() &&
      llvm::is_contained(site.leaves, equation.getTarget(target)))
    result = result - seed(site.leafIndices);
  Map reads = relation(access.scope, access.indices);
  Map writes = written(access.equation, target, &access.scope);
  Map both = compose(source, reverse(reads)) & compose(result, reverse(writes));
  both = Map(isl_map_coalesce(isl_map_compute_divs(both.release())));
  return isl_map_is_empty(both.get()) == isl_bool_false ? both : Map();
}

GradOp Demand::unresolved() const {
  for (auto [k, access] : llvm::enumerate(graph.accesses))
    if (access.isGrad())
      for (unsigned target : access.targets)
        if (instances(k, target))
          return cast<GradOp>(access.op);
  return GradOp();
}
