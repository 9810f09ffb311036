//===- GradientTape.cpp - The tape of one equation ------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientTape.h"
#include <algorithm>
#include <cmath>

using namespace timerl;
using namespace timerl::interp;
using llvm::ArrayRef;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

/// Gives the results their identities and keeps the entry.
void GradientTape::close(Entry entry, const Frame &frame) {
  entry.to = numIds;
  for (unsigned k = 0; k < entry.inst->types.size(); ++k) {
    entry.results.push_back(frame.slots[entry.inst->result + k]);
    ids[entry.inst->result + k] = numIds++;
  }
  entries.push_back(std::move(entry));
}

void GradientTape::restarted() {
  entries.clear();
  rounds.clear();
  numIds = 0;
  std::fill(ids.begin(), ids.end(), -1);
}

static bool anyVaried(ArrayRef<int> ids) {
  return llvm::any_of(ids, [](int id) { return id >= 0; });
}

void GradientTape::executed(const Instruction &inst, const Frame &frame,
                            ArrayRef<PointRef> points) {
  for (unsigned k = 0; k < inst.types.size(); ++k)
    ids[inst.result + k] = -1;
  // A gradient's result was shown not to vary.
  if (!inst.useful || !isDifferentiable(inst.code) || inst.code == Opcode::Grad)
    return;
  Entry entry{&inst, {}, {}, 0, {}, {}, 0, {}};
  if (inst.code == Opcode::Read) {
    if (!llvm::any_of(points, isVaried))
      return;
    entry.points.assign(points.begin(), points.end());
    return close(std::move(entry), frame);
  }
  for (int operand : inst.operands)
    entry.from.push_back(ids[operand]);
  if (!anyVaried(entry.from))
    return;
  for (int operand : inst.operands)
    entry.operands.push_back(frame.slots[operand]);
  if (inst.code == Opcode::Extract) {
    entry.sliceBase = frame.sliceBase;
    entry.sliceStrides = frame.sliceStrides;
  }
  close(std::move(entry), frame);
}

void GradientTape::forwarded(const Instruction &inst, ArrayRef<int> slots) {
  for (unsigned k = 0; k < inst.types.size(); ++k)
    ids[inst.result + k] = ids[slots[k]];
}

void GradientTape::reduced(const Instruction &inst, const Frame &frame) {
  if (!inst.useful)
    return;
  if (rounds.empty() || rounds.back().inst != &inst)
    rounds.push_back({&inst, {}, {}, 0, {}, {}, 0, {}});
  for (unsigned k = 0; k < inst.types.size(); ++k) {
    int slot = inst.regions[0].yields[k];
    rounds.back().from.push_back(ids[slot]);
    rounds.back().operands.push_back(frame.slots[slot]);
  }
}

void GradientTape::reductionDone(const Instruction &inst, const Frame &frame) {
  for (unsigned k = 0; k < inst.types.size(); ++k)
    ids[inst.result + k] = -1;
  if (rounds.empty() || rounds.back().inst != &inst)
    return; // Not useful, or over nothing.
  Entry entry = std::move(rounds.back());
  rounds.pop_back();
  if (anyVaried(entry.from))
    close(std::move(entry), frame);
}

void GradientTape::chosen(const Instruction &inst, const Frame &frame) {
  Entry entry{&inst, {}, {frame.slots[inst.operands[0]]}, 0, {}, {}, 0, {}};
  for (const Region &region : inst.regions)
    for (unsigned k = 0; k < inst.types.size(); ++k)
      entry.from.push_back(ids[region.yields[k]]);
  for (unsigned k = 0; k < inst.types.size(); ++k)
    ids[inst.result + k] = -1;
  if (inst.useful && anyVaried(entry.from))
    close(std::move(entry), frame);
}

//===----------------------------------------------------------------------===//
// Running backwards
//===----------------------------------------------------------------------===//

