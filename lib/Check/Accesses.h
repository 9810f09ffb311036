//===- Accesses.h - Reads and writes of a schedule --------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHECK_ACCESSES_H
#define CHECK_ACCESSES_H

#include "sched/SchedDialect.h"
#include "llvm/ADT/MapVector.h"
#include <vector>

namespace timerl::check {

struct Loop {
  mutable sched::ForOp op; // MLIR handles are not const-correct.
  std::string name;
};

/// A place where something is executed: a statement, an output, or the test
/// that ends an early-stopping loop.
struct Place {
  mlir::Operation *op = nullptr;
  std::string name;
  llvm::SmallVector<Loop> loops; ///< around it, outermost first
  Expr condition;                ///< over the loops' variables: it is executed
  unsigned order = 0;            ///< in the text of the program
};

/// One access, over its place's loop variables and further ones of its own:
/// binders and positions of ranges.
struct Access {
  unsigned place = 0;
  mlir::Operation *op = nullptr;
  llvm::SmallVector<std::string> variables; ///< loop variables, then others
  Expr condition;
  llvm::SmallVector<Expr> point; ///< one index a position
};

struct Accesses {
  std::vector<Place> places;
  llvm::MapVector<llvm::StringRef, std::vector<Access>> reads, writes;
  /// Names of parameters, with what holds of them.
  llvm::SmallVector<std::string> parameters;
  Expr assumptions;

  explicit Accesses(sched::ProgramOp program);
};

} // namespace timerl::check

#endif // CHECK_ACCESSES_H
