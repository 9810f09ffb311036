//===- Definitions.h - The proof of definition ------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shows that a `trl` module is a definition of its tensors: every point that is
// read is defined, none is defined twice, and none depends on itself. What does
// not hold is reported with a point at which it fails, in the program's words.
//
//   E0401  a point is read that no equation defines
//   E0402  two equations, or one equation twice, define a point
//   E0403  a point depends on itself
//   E0404  a range runs backwards
//   E0405  nothing is known of the range of an index that is computed
//   E0406  a dim has no points
//   E0407  too hard to decide within the limit on work
//   E0408  an index lies outside the axis of a value
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_POLY_DEFINITIONS_H
#define TIMERL_POLY_DEFINITIONS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace timerl::poly {

/// One mistake of the program.
struct ProofError {
  std::string code;
  mlir::Location place;
  std::string message;
  std::string help; ///< empty: none
  std::vector<std::pair<mlir::Location, std::string>> notes;
};

/// Derives the ranges of computed indices (see Ranges.h), writes them into the
/// module, and proves it. The errors are in program order; none is a proof.
std::vector<ProofError> proveDefinitions(mlir::ModuleOp module);

/// `trl-prove-definitions`: the same as a pass. An error is an MLIR
/// error `E0401: ...` with its notes, and `help: ...` as the last of them.
std::unique_ptr<mlir::Pass> createProveDefinitionsPass();
void registerPolyPasses();

} // namespace timerl::poly

#endif // TIMERL_POLY_DEFINITIONS_H
