//===- Bodies.cpp - Ops of statements as loops over elements --------------===//
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
#include "timerl/Runtime/Random.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::codegen;

LogicalResult Generator::emitOps(Block &block) {
  for (Operation &op : block.without_terminator()) {
    for (Type type : op.getResultTypes()) {
      auto tensor = cast<RankedTensorType>(type);
      if (!tensor.hasStaticShape())
        return unsupported(&op, "a value whose length depends on the point");
    }
    loc = op.getLoc();
    if (failed(emitOp(op)))
      return failure();
  }
  return success();
}

LogicalResult Generator::emitOp(Operation &op) {
  if (op.hasTrait<OpTrait::Elementwise>())
    return emitElementwise(op);
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  Type elementType = type.getElementType();
  ArrayRef<int64_t> shape = type.getShape();
  bool inLanes = isVarying(op.getResult(0));
  // One loop nest over the result, from an element's indices to its value.
  auto each = [&](llvm::function_ref<Value(ArrayRef<Value>)> element) {
    if (shape.empty()) {
      define(op.getResult(0), element({}));
      return success();
    }
    Operand to = scratch(type, inLanes);
    loopNest(shape, [&](ArrayRef<Value> at) {
      put(to, linear(shape, at), element(at));
    });
    define(op.getResult(0), to);
    return success();
  };
  // A computed index, held inside of an axis.
  auto clamp = [&](Value index, int64_t extent) -> Value {
    index = castScalar(index, b.getI64Type());
    Value least = constant(0), most = constant(extent - 1);
    match(index, least);
    match(index, most);
    index = arith::MaxSIOp::create(b, loc, index, least);
    return arith::MinSIOp::create(b, loc, index, most);
  };
  // One number everywhere: nothing is stored.
  auto everywhere = [&](Value value) {
    if (shape.empty()) {
      define(op.getResult(0), value);
      return success();
    }
    Operand result{type, Value(), inLanes};
    result.compute = [value](Value) { return value; };
    define(op.getResult(0), result);
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](trl::ConstantOp constantOp) {
        auto attribute = dyn_cast<DenseElementsAttr>(constantOp.getValue());
        if (!attribute)
          return unsupported(&op, "a constant of this form");
        auto one = [&](Attribute value) -> Value {
          return arith::ConstantOp::create(b, loc, cast<TypedAttr>(value));
        };
        if (shape.empty() || attribute.isSplat())
          return everywhere(one(*attribute.value_begin<Attribute>()));
        Operand held = scratch(type);
        for (auto [k, value] :
             llvm::enumerate(attribute.getValues<Attribute>()))
          put(held, constant(k), one(value));
        define(op.getResult(0), held);
        return success();
      })
      .Case([&](trl::FillOp fill) {
        return everywhere(get(op.getOperand(0)).value);
      })
      .Case([&](trl::IndexOp index) {
        Value value = emitLanes(index.getExpr().getExpr());
        return everywhere(castScalar(value, elementType));
      })
      .Case([&](trl::ArgValueOp arg) {
        Value base = offsetPointer(
            args, constant(argNumbers.at(arg.getArg().str())), b.getI64Type());
        return everywhere(load(base, constant(0), elementType));
      })
      .Case([&](trl::IotaOp iota) {
        return each([&](ArrayRef<Value> at) {
          return castScalar(at[iota.getAxis()], elementType);
        });
      })
      .Case([&](trl::BroadcastOp broadcast) {
        Operand operand = get(broadcast.getOperand());
        ArrayRef<int64_t> from = operand.type.getShape();
        if (operand.isScalar())
          return everywhere(operand.value);
        return each([&](ArrayRef<Value> at) {
          SmallVector<Value> indices;
          for (auto [extent, index] :
               llvm::zip(from, at.take_back(from.size())))
            indices.push_back(extent == 1 ? constant(0) : index);
          return element(operand, linear(from, indices));
        });
      })
      .Case([&](trl::ReshapeOp reshape) {
        Operand operand = get(reshape.getOperand());
        if (operand.isScalar() || shape.empty())
          return everywhere(element(operand, constant(0)));
        if (operand.computePair)
          operand = inMemory(operand);
        define(op.getResult(0), operand);
        return success();
      })
      .Case([&](trl::TransposeOp transpose) {
        if (isFolded(transpose))
          return success();
        Operand operand = get(transpose.getOperand());
        return each([&](ArrayRef<Value> at) {
          SmallVector<Value> indices(at.size());
          for (auto [k, axis] : llvm::enumerate(transpose.getPermutation()))
            indices[axis] = at[k];
          return element(operand, linear(operand.type.getShape(), indices));
        });
      })
      .Case([&](trl::StackOp stack) {
        Operand to = scratch(type, inLanes);
        for (auto [k, value] : llvm::enumerate(stack.getOperands())) {
          Operand operand = get(value);
          copy(operand, to, constant(k * operand.type.getNumElements()));
        }
        define(op.getResult(0), to);
        return success();
      })
      .Case([&](trl::ConcatOp concat) {
        Operand result = scratch(type, inLanes);
        int64_t first = 0, axis = concat.getAxis();
        for (Value value : concat.getOperands()) {
          Operand operand = get(value);
          ArrayRef<int64_t> from = operand.type.getShape();
          loopNest(from, [&](ArrayRef<Value> at) {
            SmallVector<Value> to(at);
            to[axis] = add(at[axis], constant(first));
            put(result, linear(shape, to), element(operand, linear(from, at)));
          });
          first += from[axis];
        }
        define(op.getResult(0), result);
        return success();
      })
      .Case([&](trl::ExtractOp extract) {
        Operand operand = get(extract.getOperand());
        if (!operand.type.getNumElements())
          return unsupported(&op, "indexing an empty value");
        return each([&](ArrayRef<Value> at) {
          SmallVector<Value> indices;
          unsigned axis = 0, dynamic = 0;
          for (Attribute index : extract.getIndices())
            if (auto point = dyn_cast<trl::AtAttr>(index))
              indices.push_back(emitLanes(point.getIndex().getExpr()));
            else if (auto range = dyn_cast<trl::RangeAttr>(index))
              indices.push_back(
                  add(emitExpr(range.getLo().getExpr()), at[axis++]));
            else
              indices.push_back(
                  clamp(get(extract.getDynamic()[dynamic++]).value,
                        operand.type.getDimSize(indices.size())));
          llvm::append_range(indices, at.drop_front(axis));
          return gather(operand, linear(operand.type.getShape(), indices));
        });
      })
      .Case([&](trl::TakeOp take) {
        Operand operand = get(take.getOperand()),
                chosen = get(take.getIndices());
        if (!operand.type.getNumElements())
          return unsupported(&op, "taking from an empty axis");
        return each([&](ArrayRef<Value> at) {
          unsigned rank = chosen.type.getRank();
          Value index = element(
              chosen, linear(chosen.type.getShape(), at.take_front(rank)));
          SmallVector<Value> indices{clamp(index, operand.type.getDimSize(0))};
          llvm::append_range(indices, at.drop_front(rank));
          return gather(operand, linear(operand.type.getShape(), indices));
        });
      })
      .Case([&](trl::MatmulOp matmul) {
        emitMatmul(matmul);
        return success();
      })
      .Case([&](trl::CumsumOp cumsum) {
        Operand operand = get(cumsum.getOperand());
        Operand result = scratch(type, inLanes);
        int64_t axis = cumsum.getAxis(), last = shape[axis] - 1;
        loopNest(shape, [&](ArrayRef<Value> at) {
          SmallVector<Value> here(at), before(at);
          if (cumsum.getReverse())
            here[axis] = subtract(constant(last), at[axis]);
          before[axis] =
              add(here[axis], constant(cumsum.getReverse() ? 1 : -1));
          Value to = linear(shape, here);
          put(result, to, element(operand, to));
          when(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, at[axis],
                                     constant(0)),
               [&] {
                 put(result, to,
                     combine(trl::Reduction::sum,
                             element(result, linear(shape, before)),
                             element(result, to)));
               });
        });
        define(op.getResult(0), result);
        return success();
      })
      .Case([&](trl::ScatterOp scatter) {
        emitScatter(scatter);
        return success();
      })
      .Case([&](trl::ArgsortOp argsort) {
        emitArgsort(argsort);
        return success();
      })
      .Case([&](trl::ReadOp read) { return emitRead(read); })
      .Case([&](trl::ReduceOp reduce) { return emitReduce(reduce); })
      .Case([&](trl::ReduceOverOp reduce) { return emitReduceOver(reduce); })
      .Case([&](trl::RandomOp random) { return emitRandom(random); })
      .Case([&](trl::IfOp branch) {
        Operand condition = get(branch.getCondition());
        if (!condition.isScalar())
          return emitElementwiseIf(branch, condition);
        if (isa<VectorType>(condition.value.getType()))
          return emitVaryingIf(branch, condition.value);
        return emitBranches(&op, condition.value, branch.getThen(),
                            branch.getOtherwise());
      })
      .Case([&](trl::CaseOp branch) {
        return emitBranches(&op, emitExpr(branch.getCondition().getExpr()),
                            branch.getThen(), branch.getOtherwise());
      })
      .Default([&](Operation *) {
        return unsupported(&op, "`" + op.getName().getStringRef() + "`");
      });
}

