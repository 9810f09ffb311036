//===- Record.h - Values of a whole run as arrays ---------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_INTERPRETER_RECORD_H
#define TIMERL_LIB_INTERPRETER_RECORD_H

#include "Evaluator.h"

namespace timerl::interp {

/// One tensor's recorded points.
struct Recorded {
  unsigned tensor;
  std::vector<std::pair<llvm::SmallVector<int64_t>, Array>> values;
};

/// Everything evaluated so far, in `InterpreterResult::record`'s form.
std::vector<NamedArray> writeRecord(Evaluator &evaluator);

/// Reads that form back; in the order of the program's tensors.
std::vector<Recorded> readRecord(const Program &program,
                                 llvm::ArrayRef<NamedArray> arrays);

/// Recomputes what a record holds and compares.
std::vector<Residual> checkRecord(Evaluator &evaluator,
                                  const InterpreterOptions &options);

} // namespace timerl::interp

#endif // TIMERL_LIB_INTERPRETER_RECORD_H
