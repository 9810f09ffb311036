//===- Cycles.cpp - No point depends on itself ----------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instances of the equations and their dependences form a graph, which has
// no cycle if the program is a definition. As in loop vectorisation (J. R.
// Allen, K. Kennedy, "Automatic Translation of Fortran Programs to Vector
// Form", TOPLAS 1987), the strongly connected components of the graph of
// equations are split: along a dim with one direction and a shift for each
// equation, such that every dependence of the component points backwards or
// stays, a cycle would have to stay. So what moves is dropped, and the rest
// split again. A component that no dim splits is given to isl's scheduler,
// which also tries affine combinations. Is there no schedule either, a search
// over concrete instances looks for the cycle.
//
//===----------------------------------------------------------------------===//

#include "Proof.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <deque>
#include <isl/ilp.h>
#include <isl/point.h>
#include <isl/schedule.h>
#include <map>
#include <set>

using namespace mlir;
using namespace timerl;
using namespace timerl::poly;
using namespace timerl::trl;

namespace {
/// Instances of `reader` need instances of `writer`.
struct Dependence {
  unsigned reader;
  unsigned writer;
  const Access *access;
  Map map; ///< { reader -> writer }
};

/// One instance of a statement.
using Instance = std::pair<unsigned, SmallVector<int64_t>>;

class CycleChecker {
public:
  explicit CycleChecker(Proof &proof) : proof(proof), program(proof.program) {}

  void run() {
    SmallVector<unsigned> all;
    for (unsigned k = 0; k < program.statements().size(); ++k)
      all.push_back(k);
    // Relations are computed inside the components of the plain graph alone.
    std::vector<Dependence> plain = candidates();
    for (SmallVector<unsigned> &component : components(all, plain)) {
      std::vector<Dependence> inner;
      for (Dependence &dependence : plain)
        if (isInside(component, dependence)) {
          Dependence exact = dependence;
          exact.map = relate(dependence);
          if (!isEmpty(exact.map))
            inner.push_back(std::move(exact));
        }
      check(component, std::move(inner), 0);
    }
  }

private:
  Proof &proof;
  const Program &program;
  static constexpr unsigned maxDepth = 12;
  static constexpr unsigned fewSteps = 500, manySteps = 20000;

  //===--------------------------------------------------------------------===//
  // The graph
  //===--------------------------------------------------------------------===//

  /// Every pair of an access and a definition of what it reads, with accesses
  /// that are alike taken once; without relations yet.
  std::vector<Dependence> candidates() const {
    std::vector<Dependence> result;
    for (auto [reader, statement] : llvm::enumerate(program.statements())) {
      std::set<std::tuple<const Scope *, const void *, unsigned>> seen;
      for (const Access &access : statement.accesses) {
        if (!seen.insert({access.scope.get(), access.bracket,
                          program.sourceClass(access.source)})
                 .second)
          continue;
        for (const Definition &definition : program.definitions(access.source))
          result.push_back(
              {unsigned(reader), definition.statement, &access, Map()});
      }
    }
    return result;
  }

  /// { reader -> writer } of one access and one defining statement.
  Map relate(const Dependence &dependence) const {
    const Statement &writer = program.statements()[dependence.writer];
    const Access &access = *dependence.access;
    Map result;
    for (const Write &write : writer.writes) {
      if (write.tensor != access.source)
        continue;
      // With lengths of stopped dims that may differ at the two ends.
      bool stops = !program.stops().empty();
      Map source = stops ? program.renameStops(write.map) : write.map;
      Map reads = access.relation;
      if (stops) {
        const Statement &reader = program.statements()[dependence.reader];
        Map contradictory =
            contradictoryStops(program, *reader.scope, access.source, reads);
        if (contradictory)
          reads = reads - contradictory;
      }
      Map pairs = compose(reads, reverse(source));
      result = result ? result | pairs : pairs;
    }
    return Map(isl_map_coalesce(result.release()));
  }

