//===- Lexer.h - Text to tokens ---------------------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The whole file is lexed at once: deciding what `sum(n) x` is takes looking
// ahead, and a megabyte of tokens costs little.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_FRONTEND_LEXER_H
#define TIMERL_LIB_FRONTEND_LEXER_H

#include "timerl/Frontend/Diagnostics.h"

namespace timerl {

enum class Tok : uint8_t {
#define TOKEN(name, text) name,
#include "Tokens.def"
};

struct Token {
  Tok kind = Tok::EndOfFile;
  bool lineStart = false;   ///< first on its line
  bool spaceBefore = false; ///< anything but a token directly before it
  bool spaceAfter = false;
  SourceSpan span;
  /// A bracket's partner in the token list, 0 when it has none. (Token 0 is
  /// never the partner of an opening bracket; a closing one is not asked.)
  uint32_t partner = 0;
  union {
    int64_t intValue = 0;
    double floatValue;
  };
};

/// A `#` comment that is alone on its line.
struct Comment {
  SourceSpan span; ///< with the `#`
  unsigned line;
};

struct LexedFile {
  std::vector<Token> tokens; ///< ends with one EndOfFile
  std::vector<Comment> comments;
  /// In order of place. Kept apart so that the parser can report them and its
  /// own in one order.
  std::vector<Diagnostic> diagnostics;
};

LexedFile lex(const SourceManager &sources, uint32_t file);

/// "`->`", "a name": for messages.
llvm::StringRef spelling(Tok kind);
bool isKeyword(Tok kind);
/// `+ - * / // % @ ^ == != < <= > >= and or`.
bool isBinaryOperator(Tok kind);

/// The value of a string literal, quotes and escapes resolved.
std::string stringValue(llvm::StringRef literal);

} // namespace timerl

#endif // TIMERL_LIB_FRONTEND_LEXER_H
