//===- Naming.h - Points and equations in the program's words ---*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLY_NAMING_H
#define POLY_NAMING_H

#include "timerl/Poly/Access.h"

namespace timerl::poly {

class Naming {
public:
  explicit Naming(const Program &program) : program(program) {}

  /// The tensor as its author knows it: `next` for the leaf `next.state.x`.
  std::string tensor(llvm::StringRef symbol) const;
  /// `s[b, i, 501]`, quoted.
  std::string point(llvm::StringRef symbol,
                    llvm::ArrayRef<std::string> indices) const;
  std::string point(llvm::StringRef symbol,
                    llvm::ArrayRef<int64_t> indices) const;
  /// What an equation defines first, or which output it is, quoted.
  std::string statement(const Statement &statement) const;
  /// The same at one instance: `a[0, 3]`.
  std::string instance(const Statement &statement,
                       llvm::ArrayRef<int64_t> values) const;
  /// What an equation defines first, without indices.
  std::string subject(const Statement &statement) const;

private:
  const Program &program;
};

/// A failing point of a scope: which names matter, and their values.
struct Witness {
  llvm::SmallVector<std::string> names;
  llvm::SmallVector<int64_t> values;
  llvm::SmallVector<bool> free; ///< any other value fails as well
  llvm::SmallVector<std::pair<std::string, int64_t>> parameters;

  /// ` at t = 500`, or nothing.
  std::string at() const;
  /// An index expression, with the values that matter put in.
  std::string text(const Expr &expr) const;
};

/// The least point of `failing`, a part of `scope.points`; none when it is
/// empty.
std::optional<Witness> findWitness(const Scope &scope, const Set &failing);

} // namespace timerl::poly

#endif // POLY_NAMING_H
