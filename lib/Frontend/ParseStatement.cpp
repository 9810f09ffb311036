//===- ParseStatement.cpp - Statements ------------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"

using namespace timerl;
using namespace timerl::ast;

StatementPtr Parser::parseStatement() {
  switch (current().kind) {
  case Tok::Param:
    return parseNamedValue<ParamStatement>("a param", false, false);
  case Tok::Arg:
    return parseNamedValue<ArgStatement>("an arg", true, false);
  case Tok::Let:
    return parseNamedValue<LetStatement>("a constant", false, true);
  case Tok::Assert:
    return parseAssert();
  case Tok::Dim:
    return parseDim();
  case Tok::Input:
    return parseInput();
  case Tok::Import:
    return parseImport();
  case Tok::Fn:
  case Tok::Extern:
    return parseFunction();
  case Tok::Report:
    return parseReport();
  case Tok::Save:
    return parseSave();
  case Tok::Name:
    return parseEquation();
  default:
    break;
  }
  if (at(Tok::RParen) || at(Tok::RBracket) || at(Tok::RBrace))
    error("E0110", current().span,
          "unmatched " + spelling(current().kind).str() +
              ": no bracket is open here");
  else if (isKeyword(current().kind) &&
           (peek().kind == Tok::LBracket || peek().kind == Tok::Assign))
    error("E0111", current().span,
          ("`" + text(current()) +
           "` is a reserved word and can't be the name of a tensor")
              .str())
        .suggest(
            ("choose another name, such as `" + text(current()) + "_`").str());
  else
    expected("a statement", "E0112")
        .suggest(at(Tok::SlashSlash)
                     ? "a comment starts with `#`; `//` is floor division"
                     : "a statement is an equation, `x[t] = ...`, or starts "
                       "with a word such as `dim`, `param`, `let`, `fn`, "
                       "`report`");
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

template <typename Node>
StatementPtr Parser::parseNamedValue(llvm::StringRef what, bool needsType,
                                     bool needsValue) {
  SourceSpan begin = current().span;
  llvm::StringRef keyword = text(advance());
  auto node = std::make_unique<Node>(begin);
  node->name = expectName(("the name of " + what).str(), node->nameSpan);
  if (!panicking && at(Tok::Comma) && needsValue) {
    expected("`=`").suggest("a `let` names one value; several are unpacked by "
                            "an equation, `a, b = ...`");
  }
  if (accept(Tok::Colon))
    node->type = parseType();
  else if (needsType && !panicking)
    expected(("`:` and the type of " + what).str())
        .suggest(
            ("write `" + keyword + " " + node->name + " : f32 = ...`").str());
  if (accept(Tok::Assign))
    node->value = parseExpr();
  else if (needsValue && !panicking)
    expected(("`=` and the value of " + what).str());
  else if (!panicking && !ends() && !at(Tok::Semicolon))
    expected(node->type ? "`=`" : "`:` or `=`");
  if (needsValue && !node->value)
    node->value = errorExpr(current().span);
  node->span = spanFrom(begin);
  return node;
}

template StatementPtr
Parser::parseNamedValue<LetStatement>(llvm::StringRef what, bool needsType,
                                      bool needsValue);

StatementPtr Parser::parseAssert() {
  SourceSpan begin = advance().span;
  auto node = std::make_unique<AssertStatement>(begin);
  node->condition = parseExpr();
  if (accept(Tok::Comma)) {
    if (at(Tok::String))
      node->text = stringValue(text(advance()));
    else
      expected("the text to show when the assertion fails, in quotes");
  }
  node->span = spanFrom(begin);
  return node;
}

StatementPtr Parser::parseDim() {
  SourceSpan begin = advance().span;
  auto node = std::make_unique<DimStatement>(begin);
  node->name = expectName("the name of a dim", node->nameSpan);
  if (!panicking && at(Tok::Comma))
    expected("`:` and the extent of the dim")
        .suggest("declare each dim in a statement of its own");
  else if (!panicking && at(Tok::Assign))
    expected("`:` and the extent of the dim")
        .suggest("write `dim " + node->name + " : ...`");
  else if (!panicking && !accept(Tok::Colon))
    expected("`:` and the extent of the dim");
  node->extent = parseExpr();
  if (!panicking && atWord("until")) {
    advance();
    node->until = parseExpr();
  }
  if (!panicking && atWord("as")) {
    advance();
    if (!atWord("seed"))
      expected("`seed` after `as`");
    else
      advance();
    node->isSeed = true;
  }
  node->span = spanFrom(begin);
  return node;
}

StatementPtr Parser::parseInput() {
  SourceSpan begin = advance().span;
  auto node = std::make_unique<InputStatement>(begin);
  node->name = expectName("the name of an input", node->nameSpan);
  expect(Tok::Colon, " and the type of the input");
  node->type = parseType();
  if (!panicking && atWord("over")) {
    advance();
    uint32_t opener = position;
    if (expect(Tok::LParen, " after `over`, as in `over (b, t)`")) {
      llvm::SaveAndRestore<bool> joinLines(newlineEnds, false);
      ++openBrackets;
      do {
        SourceSpan span;
        std::string dim = expectName("the name of a dim", span);
        if (panicking)
          break;
        node->over.push_back(std::move(dim));
        node->overSpans.push_back(span);
      } while (accept(Tok::Comma));
      close(opener, Tok::RParen);
    }
  }
  node->span = spanFrom(begin);
  return node;
}

ImportStatement::Module Parser::parseImportedModule() {
  ImportStatement::Module module;
  module.span = current().span;
  if (at(Tok::String)) {
    module.isFile = true;
    module.path = stringValue(text(advance()));
    module.alias = llvm::sys::path::stem(module.path).str();
    if (!atWord("as") &&
        (module.alias.empty() ||
         !(llvm::isAlpha(module.alias[0]) || module.alias[0] == '_') ||
         !llvm::all_of(module.alias,
                       [](char c) { return llvm::isAlnum(c) || c == '_'; })))
      error("E0125", module.span,
            "the name of this file can't be the name of its module")
          .suggest("name it: `import \"" + module.path + "\" as m`");
  } else {
    SourceSpan span;
    module.path = module.alias = expectName("the name of a module", span);
    while (!panicking && !ends() && accept(Tok::Dot)) {
      module.alias = expectName("the name of a module", span);
      module.path += "." + module.alias;
    }
  }
  if (!panicking && atWord("as")) {
    advance();
    SourceSpan span;
    module.alias = expectName("the name of a module", span);
  }
  module.span = spanFrom(module.span);
  return module;
}

StatementPtr Parser::parseImport() {
  SourceSpan begin = advance().span;
  auto node = std::make_unique<ImportStatement>(begin);
  do {
    ImportStatement::Module module = parseImportedModule();
    if (!panicking)
      node->modules.push_back(std::move(module));
  } while (accept(Tok::Comma));
  node->span = spanFrom(begin);
  return node;
}

Type Parser::parseType() {
  static const std::vector<std::string> dtypes = {
      "f32", "f64", "f16", "bf16", "i32", "i64", "u8", "bool", "int", "float"};
  Type type;
  type.span = current().span;
  if (panicking)
    return type;
  if (!at(Tok::Name)) {
    expected("a type");
    return type;
  }
  type.dtype = text(advance()).str();
  if (!llvm::is_contained(dtypes, type.dtype)) {
    llvm::StringRef instead = llvm::StringSwitch<llvm::StringRef>(type.dtype)
                                  .Cases({"float32", "single"}, "f32")
                                  .Cases({"float64", "double"}, "f64")
                                  .Cases({"float16", "half"}, "f16")
                                  .Case("bfloat16", "bf16")
                                  .Case("int32", "i32")
                                  .Cases({"int64", "long"}, "i64")
                                  .Cases({"uint8", "byte"}, "u8")
                                  .Case("boolean", "bool")
                                  .Default("");
    if (instead.empty())
      instead = nearestName(type.dtype, dtypes);
    mention("E0119", type.span, "there is no type `" + type.dtype + "`")
        .suggest(instead.empty()
                     ? "the types are f32, f64, f16, bf16, i32, i64, u8, bool, "
                       "and int and float for constants"
                     : ("did you mean `" + instead + "`?").str());
  }
  if (!ends() && at(Tok::LBracket)) {
    llvm::SaveAndRestore<bool> joinLines(newlineEnds, false);
    uint32_t opener = position;
    ++openBrackets;
    advance();
    while (!panicking && !at(Tok::RBracket)) {
      type.shape.push_back(parseExpr());
      if (!accept(Tok::Comma))
        break;
    }
    close(opener, Tok::RBracket);
  }
  type.span = spanFrom(type.span);
  return type;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void Parser::parseParameters(FunctionStatement &function) {
  uint32_t opener = position;
  if (!expect(Tok::LParen, " and the parameters of the function"))
    return;
  llvm::SaveAndRestore<bool> joinLines(newlineEnds, false);
  ++openBrackets;
  while (!panicking && !at(Tok::RParen)) {
    Parameter parameter;
    SourceSpan nameSpan;
    parameter.name = expectName("the name of a parameter", nameSpan);
    if (accept(Tok::Colon))
      parameter.type = parseType();
    if (accept(Tok::Assign))
      parameter.defaultValue = parseExpr();
    else if (!panicking && !function.parameters.empty() &&
             function.parameters.back().defaultValue)
      mention("E0124", nameSpan,
              "a parameter without a default follows one with a default")
          .suggest("move it before those with defaults");
    for (const Parameter &other : function.parameters)
      if (!panicking && other.name == parameter.name) {
        mention("E0123", nameSpan,
                "the parameter `" + parameter.name + "` is named twice")
            .note(other.span, "first named here");
        break;
      }
    parameter.span = spanFrom(nameSpan);
    function.parameters.push_back(std::move(parameter));
    if (!accept(Tok::Comma))
      break;
  }
  close(opener, Tok::RParen);
}

void Parser::parseResults(FunctionStatement &function) {
  if (!accept(Tok::Arrow))
    return;
  uint32_t opener = position;
  if (!accept(Tok::LParen)) {
    function.results.push_back(parseType());
    return;
  }
  llvm::SaveAndRestore<bool> joinLines(newlineEnds, false);
  ++openBrackets;
  while (!panicking && !at(Tok::RParen)) {
    function.results.push_back(parseType());
    if (!accept(Tok::Comma))
      break;
  }
  close(opener, Tok::RParen);
}

StatementPtr Parser::parseFunction() {
  const Token &first = current();
  SourceSpan begin = first.span;
  auto node = std::make_unique<FunctionStatement>(begin);
  node->docComment = docCommentAbove(first);
  node->isExtern = accept(Tok::Extern);
  expect(Tok::Fn, node->isExtern ? " after `extern`" : "");
  node->name = expectName("the name of a function", node->nameSpan);
  parseParameters(*node);
  parseResults(*node);
  if (node->isExtern) {
    if (!panicking && node->results.empty())
      expected("`->` and the types of the results")
          .suggest("a C function's types are all spelt out");
    if (!panicking && !atWord("from"))
      expected("`from` and the library in quotes");
    if (!panicking)
      advance();
    if (!panicking && at(Tok::String))
      node->library = stringValue(text(advance()));
    else
      expected("the name of a library in quotes");
  } else {
    if (!panicking && at(Tok::LBrace))
      expected("`=` and the value of the function")
          .suggest("write `=` before the block");
    else
      expect(Tok::Assign, " and the value of the function");
    node->body = parseExpr();
  }
  node->span = spanFrom(begin);
  return node;
}

//===----------------------------------------------------------------------===//
// Equations
//===----------------------------------------------------------------------===//

/// In a block: whether an equation starts here, rather than the block's value.
bool Parser::atEquation() const {
  for (uint32_t i = position;;) {
    if (lexed.tokens[i].kind != Tok::Name)
      return false;
    const Token *next = &lexed.tokens[++i];
    if (next->kind == Tok::LBracket && !next->lineStart) {
      if (next->partner == 0)
        return false;
      i = next->partner + 1;
      next = &lexed.tokens[i];
    }
    if (next->kind == Tok::Assign || next->kind == Tok::Colon)
      return true;
    if (next->kind != Tok::Comma)
      return false;
    ++i;
  }
}

void Parser::parseTargetIndices(LhsTensor &target) {
  llvm::SaveAndRestore<bool> joinLines(newlineEnds, false);
  uint32_t opener = position;
  ++openBrackets;
  advance();
  target.hasBrackets = true;
  while (!panicking && !at(Tok::RBracket)) {
    LhsItem item;
    item.span = current().span;
    item.index = parseExpr();
    if (accept(Tok::In)) {
      item.lo = parseExpr();
      expect(Tok::Colon, " and the end of the range, as in `t in 0:n`");
      item.hi = parseExpr();
    } else if (!panicking && at(Tok::Colon)) {
      expected("`,` or `]`")
          .suggest("a position on the left is an index; give "
                   "it a range with `t in 0:n`");
    }
    item.span = spanFrom(item.span);
    target.items.push_back(std::move(item));
    if (!accept(Tok::Comma))
      break;
  }
  close(opener, Tok::RBracket);
}

LhsTensor Parser::parseTarget(llvm::StringRef what) {
  LhsTensor target;
  target.span = current().span;
  target.name = expectName(what, target.nameSpan);
  if (!panicking && !ends() && at(Tok::LBracket))
    parseTargetIndices(target);
  if (accept(Tok::Colon))
    target.type = parseType();
  target.span = spanFrom(target.span);
  return target;
}

/// The statement starts with a name but is no equation: say what it may be.
void Parser::explainNoEquation(const LhsTensor &target) {
  const Token &token = current();
  bool nameAlone = !target.hasBrackets && !target.type;
  if (nameAlone && !ends() &&
      (token.kind == Tok::Name || token.kind == Tok::Int ||
       token.kind == Tok::String || isKeyword(token.kind) ||
       token.kind == Tok::LBrace)) {
    static const std::vector<std::string> words = {
        "param",  "let", "assert", "arg",    "dim", "input",
        "import", "fn",  "extern", "report", "save"};
    llvm::StringRef help =
        llvm::StringSwitch<llvm::StringRef>(target.name)
            .Cases({"def", "function", "func", "fun"},
                   "a function is written `fn f(x) = ...`")
            .Cases({"var", "const", "val"},
                   "a constant is written `let n = ...`")
            .Cases({"for", "while", "loop"},
                   "there are no loops: declare a `dim` and write an equation "
                   "over it")
            .Case("return", "a block's value is its last expression")
            .Case("from", "write `import module`")
            .Case("print", "metrics are written with `report`")
            .Default("");
    llvm::StringRef near = nearestName(target.name, words);
    std::string suggestion = help.str();
    if (help.empty())
      suggestion = near.empty()
                       ? "an equation is written `" + target.name + "[t] = ...`"
                       : ("did you mean `" + near + "`?").str();
    error("E0112", target.span,
          "no statement starts with `" + target.name + " " +
              text(token).take_front(20).str() + "`")
        .suggest(std::move(suggestion));
    return;
  }
  if (token.kind == Tok::LParen && nameAlone && !ends()) {
    expected("`=` or `[`", "E0112")
        .suggest("a function is defined by `fn " + target.name +
                 "(...) = ...`; a tensor's indices go in `[...]`");
    return;
  }
  if (token.kind == Tok::EqualEqual) {
    expected("`=`", "E0112").suggest("`==` compares; an equation has one `=`");
    return;
  }
  if (token.kind == Tok::Dot && !ends()) {
    expected("`=`", "E0112")
        .suggest("an equation defines a whole value: name the parts, "
                 "`x[t] = { part: ... }`");
    return;
  }
  if (token.kind == Tok::LBracket && !ends()) {
    expected("`=`", "E0112")
        .suggest("an equation defines whole values at a point; to replace a "
                 "part of one, use `scatter`");
    return;
  }
  if (isBinaryOperator(token.kind) && peek().kind == Tok::Assign) {
    expected("`=`", "E0112")
        .suggest("nothing is updated in place: the next point is another "
                 "point, `x[t+1] = x[t] ...`");
    return;
  }
  expected("`=` and the value of `" + target.name + "`", "E0112")
      .suggest("a statement defines something: `" + target.name +
               (target.hasBrackets ? "[...] = ...`" : " = ...`"));
}

StatementPtr Parser::parseEquation() {
  SourceSpan begin = current().span;
  auto node = std::make_unique<EquationStatement>(begin);
  do
    node->targets.push_back(parseTarget("the name of a tensor"));
  while (accept(Tok::Comma));
  if (!panicking && !accept(Tok::Assign))
    explainNoEquation(node->targets.back());
  node->value = parseExpr();
  // `a, b = c, d`: a tuple needs no parentheses where it is unpacked.
  if (node->targets.size() > 1 && !panicking && at(Tok::Comma)) {
    auto tuple = std::make_unique<TupleExpr>(node->value->span);
    tuple->height = node->value->height + 1;
    tuple->elements.push_back(std::move(node->value));
    while (accept(Tok::Comma)) {
      tuple->elements.push_back(parseExpr());
      tuple->height =
          std::max(tuple->height, tuple->elements.back()->height + 1);
    }
    tuple->span = spanFrom(tuple->span);
    node->value = checkHeight(std::move(tuple));
  }
  if (!panicking && (at(Tok::When) || at(Tok::Otherwise))) {
    node->guardSpan = current().span;
    node->isOtherwise = at(Tok::Otherwise);
    advance();
    if (!node->isOtherwise)
      node->when = parseExpr();
    node->guardSpan = spanFrom(node->guardSpan);
  }
  node->span = spanFrom(begin);
  return node;
}

StatementPtr Parser::parseReport() {
  SourceSpan begin = advance().span;
  auto node = std::make_unique<ReportStatement>(begin);
  node->target = parseTarget("the name of a metric");
  if (!panicking && !accept(Tok::Assign))
    expected("`=` and the value of the metric")
        .suggest("write `report " + node->target.name + "[...] = ...`");
  node->value = parseExpr();
  if (accept(Tok::When))
    node->when = parseExpr();
  else if (!panicking && at(Tok::Otherwise))
    expected("`when` or the end of the statement")
        .suggest("a metric is reported where its guard holds, and nowhere "
                 "else");
  node->span = spanFrom(begin);
  return node;
}

StatementPtr Parser::parseSave() {
  SourceSpan begin = advance().span;
  auto node = std::make_unique<SaveStatement>(begin);
  node->value = parseExpr();
  if (!panicking && at(Tok::Comma))
    expected("the end of the statement")
        .suggest("save each value in a statement of its own");
  node->span = spanFrom(begin);
  return node;
}
