//===- Addresses.cpp - Index expressions, memory and lanes ----------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <numeric>

using namespace mlir;
using namespace timerl;
using namespace timerl::codegen;

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

Value Generator::splat(Value value) {
  if (lanes == 1 || isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get({lanes}, value.getType());
  if (auto known = value.getDefiningOp<arith::ConstantOp>())
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, Attribute(known.getValue())));
  Value none = LLVM::PoisonOp::create(b, loc, type);
  Value zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
  Value first = LLVM::InsertElementOp::create(b, loc, type, none, value, zero);
  return LLVM::ShuffleVectorOp::create(b, loc, first, none,
                                       SmallVector<int32_t>(lanes, 0));
}

void Generator::match(Value &x, Value &y) {
  if (isa<VectorType>(x.getType()) == isa<VectorType>(y.getType()))
    return;
  x = splat(x);
  y = splat(y);
}

Value Generator::extractLane(Value vector, int64_t lane) {
  if (!isa<VectorType>(vector.getType()))
    return vector;
  return LLVM::ExtractElementOp::create(
      b, loc, vector,
      arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(lane)));
}

Value Generator::laneNumbers() {
  SmallVector<int64_t> numbers(lanes);
  std::iota(numbers.begin(), numbers.end(), 0);
  return arith::ConstantOp::create(
      b, loc,
      DenseElementsAttr::get(VectorType::get({lanes}, b.getI64Type()),
                             ArrayRef(numbers)));
}

