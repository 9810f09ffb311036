//===- Pipeline.cpp - The stages in order ---------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Pipeline/Pipeline.h"
#include "mlir/IR/MLIRContext.h"
#include "timerl/Elaboration/Elaborate.h"
#include "timerl/Frontend/ModuleLoader.h"
#include "llvm/Support/raw_ostream.h"

using namespace timerl;

std::vector<std::string> timerl::stageNames() { return {"ast", "trl"}; }

std::string timerl::runPipeline(const Invocation &invocation,
                                SourceManager &sources,
                                DiagnosticEngine &diagnostics) {
  std::string text;
  llvm::raw_string_ostream os(text);

  LoadedProgram program = loadProgram(
      invocation.input, {invocation.includePaths}, sources, diagnostics);
  if (diagnostics.hasErrors())
    return text;
  if (invocation.emit == "ast") {
    ast::print(program.main(), os);
    return text;
  }

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module =
      elaborate(context, program, sources, {invocation.defines}, diagnostics);
  if (!module)
    return text;
  if (invocation.emit == "trl")
    module->print(os);
  return text;
}