GradientTape::Cotangent &GradientTape::at(int id, int64_t size) {
  if (cotangents[id].empty())
    cotangents[id].assign(size, 0.0);
  return cotangents[id];
}

static std::vector<double> doublesOf(const Array &array) {
  std::vector<double> values(array.size());
  dispatch(array.dtype(), [&](auto zero) {
    const auto *in = array.data<decltype(zero)>();
    std::copy(in, in + array.size(), values.begin());
  });
  return values;
}

void GradientTape::reverse(
    ArrayRef<int> yields, ArrayRef<Cotangent> seeds,
    llvm::function_ref<void(PointRef, ArrayRef<double>)> add) {
  cotangents.assign(numIds, {});
  for (auto [slot, seed] : llvm::zip(yields, seeds)) {
    if (seed.empty() || ids[slot] < 0)
      continue;
    Cotangent &total = at(ids[slot], seed.size());
    for (size_t k = 0; k < seed.size(); ++k)
      total[k] += seed[k];
  }
  for (const Entry &entry : llvm::reverse(entries)) {
    if (entry.inst->code != Opcode::Read) {
      pull(entry);
      continue;
    }
    ArrayRef<double> g = cotangents[entry.to];
    if (g.empty())
      continue;
    size_t width = g.size() / entry.points.size();
    for (auto [k, point] : llvm::enumerate(entry.points))
      if (isVaried(point))
        add(point, g.slice(k * width, width));
  }
}

void GradientTape::pull(const Entry &entry) {
  if (entry.inst->code == Opcode::ReduceOver)
    return pullReduceOver(entry);
  if (entry.inst->code == Opcode::If)
    return pullIf(entry);
  // Taken out: a later entry must not see it change under its feet.
  Cotangent g = std::move(cotangents[entry.to]);
  if (g.empty())
    return;
  switch (entry.inst->code) {
  case Opcode::Matmul:
    return pullMatmul(entry, g);
  case Opcode::Reduce:
    return pullReduce(entry, g);
  case Opcode::Fill:
  case Opcode::Broadcast:
  case Opcode::Reshape:
  case Opcode::Transpose:
  case Opcode::Stack:
  case Opcode::Concat:
  case Opcode::Extract:
  case Opcode::Take:
  case Opcode::Scatter:
  case Opcode::Cumsum:
    return pullShape(entry, g);
  default:
    return pullElementwise(entry, g);
  }
}

