//===- Window.cpp - How many slots a tensor needs -------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two points of a tensor conflict when one is written while the other is still
// to be read. Windows are the moduli of V. Lefebvre and P. Feautrier,
// "Automatic storage management for parallel programs" (Parallel Computing,
// 1998): position by position, one more than the greatest distance of
// conflicting points that agree in the positions before.
//
//===----------------------------------------------------------------------===//

#include "Window.h"
#include "llvm/Support/MathExtras.h"

using namespace timerl;
using namespace timerl::memory;
using namespace timerl::poly;
using namespace timerl::schedule;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

std::optional<int64_t> take(isl_val *value) {
  std::optional<int64_t> result;
  if (value && isl_val_is_int(value) == isl_bool_true)
    result = isl_val_get_num_si(value);
  isl_val_free(value);
  return result;
}

unsigned placeOf(const schedule::Statement &statement, unsigned depth) {
  return depth < statement.steps.size() ? statement.steps[depth].place
                                        : statement.place;
}

unsigned commonLoops(const schedule::Statement &a,
                     const schedule::Statement &b) {
  unsigned k = 0;
  while (k < a.steps.size() && k < b.steps.size() &&
         a.steps[k].loop == b.steps[k].loop)
    ++k;
  return k;
}

/// Whether the statements have the same variables of the same loops around.
bool sameSteps(const schedule::Statement &a, const schedule::Statement &b) {
  return a.steps.size() == b.steps.size() &&
         llvm::equal(a.steps, b.steps,
                     [](const LoopStep &x, const LoopStep &y) {
                       return x.loop == y.loop && x.dim == y.dim &&
                              x.scale == y.scale && x.shift == y.shift;
                     });
}

/// One choice: who writes and reads, and what was found of it.
class WindowChooser {
public:
  WindowChooser(const Graph &graph, const Uses &uses, MapPool &pool)
      : graph(graph) {
    for (const Use &use : uses.writes)
      writes.push_back(unnamed(use, pool));
    for (const Use &use : uses.reads)
      addRead(unnamed(use, pool));
  }

  /// All that the choice depends on.
  std::string key() const;
  std::optional<Window> choose();

private:
  struct Access {
    const schedule::Statement *statement;
    Map points; ///< without the names of its tuples
  };

  Access unnamed(const Use &use, MapPool &pool) const;
  void addRead(Access read);
  Map order(const Access &a, const Access &b) const;
  Set conflicts() const;

  const Graph &graph;
  SmallVector<Access> writes, reads;
};

} // namespace

WindowChooser::Access WindowChooser::unnamed(const Use &use,
                                             MapPool &pool) const {
  isl_map *map = isl_map_reset_tuple_id(use.relation->copy(), isl_dim_in);
  map = isl_map_reset_tuple_id(map, isl_dim_out);
  return {&graph.statements[use.statement], pool.unique(Map(map))};
}

/// Of reads of the same points in the same iteration only the last counts.
void WindowChooser::addRead(Access read) {
  for (Access &other : reads)
    if (other.points.get() == read.points.get() &&
        sameSteps(*other.statement, *read.statement)) {
      if (other.statement->place < read.statement->place)
        other = read;
      return;
    }
  reads.push_back(read);
}

std::string WindowChooser::key() const {
  // Loops by first occurrence, and places by their order: leaves of a record
  // differ in nothing else.
  std::map<unsigned, unsigned> loops;
  auto path = [](const schedule::Statement &statement) {
    SmallVector<unsigned> places;
    for (unsigned k = 0; k <= statement.steps.size(); ++k)
      places.push_back(placeOf(statement, k));
    return places;
  };
  std::set<SmallVector<unsigned>> paths;
  for (auto *list : {&writes, &reads})
    for (const Access &access : *list)
      paths.insert(path(*access.statement));
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto *list : {&writes, &reads}) {
    os << '|';
    for (const Access &access : *list) {
      os << access.points.get() << '@'
         << std::distance(paths.begin(), paths.find(path(*access.statement)));
      for (const LoopStep &step : access.statement->steps) {
        const Loop &loop = graph.loops[step.loop];
        os << ',' << loops.try_emplace(step.loop, loops.size()).first->second
           << (loop.reverse ? "r" : "") << (loop.parallel ? "p" : "") << ':'
           << step.dim << ':' << step.scale << ':' << step.shift;
      }
      os << ';';
    }
  }
  return text;
}

