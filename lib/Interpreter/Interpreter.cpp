//===- Interpreter.cpp - The reference interpreter ------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Interpreter/Interpreter.h"
#include "Evaluator.h"
#include "Record.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

using namespace timerl;
using namespace timerl::interp;
using llvm::SmallVector;
using llvm::StringRef;

static InterpreterOutput evaluateOutput(Evaluator &evaluator,
                                        const Output &output) {
  InterpreterOutput result;
  result.name = output.name;
  result.isReport = output.kind == trl::OutputKind::report;
  for (const Iterator &iterator : output.domain)
    result.dims.push_back(iterator.name);
  evaluator.forEachPoint(output, [&](llvm::ArrayRef<int64_t> environment) {
    std::vector<int64_t> point;
    for (const Iterator &iterator : output.domain)
      point.push_back(environment[iterator.slot]);
    result.points.push_back(std::move(point));
    result.values.push_back(
        evaluator.evaluate(output, llvm::SmallVector<int64_t>(environment))[0]);
  });
  return result;
}

InterpreterResult timerl::interpret(mlir::ModuleOp module,
                                    const InterpreterOptions &options) {
  InterpreterResult result;
  try {
    Program program(module, options);
    Evaluator evaluator(program, options);
    if (options.check != InterpreterOptions::Check::None) {
      result.residuals = checkRecord(evaluator, options);
      return result;
    }
    for (const Output &output : program.outputs)
      result.outputs.push_back(evaluateOutput(evaluator, output));
    if (options.keepRecord)
      result.record = writeRecord(evaluator);
  } catch (const Failure &failure) {
    result.error = failure.error;
  } catch (const std::bad_alloc &) {
    result.error = {"E0919", "the run needs more memory than there is",
                    module.getLoc()};
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// The shortest text that reads back as the same number.
static std::string scalarText(const Array &value) {
  char buffer[64];
  auto write = [&](auto number) -> std::string {
    if (number != number)
      return "nan"; // Its sign means nothing.
    auto end = std::to_chars(buffer, buffer + sizeof(buffer), number).ptr;
    return std::string(buffer, end);
  };
  switch (value.dtype()) {
  case DType::F32:
    return write(*value.data<float>());
  case DType::F64:
    return write(*value.data<double>());
  case DType::Bool:
    return value.getBool() ? "true" : "false";
  default:
    return write(value.getInt(0));
  }
}

static void printTable(llvm::ArrayRef<std::vector<std::string>> rows,
                       llvm::raw_ostream &os) {
  std::vector<size_t> widths(rows[0].size());
  for (auto &row : rows)
    for (size_t k = 0; k < row.size(); ++k)
      widths[k] = std::max(widths[k], row[k].size());
  for (auto &row : rows) {
    std::string line;
    for (size_t k = 0; k < row.size(); ++k)
      line += (k ? "  " : "") + std::string(widths[k] - row[k].size(), ' ') +
              row[k];
    os << line << '\n';
  }
}

void timerl::printReports(const InterpreterResult &result,
                          llvm::raw_ostream &os) {
  // One table a list of dims, in the order of first mention.
  std::vector<std::vector<const InterpreterOutput *>> tables;
  for (const InterpreterOutput &output : result.outputs)
    if (output.isReport) {
      auto table = llvm::find_if(tables, [&](auto &outputs) {
        return outputs[0]->dims == output.dims;
      });
      if (table == tables.end())
        tables.push_back({&output});
      else
        table->push_back(&output);
    }
  bool first = true;
  for (auto &outputs : tables) {
    if (!first)
      os << '\n';
    first = false;
    // Rows in the order of points; a report that has no value there is blank.
    std::map<std::vector<int64_t>, std::vector<std::string>> cells;
    for (auto [k, output] : llvm::enumerate(outputs))
      for (auto [point, value] : llvm::zip(output->points, output->values)) {
        auto &row = cells[point];
        row.resize(outputs.size());
        row[k] = scalarText(value);
      }
    std::vector<std::vector<std::string>> rows(1);
    rows[0] = outputs[0]->dims;
    for (const InterpreterOutput *output : outputs)
      rows[0].push_back(output->name);
    for (auto &[point, values] : cells) {
      rows.emplace_back();
      for (int64_t coordinate : point)
        rows.back().push_back(std::to_string(coordinate));
      llvm::append_range(rows.back(), values);
    }
    printTable(rows, os);
  }
}

static void printResiduals(const InterpreterResult &result,
                           llvm::raw_ostream &os) {
  std::vector<std::vector<std::string>> rows{
      {"tensor", "points", "worst residual", "at"}};
  for (const Residual &residual : result.residuals)
    rows.push_back({residual.tensor, std::to_string(residual.numPoints),
                    scalarText(Array::scalar(DType::F64, residual.worst)),
                    pointText(residual.tensor, residual.point)});
  printTable(rows, os);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Files hold one NaN, whatever its bits were.
static void unifyNaNs(Array &array) {
  auto unify = [&](auto nan) {
    auto *values = array.mutableData<decltype(nan)>();
    std::replace_if(
        values, values + array.size(),
        [](auto value) { return std::isnan(value); }, nan);
  };
  if (array.dtype() == DType::F32)
    unify(std::numeric_limits<float>::quiet_NaN());
  else if (array.dtype() == DType::F64)
    unify(std::numeric_limits<double>::quiet_NaN());
}

std::vector<NamedArray> timerl::savedArrays(const InterpreterResult &result) {
  std::vector<NamedArray> arrays;
  for (const InterpreterOutput &output : result.outputs) {
    if (output.isReport || output.values.empty())
      continue;
    std::vector<int64_t> lo = output.points[0], hi = lo;
    for (const auto &point : output.points)
      for (size_t k = 0; k < point.size(); ++k) {
        lo[k] = std::min(lo[k], point[k]);
        hi[k] = std::max(hi[k], point[k]);
      }
    SmallVector<int64_t> shape;
    for (size_t k = 0; k < lo.size(); ++k)
      shape.push_back(hi[k] - lo[k] + 1);
    SmallVector<int64_t> box = shape;
    llvm::append_range(shape, output.values[0].shape());
    Array array = Array::zeros(output.values[0].dtype(), shape);
    for (auto [point, value] : llvm::zip(output.points, output.values)) {
      int64_t at = 0;
      for (size_t k = 0; k < box.size(); ++k)
        at = at * box[k] + point[k] - lo[k];
      std::memcpy(static_cast<char *>(array.mutableRaw()) +
                      at * value.byteSize(),
                  value.raw(), value.byteSize());
    }
    unifyNaNs(array);
    arrays.push_back({output.name, array});
  }
  return arrays;
}

static std::optional<InterpreterError> fileError(mlir::ModuleOp module,
                                                 llvm::Error error) {
  if (!error)
    return std::nullopt;
  return InterpreterError{"E0918", llvm::toString(std::move(error)),
                          module.getLoc()};
}

static llvm::Expected<Array> readInput(StringRef name, StringRef path) {
  if (!path.ends_with(".npz"))
    return readNpy(path);
  auto arrays = readNpz(path);
  if (!arrays)
    return arrays.takeError();
  for (NamedArray &array : *arrays)
    if (array.name == name)
      return array.value;
  return llvm::createStringError("`" + path + "`: holds no array `" + name +
                                 "`");
}

std::optional<InterpreterError>
timerl::runInterpreter(mlir::ModuleOp module, const InterpreterCommand &command,
                       llvm::raw_ostream &os) {
  InterpreterOptions options = command.options;
  options.keepRecord |= !command.recordPath.empty();
  for (auto &[name, path] : command.inputFiles) {
    auto array = readInput(name, path);
    if (!array)
      return fileError(module, array.takeError());
    options.inputs[name] = *array;
  }
  if (!command.checkPath.empty()) {
    auto record = readNpz(command.checkPath);
    if (!record)
      return fileError(module, record.takeError());
    options.record = std::move(*record);
  }
  InterpreterResult result = interpret(module, options);
  if (result.error)
    return result.error;
  if (options.check != InterpreterOptions::Check::None) {
    printResiduals(result, os);
    return std::nullopt;
  }
  printReports(result, os);
  if (!command.savePath.empty())
    if (auto error =
            fileError(module, writeNpz(command.savePath, savedArrays(result))))
      return error;
  if (!command.recordPath.empty())
    return fileError(module, writeNpz(command.recordPath, result.record));
  return std::nullopt;
}