  static bool isInside(ArrayRef<unsigned> component,
                       const Dependence &dependence) {
    return llvm::is_contained(component, dependence.reader) &&
           llvm::is_contained(component, dependence.writer);
  }

  /// Strongly connected components that have a cycle, each in program order
  /// (Tarjan, without recursion on the machine's stack).
  static std::vector<SmallVector<unsigned>>
  components(ArrayRef<unsigned> nodes, ArrayRef<Dependence> dependences) {
    llvm::DenseMap<unsigned, SmallVector<unsigned>> successors;
    std::set<unsigned> selfLoops;
    for (const Dependence &dependence : dependences) {
      successors[dependence.reader].push_back(dependence.writer);
      if (dependence.reader == dependence.writer)
        selfLoops.insert(dependence.reader);
    }
    llvm::DenseMap<unsigned, unsigned> index, low;
    llvm::DenseSet<unsigned> onStack;
    SmallVector<unsigned> stack;
    std::vector<SmallVector<unsigned>> result;
    unsigned next = 0;
    for (unsigned root : nodes) {
      if (index.count(root))
        continue;
      SmallVector<std::pair<unsigned, unsigned>> walk; // node, next successor
      auto open = [&](unsigned node) {
        index[node] = low[node] = next++;
        stack.push_back(node);
        onStack.insert(node);
        walk.push_back({node, 0});
      };
      open(root);
      while (!walk.empty()) {
        unsigned node = walk.back().first;
        ArrayRef<unsigned> out = successors[node];
        if (walk.back().second < out.size()) {
          unsigned target = out[walk.back().second++];
          if (!index.count(target))
            open(target);
          else if (onStack.contains(target))
            low[node] = std::min(low[node], index[target]);
          continue;
        }
        walk.pop_back();
        if (!walk.empty())
          low[walk.back().first] = std::min(low[walk.back().first], low[node]);
        if (low[node] != index[node])
          continue;
        SmallVector<unsigned> component;
        unsigned member;
        do {
          member = stack.pop_back_val();
          onStack.erase(member);
          component.push_back(member);
        } while (member != node);
        if (component.size() == 1 && !selfLoops.count(node))
          continue;
        llvm::sort(component);
        result.push_back(std::move(component));
      }
    }
    llvm::sort(result);
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Splitting
  //===--------------------------------------------------------------------===//

  void check(ArrayRef<unsigned> component, std::vector<Dependence> inside,
             unsigned depth) {
    if (inside.empty())
      return;
    if (depth < maxDepth)
      for (bool forward : {true, false})
        for (const std::string &dim : commonDims(component)) {
          std::vector<Dependence> rest;
          if (!split(component, inside, dim, forward, rest))
            continue;
          for (SmallVector<unsigned> &part : components(component, rest)) {
            std::vector<Dependence> inner;
            for (const Dependence &dependence : rest)
              if (isInside(part, dependence))
                inner.push_back(dependence);
            check(part, std::move(inner), depth + 1);
          }
          return;
        }
    resolve(component, inside);
  }

  /// Names of the dims that all statements of the component have, in the order
  /// of the first.
  SmallVector<std::string> commonDims(ArrayRef<unsigned> component) const {
    SmallVector<std::string> result;
    for (const std::string &name :
         program.statements()[component.front()].dims())
      if (llvm::all_of(component, [&](unsigned k) {
            return llvm::is_contained(program.statements()[k].dims(), name);
          }))
        result.push_back(name);
    return result;
  }

  unsigned position(unsigned statement, StringRef dim) const {
    ArrayRef<std::string> dims = program.statements()[statement].dims();
    return llvm::find(dims, dim) - dims.begin();
  }

  /// The affine form reader's dim - writer's dim on flattened pairs.
  Isl<isl_aff> distance(const Dependence &dependence, isl_space *pairs,
                        StringRef dim) const {
    unsigned rank = program.statements()[dependence.reader].dims().size();
    isl_local_space *space = isl_local_space_from_space(pairs);
    isl_aff *here =
        isl_aff_var_on_domain(isl_local_space_copy(space), isl_dim_set,
                              position(dependence.reader, dim));
    isl_aff *there = isl_aff_var_on_domain(
        space, isl_dim_set, rank + position(dependence.writer, dim));
    return Isl<isl_aff>(isl_aff_sub(here, there));
  }

  /// Whether there is a shift for each statement such that, along `dim`, no
  /// dependence points forward; those pairs that stay in place go to `rest`.
  /// False also when all pairs would stay: then nothing is gained.
  bool split(ArrayRef<unsigned> component, ArrayRef<Dependence> inside,
             StringRef dim, bool forward, std::vector<Dependence> &rest) const {
    SmallVector<int64_t> least;
    for (const Dependence &dependence : inside) {
      Set pairs(isl_set_flatten(isl_map_wrap(dependence.map.copy())));
      auto form = distance(dependence, isl_set_get_space(pairs.get()), dim);
      if (!forward)
        form = Isl<isl_aff>(isl_aff_neg(form.release()));
      Isl<isl_val> bound(isl_set_min_val(pairs.get(), form.get()));
      if (!bound || isl_val_is_int(bound.get()) != isl_bool_true)
        return false;
      least.push_back(isl_val_get_num_si(bound.get()));
    }
    // shift(reader) - shift(writer) + least >= 0 for all: shortest paths.
    llvm::DenseMap<unsigned, int64_t> shift;
    bool changed = true;
    for (unsigned round = 0; changed; ++round) {
      if (round > component.size())
        return false;
      changed = false;
      for (auto [dependence, bound] : llvm::zip(inside, least)) {
        int64_t limit = shift.lookup(dependence.reader) + bound;
        if (shift.lookup(dependence.writer) > limit) {
          shift[dependence.writer] = limit;
          changed = true;
        }
      }
    }
    bool gained = false;
    for (auto [dependence, bound] : llvm::zip(inside, least)) {
      int64_t slack =
          shift.lookup(dependence.reader) - shift.lookup(dependence.writer);
      // Those that stay: distance + slack == 0.
      if (bound + slack > 0) {
        gained = true;
        continue;
      }
      Set pairs(isl_set_flatten(isl_map_wrap(dependence.map.copy())));
      auto form = distance(dependence, isl_set_get_space(pairs.get()), dim);
      if (!forward)
        form = Isl<isl_aff>(isl_aff_neg(form.release()));
      form = Isl<isl_aff>(isl_aff_add_constant_si(form.release(), int(slack)));
      unsigned rank = program.statements()[dependence.reader].dims().size();
      // The same form on the pairs as a relation.
      Map staying(isl_map_from_domain(
          isl_set_from_basic_set(isl_aff_zero_basic_set(form.release()))));
      staying = Map(isl_map_move_dims(
          staying.release(), isl_dim_out, 0, isl_dim_in, rank,
          program.statements()[dependence.writer].dims().size()));
      staying = Map(isl_map_set_tuple_name(
          staying.release(), isl_dim_in,
          program.statements()[dependence.reader].name.c_str()));
      staying = Map(isl_map_set_tuple_name(
          staying.release(), isl_dim_out,
          program.statements()[dependence.writer].name.c_str()));
      Dependence left = dependence;
      left.map = dependence.map & staying;
      if (isl_map_is_equal(left.map.get(), dependence.map.get()) !=
          isl_bool_true)
        gained = true;
      rest.push_back(std::move(left));
    }
    return gained;
  }

  //===--------------------------------------------------------------------===//
  // What no dim splits
  //===--------------------------------------------------------------------===//

  void resolve(ArrayRef<unsigned> component, ArrayRef<Dependence> inside) {
    if (search(component, inside, fewSteps))
      return;
    if (hasSchedule(component, inside))
      return;
    if (search(component, inside, manySteps))
      return;
    const Statement &first = program.statements()[component.front()];
    SmallVector<std::string> names;
    for (unsigned k : component)
      if (std::string name = proof.naming.subject(program.statements()[k]);
          !llvm::is_contained(names, name))
        names.push_back(name);
    proof.error("E0407", first.op->getLoc(),
                "it could not be decided whether a point of " +
                    proof.naming.statement(first) +
                    " depends on itself, through " + llvm::join(names, ", "));
  }

  /// Whether isl finds a schedule, which is then checked against every pair.
  bool hasSchedule(ArrayRef<unsigned> component,
                   ArrayRef<Dependence> inside) const {
    isl_ctx *ctx = program.context();
    UnionSet domain(isl_union_set_empty(isl_space_params_alloc(ctx, 0)));
    UnionMap validity(isl_union_map_empty(isl_space_params_alloc(ctx, 0)));
    for (unsigned k : component)
      domain = UnionSet(isl_union_set_union(
          domain.release(),
          isl_union_set_from_set(program.statements()[k].domain().copy())));
    for (const Dependence &dependence : inside) {
      Map before = reverse(dependence.map);
      validity = UnionMap(isl_union_map_union(
          validity.release(), isl_union_map_from_map(before.release())));
    }
    isl_schedule_constraints *constraints =
        isl_schedule_constraints_on_domain(domain.release());
    constraints =
        isl_schedule_constraints_set_validity(constraints, validity.copy());
    Isl<isl_schedule> schedule(
        isl_schedule_constraints_compute_schedule(constraints));
    if (!schedule) {
      program.context().clear();
      return false;
    }
    UnionMap times(isl_schedule_get_map(schedule.get()));
    validity =
        UnionMap(isl_union_map_apply_domain(validity.release(), times.copy()));
    validity = UnionMap(
        isl_union_map_apply_range(validity.release(), times.release()));
    bool ordered = true;
    forEachMap(validity, [&](Map pairs) {
      Map later(
          isl_map_lex_ge(isl_space_domain(isl_map_get_space(pairs.get()))));
      ordered &= isEmpty(pairs & later);
    });
    return ordered && !program.context().failed();
  }

  //===--------------------------------------------------------------------===//
  // Search over instances
  //===--------------------------------------------------------------------===//

  /// Parameters of the search: default arguments, and no dim stops early.
  template <typename T, typename F>
  T fixParameters(T object, F fix) const {
    for (const std::string &name : program.parameters()) {
      int64_t value = 1;
      if (auto arg = dyn_cast_or_null<ArgOp>(SymbolTable::lookupSymbolIn(
              program.module(),
              StringAttr::get(program.module().getContext(), name))))
        if (auto number = dyn_cast<IntegerAttr>(arg.getDefaultValue()))
          value = number.getInt();
      for (auto [variable, dim] : program.stops())
        if (variable == name)
          value = dim.getExtent().getExpr().getConst().value_or(1);
      for (const std::string &variant : {name, name + "'"})
        object = fix(std::move(object), escapeName(variant), value);
    }
    return object;
  }

  Map atDefaults(Map map) const {
    map = fixParameters(std::move(map), [](Map map, const std::string &name,
                                           int64_t value) {
      int position =
          isl_map_find_dim_by_name(map.get(), isl_dim_param, name.c_str());
      if (position < 0)
        return map;
      return Map(isl_map_fix_si(map.release(), isl_dim_param, position, value));
    });
    return Map(isl_map_project_out_all_params(map.release()));
  }

  /// A dependence taken, and the instance it leads to.
  using Step = std::pair<const Dependence *, Instance>;
  /// The dependences of each statement, without parameters.
  using Edges =
      llvm::DenseMap<unsigned, SmallVector<std::pair<const Dependence *, Map>>>;

  /// What an instance needs; `complete` becomes false when that is too much.
  std::vector<Step> successors(const Edges &edges, const Instance &instance,
                               bool &complete) const {
    std::vector<Step> result;
    auto found = edges.find(instance.first);
    if (found == edges.end())
      return result;
    for (auto &[dependence, map] : found->second) {
      Map from(map);
      for (auto [k, value] : llvm::enumerate(instance.second))
        from =
            Map(isl_map_fix_val(from.release(), isl_dim_in, k,
                                isl_val_int_from_si(program.context(), value)));
      constexpr unsigned maxBranches = 64;
      for (SmallVector<int64_t> &point :
           points(rangeOf(from), maxBranches, complete))
        result.emplace_back(dependence, Instance(dependence->writer, point));
    }
    return result;
  }

  /// A shortest cycle through one of the first members of a cycle, as found
  /// breadth-first: the clearest witness.
  std::vector<std::pair<Instance, const Dependence *>>
  shortestCycle(const Edges &edges, ArrayRef<Instance> members) const {
    constexpr unsigned maxStarts = 4, maxVisits = 2000;
    std::vector<std::pair<Instance, const Dependence *>> best;
    bool ignored = true;
    for (const Instance &start : members.take_front(maxStarts)) {
      std::map<Instance, std::pair<Instance, const Dependence *>> origin;
      std::deque<Instance> queue{start};
      for (unsigned visits = 0;
           !queue.empty() && visits < maxVisits && !origin.count(start);
           ++visits) {
        Instance instance = std::move(queue.front());
        queue.pop_front();
        for (auto &[dependence, target] : successors(edges, instance, ignored))
          if (origin.try_emplace(target, instance, dependence).second)
            queue.push_back(target);
      }
      if (!origin.count(start))
        continue;
      std::vector<std::pair<Instance, const Dependence *>> cycle;
      Instance at = start;
      do {
        cycle.push_back(origin.at(at));
        at = cycle.back().first;
      } while (at != start);
      std::reverse(cycle.begin(), cycle.end());
      if (best.empty() || cycle.size() < best.size())
        best = std::move(cycle);
    }
    if (!best.empty())
      return best;
    for (auto [k, member] : llvm::enumerate(members)) // As it was found.
      for (auto &[dependence, target] : successors(edges, member, ignored))
        if (target == members[(k + 1) % members.size()]) {
          best.emplace_back(member, dependence);
          break;
        }
    return best;
  }

  /// Depth-first search for a cycle among concrete instances; reports it. True
  /// when a cycle was found, or when all instances were seen and there is none.
  bool search(ArrayRef<unsigned> component, ArrayRef<Dependence> inside,
              unsigned maxSteps) {
    Edges out;
    bool parametric = false;
    for (const Dependence &dependence : inside) {
      parametric |= !program.parameters().empty();
      out[dependence.reader].emplace_back(&dependence,
                                          atDefaults(dependence.map));
    }
    std::set<Instance> finished;
    bool complete = true;
    unsigned steps = 0;
    struct Frame {
      Instance instance;
      std::vector<Step> next;
      size_t taken = 0;
    };
    std::vector<Frame> path;
    std::set<Instance> onPath;
    auto open = [&](const Instance &instance) {
      Frame frame{instance, successors(out, instance, complete), 0};
      ++steps;
      onPath.insert(instance);
      path.push_back(std::move(frame));
    };
    for (unsigned statement : component)
      for (auto &[dependence, map] : out[statement]) {
        bool all = true;
        for (SmallVector<int64_t> &point :
             points(domainOf(map), maxSteps, all)) {
          Instance root(statement, point);
          if (finished.count(root))
            continue;
          open(root);
          while (!path.empty()) {
            if (steps > maxSteps)
              return false;
            Frame &frame = path.back();
            if (frame.taken == frame.next.size()) {
              finished.insert(frame.instance);
              onPath.erase(frame.instance);
              path.pop_back();
              continue;
            }
            Instance target = frame.next[frame.taken++].second;
            if (onPath.count(target)) {
              auto start = llvm::find_if(
                  path, [&](const Frame &f) { return f.instance == target; });
              std::vector<Instance> members;
              for (auto it = start; it != path.end(); ++it)
                members.push_back(it->instance);
              report(shortestCycle(out, members));
              return true;
            }
            if (!finished.count(target))
              open(target);
          }
        }
        complete &= all;
      }
    // Other values of the parameters were not looked at.
    return complete && !parametric && !program.context().failed();
  }

  /// At most `limit` points of a bounded set, in ascending order.
  static std::vector<SmallVector<int64_t>> points(const Set &set,
                                                  unsigned limit, bool &all) {
    struct State {
      std::vector<SmallVector<int64_t>> list;
      unsigned limit, rank;
    } state{{}, limit, unsigned(isl_set_dim(set.get(), isl_dim_set))};
    isl_stat done = isl_set_foreach_point(
        set.get(),
        [](isl_point *given, void *user) {
          Isl<isl_point> point(given);
          auto &state = *static_cast<State *>(user);
          if (state.list.size() == state.limit)
            return isl_stat_error;
          SmallVector<int64_t> &values = state.list.emplace_back();
          for (unsigned k = 0; k < state.rank; ++k)
            values.push_back(isl_val_get_num_si(
                Isl<isl_val>(
                    isl_point_get_coordinate_val(point.get(), isl_dim_set, k))
                    .get()));
          return isl_stat_ok;
        },
        &state);
    all &= done == isl_stat_ok;
    llvm::sort(state.list);
    return state.list;
  }

  void report(std::vector<std::pair<Instance, const Dependence *>> cycle) {
    // Begin with the equation that stands first in the program.
    auto first = llvm::min_element(
        cycle, [](const auto &a, const auto &b) { return a.first < b.first; });
    std::rotate(cycle.begin(), first, cycle.end());
    const Statement &statement =
        program.statements()[cycle.front().first.first];
    SmallVector<std::string> chain;
    for (auto &[instance, dependence] : cycle) {
      std::string name =
          proof.naming.subject(program.statements()[instance.first]);
      if (chain.empty() || chain.back() != name)
        chain.push_back(name);
    }
    if (chain.size() == 1 || chain.back() != chain.front())
      chain.push_back(chain.front());
    constexpr unsigned maxChain = 12;
    if (chain.size() > maxChain) {
      chain.erase(chain.begin() + maxChain / 2, chain.end() - maxChain / 2);
      chain.insert(chain.begin() + maxChain / 2, "...");
    }
    std::string at = describe(statement.dims(), cycle.front().first.second);
    auto &error = proof.error(
        "E0403", statement.op->getLoc(),
        proof.naming.statement(statement) + " depends on itself" +
            (at.empty() ? "" : " at " + at) + ": " + llvm::join(chain, " -> "));
    constexpr unsigned maxNotes = 8;
    for (auto [k, step] : llvm::enumerate(cycle)) {
      auto &[instance, dependence] = step;
      const Instance &target = cycle[(k + 1) % cycle.size()].first;
      if (k == maxNotes) {
        error.notes.emplace_back(UnknownLoc::get(program.module().getContext()),
                                 "and " + std::to_string(cycle.size() - k) +
                                     " more steps");
        break;
      }
      Access::Kind kind = dependence->access->kind;
      const char *verb = kind == Access::Kind::Stop
                             ? " is evaluated or not depending on "
                         : kind == Access::Kind::Gradient ? " differentiates "
                                                          : " reads ";
      error.notes.emplace_back(
          dependence->access->op->getLoc(),
          proof.naming.instance(program.statements()[instance.first],
                                instance.second) +
              verb +
              proof.naming.instance(program.statements()[target.first],
                                    target.second) +
              " here");
    }
  }
};
} // namespace

void poly::checkCycles(Proof &proof) { CycleChecker(proof).run(); }
