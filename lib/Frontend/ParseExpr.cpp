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

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

namespace {
struct BinaryOperator {
  BinaryOp op;
  unsigned precedence;
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
    if (isKeyword(current().kind) && !lineEnded()) {
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
