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

using namespace mlir;
using namespace timerl;
using namespace timerl::codegen;

Generator::Generator(ModuleOp module, sched::ProgramOp program, OpBuilder &b)
    : module(module), program(program), b(b), loc(program.getLoc()),
      scratchBase(llvm::alignTo(program.getArena(), 64)) {}

LogicalResult Generator::unsupported(Operation *op, const llvm::Twine &what) {
  return op->emitError() << "E0501: " << what
                         << " is not supported by the CPU code generator yet";
}

LogicalResult Generator::run() {
  for (auto arg : module.getOps<trl::ArgOp>())
    argNumbers.emplace(arg.getSymName().str(), argNumbers.size());
  for (auto input : module.getOps<trl::InputOp>()) {
    if (cast<RankedTensorType>(input.getType())
            .getElementType()
            .isUnsignedInteger())
      return unsupported(input, "an input of type u8");
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
  declare("timerl_rt_report", {i64, i64, pointer, i64});
  declare("timerl_rt_save", {i64, i64, pointer});
  declare("timerl_rt_outside", {pointer, pointer, i64, i64, i64});
  declare("timerl_rt_draw",
          {i64, pointer, i64, i64, pointer, i64, i64, i64, i64});
  auto function = func::FuncOp::create(
      b, loc, "timerl_program_run", b.getFunctionType({pointer, pointer}, {}));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  arena = entry->getArgument(0);
  args = entry->getArgument(1);
  points = LLVM::AllocaOp::create(b, loc, pointer, i64, constant(32));
  program.walk([&](sched::ForOp loop) {
    if (loop.getUntil())
      ends["end(" + loop.getName().str() + ")"] =
          LLVM::AllocaOp::create(b, loc, pointer, i64, constant(1));
  });
  for (auto buffer : program.getBody().front().getOps<sched::BufferOp>())
    buffers[buffer.getTensor().str()] = buffer;
  if (failed(emitBlock(program.getBody().front())))
    return failure();
  func::ReturnOp::create(b, loc);
  return success();
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
  for (Operation &op : block) {
    loc = op.getLoc();
    LogicalResult result = success();
    if (auto loop = dyn_cast<sched::ForOp>(op))
      result = emitFor(loop);
    else if (auto guard = dyn_cast<sched::IfOp>(op))
      when(emitExpr(guard.getCondition().getExpr()),
           [&] { result = emitBlock(guard.getBody().front()); });
    else if (auto stmt = dyn_cast<sched::StmtOp>(op))
      result = emitStmt(stmt);
    else if (auto output = dyn_cast<sched::OutputOp>(op))
      result = emitOutput(output);
    if (failed(result))
      return failure();
  }
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
  SmallVector<Value> operands{arena, args, points};
  for (auto &[name, place] : ends)
    operands.push_back(place);
  for (auto &[name, value] : variables)
    operands.push_back(value);
  std::string name = "timerl_loop_" + std::to_string(numOutlined++);
  auto outerEnds = ends;
  auto outerVariables = variables;
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
    unsigned next = 3;
    arena = entry->getArgument(0);
    args = entry->getArgument(1);
    points = entry->getArgument(2);
    for (auto &[end, place] : ends)
      place = entry->getArgument(next++);
    for (auto &[variable, value] : variables)
      value = entry->getArgument(next++);
    if (failed(emitLoop(op)))
      return failure();
    func::ReturnOp::create(b, loc);
  }
  arena = operands[0];
  args = operands[1];
  points = operands[2];
  ends = std::move(outerEnds);
  variables = std::move(outerVariables);
  func::CallOp::create(b, loc, name, TypeRange(), operands);
  return success();
}

