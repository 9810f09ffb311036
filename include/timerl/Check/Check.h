//===- Check.h - The schedule checked against itself ------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every compilation checks its own schedule. The checker knows nothing of how
// the schedule was made: it takes the accesses of a `sched.program` as they
// stand and shows, for all instances at once, that
//
//  * every value is written before it is read;
//  * between the two, nothing else is written into its slot, neither another
//    value of the same tensor nor one of a buffer that shares the storage.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_CHECK_CHECK_H
#define TIMERL_CHECK_CHECK_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace timerl::check {

/// `sched-check`: an error E0002 at the reading statement for each access that
/// does not find its value, with the point and the statement at fault.
std::unique_ptr<mlir::Pass> createCheckSchedulePass();
void registerPasses();

} // namespace timerl::check

#endif // TIMERL_CHECK_CHECK_H
