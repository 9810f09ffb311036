//===- SyntaxTest.cpp - Sources, diagnostics and the parser ---------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Frontend/Parser.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/raw_ostream.h"
#include <catch2/catch.hpp>

using namespace timerl;

TEST_CASE("columns count code points, whatever ends a line", "[Source]") {
  SourceManager sources;
  uint32_t file = sources.add("f.trl", "\xEF\xBB\xBF"
                                       "ab\r\n\xC3\xA9x\rlast");
  CHECK(sources.lineText(file, 1) == "ab");
  CHECK(sources.lineText(file, 2) == "\xC3\xA9x");
  CHECK(sources.lineText(file, 3) == "last");
  CHECK(sources.lineText(file, 4) == "");
  LineColumn place = sources.lineColumn(file, 6); // The `x`.
  CHECK(place.line == 2);
  CHECK(place.column == 2);
  for (uint32_t offset : {0u, 1u, 4u, 6u, 8u})
    CHECK(sources.offset(file, sources.lineColumn(file, offset)) == offset);
  CHECK(sources.lineColumn(file, 1000).line == 3);
}

TEST_CASE("a name is guessed when it is near enough", "[Diagnostics]") {
  std::vector<std::string> names = {"logits", "log_ratio", "t", "gamma"};
  CHECK(nearestName("logit", names) == "logits");
  CHECK(nearestName("Gamma", names) == "gamma");
  CHECK(nearestName("gmama", names) == "gamma");
  CHECK(nearestName("b", names) == "");
  CHECK(nearestName("advantage", names) == "");
}

TEST_CASE("one place and code is reported once", "[Diagnostics]") {
  SourceManager sources;
  uint32_t file = sources.add("f.trl", "x = 1\n");
  DiagnosticEngine diagnostics(sources);
  for (int i = 0; i < 2; ++i)
    diagnostics.error("E0201", {file, 0, 1}, "first").suggest("a");
  diagnostics.error("E0202", {file, 0, 1}, "second");
  CHECK(diagnostics.errorCount() == 2);
  std::string text;
  llvm::raw_string_ostream os(text);
  diagnostics.printText(os, /*color=*/false, /*limit=*/1);
  CHECK(text == "f.trl:1:1: error[E0201]: first\n"
                "    1 | x = 1\n"
                "      | ^\n"
                "      = help: a\n"
                "timerlc: 1 more error not shown\n");
}

TEST_CASE("a broken statement does not hide the next ones", "[Parser]") {
  SourceManager sources;
  uint32_t file = sources.add("f.trl", "let a = (1 +\n"
                                       "let b = 2\n"
                                       "fn f(x) = { let y = ; y }\n"
                                       "dim t : 3\n");
  DiagnosticEngine diagnostics(sources);
  ast::Module module = parseModule(sources, file, diagnostics);
  CHECK(diagnostics.errorCount() == 2);
  std::vector<std::string> names;
  for (const ast::StatementPtr &statement : module.statements) {
    if (auto *let = llvm::dyn_cast<ast::LetStatement>(statement.get()))
      names.push_back(let->name);
    if (auto *dim = llvm::dyn_cast<ast::DimStatement>(statement.get()))
      names.push_back(dim->name);
  }
  CHECK(names == std::vector<std::string>{"a", "b", "t"});
}

TEST_CASE("no tree is higher than the bound", "[Parser]") {
  SourceManager sources;
  std::string sum = "x = 1";
  for (unsigned i = 0; i < 2 * ast::maxExprHeight; ++i)
    sum += " + 1";
  uint32_t file = sources.add("f.trl", sum);
  DiagnosticEngine diagnostics(sources);
  ast::Module module = parseModule(sources, file, diagnostics);
  REQUIRE(diagnostics.errorCount() == 1);
  CHECK(diagnostics.diagnostics()[0].code == "E0114");
  auto *equation =
      llvm::cast<ast::EquationStatement>(module.statements[0].get());
  CHECK(equation->value->height <= ast::maxExprHeight);
}
