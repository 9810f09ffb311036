//===- ScheduleJson.h - The schedule of a program as JSON -------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `NAME.schedule.json`: an object with
//
//   version         1
//   program         its name
//   arenas          [{space, bytes, alignment}]
//   buffers         [{tensor, type, window, origin, arena, offset, bytes,
//                     lifetime: [first, last]}], by offset
//   statements      [{index, name, kind}], in the order of the program
//   nest            loops, guards and statements as a tree:
//                   {for, lo, hi, reverse, parallel, until, body}, where the
//                   loop that is left early has an `until`, {if, body},
//                   {statement, dims}
//   peak_bytes      the size of the arena
//   lower_bound_bytes  the most that lives at any statement: no placement of
//                   these buffers can do with less
//
// Lifetimes count statements; sizes are in bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_SCHEDULE_SCHEDULEJSON_H
#define TIMERL_SCHEDULE_SCHEDULEJSON_H

#include "sched/SchedDialect.h"
#include "llvm/Support/raw_ostream.h"

namespace timerl::schedule {

/// Writes the schedule of a program, indented, with a line break at the end.
void writeScheduleJson(sched::ProgramOp program, llvm::raw_ostream &os);

} // namespace timerl::schedule

#endif // TIMERL_SCHEDULE_SCHEDULEJSON_H
