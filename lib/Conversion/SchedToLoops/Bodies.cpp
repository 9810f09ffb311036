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
      if (tensor.getElementType().isUnsignedInteger())
        return unsupported(&op, "the type u8");
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
  // One loop nest over the result, from an element's indices to its value.
  auto each = [&](llvm::function_ref<Value(ArrayRef<Value>)> element) {
    if (shape.empty()) {
      define(op.getResult(0), element({}));
      return success();
    }
    Value base = scratch(type);
    loopNest(shape, [&](ArrayRef<Value> at) {
      store(element(at), base, linear(shape, at));
    });
    define(op.getResult(0), base);
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
          return each([&](ArrayRef<Value>) {
            return one(*attribute.value_begin<Attribute>());
          });
        Value base = scratch(type);
        for (auto [k, value] :
             llvm::enumerate(attribute.getValues<Attribute>()))
          store(one(value), base, constant(k));
        define(op.getResult(0), base);
        return success();
      })
      .Case([&](trl::FillOp fill) {
        Value scalar = get(op.getOperand(0)).value;
        return each([&](ArrayRef<Value>) { return scalar; });
      })
      .Case([&](trl::IndexOp index) {
        Value value = emitExpr(index.getExpr().getExpr());
        value = castScalar(value, elementType);
        return each([&](ArrayRef<Value>) { return value; });
      })
      .Case([&](trl::ArgValueOp arg) {
        Value base = offsetPointer(
            args, constant(argNumbers.at(arg.getArg().str())), b.getI64Type());
        Value value = load(base, constant(0), elementType);
        return each([&](ArrayRef<Value>) { return value; });
      })
      .Case([&](trl::IotaOp iota) {
        return each([&](ArrayRef<Value> at) {
          return castScalar(at[iota.getAxis()], elementType);
        });
      })
      .Case([&](trl::BroadcastOp broadcast) {
        Operand operand = get(broadcast.getOperand());
        ArrayRef<int64_t> from = operand.type.getShape();
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
          return each(
              [&](ArrayRef<Value>) { return element(operand, constant(0)); });
        define(op.getResult(0), operand.value);
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
        Value base = scratch(type);
        for (auto [k, value] : llvm::enumerate(stack.getOperands())) {
          Operand operand = get(value);
          copy(operand, base, constant(k * operand.type.getNumElements()));
        }
        define(op.getResult(0), base);
        return success();
      })
      .Case([&](trl::ConcatOp concat) {
        Value base = scratch(type);
        int64_t first = 0, axis = concat.getAxis();
        for (Value value : concat.getOperands()) {
          Operand operand = get(value);
          ArrayRef<int64_t> from = operand.type.getShape();
          loopNest(from, [&](ArrayRef<Value> at) {
            SmallVector<Value> to(at);
            to[axis] = arith::AddIOp::create(b, loc, at[axis], constant(first));
            store(element(operand, linear(from, at)), base, linear(shape, to));
          });
          first += from[axis];
        }
        define(op.getResult(0), base);
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
              indices.push_back(emitExpr(point.getIndex().getExpr()));
            else if (auto range = dyn_cast<trl::RangeAttr>(index))
              indices.push_back(arith::AddIOp::create(
                  b, loc, emitExpr(range.getLo().getExpr()), at[axis++]));
            else {
              Value value = castScalar(
                  get(extract.getDynamic()[dynamic++]).value, b.getI64Type());
              int64_t last = operand.type.getDimSize(indices.size()) - 1;
              value = arith::MaxSIOp::create(b, loc, value, constant(0));
              indices.push_back(
                  arith::MinSIOp::create(b, loc, value, constant(last)));
            }
          llvm::append_range(indices, at.drop_front(axis));
          return element(operand, linear(operand.type.getShape(), indices));
        });
      })
      .Case([&](trl::TakeOp take) {
        Operand operand = get(take.getOperand()),
                chosen = get(take.getIndices());
        if (!operand.type.getNumElements())
          return unsupported(&op, "taking from an empty axis");
        return each([&](ArrayRef<Value> at) {
          unsigned rank = chosen.type.getRank();
          Value index =
              castScalar(element(chosen, linear(chosen.type.getShape(),
                                                at.take_front(rank))),
                         b.getI64Type());
          index = arith::MaxSIOp::create(b, loc, index, constant(0));
          index = arith::MinSIOp::create(
              b, loc, index, constant(operand.type.getDimSize(0) - 1));
          SmallVector<Value> indices{index};
          llvm::append_range(indices, at.drop_front(rank));
          return element(operand, linear(operand.type.getShape(), indices));
        });
      })
      .Case([&](trl::MatmulOp matmul) {
        emitMatmul(matmul);
        return success();
      })
      .Case([&](trl::CumsumOp cumsum) {
        Operand operand = get(cumsum.getOperand());
        Value base = scratch(type);
        int64_t axis = cumsum.getAxis(), last = shape[axis] - 1;
        loopNest(shape, [&](ArrayRef<Value> at) {
          SmallVector<Value> here(at), before(at);
          if (cumsum.getReverse())
            here[axis] =
                arith::SubIOp::create(b, loc, constant(last), at[axis]);
          before[axis] = cumsum.getReverse()
                             ? Value(arith::AddIOp::create(b, loc, here[axis],
                                                           constant(1)))
                             : Value(arith::SubIOp::create(b, loc, here[axis],
                                                           constant(1)));
          Value to = linear(shape, here);
          store(element(operand, to), base, to);
          when(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, at[axis],
                                     constant(0)),
               [&] {
                 store(combine(trl::Reduction::sum,
                               load(base, linear(shape, before), elementType),
                               load(base, to, elementType)),
                       base, to);
               });
        });
        define(op.getResult(0), base);
        return success();
      })
      .Case([&](trl::ScatterOp scatter) {
        Operand indices = get(scatter.getIndices()),
                updates = get(scatter.getUpdates());
        Value base = scratch(type);
        copy(get(scatter.getBase()), base, constant(0));
        int64_t inner = 1;
        for (int64_t extent : shape.drop_front())
          inner *= extent;
        loop(constant(0), constant(indices.type.getNumElements()),
             [&](Value k) {
               Value row = castScalar(element(indices, k), b.getI64Type());
               Value inside = arith::CmpIOp::create(
                   b, loc, arith::CmpIPredicate::ult, row, constant(shape[0]));
               Value from = arith::MulIOp::create(b, loc, k, constant(inner));
               Value to = arith::MulIOp::create(b, loc, row, constant(inner));
               when(inside, [&] {
                 loop(constant(0), constant(inner), [&](Value n) {
                   Value value =
                       element(updates, arith::AddIOp::create(b, loc, from, n));
                   Value place = arith::AddIOp::create(b, loc, to, n);
                   if (scatter.getAdd())
                     value = combine(trl::Reduction::sum,
                                     load(base, place, elementType), value);
                   store(value, base, place);
                 });
               });
             });
        define(op.getResult(0), base);
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
  // Integer powers are refused, which shows only when they are emitted.
  if (isa<trl::PowOp>(op) &&
      !isa<FloatType>(
          cast<RankedTensorType>(result.getType()).getElementType()))
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
    values[op.getResult(0)] = {type, Value(),
                               [this, &op, operands](Value index) {
                                 SmallVector<Value> scalars;
                                 for (const Operand &operand : operands)
                                   scalars.push_back(element(operand, index));
                                 return scalarOp(op, scalars);
                               }};
  } else {
    Value base = scratch(type);
    loop(constant(0), constant(type.getNumElements()), [&](Value k) {
      if (Value value = at(k))
        store(value, base, k);
    });
    define(op.getResult(0), base);
  }
  if (failedOp)
    return unsupported(
        &op, "`" + op.getName().getStringRef() + "` on " +
                 (type.getElementType().isInteger() ? "integers" : "floats"));
  return success();
}