void GradientTape::pullElementwise(const Entry &entry, const Cotangent &g) {
  std::vector<std::vector<double>> x;
  for (const Array &operand : entry.operands)
    x.push_back(doublesOf(operand));
  std::vector<double> result = doublesOf(entry.results[0]);
  int64_t size = g.size();
  // The derivative by operand n at element k; asked for where g is not zero.
  auto by = [&](unsigned n, auto derivative) {
    if (entry.from[n] < 0)
      return;
    Cotangent &total = at(entry.from[n], size);
    for (int64_t k = 0; k < size; ++k)
      if (g[k] != 0)
        total[k] += g[k] * derivative(k);
  };
  switch (entry.inst->code) {
  case Opcode::Neg:
    return by(0, [](int64_t) { return -1.0; });
  case Opcode::Abs:
    return by(0,
              [&](int64_t k) { return double((x[0][k] > 0) - (x[0][k] < 0)); });
  case Opcode::Exp:
    return by(0, [&](int64_t k) { return result[k]; });
  case Opcode::Log:
    return by(0, [&](int64_t k) { return 1 / x[0][k]; });
  case Opcode::Sqrt:
    return by(0, [&](int64_t k) { return 0.5 / result[k]; });
  case Opcode::Sin:
    return by(0, [&](int64_t k) { return std::cos(x[0][k]); });
  case Opcode::Cos:
    return by(0, [&](int64_t k) { return -std::sin(x[0][k]); });
  case Opcode::Tanh:
    return by(0, [&](int64_t k) { return 1 - result[k] * result[k]; });
  case Opcode::Cast:
    return by(0, [](int64_t) { return 1.0; });
  case Opcode::Add:
    by(0, [](int64_t) { return 1.0; });
    return by(1, [](int64_t) { return 1.0; });
  case Opcode::Sub:
    by(0, [](int64_t) { return 1.0; });
    return by(1, [](int64_t) { return -1.0; });
  case Opcode::Mul:
  case Opcode::CotangentMul:
    by(0, [&](int64_t k) { return x[1][k]; });
    return by(1, [&](int64_t k) { return x[0][k]; });
  case Opcode::Div:
    by(0, [&](int64_t k) { return 1 / x[1][k]; });
    return by(1, [&](int64_t k) { return -(x[0][k] / x[1][k]) / x[1][k]; });
  case Opcode::Mod:
    by(0, [](int64_t) { return 1.0; });
    return by(1, [&](int64_t k) { return -std::floor(x[0][k] / x[1][k]); });
  case Opcode::Pow:
    by(0, [&](int64_t k) {
      return x[1][k] == 0 ? 0 : x[1][k] * std::pow(x[0][k], x[1][k] - 1);
    });
    return by(1, [&](int64_t k) {
      return x[0][k] == 0 && x[1][k] >= 0 ? 0 : result[k] * std::log(x[0][k]);
    });
  case Opcode::Min:
  case Opcode::Max: {
    bool isMax = entry.inst->code == Opcode::Max;
    auto share = [&](unsigned n, int64_t k) {
      double own = x[n][k], other = x[1 - n][k];
      return own == other ? 0.5 : (own > other) == isMax ? 1.0 : 0.0;
    };
    by(0, [&](int64_t k) { return share(0, k); });
    return by(1, [&](int64_t k) { return share(1, k); });
  }
  case Opcode::Clip: {
    // Which operand the result is: x on the closed interval.
    auto source = [&](int64_t k) -> unsigned {
      if (x[1][k] <= x[0][k] && x[0][k] <= x[2][k])
        return 0;
      return std::max(x[0][k], x[1][k]) > x[2][k] ? 2 : 1;
    };
    for (unsigned n = 0; n < 3; ++n)
      by(n, [&](int64_t k) { return source(k) == n ? 1.0 : 0.0; });
    return;
  }
  case Opcode::Select:
    by(1, [&](int64_t k) { return x[0][k] != 0 ? 1.0 : 0.0; });
    return by(2, [&](int64_t k) { return x[0][k] != 0 ? 0.0 : 1.0; });
  default:
    fail("E0915", entry.inst->op->getLoc(),
         "the interpreter has no derivative of `" +
             entry.inst->op->getName().getStringRef() + "`");
  }
}

void GradientTape::pullStrided(const Entry &entry, const Cotangent &g,
                               ArrayRef<int64_t> strides, int64_t base) {
  Cotangent &total = at(entry.from[0], entry.operands[0].size());
  forEachOffset(entry.results[0].shape(), strides, base,
                [&](int64_t k, int64_t offset) { total[offset] += g[k]; });
}

