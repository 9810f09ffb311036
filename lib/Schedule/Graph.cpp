//===- Graph.cpp - Statements and dependences to be scheduled -------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Schedule/Graph.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::poly;
using namespace timerl::schedule;

bool schedule::Statement::isFixed(unsigned dim) const {
  return llvm::any_of(steps,
                      [&](const LoopStep &step) { return step.dim == dim; });
}

unsigned schedule::Statement::countFree() const {
  return dims.size() - llvm::count_if(steps, [](const LoopStep &step) {
           return step.dim != noDim;
         });
}

isl_constraint *schedule::addTerm(isl_constraint *constraint, isl_dim_type type,
                                  unsigned dim, int64_t factor) {
  return dim == noDim
             ? constraint
             : isl_constraint_set_coefficient_si(constraint, type, dim, factor);
}

static std::optional<int64_t> take(isl_val *value) {
  std::optional<int64_t> result;
  if (value && isl_val_is_int(value) == isl_bool_true)
    result = isl_val_get_num_si(value);
  isl_val_free(value);
  return result;
}

Bounds Dependence::distance(unsigned fromDim, int64_t fromScale, unsigned toDim,
                            int64_t toScale) {
  auto [entry, isNew] = known->distances.try_emplace(
      {int64_t(fromDim), fromScale, int64_t(toDim), toScale});
  if (!isNew)
    return entry->second;
  unsigned inputs = isl_map_dim(map.get(), isl_dim_in);
  // The pairs as one flat set, and the distance as a function of them.
  Set pairs(isl_set_flatten(isl_map_wrap(map.copy())));
  Aff aff(isl_aff_zero_on_domain(
      isl_local_space_from_space(isl_set_get_space(pairs.get()))));
  if (fromDim != noDim)
    aff = Aff(isl_aff_set_coefficient_si(aff.release(), isl_dim_in, fromDim,
                                         -fromScale));
  if (toDim != noDim)
    aff = Aff(isl_aff_set_coefficient_si(aff.release(), isl_dim_in,
                                         inputs + toDim, toScale));
  entry->second.min = take(isl_set_min_val(pairs.get(), aff.get()));
  entry->second.max = take(isl_set_max_val(pairs.get(), aff.get()));
  return entry->second;
}

std::optional<int64_t> schedule::extentOf(const Set &points, unsigned dim) {
  auto hi = take(isl_set_dim_max_val(points.copy(), dim));
  auto lo = take(isl_set_dim_min_val(points.copy(), dim));
  if (!hi || !lo)
    return std::nullopt;
  return *hi - *lo + 1;
}

std::optional<int64_t> Dependence::extentWritten(unsigned fromDim) {
  auto [entry, isNew] = known->written.try_emplace(fromDim);
  if (isNew) {
    if (!known->writers)
      known->writers = domainOf(map);
    entry->second = extentOf(known->writers, fromDim);
  }
  return entry->second;
}

std::optional<int64_t> Dependence::extentRead(unsigned toDim) {
  auto [entry, isNew] = known->read.try_emplace(toDim);
  if (isNew) {
    if (!known->readers)
      known->readers = rangeOf(map);
    entry->second = extentOf(known->readers, toDim);
  }
  return entry->second;
}

/// { statement[...] -> tensor[indices] }.
static Map writeMap(const schedule::Statement &statement,
                    const Coordinates &coordinates, StringRef tensor,
                    ArrayRef<Expr> indices) {
  Map map(isl_map_from_domain(statement.domain.copy()));
  map = Map(isl_map_add_dims(map.release(), isl_dim_out, indices.size()));
  for (auto [p, index] : llvm::enumerate(indices)) {
    Map value(isl_map_from_pw_aff(coordinates.value(index).release()));
    value = Map(isl_map_insert_dims(value.release(), isl_dim_out, 0, p));
    value = Map(
        isl_map_add_dims(value.release(), isl_dim_out, indices.size() - p - 1));
    map = map & value;
  }
  return Map(isl_map_set_tuple_name(map.release(), isl_dim_out,
                                    escapeName(tensor).c_str()));
}

