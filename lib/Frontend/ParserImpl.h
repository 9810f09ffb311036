//===- ParserImpl.h - The recursive-descent parser --------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors: the first one in a statement is reported and sets `panicking`; every
// parse function then returns at once, and the statement loop of the innermost
// block, or of the file, skips to where the next statement starts.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_FRONTEND_PARSERIMPL_H
#define TIMERL_LIB_FRONTEND_PARSERIMPL_H

#include "Lexer.h"
#include "timerl/Frontend/AST.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/SaveAndRestore.h"

namespace timerl {

inline unsigned heightOf(const ast::ExprPtr &expr) {
  return expr ? expr->height : 0;
}

/// For nodes whose children are in `children`, in any order.
inline unsigned
heightAbove(std::initializer_list<const ast::ExprPtr *> children) {
  unsigned height = 0;
  for (const ast::ExprPtr *child : children)
    height = std::max(height, heightOf(*child));
  return height + 1;
}

inline unsigned heightAbove(const ast::Binder &binder) {
  return heightAbove({&binder.lo, &binder.hi, &binder.elements});
}

/// How tightly operators bind; each level binds tighter than the one above.
enum Precedence : unsigned {
  noPrecedence,
  orPrecedence,
  andPrecedence,
  notPrecedence,
  comparePrecedence,
  addPrecedence,
  multiplyPrecedence,
};

class Parser {
public:
  Parser(const SourceManager &sources, uint32_t file,
         DiagnosticEngine &diagnostics)
      : sources(sources), file(file), diagnostics(diagnostics),
        lexed(lex(sources, file)) {}

  ast::Module parse();

private:
  using ExprPtr = ast::ExprPtr;

  //===--------------------------------------------------------------------===//
  // Tokens (Parser.cpp)
  //===--------------------------------------------------------------------===//

  const Token &current() const { return lexed.tokens[position]; }
  const Token &peek(unsigned ahead = 1) const {
    return lexed
        .tokens[std::min<size_t>(position + ahead, lexed.tokens.size() - 1)];
  }
  bool at(Tok kind) const { return current().kind == kind; }
  /// At a word that is reserved only here: `until`, `over`.
  bool atWord(llvm::StringRef word) const {
    return at(Tok::Name) && !ends() && text(current()) == word;
  }
  llvm::StringRef text(const Token &token) const {
    return sources.text(token.span);
  }
  const Token &advance() {
    const Token &token = current();
    if (token.kind != Tok::EndOfFile)
      ++position;
    return token;
  }
  bool accept(Tok kind) {
    if (panicking || !at(kind))
      return false;
    advance();
    return true;
  }
  /// Whether the line break before the current token ends what came before.
  bool ends() const {
    return at(Tok::EndOfFile) ||
           (newlineEnds && current().lineStart && !continuesLine());
  }
  /// Whether the current token, first on its line, continues the last line.
  bool continuesLine() const;
  SourceSpan previousSpan() const {
    return position == 0 ? current().span : lexed.tokens[position - 1].span;
  }
  /// From `begin` to the last token read.
  SourceSpan spanFrom(SourceSpan begin) const {
    SourceSpan last = previousSpan();
    return last.end < begin.begin ? begin : begin.to(last);
  }

  //===--------------------------------------------------------------------===//
  // Errors (Parser.cpp)
  //===--------------------------------------------------------------------===//

  /// Reports the error and starts to panic. Silent when already panicking, or
  /// when a lexical error in this statement is the likely cause.
  Diagnostic &error(llvm::StringRef code, SourceSpan span, std::string message);
  /// Reports an error that parsing goes on from.
  Diagnostic &mention(llvm::StringRef code, SourceSpan span,
                      std::string message);
  /// Whether what came before the current token is over: at the end of the
  /// file, or where a line starts that is the next statement.
  bool lineEnded() const;
  /// At the `=` of an equation that starts a line of its own: the statement
  /// before it is what is incomplete, so goes back to the equation's start.
  void returnToEquation();
  /// "expected WHAT, found ..." at the current token, or at the end of the last
  /// one when a line or the file ended too early.
  Diagnostic &expected(std::string what, llvm::StringRef code = "E0108");
  bool expect(Tok kind, llvm::StringRef context);
  /// Closes a bracket; `separator` names what else could have come.
  void close(uint32_t opener, Tok closer, llvm::StringRef orElse = "`,` or ");
  /// A name to be defined or referred to; an empty string after an error.
  std::string expectName(llvm::StringRef what, SourceSpan &span);
  void expectStatementEnd();
  void reportLexicalErrors(uint32_t upTo);
  unsigned indentation(const Token &token) const;
  unsigned lineOf(uint32_t offset) const;
  bool startsStatement(Tok kind) const;
  void skipToStatement(uint32_t start);
  /// Whether the block goes on; else its file-level statement is given up.
  bool skipInBlock();

