//===- Expr.h - Symbolic index expressions and conditions -------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quasi-affine expressions over named iteration dims (`t + 1`, `k // 4`,
// `min(t + 8, 128)`) and the conditions over them (`t % 2 == 0 and not b < 3`).
// Values are immutable and kept in a canonical form, so that equality of
// expressions is equality of trees, and that the text of an expression, which
// keeps the program's own names, identifies it. Neither MLIR nor isl is needed.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_SYMBOLIC_EXPR_H
#define TIMERL_SYMBOLIC_EXPR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace timerl {

/// An integer expression or a condition. Integer expressions are exact: an
/// operation whose constants leave 64 bits yields an `Overflow` expression,
/// which absorbs everything and for which `isOverflow()` holds.
class Expr {
public:
  enum class Kind {
    // Integers. Canonical form of a sum: constant + coefficients * atoms,
    // atoms in the order of their text.
    Const,    ///< value()
    Var,      ///< name(): a dim, a binder, a parameter or `end(t)`
    Sum,      ///< value() + sum of coefficients()[k] * operands()[k]
    FloorDiv, ///< operands()[0] // value(), value() > 1
    Mod,      ///< operands()[0] % value(), result in [0, value()), value() > 1
    Min,      ///< of two or more operands
    Max,
    Overflow,
    // Conditions.
    Bool, ///< value() != 0
    Eq,   ///< operands()[0] == 0
    Ge,   ///< operands()[0] >= 0
    And,
    Or,
    Not, ///< of an Eq only: the rest is pushed inwards
  };

  /// The constant 0.
  Expr() : Expr(constant(0)) {}

  static Expr constant(int64_t value);
  static Expr var(llvm::StringRef name);
  static Expr boolean(bool value);
  static Expr floorDiv(const Expr &lhs, int64_t rhs); ///< rhs != 0, else 0
  static Expr mod(const Expr &lhs, int64_t rhs);  ///< floor; rhs != 0, else 0
  static Expr min(llvm::ArrayRef<Expr> operands); ///< at least one
  static Expr max(llvm::ArrayRef<Expr> operands);
  static Expr eq(const Expr &lhs, const Expr &rhs);
  static Expr ne(const Expr &lhs, const Expr &rhs);
  static Expr le(const Expr &lhs, const Expr &rhs);
  static Expr lt(const Expr &lhs, const Expr &rhs);
  static Expr ge(const Expr &lhs, const Expr &rhs) { return le(rhs, lhs); }
  static Expr gt(const Expr &lhs, const Expr &rhs) { return lt(rhs, lhs); }
  static Expr conj(llvm::ArrayRef<Expr> operands); ///< `and`; true when empty
  static Expr disj(llvm::ArrayRef<Expr> operands); ///< `or`; false when empty
  static Expr negate(const Expr &condition);       ///< `not`

  Expr operator+(const Expr &rhs) const;
  Expr operator-(const Expr &rhs) const;
  Expr operator-() const { return *this * -1; }
  Expr operator*(int64_t factor) const;
  /// The product, when one side is constant; none otherwise (not affine).
  static std::optional<Expr> mul(const Expr &lhs, const Expr &rhs);

  Kind kind() const;
  bool isCondition() const { return kind() >= Kind::Bool; }
  bool isOverflow() const { return kind() == Kind::Overflow; }
  bool isConst() const { return kind() == Kind::Const; }
  bool isTrue() const { return kind() == Kind::Bool && value(); }
  bool isFalse() const { return kind() == Kind::Bool && !value(); }
  std::optional<int64_t> getConst() const;
  int64_t value() const;
  llvm::StringRef name() const;
  llvm::ArrayRef<Expr> operands() const;
  llvm::ArrayRef<int64_t> coefficients() const;

  bool operator==(const Expr &rhs) const;
  bool operator!=(const Expr &rhs) const { return !(*this == rhs); }

  /// Replaces variables; `map` returns none for those that stay.
  Expr substitute(
      llvm::function_ref<std::optional<Expr>(llvm::StringRef)> map) const;
  Expr rename(llvm::function_ref<std::string(llvm::StringRef)> map) const;

  /// The value under a binding of every variable; conditions give 0 or 1.
  /// None when a variable is unbound or the arithmetic overflows.
  std::optional<int64_t>
  evaluate(llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> binding)
      const;

  /// Names of all variables, each once, in order of first mention.
  std::vector<std::string> variables() const;
  bool mentions(llvm::StringRef name) const;

  /// The expression in the language's own notation: `2*t + 1`, `k // 4`,
  /// `t % 2 == 0 and i >= 1`. `parse` reads it back.
  std::string str() const;
  /// The same in isl's notation: `floor((k)/4)`, `(t mod 2) = 0`. Names are
  /// written by `rename` (isl accepts neither primes nor parentheses).
  std::string
  islStr(llvm::function_ref<std::string(llvm::StringRef)> rename) const;

  /// Reads `str()`'s notation. On failure returns none and says why.
  static std::optional<Expr> parse(llvm::StringRef text,
                                   std::string *error = nullptr);

private:
  struct Node;
  explicit Expr(std::shared_ptr<const Node> node) : node(std::move(node)) {}
  static Expr make(Kind kind, int64_t value, std::string name,
                   std::vector<Expr> operands,
                   std::vector<int64_t> coefficients);
  static Expr overflow();
  /// offset + the sum of factors[k] * operands[k].
  static Expr sumOf(llvm::ArrayRef<Expr> operands,
                    llvm::ArrayRef<int64_t> factors, int64_t offset);
  static Expr minMax(Kind kind, llvm::ArrayRef<Expr> operands);
  static Expr junction(Kind kind, llvm::ArrayRef<Expr> operands);
  std::shared_ptr<const Node> node;
};

} // namespace timerl

#endif // TIMERL_SYMBOLIC_EXPR_H
