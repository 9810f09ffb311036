//===- DependencyFile.h - What make needs to know ---------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_DRIVER_DEPENDENCYFILE_H
#define TIMERL_LIB_DRIVER_DEPENDENCYFILE_H

#include "timerl/Frontend/Source.h"

namespace timerl {

/// A rule in make's notation: `target` depends on every file that was read. The
/// standard library is part of the compiler and left out.
std::string dependencyRule(llvm::StringRef target,
                           const SourceManager &sources);

} // namespace timerl

#endif // TIMERL_LIB_DRIVER_DEPENDENCYFILE_H
