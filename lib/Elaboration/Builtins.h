//===- Builtins.h - Names known to the compiler -----------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_ELABORATION_BUILTINS_H
#define TIMERL_LIB_ELABORATION_BUILTINS_H

#include <string>
#include <vector>

namespace timerl::elaboration {

/// Names of all builtin functions, in the order of their table.
std::vector<std::string> builtinNames();

} // namespace timerl::elaboration

#endif // TIMERL_LIB_ELABORATION_BUILTINS_H
