//===- AST.h - The syntax tree of a .trl file -------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What was written, with spans, and nothing that needs a name to be looked up.
// The grammar is in docs/language.md.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_FRONTEND_AST_H
#define TIMERL_FRONTEND_AST_H

#include "timerl/Frontend/Source.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace timerl::ast {

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

constexpr unsigned maxExprHeight = 1000;

class Expr {
public:
  enum class Kind {
    Int,
    Float,
    Bool,
    String,
    Name,
    Field,
    Index,
    Call,
    Unary,
    Binary,
    If,
    List,
    Tuple,
    Record,
    Block,
    Reduce,
    Fold,
    Build,
    Error, ///< a place where the parser recovered; already reported
  };
  virtual ~Expr() = default;
  Kind kind;
  SourceSpan span;
  /// Levels of expressions below and including this one. The parser bounds it
  /// by `maxExprHeight`, so that walking a tree by recursion is safe.
  unsigned height = 1;

protected:
  Expr(Kind kind, SourceSpan span) : kind(kind), span(span) {}
};
using ExprPtr = std::unique_ptr<Expr>;

/// CRTP helper: the kind and LLVM-style `classof`.
template <typename Derived, Expr::Kind theKind>
class ExprBase : public Expr {
public:
  explicit ExprBase(SourceSpan span) : Expr(theKind, span) {}
  static bool classof(const Expr *expr) { return expr->kind == theKind; }
};