/// Ends the run with a message when a computed index is out of the range that
/// the program declares for it.
void Generator::checkIndex(trl::ReadOp read, Value position,
                           trl::DynamicAttr declared) {
  Value lo = emitExpr(declared.getLo().getExpr()),
        hi = emitExpr(declared.getHi().getExpr());
  Value outside = arith::OrIOp::create(
      b, loc,
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, position, lo),
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, position, hi));
  std::string place;
  if (auto file = read.getLoc()->findInstanceOf<FileLineColLoc>())
    place = (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
             Twine(file.getColumn()))
                .str();
  when(outside, [&] {
    func::CallOp::create(
        b, loc, "timerl_rt_outside", TypeRange(),
        ValueRange{text(read.getSource()), text(place), position, lo, hi});
  });
}

/// The address of a constant string.
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
  auto found = buffers.find(read.getSource().str());
  auto input = inputs.find(read.getSource().str());
  if (found == buffers.end() && input == inputs.end())
    return unsupported(read, "reading @" + read.getSource());
  auto type = cast<RankedTensorType>(read.getType());
  Type elementType = type.getElementType();
  Value base;
  if (input == inputs.end())
    base = offsetPointer(arena, constant(found->second.getOffset()),
                         b.getI8Type());
  else
    base = LLVM::LoadOp::create(
        b, loc, LLVM::LLVMPointerType::get(b.getContext()),
        offsetPointer(args, constant(input->second.number), b.getI64Type()));
  SmallVector<int64_t> extents;
  for (Attribute index : read.getIndices()) {
    if (isa<trl::RangeAttr>(index))
      extents.push_back(type.getDimSize(extents.size()));
  }
  int64_t elements = 1;
  for (int64_t extent : type.getShape().drop_front(extents.size()))
    elements *= extent;
  auto place = [&](ArrayRef<Value> at) {
    SmallVector<Value> positions;
    unsigned axis = 0, dynamic = 0;
    for (Attribute index : read.getIndices())
      if (auto point = dyn_cast<trl::AtAttr>(index))
        positions.push_back(emitExpr(point.getIndex().getExpr()));
      else if (auto range = dyn_cast<trl::RangeAttr>(index))
        positions.push_back(arith::AddIOp::create(
            b, loc, emitExpr(range.getLo().getExpr()), at[axis++]));
      else {
        Value position =
            castScalar(get(read.getDynamic()[dynamic++]).value, b.getI64Type());
        if (cast<trl::DynamicAttr>(index).getChecked())
          checkIndex(read, position, cast<trl::DynamicAttr>(index));
        positions.push_back(position);
      }
    if (input == inputs.end())
      return slot(found->second, elements, positions);
    return Value(arith::MulIOp::create(
        b, loc, linear(input->second.extents, positions), constant(elements)));
  };
  if (type.getRank() == 0) {
    define(read, load(base, place({}), elementType));
    return success();
  }
  if (extents.empty()) {
    Value pointer = offsetPointer(base, place({}), elementType);
    borrowed.insert(pointer);
    define(read, pointer);
    return success();
  }
  Value held = scratch(type);
  loopNest(extents, [&](ArrayRef<Value> at) {
    Value from = place(at);
    Value to =
        arith::MulIOp::create(b, loc, linear(extents, at), constant(elements));
    loop(constant(0), constant(elements), [&](Value k) {
      store(load(base, arith::AddIOp::create(b, loc, from, k), elementType),
            held, arith::AddIOp::create(b, loc, to, k));
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
  for (auto [k, coordinate] : llvm::enumerate(trl::getExprs(random.getPoint())))
    store(emitExpr(coordinate), points, constant(k));
  StringRef site = random.getSite();
  int64_t wide = elementType.getIntOrFloatBitWidth() == 64;
  int64_t kind = 2 * static_cast<int64_t>(random.getDraw()) + wide;
  Value lo = constant(0), hi = constant(0);
  if (random.getBounds().size() == 2) {
    lo = castScalar(get(random.getBounds()[0]).value, b.getI64Type());
    hi = castScalar(get(random.getBounds()[1]).value, b.getI64Type());
  }
  Value base = scratch(type);
  SmallVector<Value> arguments{constant(kind),
                               base,
                               constant(type.getNumElements()),
                               constant(static_cast<int64_t>(timerl_random_hash(
                                   site.data(), site.size()))),
                               points,
                               constant(random.getPoint().size()),
                               emitExpr(random.getSeedOffset().getExpr()),
                               lo,
                               hi};
  func::CallOp::create(b, loc, "timerl_rt_draw", TypeRange(), arguments);
  define(random, type.getRank() ? base : load(base, constant(0), elementType));
  return success();
}

void Generator::emitArgsort(trl::ArgsortOp argsort) {
  Operand operand = get(argsort.getOperand());
  auto type = cast<RankedTensorType>(argsort.getType());
  ArrayRef<int64_t> shape = type.getShape();
  Type from = operand.type.getElementType(), to = type.getElementType();
  bool floating = isa<FloatType>(from);
  Value base = scratch(type);
  // An element's place is the number of those that come before it.
  loopNest(shape, [&](ArrayRef<Value> at) {
    Value mine = element(operand, linear(shape, at));
    Value count = scratch(RankedTensorType::get({}, b.getI64Type()));
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
      Value notAfter = arith::XOrIOp::create(
          b, loc, less(mine, its),
          arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
      Value before = arith::OrIOp::create(
          b, loc, less(its, mine),
          arith::AndIOp::create(b, loc, earlier, notAfter));
      when(before, [&] {
        store(arith::AddIOp::create(b, loc,
                                    load(count, constant(0), b.getI64Type()),
                                    constant(1)),
              count, constant(0));
      });
    });
    SmallVector<Value> place(at);
    place.back() = load(count, constant(0), b.getI64Type());
    store(castScalar(at.back(), to), base, linear(shape, place));
  });
  define(argsort, base);
}

/// Whether a value takes the place of the present maximum: the first one stays
/// on a tie, NaN is greater than all numbers.
Value Generator::exceeds(Value value, Value present) {
  if (!isa<FloatType>(value.getType()))
    return arith::CmpIOp::create(b, loc,
                                 value.getType().isInteger(1)
                                     ? arith::CmpIPredicate::ugt
                                     : arith::CmpIPredicate::sgt,
                                 value, present);
  Value none =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, value, value);
  Value some = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, present,
                                     present);
  return arith::OrIOp::create(
      b, loc,
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, value, present),
      arith::AndIOp::create(b, loc, none, some));
}

