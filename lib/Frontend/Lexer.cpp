//===- Lexer.cpp - Text to tokens -----------------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lexer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FormatVariadic.h"
#include <charconv>
#include <cmath>

using namespace timerl;

//===----------------------------------------------------------------------===//
// Kinds of tokens
//===----------------------------------------------------------------------===//

llvm::StringRef timerl::spelling(Tok kind) {
  static constexpr llvm::StringLiteral spellings[] = {
#define TOKEN(name, description) description,
#include "Tokens.def"
  };
  return spellings[static_cast<unsigned>(kind)];
}

bool timerl::isKeyword(Tok kind) {
  switch (kind) {
#define KEYWORD(name, text) case Tok::name:
#include "Tokens.def"
    return true;
  default:
    return false;
  }
}

bool timerl::isBinaryOperator(Tok kind) {
  switch (kind) {
  case Tok::Plus:
  case Tok::Minus:
  case Tok::Star:
  case Tok::Slash:
  case Tok::SlashSlash:
  case Tok::Percent:
  case Tok::At:
  case Tok::Caret:
  case Tok::EqualEqual:
  case Tok::NotEqual:
  case Tok::Less:
  case Tok::LessEqual:
  case Tok::Greater:
  case Tok::GreaterEqual:
  case Tok::And:
  case Tok::Or:
    return true;
  default:
    return false;
  }
}

static Tok nameOrKeyword(llvm::StringRef text) {
  return llvm::StringSwitch<Tok>(text)
#define KEYWORD(name, text) .Case(text, Tok::name)
#include "Tokens.def"
      .Default(Tok::Name);
}

std::string timerl::stringValue(llvm::StringRef literal) {
  std::string value;
  literal.consume_front("\"");
  for (size_t i = 0; i < literal.size() && literal[i] != '"'; ++i) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      value += literal[i];
      continue;
    }
    switch (literal[++i]) {
    case 'n':
      value += '\n';
      break;
    case 't':
      value += '\t';
      break;
    default:
      value += literal[i];
    }
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Characters that no token has, and what was probably meant
//===----------------------------------------------------------------------===//

/// ASCII text that stands for a code point from an editor, a paper or another
/// language's alphabet; empty when there is no good guess.
static llvm::StringRef asciiFor(uint32_t codePoint) {
  switch (codePoint) {
  case 0x2018: // Quotation marks.
  case 0x2019:
    return "'";
  case 0x201C:
  case 0x201D:
  case 0x201E:
  case 0xAB:
  case 0xBB:
    return "\"";
  case 0x2010: // Hyphens, dashes and the minus sign.
  case 0x2011:
  case 0x2012:
  case 0x2013:
  case 0x2014:
  case 0x2212:
    return "-";
  case 0xD7:
  case 0xB7:
  case 0x22C5:
  case 0x2217:
    return "*";
  case 0xF7:
    return "/";
  case 0x2264:
    return "<=";
  case 0x2265:
    return ">=";
  case 0x2260:
    return "!=";
  case 0x2227:
    return "and";
  case 0x2228:
    return "or";
  case 0xAC:
    return "not";
  case 0x2208:
    return "in";
  case 0x2192:
    return "->";
  case 0x2032:
    return "'";
  case 0x3C0:
    return "pi";
  case 0x221E:
    return "inf";
  case 0x2211:
    return "sum";
  case 0xA0:
  case 0x2009:
  case 0x202F:
  case 0x3000:
  case 0xFEFF:
  case 0x200B:
    return " ";
  }
  static constexpr llvm::StringLiteral greek[] = {
      "alpha",   "beta", "gamma", "delta",  "epsilon", "zeta", "eta",
      "theta",   "iota", "kappa", "lambda", "mu",      "nu",   "xi",
      "omicron", "pi",   "rho",   "sigma",  "sigma",   "tau",  "upsilon",
      "phi",     "chi",  "psi",   "omega"};
  if (codePoint >= 0x3B1 && codePoint <= 0x3C9)
    return greek[codePoint - 0x3B1];
  return "";
}

/// Decodes the code point at `at`; the text is valid UTF-8 from there.
static uint32_t decode(llvm::StringRef text, uint32_t at, unsigned &length) {
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.begin()) + at;
  auto *source = begin;
  llvm::UTF32 codePoint = 0, *target = &codePoint;
  llvm::ConvertUTF8toUTF32(&source, begin + llvm::getNumBytesForUTF8(*begin),
                           &target, target + 1, llvm::strictConversion);
  length = std::max<ptrdiff_t>(1, source - begin);
  return codePoint;
}

/// The offset of the first byte that is not UTF-8, or the size.
static uint32_t validUtf8Prefix(llvm::StringRef text) {
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.begin());
  auto *source = begin;
  llvm::isLegalUTF8String(&source, begin + text.size());
  return source - begin;
}

