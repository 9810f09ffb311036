//===- ErrorPages.h - The explanations of error codes -----------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pages of docs/errors, one a code, embedded in the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_FRONTEND_ERRORPAGES_H
#define TIMERL_FRONTEND_ERRORPAGES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace timerl {

struct ErrorPage {
  llvm::StringLiteral name; ///< `E0104.md`
  llvm::StringLiteral text;
};
llvm::ArrayRef<ErrorPage> errorPages();

} // namespace timerl

#endif // TIMERL_FRONTEND_ERRORPAGES_H
