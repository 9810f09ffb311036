//===- Demand.cpp - Only what outputs need is computed --------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two steps. From the outputs backward over reads, by tensor: what is never
// reached goes, with the ops that only served it. Then domains shrink: from all
// points downward, each round keeps those at which a target is read by what the
// round before kept. Every round's result is safe, so a fixed number is enough,
// and recurrences need no transitive closure.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "pdg/PdgDialect.h"
#include "timerl/Poly/Convert.h"
#include "timerl/Transforms/Passes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::poly;

namespace {

constexpr unsigned maxRounds = 8;
constexpr int maxPieces = 4;
/// Of isl, for the shrinking of one program: a few seconds.
constexpr uint64_t maxOperations = 20'000'000;

class Demand : public PassWrapper<Demand, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Demand)
  StringRef getArgument() const override { return "pdg-demand"; }
  StringRef getDescription() const override {
    return "Only what outputs need is computed";
  }
  void runOnOperation() override {
    for (auto graph : llvm::to_vector(getOperation().getOps<pdg::GraphOp>())) {
      dropUnread(graph);
      if (failed(shrink(graph)))
        return signalPassFailure();
    }
  }

private:
  void dropUnread(pdg::GraphOp graph);
  void keepTargets(pdg::NodeOp node, const llvm::StringSet<> &needed);
  LogicalResult shrink(pdg::GraphOp graph);
};

} // namespace

/// Where it is told how long a dim that stops is: its `until` and its count.
static void addStop(ModuleOp module, StringRef end,
                    SmallVectorImpl<StringRef> &tensors) {
  for (auto dim : module.getOps<trl::DimOp>())
    if (dim.getCounted() && dim.getEndName() == end)
      tensors.append({*dim.getUntil(), *dim.getCounted()});
}

/// The same for all dims that decide which points of a node there are.
static void collectStops(pdg::NodeOp node,
                         SmallVectorImpl<StringRef> &tensors) {
  IslContext context;
  auto graph = node->getParentOfType<pdg::GraphOp>();
  Set known(isl_set_params(parseSet(context, graph.getAssume()).release()));
  Set domain(isl_set_gist_params(parseSet(context, node.getDomain()).release(),
                                 known.release()));
  for (unsigned k = 0, n = isl_set_dim(domain.get(), isl_dim_param); k < n; ++k)
    if (isl_set_involves_dims(domain.get(), isl_dim_param, k, 1) ==
        isl_bool_true)
      addStop(
          node->getParentOfType<ModuleOp>(),
          unescapeName(isl_set_get_dim_name(domain.get(), isl_dim_param, k)),
          tensors);
}

/// Tensors that the ops behind these values read, inside the node.
static void collectReads(pdg::NodeOp node, ArrayRef<Value> roots,
                         SmallVectorImpl<StringRef> &tensors) {
  auto module = node->getParentOfType<ModuleOp>();
  SmallVector<Operation *> work;
  llvm::DenseSet<Operation *> seen;
  auto reach = [&](Value value) {
    if (Operation *op = value.getDefiningOp())
      if (seen.insert(op).second)
        work.push_back(op);
  };
  for (Value root : roots)
    reach(root);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    for (const std::string &end : trl::getMentionedEnds(op))
      addStop(module, end, tensors);
    op->walk([&](Operation *inner) {
      if (auto read = dyn_cast<trl::ReadOp>(inner))
        tensors.push_back(read.getSource());
      for (Value operand : inner->getOperands())
        reach(operand);
    });
  }
}

void Demand::keepTargets(pdg::NodeOp node, const llvm::StringSet<> &needed) {
  SmallVector<Attribute> targets, indices;
  SmallVector<Value> values;
  trl::YieldOp yield = node.getYield();
  for (unsigned k = 0; k < node.getTargets().size(); ++k) {
    if (!needed.contains(node.getTarget(k)))
      continue;
    targets.push_back(node.getTargets()[k]);
    indices.push_back(node.getIndices()[k]);
    values.push_back(yield.getValues()[k]);
  }
  if (!node.getOutput() && targets.size() < node.getTargets().size()) {
    OpBuilder builder(node);
    node.setTargetsAttr(builder.getArrayAttr(targets));
    node.setIndicesAttr(builder.getArrayAttr(indices));
    yield.getValuesMutable().assign(values);
  }
  // Ops without a use go, from the end.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(node.getBody().front())))
    if (!isa<trl::YieldOp>(op) && op.use_empty())
      op.erase();
  // And the relations of what is no longer read.
  llvm::StringSet<> read;
  SmallVector<StringRef> sources;
  collectReads(node, llvm::to_vector(yield.getValues()), sources);
  collectStops(node, sources);
  for (StringRef source : sources)
    read.insert(source);
  SmallVector<Attribute> relations;
  for (auto text : node.getReads().getAsRange<StringAttr>()) {
    IslContext context;
    Map map = parseMap(context, text.getValue());
    if (read.contains(outputName(map)))
      relations.push_back(text);
  }
  node.setReadsAttr(ArrayAttr::get(node.getContext(), relations));
}