LogicalResult Generator::emitReduce(trl::ReduceOp reduce) {
  Operand operand = get(reduce.getOperand());
  auto type = cast<RankedTensorType>(reduce.getType());
  trl::Reduction kind = reduce.getReduction();
  bool arg = kind == trl::Reduction::argmax;
  Type from = operand.type.getElementType();
  auto held = RankedTensorType::get(type.getShape(), from);
  Value best = scratch(held), index = arg ? scratch(type) : best;
  loopNest(type.getShape(), [&](ArrayRef<Value> at) {
    Value to = linear(type.getShape(), at);
    store(initial(kind, from), best, to);
    if (arg)
      store(castScalar(constant(-1), type.getElementType()), index, to);
  });
  ArrayRef<int64_t> shape = operand.type.getShape();
  loopNest(shape, [&](ArrayRef<Value> at) {
    SmallVector<Value> kept;
    for (auto [axis, place] : llvm::enumerate(at))
      if (!llvm::is_contained(reduce.getAxes(), static_cast<int64_t>(axis)))
        kept.push_back(place);
    Value to = linear(type.getShape(), kept);
    Value value = element(operand, linear(shape, at)),
          old = load(best, to, from);
    if (!arg)
      return store(combine(kind, old, value), best, to);
    Value first = arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::slt,
        castScalar(load(index, to, type.getElementType()), b.getI64Type()),
        constant(0));
    when(arith::OrIOp::create(b, loc, first, exceeds(value, old)), [&] {
      store(value, best, to);
      store(castScalar(at[reduce.getAxes()[0]], type.getElementType()), index,
            to);
    });
  });
  define(reduce, type.getRank()
                     ? index
                     : load(index, constant(0), type.getElementType()));
  return success();
}