  //===--------------------------------------------------------------------===//
  // Statements (ParseStatement.cpp)
  //===--------------------------------------------------------------------===//

  ast::StatementPtr parseStatement();
  template <typename Node>
  ast::StatementPtr parseNamedValue(llvm::StringRef what, bool needsType,
                                    bool needsValue);
  ast::StatementPtr parseAssert();
  ast::StatementPtr parseDim();
  ast::StatementPtr parseInput();
  ast::StatementPtr parseImport();
  ast::ImportStatement::Module parseImportedModule();
  ast::StatementPtr parseFunction();
  void parseParameters(ast::FunctionStatement &function);
  void parseResults(ast::FunctionStatement &function);
  ast::StatementPtr parseReport();
  ast::StatementPtr parseSave();
  ast::StatementPtr parseEquation();
  ast::LhsTensor parseTarget(llvm::StringRef what);
  void parseTargetIndices(ast::LhsTensor &target);
  void explainNoEquation(const ast::LhsTensor &target);
  bool atEquation() const;
  ast::Type parseType();
  std::string docCommentAbove(const Token &token) const;
  std::string moduleComment();
  std::string commentText(size_t first, size_t last) const;

  //===--------------------------------------------------------------------===//
  // Expressions (ParseExpr.cpp, ParseBrace.cpp, ParseReduce.cpp)
  //===--------------------------------------------------------------------===//

  ExprPtr parseExpr() { return parseBinary(orPrecedence); }
  /// Operators that bind at least as tightly as `minimum`.
  ExprPtr parseBinary(unsigned minimum);
  ExprPtr parseUnary();
  ExprPtr parsePower();
  ExprPtr parsePostfix();
  ExprPtr parsePrimary();
  ExprPtr parseName();
  ExprPtr parseIf();
  ExprPtr parseParenthesized();
  ExprPtr parseList();
  ExprPtr parseBrace();
  ExprPtr parseRecord();
  ExprPtr parseBlock();
  ExprPtr parseIndexing(ExprPtr base);
  ExprPtr parseCall(ExprPtr callee);
  ExprPtr parseField(ExprPtr base);
  ExprPtr parseReduction();
  ExprPtr parseFold();
  ExprPtr parseBuild();
  ExprPtr parseBody(llvm::StringRef of);
  ast::Binder parseBinder();
  ExprPtr parseArgumentValue(const ast::Expr *callee);
  bool atReduction() const;
  bool atBinderOf(llvm::StringRef word) const;
  void explainMissingOperand();
  void explainChain(const ast::Expr &left, SourceSpan right);

  ExprPtr errorExpr(SourceSpan span) {
    return std::make_unique<ast::ErrorExpr>(span);
  }
  /// Stops at the bound on the height of trees.
  ExprPtr checkHeight(ExprPtr node);

  static constexpr unsigned maxNesting = 256;

  const SourceManager &sources;
  uint32_t file;
  DiagnosticEngine &diagnostics;
  LexedFile lexed;
  uint32_t position = 0;
  size_t lexicalReported = 0;
  uint32_t statementBegin = 0; ///< offset of the innermost statement
  unsigned topIndentation = 0; ///< of the file-level statement
  unsigned openBrackets = 0;   ///< of the innermost statement, so far
  unsigned nesting = 0;
  bool newlineEnds = true;
  bool inBlock = false;
  bool panicking = false;
  unsigned errors = 0;
  Diagnostic scratch;
};

} // namespace timerl

#endif // TIMERL_LIB_FRONTEND_PARSERIMPL_H