void GradientTape::pullShape(const Entry &entry, const Cotangent &g) {
  const Array &x = entry.operands[0];
  Shape shape = entry.results[0].shape();
  switch (entry.inst->code) {
  case Opcode::Fill:
  case Opcode::Broadcast:
    return pullStrided(entry, g, broadcastStrides(x.shape(), shape), 0);
  case Opcode::Reshape:
    return pullStrided(entry, g, stridesOf(shape), 0);
  case Opcode::Transpose: {
    SmallVector<int64_t> own = stridesOf(x.shape()), strides;
    for (int64_t axis : entry.inst->axes)
      strides.push_back(own[axis]);
    return pullStrided(entry, g, strides, 0);
  }
  case Opcode::Extract:
    return pullStrided(entry, g, entry.sliceStrides, entry.sliceBase);
  case Opcode::Stack:
  case Opcode::Concat: {
    // A stack joins operands along a new axis of length 1.
    unsigned axis = entry.inst->code == Opcode::Stack ? 0 : entry.inst->axes[0];
    int64_t inner = sizeOf(shape.drop_front(axis + 1)), start = 0;
    for (auto [id, operand] : llvm::zip(entry.from, entry.operands)) {
      int64_t run = entry.inst->code == Opcode::Stack
                        ? operand.size()
                        : operand.shape()[axis] * inner;
      if (id >= 0 && run) {
        Cotangent &total = at(id, operand.size());
        for (int64_t k = 0; k < operand.size(); ++k)
          total[k] += g[k / run * shape[axis] * inner + start + k % run];
      }
      start += run;
    }
    return;
  }
  case Opcode::Take: {
    Cotangent &total = at(entry.from[0], x.size());
    int64_t inner = sizeOf(x.shape().drop_front()), length = x.shape()[0];
    for (int64_t k = 0; k < entry.operands[1].size() && length; ++k) {
      int64_t row =
          std::clamp<int64_t>(entry.operands[1].getInt(k), 0, length - 1);
      for (int64_t j = 0; j < inner; ++j)
        total[row * inner + j] += g[k * inner + j];
    }
    return;
  }
  case Opcode::Scatter: {
    int64_t inner = sizeOf(x.shape().drop_front()), length = x.shape()[0];
    // The update that each row shows; -1: base.
    std::vector<int64_t> last(length, -1);
    const Array &indices = entry.operands[1];
    auto inside = [&](int64_t row) { return row >= 0 && row < length; };
    for (int64_t k = 0; k < indices.size(); ++k)
      if (inside(indices.getInt(k)))
        last[indices.getInt(k)] = k;
    if (entry.from[0] >= 0) {
      Cotangent &total = at(entry.from[0], x.size());
      for (int64_t k = 0; k < x.size(); ++k)
        if (entry.inst->flag || last[k / inner] < 0)
          total[k] += g[k];
    }
    if (entry.from[2] >= 0) {
      Cotangent &total = at(entry.from[2], entry.operands[2].size());
      for (int64_t k = 0; k < indices.size(); ++k) {
        int64_t row = indices.getInt(k);
        if (inside(row) && (entry.inst->flag || last[row] == k))
          for (int64_t j = 0; j < inner; ++j)
            total[k * inner + j] += g[row * inner + j];
      }
    }
    return;
  }
  default: { // Cumsum: a running sum the other way.
    Cotangent &total = at(entry.from[0], x.size());
    int64_t axis = entry.inst->axes[0], length = shape[axis],
            stride = stridesOf(shape)[axis];
    for (int64_t k = 0; k < x.size(); ++k) {
      if (k / stride % length != 0)
        continue;
      double sum = 0;
      for (int64_t j = 0; j < length; ++j) {
        int64_t place = k + (entry.inst->flag ? j : length - 1 - j) * stride;
        sum += g[place];
        total[place] += sum;
      }
    }
  }
  }
}

void GradientTape::pullMatmul(const Entry &entry, const Cotangent &g) {
  const Array &x = entry.operands[0], &y = entry.operands[1];
  std::vector<double> left = doublesOf(x), right = doublesOf(y);
  int64_t inner = x.shape().back(),
          rows = x.rank() > 1 ? x.shape().end()[-2] : 1,
          columns = y.rank() > 1 ? y.shape().back() : 1,
          batches = x.rank() > 2 ? sizeOf(x.shape().drop_back(2)) : 1;
  Cotangent *dx = entry.from[0] < 0 ? nullptr : &at(entry.from[0], x.size());
  Cotangent *dy = entry.from[1] < 0 ? nullptr : &at(entry.from[1], y.size());
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double value = g[(batch * rows + i) * columns + j];
        if (value == 0)
          continue;
        for (int64_t k = 0; k < inner; ++k) {
          int64_t atX = (batch * rows + i) * inner + k,
                  atY = (batch * inner + k) * columns + j;
          if (dx)
            (*dx)[atX] += value * right[atY];
          if (dy)
            (*dy)[atY] += value * left[atX];
        }
      }
}

