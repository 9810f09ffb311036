//===- CrashReport.h - When the compiler itself is at fault -----*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_DRIVER_CRASHREPORT_H
#define TIMERL_LIB_DRIVER_CRASHREPORT_H

#include "timerl/Frontend/Source.h"

namespace timerl {

/// From now on a crash says whose fault it is, writes a report with the command
/// line and every source read so far to the temporary folder, and exits
/// with 70. Both arguments must outlive the process's work.
void installCrashHandler(int argc, const char *const *argv,
                         const SourceManager &sources);

/// Writes the same report for an error that was caught, and says where it is.
void reportInternalError();

} // namespace timerl

#endif // TIMERL_LIB_DRIVER_CRASHREPORT_H
