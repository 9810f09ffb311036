//===- Proof.h - Parts of the proof of definition ---------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLY_PROOF_H
#define POLY_PROOF_H

#include "Naming.h"
#include "timerl/Poly/Access.h"
#include "timerl/Poly/Definitions.h"

namespace timerl::poly {

/// What a part of the proof needs, and where it puts what it finds.
struct Proof {
  const Program &program;
  Naming naming;
  std::vector<ProofError> errors;

  explicit Proof(const Program &program) : program(program), naming(program) {}
  ProofError &error(llvm::StringRef code, mlir::Location place,
                    std::string message) {
    return errors.emplace_back(
        ProofError{code.str(), place, std::move(message), {}, {}});
  }
};

void checkDims(Proof &proof);
void checkRanges(Proof &proof);
void checkDefinedOnce(Proof &proof);
void checkReads(Proof &proof);
void checkCycles(Proof &proof);

/// Pairs of a place and a point of `source` that agree on the outer dims of a
/// dim that stops, so that `end(t)` at the place and `end(t)'` at the point are
/// one number, and at which they are not. In the space of `pairs`; null when
/// the source has no such dim.
Map contradictoryStops(const Program &program, const Scope &scope,
                       llvm::StringRef source, const Map &pairs);

} // namespace timerl::poly

#endif // POLY_PROOF_H