//===----------------------------------------------------------------------===//
// The lexer
//===----------------------------------------------------------------------===//

namespace {
class Lexer {
public:
  Lexer(const SourceManager &sources, uint32_t file)
      : file(file), text(sources.file(file).text) {}

  LexedFile run() {
    uint32_t valid = validUtf8Prefix(text);
    if (valid != text.size()) {
      reportNotUtf8(valid);
      // What follows would be guesswork, and so would its errors.
      push(Tok::EndOfFile, text.size(), text.size());
      return std::move(result);
    }
    while (at != text.size())
      lexOne();
    push(Tok::EndOfFile, at, at);
    matchBrackets();
    return std::move(result);
  }

private:
  char peek(unsigned ahead = 0) const {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  }
  SourceSpan span(uint32_t begin, uint32_t end) const {
    return {file, begin, end};
  }

  /// Errors past the hundredth say nothing new; a file of garbage stays cheap.
  Diagnostic &error(llvm::StringRef code, uint32_t begin, uint32_t end,
                    std::string message) {
    if (result.diagnostics.size() == 100)
      return scratch;
    return result.diagnostics.emplace_back(Diagnostic{Severity::Error,
                                                      code.str(),
                                                      std::move(message),
                                                      span(begin, end),
                                                      "",
                                                      {}});
  }

  Token &push(Tok kind, uint32_t begin, uint32_t end) {
    Token token;
    token.kind = kind;
    token.lineStart = lineStart;
    token.spaceBefore = begin != previousEnd || result.tokens.empty();
    token.span = span(begin, end);
    if (!result.tokens.empty())
      result.tokens.back().spaceAfter = token.spaceBefore;
    lineStart = false;
    previousEnd = end;
    result.tokens.push_back(token);
    return result.tokens.back();
  }

  void reportNotUtf8(uint32_t offset) {
    bool utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
    error("E0101", offset, offset + 1,
          llvm::formatv("not UTF-8 text: byte {0:x+2} at offset {1}",
                        static_cast<uint8_t>(text[offset]), offset))
        .suggest(utf16 ? "the file looks like UTF-16; save it as UTF-8"
                       : "save the file as UTF-8");
  }

  void lexOne();
  void lexNumber();
  void lexString();
  void lexOperator();
  void lexStray();
  void matchBrackets();
  bool previousIsDot() const {
    return !result.tokens.empty() && result.tokens.back().kind == Tok::Dot &&
           previousEnd == at;
  }

  /// Whether a `.` here would select a field of what was just read.
  bool followsOperand() const {
    if (result.tokens.empty() || previousEnd != at)
      return false;
    Tok kind = result.tokens.back().kind;
    return kind == Tok::Name || kind == Tok::Int || kind == Tok::RParen ||
           kind == Tok::RBracket || kind == Tok::RBrace || isKeyword(kind);
  }

  uint32_t file;
  llvm::StringRef text;
  uint32_t at = 0;
  uint32_t previousEnd = 0;
  unsigned line = 1;
  bool lineStart = true;
  unsigned strayLine = 0; ///< the last line with a reported stray character
  LexedFile result;
  Diagnostic scratch;
};
} // namespace

static bool startsName(char c) { return llvm::isAlpha(c) || c == '_'; }
static bool continuesName(char c) { return llvm::isAlnum(c) || c == '_'; }

void Lexer::lexOne() {
  char c = peek();
  switch (c) {
  case '\r':
    if (peek(1) == '\n')
      ++at;
    [[fallthrough]];
  case '\n':
    ++at;
    ++line;
    lineStart = true;
    return;
  case ' ':
  case '\t':
  case '\f':
    ++at;
    return;
  case '#': {
    uint32_t end = std::min(text.find_first_of("\r\n", at), text.size());
    if (lineStart)
      result.comments.push_back({span(at, end), line});
    at = end;
    return;
  }
  case '"':
    lexString();
    return;
  default:
    break;
  }
  if (startsName(c)) {
    uint32_t begin = at;
    while (continuesName(peek()))
      ++at;
    while (peek() == '\'')
      ++at;
    push(nameOrKeyword(text.slice(begin, at)), begin, at);
    return;
  }
  if (llvm::isDigit(c) ||
      (c == '.' && llvm::isDigit(peek(1)) && !followsOperand())) {
    lexNumber();
    return;
  }
  lexOperator();
}

