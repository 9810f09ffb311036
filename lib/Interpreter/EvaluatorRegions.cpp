//===- EvaluatorRegions.cpp - Evaluation of regions -----------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include <algorithm>
#include <cstring>

using namespace timerl;
using namespace timerl::interp;
using llvm::ArrayRef;
using llvm::SmallVector;

static SmallVector<Array, 3> valuesOf(ArrayRef<int> slots, const Frame &frame) {
  SmallVector<Array, 3> values;
  for (int slot : slots)
    values.push_back(frame.slots[slot]);
  return values;
}

/// The point of the domain, for messages: `, at b = 1, t = 3`.
static std::string placeText(const Frame &frame) {
  std::string text;
  for (const Iterator &iterator : frame.body.domain)
    text += (text.empty() ? ", at " : ", ") + iterator.name + " = " +
            std::to_string(frame.environment[iterator.slot]);
  return text;
}

static void setUnknown(const Instruction &inst, Frame &frame) {
  for (unsigned k = 0; k < inst.types.size(); ++k)
    frame.slots[inst.result + k] = Array();
}

bool Evaluator::shapeOf(const ValueType &type, Frame &frame,
                        llvm::SmallVectorImpl<int64_t> &shape) {
  if (type.isStatic) {
    shape.assign(type.shape.begin(), type.shape.end());
    return true;
  }
  if (!evaluateAll(type.lengths, frame, shape))
    return false;
  for (int64_t &length : shape)
    length = std::max<int64_t>(length, 0);
  return true;
}

void Evaluator::runRegion(const Region &region, Frame &frame) {
  for (const Instruction &inst : region.instructions)
    run(inst, frame);
}

void Evaluator::run(const Instruction &inst, Frame &frame) {
  current = inst.op;
  switch (inst.code) {
  case Opcode::ReduceOver:
    return runReduceOver(inst, frame);
  case Opcode::Case: {
    auto condition = evaluate(inst.expr, frame.environment);
    return condition ? runBranch(inst, frame, *condition)
                     : setUnknown(inst, frame);
  }
  case Opcode::If: {
    Array condition = frame.slots[inst.operands[0]];
    if (!condition)
      return setUnknown(inst, frame);
    return condition.rank() == 0 ? runBranch(inst, frame, condition.getBool())
                                 : runElementwiseIf(inst, frame, condition);
  }
  case Opcode::Grad:
    return runGrad(inst, frame);
  default:
    break;
  }
  Array &result = frame.slots[inst.result];
  SmallVector<Array, 3> operands = valuesOf(inst.operands, frame);
  SmallVector<int64_t> shape;
  SmallVector<PointRef> points;
  if (!llvm::all_of(operands, [](const Array &x) { return bool(x); }) ||
      !shapeOf(inst.types[0], frame, shape)) {
    result = Array();
    return;
  }
  result = inst.code == Opcode::Read ? runRead(inst, frame, shape, points)
           : inst.code == Opcode::Extract
               ? runExtract(inst, frame, shape)
               : runSimple(inst, operands, shape, frame);
  if (frame.observer && result)
    frame.observer->executed(inst, frame, points);
}

