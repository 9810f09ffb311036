//===- Source.cpp - Source files and spans ------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Frontend/Source.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace timerl;

/// UTF-8 continuation bytes start no code point.
static bool startsCodePoint(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

uint32_t SourceManager::add(std::string path, std::string text) {
  if (llvm::StringRef(text).starts_with("\xEF\xBB\xBF"))
    text.erase(0, 3); // The byte order mark is no part of the text.
  SourceFile file;
  file.path = std::move(path);
  file.text = std::move(text);
  file.lineStarts.push_back(0);
  for (uint32_t i = 0, e = file.text.size(); i != e; ++i) {
    char c = file.text[i];
    // LF, CRLF, and a CR on its own, all end a line.
    if (c == '\n' || (c == '\r' && (i + 1 == e || file.text[i + 1] != '\n')))
      file.lineStarts.push_back(i + 1);
  }
  files.push_back(std::move(file));
  return files.size() - 1;
}

LineColumn SourceManager::lineColumn(uint32_t id, uint32_t offset) const {
  const SourceFile &file = files[id];
  offset = std::min<uint32_t>(offset, file.text.size());
  auto next = llvm::upper_bound(file.lineStarts, offset);
  uint32_t start = *std::prev(next);
  LineColumn place;
  place.line = next - file.lineStarts.begin();
  place.column = 1 + std::count_if(file.text.begin() + start,
                                   file.text.begin() + offset, startsCodePoint);
  return place;
}

llvm::StringRef SourceManager::lineText(uint32_t id, unsigned line) const {
  const SourceFile &file = files[id];
  if (line == 0 || line > file.lineStarts.size())
    return {};
  uint32_t begin = file.lineStarts[line - 1];
  uint32_t end =
      line < file.lineStarts.size() ? file.lineStarts[line] : file.text.size();
  return llvm::StringRef(file.text).slice(begin, end).rtrim("\r\n");
}

llvm::StringRef SourceManager::text(SourceSpan span) const {
  if (!span.isValid())
    return {};
  return llvm::StringRef(files[span.file].text).slice(span.begin, span.end);
}

uint32_t SourceManager::offset(uint32_t id, LineColumn place) const {
  const SourceFile &file = files[id];
  if (place.line == 0 || place.line > file.lineStarts.size())
    return file.text.size();
  uint32_t at = file.lineStarts[place.line - 1];
  for (unsigned column = 1; at < file.text.size(); ++at)
    if (startsCodePoint(file.text[at]) && column++ == place.column)
      break;
  return at;
}

uint32_t SourceManager::find(llvm::StringRef path) const {
  for (uint32_t id = 0; id != files.size(); ++id)
    if (files[id].path == path)
      return id;
  return UINT32_MAX;
}
