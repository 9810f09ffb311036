//===- InterpreterTest.h - Running modules from text ------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_TEST_UNIT_INTERPRETERTEST_H
#define TIMERL_TEST_UNIT_INTERPRETERTEST_H

#include "catch2/catch.hpp"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "timerl/Interpreter/Interpreter.h"
#include "trl/TrlDialect.h"
#include "llvm/Support/raw_ostream.h"

/// What is done to a module between parsing and interpretation; a test of a
/// pass sets it, so that the interpreter's own programs are programs of its,
/// too.
inline void (*prepareModule)(mlir::ModuleOp) = nullptr;

/// Interprets a module of the `trl` dialect given as text.
inline timerl::InterpreterResult
run(const std::string &text, const timerl::InterpreterOptions &options = {},
    bool expectFailure = false) {
  static mlir::MLIRContext context;
  context.getOrLoadDialect<timerl::trl::TrlDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  if (prepareModule)
    prepareModule(*module);
  auto result = timerl::interpret(*module, options);
  if (!expectFailure) {
    INFO((result.error ? result.error->message : ""));
    REQUIRE(!result.error);
  }
  return result;
}
inline timerl::InterpreterResult run(const std::string &text,
                                     bool expectFailure) {
  return run(text, timerl::InterpreterOptions(), expectFailure);
}

/// The error that it ends with, `CODE: message`.
inline std::string failure(const std::string &text,
                           const timerl::InterpreterOptions &options = {}) {
  auto result = run(text, options, /*expectFailure=*/true);
  return result.error ? result.error->code + ": " + result.error->message
                      : "none";
}

inline const timerl::InterpreterOutput &
output(const timerl::InterpreterResult &result, const std::string &name) {
  for (auto &output : result.outputs)
    if (output.name == name)
      return output;
  FAIL("no output " + name);
  return result.outputs[0];
}

inline double scalar(const timerl::InterpreterResult &result,
                     const std::string &name) {
  return output(result, name).values[0].getDouble(0);
}

/// All elements of a saved array.
inline std::vector<double> saved(const timerl::InterpreterResult &result,
                                 const std::string &name) {
  std::vector<double> values;
  for (auto &array : timerl::savedArrays(result))
    if (array.name == name)
      for (int64_t k = 0; k < array.value.size(); ++k)
        values.push_back(array.value.getDouble(k));
  return values;
}

#endif // TIMERL_TEST_UNIT_INTERPRETERTEST_H