Array Evaluator::runSimple(const Instruction &inst, ArrayRef<Array> operands,
                           ArrayRef<int64_t> shape, Frame &frame) {
  DType dtype = inst.types[0].dtype;
  switch (inst.code) {
  case Opcode::Constant:
    return inst.constant;
  case Opcode::Fill:
    return fill(operands[0], shape);
  case Opcode::Index: {
    auto value = evaluate(inst.expr, frame.environment);
    return value ? Array::scalar(dtype, *value) : Array();
  }
  case Opcode::Iota:
    return iota(dtype, shape, inst.axes[0]);
  case Opcode::Random: {
    RandomPlace place{options.seed, inst.site, {}};
    auto offset = evaluate(inst.expr, frame.environment);
    if (!offset || !evaluateAll(inst.point, frame, place.point))
      return Array();
    place.seed += static_cast<uint64_t>(*offset);
    bool bounded = inst.draw == trl::Draw::randint;
    return draw(inst.draw, place, inst.drawType, dtype, shape,
                bounded ? operands[0].getInt(0) : 0,
                bounded ? operands[1].getInt(0) : 0);
  }
  case Opcode::Neg:
  case Opcode::Abs:
  case Opcode::Exp:
  case Opcode::Log:
  case Opcode::Sqrt:
  case Opcode::Sin:
  case Opcode::Cos:
  case Opcode::Tanh:
  case Opcode::Floor:
  case Opcode::Ceil:
  case Opcode::Not:
    return unary(inst.code, operands[0]);
  case Opcode::Clip:
    return clip(operands[0], operands[1], operands[2]);
  case Opcode::Compare:
    return compare(inst.predicate, operands[0], operands[1]);
  case Opcode::Select:
    return select(operands[0], operands[1], operands[2]);
  case Opcode::Cast:
    return castArray(operands[0], dtype);
  case Opcode::StopGradient:
    return operands[0];
  case Opcode::Broadcast:
    return gather(operands[0], shape,
                  broadcastStrides(operands[0].shape(), shape), 0);
  case Opcode::Reshape:
    if (sizeOf(shape) != operands[0].size())
      fail("E0913", inst.op->getLoc(),
           "a reshape from " + typeText(dtype, operands[0].shape()) + " to " +
               typeText(dtype, shape) + " changes the number of elements" +
               placeText(frame));
    return operands[0].reshaped(shape);
  case Opcode::Transpose: {
    SmallVector<int64_t> own = stridesOf(operands[0].shape()), strides;
    for (int64_t axis : inst.axes)
      strides.push_back(own[axis]);
    return gather(operands[0], shape, strides, 0);
  }
  case Opcode::Stack: {
    Array result(dtype, shape);
    char *out = static_cast<char *>(result.mutableRaw());
    for (const Array &operand : operands) {
      std::memcpy(out, operand.raw(), operand.byteSize());
      out += operand.byteSize();
    }
    return result;
  }
  case Opcode::Concat:
    return concat(operands, inst.axes[0], dtype, shape);
  case Opcode::Take:
    return take(operands[0], operands[1]);
  case Opcode::Scatter:
    return scatter(operands[0], operands[1], operands[2], inst.flag);
  case Opcode::Matmul:
    return matmul(operands[0], operands[1], shape);
  case Opcode::Reduce:
    return reduce(inst.reduction, operands[0], inst.axes, dtype, shape);
  case Opcode::Cumsum:
    return cumsum(operands[0], inst.axes[0], inst.flag);
  case Opcode::Argsort:
    return castArray(argsort(operands[0]), dtype);
  default:
    return binary(inst.code, operands[0], operands[1]);
  }
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

Array Evaluator::runRead(const Instruction &inst, Frame &frame,
                         ArrayRef<int64_t> shape,
                         llvm::SmallVectorImpl<PointRef> &points) {
  unsigned rank = inst.accesses.size();
  SmallVector<int64_t> point(rank), lows, lengths;
  SmallVector<unsigned> ranges;
  llvm::StringRef name = inst.isInput ? program.inputs[inst.source].name
                                      : program.tensors[inst.source].name;
  for (auto [k, access] : llvm::enumerate(inst.accesses)) {
    if (access.kind == Access::Dynamic) {
      point[k] = frame.slots[access.operand].getInt(0);
      if (!access.bounded)
        continue;
      auto lo = evaluate(access.lo, frame.environment),
           hi = evaluate(access.hi, frame.environment);
      if (!lo || !hi)
        return Array();
      if (point[k] < *lo || point[k] >= *hi)
        fail("E0914", inst.op->getLoc(),
             "index " + llvm::Twine(point[k]) + " of `" + name +
                 "`, position " + llvm::Twine(k) + ", is not in " +
                 llvm::Twine(*lo) + ":" + llvm::Twine(*hi) + placeText(frame));
      continue;
    }
    auto lo = evaluate(access.lo, frame.environment);
    if (!lo)
      return Array();
    point[k] = *lo;
    if (access.kind == Access::Range) {
      auto hi = evaluate(access.hi, frame.environment);
      if (!hi)
        return Array();
      ranges.push_back(k);
      lows.push_back(*lo);
      lengths.push_back(std::max<int64_t>(*hi - *lo, 0));
    }
  }

  Array result(inst.types[0].dtype, shape);
  int64_t numPoints = sizeOf(lengths),
          width = numPoints ? result.byteSize() / numPoints : 0;
  char *out = static_cast<char *>(result.mutableRaw());
  bool known = true;
  SmallVector<int64_t> index(ranges.size());
  for (int64_t n = 0; n < numPoints; ++n, out += width) {
    for (auto [k, range] : llvm::enumerate(ranges))
      point[range] = lows[k] + index[k];
    for (int64_t k = ranges.size() - 1; k >= 0; --k) {
      if (++index[k] < lengths[k])
        break;
      index[k] = 0;
    }
    if (inst.isInput) {
      const InputInfo &input = program.inputs[inst.source];
      int64_t offset = 0;
      for (unsigned k = 0; k < rank; ++k) {
        if (point[k] < 0 || point[k] >= input.extents[k])
          fail("E0914", inst.op->getLoc(),
               "`" + pointText(name, point) + "` is outside of the input" +
                   placeText(frame));
        offset = offset * input.extents[k] + point[k];
      }
      std::memcpy(out,
                  static_cast<const char *>(input.value.raw()) + offset * width,
                  width);
      continue;
    }
    PointTable &table = tables[inst.source];
    PointRef ref{inst.source, table.find(point)};
    const Array &value = table[ref.number].value;
    if (!value) {
      miss(ref);
      known = false;
      continue;
    }
    if (rank == 0 || ranges.empty()) { // Share it, rather than copy.
      points.push_back(ref);
      return value;
    }
    if (value.byteSize() != width)
      fail("E0913", inst.op->getLoc(),
           "`" + pointText(name, point) + "` is " +
               typeText(value.dtype(), value.shape()) +
               ", which does not fit the other points of the slice" +
               placeText(frame));
    points.push_back(ref);
    std::memcpy(out, value.raw(), width);
  }
  return known ? result : Array();
}

Array Evaluator::runExtract(const Instruction &inst, Frame &frame,
                            ArrayRef<int64_t> shape) {
  const Array &x = frame.slots[inst.operands[0]];
  SmallVector<int64_t> own = stridesOf(x.shape()), strides;
  int64_t base = 0;
  for (auto [axis, access] : llvm::enumerate(inst.accesses)) {
    int64_t length = x.shape()[axis], at;
    auto lo = evaluate(access.lo, frame.environment),
         hi = access.kind == Access::At
                  ? lo
                  : evaluate(access.hi, frame.environment);
    if (!lo || !hi)
      return Array();
    auto check = [&](bool inside, const llvm::Twine &what, int64_t first,
                     int64_t end) {
      if (!inside)
        fail("E0914", inst.op->getLoc(),
             what + " of axis " + llvm::Twine(axis) + " is not in " +
                 llvm::Twine(first) + ":" + llvm::Twine(end) +
                 placeText(frame));
    };
    switch (access.kind) {
    case Access::At:
      at = *lo;
      check(0 <= at && at < length, "index " + llvm::Twine(at), 0, length);
      break;
    case Access::Range:
      at = *lo;
      check(*lo >= *hi || (0 <= *lo && *hi <= length),
            "slice " + llvm::Twine(*lo) + ":" + llvm::Twine(*hi), 0, length);
      strides.push_back(own[axis]);
      break;
    case Access::Dynamic:
      at = frame.slots[access.operand].getInt(0);
      if (access.bounded)
        check(*lo <= at && at < *hi, "index " + llvm::Twine(at), *lo, *hi);
      if (length == 0) // Nothing to clamp to.
        return Array::zeros(x.dtype(), shape);
      at = std::clamp<int64_t>(at, 0, length - 1);
      break;
    }
    base += at * own[axis];
  }
  for (unsigned axis = inst.accesses.size(); axis < x.rank(); ++axis)
    strides.push_back(own[axis]);
  Array result = gather(x, shape, strides, base);
  frame.sliceBase = base;
  frame.sliceStrides = std::move(strides);
  return result;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void Evaluator::runBranch(const Instruction &inst, Frame &frame,
                          bool condition) {
  const Region &region = inst.regions[condition ? 0 : 1];
  runRegion(region, frame);
  for (unsigned k = 0; k < inst.types.size(); ++k)
    frame.slots[inst.result + k] = frame.slots[region.yields[k]];
  if (frame.observer)
    frame.observer->forwarded(inst, region.yields);
}

void Evaluator::runElementwiseIf(const Instruction &inst, Frame &frame,
                                 const Array &condition) {
  runRegion(inst.regions[0], frame);
  runRegion(inst.regions[1], frame);
  bool known = true;
  for (unsigned k = 0; k < inst.types.size(); ++k) {
    const Array &x = frame.slots[inst.regions[0].yields[k]],
                &y = frame.slots[inst.regions[1].yields[k]];
    known &= x && y;
    frame.slots[inst.result + k] = x && y ? select(condition, x, y) : Array();
  }
  if (frame.observer && known)
    frame.observer->chosen(inst, frame);
}

void Evaluator::runReduceOver(const Instruction &inst, Frame &frame) {
  const Region &body = inst.regions[0];
  unsigned numResults = inst.types.size();
  bool known = true;
  // Made at the first round, from the shapes of its values.
  std::vector<Accumulator> accumulators;
  auto begin = [&](unsigned k, const Array &value) {
    accumulators.emplace_back(inst.reduction, value.dtype(), value.shape());
  };
  auto round = [&] {
    runRegion(body, frame);
    if (inst.flag) {
      const Array &filter = frame.slots[body.yields[numResults]];
      if (!filter) {
        known = false;
        return;
      }
      if (!filter.getBool())
        return;
    }
    SmallVector<Array, 3> values =
        valuesOf(ArrayRef(body.yields).take_front(numResults), frame);
    for (const Array &value : values)
      known &= bool(value);
    if (!known)
      return;
    for (unsigned k = 0; k < numResults; ++k) {
      if (accumulators.size() <= k)
        begin(k, values[k]);
      int64_t label = frame.environment[inst.binders.back().slot];
      for (int64_t e = 0; e < values[k].size(); ++e)
        accumulators[k].add(e, values[k], e, label);
    }
    if (frame.observer)
      frame.observer->reduced(inst, frame);
  };
  auto nest = [&](auto &&self, unsigned depth) -> void {
    if (depth == inst.binders.size()) {
      auto holds = evaluate(inst.expr, frame.environment);
      known &= holds.has_value();
      if (holds && *holds)
        round();
      return;
    }
    const Iterator &binder = inst.binders[depth];
    auto lo = evaluate(binder.lo, frame.environment),
         hi = evaluate(binder.hi, frame.environment);
    if (!lo || !hi) {
      known = false;
      return;
    }
    for (int64_t k = *lo; k < *hi; ++k) {
      frame.environment[binder.slot] = k;
      self(self, depth + 1);
    }
  };
  nest(nest, 0);
  for (unsigned k = 0; k < numResults && known; ++k) {
    if (k < accumulators.size()) {
      frame.slots[inst.result + k] =
          accumulators[k].finish(inst.types[k].dtype);
      continue;
    }
    SmallVector<int64_t> shape; // Over nothing.
    if (!shapeOf(inst.types[k], frame, shape)) {
      known = false;
      break;
    }
    frame.slots[inst.result + k] =
        Accumulator(inst.reduction, inst.types[k].dtype, shape)
            .finish(inst.types[k].dtype);
  }
  if (!known)
    return setUnknown(inst, frame);
  if (frame.observer)
    frame.observer->reductionDone(inst, frame);
}

void Evaluator::runGrad(const Instruction &inst, Frame &frame) {
  SmallVector<int64_t> of, at;
  if (!evaluateAll(inst.point, frame, of) || !evaluateAll(inst.leaf, frame, at))
    return setUnknown(inst, frame);
  PointRef y{inst.source, tables[inst.source].find(of)};
  bool known = true;
  SmallVector<PointRef> leaves, points{y};
  for (unsigned leaf : inst.leaves)
    leaves.push_back({leaf, tables[leaf].find(at)});
  llvm::append_range(points, leaves);
  for (PointRef ref : points)
    if (!tables[ref.table][ref.number].value) {
      miss(ref);
      known = false;
    }
  if (!known)
    return setUnknown(inst, frame);
  auto [cached, isNew] = gradients.try_emplace(
      {&inst, {y.number, leaves.empty() ? 0 : leaves[0].number}});
  if (isNew)
    cached->second = gradient(*this, inst, y, leaves);
  llvm::copy(cached->second, frame.slots.begin() + inst.result);
  if (frame.observer)
    frame.observer->executed(inst, frame, points);
}
