//===- PdgToSched.cpp - A graph to loops, statements and buffers ----------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "sched/SchedDialect.h"
#include "timerl/Conversion/Passes.h"
#include "timerl/Memory/Storage.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::poly;
using namespace timerl::schedule;

namespace {

/// Of isl, for a whole program: some three seconds.
constexpr uint64_t maxOperations = 30'000'000;
/// Bytes that any cache holds.
constexpr int64_t smallArena = 32 * 1024;

/// Writes a schedule as ops. On the way down it knows the points of the loops
/// around that are executed, so that only what does not follow is tested.
class Emitter {
public:
  Emitter(Graph &graph, OpBuilder &builder) : graph(graph), builder(builder) {}

  LogicalResult emit(const LoopTree &tree, const Set &context);

private:
  LogicalResult emitLoop(const LoopTree &tree, Set context);
  LogicalResult emitStatement(schedule::Statement &statement, Set context);
  /// Restricts the context to a set, by a guard if need be.
  LogicalResult guard(Operation *at, const Set &set, Set &context);
  trl::ExprAttr attr(const Expr &expr) {
    return trl::ExprAttr::get(builder.getContext(), expr);
  }
  std::optional<Expr> bound(const Set &points, const Set &context, bool upper);

  Graph &graph;
  OpBuilder &builder;
  SmallVector<std::string> variables;
  llvm::StringMap<unsigned> ordinals; ///< of equations, by their first target
};

} // namespace

LogicalResult Emitter::guard(Operation *at, const Set &set, Set &context) {
  Set rest(isl_set_gist(set.copy(), context.copy()));
  rest = Set(isl_set_coalesce(rest.release()));
  context = context & set;
  if (isl_set_plain_is_universe(rest.get()) == isl_bool_true)
    return success();
  auto condition = toCondition(rest, variables);
  if (!condition)
    return at->emitError("E0803: the points of this equation have no static "
                         "description as a loop nest with guards");
  auto test = sched::IfOp::create(builder, at->getLoc(), attr(*condition));
  builder.setInsertionPointToStart(&test.getBody().emplaceBlock());
  return success();
}

/// The least or the greatest value of the last loop, given the others.
std::optional<Expr> Emitter::bound(const Set &points, const Set &context,
                                   bool upper) {
  unsigned depth = isl_set_dim(points.get(), isl_dim_set) - 1;
  Map map(isl_map_from_domain(points.copy()));
  map = Map(
      isl_map_move_dims(map.release(), isl_dim_out, 0, isl_dim_in, depth, 1));
  isl_pw_multi_aff *extreme = upper
                                  ? isl_map_lexmax_pw_multi_aff(map.release())
                                  : isl_map_lexmin_pw_multi_aff(map.release());
  PwAff value(isl_pw_multi_aff_get_pw_aff(extreme, 0));
  isl_pw_multi_aff_free(extreme);
  value = PwAff(isl_pw_aff_gist(value.release(), context.copy()));
  value = PwAff(isl_pw_aff_coalesce(value.release()));
  ArrayRef<std::string> outer = variables;
  if (auto expr = toExpr(value, outer))
    return expr;
  // A wider loop does, since its body is guarded.
  isl_val *constant = upper ? isl_set_dim_max_val(points.copy(), depth)
                            : isl_set_dim_min_val(points.copy(), depth);
  std::optional<Expr> expr;
  if (constant && isl_val_is_int(constant) == isl_bool_true)
    expr = Expr::constant(isl_val_get_num_si(constant));
  isl_val_free(constant);
  return expr;
}

