//===- Convert.h - Index expressions to isl and back ------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_POLY_CONVERT_H
#define TIMERL_POLY_CONVERT_H

#include "timerl/Poly/Isl.h"
#include "timerl/Symbolic/Expr.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace timerl::poly {

/// The coordinates of a set: the names of its dims in order, which may hold any
/// text (`b'`). Variables of an expression that are no dims are parameters.
class Coordinates {
public:
  /// `parameters` come first in every space, so that spaces need no aligning;
  /// others that an expression mentions are added behind them.
  Coordinates(IslContext &context, llvm::ArrayRef<std::string> dims,
              llvm::ArrayRef<std::string> parameters,
              llvm::StringRef tuple = "");

  unsigned rank() const { return dims.size(); }
  llvm::ArrayRef<std::string> names() const { return dims; }
  IslContext &context() const { return *ctx; }
  /// The set space of these coordinates.
  const Space &space() const { return setSpace; }
  Set universe() const;

  /// The value of an integer expression at each point of the space.
  PwAff value(const Expr &expr) const;
  /// The points at which a condition holds.
  Set where(const Expr &condition) const;

private:
  Aff affine(const Expr &expr) const; ///< null if there is a div, mod, min, max
  PwAff constant(int64_t value) const;

  IslContext *ctx;
  llvm::SmallVector<std::string> dims;
  Space setSpace;
};

/// Expressions over the names that an isl object's dims and parameters have
/// (unescaped); `dims` gives those of the tuple. None when there is no such
/// expression: a piecewise value that is no minimum or maximum of its pieces.
std::optional<Expr> toExpr(const Aff &aff, llvm::ArrayRef<std::string> dims);
std::optional<Expr> toExpr(const PwAff &value,
                           llvm::ArrayRef<std::string> dims);
/// A condition that holds at exactly the points of the set. None when the set
/// needs variables that are no function of its dims.
std::optional<Expr> toCondition(const Set &set,
                                llvm::ArrayRef<std::string> dims);
/// Identifiers of the generated code are names escaped by `escapeName`.
std::optional<Expr> toExpr(isl_ast_expr *expr);

} // namespace timerl::poly

#endif // TIMERL_POLY_CONVERT_H
