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

/// Of a dim that stops early: at which point of its outer dims, over the loops'
/// variables, `end(t)` counts.
struct Length {
  SmallVector<Expr> at;
  /// `running`: inside of the loop that stops, which has not ended; `told`: a
  /// `sched.end` stands before.
  enum State { Known, Told, Running } state = Known;
};

/// What is known at a place between the ops.
struct Context {
  Set points;                         ///< of the loops around
  std::map<unsigned, Length> lengths; ///< by stop
};

/// Writes a schedule as ops. On the way down it knows the points of the loops
/// around that are executed, so that only what does not follow is tested.
class Emitter {
public:
  Emitter(Graph &graph, OpBuilder &builder) : graph(graph), builder(builder) {}

  LogicalResult emit(const LoopTree &tree, const Context &context);

private:
  LogicalResult emitLoop(const LoopTree &tree, Context context);
  LogicalResult emitStatement(schedule::Statement &statement, Context context);
  /// Where `end(t)` counts for a statement, as far as `depth` loops tell.
  std::optional<SmallVector<Expr>>
  lengthAt(const schedule::Statement &statement, const Stop &stop,
           unsigned depth);
  /// Whether there is a length at this point wherever the context is.
  bool isCounted(const Stop &stop, ArrayRef<Expr> at, const Set &context);
  /// The points of `depth` loops at which a statement is executed. Of lengths
  /// remain those that count where the context says, which takes up new ones;
  /// none remain that depend on the innermost loops from `fixed` on.
  Set executed(const schedule::Statement &statement, unsigned depth,
               unsigned fixed, Context &context);
  /// Restricts the context to a set, by a guard if need be.
  LogicalResult guard(Operation *at, const Set &set, Context &context);
  /// Sees to it that the lengths which an expression mentions are told.
  LogicalResult tell(Operation *at, const Expr &expr, Context &context);
  trl::ExprAttr attr(const Expr &expr) {
    return trl::ExprAttr::get(builder.getContext(), expr);
  }
  std::optional<Expr> bound(const Set &points, const Set &context, bool upper);
  /// A statement's dim over the variables of loops.
  static Expr dimValue(const LoopStep &step, StringRef variable) {
    return Expr::floorDiv(Expr::var(variable) - Expr::constant(step.shift),
                          step.scale);
  }

  Graph &graph;
  OpBuilder &builder;
  SmallVector<std::string> variables;
  llvm::StringMap<unsigned> ordinals; ///< of equations, by their first target
};

} // namespace

std::optional<SmallVector<Expr>>
Emitter::lengthAt(const schedule::Statement &statement, const Stop &stop,
                  unsigned depth) {
  SmallVector<Expr> at;
  for (const std::string &name : stop.outer) {
    unsigned dim = graph.findDim(statement, name);
    for (unsigned k = 0; k < std::min<unsigned>(depth, statement.steps.size());
         ++k)
      if (statement.steps[k].dim == dim)
        at.push_back(dimValue(statement.steps[k], variables[k]));
  }
  if (at.size() < stop.outer.size())
    return std::nullopt;
  return at;
}

bool Emitter::isCounted(const Stop &stop, ArrayRef<Expr> at,
                        const Set &context) {
  SmallVector<std::string> names(variables);
  names.truncate(isl_set_dim(context.get(), isl_dim_set));
  unsigned depth = names.size();
  SmallVector<Expr> facts;
  for (const Expr &index : at) {
    names.push_back("p" + std::to_string(names.size()) + ".");
    facts.push_back(Expr::eq(Expr::var(names.back()), index));
  }
  const schedule::Statement &owner = graph.statements[stop.statement];
  Set counted;
  for (auto &[tensor, map] : owner.writes)
    if (tensor == stop.counted)
      counted = rangeOf(map);
  counted = Set(isl_set_reset_tuple_id(counted.release()));
  counted = Set(isl_set_insert_dims(counted.release(), isl_dim_set, 0, depth));
  Set points =
      Coordinates(graph.context, names, graph.params).where(Expr::conj(facts)) &
      counted;
  return isSubset(context,
                  Set(isl_set_project_out(points.release(), isl_dim_set, depth,
                                          at.size())));
}

Set Emitter::executed(const schedule::Statement &statement, unsigned depth,
                      unsigned fixed, Context &context) {
  Set points = graph.executed(statement, depth);
  for (unsigned k = 0; k < graph.stops.size(); ++k) {
    const Stop &stop = graph.stops[k];
    if (!graph.involves(points, stop))
      continue;
    auto at = lengthAt(statement, stop, fixed);
    auto known = context.lengths.find(k);
    if (at && known == context.lengths.end() &&
        isCounted(stop, *at, context.points))
      known = context.lengths.emplace(k, Length{*at}).first;
    if (!at || known == context.lengths.end() || known->second.at != *at)
      points = forgetParameters(points, {stop.end});
  }
  return points;
}

LogicalResult Emitter::tell(Operation *at, const Expr &expr, Context &context) {
  for (auto &[k, length] : context.lengths) {
    const Stop &stop = graph.stops[k];
    if (length.state == Length::Told || !expr.mentions(stop.end))
      continue;
    if (length.state == Length::Running)
      return at->emitError("E0805: the length of '")
             << stop.dim << "' is needed here before its loop has ended";
    sched::EndOp::create(
        builder, at->getLoc(),
        FlatSymbolRefAttr::get(builder.getContext(), stop.dim),
        trl::getExprArrayAttr(builder.getContext(), length.at));
    length.state = Length::Told;
  }
  return success();
}

