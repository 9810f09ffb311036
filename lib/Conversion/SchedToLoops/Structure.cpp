//===- Structure.cpp - Loops, statements, outputs and addresses -----------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "timerl/Vectorize/Passes.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::codegen;

Generator::Generator(ModuleOp module, sched::ProgramOp program, OpBuilder &b,
                     bool recordable, bool sanitize)
    : module(module), program(program), b(b), loc(program.getLoc()),
      sanitize(sanitize), recordable(recordable) {}

LogicalResult Generator::unsupported(Operation *op, const llvm::Twine &what) {
  return op->emitError() << "E0501: " << what
                         << " is not supported by the CPU code generator yet";
}

LogicalResult Generator::run() {
  for (auto arg : module.getOps<trl::ArgOp>())
    argNumbers.emplace(arg.getSymName().str(), argNumbers.size());
  for (auto input : module.getOps<trl::InputOp>()) {
    auto extents = inputExtents(module, input);
    if (!extents)
      return unsupported(input, "an input over a dim bounded by an arg");
    inputs[input.getSymName().str()] = {argNumbers.size() + inputs.size(),
                                        *extents};
  }
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  b.setInsertionPointToEnd(module.getBody());
  auto declare = [&](StringRef name, ArrayRef<Type> types) {
    func::FuncOp::create(b, loc, name, b.getFunctionType(types, {}))
        .setPrivate();
  };
  Type i64 = b.getI64Type();
  Type task = b.getFunctionType({pointer, pointer, i64, i64}, {});
  declare("timerl_rt_parallel", {task, pointer, i64});
  declare("timerl_rt_record", {i64, pointer, pointer, i64, i64, i64, i64});
  declare("timerl_rt_report", {i64, i64, pointer, i64});
  declare("timerl_rt_save", {i64, i64, pointer});
  declare("timerl_rt_outside", {pointer, pointer, i64, i64, i64});
  declare("timerl_rt_empty", {pointer, pointer, i64});
  declare("timerl_rt_draw",
          {i64, pointer, i64, i64, pointer, i64, i64, i64, i64, i64});
  if (sanitize)
    declareSanitizer();
  auto function =
      func::FuncOp::create(b, loc, "timerl_program_run",
                           b.getFunctionType({pointer, pointer, pointer}, {}));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  arena = entry->getArgument(0);
  args = entry->getArgument(1);
  scratchSpace = entry->getArgument(2);
  points = reserve(32 * maxLanes);
  for (auto dim : module.getOps<trl::DimOp>())
    if (dim.getCounted())
      stops[dim.getEndName()] = dim;
  scope.ranges = stopLengths(module);
  testExtents();
  for (auto buffer : program.getBody().front().getOps<sched::BufferOp>())
    buffers[buffer.getTensor().str()] = buffer;
  if (failed(emitBlock(program.getBody().front())))
    return failure();
  func::ReturnOp::create(b, loc);
  return success();
}

void Generator::testExtents() {
  for (auto dim : module.getOps<trl::DimOp>()) {
    const Expr &extent = dim.getExtent().getExpr();
    if (extent.isConst())
      continue;
    Value value = emitExpr(extent);
    when(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, value,
                               constant(1)),
         [&] {
           func::CallOp::create(
               b, loc, "timerl_rt_empty", TypeRange(),
               ValueRange{text(dim.getSymName()), text(placeOf(dim)), value});
         });
    scope.ranges.assume(Expr::ge(extent, Expr::constant(1)));
  }
}

Intervals codegen::stopLengths(ModuleOp module) {
  Intervals lengths;
  for (auto dim : module.getOps<trl::DimOp>())
    if (dim.getUntil())
      lengths.set(dim.getEndName(),
                  {1, Intervals().of(dim.getExtent().getExpr()).hi});
  return lengths;
}

std::optional<SmallVector<int64_t>> codegen::inputExtents(ModuleOp module,
                                                          trl::InputOp input) {
  SmallVector<int64_t> extents;
  for (auto name : input.getOver().getAsRange<StringAttr>()) {
    auto dim = module.lookupSymbol<trl::DimOp>(name);
    auto extent = dim ? dim.getExtent().getExpr().getConst() : std::nullopt;
    if (!extent)
      return std::nullopt;
    extents.push_back(*extent);
  }
  return extents;
}