void Demand::dropUnread(pdg::GraphOp graph) {
  llvm::StringMap<SmallVector<std::pair<pdg::NodeOp, unsigned>>> definitions;
  llvm::StringSet<> needed;
  SmallVector<StringRef> work;
  for (auto node : graph.getOps<pdg::NodeOp>()) {
    for (unsigned k = 0; k < node.getTargets().size(); ++k)
      definitions[node.getTarget(k)].push_back({node, k});
    if (node.getOutput()) {
      collectReads(node, llvm::to_vector(node.getYield().getValues()), work);
      collectStops(node, work);
    }
  }
  // The two are one statement.
  llvm::StringMap<StringRef> counts;
  for (auto dim : graph->getParentOfType<ModuleOp>().getOps<trl::DimOp>())
    if (dim.getCounted()) {
      counts[*dim.getUntil()] = *dim.getCounted();
      counts[*dim.getCounted()] = *dim.getUntil();
    }
  while (!work.empty()) {
    StringRef tensor = work.pop_back_val();
    if (!needed.insert(tensor).second)
      continue;
    if (auto other = counts.find(tensor); other != counts.end())
      work.push_back(other->second);
    for (auto [node, k] : definitions.lookup(tensor)) {
      collectReads(node, {node.getYield().getValues()[k]}, work);
      collectStops(node, work);
    }
  }
  for (auto node : llvm::to_vector(graph.getOps<pdg::NodeOp>())) {
    bool used = static_cast<bool>(node.getOutput());
    for (unsigned k = 0; k < node.getTargets().size(); ++k)
      used |= needed.contains(node.getTarget(k));
    if (used)
      keepTargets(node, needed);
    else
      node.erase();
  }
}

LogicalResult Demand::shrink(pdg::GraphOp graph) {
  IslContext context;
  SmallVector<std::string> params;
  for (auto name : graph.getParams().getAsRange<StringAttr>())
    params.push_back(name.str());
  llvm::StringSet<> stops;
  SmallVector<std::string> ends;
  for (auto dim : graph->getParentOfType<ModuleOp>().getOps<trl::DimOp>())
    if (dim.getCounted()) {
      stops.insert(*dim.getCounted());
      ends.push_back(dim.getEndName());
    }
  struct Node {
    pdg::NodeOp op;
    bool stops = false; ///< each of its points is one of a loop that stops
    Set domain;
    std::vector<std::pair<std::string, Map>> writes, reads;
  };
  std::vector<Node> nodes;
  for (auto op : graph.getOps<pdg::NodeOp>()) {
    Node node;
    node.op = op;
    node.domain = parseSet(context, op.getDomain());
    SmallVector<std::string> dims;
    for (auto dim : op.getDims().getAsRange<StringAttr>())
      dims.push_back(dim.str());
    Coordinates coordinates(context, dims, params, op.getName());
    for (unsigned k = 0; k < op.getTargets().size(); ++k) {
      Map map(isl_map_from_domain(coordinates.universe().release()));
      SmallVector<Expr> indices = op.getTargetIndices(k);
      map = Map(isl_map_add_dims(map.release(), isl_dim_out, indices.size()));
      for (auto [p, index] : llvm::enumerate(indices)) {
        Map value(isl_map_from_pw_aff(coordinates.value(index).release()));
        value = Map(isl_map_insert_dims(value.release(), isl_dim_out, 0, p));
        value = Map(isl_map_add_dims(value.release(), isl_dim_out,
                                     indices.size() - p - 1));
        map = map & value;
      }
      map = Map(isl_map_set_tuple_name(map.release(), isl_dim_out,
                                       escapeName(op.getTarget(k)).c_str()));
      node.writes.push_back({op.getTarget(k).str(), map});
      node.stops |= stops.contains(op.getTarget(k));
    }
    for (auto text : op.getReads().getAsRange<StringAttr>()) {
      Map map = parseMap(context, text.getValue());
      node.reads.push_back({outputName(map), map});
    }
    nodes.push_back(std::move(node));
  }
  if (context.failed())
    return graph.emitError("E0001: isl failed: ") << context.message();
  OperationLimit limit(context, maxOperations);
  bool changed = true;
  for (unsigned round = 0; changed && round < maxRounds; ++round) {
    std::map<std::string, Set> demanded;
    for (Node &node : nodes)
      for (auto &[tensor, map] : node.reads) {
        // `end(t)` of the reader need not be that of the writer.
        Set points = forgetParameters(apply(node.domain, map), ends);
        Set &all = demanded[tensor];
        all = all ? all | points : points;
      }
    for (auto &[tensor, points] : demanded)
      points = Set(isl_set_coalesce(points.release()));
    changed = false;
    for (Node &node : nodes) {
      if (node.op.getOutput() || node.stops)
        continue;
      Set kept(isl_set_empty(isl_set_get_space(node.domain.get())));
      for (auto &[tensor, map] : node.writes)
        if (auto found = demanded.find(tensor); found != demanded.end())
          kept = kept | apply(found->second, reverse(map));
      kept = Set(isl_set_coalesce((kept & node.domain).release()));
      // Sets in many pieces cost more than they save.
      if (isl_set_n_basic_set(kept.get()) > maxPieces ||
          isSubset(node.domain, kept))
        continue;
      node.domain = kept;
      changed = true;
    }
  }
  if (context.failed())
    return success(); // Larger domains are right, too.
  for (Node &node : nodes) {
    if (isEmpty(node.domain))
      node.op.erase();
    else
      node.op.setDomain(toText(node.domain));
  }
  return success();
}

std::unique_ptr<Pass> timerl::createPdgDemandPass() {
  return std::make_unique<Demand>();
}
