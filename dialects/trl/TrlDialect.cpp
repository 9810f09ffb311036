//===- TrlDialect.cpp - The trl dialect -----------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "trl/TrlDialect.h"
#include "TrlAssembly.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::trl;

#include "trl/TrlDialect.cpp.inc"
#include "trl/TrlEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "trl/TrlAttrs.cpp.inc"

void TrlDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "trl/TrlAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "trl/TrlOps.cpp.inc"
      >();
}