//===----------------------------------------------------------------------===//
// Reductions and branches
//===----------------------------------------------------------------------===//

/// Derivatives of one reduced element by the values it was made from.
static std::vector<double> reductionWeights(trl::Reduction reduction,
                                            ArrayRef<double> values) {
  std::vector<double> weights(values.size(), 1.0);
  switch (reduction) {
  case trl::Reduction::prod: { // The product of all others, without dividing.
    double before = 1, after = 1;
    for (size_t k = 0; k < values.size(); ++k) {
      weights[k] *= before;
      before *= values[k];
    }
    for (size_t k = values.size(); k-- > 0;) {
      weights[k] *= after;
      after *= values[k];
    }
    return weights;
  }
  case trl::Reduction::max:
  case trl::Reduction::min: { // All to the first extreme, a NaN if there is
                              // one.
    std::fill(weights.begin(), weights.end(), 0.0);
    size_t best = 0;
    for (size_t k = 1; k < values.size(); ++k)
      if (!std::isnan(values[best]) &&
          (std::isnan(values[k]) ||
           (reduction == trl::Reduction::max ? values[k] > values[best]
                                             : values[k] < values[best])))
        best = k;
    if (!weights.empty())
      weights[best] = 1;
    return weights;
  }
  default:
    return weights;
  }
}

void GradientTape::pullReduce(const Entry &entry, const Cotangent &g) {
  const Array &x = entry.operands[0];
  std::vector<double> values = doublesOf(x);
  SmallVector<int64_t> own = stridesOf(entry.results[0].shape()), strides;
  for (unsigned axis = 0, kept = 0; axis < x.rank(); ++axis)
    strides.push_back(llvm::is_contained(entry.inst->axes, axis) ? 0
                                                                 : own[kept++]);
  // The elements that each result was made from, in order.
  std::vector<std::vector<int64_t>> sources(g.size());
  forEachOffset(x.shape(), strides, 0,
                [&](int64_t k, int64_t to) { sources[to].push_back(k); });
  Cotangent &total = at(entry.from[0], x.size());
  for (size_t to = 0; to < g.size(); ++to) {
    if (g[to] == 0)
      continue;
    std::vector<double> inputs;
    for (int64_t k : sources[to])
      inputs.push_back(values[k]);
    auto weights = reductionWeights(entry.inst->reduction, inputs);
    for (auto [k, weight] : llvm::zip(sources[to], weights))
      if (weight != 0)
        total[k] += g[to] * weight;
  }
}

void GradientTape::pullReduceOver(const Entry &entry) {
  unsigned numResults = entry.inst->types.size();
  size_t numRounds = entry.from.size() / numResults;
  for (unsigned r = 0; r < numResults; ++r) {
    Cotangent g = std::move(cotangents[entry.to + r]);
    for (size_t e = 0; e < g.size(); ++e) {
      if (g[e] == 0)
        continue;
      std::vector<double> inputs;
      for (size_t n = 0; n < numRounds; ++n)
        inputs.push_back(entry.operands[n * numResults + r].getDouble(e));
      auto weights = reductionWeights(entry.inst->reduction, inputs);
      for (size_t n = 0; n < numRounds; ++n)
        if (int id = entry.from[n * numResults + r]; id >= 0 && weights[n] != 0)
          at(id, g.size())[e] += g[e] * weights[n];
    }
  }
}

void GradientTape::pullIf(const Entry &entry) {
  unsigned numResults = entry.inst->types.size();
  const bool *condition = entry.operands[0].data<bool>();
  for (unsigned r = 0; r < numResults; ++r) {
    Cotangent g = std::move(cotangents[entry.to + r]);
    for (size_t e = 0; e < g.size(); ++e)
      if (int id = entry.from[condition[e] ? r : numResults + r]; id >= 0)
        at(id, g.size())[e] += g[e];
  }
}
