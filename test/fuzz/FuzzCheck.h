//===- FuzzCheck.h - What must hold for every input -------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_TEST_FUZZ_FUZZCHECK_H
#define TIMERL_TEST_FUZZ_FUZZCHECK_H

#include "timerl/Frontend/Parser.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

namespace timerl {

inline void require(bool holds) {
  if (!holds)
    std::abort();
}

/// Parses, prints and reports; returns the number of errors.
inline unsigned checkFrontEnd(std::string text) {
  SourceManager sources;
  uint32_t file = sources.add("input.trl", std::move(text));
  uint32_t size = sources.file(file).text.size();
  DiagnosticEngine diagnostics(sources);
  ast::Module module = parseModule(sources, file, diagnostics);

  std::string output;
  llvm::raw_string_ostream os(output);
  ast::print(module, os);
  diagnostics.printText(os, /*color=*/true);
  for (const Diagnostic &diagnostic : diagnostics.diagnostics()) {
    require(diagnostic.span.file == file);
    require(diagnostic.span.begin <= diagnostic.span.end);
    require(diagnostic.span.end <= size);
    require(!diagnostic.code.empty() && !diagnostic.message.empty());
    for (const DiagnosticNote &note : diagnostic.notes)
      require(note.span.begin <= note.span.end && note.span.end <= size);
  }
  output.clear();
  diagnostics.printJson(os);
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(output);
  require(static_cast<bool>(json));
  return diagnostics.errorCount();
}

} // namespace timerl

#endif // TIMERL_TEST_FUZZ_FUZZCHECK_H