/// Whether an elementwise op is computed element by element in its one user,
/// which then asks for each element just once: no intermediate is stored.
bool Generator::isFused(Operation &op) {
  Value result = op.getResult(0);
  if (!result.hasOneUse())
    return false;
  Operation *user = *result.user_begin();
  if (user->getBlock() != op.getBlock())
    return false;
  if (user->hasTrait<OpTrait::Elementwise>())
    return true;
  return isa<trl::YieldOp, trl::ReduceOp>(user);
}

LogicalResult Generator::emitElementwise(Operation &op) {
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  SmallVector<Operand> operands;
  for (Value value : op.getOperands())
    operands.push_back(get(value));
  bool failedOp = false;
  auto at = [&](Value index) {
    SmallVector<Value> scalars;
    for (const Operand &operand : operands)
      scalars.push_back(element(operand, index));
    Value result = scalarOp(op, scalars);
    failedOp |= !result;
    return result;
  };
  if (type.getRank() == 0) {
    define(op.getResult(0), at(constant(0)));
  } else if (isFused(op)) {
    Operand result{type, Value(), isVarying(op.getResult(0))};
    result.compute = [this, &op, operands](Value index) {
      SmallVector<Value> scalars;
      for (const Operand &operand : operands)
        scalars.push_back(element(operand, index));
      return scalarOp(op, scalars);
    };
    define(op.getResult(0), result);
  } else {
    Operand to = scratch(type, isVarying(op.getResult(0)));
    loop(constant(0), constant(type.getNumElements()), [&](Value k) {
      if (Value value = at(k))
        put(to, k, value);
    });
    define(op.getResult(0), to);
  }
  if (failedOp)
    return unsupported(
        &op, "`" + op.getName().getStringRef() + "` on " +
                 (type.getElementType().isInteger() ? "integers" : "floats"));
  return success();
}

