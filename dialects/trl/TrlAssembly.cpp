//===- TrlAssembly.cpp - Custom assembly of the trl dialect ---------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Index expressions are written as quoted text, `["b", "t + 1"]`: MLIR's lexer
// reads `//` as a comment and could not take them bare.
//
//===----------------------------------------------------------------------===//

#include "TrlAssembly.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::trl;

/// Reads quoted text as an expression, in any notation: the canonical form is
/// made here.
static ParseResult parseExprString(AsmParser &parser, Expr &expr,
                                   StringRef text, SMLoc loc) {
  std::string error;
  auto parsed = Expr::parse(text, &error);
  if (!parsed)
    return parser.emitError(loc,
                            "'" + text + "' is no index expression: " + error);
  expr = *parsed;
  return success();
}

ParseResult trl::parseExprText(OpAsmParser &parser, ExprAttr &attr) {
  std::string text;
  SMLoc loc = parser.getCurrentLocation();
  Expr expr;
  if (parser.parseString(&text) || parseExprString(parser, expr, text, loc))
    return failure();
  attr = ExprAttr::get(parser.getContext(), expr);
  return success();
}
void trl::printExprText(OpAsmPrinter &printer, Operation *, ExprAttr attr) {
  printer << '"' << attr.getText() << '"';
}

/// `lo : hi` in one string.
static ParseResult parseRangeString(OpAsmParser &parser, ExprAttr &lo,
                                    ExprAttr &hi) {
  std::string text;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&text))
    return failure();
  auto [first, second] = StringRef(text).split(':');
  Expr from, to;
  if (parseExprString(parser, from, first, loc) ||
      parseExprString(parser, to, second, loc))
    return failure();
  lo = ExprAttr::get(parser.getContext(), from);
  hi = ExprAttr::get(parser.getContext(), to);
  return success();
}
static void printRangeString(OpAsmPrinter &printer, ExprAttr lo, ExprAttr hi) {
  printer << '"' << lo.getText() << " : " << hi.getText() << '"';
}

/// `t = "0 : 500"`.
static ParseResult parseOneIterator(OpAsmParser &parser,
                                    SmallVectorImpl<Attribute> &iterators) {
  std::string name;
  ExprAttr lo, hi;
  // A primed binder is no MLIR keyword; it is quoted.
  if (failed(parser.parseOptionalString(&name)))
    if (parser.parseKeywordOrString(&name))
      return failure();
  if (parser.parseEqual() || parseRangeString(parser, lo, hi))
    return failure();
  iterators.push_back(IterAttr::get(
      parser.getContext(), StringAttr::get(parser.getContext(), name), lo, hi));
  return success();
}
ParseResult trl::parseIterator(OpAsmParser &parser, ArrayAttr &attr) {
  SmallVector<Attribute> iterators;
  if (parseOneIterator(parser, iterators))
    return failure();
  attr = ArrayAttr::get(parser.getContext(), iterators);
  return success();
}
void trl::printIterator(OpAsmPrinter &printer, IterAttr iterator) {
  printer.printKeywordOrString(iterator.getName());
  printer << " = ";
  printRangeString(printer, iterator.getLo(), iterator.getHi());
}

ParseResult trl::parseIterators(OpAsmParser &parser, ArrayAttr &attr) {
  SmallVector<Attribute> iterators;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&] {
        return parseOneIterator(parser, iterators);
      }))
    return failure();
  attr = ArrayAttr::get(parser.getContext(), iterators);
  return success();
}
void trl::printIterators(OpAsmPrinter &printer, Operation *, ArrayAttr attr) {
  printer << '(';
  llvm::interleaveComma(
      attr.getAsRange<IterAttr>(), printer,
      [&](IterAttr iterator) { printIterator(printer, iterator); });
  printer << ')';
}

ParseResult trl::parseWhen(OpAsmParser &parser, ExprAttr &attr) {
  if (succeeded(parser.parseOptionalKeyword("when")))
    return parseExprText(parser, attr);
  attr = ExprAttr::get(parser.getContext(), Expr::boolean(true));
  return success();
}
void trl::printWhen(OpAsmPrinter &printer, Operation *op, ExprAttr attr) {
  if (attr.getText() == "true")
    return;
  printer << "when ";
  printExprText(printer, op, attr);
}

ParseResult trl::parseExprList(OpAsmParser &parser, ArrayAttr &attr) {
  SmallVector<Attribute> exprs;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     [&]() -> ParseResult {
                                       ExprAttr expr;
                                       if (parseExprText(parser, expr))
                                         return failure();
                                       exprs.push_back(expr);
                                       return success();
                                     }))
    return failure();
  attr = ArrayAttr::get(parser.getContext(), exprs);
  return success();
}
void trl::printExprList(OpAsmPrinter &printer, Operation *op, ArrayAttr attr) {
  printer << '[';
  llvm::interleaveComma(
      attr.getAsRange<ExprAttr>(), printer,
      [&](ExprAttr expr) { printExprText(printer, op, expr); });
  printer << ']';
}