void Lexer::lexNumber() {
  uint32_t begin = at;
  auto digits = [&] {
    while (llvm::isDigit(peek()) || peek() == '_')
      ++at;
  };
  // `p.0.1`: positions of a tuple, not a fraction.
  if (previousIsDot()) {
    digits();
    push(Tok::Int, begin, at).intValue = 0;
    return;
  }
  bool isFloat = false;
  digits();
  if (peek() == '.' && !startsName(peek(1))) {
    isFloat = true;
    ++at;
    digits();
  }
  if ((peek() == 'e' || peek() == 'E') &&
      (llvm::isDigit(peek(1)) ||
       ((peek(1) == '-' || peek(1) == '+') && llvm::isDigit(peek(2))))) {
    isFloat = true;
    at += 2;
    digits();
  }
  uint32_t end = at;
  while (continuesName(peek())) // `0x1f`, `12abc`, `1.5f`: one mistake.
    ++at;
  llvm::StringRef written = text.slice(begin, at);
  std::string plain;
  bool malformed = at != end;
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i] != '_') {
      plain += written[i];
      continue;
    }
    malformed |= i == 0 || i + 1 == written.size() ||
                 !llvm::isDigit(written[i - 1]) ||
                 !llvm::isDigit(written[i + 1]);
  }
  llvm::StringRef shown = written.take_front(40);
  std::string ellipsis = shown.size() < written.size() ? "..." : "";
  Token &token = push(isFloat ? Tok::Float : Tok::Int, begin, at);
  if (written.front() == '.' || written.back() == '.') {
    error("E0103", begin, at,
          llvm::formatv("`{0}{1}` needs a digit on both sides of its point",
                        shown, ellipsis))
        .suggest(written.front() == '.' ? "write `0" + written.str() + "`"
                                        : "write `" + written.str() + "0`");
    return;
  }
  if (malformed) {
    Diagnostic &diagnostic =
        error("E0103", begin, at,
              llvm::formatv("`{0}{1}` is no number", shown, ellipsis));
    uint64_t value;
    if ((written.starts_with_insensitive("0x") ||
         written.starts_with_insensitive("0b") ||
         written.starts_with_insensitive("0o")) &&
        !written.getAsInteger(0, value))
      diagnostic.suggest("numbers are decimal: write `" +
                         std::to_string(value) + "`");
    else if (at != end && llvm::isAlpha(text[end]))
      diagnostic.suggest("a name can't start with a digit, and a number has no "
                         "suffix: convert with `f32(...)`, `i64(...)`");
    else
      diagnostic.suggest("`_` may stand between two digits only");
    return;
  }
  if (!isFloat) {
    auto [rest, failed] = std::from_chars(
        plain.data(), plain.data() + plain.size(), token.intValue);
    if (failed != std::errc()) {
      token.intValue = 0;
      error("E0104", begin, at,
            llvm::formatv("the integer `{0}{1}` does not fit 64 bits", shown,
                          ellipsis))
          .suggest("the largest is 9223372036854775807; write a float, such "
                   "as `1e30`, if an approximation will do");
    }
    return;
  }
  token.floatValue = 0;
  std::from_chars(plain.data(), plain.data() + plain.size(), token.floatValue);
  llvm::StringRef mantissa = llvm::StringRef(plain).take_until(
      [](char c) { return c == 'e' || c == 'E'; });
  bool isZero = mantissa.find_first_of("123456789") == llvm::StringRef::npos;
  // from_chars leaves its result alone when out of range, whichever way.
  if (!isZero && (token.floatValue == 0 || std::isinf(token.floatValue))) {
    token.floatValue = 0;
    error("E0104", begin, at,
          llvm::formatv("the number `{0}{1}` does not fit 64 bits", shown,
                        ellipsis))
        .suggest("f64 holds magnitudes from 5e-324 to 1.8e308; `inf` is "
                 "infinity");
  }
}

void Lexer::lexString() {
  uint32_t begin = at++;
  for (;;) {
    char c = peek();
    if (at == text.size() || c == '\n' || c == '\r') {
      error("E0105", begin, at, "this string has no closing `\"` on its line")
          .suggest("close it with `\"`; write a line break inside a string as "
                   "`\\n`");
      break;
    }
    ++at;
    if (c == '"')
      break;
    if (c != '\\')
      continue;
    unsigned length = 1;
    if (at != text.size())
      decode(text, at, length);
    switch (peek()) {
    case 'n':
    case 't':
    case '\\':
    case '"':
      ++at;
      break;
    case '\n':
    case '\r':
    case '\0':
      break; // Unterminated; or a zero byte, which is skipped as any other.
    default:
      error("E0106", at - 1, at + length,
            llvm::formatv("unknown escape `\\{0}` in a string",
                          text.substr(at, length)))
          .suggest("the escapes are `\\n`, `\\t`, `\\\\` and `\\\"`; a "
                   "backslash itself is `\\\\`");
      at += length;
    }
  }
  push(Tok::String, begin, at);
}

