//===- ParseReduce.cpp - Reductions, folds and builds -------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"
#include "llvm/ADT/Twine.h"

using namespace timerl;
using namespace timerl::ast;

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
          (llvm::Twine("the body of `") + of + "` can't start with " +
           spelling(current().kind))
              .str())
        .suggest(at(Tok::Not) ? "put it in parentheses: `(not x)`"
                              : "put it in parentheses, or the sign before "
                                "the reduction");
    return errorExpr(current().span);
  }
  if (!panicking && ends()) {
    expected((llvm::Twine("the body of `") + of + "`").str(), "E0107")
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
