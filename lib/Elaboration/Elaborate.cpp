//===- Elaborate.cpp - Syntax tree to the trl dialect ---------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scopes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/Casting.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::elaboration;

Elaborator::Elaborator(MLIRContext &context, const LoadedProgram &program,
                       const SourceManager &sources,
                       const ElaborationOptions &options,
                       DiagnosticEngine &diagnostics)
    : mlirContext(context), program(program), sources(sources),
      options(options), diagnostics(diagnostics), builder(&context) {}

/// Deeper call paths are cut in the middle of the notes.
static constexpr unsigned maxPathNotes = 4;

timerl::Diagnostic &Elaborator::error(StringRef code, SourceSpan span,
                                      std::string message) {
  if (scratchDepth) {
    ignored = Diagnostic();
    return ignored;
  }
  timerl::Diagnostic &diagnostic =
      diagnostics.error(code, span, std::move(message));
  unsigned shown = 0;
  for (auto it = frames.rbegin(); it != frames.rend() && shown < maxPathNotes;
       ++it)
    if (it->function) {
      diagnostic.note(it->call, "in `" + it->name + "`, called here");
      ++shown;
    }
  return diagnostic;
}

Location Elaborator::location(SourceSpan span) {
  if (!span.isValid() || scratchDepth)
    return builder.getUnknownLoc();
  LineColumn begin = sources.lineColumn(span.file, span.begin);
  LineColumn end = sources.lineColumn(span.file, span.end);
  Location place =
      FileLineColRange::get(builder.getStringAttr(sources.file(span.file).path),
                            begin.line, begin.column, end.line, end.column);
  for (auto it = frames.rbegin(); it != frames.rend(); ++it) {
    if (!it->function)
      continue;
    LineColumn call = sources.lineColumn(it->call.file, it->call.begin);
    LineColumn callEnd = sources.lineColumn(it->call.file, it->call.end);
    place = CallSiteLoc::get(
        place, FileLineColRange::get(
                   builder.getStringAttr(sources.file(it->call.file).path),
                   call.line, call.column, callEnd.line, callEnd.column));
  }
  return place;
}

OwningOpRef<ModuleOp> Elaborator::run() {
  SourceSpan start{program.main().file, 0, 0};
  output = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(output->getBody());
  ModuleScope &scope = *declareModule(program.main(), "");
  declareTensors(scope);

  std::vector<std::string> params;
  for (const ast::StatementPtr &statement : program.main().statements)
    if (const auto *param =
            llvm::dyn_cast<ast::ParamStatement>(statement.get()))
      params.push_back(param->name);
  for (const auto &[name, text] : options.defines)
    if (!usedDefines.count(name)) {
      timerl::Diagnostic &diagnostic =
          error("E0611", SourceSpan(),
                "`-D " + name + "`: the program has no param `" + name + "`");
      StringRef nearest = nearestName(name, params);
      if (!nearest.empty())
        diagnostic.suggest("did you mean `" + nearest.str() + "`?");
    }

  for (DimInfo *dim : allDims) {
    builder.setInsertionPointToEnd(output->getBody());
    auto until = dim->stop
                     ? FlatSymbolRefAttr::get(&mlirContext, dim->stop->symbol)
                     : FlatSymbolRefAttr();
    declarationsEnd = trl::DimOp::create(
        builder, location(dim->span), dim->name,
        trl::ExprAttr::get(&mlirContext, dim->extent), until, dim->isSeed,
        /*counted=*/FlatSymbolRefAttr());
  }
  for (auto &[name, tensor] : scope.tensors)
    writeTensor(*tensor);
  for (TensorInfo *tensor : untilTensors)
    writeTensor(*tensor);
  for (EquationInfo *equation : programEquations)
    writeEquation(*equation);
  std::set<std::string> reports;
  bool anyOutput = false;
  for (const ast::StatementPtr &statement : program.main().statements) {
    if (const auto *report =
            llvm::dyn_cast<ast::ReportStatement>(statement.get())) {
      anyOutput = true;
      if (!reports.insert(report->target.name).second)
        error("E0220", report->target.nameSpan,
              "`" + report->target.name + "` is reported twice");
      else
        writeReport(scope, *report);
    } else if (const auto *save =
                   llvm::dyn_cast<ast::SaveStatement>(statement.get())) {
      anyOutput = true;
      writeSave(scope, *save);
    }
  }
  if (!anyOutput && !diagnostics.hasErrors())
    error("E0614", start,
          "the program has no `report` and no `save`: nothing it computes is "
          "needed")
        .suggest("report a metric: `report m[i] = ...`");
  // A type that an error kept from being told needs no error of its own; and
  // one type, once told, tells those that depend on it.
  for (const TensorInfo &tensor : tensorStorage)
    if (tensor.state == TensorInfo::State::Failed && !diagnostics.hasErrors())
      error("E0213", tensor.span,
            "the type of `" + tensor.name +
                "` cannot be told: each of its equations depends on itself")
          .suggest("say it: `" + tensor.name + "[...] : f32 = ...`");
  if (diagnostics.hasErrors())
    return nullptr;
  // A verifier error here is the compiler's own mistake, not the program's.
  if (failed(verify(*output))) {
    error("E0001", start, "internal error: elaboration made an invalid module");
    return nullptr;
  }
  // Inlining leaves the same read many times over, and values nobody asks for.
  PassManager passes(&mlirContext);
  passes.addPass(createCSEPass());
  if (failed(passes.run(*output)))
    return nullptr;
  return std::move(output);
}

OwningOpRef<ModuleOp> timerl::elaborate(MLIRContext &context,
                                        const LoadedProgram &program,
                                        const SourceManager &sources,
                                        const ElaborationOptions &options,
                                        DiagnosticEngine &diagnostics) {
  context.loadDialect<trl::TrlDialect>();
  return Elaborator(context, program, sources, options, diagnostics).run();
}
