//===- Diagnostics.cpp - Collecting diagnostics -------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Frontend/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace timerl;

Diagnostic &DiagnosticEngine::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::Error) {
    if (!seen.insert({diagnostic.code, diagnostic.span.file,
                      diagnostic.span.begin, diagnostic.span.end})
             .second) {
      scratch = Diagnostic();
      return scratch;
    }
    ++numErrors;
  }
  list.push_back(std::move(diagnostic));
  return list.back();
}

Diagnostic &DiagnosticEngine::error(llvm::StringRef code, SourceSpan span,
                                    std::string message) {
  return add({Severity::Error, code.str(), std::move(message), span, "", {}});
}

bool DiagnosticEngine::hasErrorAt(llvm::StringRef code, SourceSpan span) const {
  for (const Diagnostic &known : list)
    if (known.code == code && known.span.file == span.file &&
        known.span.begin == span.begin)
      return true;
  return false;
}

Diagnostic &DiagnosticEngine::warning(llvm::StringRef code, SourceSpan span,
                                      std::string message) {
  return add({Severity::Warning, code.str(), std::move(message), span, "", {}});
}

Diagnostic &DiagnosticEngine::remark(SourceSpan span, std::string message) {
  return add({Severity::Remark, "", std::move(message), span, "", {}});
}

llvm::StringRef timerl::nearestName(llvm::StringRef name,
                                    llvm::ArrayRef<std::string> candidates) {
  llvm::StringRef best;
  // A third of the letters may differ; a name of one or two letters is
  // mistaken for another of its length too easily to guess.
  unsigned limit = name.size() <= 2 ? 0 : (name.size() + 1) / 3;
  unsigned bestDistance = limit + 1;
  for (llvm::StringRef candidate : candidates) {
    if (candidate == name)
      continue;
    unsigned distance =
        name.equals_insensitive(candidate)
            ? 0
            : name.edit_distance(candidate, /*AllowReplacements=*/true,
                                 bestDistance);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}