LogicalResult Emitter::emitLoop(const LoopTree &tree, Set context) {
  OpBuilder::InsertionGuard restore(builder);
  const schedule::Loop &loop = graph.loops[tree.loop];
  Operation *at = graph.statements[tree.members[0]].node;
  unsigned depth = variables.size() + 1;
  Set points;
  for (unsigned s : tree.members) {
    Set executed = graph.executed(graph.statements[s], depth);
    points = points ? points | executed : executed;
  }
  points = Set(isl_set_coalesce(points.release()));
  if (isEmpty(points))
    return success();
  Set outer(isl_set_project_out(points.copy(), isl_dim_set, depth - 1, 1));
  if (failed(guard(at, outer, context)))
    return failure();
  auto lo = bound(points, context, false), hi = bound(points, context, true);
  if (!lo || !hi)
    return at->emitError("E0803: the range of loop '")
           << loop.variable << "' has no static description";
  *hi = *hi + Expr::constant(1);
  auto op = sched::ForOp::create(
      builder, at->getLoc(), builder.getStringAttr(loop.variable), attr(*lo),
      attr(*hi), loop.reverse ? builder.getUnitAttr() : UnitAttr(),
      loop.parallel ? builder.getUnitAttr() : UnitAttr(),
      /*lanes=*/IntegerAttr(), FlatSymbolRefAttr(), ArrayAttr());
  builder.setInsertionPointToStart(&op.getBody().emplaceBlock());
  variables.push_back(loop.variable);
  Expr variable = Expr::var(loop.variable);
  context = Set(isl_set_add_dims(context.release(), isl_dim_set, 1)) &
            Coordinates(graph.context, variables, graph.params)
                .where(Expr::conj(
                    {Expr::ge(variable, *lo), Expr::lt(variable, *hi)}));
  LogicalResult result = emit(tree, context);
  variables.pop_back();
  return result;
}

LogicalResult Emitter::emitStatement(schedule::Statement &statement,
                                     Set context) {
  OpBuilder::InsertionGuard restore(builder);
  Set points = graph.executed(statement, statement.steps.size());
  if (isEmpty(points))
    return success();
  pdg::NodeOp node = statement.node;
  if (failed(guard(node, points, context)))
    return failure();
  SmallVector<Attribute> values(statement.dims.size());
  for (auto [step, variable] : llvm::zip(statement.steps, variables))
    values[step.dim] = attr(Expr::floorDiv(
        Expr::var(variable) - Expr::constant(step.shift), step.scale));
  ArrayAttr bindings = builder.getArrayAttr(values);
  if (node.getOutput()) {
    auto output = sched::OutputOp::create(
        builder, node.getLoc(), node.getOutputAttr(), node.getLabelAttr(),
        node.getDimsAttr(), bindings, node.getRangeAttr());
    // Tables have their columns in the order of the source.
    int64_t order = 0;
    for (auto other : node->getBlock()->getOps<pdg::NodeOp>()) {
      if (other == node)
        break;
      order += other.getOutput().has_value();
    }
    output->setAttr("order", builder.getI64IntegerAttr(order));
    output.getBody().takeBody(node.getBody());
    return success();
  }
  SmallVector<Attribute> lists;
  for (Attribute list : node.getIndices()) {
    SmallVector<Attribute> points;
    for (auto index : cast<ArrayAttr>(list).getAsRange<trl::ExprAttr>())
      points.push_back(trl::AtAttr::get(builder.getContext(), index));
    lists.push_back(builder.getArrayAttr(points));
  }
  std::string name = node.getTarget(0).str();
  name += "." + std::to_string(ordinals[name]++);
  auto stmt = sched::StmtOp::create(
      builder, node.getLoc(), builder.getStringAttr(name), node.getDimsAttr(),
      bindings, node.getTargetsAttr(), builder.getArrayAttr(lists));
  stmt.getBody().takeBody(node.getBody());
  return success();
}

LogicalResult Emitter::emit(const LoopTree &tree, const Set &context) {
  for (const LoopTree &child : tree.children)
    if (failed(child.loop < 0
                   ? emitStatement(graph.statements[child.statement], context)
                   : emitLoop(child, context)))
      return failure();
  return success();
}

namespace {

class PdgToSched : public PassWrapper<PdgToSched, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PdgToSched)
  StringRef getArgument() const override { return "convert-pdg-to-sched"; }
  StringRef getDescription() const override {
    return "A loop nest for a dependence graph, and storage for its values";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<sched::SchedDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto graphs = llvm::to_vector(module.getOps<pdg::GraphOp>());
    for (pdg::GraphOp graph : graphs)
      if (failed(convert(graph)))
        return signalPassFailure();
  }

