//===- Stages.cpp - The stages of a compilation, in order -----------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Pipeline/Stages.h"

std::vector<std::string> timerl::stageNames() { return {"trl"}; }
