//===- Ranges.h - What is known of computed indices -------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward analysis of the values that integers may have, with symbolic bounds
// over the dims in scope: randint(max(0, k + 1 - n), k + 1) lies between
// max(0, k + 1 - n) and k. It goes through recurrences, with widening of bounds
// that keep growing (P. Cousot, R. Cousot, "Abstract Interpretation", POPL 1977).
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_POLY_RANGES_H
#define TIMERL_POLY_RANGES_H

#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace timerl::poly {

/// Writes the range of every dynamic index of a `trl.read` or `trl.extract` that
/// has no declared one into its `#trl.dynamic`. Returns the reads with an index
/// of which one bound is unknown; such an index of an extract, which is clamped
/// to its axis, is left without a range.
std::vector<mlir::Operation *> deriveIndexRanges(mlir::ModuleOp module);

} // namespace timerl::poly

#endif // TIMERL_POLY_RANGES_H