struct IntExpr : ExprBase<IntExpr, Expr::Kind::Int> {
  using ExprBase::ExprBase;
  int64_t value = 0;
};
struct FloatExpr : ExprBase<FloatExpr, Expr::Kind::Float> {
  using ExprBase::ExprBase;
  double value = 0;
};
struct BoolExpr : ExprBase<BoolExpr, Expr::Kind::Bool> {
  using ExprBase::ExprBase;
  bool value = false;
};
struct StringExpr : ExprBase<StringExpr, Expr::Kind::String> {
  using ExprBase::ExprBase;
  std::string value; ///< escapes resolved
};
/// `x`, `b'` (primes are part of the name).
struct NameExpr : ExprBase<NameExpr, Expr::Kind::Name> {
  using ExprBase::ExprBase;
  std::string name;
};
/// `base.field`; tuples by number: `p.0`.
struct FieldExpr : ExprBase<FieldExpr, Expr::Kind::Field> {
  using ExprBase::ExprBase;
  ExprPtr base;
  std::string field;
  SourceSpan fieldSpan;
};
/// One position of a bracket: `e`, `lo:hi`, `lo:`, `:hi`, `:`.
struct IndexItem {
  SourceSpan span;
  bool isRange = false;
  ExprPtr lo; ///< the index itself when not a range; may be null in a range
  ExprPtr hi;
  ExprPtr declaredLo, declaredHi; ///< `j in lo:hi`: the index's declared range
};
/// `base[items]`.
struct IndexExpr : ExprBase<IndexExpr, Expr::Kind::Index> {
  using ExprBase::ExprBase;
  ExprPtr base;
  std::vector<IndexItem> items;
};
struct Argument {
  SourceSpan span;
  std::string name; ///< empty: positional
  ExprPtr value;
};
/// `callee(arguments)`; also one-argument reductions such as `max(q)`.
struct CallExpr : ExprBase<CallExpr, Expr::Kind::Call> {
  using ExprBase::ExprBase;
  ExprPtr callee;
  std::vector<Argument> arguments;
};
enum class UnaryOp { Neg, Not };
struct UnaryExpr : ExprBase<UnaryExpr, Expr::Kind::Unary> {
  using ExprBase::ExprBase;
  UnaryOp op = UnaryOp::Neg;
  ExprPtr operand;
};
enum class BinaryOp {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  MatMul,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or
};
struct BinaryExpr : ExprBase<BinaryExpr, Expr::Kind::Binary> {
  using ExprBase::ExprBase;
  BinaryOp op = BinaryOp::Add;
  ExprPtr lhs, rhs;
  SourceSpan opSpan;
};
struct IfExpr : ExprBase<IfExpr, Expr::Kind::If> {
  using ExprBase::ExprBase;
  ExprPtr condition, then, otherwise;
};
/// `[a, b, c]`: a stack along a new leading axis, or a shape.
struct ListExpr : ExprBase<ListExpr, Expr::Kind::List> {
  using ExprBase::ExprBase;
  std::vector<ExprPtr> elements;
};
/// `(a, b)`; `(a,)` has one element, `()` none.
struct TupleExpr : ExprBase<TupleExpr, Expr::Kind::Tuple> {
  using ExprBase::ExprBase;
  std::vector<ExprPtr> elements;
};
/// `{ name: value, ... }`.
struct RecordExpr : ExprBase<RecordExpr, Expr::Kind::Record> {
  using ExprBase::ExprBase;
  struct Field {
    std::string name;
    SourceSpan nameSpan;
    ExprPtr value;
  };
  std::vector<Field> fields;
};
struct Statement;
/// `{ let h = ...; dim t : T; x[t] = ...; e }`: statements, then the value.
/// The statements are `let`, `dim` and equations.
struct BlockExpr : ExprBase<BlockExpr, Expr::Kind::Block> {
  explicit BlockExpr(SourceSpan span);
  ~BlockExpr() override;
  std::vector<std::unique_ptr<Statement>> statements;
  ExprPtr value;
};
/// `k in lo:hi`, `k`, or (in `sum(x in leaves(g))`, `tuple`, `fold`) `x in e`.
struct Binder {
  SourceSpan span;
  std::string name;
  ExprPtr lo; ///< null: ranges like the dim of its name (primes removed)
  ExprPtr hi;
  ExprPtr elements; ///< `x in e`: iterates a tuple at compile time
};
/// `sum(k in t:T when c) body`.
struct ReduceExpr : ExprBase<ReduceExpr, Expr::Kind::Reduce> {
  using ExprBase::ExprBase;
  std::string reduction; ///< sum mean max min prod argmax all any
  SourceSpan nameSpan;
  std::vector<Binder> binders;
  ExprPtr filter; ///< may be null
  ExprPtr body;
};
/// `fold(l in 0:n; h = init) body`, unrolled at compile time.
struct FoldExpr : ExprBase<FoldExpr, Expr::Kind::Fold> {
  using ExprBase::ExprBase;
  Binder binder;
  std::string accumulator;
  SourceSpan accumulatorSpan;
  ExprPtr init, body;
};
/// `tuple(l in 0:n) body`, unrolled at compile time.
struct BuildExpr : ExprBase<BuildExpr, Expr::Kind::Build> {
  using ExprBase::ExprBase;
  Binder binder;
  ExprPtr body;
};
struct ErrorExpr : ExprBase<ErrorExpr, Expr::Kind::Error> {
  using ExprBase::ExprBase;
};

/// `f32[4, n]`, `int`; no brackets: rank 0.
struct Type {
  SourceSpan span;
  std::string dtype; ///< f32 f64 f16 bf16 i32 i64 u8 bool; int float for params
  std::vector<ExprPtr> shape;
};

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

struct Statement {
  enum class Kind {
    Param,
    Let,
    Assert,
    Arg,
    Dim,
    Input,
    Import,
    Function,
    Equation,
    Report,
    Save
  };
  virtual ~Statement() = default;
  Kind kind;
  SourceSpan span;

protected:
  Statement(Kind kind, SourceSpan span) : kind(kind), span(span) {}
};
using StatementPtr = std::unique_ptr<Statement>;

template <typename Derived, Statement::Kind theKind>
struct StatementBase : Statement {
  explicit StatementBase(SourceSpan span) : Statement(theKind, span) {}
  static bool classof(const Statement *s) { return s->kind == theKind; }
};

/// `param n : int = 64`, `arg lr : f32 = 1e-3`. Type and default may be absent.
template <Statement::Kind theKind>
struct NamedValue : StatementBase<NamedValue<theKind>, theKind> {
  using StatementBase<NamedValue<theKind>, theKind>::StatementBase;
  std::string name;
  SourceSpan nameSpan;
  std::optional<Type> type;
  ExprPtr value;
};
using ParamStatement = NamedValue<Statement::Kind::Param>;
using ArgStatement = NamedValue<Statement::Kind::Arg>;
using LetStatement = NamedValue<Statement::Kind::Let>;

