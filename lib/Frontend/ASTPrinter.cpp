//===- ASTPrinter.cpp - The syntax tree as indented text ------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Frontend/AST.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace timerl;
using namespace timerl::ast;

namespace {
/// One line a node, its children below it, two spaces further in.
class Printer {
public:
  explicit Printer(llvm::raw_ostream &os) : os(os) {}

  void print(const Module &module) {
    line("module");
    Scope scope(*this);
    printDoc(module.docComment);
    for (const StatementPtr &statement : module.statements)
      print(*statement);
  }

private:
  struct Scope {
    explicit Scope(Printer &printer) : printer(printer) { ++printer.depth; }
    ~Scope() { --printer.depth; }
    Printer &printer;
  };

  void line(const llvm::Twine &text) { os.indent(2 * depth) << text << '\n'; }
  void printQuoted(llvm::StringRef label, llvm::StringRef text) {
    os.indent(2 * depth) << label << " \"";
    os.write_escaped(text) << "\"\n";
  }
  void printDoc(llvm::StringRef text) {
    if (!text.empty())
      printQuoted("doc", text);
  }
  /// A labelled child; nothing when absent.
  void child(llvm::StringRef label, const ExprPtr &expr) {
    if (!expr)
      return;
    line(label);
    Scope scope(*this);
    print(*expr);
  }

  void print(const Statement &statement);
  void print(const Expr &expr);
  void print(const Type &type);
  void print(const Binder &binder);
  void print(const LhsTensor &target);
  void print(const FunctionStatement &function);
  void printChildren(const Expr &expr);
  template <typename Node>
  void printNamed(llvm::StringRef keyword, const Node &node);

  llvm::raw_ostream &os;
  unsigned depth = 0;
};
} // namespace

