//===- Pipeline.cpp - The stages in order ---------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Pipeline/Pipeline.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "timerl/Autodiff/Passes.h"
#include "timerl/Elaboration/Elaborate.h"
#include "timerl/Frontend/ModuleLoader.h"
#include "timerl/Interpreter/Interpreter.h"
#include "timerl/Poly/Definitions.h"
#include "llvm/Support/raw_ostream.h"

using namespace timerl;

std::vector<std::string> timerl::stageNames() {
  return {"ast", "trl", "trl-grad"};
}

/// The innermost place in the source, and the calls around it as notes.
static SourceSpan spanOf(mlir::Location loc, const SourceManager &sources,
                         llvm::SmallVectorImpl<SourceSpan> &calls) {
  if (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(loc)) {
    SourceSpan span = spanOf(call.getCallee(), sources, calls);
    calls.push_back(spanOf(call.getCaller(), sources, calls));
    return span;
  }
  auto range = mlir::dyn_cast<mlir::FileLineColRange>(loc);
  uint32_t file = range ? sources.find(range.getFilename()) : UINT32_MAX;
  if (file == UINT32_MAX)
    return SourceSpan();
  return {file,
          sources.offset(file, {range.getStartLine(), range.getStartColumn()}),
          sources.offset(file, {range.getEndLine(), range.getEndColumn()})};
}

/// Runs passes; what they emit becomes diagnostics of the program. Their errors
/// begin with a code, `E0703: ...`; a note may be a `help: ...`.
static bool runPasses(mlir::ModuleOp module,
                      llvm::function_ref<void(mlir::PassManager &)> add,
                      const SourceManager &sources,
                      DiagnosticEngine &diagnostics) {
  mlir::ScopedDiagnosticHandler handler(
      module.getContext(), [&](mlir::Diagnostic &given) {
        std::string message = given.str(), code;
        if (llvm::StringRef(message).size() > 6 && message[0] == 'E' &&
            message[5] == ':') {
          code = message.substr(0, 5);
          message = message.substr(7);
        }
        llvm::SmallVector<SourceSpan> calls;
        SourceSpan span = spanOf(given.getLocation(), sources, calls);
        Diagnostic diagnostic;
        diagnostic.code = code;
        diagnostic.message = message;
        diagnostic.span = span;
        if (given.getSeverity() == mlir::DiagnosticSeverity::Warning)
          diagnostic.severity = Severity::Warning;
        if (given.getSeverity() == mlir::DiagnosticSeverity::Remark)
          diagnostic.severity = Severity::Remark;
        for (SourceSpan call : calls)
          diagnostic.note(call, "called here");
        for (mlir::Diagnostic &note : given.getNotes()) {
          std::string text = note.str();
          if (llvm::StringRef help = text; help.consume_front("help: ")) {
            diagnostic.suggest(help.str());
            continue;
          }
          llvm::SmallVector<SourceSpan> ignored;
          SourceSpan place = spanOf(note.getLocation(), sources, ignored);
          diagnostic.note(place, std::move(text));
        }
        diagnostics.add(std::move(diagnostic));
        return mlir::success();
      });
  module.getContext()->printOpOnDiagnostic(false);
  mlir::PassManager passes(module.getContext());
  add(passes);
  if (mlir::succeeded(passes.run(module)))
    return true;
  if (!diagnostics.hasErrors())
    diagnostics.error("E0001", SourceSpan(),
                      "the compiler failed without saying why");
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
  auto prove = [](mlir::PassManager &passes) {
    passes.addPass(poly::createProveDefinitionsPass());
  };
  if (!module || !runPasses(*module, prove, sources, diagnostics))
    return text;
  if (invocation.emit == "trl")
    module->print(os);
  if (invocation.interpret)
    interpretModule(*module, invocation, sources, diagnostics, os);
  if (invocation.interpret || invocation.emit == "trl")
    return text;

  if (!runPasses(
          *module,
          [](mlir::PassManager &passes) {
            passes.addPass(autodiff::createTrlGradPass());
          },
          sources, diagnostics))
    return text;
  if (invocation.emit == "trl-grad")
    module->print(os);
  return text;
}