private:
  struct Planned {
    Graph graph;
    LoopTree tree;
    memory::Plan plan;
  };

  static std::optional<Planned> plan(Graph graph, Preference preference,
                                     memory::WindowCache &cache) {
    if (failed(computeSchedule(graph, preference)))
      return std::nullopt;
    LoopTree tree = buildLoopTree(graph);
    auto plan = memory::planMemory(graph, tree, cache);
    if (!plan)
      return std::nullopt;
    return Planned{std::move(graph), std::move(tree), std::move(*plan)};
  }

  /// Loops without an order outside, unless that costs much memory.
  static std::optional<Planned> choose(IslContext &context, pdg::GraphOp op) {
    Graph graph(context, op);
    memory::WindowCache cache;
    auto parallel = plan(graph, Preference::Parallel, cache);
    if (!parallel)
      return std::nullopt;
    if (parallel->plan.arena <= smallArena)
      return parallel;
    auto small = plan(graph, Preference::Storage, cache);
    if (small && small->plan.arena < parallel->plan.arena / 2)
      return small;
    return parallel;
  }

  LogicalResult convert(pdg::GraphOp op) {
    IslContext context;
    OperationLimit limit(context, maxOperations);
    auto planned = choose(context, op);
    if (context.failed())
      return op.emitError("E0804: no schedule was found within the limit on "
                          "work (")
             << context.message() << ')';
    if (!planned)
      return failure();
    auto &[graph, tree, plan] = *planned;
    OpBuilder builder(op);
    auto program =
        sched::ProgramOp::create(builder, op.getLoc(), "main", plan.arena);
    builder.setInsertionPointToStart(&program.getBody().emplaceBlock());
    for (const memory::Buffer &buffer : plan.buffers)
      sched::BufferOp::create(
          builder, trl::TensorOp(buffer.tensor).getLoc(),
          FlatSymbolRefAttr::get(trl::TensorOp(buffer.tensor).getSymNameAttr()),
          builder.getDenseI64ArrayAttr(buffer.window),
          builder.getDenseI64ArrayAttr(buffer.origin),
          builder.getI64IntegerAttr(buffer.offset),
          builder.getI64IntegerAttr(buffer.bytes),
          builder.getDenseI64ArrayAttr({buffer.first, buffer.last}),
          /*minor=*/IntegerAttr());
    Emitter emitter(graph, builder);
    Set none = Coordinates(context, {}, graph.params).universe();
    none =
        Set(isl_set_intersect_params(none.release(), graph.assumptions.copy()));
    if (failed(emitter.emit(tree, none))) {
      program.erase();
      return failure();
    }
    if (context.failed())
      return op.emitError("E0001: isl failed: ") << context.message();
    addUnusedBuffers(program);
    op.erase();
    return success();
  }

  /// A read that is never executed, in a branch that no point takes, needs a
  /// place, too.
  static void addUnusedBuffers(sched::ProgramOp program) {
    llvm::StringMap<bool> stored;
    Operation *last = nullptr;
    for (auto buffer : program.getBody().front().getOps<sched::BufferOp>()) {
      stored[buffer.getTensor()] = true;
      last = buffer;
    }
    OpBuilder builder(program.getContext());
    if (last)
      builder.setInsertionPointAfter(last);
    else
      builder.setInsertionPointToStart(&program.getBody().front());
    int64_t statements = 0;
    SmallVector<trl::TensorOp> missing;
    program.walk([&](Operation *op) {
      statements += isa<sched::StmtOp, sched::OutputOp>(op);
      auto read = dyn_cast<trl::ReadOp>(op);
      if (!read || stored.contains(read.getSource()))
        return;
      if (auto tensor = SymbolTable::lookupNearestSymbolFrom<trl::TensorOp>(
              read, read.getSourceAttr())) {
        stored[read.getSource()] = true;
        missing.push_back(tensor);
      }
    });
    for (trl::TensorOp tensor : missing) {
      auto type = cast<RankedTensorType>(tensor.getType());
      if (!type.hasStaticShape())
        continue;
      int64_t bytes =
          type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
      SmallVector<int64_t> window(tensor.getRank(), 1),
          origin(tensor.getRank(), 0);
      int64_t arena = program.getArena();
      sched::BufferOp::create(builder, tensor.getLoc(),
                              FlatSymbolRefAttr::get(tensor.getSymNameAttr()),
                              builder.getDenseI64ArrayAttr(window),
                              builder.getDenseI64ArrayAttr(origin),
                              builder.getI64IntegerAttr(arena),
                              builder.getI64IntegerAttr(bytes),
                              builder.getDenseI64ArrayAttr({0, statements - 1}),
                              /*minor=*/IntegerAttr());
      program.setArena(arena + (bytes + 63) / 64 * 64);
    }
  }
};

} // namespace

std::unique_ptr<Pass> timerl::createPdgToSchedPass() {
  return std::make_unique<PdgToSched>();
}
void timerl::registerPdgToSchedPass() { PassRegistration<PdgToSched>(); }
