//===- Record.cpp - Values of a whole run as arrays -----------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Record.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

using namespace timerl;
using namespace timerl::interp;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Form
//===----------------------------------------------------------------------===//

static Array integersOf(ArrayRef<int64_t> values) {
  Array array(DType::I64, {static_cast<int64_t>(values.size())});
  llvm::copy(values, array.mutableData<int64_t>());
  return array;
}

/// Row-major position of a point in a box.
static int64_t positionIn(ArrayRef<int64_t> point, ArrayRef<int64_t> lo,
                          ArrayRef<int64_t> box) {
  int64_t position = 0;
  for (size_t k = 0; k < point.size(); ++k)
    position = position * box[k] + point[k] - lo[k];
  return position;
}

static void writeTensor(const TensorInfo &info, PointTable &table,
                        std::vector<NamedArray> &arrays) {
  SmallVector<int64_t> lo(info.rank), hi(info.rank), shape;
  bool any = false, uneven = false;
  for (uint32_t n = 0; n < table.size(); ++n) {
    const Array &value = table[n].value;
    if (!value)
      continue;
    if (!any)
      shape.assign(value.shape().begin(), value.shape().end());
    for (unsigned k = 0; k < info.rank; ++k) {
      int64_t at = table.point(n)[k];
      lo[k] = any ? std::min(lo[k], at) : at;
      hi[k] = any ? std::max(hi[k], at + 1) : at + 1;
    }
    for (unsigned k = 0; k < value.rank(); ++k) {
      uneven |= shape[k] != value.shape()[k];
      shape[k] = std::max(shape[k], value.shape()[k]);
    }
    any = true;
  }
  if (!any)
    return;
  SmallVector<int64_t> box, full;
  for (unsigned k = 0; k < info.rank; ++k)
    box.push_back(hi[k] - lo[k]);
  full = box;
  llvm::append_range(full, shape);
  double bytes = sizeOf(info.type.dtype);
  for (int64_t length : full)
    bytes *= length;
  if (bytes > 0x1p36)
    fail("E0916", info.loc,
         "the points of `" + info.name + "` lie too far apart to be recorded");
  Array values = Array::zeros(info.type.dtype, full),
        mask = Array::zeros(DType::Bool, box), shapes;
  if (uneven) {
    SmallVector<int64_t> of = box;
    of.push_back(shape.size());
    shapes = Array::zeros(DType::I64, of);
  }
  int64_t width = sizeOf(shape), element = sizeOf(info.type.dtype);
  for (uint32_t n = 0; n < table.size(); ++n) {
    const Array &value = table[n].value;
    if (!value)
      continue;
    int64_t at = positionIn(table.point(n), lo, box);
    mask.mutableData<bool>()[at] = true;
    if (uneven)
      llvm::copy(value.shape(),
                 shapes.mutableData<int64_t>() + at * shape.size());
    // A short value stands in the corner of its place.
    forEachOffset(
        value.shape(), stridesOf(shape), at * width,
        [&](int64_t k, int64_t offset) {
          std::memcpy(
              static_cast<char *>(values.mutableRaw()) + offset * element,
              static_cast<const char *>(value.raw()) + k * element, element);
        });
  }
  arrays.push_back({info.name, values});
  arrays.push_back({info.name + "@mask", mask});
  if (llvm::any_of(lo, [](int64_t corner) { return corner != 0; }))
    arrays.push_back({info.name + "@lo", integersOf(lo)});
  if (uneven)
    arrays.push_back({info.name + "@shape", shapes});
}

std::vector<NamedArray> interp::writeRecord(Evaluator &evaluator) {
  std::vector<NamedArray> arrays;
  for (auto [k, info] : llvm::enumerate(evaluator.program.tensors))
    writeTensor(info, evaluator.table(k), arrays);
  return arrays;
}