/// Ends the run with a message when a computed index is out of the range that
/// the program declares for it. The result is the index, or, where the branch
/// that asks for it is not taken, one that is in the range: the read is emitted
/// for all lanes.
Value Generator::checkIndex(trl::ReadOp read, Value position,
                            trl::DynamicAttr declared) {
  Value lo = emitExpr(declared.getLo().getExpr()),
        hi = emitExpr(declared.getHi().getExpr());
  auto compare = [&](arith::CmpIPredicate predicate, Value x,
                     Value y) -> Value {
    match(x, y);
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  };
  Value outside = arith::OrIOp::create(
      b, loc, compare(arith::CmpIPredicate::slt, position, lo),
      compare(arith::CmpIPredicate::sge, position, hi));
  Value safe = position;
  if (active) {
    // Lanes that take another branch have no say; an index that is the same in
    // all of them counts if any lane is here.
    Value here = isa<VectorType>(outside.getType()) ? active : anyLane(active);
    safe = select(here, position, lo);
    outside = arith::AndIOp::create(b, loc, outside, here);
  }
  when(anyLane(outside), [&] {
    // The first of them.
    Value bad = extractLane(position, lanes - 1);
    if (isa<VectorType>(outside.getType()))
      for (int64_t lane = lanes - 2; lane >= 0; --lane)
        bad = arith::SelectOp::create(b, loc, extractLane(outside, lane),
                                      extractLane(position, lane), bad);
    func::CallOp::create(
        b, loc, "timerl_rt_outside", TypeRange(),
        ValueRange{text(read.getSource()), text(placeOf(read)), bad, lo, hi});
  });
  return safe;
}

std::string Generator::placeOf(Operation *op) {
  auto file = op->getLoc()->findInstanceOf<FileLineColLoc>();
  if (!file)
    return "";
  return (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
          Twine(file.getColumn()))
      .str();
}

