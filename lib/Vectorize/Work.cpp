//===- Work.cpp - How much a piece of a program computes ------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Vectorize/Work.h"

using namespace mlir;
using namespace timerl;

/// Of a loop whose bounds are not known.
static constexpr double unknownLength = 16;
/// Elementary functions and draws, in multiplications.
static constexpr double costOfFunction = 10, costOfDraw = 50;

double timerl::lengthOf(const Interval &range) {
  if (!range.lo || !range.hi)
    return unknownLength;
  return std::max<double>(1, double(*range.hi) - double(*range.lo) + 1);
}

static double workOfBody(Block &body, const Intervals &known) {
  double sum = 0;
  for (Operation &op : body.without_terminator()) {
    if (auto reduce = dyn_cast<trl::ReduceOverOp>(op)) {
      sum += estimateWork(reduce, known);
      continue;
    }
    for (Region &region : op.getRegions())
      sum += workOfBody(region.front(), known);
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    double elements =
        type.hasStaticShape() ? double(type.getNumElements()) : unknownLength;
    if (auto matmul = dyn_cast<trl::MatmulOp>(op))
      elements *= double(
          cast<RankedTensorType>(matmul.getLhs().getType()).getShape().back());
    else if (isa<trl::ExpOp, trl::LogOp, trl::TanhOp, trl::PowOp, trl::SinOp,
                 trl::CosOp>(op))
      elements *= costOfFunction;
    else if (isa<trl::RandomOp>(op))
      elements *= costOfDraw;
    sum += elements;
  }
  return sum;
}

double timerl::estimateWork(trl::ReduceOverOp reduce, const Intervals &known) {
  Intervals inner = known;
  double times = 1;
  for (auto iter : reduce.getBinders().getAsRange<trl::IterAttr>()) {
    Interval range =
        rangeOf(iter.getLo().getExpr(), iter.getHi().getExpr(), inner);
    inner.set(iter.getName(), range);
    times *= lengthOf(range);
  }
  return times * workOfBody(reduce.getBody().front(), inner);
}

static double workOfBlock(Block &block, const Intervals &known) {
  double sum = 0;
  for (Operation &op : block) {
    if (auto loop = dyn_cast<sched::ForOp>(op)) {
      sum += estimateWork(loop, known);
    } else if (auto guard = dyn_cast<sched::IfOp>(op)) {
      Intervals inner = known;
      inner.assume(guard.getCondition().getExpr());
      sum += workOfBlock(guard.getBody().front(), inner);
    } else if (auto stmt = dyn_cast<sched::StmtOp>(op)) {
      Intervals dims;
      for (auto [dim, value] :
           llvm::zip(stmt.getDims().getAsRange<StringAttr>(),
                     trl::getExprs(stmt.getValues())))
        dims.set(dim, known.of(value));
      sum += workOfBody(stmt.getBody().front(), dims);
    }
  }
  return sum;
}

double timerl::estimateWork(sched::ForOp loop, const Intervals &known) {
  Interval range =
      rangeOf(loop.getLo().getExpr(), loop.getHi().getExpr(), known);
  Intervals inner = known;
  inner.set(loop.getName(), range);
  return lengthOf(range) * workOfBlock(loop.getBody().front(), inner);
}
