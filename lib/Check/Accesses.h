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
#include "llvm/ADT/StringSet.h"
#include <vector>

namespace timerl::check {

struct Loop {
  mutable sched::ForOp op; // MLIR handles are not const-correct.
  std::string name;
};

/// The length of a dim that stops early, at a point of its outer dims: a
/// variable of its own wherever it is mentioned, since it is another number at
/// another point.
struct Length {
  std::string variable;
  std::string dim;
  Expr extent;                ///< which it does not exceed
  llvm::SmallVector<Expr> at; ///< over the loops' variables and binders
};

/// A place where something is executed: a statement, an output, the test that
/// ends an early-stopping loop, or where a length is asked for.
struct Place {
  mlir::Operation *op = nullptr;
  std::string name;
  llvm::SmallVector<Loop> loops; ///< around it, outermost first
  Expr condition;     ///< over the loops' variables and lengths: it is executed
  unsigned order = 0; ///< in the text of the program
};

/// One access, over its place's loop variables and further ones of its own:
/// binders and positions of ranges.
struct Access {
  unsigned place = 0;
  mlir::Operation *op = nullptr;
  /// Loop variables, then others, lengths among them.
  llvm::SmallVector<std::string> variables;
  std::vector<Length> lengths;
  Expr condition;
  llvm::SmallVector<Expr> point; ///< one index a position
};

struct Accesses {
  std::vector<Place> places;
  llvm::MapVector<llvm::StringRef, std::vector<Access>> reads, writes;
  llvm::SmallVector<std::string> parameters;
  /// Tensors that count points: written at each, read when all are done.
  llvm::StringSet<> counts;
  /// Loops that stop early without going through their dim as they must.
  llvm::SmallVector<sched::ForOp> strayLoops;

  explicit Accesses(sched::ProgramOp program);
};

} // namespace timerl::check

#endif // CHECK_ACCESSES_H