Value Generator::anyLane(Value condition) {
  if (!isa<VectorType>(condition.getType()))
    return condition;
  return LLVM::CallIntrinsicOp::create(
             b, loc, b.getI1Type(),
             b.getStringAttr("llvm.vector.reduce.or.v" + Twine(lanes) + "i1"),
             ValueRange{condition})
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

Value Generator::constant(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value Generator::add(Value x, Value y) {
  match(x, y);
  return arith::AddIOp::create(b, loc, x, y);
}
Value Generator::subtract(Value x, Value y) {
  match(x, y);
  return arith::SubIOp::create(b, loc, x, y);
}
Value Generator::multiply(Value x, Value y) {
  match(x, y);
  return arith::MulIOp::create(b, loc, x, y);
}
Value Generator::floorDiv(Value x, Value y) {
  match(x, y);
  return arith::FloorDivSIOp::create(b, loc, x, y);
}

Value Generator::emitExpr(const Expr &expr, bool inLanes) {
  auto operand = [&](unsigned k) {
    return emitExpr(expr.operands()[k], inLanes);
  };
  auto fold = [&](auto make) {
    Value result;
    for (unsigned k = 0; k < expr.operands().size(); ++k) {
      Value next = operand(k);
      if (!result) {
        result = next;
        continue;
      }
      match(result, next);
      result = make(result, next);
    }
    return result;
  };
  auto compare = [&](arith::CmpIPredicate predicate) -> Value {
    Value x = operand(0), zero = constant(0);
    match(x, zero);
    return arith::CmpIOp::create(b, loc, predicate, x, zero);
  };
  switch (expr.kind()) {
  case Expr::Kind::Overflow: // No program with one passes elaboration.
  case Expr::Kind::Const:
    return constant(expr.value());
  case Expr::Kind::Bool:
    return arith::ConstantOp::create(b, loc, b.getBoolAttr(expr.value()));
  case Expr::Kind::Var: {
    std::string name = expr.name().str();
    if (auto found = scope.variables.find(name);
        found != scope.variables.end()) {
      auto variance = scope.variances.find(name);
      if (!inLanes || lanes == 1 || variance == scope.variances.end())
        return found->second;
      if (variance->second == Variance::Varying)
        return scope.vectors.at(name);
      return add(found->second, laneNumbers());
    }
    if (auto stop = stops.find(name); stop != stops.end()) {
      if (!scope.inBody)
        return ends.at(name);
      SmallVector<Expr> outer;
      for (const std::string &dim : stop->second.getOuterDims())
        outer.push_back(Expr::var(dim));
      return countOf(name, outer);
    }
    auto arg = cast<trl::ArgOp>(SymbolTable::lookupSymbolIn(module, name));
    Value base =
        offsetPointer(args, constant(argNumbers.at(name)), b.getI64Type());
    Type type = arg.getDefaultValue().getType();
    if (type.isUnsignedInteger())
      type = b.getI16Type();
    Value value = load(base, constant(0), type);
    return castScalar(value, b.getI64Type());
  }
  case Expr::Kind::Sum: {
    Value sum = constant(expr.value());
    for (auto [k, factor] : llvm::enumerate(expr.coefficients()))
      sum = add(sum, multiply(operand(k), constant(factor)));
    return sum;
  }
  case Expr::Kind::FloorDiv:
    return floorDiv(operand(0), constant(expr.value()));
  case Expr::Kind::Mod: {
    Value x = operand(0), divisor = constant(expr.value());
    return subtract(x, multiply(floorDiv(x, divisor), divisor));
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
    return negate(operand(0));
  }
  llvm_unreachable("every kind is covered");
}

Value Generator::countOf(const std::string &end, ArrayRef<Expr> outer) {
  SmallVector<Attribute> point;
  for (const Expr &index : outer)
    point.push_back(trl::AtAttr::get(
        b.getContext(), trl::ExprAttr::get(b.getContext(), index)));
  StringRef tensor = *stops.at(end).getCounted();
  ArrayAttr where = b.getArrayAttr(point);
  Place place = placeOf(tensor, where, {}, {}, 1);
  trace(Access::Read, tensor, where, {}, {}, place, 1, b.getI64Type());
  return loadFrom(place, constant(0), b.getI64Type());
}

Value Generator::linear(ArrayRef<int64_t> shape, ArrayRef<Value> indices) {
  Value result = constant(0);
  for (auto [extent, index] : llvm::zip(shape, indices))
    result = add(multiply(result, constant(extent)), index);
  return result;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Place Generator::placeOf(StringRef tensor, ArrayAttr indices,
                         ArrayRef<Value> at, ArrayRef<Value> dynamic,
                         int64_t elements) {
  Place place;
  auto input = inputs.find(tensor.str());
  sched::BufferOp buffer;
  int minor = -1;
  if (input != inputs.end()) {
    place.base = LLVM::LoadOp::create(
        b, loc, LLVM::LLVMPointerType::get(b.getContext()),
        offsetPointer(args, constant(input->second.number), b.getI64Type()));
  } else {
    buffer = buffers.at(tensor.str());
    place.base =
        offsetPointer(arena, constant(buffer.getOffset()), b.getI8Type());
    if (buffer.getMinor())
      minor = static_cast<int>(*buffer.getMinor());
  }
  // Each position in the first lane and, where it differs, in all lanes.
  unsigned axis = 0, next = 0, numVarying = 0;
  bool consecutive = false;
  SmallVector<Value> positions, vectors;
  SmallVector<bool> inside;
  for (auto [p, index] : llvm::enumerate(indices)) {
    Interval range;
    Value first, all;
    if (auto point = dyn_cast<trl::AtAttr>(index)) {
      Expr expr = point.getIndex().getExpr();
      range = scope.ranges.of(expr);
      first = emitExpr(expr);
      Variance variance =
          lanes > 1 ? varianceOf(expr, scope.variances) : Variance::Uniform;
      if (variance != Variance::Uniform) {
        all = emitLanes(expr);
        consecutive |=
            variance == Variance::Consecutive && static_cast<int>(p) == minor;
      }
    } else if (auto slice = dyn_cast<trl::RangeAttr>(index)) {
      range = scope.ranges.of(slice.getLo().getExpr());
      Interval last = scope.ranges.of(slice.getHi().getExpr());
      range.hi = last.hi ? std::optional(*last.hi - 1) : std::nullopt;
      first = add(emitExpr(slice.getLo().getExpr()), at[axis++]);
    } else {
      auto declared = cast<trl::DynamicAttr>(index);
      range = {scope.ranges.of(declared.getLo().getExpr()).lo,
               scope.ranges.of(declared.getHi().getExpr()).hi};
      if (range.hi)
        --*range.hi;
      first = dynamic[next++];
      if (isa<VectorType>(first.getType())) {
        all = first;
        first = extractLane(all, 0);
      }
    }
    numVarying += bool(all);
    positions.push_back(first);
    vectors.push_back(all ? all : first);
    if (buffer) {
      int64_t origin = buffer.getOrigin()[p], window = buffer.getWindow()[p];
      inside.push_back(range.within(origin, origin + window - 1));
    }
  }
  if (!buffer) {
    place.offset =
        multiply(linear(input->second.extents, vectors), constant(elements));
    place.varying = place.scattered();
    return place;
  }
  bool contiguous = numVarying == 1 && consecutive && inside[minor];
  ArrayRef<Value> chosen = numVarying && !contiguous ? vectors : positions;
  Value outer = constant(0), inner = constant(0);
  for (auto [p, position] : llvm::enumerate(chosen)) {
    int64_t window = buffer.getWindow()[p];
    if (window == 1)
      continue;
    Value slot = subtract(position, constant(buffer.getOrigin()[p]));
    if (!inside[p])
      slot = subtract(
          slot, multiply(floorDiv(slot, constant(window)), constant(window)));
    if (static_cast<int>(p) == minor)
      inner = slot;
    else
      outer = add(multiply(outer, constant(window)), slot);
  }
  if (minor >= 0)
    place.stride = buffer.getWindow()[minor];
  place.offset = add(multiply(outer, constant(elements * place.stride)), inner);
  // Lanes of a position without extent share their place.
  place.varying = contiguous || place.scattered();
  return place;
}

/// Booleans and bytes take a byte each.
static bool isStoredNarrow(Type type) {
  return type.isInteger(1) || type.isInteger(16);
}

static Type storageType(Type type) {
  return isStoredNarrow(type) ? IntegerType::get(type.getContext(), 8) : type;
}

int64_t codegen::storedBytes(Type type) {
  return storageType(type).getIntOrFloatBitWidth() / 8;
}

static unsigned alignmentOf(Type type) { return storedBytes(type); }

Value Generator::offsetPointer(Value base, Value index, Type type) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  if (isa<VectorType>(index.getType()))
    pointer = VectorType::get({lanes}, pointer);
  return LLVM::GEPOp::create(b, loc, pointer, storageType(type), base,
                             ValueRange{index});
}

Value Generator::loadFrom(const Place &place, Value k, Type type) {
  Value pointer = offsetPointer(
      place.base, add(place.offset, multiply(k, constant(place.stride))), type);
  Type stored = storageType(type);
  if (place.varying)
    stored = VectorType::get({lanes}, stored);
  Value read;
  if (place.scattered()) {
    Value mask = splat(arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
    read =
        LLVM::masked_gather::create(b, loc, stored, pointer, mask, ValueRange{},
                                    b.getI32IntegerAttr(alignmentOf(type)));
  } else {
    read = LLVM::LoadOp::create(b, loc, stored, pointer, alignmentOf(type));
  }
  return asComputed(read, type);
}

Value Generator::loadLanes(Value base, Value k, int64_t count, Type type) {
  Type stored = storageType(type);
  if (count > 1)
    stored = VectorType::get({count}, stored);
  Value read = LLVM::LoadOp::create(
      b, loc, stored, offsetPointer(base, k, type), alignmentOf(type));
  return asComputed(read, type);
}

Value Generator::asComputed(Value read, Type type) {
  if (!isStoredNarrow(type))
    return read;
  auto vector = dyn_cast<VectorType>(read.getType());
  Type wanted = vector ? Type(vector.clone(type)) : type;
  if (type.isInteger(16))
    return arith::ExtUIOp::create(b, loc, wanted, read);
  return arith::TruncIOp::create(b, loc, wanted, read);
}

void Generator::storeTo(const Place &place, Value k, Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  Value pointer = offsetPointer(
      place.base, add(place.offset, multiply(k, constant(place.stride))), type);
  if (place.varying)
    value = splat(value);
  if (isStoredNarrow(type)) {
    Type wide = b.getI8Type();
    if (place.varying)
      wide = VectorType::get({lanes}, wide);
    if (type.isInteger(1))
      value = arith::ExtUIOp::create(b, loc, wide, value);
    else
      value = arith::TruncIOp::create(b, loc, wide, value);
  }
  if (!place.scattered()) {
    LLVM::StoreOp::create(b, loc, value, pointer, alignmentOf(type));
    return;
  }
  Value mask = splat(arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
  LLVM::masked_scatter::create(b, loc, value, pointer, mask,
                               b.getI32IntegerAttr(alignmentOf(type)));
}

Value Generator::load(Value base, Value index, Type type) {
  return loadFrom({base, index}, constant(0), type);
}

void Generator::store(Value value, Value base, Value index) {
  storeTo({base, index}, constant(0), value);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value Generator::element(const Operand &operand, Value index) {
  if (operand.isScalar())
    return operand.value;
  if (operand.compute)
    return operand.compute(index);
  if (operand.computePair) {
    Value columns = constant(operand.type.getDimSize(1));
    return operand.computePair(arith::DivUIOp::create(b, loc, index, columns),
                               arith::RemUIOp::create(b, loc, index, columns));
  }
  return loadFrom({operand.value, constant(0), operand.stride, operand.varying},
                  index, operand.type.getElementType());
}

Value Generator::pairElement(const Operand &operand, Value row, Value column) {
  if (operand.computePair)
    return operand.computePair(row, column);
  return element(operand, linear(operand.type.getShape(), {row, column}));
}

Value Generator::gather(const Operand &operand, Value index) {
  if (!isa<VectorType>(index.getType()))
    return element(operand, index);
  Operand from = inMemory(operand);
  Type type = from.type.getElementType();
  Value offset = multiply(index, constant(from.stride));
  if (from.varying)
    offset = add(offset, laneNumbers());
  return loadFrom({from.value, offset, 1, true}, constant(0), type);
}

void Generator::put(const Operand &to, Value index, Value value) {
  storeTo({to.value, constant(0), to.stride, to.varying}, index, value);
}

Operand Generator::scratch(RankedTensorType type, bool varying) {
  int64_t width = (type.getElementTypeBitWidth() + 7) / 8;
  int64_t place = scratchUsed, copies = varying ? lanes : 1;
  scratchUsed += llvm::alignTo(
      std::max<int64_t>(1, type.getNumElements()) * width * copies, 64);
  scratchMost = std::max(scratchMost, scratchUsed);
  return {type, offsetPointer(scratchSpace, constant(place), b.getI8Type()),
          varying && lanes > 1, copies};
}

Operand Generator::inMemory(const Operand &operand) {
  bool dense = operand.varying || operand.stride == 1;
  if (!operand.isScalar() && !operand.isComputed() && dense)
    return operand;
  // What computes an element tells only when it is asked whether it differs
  // between lanes; vectors fit both.
  bool varying = operand.isScalar() ? isa<VectorType>(operand.value.getType())
                                    : operand.varying;
  Operand held = scratch(operand.type, varying);
  copy(operand, held, constant(0));
  return held;
}

void Generator::copy(const Operand &from, const Operand &to, Value first) {
  if (from.isScalar())
    return put(to, first, from.value);
  if (from.computePair)
    return loopNest(from.type.getShape(), [&](ArrayRef<Value> at) {
      put(to, add(first, linear(from.type.getShape(), at)),
          from.computePair(at[0], at[1]));
    });
  loop(constant(0), constant(from.type.getNumElements()),
       [&](Value k) { put(to, add(first, k), element(from, k)); });
}

void Generator::define(Value result, Value value) {
  Operand operand{cast<RankedTensorType>(result.getType()), value};
  operand.varying = isa<VectorType>(value.getType());
  values[result] = operand;
}
void Generator::define(Value result, const Operand &operand) {
  values[result] = operand;
  values[result].type = cast<RankedTensorType>(result.getType());
}

Operand Generator::get(Value value) { return values.lookup(value); }

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void Generator::loop(Value lo, Value hi, llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, loc, lo, hi, constant(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

SmallVector<Value> Generator::fold(
    Value lo, Value hi, int64_t step, ValueRange initial,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, loc, lo, hi, constant(step), initial);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!initial.empty())
    scf::YieldOp::create(b, loc, next);
  return SmallVector<Value>(loop.getResults());
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
