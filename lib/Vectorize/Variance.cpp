//===- Variance.cpp - How values change from lane to lane -----------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Vectorize/Variance.h"

using namespace mlir;
using namespace timerl;

Variance timerl::varianceOf(const Expr &expr, const Variances &variables) {
  if (expr.kind() == Expr::Kind::Var) {
    auto found = variables.find(expr.name().str());
    return found == variables.end() ? Variance::Uniform : found->second;
  }
  Variance result = Variance::Uniform;
  for (auto [k, operand] : llvm::enumerate(expr.operands())) {
    Variance next = varianceOf(operand, variables);
    if (next == Variance::Uniform)
      continue;
    if (next != Variance::Consecutive || result != Variance::Uniform ||
        expr.kind() != Expr::Kind::Sum || expr.coefficients()[k] != 1)
      return Variance::Varying;
    result = Variance::Consecutive;
  }
  return result;
}

/// Whether an index expression anywhere in an attribute differs between lanes.
static bool mentionsVarying(Attribute attribute, const Variances &variables) {
  bool found = false;
  attribute.walk([&](trl::ExprAttr expr) {
    found |= varianceOf(expr.getExpr(), variables) != Variance::Uniform;
  });
  return found;
}

void timerl::addVarying(Block &body, const Variances &variables,
                        llvm::DenseSet<Value> &varying) {
  for (Operation &op : body.without_terminator()) {
    auto differs = [&](Value value) { return varying.contains(value); };
    bool all = llvm::any_of(op.getOperands(), differs);
    for (NamedAttribute attribute : op.getAttrs())
      all |= mentionsVarying(attribute.getValue(), variables);
    Variances inner = variables;
    // A binder hides a dim of the same name.
    if (auto reduce = dyn_cast<trl::ReduceOverOp>(op))
      for (auto iter : reduce.getBinders().getAsRange<trl::IterAttr>())
        inner.erase(iter.getName().str());
    SmallVector<bool> results(op.getNumResults(), all);
    for (Region &region : op.getRegions()) {
      addVarying(region.front(), inner, varying);
      auto yielded = region.front().getTerminator()->getOperands();
      for (auto [k, value] : llvm::enumerate(yielded)) {
        // A filter, yielded last, concerns all results.
        if (k >= results.size() && differs(value))
          results.assign(results.size(), true);
        else if (k < results.size())
          results[k] = results[k] || differs(value);
      }
    }
    for (auto [result, is] : llvm::zip(op.getResults(), results))
      if (is)
        varying.insert(result);
  }
}
