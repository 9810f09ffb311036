//===- Work.h - How much a piece of a program computes ----------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_VECTORIZE_WORK_H
#define TIMERL_VECTORIZE_WORK_H

#include "sched/SchedDialect.h"
#include "timerl/Symbolic/Interval.h"

namespace timerl {

/// A guess at the length of a loop or of a binder's range.
double lengthOf(const Interval &range);

/// A guess at the operations on single elements that a loop, one run of it,
/// takes. `known` bounds the variables around it.
double estimateWork(sched::ForOp loop, const Intervals &known);
/// The same for a reduction.
double estimateWork(trl::ReduceOverOp reduce, const Intervals &known);

} // namespace timerl

#endif // TIMERL_VECTORIZE_WORK_H