LogicalResult Emitter::guard(Operation *at, const Set &set, Context &context) {
  Set rest(isl_set_gist(set.copy(), context.points.copy()));
  rest = Set(isl_set_coalesce(rest.release()));
  context.points = context.points & set;
  if (isl_set_plain_is_universe(rest.get()) == isl_bool_true)
    return success();
  auto condition = toCondition(rest, variables);
  if (!condition)
    return at->emitError("E0803: the points of this equation have no static "
                         "description as a loop nest with guards");
  if (failed(tell(at, *condition, context)))
    return failure();
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

LogicalResult Emitter::emitLoop(const LoopTree &tree, Context context) {
  OpBuilder::InsertionGuard restore(builder);
  const schedule::Loop &loop = graph.loops[tree.loop];
  Operation *at = graph.statements[tree.members[0]].node;
  unsigned depth = variables.size() + 1;
  // The dim that this loop is left by.
  std::optional<unsigned> stopping;
  for (unsigned k = 0; k < graph.stops.size(); ++k)
    if (graph.loopOf(graph.stops[k]) == unsigned(tree.loop))
      stopping = k;
  Set points;
  for (unsigned s : tree.members) {
    Set part = executed(graph.statements[s], depth, depth - 1, context);
    points = points ? points | part : part;
  }
  if (stopping)
    points = forgetParameters(points, {graph.stops[*stopping].end});
  points = Set(isl_set_coalesce(points.release()));
  if (isEmpty(points))
    return success();
  Set outer(isl_set_project_out(points.copy(), isl_dim_set, depth - 1, 1));
  if (failed(guard(at, outer, context)))
    return failure();
  auto lo = bound(points, context.points, false),
       hi = bound(points, context.points, true);
  if (!lo || !hi)
    return at->emitError("E0803: the range of loop '")
           << loop.variable << "' has no static description";
  *hi = *hi + Expr::constant(1);
  if (failed(tell(at, *lo, context)) || failed(tell(at, *hi, context)))
    return failure();
  FlatSymbolRefAttr until;
  ArrayAttr untilIndices;
  variables.push_back(loop.variable);
  if (stopping) {
    const Stop &stop = graph.stops[*stopping];
    const schedule::Statement &owner = graph.statements[stop.statement];
    auto indices = lengthAt(owner, stop, depth - 1);
    const LoopStep &step = owner.steps[depth - 1];
    context.points = forgetParameters(context.points, {stop.end});
    context.points = Set(isl_set_intersect_params(context.points.release(),
                                                  graph.assumptions.copy()));
    context.lengths[*stopping] = Length{*indices, Length::Running};
    indices->push_back(dimValue(step, loop.variable));
    until = FlatSymbolRefAttr::get(builder.getContext(), stop.until);
    untilIndices = trl::getExprArrayAttr(builder.getContext(), *indices);
  }
  auto op = sched::ForOp::create(
      builder, at->getLoc(), builder.getStringAttr(loop.variable), attr(*lo),
      attr(*hi), loop.reverse ? builder.getUnitAttr() : UnitAttr(),
      loop.parallel && !stopping ? builder.getUnitAttr() : UnitAttr(),
      /*lanes=*/IntegerAttr(), until, untilIndices);
  builder.setInsertionPointToStart(&op.getBody().emplaceBlock());
  Expr variable = Expr::var(loop.variable);
  SmallVector<Expr> facts{Expr::ge(variable, *lo), Expr::lt(variable, *hi)};
  if (stopping)
    facts.push_back(
        Expr::lt(variable, *lo + Expr::var(graph.stops[*stopping].end)));
  context.points =
      Set(isl_set_add_dims(context.points.release(), isl_dim_set, 1)) &
      Coordinates(graph.context, variables, graph.params)
          .where(Expr::conj(facts));
  LogicalResult result = emit(tree, context);
  variables.pop_back();
  return result;
}

LogicalResult Emitter::emitStatement(schedule::Statement &statement,
                                     Context context) {
  OpBuilder::InsertionGuard restore(builder);
  unsigned depth = statement.steps.size();
  Set points = graph.executed(statement, depth);
  if (isEmpty(points))
    return success();
  pdg::NodeOp node = statement.node;
  // Here the points must be exact: `end(t)` counts where the statement says,
  // which is a point that there is once all the rest holds.
  for (unsigned k = 0; k < graph.stops.size(); ++k) {
    const Stop &stop = graph.stops[k];
    if (!graph.involves(points, stop))
      continue;
    auto at = lengthAt(statement, stop, depth);
    if (!at)
      return node.emitError("E0805: the length of '")
             << stop.dim << "' depends on dims that this does not have";
    auto known = context.lengths.find(k);
    if (known != context.lengths.end() && known->second.at == *at)
      continue;
    context.points = forgetParameters(context.points, {stop.end});
    context.points = Set(isl_set_intersect_params(context.points.release(),
                                                  graph.assumptions.copy()));
    context.lengths.erase(k);
    if (!isCounted(stop, *at, context.points) &&
        failed(guard(node, graph.forgetStops(points), context)))
      return failure();
    context.lengths[k] = Length{*at};
  }
  if (failed(guard(node, points, context)))
    return failure();
  SmallVector<Attribute> values(statement.dims.size());
  for (auto [step, variable] : llvm::zip(statement.steps, variables))
    if (step.dim != noDim)
      values[step.dim] = attr(dimValue(step, variable));
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

LogicalResult Emitter::emit(const LoopTree &tree, const Context &context) {
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
    graph.addCountReads();
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
    if (failed(emitter.emit(tree, {none, {}}))) {
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