static llvm::StringRef operatorText(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add:
    return "+";
  case BinaryOp::Sub:
    return "-";
  case BinaryOp::Mul:
    return "*";
  case BinaryOp::Div:
    return "/";
  case BinaryOp::FloorDiv:
    return "//";
  case BinaryOp::Mod:
    return "%";
  case BinaryOp::Pow:
    return "^";
  case BinaryOp::MatMul:
    return "@";
  case BinaryOp::Eq:
    return "==";
  case BinaryOp::Ne:
    return "!=";
  case BinaryOp::Lt:
    return "<";
  case BinaryOp::Le:
    return "<=";
  case BinaryOp::Gt:
    return ">";
  case BinaryOp::Ge:
    return ">=";
  case BinaryOp::And:
    return "and";
  case BinaryOp::Or:
    return "or";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// What an expression is, without its children.
static std::string headline(const Expr &expr) {
  return llvm::TypeSwitch<const Expr *, std::string>(&expr)
      .Case([](const IntExpr *e) { return "int " + std::to_string(e->value); })
      .Case([](const FloatExpr *e) {
        llvm::SmallString<24> text;
        llvm::raw_svector_ostream(text) << llvm::format("%.17g", e->value);
        // The shortest text that reads back as the same number.
        for (int digits = 1; digits < 17; ++digits) {
          llvm::SmallString<24> shorter;
          llvm::raw_svector_ostream(shorter)
              << llvm::format("%.*g", digits, e->value);
          double back;
          if (!shorter.str().getAsDouble(back) && back == e->value) {
            text = shorter;
            break;
          }
        }
        return ("float " + text).str();
      })
      .Case([](const BoolExpr *e) { return e->value ? "true" : "false"; })
      .Case([](const StringExpr *e) {
        std::string text;
        llvm::raw_string_ostream stream(text);
        stream << "string \"";
        stream.write_escaped(e->value) << '"';
        return text;
      })
      .Case([](const NameExpr *e) { return "name " + e->name; })
      .Case([](const FieldExpr *e) { return "field ." + e->field; })
      .Case([](const IndexExpr *) { return "index"; })
      .Case([](const CallExpr *) { return "call"; })
      .Case([](const UnaryExpr *e) {
        return e->op == UnaryOp::Neg ? "unary -" : "unary not";
      })
      .Case([](const BinaryExpr *e) {
        return ("binary " + operatorText(e->op)).str();
      })
      .Case([](const IfExpr *) { return "if"; })
      .Case([](const ListExpr *) { return "list"; })
      .Case([](const TupleExpr *) { return "tuple"; })
      .Case([](const RecordExpr *) { return "record"; })
      .Case([](const BlockExpr *) { return "block"; })
      .Case([](const ReduceExpr *e) { return "reduce " + e->reduction; })
      .Case([](const FoldExpr *e) { return "fold " + e->accumulator; })
      .Case([](const BuildExpr *) { return "build"; })
      .Default([](const Expr *) { return "error"; });
}

void Printer::print(const Binder &binder) {
  line("binder " + binder.name);
  Scope scope(*this);
  child("from", binder.lo);
  child("to", binder.hi);
  child("of", binder.elements);
}

void Printer::print(const Expr &expr) {
  line(headline(expr));
  Scope scope(*this);
  printChildren(expr);
}

void Printer::printChildren(const Expr &expr) {
  llvm::TypeSwitch<const Expr *>(&expr)
      .Case([&](const FieldExpr *e) { print(*e->base); })
      .Case([&](const IndexExpr *e) {
        print(*e->base);
        for (const IndexItem &item : e->items) {
          line(item.isRange ? "range" : "at");
          Scope scope(*this);
          if (!item.isRange) {
            print(*item.lo);
            child("from", item.declaredLo);
            child("to", item.declaredHi);
            continue;
          }
          child("from", item.lo);
          child("to", item.hi);
        }
      })
      .Case([&](const CallExpr *e) {
        print(*e->callee);
        for (const Argument &argument : e->arguments)
          child(argument.name.empty() ? "argument"
                                      : "argument " + argument.name,
                argument.value);
      })
      .Case([&](const UnaryExpr *e) { print(*e->operand); })
      .Case([&](const BinaryExpr *e) {
        print(*e->lhs);
        print(*e->rhs);
      })
      .Case([&](const IfExpr *e) {
        print(*e->condition);
        child("then", e->then);
        child("else", e->otherwise);
      })
      .Case<ListExpr, TupleExpr>([&](const auto *e) {
        for (const ExprPtr &element : e->elements)
          print(*element);
      })
      .Case([&](const RecordExpr *e) {
        for (const RecordExpr::Field &field : e->fields)
          child(field.name, field.value);
      })
      .Case([&](const BlockExpr *e) {
        for (const auto &statement : e->statements)
          print(*statement);
        child("value", e->value);
      })
      .Case([&](const ReduceExpr *e) {
        for (const Binder &binder : e->binders)
          print(binder);
        child("when", e->filter);
        child("body", e->body);
      })
      .Case([&](const FoldExpr *e) {
        print(e->binder);
        child("start", e->init);
        child("body", e->body);
      })
      .Case([&](const BuildExpr *e) {
        print(e->binder);
        child("body", e->body);
      })
      .Default([](const Expr *) {});
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void Printer::print(const Type &type) {
  line("type " + type.dtype);
  Scope scope(*this);
  for (const ExprPtr &extent : type.shape)
    print(*extent);
}

template <typename Node>
void Printer::printNamed(llvm::StringRef keyword, const Node &node) {
  line(keyword + " " + node.name);
  Scope scope(*this);
  if (node.type)
    print(*node.type);
  child("value", node.value);
}

void Printer::print(const LhsTensor &target) {
  line("target " + target.name + (target.hasBrackets ? "[]" : ""));
  Scope scope(*this);
  for (const LhsItem &item : target.items) {
    line("at");
    Scope inner(*this);
    print(*item.index);
    child("from", item.lo);
    child("to", item.hi);
  }
  if (target.type)
    print(*target.type);
}

void Printer::print(const FunctionStatement &function) {
  line((function.isExtern ? "extern fn " : "fn ") + function.name);
  Scope scope(*this);
  printDoc(function.docComment);
  for (const Parameter &parameter : function.parameters) {
    line("parameter " + parameter.name);
    Scope inner(*this);
    if (parameter.type)
      print(*parameter.type);
    child("default", parameter.defaultValue);
  }
  for (const Type &type : function.results) {
    line("result");
    Scope inner(*this);
    print(type);
  }
  child("value", function.body);
  if (function.isExtern)
    printQuoted("from", function.library);
}

void Printer::print(const Statement &statement) {
  llvm::TypeSwitch<const Statement *>(&statement)
      .Case([&](const ParamStatement *s) { printNamed("param", *s); })
      .Case([&](const LetStatement *s) { printNamed("let", *s); })
      .Case([&](const ArgStatement *s) { printNamed("arg", *s); })
      .Case([&](const AssertStatement *s) {
        line("assert");
        Scope scope(*this);
        print(*s->condition);
        if (!s->text.empty())
          printQuoted("text", s->text);
      })
      .Case([&](const DimStatement *s) {
        line("dim " + s->name + (s->isSeed ? " as seed" : ""));
        Scope scope(*this);
        child("extent", s->extent);
        child("until", s->until);
      })
      .Case([&](const InputStatement *s) {
        line("input " + s->name);
        Scope scope(*this);
        print(s->type);
        if (!s->over.empty())
          line("over " + llvm::join(s->over, " "));
      })
      .Case([&](const ImportStatement *s) {
        for (const ImportStatement::Module &module : s->modules) {
          if (module.isFile)
            printQuoted("import as " + module.alias, module.path);
          else
            line("import " + module.path + " as " + module.alias);
        }
      })
      .Case([&](const FunctionStatement *s) { print(*s); })
      .Case([&](const EquationStatement *s) {
        line("equation");
        Scope scope(*this);
        for (const LhsTensor &target : s->targets)
          print(target);
        child("value", s->value);
        child("when", s->when);
        if (s->isOtherwise)
          line("otherwise");
      })
      .Case([&](const ReportStatement *s) {
        line("report");
        Scope scope(*this);
        print(s->target);
        child("value", s->value);
        child("when", s->when);
      })
      .Case([&](const SaveStatement *s) {
        line("save");
        Scope scope(*this);
        print(*s->value);
      });
}

void ast::print(const Module &module, llvm::raw_ostream &os) {
  Printer(os).print(module);
}
