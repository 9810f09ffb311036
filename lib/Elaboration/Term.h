//===- Term.h - What an expression stands for during elaboration -*- C++
//-*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_ELABORATION_TERM_H
#define TIMERL_LIB_ELABORATION_TERM_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "timerl/Frontend/AST.h"
#include "timerl/Symbolic/Expr.h"
#include "llvm/ADT/StringExtras.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace timerl::elaboration {

struct Environment;
struct ModuleScope;
struct TensorInfo;
class Elaborator;

/// Shape of a value: nested records and tuples down to leaves.
struct Structure {
  enum class Kind { Leaf, Record, Tuple };
  Kind kind = Kind::Leaf;
  mlir::RankedTensorType type; ///< of a leaf
  bool weak = false; ///< of a leaf: it may still take its context's type
  std::vector<std::string> names;
  std::vector<Structure> children;

  bool anyWeak() const;
  /// Same nesting and names; leaf types aside.
  bool sameNesting(const Structure &other) const;
  /// `f32[4, 2]`, `{ w: f32[4], b: f32 }`.
  std::string str() const;
  /// Calls `visit(path, type)` per leaf in order; paths as `actor.0.w`.
  void forEachLeaf(
      llvm::function_ref<void(const std::string &, const Structure &)> visit,
      const std::string &path = "") const;
};

/// `f32[4, 2]` for a tensor type, lengths as expressions.
std::string typeText(mlir::RankedTensorType type);

/// One index of a bracket that reads a recurrent tensor or an axis.
struct IndexValue {
  enum class Kind { At, Range, Dynamic };
  Kind kind = Kind::At;
  Expr lo; ///< the index of an `At`
  Expr hi;
  mlir::Value dynamic; ///< an integer scalar
  bool checked = false;
  SourceSpan span;
};

/// What an expression stands for.
///
/// Literals, params and dim names are *weak*: they have no dtype until they
/// meet one. `Int` and `Cond` are symbolic over dims; constants are a special
/// case. A `Weak` value is data (it varies with dims beyond what `Expr` can
/// say, such as `1 - i / n`, or it is a list of literals) whose dtype is not
/// yet chosen.
struct Term {
  enum class Kind {
    Error, ///< reported already; silently spreads
    Int,
    Cond,
    Float,
    String,
    Weak,
    Leaf, ///< an SSA value
    Arg,  ///< a run-time float or bool, by its symbol
    Lazy, ///< a read of one leaf tensor, made where it is used
    Record,
    Tuple,
    List, ///< `[a, b]`: a compile-time sequence until used as a tensor
    Function,
    Builtin,
    Module,
    Tensor, ///< a recurrent tensor or input by name, before its bracket
    Dim,    ///< a dim that is no index here
  };
  Kind kind = Kind::Error;
  Expr expr;                 ///< Int, Cond
  double number = 0;         ///< Float
  std::string text;          ///< String; Builtin's name
  mlir::Value leaf;          ///< Leaf
  bool weakFloat = false;    ///< Weak: a float, else an int
  std::vector<Expr> lengths; ///< Weak: its shape
  std::function<mlir::Value(mlir::Type elementType)> build; ///< Weak
  std::vector<std::string> names;                           ///< Record
  std::vector<Term> elements; ///< Record, Tuple, List
  const ast::FunctionStatement *function = nullptr;
  ModuleScope *module = nullptr;   ///< Function's home; Module
  TensorInfo *tensor = nullptr;    ///< Tensor, Lazy
  std::string symbol;              ///< Lazy: the leaf tensor's symbol; Arg
  mlir::RankedTensorType type;     ///< Lazy: with the axes of ranges
  std::vector<IndexValue> indices; ///< Lazy
  SourceSpan place;                ///< Lazy: where it was written,
  size_t depth = 0;                ///< in which call

  static Term error() { return {}; }
  static Term integer(Expr expr);
  static Term integer(int64_t value) { return integer(Expr::constant(value)); }
  static Term condition(Expr expr);
  static Term real(double number);
  static Term string(std::string text);
  static Term ofLeaf(mlir::Value leaf);
  static Term weak(bool isFloat, std::vector<Expr> lengths,
                   std::function<mlir::Value(mlir::Type)> build);
  static Term record(std::vector<std::string> names,
                     std::vector<Term> elements);
  static Term tuple(std::vector<Term> elements);
  static Term builtin(std::string name);

  bool isError() const { return kind == Kind::Error; }
  bool isAggregate() const {
    return kind == Kind::Record || kind == Kind::Tuple;
  }
  /// A number or bool without a dtype of its own.
  bool isWeakScalar() const {
    return kind == Kind::Int || kind == Kind::Cond || kind == Kind::Float;
  }
  bool isWeak() const { return isWeakScalar() || kind == Kind::Weak; }
  bool isConstInt() const { return kind == Kind::Int && expr.isConst(); }
  bool isConstBool() const {
    return kind == Kind::Cond && expr.kind() == Expr::Kind::Bool;
  }
  /// A number or condition fully known at compile time.
  bool isConst() const {
    return isConstInt() || isConstBool() || kind == Kind::Float;
  }
  /// Can it become one tensor value? (Not a record, function, string, ...)
  bool isData() const {
    return isWeak() || kind == Kind::Leaf || kind == Kind::Lazy ||
           kind == Kind::Arg || kind == Kind::List;
  }
  const Term *field(llvm::StringRef name) const;
  /// For messages: "a record", "a function", "an int".
  std::string describe() const;
};

/// Names in scope, innermost first.
struct Environment {
  std::shared_ptr<Environment> parent;
  ModuleScope *module = nullptr;
  std::vector<std::pair<std::string, Term>> names;

  static std::shared_ptr<Environment>
  inner(std::shared_ptr<Environment> parent);
  const Term *find(llvm::StringRef name) const;
  /// A dim of this name, even where the name is an index; its `expr` is its
  /// end.
  const Term *findDim(llvm::StringRef name) const;
  void define(std::string name, Term value);
};
using EnvironmentPtr = std::shared_ptr<Environment>;

} // namespace timerl::elaboration

#endif // TIMERL_LIB_ELABORATION_TERM_H