LogicalResult Generator::emitBlock(Block &block) {
  auto outerEnds = ends;
  for (Operation &op : block) {
    loc = op.getLoc();
    LogicalResult result = success();
    if (auto loop = dyn_cast<sched::ForOp>(op))
      result = emitFor(loop);
    else if (auto guard = dyn_cast<sched::IfOp>(op))
      when(emitExpr(guard.getCondition().getExpr()), [&] {
        Scope outer = scope;
        scope.ranges.assume(guard.getCondition().getExpr());
        result = emitBlock(guard.getBody().front());
        scope = std::move(outer);
      });
    else if (auto stmt = dyn_cast<sched::StmtOp>(op))
      result = emitStmt(stmt);
    else if (auto output = dyn_cast<sched::OutputOp>(op))
      result = emitOutput(output);
    else if (auto end = dyn_cast<sched::EndOp>(op)) {
      std::string name = ("end(" + end.getDim() + ")").str();
      current = end;
      ends[name] = countOf(name, trl::getExprs(end.getIndices()));
    }
    if (failed(result))
      return failure();
  }
  ends = std::move(outerEnds);
  return success();
}

/// Loops at this depth, and one further in, become functions: what LLVM does
/// grows faster than a function's size. One call serves all turns of a loop.
static constexpr unsigned outlinedDepth = 1;

LogicalResult Generator::emitFor(sched::ForOp op) {
  bool outlined = loopDepth == outlinedDepth || loopDepth == outlinedDepth + 1;
  ++loopDepth;
  LogicalResult result = outlined ? emitOutlined(op) : emitLoop(op);
  --loopDepth;
  return result;
}

LogicalResult Generator::emitOutlined(sched::ForOp op) {
  SmallVector<Value> operands{arena, args, points, scratchSpace};
  for (auto &[name, length] : ends)
    operands.push_back(length);
  for (auto &[name, value] : scope.variables)
    operands.push_back(value);
  std::string name = "timerl_loop_" + std::to_string(numOutlined++);
  auto outerEnds = ends;
  Scope outerScope = scope;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(module.getBody());
    auto function = func::FuncOp::create(
        b, loc, name, b.getFunctionType(TypeRange(ValueRange(operands)), {}));
    function.setPrivate();
    function->setAttr(
        "llvm.linkage",
        LLVM::LinkageAttr::get(b.getContext(), LLVM::Linkage::Internal));
    function->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));
    Block *entry = function.addEntryBlock();
    b.setInsertionPointToStart(entry);
    unsigned next = 4;
    arena = entry->getArgument(0);
    args = entry->getArgument(1);
    points = entry->getArgument(2);
    scratchSpace = entry->getArgument(3);
    for (auto &[end, length] : ends)
      length = entry->getArgument(next++);
    for (auto &[variable, value] : scope.variables)
      value = entry->getArgument(next++);
    if (failed(emitLoop(op)))
      return failure();
    func::ReturnOp::create(b, loc);
  }
  arena = operands[0];
  args = operands[1];
  points = operands[2];
  scratchSpace = operands[3];
  ends = std::move(outerEnds);
  scope = std::move(outerScope);
  func::CallOp::create(b, loc, name, TypeRange(), operands);
  return success();
}

LogicalResult Generator::emitLoop(sched::ForOp op) {
  Scope outer = scope;
  scope.ranges.set(op.getName(), rangeOf(op.getLo().getExpr(),
                                         op.getHi().getExpr(), scope.ranges));
  LogicalResult result = op.getUntil()   ? emitStoppingLoop(op)
                         : op.getLanes() ? emitLaneLoop(op)
                                         : emitCountedLoop(op);
  scope = std::move(outer);
  return result;
}

LogicalResult Generator::emitCountedLoop(sched::ForOp op) {
  Value lo = emitExpr(op.getLo().getExpr()),
        hi = emitExpr(op.getHi().getExpr());
  LogicalResult result = success();
  auto body = [&](Value variable) {
    scope.variables[op.getName().str()] = variable;
    result = emitBlock(op.getBody().front());
  };
  if (isTask(op)) {
    Value count = arith::MaxSIOp::create(b, loc, subtract(hi, lo), constant(0));
    inThreads(count, op, lo, [&](Value from, Value to) {
      loop(add(lo, from), add(lo, to), body);
    });
    return result;
  }
  loop(lo, hi, [&](Value variable) {
    if (op.getReverse())
      variable = subtract(add(lo, subtract(hi, constant(1))), variable);
    else if (op.getParallel() && sanitize)
      variable = inChosenOrder(variable, lo, hi);
    body(variable);
  });
  return result;
}

