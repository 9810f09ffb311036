//===- Schedule.cpp - An order for all points of all statements -----------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After R. Allen and K. Kennedy, "Automatic translation of FORTRAN programs to
// vector form" (TOPLAS 1987): strongly connected components in topological
// order; one with a cycle gets a loop along which all its dependences go
// forward (or all backward), which drops those it carries, and the rest is
// scheduled inside. Components that can share a loop do.
//
//===----------------------------------------------------------------------===//

#include "Align.h"
#include "Stops.h"
#include <numeric>
#include <set>

using namespace mlir;
using namespace timerl;
using namespace timerl::poly;
using namespace timerl::schedule;

namespace {

/// A loop, the statements in it, and which components they are.
struct Cluster {
  Candidate loop;
  Members members;
  std::vector<bool> taken;
};

class Scheduler {
public:
  Scheduler(Graph &graph, Preference preference)
      : graph(graph), preference(preference) {}

  LogicalResult run() {
    Members all(graph.statements.size());
    std::iota(all.begin(), all.end(), 0);
    Edges edges = graph.dependences;
    for (unsigned s : all)
      keepOrder(edges, s);
    return schedule(all, edges, {});
  }

private:
  void keepOrder(Edges &edges, unsigned s);
  LogicalResult schedule(const Members &members, const Edges &edges,
                         const std::vector<std::string> &variables);
  std::optional<Cluster> grow(const std::vector<Members> &components,
                              const Edges &edges, unsigned seed, unsigned dim,
                              bool parallel, Preference preference);
  Edges enter(const Cluster &cluster, Edges edges, unsigned place,
              unsigned seed, const std::vector<std::string> &variables);
  void bringForward(std::vector<Members> &components, const Edges &edges);
  LogicalResult reportCycle(const Members &members);

  Graph &graph;
  Preference preference;
  std::optional<StopConflict> stopConflict; ///< the last that forbade a loop
};

bool contains(const Members &members, unsigned s) {
  return std::binary_search(members.begin(), members.end(), s);
}

Edges edgesInside(const Edges &edges, const Members &members) {
  Edges inside;
  for (const Dependence &edge : edges)
    if (contains(members, edge.from) && contains(members, edge.to))
      inside.push_back(edge);
  return inside;
}

} // namespace

/// What is reported comes in the order of its domain.
void Scheduler::keepOrder(Edges &edges, unsigned s) {
  const schedule::Statement &statement = graph.statements[s];
  if (statement.dims.empty() ||
      pdg::NodeOp(statement.node).getOutput() != trl::OutputKind::report)
    return;
  Map later(isl_map_lex_lt(isl_set_get_space(statement.points.get())));
  later = later & statement.points;
  later =
      Map(isl_map_intersect_range(later.release(), statement.points.copy()));
  if (!isEmpty(later))
    edges.emplace_back(s, s, later, llvm::SmallVector<std::string>());
}

/// Components that can share a loop with the first one; `parallel`: a loop
/// whose iterations need no order.
std::optional<Cluster> Scheduler::grow(const std::vector<Members> &components,
                                       const Edges &edges, unsigned seed,
                                       unsigned dim, bool parallel,
                                       Preference preference) {
  Cluster cluster;
  cluster.members = components[0];
  cluster.taken.assign(components.size(), false);
  cluster.taken[0] = true;
  Edges inside = edgesInside(edges, cluster.members);
  auto loop = align(graph, cluster.members, inside, seed, dim, false);
  if (!loop || (parallel && !loop->parallel))
    return std::nullopt;
  if (auto conflict = findStopConflict(graph, cluster.members, *loop)) {
    stopConflict = conflict;
    return std::nullopt;
  }
  // To keep storage small, a recurrence runs through the outermost loop that it
  // can.
  auto waits = [&](const Members &component, const Candidate &candidate) {
    return preference == Preference::Storage && candidate.parallel &&
           !edgesInside(edges, component).empty();
  };
  if (waits(components[0], *loop) && graph.statements[seed].countFree() > 1)
    return std::nullopt;
  cluster.loop = *loop;
  std::set<unsigned> waiting;
  for (unsigned c = 1; c < components.size(); ++c) {
    const Members &next = components[c];
    // What is fed by something outside comes later.
    bool ready = llvm::none_of(edges, [&](const Dependence &edge) {
      return waiting.count(edge.from) && contains(next, edge.to);
    });
    if (ready && llvm::all_of(next, [&](unsigned s) {
          return graph.statements[s].countFree() > 0;
        })) {
      Members larger;
      std::merge(cluster.members.begin(), cluster.members.end(), next.begin(),
                 next.end(), std::back_inserter(larger));
      Edges inside = edgesInside(edges, larger);
      auto joint = align(graph, larger, inside, seed, dim, true);
      if (joint && (joint->parallel || !parallel) && !waits(next, *joint) &&
          !findStopConflict(graph, larger, *joint)) {
        cluster.loop = *joint;
        cluster.members = larger;
        cluster.taken[c] = true;
        continue;
      }
    }
    waiting.insert(next.begin(), next.end());
  }
  return cluster;
}

