//===- Elaborate.h - Syntax tree to the trl dialect -------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks up names, checks types and shapes, inlines and specialises functions,
// and writes the program as a module of the `trl` dialect. What elaboration
// does not decide is whether every point that is read is defined: that is the
// proof of definition, which works on its result.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_ELABORATION_ELABORATE_H
#define TIMERL_ELABORATION_ELABORATE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "timerl/Frontend/ModuleLoader.h"
#include <string>
#include <utility>

namespace timerl {

struct ElaborationOptions {
  /// `-D name=value`, in order; the values are text in the language's notation.
  std::vector<std::pair<std::string, std::string>> defines;
};

/// Elaborates a program. Reports every mistake it finds; the module is null
/// when there was an error.
mlir::OwningOpRef<mlir::ModuleOp> elaborate(mlir::MLIRContext &context,
                                            const LoadedProgram &program,
                                            const SourceManager &sources,
                                            const ElaborationOptions &options,
                                            DiagnosticEngine &diagnostics);

} // namespace timerl

#endif // TIMERL_ELABORATION_ELABORATE_H