ParseResult trl::parseTargets(OpAsmParser &parser, ArrayAttr &targets,
                              ArrayAttr &indices) {
  SmallVector<Attribute> names, lists;
  if (parser.parseCommaSeparatedList([&]() -> ParseResult {
        StringAttr name;
        ArrayAttr list;
        if (parser.parseSymbolName(name) || parseExprList(parser, list))
          return failure();
        names.push_back(FlatSymbolRefAttr::get(name));
        lists.push_back(list);
        return success();
      }))
    return failure();
  targets = ArrayAttr::get(parser.getContext(), names);
  indices = ArrayAttr::get(parser.getContext(), lists);
  return success();
}
void trl::printTargets(OpAsmPrinter &printer, Operation *op, ArrayAttr targets,
                       ArrayAttr indices) {
  llvm::interleaveComma(llvm::zip(targets, indices), printer, [&](auto pair) {
    printer.printAttribute(std::get<0>(pair));
    printExprList(printer, op, cast<ArrayAttr>(std::get<1>(pair)));
  });
}

ParseResult trl::parseIndices(OpAsmParser &parser, ArrayAttr &attr) {
  SmallVector<Attribute> indices;
  auto one = [&]() -> ParseResult {
    bool checked = succeeded(parser.parseOptionalKeyword("checked"));
    if (checked || succeeded(parser.parseOptionalKeyword("dyn"))) {
      ExprAttr lo, hi;
      if (parseRangeString(parser, lo, hi))
        return failure();
      indices.push_back(DynamicAttr::get(parser.getContext(), lo, hi, checked));
      return success();
    }
    std::string text;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseString(&text))
      return failure();
    auto [first, second] = StringRef(text).split(':');
    Expr lo, hi;
    if (parseExprString(parser, lo, first, loc))
      return failure();
    auto loAttr = ExprAttr::get(parser.getContext(), lo);
    if (second.empty()) {
      indices.push_back(AtAttr::get(parser.getContext(), loAttr));
      return success();
    }
    if (parseExprString(parser, hi, second, loc))
      return failure();
    indices.push_back(RangeAttr::get(parser.getContext(), loAttr,
                                     ExprAttr::get(parser.getContext(), hi)));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, one))
    return failure();
  attr = ArrayAttr::get(parser.getContext(), indices);
  return success();
}
void trl::printIndices(OpAsmPrinter &printer, Operation *op, ArrayAttr attr) {
  printer << '[';
  llvm::interleaveComma(attr, printer, [&](Attribute index) {
    if (auto at = dyn_cast<AtAttr>(index)) {
      printExprText(printer, op, at.getIndex());
    } else if (auto range = dyn_cast<RangeAttr>(index)) {
      printRangeString(printer, range.getLo(), range.getHi());
    } else {
      auto dynamic = cast<DynamicAttr>(index);
      printer << (dynamic.getChecked() ? "checked " : "dyn ");
      printRangeString(printer, dynamic.getLo(), dynamic.getHi());
    }
  });
  printer << ']';
}

ParseResult trl::parseSymbolList(OpAsmParser &parser, ArrayAttr &attr) {
  SmallVector<Attribute> symbols;
  if (parser.parseCommaSeparatedList([&]() -> ParseResult {
        StringAttr name;
        if (parser.parseSymbolName(name))
          return failure();
        symbols.push_back(FlatSymbolRefAttr::get(name));
        return success();
      }))
    return failure();
  attr = ArrayAttr::get(parser.getContext(), symbols);
  return success();
}
void trl::printSymbolList(OpAsmPrinter &printer, Operation *, ArrayAttr attr) {
  llvm::interleaveComma(
      attr, printer, [&](Attribute symbol) { printer.printAttribute(symbol); });
}

ParseResult trl::parseLengths(AsmParser &parser,
                              SmallVector<ExprAttr> &lengths) {
  return parser.parseCommaSeparatedList([&]() -> ParseResult {
    std::string text;
    SMLoc loc = parser.getCurrentLocation();
    Expr expr;
    if (parser.parseString(&text) || parseExprString(parser, expr, text, loc))
      return failure();
    lengths.push_back(ExprAttr::get(parser.getContext(), expr));
    return success();
  });
}
void trl::printLengths(AsmPrinter &printer, ArrayRef<ExprAttr> lengths) {
  llvm::interleaveComma(lengths, printer, [&](ExprAttr length) {
    printer << '"' << length.getText() << '"';
  });
}