LogicalResult Scheduler::reportCycle(const Members &members) {
  if (graph.context.failed())
    return failure(); // No answer of isl means anything.
  if (stopConflict)
    return reportStopConflict(graph, *stopConflict);
  auto diagnostic =
      graph.statements[members[0]].node.emitError()
      << "E0801: no order of evaluation as static loops was found for "
         "equations that depend on each other";
  for (unsigned s : members)
    diagnostic.attachNote(graph.statements[s].node.getLoc())
        << "part of the cycle";
  return failure();
}

/// Makes the loop; gives the edges that remain inside one iteration.
Edges Scheduler::enter(const Cluster &cluster, Edges edges, unsigned place,
                       unsigned seed,
                       const std::vector<std::string> &variables) {
  const auto &alignments = cluster.loop.alignments;
  unsigned number = graph.loops.size();
  std::string base = graph.statements[seed].dims[alignments.at(seed).dim];
  std::string name = base;
  for (unsigned k = 1; llvm::is_contained(variables, name) ||
                       llvm::is_contained(graph.params, name);
       ++k)
    name = base + "_" + std::to_string(k);
  graph.loops.push_back({name, cluster.loop.reverse, cluster.loop.parallel});
  graph.carried.emplace_back();
  // The loop's variable is the seed's dim itself, where scales allow.
  int64_t origin = alignments.at(seed).shift;
  for (auto &[s, alignment] : alignments)
    graph.statements[s].steps.push_back({number, place, alignment.dim,
                                         alignment.scale,
                                         alignment.shift - origin});
  Edges inner;
  for (Dependence &edge : edges) {
    const auto &from = alignments.at(edge.from), &to = alignments.at(edge.to);
    Bounds bounds = edge.distance(from.dim, from.scale, to.dim, to.scale);
    int64_t same = from.shift - to.shift;
    if (bounds.min == same && bounds.max == same) {
      inner.push_back(std::move(edge));
      continue;
    }
    graph.carried[number].insert(edge.tensors.begin(), edge.tensors.end());
    isl_constraint *equal = isl_constraint_alloc_equality(
        isl_local_space_from_space(isl_map_get_space(edge.map.get())));
    equal = addTerm(equal, isl_dim_out, to.dim, to.scale);
    equal = addTerm(equal, isl_dim_in, from.dim, -from.scale);
    equal = isl_constraint_set_constant_si(equal, -same);
    Map map(isl_map_add_constraint(edge.map.copy(), equal));
    if (!isEmpty(map))
      inner.emplace_back(edge.from, edge.to, map, edge.tensors);
  }
  return inner;
}

