//===- MlirDiagnostics.cpp - What passes report ---------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MlirDiagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"

using namespace timerl;

SourceSpan timerl::spanOf(mlir::Location loc, const SourceManager &sources,
                          llvm::SmallVectorImpl<SourceSpan> &calls) {
  if (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(loc)) {
    SourceSpan span = spanOf(call.getCallee(), sources, calls);
    calls.push_back(spanOf(call.getCaller(), sources, calls));
    return span;
  }
  if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(loc)) {
    for (mlir::Location part : fused.getLocations()) {
      SourceSpan span = spanOf(part, sources, calls);
      if (span.isValid())
        return span;
    }
    return SourceSpan();
  }
  if (auto named = mlir::dyn_cast<mlir::NameLoc>(loc))
    return spanOf(named.getChildLoc(), sources, calls);
  auto range = mlir::dyn_cast<mlir::FileLineColRange>(loc);
  uint32_t file = range ? sources.find(range.getFilename()) : UINT32_MAX;
  if (file == UINT32_MAX)
    return SourceSpan();
  return {file,
          sources.offset(file, {range.getStartLine(), range.getStartColumn()}),
          sources.offset(file, {range.getEndLine(), range.getEndColumn()})};
}

DiagnosticBridge::DiagnosticBridge(mlir::MLIRContext &context,
                                   const SourceManager &sources,
                                   DiagnosticEngine &diagnostics)
    : sources(sources), diagnostics(diagnostics),
      handler(&context, [this](mlir::Diagnostic &diagnostic) {
        report(diagnostic);
        return mlir::success();
      }) {
  // The source line says more to a user than the operation's text.
  context.printOpOnDiagnostic(false);
}

/// Takes `E0701` off `E0701: text`; empty when the text has no code.
static std::string takeCode(llvm::StringRef &text) {
  auto [code, rest] = text.split(": ");
  if (code.size() != 5 || code.front() != 'E' ||
      !llvm::all_of(code.drop_front(), llvm::isDigit))
    return "";
  text = rest;
  return code.str();
}

void DiagnosticBridge::report(mlir::Diagnostic &reported) {
  std::string whole = reported.str();
  llvm::StringRef text = whole;
  Diagnostic diagnostic;
  llvm::SmallVector<SourceSpan> calls;
  diagnostic.span = spanOf(reported.getLocation(), sources, calls);
  switch (reported.getSeverity()) {
  case mlir::DiagnosticSeverity::Error:
    diagnostic.code = takeCode(text);
    if (diagnostic.code.empty()) {
      diagnostic.code = "E0001";
      diagnostic.help = "this is a defect of the compiler; please report it "
                        "with the program";
    }
    break;
  case mlir::DiagnosticSeverity::Warning:
    diagnostic.severity = Severity::Warning;
    diagnostic.code = takeCode(text);
    break;
  case mlir::DiagnosticSeverity::Remark:
  case mlir::DiagnosticSeverity::Note:
    diagnostic.severity = Severity::Remark;
    break;
  }
  diagnostic.message = text.str();
  for (mlir::Diagnostic &note : reported.getNotes()) {
    std::string noteText = note.str();
    llvm::StringRef help = noteText;
    llvm::SmallVector<SourceSpan> noteCalls;
    SourceSpan span = spanOf(note.getLocation(), sources, noteCalls);
    if (help.consume_front("help: "))
      diagnostic.help = help.str();
    else
      diagnostic.note(span, noteText);
  }
  for (SourceSpan call : calls)
    diagnostic.note(call, "called here");
  diagnostics.add(std::move(diagnostic));
}
