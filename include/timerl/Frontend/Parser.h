//===- Parser.h - Text to syntax tree ---------------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_FRONTEND_PARSER_H
#define TIMERL_FRONTEND_PARSER_H

#include "timerl/Frontend/AST.h"
#include "timerl/Frontend/Diagnostics.h"

namespace timerl {

/// Parses one file of `sources`. Always returns a tree: after an error it
/// recovers at the next statement, so that several mistakes show in one run.
ast::Module parseModule(const SourceManager &sources, uint32_t file,
                        DiagnosticEngine &diagnostics);

} // namespace timerl

#endif // TIMERL_FRONTEND_PARSER_H
