//===- Stages.h - The stages of a compilation, in order ---------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_PIPELINE_STAGES_H
#define TIMERL_PIPELINE_STAGES_H

#include <string>
#include <vector>

namespace timerl {

/// Names of the stages that `--emit` prints, in the order of the pipeline.
std::vector<std::string> stageNames();

} // namespace timerl

#endif // TIMERL_PIPELINE_STAGES_H