/// { instance of a -> instance of b }: the first comes before the second, or
/// may do so. Iterations of a loop without an order come before each other.
Map WindowChooser::order(const Access &a, const Access &b) const {
  Space space(isl_space_map_from_domain_and_range(
      isl_space_domain(isl_map_get_space(a.points.get())),
      isl_space_domain(isl_map_get_space(b.points.get()))));
  const schedule::Statement &first = *a.statement, &second = *b.statement;
  unsigned common = commonLoops(first, second);
  Map result(isl_map_empty(space.copy()));
  isl_basic_map *equal = isl_basic_map_universe(space.copy());
  /// b's value of a loop less a's, plus a constant.
  auto compare = [&](unsigned k, bool equality, int sign, int64_t constant) {
    const LoopStep &x = first.steps[k], &y = second.steps[k];
    isl_local_space *local = isl_local_space_from_space(space.copy());
    isl_constraint *constraint = equality
                                     ? isl_constraint_alloc_equality(local)
                                     : isl_constraint_alloc_inequality(local);
    constraint = addTerm(constraint, isl_dim_in, x.dim, -sign * x.scale);
    constraint = addTerm(constraint, isl_dim_out, y.dim, sign * y.scale);
    return isl_constraint_set_constant_si(
        constraint, sign * (y.shift - x.shift) + constant);
  };
  for (unsigned k = 0; k < common; ++k) {
    const Loop &loop = graph.loops[first.steps[k].loop];
    for (int sign : {1, -1}) {
      if (!loop.parallel && sign != (loop.reverse ? -1 : 1))
        continue;
      isl_basic_map *way = isl_basic_map_add_constraint(
          isl_basic_map_copy(equal), compare(k, false, sign, -1));
      result = result | Map(isl_map_from_basic_map(way));
    }
    equal = isl_basic_map_add_constraint(equal, compare(k, true, 1, 0));
  }
  if (placeOf(first, common) < placeOf(second, common))
    return result | Map(isl_map_from_basic_map(equal));
  isl_basic_map_free(equal);
  return result;
}

/// The distances p' - p of points p' that are written after p and before p's
/// last read. A statement reads before it writes, so its own writes come after
/// its reads.
Set WindowChooser::conflicts() const {
  Set all;
  for (const Access &later : writes) {
    // From p to the instance that writes p'.
    Map after, before;
    for (const Access &write : writes) {
      Map map = compose(reverse(write.points), order(write, later));
      after = after ? after | map : map;
    }
    for (const Access &read : reads) {
      Map map = compose(reverse(read.points), reverse(order(later, read)));
      before = before ? before | map : map;
    }
    if (!before)
      before = Map(isl_map_empty(isl_map_get_space(after.get())));
    Map pairs = compose(after & before, later.points);
    Set distances(isl_map_deltas(pairs.release()));
    all = all ? all | distances : distances;
  }
  return all;
}

std::optional<Window> WindowChooser::choose() {
  unsigned rank = isl_map_dim(writes[0].points.get(), isl_dim_out);
  Window result;
  Set points;
  for (const Access &write : writes)
    points = points ? points | rangeOf(write.points) : rangeOf(write.points);
  SmallVector<std::optional<int64_t>> extents;
  for (unsigned p = 0; p < rank; ++p) {
    auto lo = take(isl_set_dim_min_val(points.copy(), p));
    auto hi = take(isl_set_dim_max_val(points.copy(), p));
    result.origin.push_back(lo.value_or(0));
    extents.push_back(std::nullopt);
    if (lo && hi)
      extents.back() = *hi - *lo + 1;
  }
  // The order of positions decides how small their product gets: all are tried,
  // of the few that there are.
  SmallVector<unsigned> fixed, order;
  for (unsigned p = 0; p < rank; ++p)
    (p >= 5 ? fixed : order).push_back(p);
  Set distances;
  if (!order.empty()) {
    distances = conflicts();
    for (unsigned p : fixed)
      distances = Set(isl_set_fix_si(distances.release(), isl_dim_set, p, 0));
  }
  /// The window of a position where those before it, as bits, agree.
  std::map<std::pair<unsigned, unsigned>, std::optional<int64_t>> sizes;
  auto sizeAfter = [&](unsigned agree, unsigned p) {
    auto [known, isNew] = sizes.try_emplace({agree, p});
    std::optional<int64_t> &size = known->second;
    if (!isNew)
      return size;
    Set left = distances;
    for (unsigned q : order)
      if (agree >> q & 1)
        left = Set(isl_set_fix_si(left.release(), isl_dim_set, q, 0));
    size = 1;
    if (!isEmpty(left)) {
      auto least = take(isl_set_dim_min_val(left.copy(), p));
      auto most = take(isl_set_dim_max_val(left.copy(), p));
      size = std::nullopt;
      if (least && most)
        size = std::max(-*least, *most) + 1;
    }
    if (extents[p] && (!size || *size > *extents[p]))
      size = extents[p];
    return size;
  };
  bool found = false;
  do {
    SmallVector<int64_t> window(rank, 1);
    int64_t slots = 1;
    bool bounded = true;
    auto choose = [&](unsigned p, std::optional<int64_t> size) {
      window[p] = size.value_or(1);
      bounded &= size && !llvm::MulOverflow(slots, window[p], slots);
    };
    for (unsigned p : fixed)
      choose(p, extents[p]);
    unsigned agree = 0;
    for (unsigned p : order) {
      choose(p, sizeAfter(agree, p));
      agree |= 1u << p;
    }
    if (bounded && (!found || slots < result.slots)) {
      found = true;
      result.slots = slots;
      result.sizes.assign(window.begin(), window.end());
    }
  } while (std::next_permutation(order.begin(), order.end()));
  if (!found)
    return std::nullopt;
  return result;
}

std::optional<Window> memory::chooseWindow(const Graph &graph, const Uses &uses,
                                           WindowCache &cache) {
  WindowChooser chooser(graph, uses, cache.pool);
  auto [known, isNew] = cache.windows.try_emplace(chooser.key());
  if (isNew)
    known->second = chooser.choose();
  return known->second;
}
