//===- DiagnosticText.cpp - Rendering diagnostics as text and JSON ------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Frontend/Diagnostics.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace timerl;

//===----------------------------------------------------------------------===//
// The excerpt: a source line and its underline
//===----------------------------------------------------------------------===//

namespace {
/// One code point of the shown line: what is printed, in how many terminal
/// columns, and which bytes of the line it stands for.
struct Cell {
  std::string text;
  unsigned width;
  size_t begin, end;
};
} // namespace

/// Splits a line into cells. Tabs become spaces, so that the underline needs no
/// knowledge of the terminal; bytes that are no UTF-8 and control characters
/// become U+FFFD, so that a source file can't drive the terminal.
static std::vector<Cell> splitCells(llvm::StringRef line) {
  constexpr unsigned tabStop = 8;
  constexpr llvm::StringLiteral replacement = "\xEF\xBF\xBD";
  std::vector<Cell> cells;
  unsigned column = 0;
  for (size_t i = 0; i < line.size();) {
    Cell cell{"", 1, i, i + 1};
    unsigned char c = line[i];
    if (c == '\t') {
      cell.width = tabStop - column % tabStop;
      cell.text.assign(cell.width, ' ');
    } else if (c >= 0x20 && c < 0x7F) {
      cell.text = line[i];
    } else {
      unsigned length = c < 0x80 ? 1 : llvm::getNumBytesForUTF8(c);
      auto *bytes = reinterpret_cast<const llvm::UTF8 *>(line.data()) + i;
      bool legal = c >= 0x80 && i + length <= line.size() &&
                   llvm::isLegalUTF8Sequence(bytes, bytes + length);
      int width =
          legal ? llvm::sys::unicode::columnWidthUTF8(line.substr(i, length))
                : -1;
      if (legal)
        cell.end = i + length;
      if (width < 0) {
        cell.text = replacement;
      } else {
        cell.text = line.substr(i, length).str();
        cell.width = width;
      }
    }
    column += cell.width;
    i = cell.end;
    cells.push_back(std::move(cell));
  }
  return cells;
}

static void printExcerpt(llvm::raw_ostream &os, const SourceManager &sources,
                         SourceSpan span, bool color) {
  constexpr unsigned maxColumns = 120;
  LineColumn place = sources.lineColumn(span.file, span.begin);
  llvm::StringRef line = sources.lineText(span.file, place.line);
  size_t lineBegin = sources.file(span.file).lineStarts[place.line - 1];
  size_t begin = span.begin - lineBegin, end = span.end - lineBegin;
  // A line of a megabyte is cut before anything walks over it.
  constexpr size_t maxBytes = 4 * maxColumns;
  bool cutLeft = begin > maxBytes;
  if (cutLeft) {
    size_t drop = begin - maxColumns / 2;
    while (drop < begin && (line[drop] & 0xC0) == 0x80)
      ++drop;
    line = line.drop_front(drop);
    begin -= drop;
    end -= drop;
  }
  bool cutRight = line.size() > 2 * maxBytes;
  if (cutRight)
    line = line.take_front(2 * maxBytes);
  std::vector<Cell> cells = splitCells(line);

  // Choose the cells to show so that the start of the span is among them.
  size_t first = 0, caret = 0;
  while (caret < cells.size() && cells[caret].begin < begin)
    ++caret;
  if (caret > maxColumns * 3 / 4) {
    first = caret - maxColumns / 2;
    cutLeft = true;
  }
  size_t last = first;
  for (unsigned width = 0; last < cells.size(); ++last) {
    width += cells[last].width;
    if (width > maxColumns) {
      cutRight = true;
      break;
    }
  }

  std::string text = cutLeft ? "..." : "";
  std::string underline = cutLeft ? "   " : "";
  for (size_t i = first; i != last; ++i) {
    text += cells[i].text;
    if (i < caret)
      underline.append(cells[i].width, ' ');
    else if (i == caret)
      underline.append("^").append(std::max(1u, cells[i].width) - 1, '~');
    else if (cells[i].begin < end)
      underline.append(cells[i].width, '~');
  }
  if (caret >= last)
    underline += '^'; // The end of the line, or of the file.
  if (cutRight)
    text += "...";
  os << llvm::format("%5u | ", place.line) << llvm::StringRef(text).rtrim(' ')
     << "\n      | ";
  if (color)
    os.changeColor(llvm::raw_ostream::GREEN, /*Bold=*/true);
  os << underline;
  if (color)
    os.resetColor();
  os << '\n';
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static llvm::StringRef severityName(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Remark:
    return "remark";
  }
  return "error";
}

