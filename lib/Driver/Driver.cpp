//===- Driver.cpp - What timerlc does with its command line ---------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Driver/Driver.h"
#include "mlir/IR/MLIRContext.h"
#include "timerl/Driver/Invocation.h"
#include "timerl/Elaboration/Elaborate.h"
#include "timerl/Frontend/ModuleLoader.h"
#include "llvm/Support/raw_ostream.h"

using namespace timerl;

/// Prints what was reported and gives the exit code.
static int finish(const Invocation &invocation,
                  const DiagnosticEngine &diagnostics) {
  if (invocation.jsonErrors)
    diagnostics.printJson(llvm::errs());
  else
    diagnostics.printText(llvm::errs(), invocation.color);
  return diagnostics.hasErrors() ? exitProgramError : exitSuccess;
}

int timerl::runDriver(int argc, const char *const *argv) {
  int exitCode = exitSuccess;
  auto invocation = parseCommandLine(argc, argv, exitCode);
  if (!invocation)
    return exitCode;

  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  LoadedProgram program = loadProgram(invocation->input, LoadOptions{invocation->includePaths}, sources,
                  diagnostics);
  if (program.modules.empty())
    return finish(*invocation, diagnostics);

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module =
      elaborate(context, program, sources, {invocation->defines}, diagnostics);
  if (!module)
    return finish(*invocation, diagnostics);
  if (invocation->emit == "trl")
    module->print(llvm::outs());
  return finish(*invocation, diagnostics);
}