std::vector<Recorded> interp::readRecord(const Program &program,
                                         ArrayRef<NamedArray> arrays) {
  auto find = [&](const std::string &name) -> const Array * {
    for (const NamedArray &array : arrays)
      if (array.name == name)
        return &array.value;
    return nullptr;
  };
  std::vector<Recorded> result;
  for (auto [k, info] : llvm::enumerate(program.tensors)) {
    const Array *values = find(info.name);
    if (!values)
      continue;
    const Array *mask = find(info.name + "@mask"),
                *lo = find(info.name + "@lo"),
                *shapes = find(info.name + "@shape");
    auto bad = [&, loc = info.loc](const llvm::Twine &what) {
      fail("E0917", loc, "the record of `" + info.name + "` " + what);
    };
    if (values->rank() < info.rank)
      bad("has too few axes");
    ArrayRef<int64_t> box = values->shape().take_front(info.rank),
                      shape = values->shape().drop_front(info.rank);
    if (info.type.isStatic && shape != ArrayRef(info.type.shape))
      bad("holds values of type " + typeText(values->dtype(), shape) +
          " instead of " + typeText(info.type.dtype, info.type.shape));
    if (isFloat(values->dtype()) != isFloat(info.type.dtype) ||
        (!isFloat(info.type.dtype) && values->dtype() != info.type.dtype))
      bad("holds " + nameOf(values->dtype()) + " instead of " +
          nameOf(info.type.dtype));
    if ((mask && (mask->shape() != box || mask->dtype() != DType::Bool)) ||
        (lo && lo->size() != info.rank) ||
        (shapes && shapes->size() != sizeOf(box) * int64_t(shape.size())))
      bad("has a mask, corner or shapes that do not fit it");
    Recorded recorded{static_cast<unsigned>(k), {}};
    SmallVector<int64_t> index(info.rank);
    int64_t width = sizeOf(shape);
    for (int64_t at = 0; at < sizeOf(box); ++at) {
      if (!mask || mask->getInt(at)) {
        SmallVector<int64_t> point, own(shape);
        for (unsigned axis = 0; axis < info.rank; ++axis)
          point.push_back(index[axis] + (lo ? lo->getInt(axis) : 0));
        for (unsigned axis = 0; shapes && axis < own.size(); ++axis) {
          own[axis] = shapes->getInt(at * own.size() + axis);
          if (own[axis] < 0 || own[axis] > shape[axis])
            bad("has a mask, corner or shapes that do not fit it");
        }
        recorded.values.emplace_back(
            point, castArray(gather(*values, own, stridesOf(shape), at * width),
                             info.type.dtype));
      }
      for (int64_t axis = int64_t(info.rank) - 1; axis >= 0; --axis) {
        if (++index[axis] < box[axis])
          break;
        index[axis] = 0;
      }
    }
    result.push_back(std::move(recorded));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Check
//===----------------------------------------------------------------------===//

static double residualOf(const Array &value, const Array &recorded) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (value.shape() != recorded.shape())
    return infinity;
  double worst = 0;
  for (int64_t k = 0; k < value.size(); ++k) {
    if (!isFloat(value.dtype())) {
      if (value.getInt(k) != recorded.getInt(k))
        return infinity;
      continue;
    }
    double x = value.getDouble(k), y = recorded.getDouble(k);
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    double residual = std::fabs(x - y) / (1 + std::fabs(y));
    worst = std::max(worst, std::isfinite(residual) ? residual : infinity);
  }
  return worst;
}

std::vector<Residual> interp::checkRecord(Evaluator &evaluator,
                                          const InterpreterOptions &options) {
  const Program &program = evaluator.program;
  bool local = options.check == InterpreterOptions::Check::Local;
  std::vector<Recorded> record = readRecord(program, options.record);
  for (const Recorded &tensor : record)
    if (local || !isFloat(program.tensors[tensor.tensor].type.dtype))
      for (auto &[point, value] : tensor.values) {
        PointTable &table = evaluator.table(tensor.tensor);
        table[table.find(point)].value = value;
      }
  std::vector<Residual> residuals(program.tensors.size());
  auto note = [&](unsigned tensor, ArrayRef<int64_t> point, const Array &value,
                  const Array &recorded) {
    Residual &residual = residuals[tensor];
    double distance = residualOf(value, recorded);
    if (distance > residual.worst || residual.numPoints == 0) {
      residual.worst = distance;
      residual.point.assign(point.begin(), point.end());
    }
    ++residual.numPoints;
  };
  std::map<unsigned, const Recorded *> byTensor;
  for (const Recorded &tensor : record)
    byTensor[tensor.tensor] = &tensor;
  // One run of an equation serves all its targets.
  std::set<std::pair<unsigned, std::vector<int64_t>>> done;
  for (const Recorded &tensor : record) {
    const TensorInfo &info = program.tensors[tensor.tensor];
    for (auto &[point, recorded] : tensor.values) {
      if (!local) {
        note(tensor.tensor, point, evaluator.evaluate(tensor.tensor, point),
             recorded);
        continue;
      }
      auto instance = evaluator.findDefinition(tensor.tensor, point);
      if (!instance)
        fail("E0917", info.loc,
             "the record holds `" + pointText(info.name, point) +
                 "`, which no equation defines");
      if (!done.emplace(instance->equation,
                        std::vector<int64_t>(instance->environment.begin(),
                                             instance->environment.end()))
               .second)
        continue;
      const Equation &equation = program.equations[instance->equation];
      SmallVector<Array> values = evaluator.rerun(*instance, nullptr);
      for (auto [target, value] : llvm::zip(equation.targets, values)) {
        if (!byTensor.count(target.tensor))
          continue;
        auto at = evaluator.targetPoint(target, instance->environment);
        PointTable &table = evaluator.table(target.tensor);
        if (const Array &known = table[table.find(at)].value)
          note(target.tensor, at, value, known);
      }
    }
  }
  std::vector<Residual> result;
  for (auto [k, residual] : llvm::enumerate(residuals)) {
    residual.tensor = program.tensors[k].name;
    if (residual.numPoints)
      result.push_back(std::move(residual));
  }
  return result;
}
