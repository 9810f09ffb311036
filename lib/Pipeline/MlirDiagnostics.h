//===- MlirDiagnostics.h - What passes report -------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes report through MLIR, as `op.emitError("E0701: ...")`; here that
// becomes a diagnostic at the place in the source that the operation comes
// from.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_PIPELINE_MLIRDIAGNOSTICS_H
#define TIMERL_LIB_PIPELINE_MLIRDIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "timerl/Frontend/Diagnostics.h"

namespace timerl {

/// The place in the source that a location stands for, invalid when there is
/// none; the calls around it, innermost first, go to `calls`.
SourceSpan spanOf(mlir::Location loc, const SourceManager &sources,
                  llvm::SmallVectorImpl<SourceSpan> &calls);

/// While it lives, what is reported in the context goes to the engine. The code
/// is what stands before the first colon; an error that has none is a defect of
/// the compiler (E0001). Notes and call paths are kept.
class DiagnosticBridge {
public:
  DiagnosticBridge(mlir::MLIRContext &context, const SourceManager &sources,
                   DiagnosticEngine &diagnostics);

private:
  void report(mlir::Diagnostic &diagnostic);

  const SourceManager &sources;
  DiagnosticEngine &diagnostics;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace timerl

#endif // TIMERL_LIB_PIPELINE_MLIRDIAGNOSTICS_H
