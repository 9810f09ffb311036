//===- ParseExpr.cpp - Expressions ----------------------------------------===//
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

//===----------------------------------------------------------------------===//
// The bound on a tree's height
//===----------------------------------------------------------------------===//

static unsigned heightOf(const ExprPtr &expr) {
  return expr ? expr->height : 0;
}

ExprPtr Parser::checkHeight(ExprPtr node) {
  if (node->height <= maxExprHeight)
    return node;
  error("E0114", node->span,
        "this expression is nested more than " + std::to_string(maxExprHeight) +
            " levels deep")
      .suggest("name a part of it in an equation or a `let` of its own");
  // The parts go with it, so that no tree is ever deeper.
  return errorExpr(node->span);
}

/// For nodes whose children are in `children`, in any order.
static unsigned heightAbove(std::initializer_list<const ExprPtr *> children) {
  unsigned height = 0;
  for (const ExprPtr *child : children)
    height = std::max(height, heightOf(*child));
  return height + 1;
}

static unsigned heightAbove(const Binder &binder) {
  return heightAbove({&binder.lo, &binder.hi, &binder.elements});
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

namespace {
struct BinaryOperator {
  BinaryOp op;
  unsigned precedence;
};
enum Precedence : unsigned {
  noPrecedence,
  orPrecedence,
  andPrecedence,
  notPrecedence,
  comparePrecedence,
  addPrecedence,
  multiplyPrecedence,
};
} // namespace

static BinaryOperator binaryOperator(Tok kind) {
  switch (kind) {
  case Tok::Or:
    return {BinaryOp::Or, orPrecedence};
  case Tok::And:
    return {BinaryOp::And, andPrecedence};
  case Tok::EqualEqual:
    return {BinaryOp::Eq, comparePrecedence};
  case Tok::NotEqual:
    return {BinaryOp::Ne, comparePrecedence};
  case Tok::Less:
    return {BinaryOp::Lt, comparePrecedence};
  case Tok::LessEqual:
    return {BinaryOp::Le, comparePrecedence};
  case Tok::Greater:
    return {BinaryOp::Gt, comparePrecedence};
  case Tok::GreaterEqual:
    return {BinaryOp::Ge, comparePrecedence};
  case Tok::Plus:
    return {BinaryOp::Add, addPrecedence};
  case Tok::Minus:
    return {BinaryOp::Sub, addPrecedence};
  case Tok::Star:
    return {BinaryOp::Mul, multiplyPrecedence};
  case Tok::Slash:
    return {BinaryOp::Div, multiplyPrecedence};
  case Tok::SlashSlash:
    return {BinaryOp::FloorDiv, multiplyPrecedence};
  case Tok::Percent:
    return {BinaryOp::Mod, multiplyPrecedence};
  case Tok::At:
    return {BinaryOp::MatMul, multiplyPrecedence};
  default:
    return {BinaryOp::Add, noPrecedence};
  }
}

/// `a < b < c`: the usual meaning needs `and` here.
void Parser::explainChain(const Expr &left, SourceSpan right) {
  const auto &first = static_cast<const BinaryExpr &>(left);
  Diagnostic &diagnostic =
      mention("E0113", current().span, "comparisons do not chain");
  llvm::StringRef whole = sources.text(left.span);
  llvm::StringRef middle = sources.text(first.rhs->span);
  llvm::StringRef last = sources.text(right);
  if (whole.size() + middle.size() + last.size() < 80 &&
      !whole.contains('\n') && !last.contains('\n'))
    diagnostic.suggest(("write `" + whole + " and " + middle + " " +
                        text(current()) + " " + last + "`")
                           .str());
  else
    diagnostic.suggest("join two comparisons with `and`");
}

ExprPtr Parser::parseBinary(unsigned minimum) {
  ExprPtr lhs;
  if (!panicking && at(Tok::Not) && minimum <= notPrecedence) {
    llvm::SaveAndRestore<unsigned> deeper(nesting, nesting + 1);
    SourceSpan begin = current().span;
    if (nesting > maxNesting) {
      error("E0114", begin, "expressions are nested too deeply here");
      return errorExpr(begin);
    }
    advance();
    auto node = std::make_unique<UnaryExpr>(begin);
    node->op = UnaryOp::Not;
    node->operand = parseBinary(notPrecedence);
    node->span = spanFrom(begin);
    node->height = heightAbove({&node->operand});
    lhs = checkHeight(std::move(node));
  } else {
    lhs = parseUnary();
  }

  bool isComparison = false;
  while (!panicking && !ends()) {
    auto [op, precedence] = binaryOperator(current().kind);
    if (precedence == noPrecedence || precedence < minimum)
      break;
    uint32_t opPosition = position;
    advance();
    ExprPtr rhs = parseBinary(precedence + 1);
    if (precedence == comparePrecedence && isComparison && !panicking) {
      uint32_t after = position;
      position = opPosition; // The message speaks of the second operator.
      explainChain(*lhs, rhs->span);
      position = after;
    }
    isComparison = precedence == comparePrecedence;
    auto node = std::make_unique<BinaryExpr>(lhs->span.to(rhs->span));
    node->op = op;
    node->opSpan = lexed.tokens[opPosition].span;
    node->lhs = std::move(lhs);
    node->rhs = std::move(rhs);
    node->height = heightAbove({&node->lhs, &node->rhs});
    lhs = checkHeight(std::move(node));
  }
  return lhs;
}

ExprPtr Parser::parseUnary() {
  SourceSpan begin = current().span;
  if (panicking)
    return errorExpr(begin);
  llvm::SaveAndRestore<unsigned> deeper(nesting, nesting + 1);
  if (nesting > maxNesting) {
    error("E0114", begin, "expressions are nested too deeply here")
        .suggest("name a part of it in an equation or a `let` of its own");
    return errorExpr(begin);
  }
  if (!at(Tok::Minus))
    return parsePower();
  advance();
  auto node = std::make_unique<UnaryExpr>(begin);
  node->op = UnaryOp::Neg;
  node->operand = parseUnary();
  node->span = spanFrom(begin);
  node->height = heightAbove({&node->operand});
  return checkHeight(std::move(node));
}

ExprPtr Parser::parsePower() {
  ExprPtr base = parsePostfix();
  if (panicking || ends() || !at(Tok::Caret))
    return base;
  SourceSpan opSpan = advance().span;
  ExprPtr exponent = parseUnary(); // `2^-n`, and `a^b^c` is `a^(b^c)`.
  auto node = std::make_unique<BinaryExpr>(base->span.to(exponent->span));
  node->op = BinaryOp::Pow;
  node->opSpan = opSpan;
  node->lhs = std::move(base);
  node->rhs = std::move(exponent);
  node->height = heightAbove({&node->lhs, &node->rhs});
  return checkHeight(std::move(node));
}

//===----------------------------------------------------------------------===//
// Fields, brackets and calls
//===----------------------------------------------------------------------===//

ExprPtr Parser::parsePostfix() {
  ExprPtr expr = parsePrimary();
  while (!panicking && !ends()) {
    if (at(Tok::Dot))
      expr = parseField(std::move(expr));
    else if (at(Tok::LBracket))
      expr = parseIndexing(std::move(expr));
    else if (at(Tok::LParen))
      expr = parseCall(std::move(expr));
    else
      break;
  }
  return expr;
}

ExprPtr Parser::parseField(ExprPtr base) {
  advance();
  auto node = std::make_unique<FieldExpr>(base->span);
  node->fieldSpan = current().span;
  if (at(Tok::Name) || at(Tok::Int) || isKeyword(current().kind))
    node->field = text(advance()).str();
  else
    expected("the name of a field after `.`");
  node->span = base->span.to(previousSpan());
  node->base = std::move(base);
  node->height = heightAbove({&node->base});
  return checkHeight(std::move(node));
}

ExprPtr Parser::parseIndexing(ExprPtr base) {
  llvm::SaveAndRestore<bool> joinLines(newlineEnds, false);
  uint32_t opener = position;
  ++openBrackets;
  advance();
  auto node = std::make_unique<IndexExpr>(base->span);
  node->height = base->height + 1;
  if (at(Tok::RBracket))
    expected("an index").suggest("`x[:]` reads all of an axis");
  while (!panicking && !at(Tok::RBracket)) {
    IndexItem item;
    item.span = current().span;
    if (!at(Tok::Colon))
      item.lo = parseExpr();
    if (item.lo && accept(Tok::In)) {
      item.declaredLo = parseExpr();
      if (expect(Tok::Colon, " in the range of an index"))
        item.declaredHi = parseExpr();
    } else if (accept(Tok::Colon)) {
      item.isRange = true;
      if (!at(Tok::Comma) && !at(Tok::RBracket))
        item.hi = parseExpr();
      if (!panicking && at(Tok::Colon))
        expected("`,` or `]`")
            .suggest("a range `lo:hi` has no step; index "
                     "with an expression instead");
    }
    item.span = spanFrom(item.span);
    node->height = std::max(
        node->height,
        heightAbove({&item.lo, &item.hi, &item.declaredLo, &item.declaredHi}));
    node->items.push_back(std::move(item));
    if (!accept(Tok::Comma))
      break;
  }
  close(opener, Tok::RBracket);
  node->span = base->span.to(previousSpan());
  node->base = std::move(base);
  return checkHeight(std::move(node));
}

/// A misspelt reduction, or a comparison written as an assignment, shows inside
/// a call's parentheses.
ExprPtr Parser::parseArgumentValue(const Expr *callee) {
  const auto *name = llvm::dyn_cast_if_present<NameExpr>(callee);
  if (at(Tok::Name) && peek().kind == Tok::In) {
    std::vector<std::string> reductions = {
        "sum", "mean", "max", "min", "prod", "argmax", "all", "any", "tuple"};
    std::string of =
        name ? "`" + name->name + "` is no reduction" : "this is no reduction";
    Diagnostic &diagnostic =
        error("E0118", callee ? callee->span : current().span,
              of + ", so nothing can range over `" + text(current()).str() +
                  " in ...` here");
    llvm::StringRef near = name ? nearestName(name->name, reductions) : "";
    diagnostic.suggest(
        near.empty() ? "the reductions are sum, mean, max, min, prod, argmax, "
                       "all and any"
                     : ("did you mean `" + near + "`?").str());
    return errorExpr(current().span);
  }
  return parseExpr();
}

ExprPtr Parser::parseCall(ExprPtr callee) {
  llvm::SaveAndRestore<bool> joinLines(newlineEnds, false);
  uint32_t opener = position;
  ++openBrackets;
  advance();
  auto node = std::make_unique<CallExpr>(callee->span);
  node->height = callee->height + 1;
  while (!panicking && !at(Tok::RParen)) {
    Argument argument;
    argument.span = current().span;
    if (at(Tok::Name) && peek().kind == Tok::Assign) {
      argument.name = text(advance()).str();
      for (const Argument &other : node->arguments)
        if (other.name == argument.name) {
          mention("E0123", argument.span,
                  "the argument `" + argument.name + "` is given twice")
              .note(other.span, "first given here");
          break;
        }
      advance();
    } else if (!node->arguments.empty() &&
               !node->arguments.back().name.empty()) {
      mention("E0124", argument.span,
              "an argument without a name follows one with a name")
          .suggest("move it before the named ones, or name it too");
    }
    argument.value = parseArgumentValue(callee.get());
    argument.span = spanFrom(argument.span);
    node->height = std::max(node->height, argument.value->height + 1);
    node->arguments.push_back(std::move(argument));
    if (!accept(Tok::Comma))
      break;
  }
  if (!panicking && at(Tok::Assign) && node->arguments.size()) {
    expected("`,` or `)`", "E0121").suggest("to compare, write `==`");
  }
  close(opener, Tok::RParen);
  node->span = callee->span.to(previousSpan());
  node->callee = std::move(callee);
  return checkHeight(std::move(node));
}

//===----------------------------------------------------------------------===//
// Primary expressions
//===----------------------------------------------------------------------===//

void Parser::explainMissingOperand() {
  switch (current().kind) {
  case Tok::Not:
    expected("an expression", "E0107")
        .suggest("`not` binds loosely: put it in parentheses, `(not x)`");
    return;
  case Tok::Plus:
    expected("an expression", "E0107").suggest("a sign `+` is not needed");
    return;
  case Tok::SlashSlash:
    expected("an expression", "E0107")
        .suggest("a comment starts with `#`; `//` is floor division");
    return;
  case Tok::Assign:
    expected("an expression", "E0107").suggest("to compare, write `==`");
    return;
  case Tok::When:
    expected("an expression", "E0107")
        .suggest("a guard `when ...` follows an equation's value");
    return;
  default:
    if (isKeyword(current().kind) && !startsStatement(current().kind)) {
      expected("an expression", "E0107");
      return;
    }
    if (isKeyword(current().kind) && !(current().lineStart && newlineEnds)) {
      error("E0111", current().span,
            ("`" + text(current()) +
             "` is a reserved word and can't be part of an expression")
                .str())
          .suggest("statements start on a line of their own");
      return;
    }
    expected("an expression", "E0107");
  }
}

ExprPtr Parser::parsePrimary() {
  const Token &token = current();
  SourceSpan begin = token.span;
  switch (token.kind) {
  case Tok::Int: {
    advance();
    auto node = std::make_unique<IntExpr>(begin);
    node->value = token.intValue;
    return node;
  }
  case Tok::Float: {
    advance();
    auto node = std::make_unique<FloatExpr>(begin);
    node->value = token.floatValue;
    return node;
  }
  case Tok::True:
  case Tok::False: {
    advance();
    auto node = std::make_unique<BoolExpr>(begin);
    node->value = token.kind == Tok::True;
    return node;
  }
  case Tok::String: {
    advance();
    auto node = std::make_unique<StringExpr>(begin);
    node->value = stringValue(text(token));
    return node;
  }
  case Tok::Name:
    return parseName();
  case Tok::If:
    return parseIf();
  case Tok::LParen:
    return parseParenthesized();
  case Tok::LBracket:
    return parseList();
  case Tok::LBrace:
    return parseBrace();
  default:
    explainMissingOperand();
    return errorExpr(begin);
  }
}

ExprPtr Parser::parseName() {
  if (atReduction())
    return parseReduction();
  if (atBinderOf("tuple"))
    return parseBuild();
  if (atBinderOf("fold"))
    return parseFold();
  const Token &token = advance();
  auto node = std::make_unique<NameExpr>(token.span);
  node->name = text(token).str();
  return node;
}

ExprPtr Parser::parseIf() {
  uint32_t start = position;
  SourceSpan begin = advance().span;
  auto node = std::make_unique<IfExpr>(begin);
  node->condition = parseExpr();
  if (!panicking && !accept(Tok::Then)) {
    if (at(Tok::Assign))
      expected("`then`", "E0121").suggest("to compare, write `==`");
    else
      expected("`then` after the condition of `if`")
          .suggest("a choice is written `if CONDITION then A else B`");
  }
  node->then = parseExpr();
  if (!panicking && !accept(Tok::Else))
    expected("`else`", "E0115")
        .suggest("`if` is a value, so both cases need one")
        .note(lexed.tokens[start].span, "of this `if`");
  node->otherwise = parseExpr();
  node->span = spanFrom(begin);
  node->height = heightAbove({&node->condition, &node->then, &node->otherwise});
  return checkHeight(std::move(node));
}

ExprPtr Parser::parseParenthesized() {
  llvm::SaveAndRestore<bool> joinLines(newlineEnds, false);
  uint32_t opener = position;
  ++openBrackets;
  SourceSpan begin = advance().span;
  auto tuple = std::make_unique<TupleExpr>(begin);
  bool isTuple = at(Tok::RParen);
  while (!panicking && !at(Tok::RParen)) {
    tuple->elements.push_back(parseExpr());
    if (!accept(Tok::Comma))
      break;
    isTuple = true;
  }
  if (!panicking && at(Tok::Assign))
    expected(isTuple ? "`,` or `)`" : "`)`", "E0121")
        .suggest("to compare, write `==`");
  close(opener, Tok::RParen);
  if (!isTuple && tuple->elements.size() == 1) {
    // Carets point at the parentheses too.
    ExprPtr inner = std::move(tuple->elements.front());
    inner->span = spanFrom(begin);
    return inner;
  }
  tuple->span = spanFrom(begin);
  for (const ExprPtr &element : tuple->elements)
    tuple->height = std::max(tuple->height, element->height + 1);
  return checkHeight(std::move(tuple));
}

ExprPtr Parser::parseList() {
  llvm::SaveAndRestore<bool> joinLines(newlineEnds, false);
  uint32_t opener = position;
  ++openBrackets;
  SourceSpan begin = advance().span;
  auto list = std::make_unique<ListExpr>(begin);
  while (!panicking && !at(Tok::RBracket)) {
    list->elements.push_back(parseExpr());
    list->height = std::max(list->height, list->elements.back()->height + 1);
    if (!accept(Tok::Comma))
      break;
  }
  close(opener, Tok::RBracket);
  list->span = spanFrom(begin);
  return checkHeight(std::move(list));
}

//===----------------------------------------------------------------------===//
// Braces
//===----------------------------------------------------------------------===//

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
    statementBegin = current().span.begin;
    StatementPtr statement;
    if (at(Tok::RBrace) || at(Tok::EndOfFile)) {
      if (recovered)
        block->value = errorExpr(current().span);
      else if (at(Tok::RBrace))
        error("E0116", current().span, "this block has no value")
            .suggest("end it with an expression, which is its value")
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

//===----------------------------------------------------------------------===//
// Reductions, folds and builds
//===----------------------------------------------------------------------===//

static bool isReductionName(llvm::StringRef name) {
  for (llvm::StringRef reduction :
       {"sum", "mean", "max", "min", "prod", "argmax", "all", "any"})
    if (name == reduction)
      return true;
  return false;
}

bool Parser::atBinderOf(llvm::StringRef word) const {
  return text(current()) == word && peek(1).kind == Tok::LParen &&
         peek(2).kind == Tok::Name && peek(3).kind == Tok::In;
}

/// Whether `sum(` starts a reduction with binders rather than a call: there is
/// `in` or `when` after the names in its parentheses, or they hold names alone
/// and an expression follows on the same line.
bool Parser::atReduction() const {
  if (!isReductionName(text(current())) || peek().kind != Tok::LParen ||
      (newlineEnds && peek().lineStart))
    return false;
  for (unsigned ahead = 2;; ahead += 2) {
    if (peek(ahead).kind != Tok::Name)
      return false;
    switch (peek(ahead + 1).kind) {
    case Tok::In:
    case Tok::When:
      return true;
    case Tok::Comma:
      continue;
    case Tok::RParen:
      break;
    default:
      return false;
    }
    const Token &next = peek(ahead + 2);
    if (next.lineStart)
      return false;
    switch (next.kind) {
    case Tok::Name:
      // `dim t : sum(x) until ...` and the like.
      return text(next) != "until" && text(next) != "as";
    case Tok::Int:
    case Tok::Float:
    case Tok::String:
    case Tok::True:
    case Tok::False:
    case Tok::LParen:
    case Tok::LBrace:
    case Tok::If:
    case Tok::Not:
      return true;
    default:
      return false;
    }
  }
}

Binder Parser::parseBinder() {
  Binder binder;
  binder.name = expectName("the name of an index", binder.span);
  SourceSpan begin = binder.span;
  if (accept(Tok::In)) {
    binder.lo = parseExpr();
    if (accept(Tok::Colon))
      binder.hi = parseExpr();
    else
      binder.elements = std::move(binder.lo);
  }
  binder.span = spanFrom(begin);
  return binder;
}

ExprPtr Parser::parseBody(llvm::StringRef of) {
  if (!panicking && (at(Tok::Minus) || at(Tok::Not)) && !ends()) {
    error("E0117", current().span,
          ("the body of `" + of + "` can't start with " +
           spelling(current().kind))
              .str())
        .suggest(at(Tok::Not) ? "put it in parentheses: `(not x)`"
                              : "put it in parentheses, or the sign before "
                                "the reduction");
    return errorExpr(current().span);
  }
  if (!panicking && ends()) {
    expected(("the body of `" + of + "`").str(), "E0107")
        .suggest("the body is the product that follows on the same line");
    return errorExpr(current().span);
  }
  return parseBinary(multiplyPrecedence);
}

ExprPtr Parser::parseReduction() {
  auto node = std::make_unique<ReduceExpr>(current().span);
  node->nameSpan = current().span;
  node->reduction = text(advance()).str();
  {
    llvm::SaveAndRestore<bool> joinLines(newlineEnds, false);
    uint32_t opener = position;
    ++openBrackets;
    advance();
    do {
      node->binders.push_back(parseBinder());
      node->height = std::max(node->height, heightAbove(node->binders.back()));
    } while (accept(Tok::Comma));
    if (accept(Tok::When))
      node->filter = parseExpr();
    close(opener, Tok::RParen, node->filter ? "" : "`,`, `when` or ");
  }
  node->body = parseBody(node->reduction);
  node->span = spanFrom(node->nameSpan);
  node->height =
      std::max(node->height, heightAbove({&node->filter, &node->body}));
  return checkHeight(std::move(node));
}

ExprPtr Parser::parseBuild() {
  auto node = std::make_unique<BuildExpr>(current().span);
  SourceSpan begin = advance().span;
  {
    llvm::SaveAndRestore<bool> joinLines(newlineEnds, false);
    uint32_t opener = position;
    ++openBrackets;
    advance();
    node->binder = parseBinder();
    close(opener, Tok::RParen, "");
  }
  node->body = parseBody("tuple");
  node->span = spanFrom(begin);
  node->height =
      std::max(heightAbove(node->binder), heightAbove({&node->body}));
  return checkHeight(std::move(node));
}

ExprPtr Parser::parseFold() {
  auto node = std::make_unique<FoldExpr>(current().span);
  SourceSpan begin = advance().span;
  {
    llvm::SaveAndRestore<bool> joinLines(newlineEnds, false);
    uint32_t opener = position;
    ++openBrackets;
    advance();
    node->binder = parseBinder();
    expect(Tok::Semicolon, " and the start value, as in "
                           "`fold(l in 0:n; h = x) ...`");
    node->accumulator =
        expectName("the name of what is folded", node->accumulatorSpan);
    expect(Tok::Assign, " and the start value");
    node->init = parseExpr();
    close(opener, Tok::RParen, "");
  }
  node->body = parseBody("fold");
  node->span = spanFrom(begin);
  node->height = std::max(heightAbove(node->binder),
                          heightAbove({&node->init, &node->body}));
  return checkHeight(std::move(node));
}
