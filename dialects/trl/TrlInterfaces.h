//===- TrlInterfaces.h - Op interfaces of the trl dialect -------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TRL_TRLINTERFACES_H
#define TRL_TRLINTERFACES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "trl/TrlInterfaces.h.inc"

#endif // TRL_TRLINTERFACES_H