Value Generator::text(StringRef characters) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto [known, isNew] = texts.try_emplace(
      characters.str(), "timerl_text_" + std::to_string(texts.size()));
  if (isNew) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(module.getBody());
    std::string bytes = known->first + '\0';
    LLVM::GlobalOp::create(
        b, loc, LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal, known->second,
        b.getStringAttr(bytes));
  }
  return LLVM::AddressOfOp::create(b, loc, pointer, known->second);
}

LogicalResult Generator::emitRead(trl::ReadOp read) {
  std::string source = read.getSource().str();
  if (!buffers.count(source) && !inputs.count(source))
    return unsupported(read, "reading @" + read.getSource());
  auto type = cast<RankedTensorType>(read.getType());
  Type elementType = type.getElementType();
  SmallVector<int64_t> extents;
  SmallVector<Value> dynamic;
  for (Attribute index : read.getIndices()) {
    if (isa<trl::RangeAttr>(index))
      extents.push_back(type.getDimSize(extents.size()));
    auto computed = dyn_cast<trl::DynamicAttr>(index);
    if (!computed)
      continue;
    dynamic.push_back(castScalar(get(read.getDynamic()[dynamic.size()]).value,
                                 b.getI64Type()));
    if (computed.getChecked())
      dynamic.back() = checkIndex(read, dynamic.back(), computed);
  }
  int64_t elements = 1;
  for (int64_t extent : type.getShape().drop_front(extents.size()))
    elements *= extent;
  if (extents.empty()) {
    Place from = placeOf(source, read.getIndices(), {}, dynamic, elements);
    trace(Access::Read, source, read.getIndices(), {}, dynamic, from, elements,
          elementType);
    if (type.getRank() == 0) {
      define(read, loadFrom(from, constant(0), elementType));
      return success();
    }
    if (!from.scattered()) {
      Operand result{type, offsetPointer(from.base, from.offset, elementType),
                     from.varying, from.stride};
      borrowed.insert(result.value);
      define(read, result);
      return success();
    }
  }
  Operand held = scratch(type, isVarying(read));
  loopNest(extents, [&](ArrayRef<Value> at) {
    Place from = placeOf(source, read.getIndices(), at, dynamic, elements);
    trace(Access::Read, source, read.getIndices(), at, dynamic, from, elements,
          elementType);
    Value to = multiply(linear(extents, at), constant(elements));
    loop(constant(0), constant(elements), [&](Value k) {
      put(held, add(to, k), loadFrom(from, k, elementType));
    });
  });
  define(read, held);
  return success();
}

LogicalResult Generator::emitRandom(trl::RandomOp random) {
  auto type = cast<RankedTensorType>(random.getType());
  Type elementType = type.getElementType();
  if (random.getPoint().size() > 32)
    return unsupported(random, "a draw under more than 32 dims");
  bool inLanes = isVarying(random);
  // Coordinate by coordinate, those of all lanes next to each other.
  int64_t count = inLanes ? lanes : 1;
  for (auto [k, coordinate] :
       llvm::enumerate(trl::getExprs(random.getPoint()))) {
    Value value = emitLanes(coordinate);
    storeTo({points, constant(k * count), 1, inLanes}, constant(0), value);
  }
  StringRef site = random.getSite();
  int64_t wide = elementType.getIntOrFloatBitWidth() == 64;
  int64_t kind = 2 * static_cast<int64_t>(random.getDraw()) + wide;
  Value lo = constant(0), hi = constant(0);
  if (random.getBounds().size() == 2) {
    lo = castScalar(get(random.getBounds()[0]).value, b.getI64Type());
    hi = castScalar(get(random.getBounds()[1]).value, b.getI64Type());
  }
  Operand to = scratch(type, inLanes);
  SmallVector<Value> arguments{constant(kind),
                               to.value,
                               constant(type.getNumElements()),
                               constant(static_cast<int64_t>(timerl_random_hash(
                                   site.data(), site.size()))),
                               points,
                               constant(random.getPoint().size()),
                               emitExpr(random.getSeedOffset().getExpr()),
                               lo,
                               hi,
                               constant(count)};
  func::CallOp::create(b, loc, "timerl_rt_draw", TypeRange(), arguments);
  if (type.getRank()) {
    define(random, to);
    return success();
  }
  define(random, loadFrom({to.value, constant(0), 1, to.varying}, constant(0),
                          elementType));
  return success();
}

