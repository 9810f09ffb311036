//===- PdgDialect.h - The pdg dialect ---------------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PDG_PDGDIALECT_H
#define PDG_PDGDIALECT_H

#include "trl/TrlDialect.h"

namespace timerl::pdg {
class GraphOp;
}

#include "pdg/PdgDialect.h.inc"

#define GET_OP_CLASSES
#include "pdg/PdgOps.h.inc"

#endif // PDG_PDGDIALECT_H
