//===- ReadStage.h - The IR of a stage from a file --------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_PIPELINE_READSTAGE_H
#define TIMERL_LIB_PIPELINE_READSTAGE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "timerl/Frontend/Diagnostics.h"

namespace timerl {

/// Parses a file that `--emit` wrote of a stage from `trl` to `sched`. Null
/// after an error, which is reported.
mlir::OwningOpRef<mlir::ModuleOp> readStage(mlir::MLIRContext &context,
                                            const std::string &path,
                                            SourceManager &sources,
                                            DiagnosticEngine &diagnostics);

} // namespace timerl

#endif // TIMERL_LIB_PIPELINE_READSTAGE_H
