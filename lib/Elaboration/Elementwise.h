//===- Elementwise.h - Emission of elementwise ops --------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_ELABORATION_ELEMENTWISE_H
#define TIMERL_LIB_ELABORATION_ELEMENTWISE_H

#include "Elaborator.h"

namespace timerl::elaboration {

/// Order of promotion: bool, u8, i32, i64, f32, f64.
int elementRank(mlir::Type type);
mlir::Type widerElement(mlir::Type a, mlir::Type b);

template <typename Op>
Term Elaborator::elementwise(llvm::ArrayRef<Term> operands, bool forceFloat,
                             SourceSpan span) {
  std::vector<Expr> lengths;
  bool anyFloat = forceFloat;
  for (const Term &operand : operands) {
    if (operand.isError())
      return operand;
    if (!operand.isData())
      return fail("E0204", span,
                  "expected a number or tensor, found " + operand.describe());
    auto joined = broadcastLengths(lengths, lengthsOf(operand), span);
    if (!joined)
      return Term::error();
    lengths = *joined;
    anyFloat |= isFloatValue(operand);
  }
  auto build = [this,
                values = std::vector<Term>(operands.begin(), operands.end()),
                lengths, span](mlir::Type type) -> mlir::Value {
    llvm::SmallVector<mlir::Value> leaves;
    for (const Term &value : values) {
      leaves.push_back(
          broadcast(materialize(value, type, span), lengths, span));
      if (!leaves.back())
        return {};
    }
    return Op::create(builder, location(span), leaves[0].getType(), leaves);
  };
  mlir::Type type = promote(operands, forceFloat);
  if (!type) {
    bool allBool = llvm::all_of(
        operands, [](const Term &v) { return v.kind == Term::Kind::Cond; });
    if (!allBool || forceFloat)
      return Term::weak(anyFloat, lengths, build);
    type = builder.getI1Type();
  }
  if (!canEmit())
    return fail("E0215", span, "this must be known at compile time");
  mlir::Value result = build(type);
  return result ? Term::ofLeaf(result) : Term::error();
}

} // namespace timerl::elaboration

#endif // TIMERL_LIB_ELABORATION_ELEMENTWISE_H
