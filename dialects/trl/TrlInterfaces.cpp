//===- TrlInterfaces.cpp - Op interfaces of the trl dialect ---------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "trl/TrlInterfaces.h"

#include "trl/TrlInterfaces.cpp.inc"
