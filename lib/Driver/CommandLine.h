//===- CommandLine.h - The options of timerlc -------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_DRIVER_COMMANDLINE_H
#define TIMERL_LIB_DRIVER_COMMANDLINE_H

#include "timerl/Pipeline/Invocation.h"
#include <optional>

namespace timerl {

/// Parses a command line. None when it is answered already (`--help`, a usage
/// error): `exitCode` then holds the exit code.
std::optional<Invocation> parseCommandLine(int argc, const char *const *argv,
                                           int &exitCode);

} // namespace timerl

#endif // TIMERL_LIB_DRIVER_COMMANDLINE_H