Graph::Graph(IslContext &context, pdg::GraphOp op) : context(context), op(op) {
  for (auto name : op.getParams().getAsRange<StringAttr>())
    params.push_back(name.str());
  assumptions =
      Set(isl_set_params(parseSet(context, op.getAssume()).release()));
  llvm::StringMap<unsigned> counts;
  for (auto dim : op->getParentOfType<ModuleOp>().getOps<trl::DimOp>())
    if (dim.getCounted()) {
      counts[*dim.getCounted()] = stops.size();
      Stop stop;
      stop.dim = dim.getSymName().str();
      stop.end = dim.getEndName();
      stop.until = dim.getUntil()->str();
      stop.counted = dim.getCounted()->str();
      stop.outer = dim.getOuterDims();
      stop.statement = UINT_MAX;
      stops.push_back(std::move(stop));
    }
  SmallVector<std::string> ends;
  for (const Stop &stop : stops)
    ends.push_back(stop.end);
  llvm::MapVector<StringRef, std::vector<std::pair<unsigned, unsigned>>>
      definitions;
  for (auto node : op.getOps<pdg::NodeOp>()) {
    schedule::Statement statement;
    statement.node = node;
    statement.name = node.getName().str();
    for (auto dim : node.getDims().getAsRange<StringAttr>())
      statement.dims.push_back(dim.str());
    Coordinates coordinates(context, statement.dims, params, statement.name);
    statement.domain =
        parseSet(context, node.getDomain()) & coordinates.universe();
    if (isEmpty(statement.domain))
      continue; // Never executed.
    statement.points = forgetStops(statement.domain);
    for (unsigned k = 0; k < node.getTargets().size(); ++k) {
      definitions[node.getTarget(k)].push_back(
          {unsigned(statements.size()), k});
      statement.writes.push_back(
          {node.getTarget(k).str(),
           forgetParameters(writeMap(statement, coordinates, node.getTarget(k),
                                     node.getTargetIndices(k)),
                            ends)});
      if (auto count = counts.find(node.getTarget(k)); count != counts.end()) {
        Stop &stop = stops[count->second];
        stop.statement = statements.size();
        stop.position = findDim(statement, stop.dim);
      }
    }
    for (auto text : node.getReads().getAsRange<StringAttr>()) {
      Map map = forgetParameters(
          parseMap(context, text.getValue()) & statement.domain, ends);
      statement.reads.push_back({outputName(map), map});
    }
    statements.push_back(std::move(statement));
  }
  // Of a dim whose `until` nobody needs, nothing is left.
  llvm::erase_if(stops,
                 [](const Stop &stop) { return stop.statement == UINT_MAX; });
  for (unsigned to = 0; to < statements.size(); ++to)
    for (auto &[tensor, read] : statements[to].reads) {
      auto found = definitions.find(tensor);
      if (found == definitions.end())
        continue;
      for (auto [from, write] : found->second) {
        Map map = compose(statements[from].writes[write].second, reverse(read));
        if (isEmpty(map))
          continue;
        // The leaves of a record depend alike: one dependence for all of them.
        auto same = llvm::find_if(dependences, [&](const Dependence &other) {
          return other.from == from && other.to == to &&
                 isl_map_is_equal(other.map.get(), map.get()) == isl_bool_true;
        });
        llvm::SmallVector<std::string> tensors{tensor};
        // Where points are there by `until`, bounds of loops may come from the
        // count.
        for (const Stop &stop : stops)
          if (stop.until == tensor)
            tensors.push_back(stop.counted);
        if (same != dependences.end())
          same->tensors.append(tensors);
        else
          dependences.emplace_back(
              from, to, Map(isl_map_coalesce(map.release())), tensors);
      }
    }
}

Set Graph::executed(const schedule::Statement &statement,
                    unsigned depth) const {
  Map loops(isl_map_from_domain(statement.domain.copy()));
  loops = Map(isl_map_add_dims(loops.release(), isl_dim_out, depth));
  for (unsigned k = 0; k < depth; ++k) {
    const LoopStep &step = statement.steps[k];
    isl_constraint *equal = isl_constraint_alloc_equality(
        isl_local_space_from_space(isl_map_get_space(loops.get())));
    equal = isl_constraint_set_coefficient_si(equal, isl_dim_out, k, -1);
    equal = addTerm(equal, isl_dim_in, step.dim, step.scale);
    equal = isl_constraint_set_constant_si(equal, step.shift);
    loops = Map(isl_map_add_constraint(loops.release(), equal));
  }
  return Set(isl_set_coalesce(isl_map_range(loops.release())));
}

Set Graph::forgetStops(const Set &set) const {
  SmallVector<std::string> ends;
  for (const Stop &stop : stops)
    ends.push_back(stop.end);
  return forgetParameters(set, ends);
}

bool Graph::involves(const Set &set, const Stop &stop) const {
  Set rest(isl_set_gist_params(set.copy(), assumptions.copy()));
  int place = isl_set_find_dim_by_name(rest.get(), isl_dim_param,
                                       escapeName(stop.end).c_str());
  return place >= 0 && isl_set_involves_dims(rest.get(), isl_dim_param, place,
                                             1) != isl_bool_false;
}

unsigned Graph::findDim(const schedule::Statement &statement,
                        StringRef name) const {
  return llvm::find(statement.dims, name) - statement.dims.begin();
}

std::optional<unsigned> Graph::loopOf(const Stop &stop) const {
  for (const LoopStep &step : statements[stop.statement].steps)
    if (step.dim == stop.position)
      return step.loop;
  return std::nullopt;
}

void Graph::addCountReads() {
  for (schedule::Statement &statement : statements)
    for (const Stop &stop : stops) {
      auto loop = loopOf(stop);
      bool inside = llvm::any_of(statement.steps, [&](const LoopStep &step) {
        return step.loop == loop;
      });
      if (inside || !involves(statement.domain, stop))
        continue;
      Coordinates coordinates(context, statement.dims, params, statement.name);
      SmallVector<Expr> point;
      for (const std::string &name : stop.outer)
        point.push_back(Expr::var(name));
      Map map = writeMap(statement, coordinates, stop.counted, point);
      SmallVector<std::string> ends{stop.end};
      statement.reads.push_back({stop.counted, forgetParameters(map, ends)});
    }
}