void Generator::emitArgsort(trl::ArgsortOp argsort) {
  Operand operand = get(argsort.getOperand());
  auto type = cast<RankedTensorType>(argsort.getType());
  ArrayRef<int64_t> shape = type.getShape();
  Type from = operand.type.getElementType(), to = type.getElementType();
  bool floating = isa<FloatType>(from);
  Operand result = scratch(type);
  // An element's place is the number of those that come before it.
  loopNest(shape, [&](ArrayRef<Value> at) {
    Value mine = element(operand, linear(shape, at));
    Value count = scratch(RankedTensorType::get({}, b.getI64Type())).value;
    store(constant(0), count, constant(0));
    SmallVector<Value> other(at);
    loop(constant(0), constant(shape.back()), [&](Value k) {
      other.back() = k;
      Value its = element(operand, linear(shape, other));
      auto less = [&](Value x, Value y) -> Value {
        if (!floating)
          return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y);
        Value number =
            arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, x, x);
        Value none =
            arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, y, y);
        return arith::OrIOp::create(
            b, loc,
            arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, y),
            arith::AndIOp::create(b, loc, number, none));
      };
      Value earlier = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                            k, at.back());
      Value notAfter = negate(less(mine, its));
      Value before = arith::OrIOp::create(
          b, loc, less(its, mine),
          arith::AndIOp::create(b, loc, earlier, notAfter));
      when(before, [&] {
        store(add(load(count, constant(0), b.getI64Type()), constant(1)), count,
              constant(0));
      });
    });
    SmallVector<Value> place(at);
    place.back() = load(count, constant(0), b.getI64Type());
    put(result, linear(shape, place), castScalar(at.back(), to));
  });
  define(argsort, result);
}

LogicalResult Generator::emitElementwiseIf(trl::IfOp branch,
                                           const Operand &condition) {
  if (failed(emitOps(branch.getThen().front())) ||
      failed(emitOps(branch.getOtherwise().front())))
    return failure();
  auto then = branch.getThen().front().getTerminator()->getOperands();
  auto otherwise = branch.getOtherwise().front().getTerminator()->getOperands();
  for (auto [result, x, y] : llvm::zip(branch.getResults(), then, otherwise)) {
    auto type = cast<RankedTensorType>(result.getType());
    if (type.getShape() != condition.type.getShape())
      return unsupported(branch, "`if` with a condition of another shape than "
                                 "its values");
    Operand to = scratch(type, isVarying(result)), chosen = get(x),
            other = get(y);
    loop(constant(0), constant(type.getNumElements()), [&](Value k) {
      put(to, k,
          select(element(condition, k), element(chosen, k), element(other, k)));
    });
    define(result, to);
  }
  return success();
}

/// The branch that all lanes take, or that the one point takes.
LogicalResult Generator::emitBranches(Operation *op, Value condition,
                                      Region &then, Region &otherwise) {
  SmallVector<Operand> held;
  SmallVector<Type> scalars;
  for (Value result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    held.push_back(type.getRank() ? scratch(type, isVarying(result))
                                  : Operand{type, Value()});
    if (type.getRank() == 0)
      scalars.push_back(isVarying(result) ? Type(VectorType::get(
                                                {lanes}, type.getElementType()))
                                          : type.getElementType());
  }
  auto branch = scf::IfOp::create(b, loc, scalars, condition,
                                  /*withElseRegion=*/true);
  Expr known = isa<trl::CaseOp>(op)
                   ? cast<trl::CaseOp>(op).getCondition().getExpr()
                   : Expr::boolean(true);
  auto emit = [&](Region &region, Block *into, const Expr &holds) {
    OpBuilder::InsertionGuard guard(b);
    if (into->mightHaveTerminator())
      into->getTerminator()->erase();
    b.setInsertionPointToStart(into);
    Scope outer = scope;
    scope.ranges.assume(holds);
    if (failed(emitOps(region.front())))
      return failure();
    SmallVector<Value> yielded;
    for (auto [result, value, to] :
         llvm::zip(op->getResults(),
                   region.front().getTerminator()->getOperands(), held)) {
      if (!to.isScalar())
        copy(get(value), to, constant(0));
      else
        yielded.push_back(isVarying(result) ? splat(get(value).value)
                                            : get(value).value);
    }
    scf::YieldOp::create(b, loc, yielded);
    scope = std::move(outer);
    return success();
  };
  if (failed(emit(then, branch.thenBlock(), known)) ||
      failed(emit(otherwise, branch.elseBlock(),
                  isa<trl::CaseOp>(op) ? Expr::negate(known) : known)))
    return failure();
  unsigned next = 0;
  for (auto [value, to] : llvm::zip(op->getResults(), held))
    if (to.isScalar())
      define(value, branch.getResult(next++));
    else
      define(value, to);
  return success();
}

