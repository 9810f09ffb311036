//===- Parser.cpp - Tokens, errors and recovery of the parser -------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Frontend/Parser.h"
#include "ParserImpl.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace timerl;

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

bool Parser::continuesLine() const {
  switch (current().kind) {
  case Tok::Plus:
  case Tok::Minus:
    // In a block, a line that starts with a sign close to its operand is the
    // next statement: `{ let l = f(x)` / `-sum(l) }`.
    return !inBlock || current().spaceAfter;
  case Tok::Assign:
  case Tok::Colon:
  case Tok::Comma:
  case Tok::Arrow:
  case Tok::Dot:
  case Tok::Then:
  case Tok::Else:
  case Tok::When:
  case Tok::Otherwise:
  case Tok::In:
    return true;
  default:
    return isBinaryOperator(current().kind);
  }
}

unsigned Parser::lineOf(uint32_t offset) const {
  const auto &starts = sources.file(file).lineStarts;
  return llvm::upper_bound(starts, offset) - starts.begin();
}

unsigned Parser::indentation(const Token &token) const {
  return token.span.begin -
         sources.file(file).lineStarts[lineOf(token.span.begin) - 1];
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

void Parser::reportLexicalErrors(uint32_t upTo) {
  auto &pending = lexed.diagnostics;
  for (; lexicalReported < pending.size() &&
         pending[lexicalReported].span.begin <= upTo;
       ++lexicalReported)
    diagnostics.add(pending[lexicalReported]);
}

Diagnostic &Parser::mention(llvm::StringRef code, SourceSpan span,
                            std::string message) {
  reportLexicalErrors(span.begin);
  // After a hundred errors the file is not what the author thinks it is.
  if (panicking || ++errors > 100)
    return scratch;
  return diagnostics.error(code, span, std::move(message));
}

Diagnostic &Parser::error(llvm::StringRef code, SourceSpan span,
                          std::string message) {
  uint32_t end = std::max(span.begin, current().span.end);
  bool lexicalCause =
      at(Tok::Invalid) ||
      llvm::any_of(lexed.diagnostics, [&](const Diagnostic &diagnostic) {
        return diagnostic.span.begin >= statementBegin &&
               diagnostic.span.begin < end;
      });
  if (panicking || lexicalCause) {
    panicking = true;
    return scratch;
  }
  Diagnostic &result = mention(code, span, std::move(message));
  panicking = true;
  return result;
}

/// +1 for an opening bracket, -1 for a closing one.
static int bracketStep(Tok kind) {
  switch (kind) {
  case Tok::LParen:
  case Tok::LBracket:
  case Tok::LBrace:
    return 1;
  case Tok::RParen:
  case Tok::RBracket:
  case Tok::RBrace:
    return -1;
  default:
    return 0;
  }
}

bool Parser::lineEnded() const {
  if (at(Tok::EndOfFile))
    return true;
  if (!current().lineStart)
    return false;
  // Inside brackets too, a line that starts as far left as the statement is
  // the next statement, unless it closes them.
  return newlineEnds || (indentation(current()) <= topIndentation &&
                         bracketStep(current().kind) >= 0);
}

void Parser::returnToEquation() {
  if (!at(Tok::Assign))
    return;
  uint32_t first = position;
  while (first > 0 && !lexed.tokens[first].lineStart)
    --first;
  const Token &token = lexed.tokens[first];
  if (token.kind == Tok::Name && token.span.begin > statementBegin &&
      indentation(token) <= topIndentation)
    position = first;
}

Diagnostic &Parser::expected(std::string what, llvm::StringRef code) {
  if (!panicking)
    returnToEquation();
  // What is missing is missed where the line ends, not on the next one.
  if (lineEnded()) {
    SourceSpan last = previousSpan();
    SourceSpan after = {file, last.end, last.end};
    return error(code, after,
                 "expected " + what + ", found the end of the " +
                     (at(Tok::EndOfFile) ? "file" : "line"));
  }
  std::string found = spelling(current().kind).str();
  if (at(Tok::Name) || at(Tok::Int) || at(Tok::Float)) {
    llvm::StringRef shown = text(current()).take_front(40);
    found = "`" + shown.str() +
            (shown.size() < text(current()).size() ? "...`" : "`");
  }
  return error(code, current().span, "expected " + what + ", found " + found);
}

bool Parser::expect(Tok kind, llvm::StringRef context) {
  if (panicking)
    return false;
  if (accept(kind))
    return true;
  expected((llvm::Twine(spelling(kind)) + context).str());
  return false;
}

void Parser::close(uint32_t opener, Tok closer, llvm::StringRef orElse) {
  if (panicking)
    return;
  if (accept(closer)) {
    --openBrackets;
    return;
  }
  const Token &open = lexed.tokens[opener];
  bool missing = open.partner == 0;
  missing |=
      lineEnded() && lineOf(open.span.begin) != lineOf(current().span.begin);
  expected((llvm::Twine(orElse) + spelling(closer)).str(),
           missing ? "E0109" : "E0108")
      .note(open.span, "to match this " + spelling(open.kind).str());
}

std::string Parser::expectName(llvm::StringRef what, SourceSpan &span) {
  span = current().span;
  if (panicking)
    return "";
  if (at(Tok::Name))
    return text(advance()).str();
  if (isKeyword(current().kind) && !lineEnded()) {
    error("E0111", span,
          (llvm::Twine("`") + text(current()) +
           "` is a reserved word and can't be " + what)
              .str())
        .suggest((llvm::Twine("choose another name, such as `") +
                  text(current()) + "_`")
                     .str());
    return "";
  }
  expected(what.str());
  return "";
}

void Parser::expectStatementEnd() {
  if (panicking || ends() || at(Tok::Semicolon) || (inBlock && at(Tok::RBrace)))
    return;
  const Token &token = current();
  switch (token.kind) {
  case Tok::Assign:
    returnToEquation();
    if (lineEnded())
      expected("an expression", "E0107");
    else
      expected("the end of the statement", "E0121")
          .suggest("to compare, write `==`");
    return;
  case Tok::RParen:
  case Tok::RBracket:
  case Tok::RBrace:
    error("E0110", token.span,
          "unmatched " + spelling(token.kind).str() +
              ": no bracket is open here");
    return;
  case Tok::If:
    expected("the end of the statement")
        .suggest("a choice is written `if CONDITION then A else B`");
    return;
  case Tok::Name:
    if (text(token) == "where" || text(token) == "unless") {
      expected("the end of the statement")
          .suggest("a guard is written `when CONDITION`");
      return;
    }
    [[fallthrough]];
  case Tok::Int:
  case Tok::Float:
  case Tok::LParen:
  case Tok::LBrace:
    expected("the end of the statement")
        .suggest("is an operator missing here? Statements go on lines of "
                 "their own");
    return;
  case Tok::Comma:
    expected("the end of the statement")
        .suggest("a tuple of values is written in parentheses: `(a, b)`");
    return;
  default:
    expected("the end of the statement");
  }
}

//===----------------------------------------------------------------------===//
// Recovery
//===----------------------------------------------------------------------===//

bool Parser::startsStatement(Tok kind) const {
  switch (kind) {
  case Tok::Param:
  case Tok::Let:
  case Tok::Assert:
  case Tok::Arg:
  case Tok::Dim:
  case Tok::Input:
  case Tok::Import:
  case Tok::Fn:
  case Tok::Extern:
  case Tok::Report:
  case Tok::Save:
    return true;
  default:
    return false;
  }
}

void Parser::skipToStatement(uint32_t start) {
  int open = openBrackets;
  for (bool first = position == start; !at(Tok::EndOfFile); first = false) {
    const Token &token = current();
    // A line that is indented no deeper than the broken statement starts the
    // next one even when a bracket is still open: it was never closed.
    if (!first && token.lineStart &&
        (open <= 0 || indentation(token) <= topIndentation) &&
        bracketStep(token.kind) >= 0 && !continuesLine())
      break;
    if (!first && token.kind == Tok::Semicolon && open <= 0)
      break;
    open += bracketStep(token.kind);
    advance();
  }
  panicking = false;
}

bool Parser::skipInBlock() {
  int open = openBrackets;
  for (; !at(Tok::EndOfFile); advance()) {
    const Token &token = current();
    int step = bracketStep(token.kind);
    if (token.lineStart && step >= 0 && !continuesLine()) {
      if (indentation(token) <= topIndentation)
        return false; // The block's own brace is missing.
      if (open <= 0)
        break;
    }
    if (open <= 0 && token.kind == Tok::Semicolon)
      break;
    if (open <= 0 && token.kind == Tok::RBrace)
      break;
    open += step;
  }
  if (at(Tok::EndOfFile))
    return false;
  panicking = false;
  return true;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

std::string Parser::commentText(size_t first, size_t last) const {
  std::string out;
  for (size_t i = first; i != last; ++i) {
    llvm::StringRef line = sources.text(lexed.comments[i].span).drop_front();
    line.consume_front(" ");
    if (i != first)
      out += '\n';
    out += line.rtrim();
  }
  return out;
}

/// The comment lines at the very top belong to the file.
std::string Parser::moduleComment() {
  size_t last = 0;
  const auto &comments = lexed.comments;
  if (comments.empty() ||
      comments.front().span.begin > lexed.tokens.front().span.begin)
    return "";
  do
    ++last;
  while (last < comments.size() &&
         comments[last].line == comments[last - 1].line + 1);
  return commentText(0, last);
}

std::string Parser::docCommentAbove(const Token &token) const {
  const auto &comments = lexed.comments;
  auto end = llvm::partition_point(comments, [&](const Comment &comment) {
    return comment.span.begin < token.span.begin;
  });
  size_t last = end - comments.begin(), first = last;
  unsigned line = lineOf(token.span.begin);
  while (first > 0 && comments[first - 1].line + 1 == line) {
    --first;
    --line;
  }
  // Comments at the very top are the file's.
  return first == 0 && last > 0 &&
                 comments.front().span.begin < lexed.tokens.front().span.begin
             ? ""
             : commentText(first, last);
}

ast::Module Parser::parse() {
  ast::Module module;
  module.file = file;
  module.docComment = moduleComment();
  while (!at(Tok::EndOfFile)) {
    if (accept(Tok::Semicolon))
      continue;
    uint32_t start = position;
    openBrackets = 0;
    statementBegin = current().span.begin;
    if (current().lineStart)
      topIndentation = indentation(current());
    ast::StatementPtr statement = parseStatement();
    expectStatementEnd();
    if (panicking)
      skipToStatement(start);
    if (statement)
      module.statements.push_back(std::move(statement));
  }
  reportLexicalErrors(UINT32_MAX);
  return module;
}

ast::Module timerl::parseModule(const SourceManager &sources, uint32_t file,
                                DiagnosticEngine &diagnostics) {
  return Parser(sources, file, diagnostics).parse();
}
