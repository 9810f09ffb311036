//===- Children.h - Children of a syntax tree node --------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_ELABORATION_CHILDREN_H
#define TIMERL_LIB_ELABORATION_CHILDREN_H

#include "timerl/Frontend/AST.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace timerl::elaboration {

/// Calls `visit(child, names)` for each child expression, with the names that
/// the node binds in that child.
void forEachChild(const ast::Expr *expr,
                  llvm::function_ref<void(const ast::Expr *,
                                          const std::vector<std::string> &)>
                      visit);

} // namespace timerl::elaboration

#endif // TIMERL_LIB_ELABORATION_CHILDREN_H