LogicalResult Generator::emitLoop(sched::ForOp op) {
  std::string name = op.getName().str();
  Value lo = emitExpr(op.getLo().getExpr()),
        hi = emitExpr(op.getHi().getExpr());
  LogicalResult result = success();
  if (!op.getUntil()) {
    loop(lo, hi, [&](Value variable) {
      if (op.getReverse())
        variable = arith::SubIOp::create(
            b, loc,
            arith::AddIOp::create(
                b, loc, lo, arith::SubIOp::create(b, loc, hi, constant(1))),
            variable);
      variables[name] = variable;
      result = emitBlock(op.getBody().front());
    });
    variables.erase(name);
    return result;
  }
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
  Block *after = b.createBlock(&loop.getAfter(), {}, {b.getI64Type()}, {loc});
  // The condition's region carries (variable, running), the body the variable.
  variables[name] = after->getArgument(0);
  if (failed(emitBlock(op.getBody().front())))
    return failure();
  SmallVector<Value> positions;
  for (const Expr &index : trl::getExprs(*op.getUntilIndices()))
    positions.push_back(emitExpr(index));
  sched::BufferOp buffer = buffers.at(op.getUntil()->str());
  Value stop =
      load(offsetPointer(arena, constant(buffer.getOffset()), b.getI8Type()),
           slot(buffer, 1, positions), b.getI1Type());
  Value go = arith::XOrIOp::create(
      b, loc, stop, arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
  Value next =
      arith::AddIOp::create(b, loc, after->getArgument(0), constant(1));
  scf::YieldOp::create(b, loc, ValueRange{next, go});
  variables.erase(name);
  b.setInsertionPointAfter(loop);
  Value count = arith::SubIOp::create(b, loc, loop.getResult(0), lo);
  store(count, ends.at("end(" + name + ")"), constant(0));
  return success();
}

LogicalResult Generator::bind(Operation *op, ArrayAttr dims, ArrayAttr exprs) {
  std::map<std::string, Value> bound;
  for (auto [name, expr] : llvm::zip(dims, trl::getExprs(exprs)))
    bound[cast<StringAttr>(name).str()] = emitExpr(expr);
  variables = std::move(bound);
  scratchUsed = 0;
  values.clear();
  borrowed.clear();
  return success();
}

LogicalResult Generator::emitStmt(sched::StmtOp stmt) {
  auto outer = variables;
  if (failed(bind(stmt, stmt.getDims(), stmt.getValues())) ||
      failed(emitOps(stmt.getBody().front())))
    return failure();
  // What lies in a slot may be overwritten by this very statement: all values
  // are computed, and out of the slots, before any is stored.
  SmallVector<Operand> yielded;
  auto results = stmt.getYield().getValues();
  for (Value result : results) {
    Operand value = get(result);
    if (!value.isScalar() &&
        (value.compute || borrowed.contains(value.value))) {
      Value held = scratch(value.type);
      copy(value, held, constant(0));
      value = {value.type, held};
    }
    yielded.push_back(value);
  }
  for (auto [value, symbol, list] :
       llvm::zip(yielded, stmt.getTargets(), stmt.getIndices())) {
    sched::BufferOp buffer =
        buffers.at(cast<FlatSymbolRefAttr>(symbol).getValue().str());
    Type type = value.type.getElementType();
    Value base =
        offsetPointer(arena, constant(buffer.getOffset()), b.getI8Type());
    auto indices = cast<ArrayAttr>(list);
    SmallVector<int64_t> extents;
    for (Attribute index : indices)
      if (isa<trl::RangeAttr>(index))
        extents.push_back(value.type.getDimSize(extents.size()));
    int64_t elements = value.type.getNumElements();
    for (int64_t extent : extents)
      elements /= extent ? extent : 1;
    loopNest(extents, [&](ArrayRef<Value> at) {
      SmallVector<Value> positions;
      unsigned axis = 0;
      for (Attribute index : indices)
        if (auto range = dyn_cast<trl::RangeAttr>(index))
          positions.push_back(arith::AddIOp::create(
              b, loc, emitExpr(range.getLo().getExpr()), at[axis++]));
        else
          positions.push_back(
              emitExpr(cast<trl::AtAttr>(index).getIndex().getExpr()));
      Value to = slot(buffer, elements, positions);
      if (value.isScalar()) {
        store(value.value, base, to);
        return;
      }
      Value from = arith::MulIOp::create(b, loc, linear(extents, at),
                                         constant(elements));
      loop(constant(0), constant(elements), [&](Value k) {
        Value read =
            load(value.value, arith::AddIOp::create(b, loc, from, k), type);
        store(read, base, arith::AddIOp::create(b, loc, to, k));
      });
    });
  }
  variables = std::move(outer);
  return success();
}

LogicalResult Generator::emitOutput(sched::OutputOp output) {
  if (output.getDims().size() > 32)
    return unsupported(output, "a report over more than 32 dims");
  auto outer = variables;
  if (failed(bind(output, output.getDims(), output.getValues())))
    return failure();
  if (failed(emitOps(output.getBody().front())))
    return failure();
  for (auto [k, dim] : llvm::enumerate(output.getDims()))
    store(variables.at(cast<StringAttr>(dim).str()), points, constant(k));
  Operand value = get(output.getYield().getValues()[0]);
  if (value.compute) {
    Value held = scratch(value.type);
    copy(value, held, constant(0));
    value = {value.type, held};
  }
  int64_t number = output->getAttrOfType<IntegerAttr>("number").getInt();
  if (output.getKind() == trl::OutputKind::save) {
    LogicalResult result = emitSave(output, value, number);
    variables = std::move(outer);
    return result;
  }
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
  variables = std::move(outer);
  return success();
}

LogicalResult Generator::emitSave(sched::OutputOp output, const Operand &value,
                                  int64_t number) {
  // The point's place among the points saved, row-major.
  SmallVector<Value> places;
  SmallVector<int64_t> extents;
  for (auto iter : output.getDomain().getAsRange<trl::IterAttr>()) {
    auto lo = iter.getLo().getExpr().getConst(),
         hi = iter.getHi().getExpr().getConst();
    if (!lo || !hi)
      return unsupported(output, "`save` over a range that depends on the run");
    extents.push_back(*hi - *lo);
    places.push_back(arith::SubIOp::create(
        b, loc, variables.at(iter.getName().str()), constant(*lo)));
  }
  Value held = value.value;
  if (value.isScalar()) {
    held = scratch(value.type);
    store(value.value, held, constant(0));
  }
  func::CallOp::create(
      b, loc, "timerl_rt_save", TypeRange(),
      ValueRange{constant(number), linear(extents, places), held});
  return success();
}

//===----------------------------------------------------------------------===//
// Expressions and addresses
//===----------------------------------------------------------------------===//

Value Generator::constant(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value Generator::floorDiv(Value lhs, Value rhs) {
  return arith::FloorDivSIOp::create(b, loc, lhs, rhs);
}

Value Generator::emitExpr(const Expr &expr) {
  auto fold = [&](auto make) {
    Value result;
    for (const Expr &operand : expr.operands()) {
      Value next = emitExpr(operand);
      result = result ? make(result, next) : next;
    }
    return result;
  };
  auto compare = [&](arith::CmpIPredicate predicate) -> Value {
    return arith::CmpIOp::create(b, loc, predicate,
                                 emitExpr(expr.operands()[0]), constant(0));
  };
  switch (expr.kind()) {
  case Expr::Kind::Overflow: // No program with one passes elaboration.
  case Expr::Kind::Const:
    return constant(expr.value());
  case Expr::Kind::Bool:
    return arith::ConstantOp::create(b, loc, b.getBoolAttr(expr.value()));
  case Expr::Kind::Var: {
    std::string name = expr.name().str();
    if (auto found = variables.find(name); found != variables.end())
      return found->second;
    if (auto end = ends.find(name); end != ends.end())
      return load(end->second, constant(0), b.getI64Type());
    auto arg = cast<trl::ArgOp>(SymbolTable::lookupSymbolIn(module, name));
    Value base =
        offsetPointer(args, constant(argNumbers.at(name)), b.getI64Type());
    Value value = load(base, constant(0), arg.getDefaultValue().getType());
    return castScalar(value, b.getI64Type());
  }
  case Expr::Kind::Sum: {
    Value sum = constant(expr.value());
    for (auto [factor, operand] :
         llvm::zip(expr.coefficients(), expr.operands()))
      sum = arith::AddIOp::create(
          b, loc, sum,
          arith::MulIOp::create(b, loc, emitExpr(operand), constant(factor)));
    return sum;
  }
  case Expr::Kind::FloorDiv:
    return floorDiv(emitExpr(expr.operands()[0]), constant(expr.value()));
  case Expr::Kind::Mod: {
    Value operand = emitExpr(expr.operands()[0]);
    Value divisor = constant(expr.value());
    return arith::SubIOp::create(
        b, loc, operand,
        arith::MulIOp::create(b, loc, floorDiv(operand, divisor), divisor));
  }
  case Expr::Kind::Min:
    return fold([&](Value x, Value y) -> Value {
      return arith::MinSIOp::create(b, loc, x, y);
    });
  case Expr::Kind::Max:
    return fold([&](Value x, Value y) -> Value {
      return arith::MaxSIOp::create(b, loc, x, y);
    });
  case Expr::Kind::And:
    return fold([&](Value x, Value y) -> Value {
      return arith::AndIOp::create(b, loc, x, y);
    });
  case Expr::Kind::Or:
    return fold([&](Value x, Value y) -> Value {
      return arith::OrIOp::create(b, loc, x, y);
    });
  case Expr::Kind::Eq:
    return compare(arith::CmpIPredicate::eq);
  case Expr::Kind::Ge:
    return compare(arith::CmpIPredicate::sge);
  case Expr::Kind::Not:
    return arith::XOrIOp::create(
        b, loc, emitExpr(expr.operands()[0]),
        arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
  }
  llvm_unreachable("every kind is covered");
}

Value Generator::linear(ArrayRef<int64_t> shape, ArrayRef<Value> indices) {
  Value result = constant(0);
  for (auto [extent, index] : llvm::zip(shape, indices))
    result = arith::AddIOp::create(
        b, loc, arith::MulIOp::create(b, loc, result, constant(extent)), index);
  return result;
}

Value Generator::slot(sched::BufferOp buffer, int64_t elements,
                      ArrayRef<Value> positions) {
  SmallVector<Value> places;
  for (auto [position, origin, window] :
       llvm::zip(positions, buffer.getOrigin(), buffer.getWindow())) {
    if (window == 1) {
      places.push_back(constant(0));
      continue;
    }
    Value from = arith::SubIOp::create(b, loc, position, constant(origin));
    Value size = constant(window);
    places.push_back(arith::SubIOp::create(
        b, loc, from,
        arith::MulIOp::create(b, loc, floorDiv(from, size), size)));
  }
  return arith::MulIOp::create(b, loc, linear(buffer.getWindow(), places),
                               constant(elements));
}

static Type storageType(Type type) {
  return type.isInteger(1) ? IntegerType::get(type.getContext(), 8) : type;
}

Value Generator::offsetPointer(Value base, Value index, Type type) {
  return LLVM::GEPOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()),
                             storageType(type), base, ValueRange{index});
}

Value Generator::load(Value base, Value index, Type type) {
  Value read = LLVM::LoadOp::create(b, loc, storageType(type),
                                    offsetPointer(base, index, type));
  if (!type.isInteger(1))
    return read;
  return arith::TruncIOp::create(b, loc, type, read);
}

void Generator::store(Value value, Value base, Value index) {
  Value pointer = offsetPointer(base, index, value.getType());
  if (value.getType().isInteger(1))
    value = arith::ExtUIOp::create(b, loc, b.getI8Type(), value);
  LLVM::StoreOp::create(b, loc, value, pointer);
}

Value Generator::element(const Operand &operand, Value index) {
  if (operand.isScalar())
    return operand.value;
  return operand.compute
             ? operand.compute(index)
             : load(operand.value, index, operand.type.getElementType());
}

Value Generator::scratch(RankedTensorType type) {
  int64_t width = (type.getElementTypeBitWidth() + 7) / 8;
  int64_t place = scratchBase + scratchUsed;
  scratchUsed +=
      llvm::alignTo(std::max<int64_t>(1, type.getNumElements()) * width, 64);
  scratchMost = std::max(scratchMost, scratchUsed);
  return offsetPointer(arena, constant(place), b.getI8Type());
}

void Generator::loop(Value lo, Value hi, llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, loc, lo, hi, constant(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void Generator::when(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

void Generator::loopNest(ArrayRef<int64_t> shape, Body body) {
  SmallVector<Value> indices;
  std::function<void(unsigned)> nest = [&](unsigned axis) {
    if (axis == shape.size())
      return body(indices);
    loop(constant(0), constant(shape[axis]), [&](Value index) {
      indices.push_back(index);
      nest(axis + 1);
      indices.pop_back();
    });
  };
  nest(0);
}

void Generator::copy(const Operand &from, Value base, Value first) {
  if (from.isScalar())
    return store(from.value, base, first);
  loop(constant(0), constant(from.type.getNumElements()), [&](Value k) {
    store(element(from, k), base, arith::AddIOp::create(b, loc, first, k));
  });
}

void Generator::define(Value result, Value value) {
  values[result] = {cast<RankedTensorType>(result.getType()), value};
}

Operand Generator::get(Value value) { return values.lookup(value); }