/// As many iterations at a time as there are lanes, then the rest one by one.
LogicalResult Generator::emitLaneLoop(sched::ForOp op) {
  int64_t count = static_cast<int64_t>(*op.getLanes()),
          first = *op.getLo().getExpr().getConst(),
          last = *op.getHi().getExpr().getConst(),
          whole = (last - first) / count;
  LogicalResult result = success();
  if (whole > 1 && isTask(op))
    inThreads(constant(whole), op, {}, [&](Value from, Value to) {
      auto place = [&](Value k) {
        return add(constant(first), multiply(k, constant(count)));
      };
      result = emitLanes(op, place(from), place(to));
    });
  else
    result = emitLanes(op, constant(first), constant(first + whole * count));
  if (failed(result) || first + whole * count == last)
    return result;
  loop(constant(first + whole * count), constant(last), [&](Value variable) {
    scope.variables[op.getName().str()] = variable;
    result = emitBlock(op.getBody().front());
  });
  return result;
}

/// The iterations from lo to hi, a whole number of vectors.
LogicalResult Generator::emitLanes(sched::ForOp op, Value lo, Value hi) {
  std::string name = op.getName().str();
  LogicalResult result = success();
  lanes = static_cast<int64_t>(*op.getLanes());
  scope.variances[name] = Variance::Consecutive;
  fold(lo, hi, lanes, {},
       [&](Value variable, ValueRange) -> SmallVector<Value> {
         scope.variables[name] = variable;
         result = emitBlock(op.getBody().front());
         return {};
       });
  lanes = 1;
  scope.variances.erase(name);
  return result;
}

LogicalResult Generator::emitStoppingLoop(sched::ForOp op) {
  std::string name = op.getName().str();
  Value lo = emitExpr(op.getLo().getExpr()),
        hi = emitExpr(op.getHi().getExpr());
  Value running = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  auto loop = scf::WhileOp::create(
      b, loc, TypeRange{b.getI64Type()}, ValueRange{lo, running},
      [&](OpBuilder &, Location, ValueRange state) {
        Value below = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                            state[0], hi);
        scf::ConditionOp::create(
            b, loc, arith::AndIOp::create(b, loc, below, state[1]), state[0]);
      },
      nullptr);
  Block *after = loop.getAfterBody();
  b.setInsertionPointToStart(after);
  // The condition's region carries (variable, running), the body the variable.
  scope.variables[name] = after->getArgument(0);
  if (failed(emitBlock(op.getBody().front())))
    return failure();
  SmallVector<Attribute> points;
  for (auto index : op.getUntilIndices()->getAsRange<trl::ExprAttr>())
    points.push_back(trl::AtAttr::get(b.getContext(), index));
  ArrayAttr where = b.getArrayAttr(points);
  Place place = placeOf(*op.getUntil(), where, {}, {}, 1);
  current = op;
  trace(Access::Read, *op.getUntil(), where, {}, {}, place, 1, b.getI1Type());
  Value stop = loadFrom(place, constant(0), b.getI1Type());
  Value next = add(after->getArgument(0), constant(1));
  scf::YieldOp::create(b, loc, ValueRange{next, negate(stop)});
  b.setInsertionPointAfter(loop);
  return success();
}

LogicalResult Generator::bind(Operation *op, ArrayAttr dims, ArrayAttr exprs) {
  Scope bound;
  bound.inBody = true;
  bound.ranges = stopLengths(module);
  for (auto [dim, expr] : llvm::zip(dims, trl::getExprs(exprs))) {
    std::string name = cast<StringAttr>(dim).str();
    bound.variables[name] = emitExpr(expr);
    bound.ranges.set(name, scope.ranges.of(expr));
    Variance variance =
        lanes > 1 ? varianceOf(expr, scope.variances) : Variance::Uniform;
    if (variance == Variance::Uniform)
      continue;
    bound.variances[name] = variance;
    bound.vectors[name] = emitLanes(expr);
  }
  scope = std::move(bound);
  scratchUsed = 0;
  values.clear();
  borrowed.clear();
  varying.clear();
  addVarying(op->getRegion(0).front(), scope.variances, varying);
  return success();
}

LogicalResult Generator::emitStmt(sched::StmtOp stmt) {
  Scope outer = scope;
  current = stmt;
  if (failed(bind(stmt, stmt.getDims(), stmt.getValues())) ||
      failed(emitOps(stmt.getBody().front())))
    return failure();
  // What lies in a slot may be overwritten by this very statement: all values
  // are computed, and out of the slots, before any is stored.
  SmallVector<Operand> yielded;
  for (Value result : stmt.getYield().getValues()) {
    Operand value = get(result);
    if (value.isComputed() || borrowed.contains(value.value)) {
      Operand held = scratch(value.type, isVarying(result));
      copy(value, held, constant(0));
      value = held;
    }
    yielded.push_back(value);
  }
  for (auto [value, symbol, indices] :
       llvm::zip(yielded, stmt.getTargets(), stmt.getIndices()))
    storeResult(value, cast<FlatSymbolRefAttr>(symbol).getValue(),
                cast<ArrayAttr>(indices));
  scope = std::move(outer);
  return success();
}