/// Work that is worth a jump when no lane needs it.
static bool isCostly(Region &region) {
  bool costly = false;
  region.walk([&](Operation *op) {
    costly |= isa<trl::RandomOp, trl::MatmulOp, trl::ReduceOverOp>(op);
  });
  return costly;
}

/// Lanes that take different branches: both are computed, each where any lane
/// takes it, and each lane keeps its own. Neither does anything but compute.
LogicalResult Generator::emitVaryingIf(trl::IfOp branch, Value condition) {
  SmallVector<SmallVector<Operand>> sides;
  for (Region *region : {&branch.getThen(), &branch.getOtherwise()}) {
    bool isThen = region == &branch.getThen();
    Value taken = isThen ? condition : negate(condition);
    Value outer = active;
    active = outer ? Value(arith::AndIOp::create(b, loc, outer, taken)) : taken;
    SmallVector<Operand> side;
    auto yields = region->front().getTerminator()->getOperands();
    LogicalResult result = success();
    if (!isCostly(*region)) {
      result = emitOps(region->front());
      for (Value value : yields)
        side.push_back(get(value));
    } else {
      for (Value value : yields)
        side.push_back(scratch(cast<RankedTensorType>(value.getType()), true));
      when(anyLane(taken), [&] {
        result = emitOps(region->front());
        if (succeeded(result))
          for (auto [value, to] : llvm::zip(yields, side))
            copy(get(value), to, constant(0));
      });
      for (Operand &held : side)
        if (held.isScalar())
          held.value = loadFrom({held.value, constant(0), 1, true}, constant(0),
                                held.type.getElementType());
    }
    active = outer;
    if (failed(result))
      return failure();
    sides.push_back(std::move(side));
  }
  for (auto [result, then, otherwise] :
       llvm::zip(branch.getResults(), sides[0], sides[1])) {
    auto type = cast<RankedTensorType>(result.getType());
    if (type.getRank() == 0) {
      define(result, select(condition, then.value, otherwise.value));
      continue;
    }
    Operand to = scratch(type, true);
    loop(constant(0), constant(type.getNumElements()), [&](Value k) {
      put(to, k, select(condition, element(then, k), element(otherwise, k)));
    });
    define(result, to);
  }
  return success();
}

void Generator::emitScatter(trl::ScatterOp scatter) {
  auto type = cast<RankedTensorType>(scatter.getType());
  ArrayRef<int64_t> shape = type.getShape();
  Operand indices = get(scatter.getIndices()),
          updates = get(scatter.getUpdates());
  Operand to = scratch(type, isVarying(scatter));
  copy(get(scatter.getBase()), to, constant(0));
  int64_t inner = 1;
  for (int64_t extent : shape.drop_front())
    inner *= extent;
  auto update = [&](Value place, Value from, Value where) {
    Value value = element(updates, from), old = element(to, place);
    if (scatter.getAdd())
      value = combine(trl::Reduction::sum, old, value);
    put(to, place, where ? select(where, value, old) : value);
  };
  loop(constant(0), constant(indices.type.getNumElements()), [&](Value k) {
    Value row = castScalar(element(indices, k), b.getI64Type());
    Value from = multiply(k, constant(inner));
    if (isa<VectorType>(row.getType())) {
      // Each row takes the update in the lanes that name it.
      loop(constant(0), constant(shape[0]), [&](Value r) {
        Value where = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                            row, splat(r));
        Value first = multiply(r, constant(inner));
        loop(constant(0), constant(inner),
             [&](Value n) { update(add(first, n), add(from, n), where); });
      });
      return;
    }
    Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, row,
                                         constant(shape[0]));
    Value first = multiply(row, constant(inner));
    when(inside, [&] {
      loop(constant(0), constant(inner),
           [&](Value n) { update(add(first, n), add(from, n), Value()); });
    });
  });
  define(scatter, to);
}