void Lexer::lexOperator() {
  struct Operator {
    llvm::StringLiteral text;
    Tok kind;
    llvm::StringLiteral instead; ///< not of this language: what is
  };
  // Longest first.
  static constexpr Operator operators[] = {
      {"===", Tok::EqualEqual, "=="},
      {"**", Tok::Caret, "^"},
      {"&&", Tok::And, "and"},
      {"||", Tok::Or, "or"},
      {":=", Tok::Assign, "="},
      {"=>", Tok::Arrow, "->"},
      {"<>", Tok::NotEqual, "!="},
      {"//", Tok::SlashSlash, ""},
      {"==", Tok::EqualEqual, ""},
      {"!=", Tok::NotEqual, ""},
      {"<=", Tok::LessEqual, ""},
      {">=", Tok::GreaterEqual, ""},
      {"->", Tok::Arrow, ""},
      {"(", Tok::LParen, ""},
      {")", Tok::RParen, ""},
      {"[", Tok::LBracket, ""},
      {"]", Tok::RBracket, ""},
      {"{", Tok::LBrace, ""},
      {"}", Tok::RBrace, ""},
      {",", Tok::Comma, ""},
      {";", Tok::Semicolon, ""},
      {":", Tok::Colon, ""},
      {".", Tok::Dot, ""},
      {"=", Tok::Assign, ""},
      {"+", Tok::Plus, ""},
      {"-", Tok::Minus, ""},
      {"*", Tok::Star, ""},
      {"/", Tok::Slash, ""},
      {"%", Tok::Percent, ""},
      {"@", Tok::At, ""},
      {"^", Tok::Caret, ""},
      {"<", Tok::Less, ""},
      {">", Tok::Greater, ""},
      {"!", Tok::Not, "not"},
  };
  llvm::StringRef rest = text.substr(at);
  for (const Operator &op : operators) {
    if (!rest.starts_with(op.text))
      continue;
    if (!op.instead.empty())
      error("E0122", at, at + op.text.size(),
            llvm::formatv("`{0}` is no operator of this language", op.text))
          .suggest(llvm::formatv("write `{0}`", op.instead));
    push(op.kind, at, at + op.text.size());
    at += op.text.size();
    return;
  }
  lexStray();
}

void Lexer::lexStray() {
  unsigned length;
  uint32_t begin = at;
  uint32_t codePoint = decode(text, at, length);
  at += length;
  llvm::StringRef guess = asciiFor(codePoint);
  // A letter starts what was meant as a name: take it whole.
  if (codePoint >= 0x80 && (guess.empty() || startsName(guess.front())))
    while (continuesName(peek()) || (peek() & 0x80))
      ++at;
  bool whole = at == begin + length;
  push(Tok::Invalid, begin, at);
  if (strayLine == line)
    return; // One mistake, or at least one cause.
  strayLine = line;
  llvm::StringRef written = text.slice(begin, begin + length);
  bool visible = codePoint > 0x20 && codePoint != 0x7F && guess != " ";
  std::string message =
      visible ? llvm::formatv("unexpected character `{0}`", written).str()
              : "unexpected character";
  if (!visible || codePoint >= 0x80)
    message += llvm::formatv(" U+{0:X-4}", codePoint).str();
  Diagnostic &diagnostic = error("E0102", begin, begin + length, message);
  if (guess == " ")
    diagnostic.suggest("it looks like a space; type a plain one");
  else if (!guess.empty() && whole)
    diagnostic.suggest(llvm::formatv("write `{0}`", guess));
  else if (codePoint >= 0x80)
    diagnostic.suggest("names are made of the letters a to z, A to Z, digits "
                       "and `_`");
  else if (codePoint == '\'')
    diagnostic.suggest("a string is written with double quotes; a prime "
                       "follows a name directly, as in `b'`");
  else if (codePoint == '&')
    diagnostic.suggest("write `and`");
  else if (codePoint == '|')
    diagnostic.suggest("write `or`");
  else if (codePoint == 0)
    diagnostic.suggest("the file holds a zero byte; is it a text file?");
}

void Lexer::matchBrackets() {
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i != result.tokens.size(); ++i) {
    Tok opener;
    switch (result.tokens[i].kind) {
    case Tok::LParen:
    case Tok::LBracket:
    case Tok::LBrace:
      open.push_back(i);
      continue;
    case Tok::RParen:
      opener = Tok::LParen;
      break;
    case Tok::RBracket:
      opener = Tok::LBracket;
      break;
    case Tok::RBrace:
      opener = Tok::LBrace;
      break;
    default:
      continue;
    }
    // A closer that does not fit drops the innermost opener: somewhere there a
    // bracket is missing, and neither has a partner.
    if (open.empty())
      continue;
    uint32_t partner = open.back();
    open.pop_back();
    if (result.tokens[partner].kind == opener)
      result.tokens[partner].partner = i;
  }
}

LexedFile timerl::lex(const SourceManager &sources, uint32_t file) {
  return Lexer(sources, file).run();
}
