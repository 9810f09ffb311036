//===- Driver.h - The command line of timerlc -------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_DRIVER_DRIVER_H
#define TIMERL_DRIVER_DRIVER_H

namespace timerl {

/// Exit codes of `timerlc`.
enum ExitCode : int {
  exitSuccess = 0,
  exitProgramError = 1, ///< the program, or a file, is at fault
  exitUsage = 2,        ///< the command line is
  exitInternal = 70,    ///< the compiler is
};

/// Runs `timerlc` on a command line and returns its exit code.
int runDriver(int argc, const char *const *argv);

} // namespace timerl

#endif // TIMERL_DRIVER_DRIVER_H