/// Of the components that are ready, those come first that could not share a
/// loop with one that is not, and of these the ones with the fewest dims. So
/// initial values do not keep apart the loops around what follows.
void Scheduler::bringForward(std::vector<Members> &components,
                             const Edges &edges) {
  std::map<unsigned, size_t> owner;
  for (auto [c, component] : llvm::enumerate(components))
    for (unsigned s : component)
      owner[s] = c;
  std::vector<std::set<size_t>> before(components.size()),
      after(components.size());
  for (const Dependence &edge : edges) {
    auto from = owner.find(edge.from), to = owner.find(edge.to);
    if (from == owner.end() || to == owner.end() || from->second == to->second)
      continue;
    before[to->second].insert(from->second);
    after[from->second].insert(to->second);
  }
  auto couldWait = [&](size_t c) {
    unsigned seed = components[c][0];
    for (size_t other : after[c]) {
      if (before[other].size() < 2)
        continue;
      Members both;
      std::merge(components[c].begin(), components[c].end(),
                 components[other].begin(), components[other].end(),
                 std::back_inserter(both));
      Edges inside = edgesInside(edges, both);
      for (unsigned d = 0; d < graph.statements[seed].dims.size(); ++d)
        if (!graph.statements[seed].isFixed(d) &&
            align(graph, both, inside, seed, d, true))
          return true;
    }
    return false;
  };
  std::optional<std::tuple<bool, unsigned, size_t>> best;
  for (size_t c = 0; c < components.size(); ++c) {
    if (!before[c].empty())
      continue;
    unsigned dims = UINT_MAX;
    for (unsigned s : components[c])
      dims = std::min(dims, graph.statements[s].countFree());
    std::tuple<bool, unsigned, size_t> rank{dims > 0 && couldWait(c), dims, c};
    if (!best || rank < *best)
      best = rank;
  }
  auto first = components.begin() + std::get<2>(*best);
  std::rotate(components.begin(), first, std::next(first));
}

LogicalResult Scheduler::schedule(const Members &members, const Edges &edges,
                                  const std::vector<std::string> &variables) {
  std::vector<Members> rest =
      findComponents(members, edges, graph.statements.size());
  for (unsigned place = 0; !rest.empty(); ++place) {
    bringForward(rest, edges);
    // Seeds are the dims of the statement with the fewest; else, of the others.
    Members seeds;
    for (unsigned s : rest[0])
      if (graph.statements[s].countFree() > 0)
        seeds.push_back(s);
    llvm::stable_sort(seeds, [&](unsigned a, unsigned b) {
      return graph.statements[a].countFree() < graph.statements[b].countFree();
    });
    if (seeds.empty()) {
      if (!edgesInside(edges, rest[0]).empty())
        return reportCycle(rest[0]);
      graph.statements[rest[0][0]].place = place;
      rest.erase(rest.begin());
      continue;
    }
    // The loop that most can share; one without an order counts double, so
    // that it goes outside.
    auto weight = [&](const Cluster &cluster) {
      bool counts = cluster.loop.parallel && preference == Preference::Parallel;
      return cluster.members.size() * (counts ? 2 : 1);
    };
    std::optional<Cluster> best;
    stopConflict.reset();
    unsigned seed = seeds[0];
    auto consider = [&](Preference preference) {
      for (unsigned d = 0; d < graph.statements[seed].dims.size(); ++d) {
        if (graph.statements[seed].isFixed(d))
          continue;
        for (bool parallel : {true, false}) {
          auto cluster = grow(rest, edges, seed, d, parallel, preference);
          if (cluster && (!best || weight(*cluster) > weight(*best)))
            best = std::move(cluster);
        }
      }
    };
    for (unsigned candidate : seeds) {
      seed = candidate;
      consider(preference);
      if (!best)
        consider(Preference::Parallel); // Whatever there is.
      if (best)
        break;
    }
    if (!best)
      return reportCycle(rest[0]);
    Edges inner =
        enter(*best, edgesInside(edges, best->members), place, seed, variables);
    std::vector<std::string> deeper = variables;
    deeper.push_back(graph.loops.back().variable);
    if (failed(schedule(best->members, inner, deeper)))
      return failure();
    std::vector<Members> left;
    for (unsigned c = 0; c < rest.size(); ++c)
      if (!best->taken[c])
        left.push_back(std::move(rest[c]));
    rest = std::move(left);
  }
  return success();
}

LogicalResult schedule::computeSchedule(Graph &graph, Preference preference) {
  return Scheduler(graph, preference).run();
}
