//===- Pipeline.cpp - The stages in order ---------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Pipeline/Pipeline.h"
#include "MlirDiagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "timerl/Autodiff/Passes.h"
#include "timerl/Conversion/Passes.h"
#include "timerl/Elaboration/Elaborate.h"
#include "timerl/Frontend/ModuleLoader.h"
#include "timerl/Interpreter/Interpreter.h"
#include "timerl/Poly/Definitions.h"
#include "llvm/Support/raw_ostream.h"

using namespace timerl;

std::vector<std::string> timerl::stageNames() {
  return {"ast", "trl", "trl-grad", "pdg", "sched"};
}

/// Runs one pass; false after an error, which is reported.
static bool runPass(mlir::ModuleOp module, std::unique_ptr<mlir::Pass> pass,
                    const SourceManager &sources,
                    DiagnosticEngine &diagnostics) {
  DiagnosticBridge bridge(*module.getContext(), sources, diagnostics);
  std::string name = pass->getArgument().str();
  mlir::PassManager manager(module.getContext());
  manager.addPass(std::move(pass));
  if (mlir::succeeded(manager.run(module)))
    return true;
  if (!diagnostics.hasErrors())
    diagnostics.error("E0001", SourceSpan(),
                      "the pass `" + name + "` failed without saying why");
  return false;
}

static void interpretModule(mlir::ModuleOp module, const Invocation &invocation,
                            const SourceManager &sources,
                            DiagnosticEngine &diagnostics,
                            llvm::raw_ostream &os) {
  InterpreterCommand command;
  InterpreterOptions &options = command.options;
  options.seed = invocation.seed;
  options.doublePrecision = invocation.doublePrecision;
  for (auto &[name, value] : invocation.argValues)
    options.args[name] = value;
  for (auto &[name, file] : invocation.inputFiles)
    command.inputFiles[name] = file;
  command.recordPath = invocation.record;
  command.savePath = invocation.save;
  command.checkPath = invocation.check;
  if (!invocation.check.empty())
    options.check = invocation.forced ? InterpreterOptions::Check::Forced
                                      : InterpreterOptions::Check::Local;
  auto error = runInterpreter(module, command, os);
  if (!error)
    return;
  llvm::SmallVector<SourceSpan> calls;
  SourceSpan span = spanOf(error->loc, sources, calls);
  Diagnostic &diagnostic = diagnostics.error(error->code, span, error->message);
  for (SourceSpan call : calls)
    diagnostic.note(call, "called here");
}

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
  if (!module || !runPass(*module, poly::createProveDefinitionsPass(), sources,
                          diagnostics))
    return text;
  if (invocation.interpret) {
    interpretModule(*module, invocation, sources, diagnostics, os);
    return text;
  }
  if (invocation.emit == "trl") {
    module->print(os);
    return text;
  }

  if (!runPass(*module, autodiff::createTrlGradPass(), sources, diagnostics))
    return text;
  if (invocation.emit == "trl-grad") {
    module->print(os);
    return text;
  }

  if (!runPass(*module, createTrlToPdgPass(), sources, diagnostics))
    return text;
  if (invocation.emit == "pdg") {
    module->print(os);
    return text;
  }

  if (!runPass(*module, createPdgToSchedPass(), sources, diagnostics))
    return text;
  module->print(os); // `sched`, the last stage so far.
  return text;
}
