//===- ParseBrace.cpp - Records and blocks ------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Casting.h"

using namespace timerl;
using namespace timerl::ast;

ExprPtr Parser::parseBrace() {
  const Token &first = peek();
  bool isLabel = first.kind == Tok::Name || first.kind == Tok::String ||
                 first.kind == Tok::Int || isKeyword(first.kind);
  if (first.kind == Tok::RBrace || (isLabel && peek(2).kind == Tok::Colon))
    return parseRecord();
  return parseBlock();
}

ExprPtr Parser::parseRecord() {
  llvm::SaveAndRestore<bool> joinLines(newlineEnds, false);
  uint32_t opener = position;
  ++openBrackets;
  SourceSpan begin = advance().span;
  auto record = std::make_unique<RecordExpr>(begin);
  llvm::StringMap<SourceSpan> seen;
  while (!panicking && !at(Tok::RBrace)) {
    RecordExpr::Field field;
    field.nameSpan = current().span;
    if (at(Tok::Name) || isKeyword(current().kind)) {
      field.name = text(advance()).str();
    } else {
      Diagnostic &diagnostic = expected("the name of a field");
      if (at(Tok::String))
        diagnostic.suggest("fields are written without quotes");
      else if (at(Tok::Int))
        diagnostic.suggest("a tuple, `(a, b)`, has numbered parts");
    }
    auto [other, isNew] = seen.try_emplace(field.name, field.nameSpan);
    if (!isNew && !panicking)
      mention("E0123", field.nameSpan,
              "the field `" + field.name + "` is given twice")
          .note(other->second, "first given here");
    expect(Tok::Colon, " after the name of a field");
    field.value = parseExpr();
    record->height = std::max(record->height, field.value->height + 1);
    record->fields.push_back(std::move(field));
    if (!accept(Tok::Comma))
      break;
  }
  close(opener, Tok::RBrace);
  record->span = spanFrom(begin);
  return checkHeight(std::move(record));
}

/// The height of the tallest expression directly under a block's statement.
static unsigned statementHeight(const Statement &statement) {
  if (const auto *let = llvm::dyn_cast<LetStatement>(&statement))
    return heightOf(let->value);
  if (const auto *dim = llvm::dyn_cast<DimStatement>(&statement))
    return std::max(heightOf(dim->extent), heightOf(dim->until));
  const auto &equation = llvm::cast<EquationStatement>(statement);
  unsigned height = std::max(heightOf(equation.value), heightOf(equation.when));
  for (const LhsTensor &target : equation.targets)
    for (const LhsItem &item : target.items)
      height = std::max(
          {height, heightOf(item.index), heightOf(item.lo), heightOf(item.hi)});
  return height;
}

/// `a = e`, which is how other languages write a record's field.
static bool isBareEquation(const std::unique_ptr<Statement> &statement) {
  const auto *equation = llvm::dyn_cast<EquationStatement>(statement.get());
  return equation && !equation->targets.front().hasBrackets;
}

ExprPtr Parser::parseBlock() {
  llvm::SaveAndRestore<bool> separateLines(newlineEnds, true);
  llvm::SaveAndRestore<bool> signsStartLines(inBlock, true);
  llvm::SaveAndRestore<unsigned> ownBrackets(openBrackets, 0);
  llvm::SaveAndRestore<uint32_t> ownBegin(statementBegin, statementBegin);
  uint32_t opener = position;
  SourceSpan begin = advance().span;
  auto block = std::make_unique<BlockExpr>(begin);
  bool recovered = false;
  while (!block->value) {
    if (accept(Tok::Semicolon))
      continue;
    openBrackets = 0;
    uint32_t start = position;
    statementBegin = current().span.begin;
    StatementPtr statement;
    if (at(Tok::RBrace) || at(Tok::EndOfFile)) {
      if (recovered)
        block->value = errorExpr(current().span);
      else if (at(Tok::RBrace))
        error("E0116", current().span, "this block has no value")
            .suggest(!block->statements.empty() &&
                             llvm::all_of(block->statements, isBareEquation)
                         ? "a record's fields are written `name: value`"
                         : "end it with an expression, which is its value")
            .note(begin, "the block starts here");
      else
        close(opener, Tok::RBrace, "an expression, the block's value, or ");
    } else if (at(Tok::Let)) {
      statement = parseNamedValue<LetStatement>("a constant", false, true);
    } else if (at(Tok::Dim)) {
      statement = parseDim();
    } else if (atEquation()) {
      statement = parseEquation();
    } else if (startsStatement(current().kind)) {
      error("E0120", current().span,
            ("`" + text(current()) + "` can't stand in a block").str())
          .suggest(indentation(current()) <= topIndentation
                       ? "is a `}` missing before it?"
                       : "a block holds `let`, `dim`, equations and its value")
          .note(begin, "the block starts here");
    } else {
      block->value = parseExpr();
      while (accept(Tok::Semicolon))
        ;
      if (!panicking && !at(Tok::RBrace) && !at(Tok::EndOfFile) &&
          (ends() || previousSpan().end != current().span.begin) &&
          lexed.tokens[opener].partner != 0 &&
          (current().lineStart ||
           lexed.tokens[position - 1].kind == Tok::Semicolon))
        error("E0116", block->value->span,
              "a block's value must come last, but more follows this one")
            .suggest("name it with `let`, or take it out");
    }
    if (statement)
      expectStatementEnd();
    if (panicking) {
      if (!skipInBlock())
        return errorExpr(begin);
      recovered = true;
      block->value = nullptr;
      if (position == start && !at(Tok::RBrace))
        advance(); // What could not start a statement can't start the next.
      continue;
    }
    if (statement) {
      block->height = std::max(block->height, statementHeight(*statement) + 1);
      block->statements.push_back(std::move(statement));
    }
  }
  if (at(Tok::RBrace))
    ++openBrackets; // `close` takes it back.
  close(opener, Tok::RBrace, "an operator or ");
  block->span = spanFrom(begin);
  block->height = std::max(block->height, heightOf(block->value) + 1);
  return checkHeight(std::move(block));
}
