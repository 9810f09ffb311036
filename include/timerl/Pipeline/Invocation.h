//===- Invocation.h - What one run of timerlc is asked to do ----*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_PIPELINE_INVOCATION_H
#define TIMERL_PIPELINE_INVOCATION_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace timerl {

/// The options of one run, parsed and checked for form.
struct Invocation {
  std::string input;
  std::string output; ///< empty or `-`: standard output
  std::string emit;   ///< a stage's name; empty: the executable
  std::vector<std::pair<std::string, std::string>> defines; ///< -D name=value
  std::vector<std::string> includePaths;                    ///< -I
  bool color = false;
  bool jsonErrors = false;
  /// -MD: where the rule for make goes (empty: nowhere), and its target.
  std::string dependencyFile, dependencyTarget;
  unsigned optimisation = 2;           ///< -O0 to -O3
  std::string cpu = "native";          ///< --target-cpu
  unsigned lanes = 16;                 ///< --lanes; 1: loops stay as they are
  bool sanitizePoints = false;         ///< --sanitize=points
  bool checkSchedule = true;           ///< --no-verify-schedule
  bool recordable = false;             ///< --recordable
  bool verbose = false;                ///< -v
  bool showCommands = false;           ///< -###
  bool timeReport = false;             ///< --time-report
  std::vector<std::string> printAfter; ///< --print-ir-after; `all` for each
  std::string irFolder;                ///< --print-ir-tree
  std::string explain;                 ///< the error code to explain

  bool interpret = false;
  uint64_t seed = 0;
  std::vector<std::pair<std::string, std::string>>
      argValues; ///< --set name=value
  std::vector<std::pair<std::string, std::string>>
      inputFiles;               ///< --input name=file
  std::string record;           ///< --record file.npz
  std::string save;             ///< --save file.npz
  std::string check;            ///< --check file.npz
  bool forced = false;          ///< --check-mode forced rather than local
  bool doublePrecision = false; ///< --double
};

} // namespace timerl

#endif // TIMERL_PIPELINE_INVOCATION_H
