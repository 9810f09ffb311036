//===- Pipeline.h - The stages in order -------------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place that knows which stage follows which.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_PIPELINE_PIPELINE_H
#define TIMERL_PIPELINE_PIPELINE_H

#include "timerl/Frontend/Diagnostics.h"
#include "timerl/Pipeline/Invocation.h"
#include <string>
#include <vector>

namespace timerl {

/// Names of the stages that `--emit` prints, in the order of the pipeline.
std::vector<std::string> stageNames();
/// Whether a stage is MLIR that a pass makes.
bool isIrStage(llvm::StringRef name);

struct PipelineOutput {
  std::string text;     ///< of the stage that is asked for, or its bytes
  std::string schedule; ///< of an executable: its schedule, as JSON
};

/// Runs the stages up to the one that is asked for. Errors are left in
/// `diagnostics`; the output means nothing then.
PipelineOutput runPipeline(const Invocation &invocation, SourceManager &sources,
                           DiagnosticEngine &diagnostics);

} // namespace timerl

#endif // TIMERL_PIPELINE_PIPELINE_H
