//===- ReadStage.cpp - The IR of a stage from a file ----------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadStage.h"
#include "MlirDiagnostics.h"
#include "mlir/Parser/Parser.h"
#include "pdg/PdgDialect.h"
#include "sched/SchedDialect.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace timerl;

mlir::OwningOpRef<mlir::ModuleOp>
timerl::readStage(mlir::MLIRContext &context, const std::string &path,
                  SourceManager &sources, DiagnosticEngine &diagnostics) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file) {
    diagnostics.error("E0601", SourceSpan(),
                      "can't read `" + path +
                          "`: " + file.getError().message());
    return nullptr;
  }
  context.loadDialect<trl::TrlDialect, pdg::PdgDialect, sched::SchedDialect>();
  sources.add(path, (*file)->getBuffer().str());
  // What is wrong is the file's fault, whoever wrote it.
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &reported) {
        llvm::SmallVector<SourceSpan> calls;
        SourceSpan span = spanOf(reported.getLocation(), sources, calls);
        diagnostics.error("E0606", span, reported.str());
        return mlir::success();
      });
  return mlir::parseSourceString<mlir::ModuleOp>((*file)->getBuffer(), &context,
                                                 path);
}
