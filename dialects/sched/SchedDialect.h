//===- SchedDialect.h - The sched dialect -----------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCHED_SCHEDDIALECT_H
#define SCHED_SCHEDDIALECT_H

#include "trl/TrlDialect.h"

namespace timerl::sched {
class ProgramOp;
}

#include "sched/SchedDialect.h.inc"

#define GET_OP_CLASSES
#include "sched/SchedOps.h.inc"

#endif // SCHED_SCHEDDIALECT_H
