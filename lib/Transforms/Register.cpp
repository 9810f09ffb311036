//===- Register.cpp - The transformations as passes of timerl-opt ---------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Pass/Pass.h"
#include "timerl/Transforms/Passes.h"

void timerl::registerTransforms() {
  mlir::registerPass(createPdgDemandPass);
  mlir::registerPass(createRangesToBindersPass);
  mlir::registerPass(createSimplifyReductionsPass);
}