void Generator::storeResult(const Operand &value, StringRef tensor,
                            ArrayAttr indices) {
  SmallVector<int64_t> extents;
  for (Attribute index : indices)
    if (isa<trl::RangeAttr>(index))
      extents.push_back(value.type.getDimSize(extents.size()));
  int64_t elements = value.type.getNumElements();
  for (int64_t extent : extents)
    elements /= extent ? extent : 1;
  loopNest(extents, [&](ArrayRef<Value> at) {
    Place to = placeOf(tensor, indices, at, {}, elements);
    trace(Access::Write, tensor, indices, at, {}, to, elements,
          value.type.getElementType());
    Value from = multiply(linear(extents, at), constant(elements));
    if (value.isScalar())
      storeTo(to, constant(0), value.value);
    else
      loop(constant(0), constant(elements),
           [&](Value k) { storeTo(to, k, element(value, add(from, k))); });
    if (recordable)
      emitRecord(value, tensor, indices, at, from, elements);
  });
}

LogicalResult Generator::emitOutput(sched::OutputOp output) {
  if (output.getDims().size() > 32)
    return unsupported(output, "a report over more than 32 dims");
  Scope outer = scope;
  current = output;
  if (failed(bind(output, output.getDims(), output.getValues())) ||
      failed(emitOps(output.getBody().front())))
    return failure();
  Value result = output.getYield().getValues()[0];
  Operand value = get(result);
  if (scope.variances.empty()) {
    if (!value.isScalar())
      value = inMemory(value);
    LogicalResult emitted = emitPoint(output, value);
    scope = std::move(outer);
    return emitted;
  }
  // Points leave one by one, lane after lane.
  int64_t count = lanes;
  Operand all = scratch(value.type, true);
  copy(value, all, constant(0));
  Operand one = scratch(value.type, false);
  auto numbers = RankedTensorType::get({}, b.getI64Type());
  std::map<std::string, Value> held;
  for (auto &[name, vector] : scope.vectors) {
    Operand place = scratch(numbers, true);
    put(place, constant(0), vector);
    held[name] = place.value;
  }
  LogicalResult emitted = success();
  lanes = 1;
  scope.variances.clear();
  loop(constant(0), constant(count), [&](Value lane) {
    for (auto &[name, place] : held)
      scope.variables[name] = load(place, lane, b.getI64Type());
    Type type = value.type.getElementType();
    loop(constant(0), constant(value.type.getNumElements()), [&](Value k) {
      put(one, k,
          load(all.value, add(multiply(k, constant(count)), lane), type));
    });
    Operand point = one;
    if (value.isScalar())
      point.value = load(one.value, constant(0), type);
    emitted = emitPoint(output, point);
  });
  lanes = count;
  scope = std::move(outer);
  return emitted;
}

LogicalResult Generator::emitPoint(sched::OutputOp output,
                                   const Operand &value) {
  for (auto [k, dim] : llvm::enumerate(output.getDims()))
    store(scope.variables.at(cast<StringAttr>(dim).str()), points, constant(k));
  int64_t number = output->getAttrOfType<IntegerAttr>("number").getInt();
  if (output.getKind() == trl::OutputKind::save)
    return emitSave(output, value, number);
  if (!value.isScalar())
    return unsupported(output, "a report of a tensor");
  // Floats travel as the bits of a double.
  Value bits = isa<FloatType>(value.type.getElementType())
                   ? Value(arith::BitcastOp::create(
                         b, loc, b.getI64Type(),
                         castScalar(value.value, b.getF64Type())))
                   : castScalar(value.value, b.getI64Type());
  func::CallOp::create(b, loc, "timerl_rt_report", TypeRange(),
                       ValueRange{constant(number),
                                  constant(output.getDims().size()), points,
                                  bits});
  return success();
}

LogicalResult Generator::emitSave(sched::OutputOp output, const Operand &value,
                                  int64_t number) {
  // The point's place among the points saved, row-major.
  SmallVector<Value> places;
  SmallVector<int64_t> extents;
  for (auto iter : output.getDomain().getAsRange<trl::IterAttr>()) {
    auto lo = iter.getLo().getExpr().getConst();
    auto hi = stopLengths(module).of(iter.getHi().getExpr()).hi;
    if (!lo || !hi)
      return unsupported(output, "`save` over a range that depends on the run");
    extents.push_back(*hi - *lo);
    places.push_back(
        subtract(scope.variables.at(iter.getName().str()), constant(*lo)));
  }
  Operand held = inMemory(value);
  func::CallOp::create(
      b, loc, "timerl_rt_save", TypeRange(),
      ValueRange{constant(number), linear(extents, places), held.value});
  return success();
}