struct AssertStatement
    : StatementBase<AssertStatement, Statement::Kind::Assert> {
  using StatementBase::StatementBase;
  ExprPtr condition;
  std::string text; ///< may be empty
};
/// `dim t : extent [until COND] [as seed]`.
struct DimStatement : StatementBase<DimStatement, Statement::Kind::Dim> {
  using StatementBase::StatementBase;
  std::string name;
  SourceSpan nameSpan;
  ExprPtr extent;
  ExprPtr until;
  bool isSeed = false;
};
/// `input x : f32[12, 12] over (b)`.
struct InputStatement : StatementBase<InputStatement, Statement::Kind::Input> {
  using StatementBase::StatementBase;
  std::string name;
  SourceSpan nameSpan;
  Type type;
  std::vector<std::string> over;
  std::vector<SourceSpan> overSpans;
};
/// `import nn, dist.categorical, "f.trl" as m`.
struct ImportStatement
    : StatementBase<ImportStatement, Statement::Kind::Import> {
  using StatementBase::StatementBase;
  struct Module {
    SourceSpan span;
    std::string path;  ///< `dist.categorical`, or a file name when `isFile`
    std::string alias; ///< the name it is known by: the last part by default
    bool isFile = false;
  };
  std::vector<Module> modules;
};
struct Parameter {
  SourceSpan span;
  std::string name;
  std::optional<Type> type;
  ExprPtr defaultValue;
};
/// `fn f(x: f32[n], eps = 1e-8) -> f32[n] = body`; `extern fn f(...) -> (...)
/// from "lib"`.
struct FunctionStatement
    : StatementBase<FunctionStatement, Statement::Kind::Function> {
  using StatementBase::StatementBase;
  std::string name;
  SourceSpan nameSpan;
  std::vector<Parameter> parameters;
  std::vector<Type> results; ///< as annotated; empty: not annotated
  ExprPtr body;              ///< null when extern
  bool isExtern = false;
  std::string library;
  std::string docComment; ///< the comment lines just above it
};
/// One position on a left-hand side: `t + 1`, or `t in 0:steps+1`.
struct LhsItem {
  SourceSpan span;
  ExprPtr index;
  ExprPtr lo, hi; ///< both or none
};
struct LhsTensor {
  SourceSpan span;
  std::string name;
  SourceSpan nameSpan;
  bool hasBrackets = false; ///< `x = e` has none: a tensor over no dims
  std::vector<LhsItem> items;
  std::optional<Type> type;
};
/// `x[...], y[...] = e [when COND | otherwise]`.
struct EquationStatement
    : StatementBase<EquationStatement, Statement::Kind::Equation> {
  using StatementBase::StatementBase;
  std::vector<LhsTensor> targets;
  ExprPtr value;
  ExprPtr when;
  bool isOtherwise = false;
  SourceSpan guardSpan;
};
/// `report m[i] = e [when COND]`.
struct ReportStatement
    : StatementBase<ReportStatement, Statement::Kind::Report> {
  using StatementBase::StatementBase;
  LhsTensor target;
  ExprPtr value;
  ExprPtr when;
};
/// `save net[iterations]`.
struct SaveStatement : StatementBase<SaveStatement, Statement::Kind::Save> {
  using StatementBase::StatementBase;
  ExprPtr value;
};

inline BlockExpr::BlockExpr(SourceSpan span) : ExprBase(span) {}
inline BlockExpr::~BlockExpr() = default;

/// One parsed file.
struct Module {
  uint32_t file = 0;
  std::string docComment; ///< the comment lines at the top
  std::vector<StatementPtr> statements;
};

/// Writes the tree as indented text (`--emit=ast`).
void print(const Module &module, llvm::raw_ostream &os);

} // namespace timerl::ast

#endif // TIMERL_FRONTEND_AST_H
