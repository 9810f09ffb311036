//===- Recording.cpp - Every value of a run, for checks -------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a statement stores is also handed to the runtime, which keeps it if the
// run is recorded. It costs time and code, so programs ask for it when they are
// compiled.
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::codegen;

/// Both ranges, and what lies between.
static Interval unite(Interval x, Interval y) {
  Interval all;
  if (x.lo && y.lo)
    all.lo = std::min(*x.lo, *y.lo);
  if (x.hi && y.hi)
    all.hi = std::max(*x.hi, *y.hi);
  return all;
}

/// Hands elements `from`, ... of a value to the runtime, as those of the point
/// (in a range, `at` from its beginning).
void Generator::emitRecord(const Operand &value, StringRef tensor,
                           ArrayAttr indices, ArrayRef<Value> at, Value from,
                           int64_t elements) {
  auto symbol = module.lookupSymbol<trl::TensorOp>(tensor);
  if (symbol.getHidden())
    return;
  auto [entry, isNew] = recorded.try_emplace(tensor.str());
  RecordedTensor &record = entry->second;
  if (isNew) {
    record.number = recorded.size() - 1;
    record.box.resize(indices.size());
  }
  int64_t count = scope.variances.empty() || lanes == 1 ? 1 : lanes;
  unsigned axis = 0;
  for (auto [p, index] : llvm::enumerate(indices)) {
    Interval range;
    Value position;
    if (auto point = dyn_cast<trl::AtAttr>(index)) {
      range = scope.ranges.of(point.getIndex().getExpr());
      position = emitLanes(point.getIndex().getExpr());
    } else {
      auto slice = cast<trl::RangeAttr>(index);
      range = rangeOf(slice.getLo().getExpr(), slice.getHi().getExpr(),
                      scope.ranges);
      position = add(emitExpr(slice.getLo().getExpr()), at[axis++]);
    }
    record.box[p] = isNew ? range : unite(record.box[p], range);
    storeTo({points, constant(static_cast<int64_t>(p) * count), 1, count > 1},
            constant(0), position);
  }
  Operand held = value;
  if (count > 1 && !(value.varying && !value.isScalar())) {
    // A scalar, or equal in all lanes.
    held = scratch(value.type, true);
    copy(value, held, constant(0));
  } else {
    held = inMemory(value);
  }
  func::CallOp::create(b, loc, "timerl_rt_record", TypeRange(),
                       ValueRange{constant(static_cast<int64_t>(record.number)),
                                  points, held.value, from, constant(elements),
                                  constant(held.stride), constant(count)});
}
