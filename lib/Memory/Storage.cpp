//===- Storage.cpp - Windows and lifetimes of tensors ---------------------===//
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

#include "timerl/Memory/Storage.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::memory;
using namespace timerl::poly;
using namespace timerl::schedule;

namespace {

/// Who writes and reads a tensor: statement and relation.
struct Uses {
  std::vector<std::pair<unsigned, const Map *>> writes, reads;
};

std::optional<int64_t> take(isl_val *value) {
  std::optional<int64_t> result;
  if (value && isl_val_is_int(value) == isl_bool_true)
    result = isl_val_get_num_si(value);
  isl_val_free(value);
  return result;
}

class Planner {
public:
  Planner(const Graph &graph, const LoopTree &tree)
      : graph(graph), tree(tree) {}
  std::optional<Plan> run();

private:
  Map timeOf(const schedule::Statement &statement, unsigned depth);
  Set conflicts(const Uses &uses);
  bool chooseWindow(Buffer &buffer, const Uses &uses);
  void chooseLifetime(Buffer &buffer, StringRef name, const Uses &uses);
  bool isParallel(const Uses &uses, unsigned position);

  const Graph &graph;
  const LoopTree &tree;
};

} // namespace

/// { statement[...] -> [place, loop, place, loop, ..., place] }, in the order
/// of execution; shorter ones end in zeros.
Map Planner::timeOf(const schedule::Statement &statement, unsigned depth) {
  Map time(isl_map_from_domain(statement.domain.copy()));
  time = Map(isl_map_add_dims(time.release(), isl_dim_out, 2 * depth + 1));
  for (unsigned k = 0; k <= depth; ++k) {
    bool inLoop = k < statement.steps.size();
    unsigned place = inLoop
                         ? statement.steps[k].place
                         : (k == statement.steps.size() ? statement.place : 0);
    time = Map(isl_map_fix_si(time.release(), isl_dim_out, 2 * k, place));
    if (k == depth)
      break;
    if (!inLoop) {
      time = Map(isl_map_fix_si(time.release(), isl_dim_out, 2 * k + 1, 0));
      continue;
    }
    const LoopStep &step = statement.steps[k];
    int sign = graph.loops[step.loop].reverse ? -1 : 1;
    isl_constraint *equal = isl_constraint_alloc_equality(
        isl_local_space_from_space(isl_map_get_space(time.get())));
    equal =
        isl_constraint_set_coefficient_si(equal, isl_dim_out, 2 * k + 1, -1);
    equal = isl_constraint_set_coefficient_si(equal, isl_dim_in, step.dim,
                                              sign * step.scale);
    equal = isl_constraint_set_constant_si(equal, sign * step.shift);
    time = Map(isl_map_add_constraint(time.release(), equal));
  }
  return time;
}

/// The distances p' - p of points p' that are written after p and before p's
/// last read. A statement reads before it writes, so its own writes come after
/// its reads.
Set Planner::conflicts(const Uses &uses) {
  unsigned depth = 0;
  for (auto *list : {&uses.writes, &uses.reads})
    for (auto &[s, map] : *list)
      depth = std::max<unsigned>(depth, graph.statements[s].steps.size());
  Map written, read;
  auto add = [&](Map &all, unsigned s, const Map &access) {
    Map times = compose(reverse(access), timeOf(graph.statements[s], depth));
    all = all ? all | times : times;
  };
  for (auto &[s, map] : uses.writes)
    add(written, s, *map);
  for (auto &[s, map] : uses.reads)
    add(read, s, *map);
  if (!read)
    return Set(isl_map_deltas(isl_map_empty(
        isl_map_get_space(compose(written, reverse(written)).get()))));
  Space time(isl_space_range(isl_map_get_space(written.get())));
  Map after(isl_map_lex_lt(time.copy())), before(isl_map_lex_gt(time.copy()));
  // Iterations of a loop without an order come before each other.
  std::set<unsigned> seen;
  for (auto *list : {&uses.writes, &uses.reads})
    for (auto &[s, map] : *list) {
      const auto &steps = graph.statements[s].steps;
      for (unsigned k = 0; k < steps.size(); ++k) {
        if (!graph.loops[steps[k].loop].parallel ||
            !seen.insert(steps[k].loop).second)
          continue;
        Map same(isl_map_universe(isl_space_map_from_set(time.copy())));
        for (unsigned m = 0; m <= 2 * k; ++m)
          same = Map(
              isl_map_equate(same.release(), isl_dim_in, m, isl_dim_out, m));
        for (unsigned m = 0; m <= k; ++m)
          same = Map(isl_map_fix_si(same.release(), isl_dim_in, 2 * m,
                                    steps[m].place));
        unsigned value = 2 * k + 1;
        after = after | Map(isl_map_order_gt(same.copy(), isl_dim_in, value,
                                             isl_dim_out, value));
        before = before | Map(isl_map_order_lt(same.copy(), isl_dim_in, value,
                                               isl_dim_out, value));
      }
    }
  Map alive = compose(written, after) & compose(read, before);
  Map pairs = compose(alive, reverse(written));
  return Set(isl_map_deltas(pairs.release()));
}

