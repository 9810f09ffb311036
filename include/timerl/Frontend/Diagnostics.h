//===- Diagnostics.h - Errors a person can act on ---------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects the diagnostics of one compilation and renders them as text with the
// source line and a caret, or as JSON. Every error has a stable code, explained
// under docs/errors/ and by `timerlc --explain CODE`.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_FRONTEND_DIAGNOSTICS_H
#define TIMERL_FRONTEND_DIAGNOSTICS_H

#include "timerl/Frontend/Source.h"
#include "llvm/ADT/ArrayRef.h"
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace timerl {

enum class Severity { Error, Warning, Remark };

struct DiagnosticNote {
  SourceSpan span; ///< invalid: a note without a place
  std::string message;
};

struct Diagnostic {
  Severity severity = Severity::Error;
  std::string code; ///< `E0104`; empty for remarks
  std::string message;
  SourceSpan span; ///< invalid: about the whole compilation
  /// "did you mean `logits`?", "write `end(t)`": printed as `help: ...`.
  std::string help;
  std::vector<DiagnosticNote> notes;

  Diagnostic &note(SourceSpan span, std::string message) {
    notes.push_back({span, std::move(message)});
    return *this;
  }
  Diagnostic &suggest(std::string text) {
    help = std::move(text);
    return *this;
  }
};

class DiagnosticEngine {
public:
  explicit DiagnosticEngine(const SourceManager &sources) : sources(sources) {}

  /// The returned reference is valid until the next call. A second error with
  /// the same code and span is dropped (a scratch object is returned).
  Diagnostic &error(llvm::StringRef code, SourceSpan span, std::string message);
  Diagnostic &warning(llvm::StringRef code, SourceSpan span,
                      std::string message);
  Diagnostic &remark(SourceSpan span, std::string message);

  /// Adds a diagnostic that was put together elsewhere; as `error` and the
  /// others otherwise.
  Diagnostic &add(Diagnostic diagnostic);

  bool hasErrors() const { return numErrors != 0; }
  /// Whether an error with this code begins where a span does.
  bool hasErrorAt(llvm::StringRef code, SourceSpan span) const;
  unsigned errorCount() const { return numErrors; }
  llvm::ArrayRef<Diagnostic> diagnostics() const { return list; }

  /// Renders all, in order of report; at most `limit` errors, then a count.
  void printText(llvm::raw_ostream &os, bool color, unsigned limit = 20) const;
  void printJson(llvm::raw_ostream &os) const;

private:
  const SourceManager &sources;
  std::vector<Diagnostic> list;
  /// Code and span of each error so far.
  std::set<std::tuple<std::string, uint32_t, uint32_t, uint32_t>> seen;
  Diagnostic scratch;
  unsigned numErrors = 0;
};

/// The candidate nearest to `name` by edit distance, when near enough to be a
/// likely typing error; else empty. Ties go to the first.
llvm::StringRef nearestName(llvm::StringRef name,
                            llvm::ArrayRef<std::string> candidates);

} // namespace timerl

#endif // TIMERL_FRONTEND_DIAGNOSTICS_H