LogicalResult Generator::emitReduceOver(trl::ReduceOverOp reduce) {
  trl::Reduction kind = reduce.getReduction();
  bool arg = kind == trl::Reduction::argmax;
  SmallVector<Value> held;
  Value label; // Of argmax: the binder's value at the maximum so far.
  if (arg) {
    label = scratch(RankedTensorType::get({}, b.getI64Type()));
    store(constant(-1), label, constant(0));
  }
  for (Value yielded :
       reduce.getYield().getValues().take_front(reduce.getNumResults())) {
    auto type = cast<RankedTensorType>(yielded.getType());
    held.push_back(scratch(type));
    Value neutral = initial(kind, type.getElementType());
    loop(constant(0), constant(type.getNumElements()),
         [&](Value k) { store(neutral, held.back(), k); });
  }
  auto iterators = reduce.getBinders().getAsRange<trl::IterAttr>();
  SmallVector<trl::IterAttr> binders(iterators.begin(), iterators.end());
  auto outer = variables;
  LogicalResult result = success();
  auto accumulate = [&] {
    auto yielded = reduce.getYield().getValues();
    for (unsigned n = 0; n < held.size(); ++n) {
      Operand value = get(yielded[n]);
      Type type = value.type.getElementType();
      if (arg) {
        Value none = arith::CmpIOp::create(
            b, loc, arith::CmpIPredicate::slt,
            load(label, constant(0), b.getI64Type()), constant(0));
        Value better = exceeds(value.value, load(held[n], constant(0), type));
        when(arith::OrIOp::create(b, loc, none, better), [&] {
          store(value.value, held[n], constant(0));
          store(variables.at(binders.back().getName().str()), label,
                constant(0));
        });
        continue;
      }
      loop(constant(0), constant(value.type.getNumElements()), [&](Value k) {
        store(combine(kind, load(held[n], k, type), element(value, k)), held[n],
              k);
      });
    }
  };
  std::function<void(unsigned)> nest = [&](unsigned depth) {
    if (depth < binders.size())
      return loop(emitExpr(binders[depth].getLo().getExpr()),
                  emitExpr(binders[depth].getHi().getExpr()), [&](Value k) {
                    variables[binders[depth].getName().str()] = k;
                    nest(depth + 1);
                  });
    when(emitExpr(reduce.getWhen().getExpr()), [&] {
      result = emitOps(reduce.getBody().front());
      if (failed(result))
        return;
      if (reduce.getFiltered())
        when(get(reduce.getYield().getValues().back()).value, accumulate);
      else
        accumulate();
    });
  };
  nest(0);
  variables = std::move(outer);
  if (arg) {
    define(
        reduce.getResult(0),
        castScalar(load(label, constant(0), b.getI64Type()), b.getI32Type()));
    return result;
  }
  for (auto [value, base] : llvm::zip(reduce.getResults(), held)) {
    auto type = cast<RankedTensorType>(value.getType());
    define(value, type.getRank()
                      ? base
                      : load(base, constant(0), type.getElementType()));
  }
  return result;
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
    Value base = scratch(type);
    Operand chosen = get(x), other = get(y);
    loop(constant(0), constant(type.getNumElements()), [&](Value k) {
      store(arith::SelectOp::create(b, loc, element(condition, k),
                                    element(chosen, k), element(other, k)),
            base, k);
    });
    define(result, base);
  }
  return success();
}

LogicalResult Generator::emitBranches(Operation *op, Value condition,
                                      Region &then, Region &otherwise) {
  SmallVector<Value> held;
  for (Value result : op->getResults())
    held.push_back(scratch(cast<RankedTensorType>(result.getType())));
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/true);
  auto emit = [&](Region &region, Block *into) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(into);
    if (failed(emitOps(region.front())))
      return failure();
    for (auto [value, base] :
         llvm::zip(region.front().getTerminator()->getOperands(), held))
      copy(get(value), base, constant(0));
    return success();
  };
  if (failed(emit(then, branch.thenBlock())) ||
      failed(emit(otherwise, branch.elseBlock())))
    return failure();
  for (auto [value, base] : llvm::zip(op->getResults(), held)) {
    auto type = cast<RankedTensorType>(value.getType());
    define(value, type.getRank()
                      ? base
                      : load(base, constant(0), type.getElementType()));
  }
  return success();
}
