//===- Source.h - Source files and spans ------------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_FRONTEND_SOURCE_H
#define TIMERL_FRONTEND_SOURCE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace timerl {

/// A half-open byte range of one file; `file` indexes `SourceManager::files`.
struct SourceSpan {
  uint32_t file = UINT32_MAX;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool isValid() const { return file != UINT32_MAX; }
  /// From the begin of this one to the end of `last`.
  SourceSpan to(SourceSpan last) const { return {file, begin, last.end}; }
};

/// One-based line and column; columns count Unicode code points.
struct LineColumn {
  unsigned line = 0;
  unsigned column = 0;
};

struct SourceFile {
  std::string path; ///< as shown to the user
  std::string text; ///< valid UTF-8
  std::vector<uint32_t> lineStarts;
};

/// Owns every file of one compilation: the program, its imports, the library.
class SourceManager {
public:
  /// Adds a file whose text is already in memory.
  uint32_t add(std::string path, std::string text);
  const SourceFile &file(uint32_t id) const { return files[id]; }
  uint32_t size() const { return files.size(); }
  LineColumn lineColumn(uint32_t file, uint32_t offset) const;
  /// The text of a one-based line, without its newline.
  llvm::StringRef lineText(uint32_t file, unsigned line) const;
  llvm::StringRef text(SourceSpan span) const;
  /// The offset of a one-based line and (code point) column; for locations
  /// that come back from MLIR.
  uint32_t offset(uint32_t file, LineColumn place) const;
  /// The file with this shown path, or UINT32_MAX.
  uint32_t find(llvm::StringRef path) const;

private:
  std::deque<SourceFile> files; // Stable addresses: text is referred to.
};

} // namespace timerl

#endif // TIMERL_FRONTEND_SOURCE_H
