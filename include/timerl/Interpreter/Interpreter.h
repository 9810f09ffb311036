//===- Interpreter.h - The reference interpreter ----------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates a module of the `trl` dialect as its equations read: every point on
// demand, once, with no transformation and no schedule. It is slow and shares
// nothing with the passes, so that both can be checked against it.
//
// Elementwise operations on f32 compute in float; sums, products and
// contractions accumulate in double and round once. `trl.grad` is evaluated on
// a tape of its own, in double.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_INTERPRETER_INTERPRETER_H
#define TIMERL_INTERPRETER_INTERPRETER_H

#include "mlir/IR/BuiltinOps.h"
#include "timerl/Support/Npy.h"
#include <map>
#include <optional>

namespace llvm {
class raw_ostream;
}

namespace timerl {

struct InterpreterOptions {
  uint64_t seed = 0;
  /// Values of `arg`s as text, by name.
  std::map<std::string, std::string> args;
  /// Contents of `input`s, by name.
  std::map<std::string, Array> inputs;
  /// Computes everything declared f32 in f64; random draws keep f32's values.
  bool doublePrecision = false;
  /// Values to take integers and booleans from (the forced mode of a check), or
  /// all values from (the local mode), in the form `recordOf` gives.
  std::vector<NamedArray> record;
  enum class Check { None, Local, Forced } check = Check::None;
  /// Keeps every value evaluated: fills `InterpreterResult::record`.
  bool keepRecord = false;
};

struct InterpreterError {
  /// Stable: E09xx.
  std::string code;
  std::string message;
  mlir::Location loc;
};

/// One `report` or `save`, in the order of the module.
struct InterpreterOutput {
  std::string name;
  bool isReport;
  std::vector<std::string> dims;
  /// Where the guard holds, in the order of the domain.
  std::vector<std::vector<int64_t>> points;
  std::vector<Array> values;
};

/// How far one tensor's recomputed values are from the recorded ones.
struct Residual {
  std::string tensor;
  /// Greatest |value - recorded| / (1 + |recorded|); infinite when one is NaN
  /// or infinite and the other not, or when integers differ.
  double worst = 0;
  std::vector<int64_t> point;
  int64_t numPoints = 0;
};

struct InterpreterResult {
  std::optional<InterpreterError> error;
  std::vector<InterpreterOutput> outputs;
  std::vector<Residual> residuals;
  /// Per tensor NAME: its values over a box of points as leading axes (zeros
  /// where there is none), NAME@mask over the box, NAME@lo the box's lowest
  /// corner; NAME@shape, the lengths per point, where these vary.
  std::vector<NamedArray> record;
};

/// Evaluates all outputs, or what `check` asks for.
InterpreterResult interpret(mlir::ModuleOp module,
                            const InterpreterOptions &options);

/// The reports as text tables, one for each distinct list of dims.
void printReports(const InterpreterResult &result, llvm::raw_ostream &os);

/// The saves as arrays, the domain's dims as leading axes.
std::vector<NamedArray> savedArrays(const InterpreterResult &result);

/// A run as asked for on a command line.
struct InterpreterCommand {
  InterpreterOptions options;
  /// NPY files of inputs, or NPZ files that hold an array of the input's name.
  std::map<std::string, std::string> inputFiles;
  std::string recordPath; ///< Where to write all values.
  std::string checkPath;  ///< The record to check against (`options.check`).
  std::string savePath;   ///< Where to write the `save`s.
};

/// Runs a module, writes the files asked for and prints reports, or the
/// residuals of a check.
std::optional<InterpreterError>
runInterpreter(mlir::ModuleOp module, const InterpreterCommand &command,
               llvm::raw_ostream &os);

} // namespace timerl

#endif // TIMERL_INTERPRETER_INTERPRETER_H
