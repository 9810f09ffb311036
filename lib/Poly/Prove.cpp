//===- Prove.cpp - The proof of definition ------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Proof.h"
#include "timerl/Poly/Ranges.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace mlir;
using namespace timerl;
using namespace timerl::poly;

/// Some two seconds of isl.
static constexpr uint64_t maxOperations = 20'000'000;

static void reportUnknownRange(Proof &proof, trl::ReadOp read) {
  std::string tensor = proof.naming.tensor(read.getSource());
  proof
      .error("E0405", read.getLoc(),
             "nothing is known of the range of this index of `" + tensor + "`")
      .help = "state it, as in `" + tensor +
              "[j in lo:hi]`; it is then checked as the program runs";
}

std::vector<ProofError> poly::proveDefinitions(ModuleOp module) {
  IslContext context;
  std::vector<ProofError> errors;
  auto limited = [&](Proof &proof, const char *what,
                     llvm::function_ref<void(Proof &)> part) {
    OperationLimit limit(context, maxOperations);
    part(proof);
    if (context.failed())
      proof.error("E0407", module.getLoc(),
                  std::string("it could not be decided within the limit on "
                              "work whether ") +
                      what + " (" + context.message() + ")");
  };
  std::vector<Operation *> unknown = deriveIndexRanges(module);
  Program program(context, module);
  Proof proof(program);
  checkDims(proof);
  // With an empty dim, everything else would be true or absurd.
  if (!proof.errors.empty())
    return std::move(proof.errors);
  std::set<const void *> places; // The leaves of a record are read at one.
  for (Operation *op : unknown)
    if (places.insert(op->getLoc().getAsOpaquePointer()).second)
      reportUnknownRange(proof, cast<trl::ReadOp>(op));
  limited(proof, "every range is in order", checkRanges);
  limited(proof, "no point is defined twice", checkDefinedOnce);
  limited(proof, "every point that is read is defined", checkReads);
  limited(proof, "no point depends on itself", checkCycles);
  return std::move(proof.errors);
}

//===----------------------------------------------------------------------===//
// As a pass
//===----------------------------------------------------------------------===//

namespace {
struct ProveDefinitions
    : PassWrapper<ProveDefinitions, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ProveDefinitions)
  StringRef getArgument() const final { return "trl-prove-definitions"; }
  StringRef getDescription() const final {
    return "Prove that every point that is read is defined exactly once";
  }
  void runOnOperation() final {
    for (ProofError &error : proveDefinitions(getOperation())) {
      InFlightDiagnostic diagnostic =
          emitError(error.place, error.code + ": " + error.message);
      for (auto &[place, message] : error.notes)
        diagnostic.attachNote(place) << message;
      if (!error.help.empty())
        diagnostic.attachNote(error.place) << "help: " << error.help;
      signalPassFailure();
    }
  }
};
} // namespace

std::unique_ptr<Pass> poly::createProveDefinitionsPass() {
  return std::make_unique<ProveDefinitions>();
}

void poly::registerPolyPasses() {
  registerPass([] { return createProveDefinitionsPass(); });
}