/// Whether some writer's loop over this position may run in any order: each of
/// its iterations needs storage of its own.
bool Planner::isParallel(const Uses &uses, unsigned position) {
  auto target = [](const Map &map, const schedule::Statement &statement) {
    unsigned k = 0;
    while (&statement.writes[k].second != &map)
      ++k;
    return k;
  };
  for (auto &[s, map] : uses.writes) {
    const schedule::Statement &statement = graph.statements[s];
    for (const LoopStep &step : statement.steps) {
      if (!graph.loops[step.loop].parallel)
        continue;
      Expr index = pdg::NodeOp(statement.node)
                       .getTargetIndices(target(*map, statement))[position];
      if (index.mentions(statement.dims[step.dim]))
        return true;
    }
  }
  return false;
}

bool Planner::chooseWindow(Buffer &buffer, const Uses &uses) {
  auto type = cast<RankedTensorType>(buffer.tensor.getType());
  if (!type.hasStaticShape()) {
    buffer.tensor.emitError("E0802: values of '")
        << buffer.tensor.getSymName()
        << "' have a length that varies, and cannot be stored yet";
    return false;
  }
  buffer.bytes =
      type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
  unsigned rank = buffer.tensor.getRank();
  Set points;
  for (auto &[s, map] : uses.writes)
    points = points ? points | rangeOf(*map) : rangeOf(*map);
  Set distances = conflicts(uses);
  SmallVector<std::optional<int64_t>> extents;
  for (unsigned p = 0; p < rank; ++p) {
    auto lo = take(isl_set_dim_min_val(points.copy(), p));
    auto hi = take(isl_set_dim_max_val(points.copy(), p));
    buffer.origin.push_back(lo.value_or(0));
    extents.push_back(std::nullopt);
    if (lo && hi)
      extents.back() = *hi - *lo + 1;
  }
  // The order of positions decides how small their product gets: all are tried,
  // of the few that there are.
  SmallVector<unsigned> fixed, order;
  for (unsigned p = 0; p < rank; ++p)
    (isParallel(uses, p) || p >= 5 ? fixed : order).push_back(p);
  std::optional<int64_t> best;
  do {
    Set left = distances;
    SmallVector<int64_t> window(rank, 1);
    int64_t slots = 1;
    bool bounded = true;
    auto choose = [&](unsigned p, std::optional<int64_t> size) {
      window[p] = size.value_or(1);
      bounded &= size && !llvm::MulOverflow(slots, window[p], slots);
      left = Set(isl_set_fix_si(left.release(), isl_dim_set, p, 0));
    };
    for (unsigned p : fixed)
      choose(p, extents[p]);
    for (unsigned p : order) {
      std::optional<int64_t> size = 1;
      if (!isEmpty(left)) {
        auto least = take(isl_set_dim_min_val(left.copy(), p));
        auto most = take(isl_set_dim_max_val(left.copy(), p));
        size = std::nullopt;
        if (least && most)
          size = std::max(-*least, *most) + 1;
      }
      if (extents[p] && (!size || *size > *extents[p]))
        size = extents[p];
      choose(p, size);
    }
    if (bounded && (!best || slots < *best)) {
      best = slots;
      buffer.window.assign(window.begin(), window.end());
    }
  } while (std::next_permutation(order.begin(), order.end()));
  if (!best) {
    buffer.tensor.emitError("E0802: storage of '")
        << buffer.tensor.getSymName()
        << "' has no static bound; it may depend on a run-time argument: make "
           "the argument a param";
    return false;
  }
  if (llvm::MulOverflow(buffer.bytes, *best, buffer.bytes)) {
    buffer.tensor.emitError("E0802: '")
        << buffer.tensor.getSymName() << "' needs more than 2^63 bytes";
    return false;
  }
  return true;
}

/// The innermost stretch of the program that contains all uses, and outside of
/// which no value of the tensor survives.
void Planner::chooseLifetime(Buffer &buffer, StringRef name, const Uses &uses) {
  auto usedIn = [&](const LoopTree &node) {
    for (auto *list : {&uses.writes, &uses.reads})
      for (auto &[s, map] : *list)
        if (std::binary_search(node.members.begin(), node.members.end(), s))
          return true;
    return false;
  };
  const LoopTree *node = &tree;
  while (true) {
    SmallVector<const LoopTree *> users;
    for (const LoopTree &child : node->children)
      if (usedIn(child))
        users.push_back(&child);
    buffer.first = users.front()->first;
    buffer.last = users.back()->last;
    const LoopTree *only = users.front();
    if (users.size() > 1 || only->loop < 0 ||
        graph.loops[only->loop].parallel ||
        graph.carried[only->loop].count(name.str()))
      return;
    node = only;
  }
}

std::optional<Plan> Planner::run() {
  std::map<std::string, Uses> uses;
  for (auto [s, statement] : llvm::enumerate(graph.statements)) {
    for (auto &[tensor, map] : statement.writes)
      uses[tensor].writes.push_back({unsigned(s), &map});
    for (auto &[tensor, map] : statement.reads)
      uses[tensor].reads.push_back({unsigned(s), &map});
  }
  Plan plan;
  auto module = graph.op->getParentOfType<ModuleOp>();
  for (auto tensor : module.getOps<trl::TensorOp>()) {
    auto found = uses.find(tensor.getSymName().str());
    if (found == uses.end() || found->second.writes.empty())
      continue;
    Buffer buffer;
    buffer.tensor = tensor;
    if (!chooseWindow(buffer, found->second))
      return std::nullopt;
    chooseLifetime(buffer, tensor.getSymName(), found->second);
    plan.buffers.push_back(buffer);
  }
  plan.arena = placeBuffers(plan.buffers);
  return plan;
}

std::optional<Plan> memory::planMemory(const Graph &graph,
                                       const LoopTree &tree) {
  return Planner(graph, tree).run();
}
