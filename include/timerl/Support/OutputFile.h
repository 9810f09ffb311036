//===- OutputFile.h - Files written whole or not at all ---------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_SUPPORT_OUTPUTFILE_H
#define TIMERL_SUPPORT_OUTPUTFILE_H

#include "llvm/Support/Error.h"

namespace timerl {

/// Writes `text` to `path` through a temporary file in the same folder, so that
/// a failure leaves what was there before. `-` is standard output; what is no
/// plain file (a device, a pipe) is written to directly.
llvm::Error writeWhole(llvm::StringRef path, llvm::StringRef text,
                       bool executable = false);

} // namespace timerl

#endif // TIMERL_SUPPORT_OUTPUTFILE_H
