//===- timerl-opt.cpp - Runs passes on any stage's IR ---------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "pdg/PdgDialect.h"
#include "sched/SchedDialect.h"
#include "timerl/Autodiff/Passes.h"
#include "timerl/Check/Check.h"
#include "timerl/Conversion/Passes.h"
#include "timerl/Interpreter/Passes.h"
#include "timerl/Poly/Definitions.h"
#include "timerl/Transforms/Passes.h"
#include "timerl/Vectorize/Passes.h"
#include "trl/TrlDialect.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  registry.insert<timerl::trl::TrlDialect, timerl::pdg::PdgDialect,
                  timerl::sched::SchedDialect>();
  mlir::registerAllPasses();
  timerl::autodiff::registerPasses();
  timerl::poly::registerPolyPasses();
  timerl::check::registerPasses();
  timerl::interp::registerPasses();
  timerl::registerTrlToPdgPass();
  timerl::registerTransforms();
  timerl::registerPdgToSchedPass();
  timerl::registerVectorize();
  timerl::registerSchedToLoopsPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "timerl-opt: runs passes on any stage's IR", registry));
}
