//===- Variance.h - How values change from lane to lane ---------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_VECTORIZE_VARIANCE_H
#define TIMERL_VECTORIZE_VARIANCE_H

#include "mlir/IR/Value.h"
#include "timerl/Symbolic/Expr.h"
#include "trl/TrlDialect.h"
#include "llvm/ADT/DenseSet.h"
#include <map>

namespace timerl {

/// Of an index: equal in all lanes, one more from each lane to the next, or
/// any other way.
enum class Variance { Uniform, Consecutive, Varying };

/// The variances of variables; those without an entry are uniform.
using Variances = std::map<std::string, Variance>;

Variance varianceOf(const Expr &expr, const Variances &variables);

/// Adds the results in a body, and in bodies inside, that differ between lanes.
/// The ranges of binders and the conditions of cases do not.
void addVarying(mlir::Block &body, const Variances &variables,
                llvm::DenseSet<mlir::Value> &varying);

} // namespace timerl

#endif // TIMERL_VECTORIZE_VARIANCE_H