/// `path:line:col: ` where there is a place; messages about the whole
/// compilation start with the program's name, as compilers do.
static void printPlace(llvm::raw_ostream &os, const SourceManager &sources,
                       SourceSpan span) {
  if (!span.isValid()) {
    os << "timerlc: ";
    return;
  }
  LineColumn place = sources.lineColumn(span.file, span.begin);
  os << sources.file(span.file).path << ':' << place.line << ':' << place.column
     << ": ";
}

/// The label of one message, in its colour.
static void printLabel(llvm::raw_ostream &os, llvm::StringRef label,
                       llvm::raw_ostream::Colors shade, bool color) {
  if (color)
    os.changeColor(shade, /*Bold=*/true);
  os << label << ":";
  if (color)
    os.resetColor();
  os << ' ';
}

static void printOne(llvm::raw_ostream &os, const SourceManager &sources,
                     const Diagnostic &diagnostic, bool color) {
  printPlace(os, sources, diagnostic.span);
  std::string label = severityName(diagnostic.severity).str();
  if (!diagnostic.code.empty())
    label += "[" + diagnostic.code + "]";
  auto shade = diagnostic.severity == Severity::Error
                   ? llvm::raw_ostream::RED
                   : (diagnostic.severity == Severity::Warning
                          ? llvm::raw_ostream::MAGENTA
                          : llvm::raw_ostream::BLUE);
  printLabel(os, label, shade, color);
  os << diagnostic.message << '\n';
  if (diagnostic.span.isValid())
    printExcerpt(os, sources, diagnostic.span, color);
  if (!diagnostic.help.empty()) {
    os << "      = ";
    printLabel(os, "help", llvm::raw_ostream::CYAN, color);
    os << diagnostic.help << '\n';
  }
  for (const DiagnosticNote &note : diagnostic.notes) {
    if (note.span.isValid())
      printPlace(os, sources, note.span);
    else
      os << "      = ";
    printLabel(os, "note", llvm::raw_ostream::CYAN, color);
    os << note.message << '\n';
    if (note.span.isValid())
      printExcerpt(os, sources, note.span, color);
  }
}

void DiagnosticEngine::printText(llvm::raw_ostream &os, bool color,
                                 unsigned limit) const {
  bool hadColors = os.colors_enabled();
  os.enable_colors(color);
  unsigned errors = 0;
  for (const Diagnostic &diagnostic : list) {
    if (diagnostic.severity == Severity::Error && ++errors > limit)
      continue;
    printOne(os, sources, diagnostic, color);
  }
  if (errors > limit)
    os << "timerlc: " << errors - limit << " more error"
       << (errors - limit == 1 ? "" : "s") << " not shown\n";
  os.enable_colors(hadColors);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writePlace(llvm::json::OStream &json, const SourceManager &sources,
                       SourceSpan span) {
  if (!span.isValid())
    return;
  LineColumn begin = sources.lineColumn(span.file, span.begin);
  LineColumn end = sources.lineColumn(span.file, span.end);
  json.attribute("file", llvm::json::fixUTF8(sources.file(span.file).path));
  json.attribute("line", begin.line);
  json.attribute("column", begin.column);
  json.attribute("endLine", end.line);
  json.attribute("endColumn", end.column);
}

void DiagnosticEngine::printJson(llvm::raw_ostream &os) const {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attributeArray("diagnostics", [&] {
      for (const Diagnostic &diagnostic : list)
        json.object([&] {
          json.attribute("severity", severityName(diagnostic.severity));
          if (!diagnostic.code.empty())
            json.attribute("code", diagnostic.code);
          json.attribute("message", llvm::json::fixUTF8(diagnostic.message));
          writePlace(json, sources, diagnostic.span);
          if (!diagnostic.help.empty())
            json.attribute("help", llvm::json::fixUTF8(diagnostic.help));
          json.attributeArray("notes", [&] {
            for (const DiagnosticNote &note : diagnostic.notes)
              json.object([&] {
                json.attribute("message", llvm::json::fixUTF8(note.message));
                writePlace(json, sources, note.span);
              });
          });
        });
    });
  });
  os << '\n';
}
