//===- Conditions.h - Parts of conditions over indices ----------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_SYMBOLIC_CONDITIONS_H
#define TIMERL_SYMBOLIC_CONDITIONS_H

#include "timerl/Symbolic/Expr.h"
#include "llvm/ADT/SmallVector.h"

namespace timerl {

/// The conjuncts of a condition; none of a true one.
inline llvm::SmallVector<Expr> conjuncts(const Expr &condition) {
  if (condition.isTrue())
    return {};
  if (condition.kind() == Expr::Kind::And)
    return llvm::SmallVector<Expr>(condition.operands());
  return {condition};
}

} // namespace timerl

#endif // TIMERL_SYMBOLIC_CONDITIONS_H
