//===- Passes.cpp - The interpreter as a pass -----------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Interpreter/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "timerl/Interpreter/Interpreter.h"
#include "llvm/Support/raw_ostream.h"

using namespace timerl;

namespace {
class InterpretPass
    : public mlir::PassWrapper<InterpretPass,
                               mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InterpretPass)

  InterpretPass() = default;
  InterpretPass(const InterpretPass &other) : PassWrapper(other) {}

  llvm::StringRef getArgument() const override { return "trl-interpret"; }
  llvm::StringRef getDescription() const override {
    return "Run a trl module with the reference interpreter and print its "
           "reports";
  }

  void runOnOperation() override {
    InterpreterCommand command;
    command.options.seed = seed;
    command.options.doublePrecision = doublePrecision;
    for (const std::string &text : sets) {
      auto [name, value] = llvm::StringRef(text).split('=');
      command.options.args[name.str()] = value.str();
    }
    command.savePath = save;
    command.recordPath = record;
    auto error = runInterpreter(getOperation(), command, llvm::outs());
    if (!error)
      return;
    mlir::emitError(error->loc, error->code + ": " + error->message);
    signalPassFailure();
  }

private:
  Option<uint64_t> seed{*this, "seed", llvm::cl::desc("the run`s seed"),
                        llvm::cl::init(0)};
  Option<bool> doublePrecision{
      *this, "double", llvm::cl::desc("compute what is declared f32 in f64"),
      llvm::cl::init(false)};
  ListOption<std::string> sets{*this, "set",
                               llvm::cl::desc("NAME=VALUE of an arg")};
  Option<std::string> save{*this, "save",
                           llvm::cl::desc("an NPZ file for the saves")};
  Option<std::string> record{*this, "record",
                             llvm::cl::desc("an NPZ file for all values")};
};
} // namespace

std::unique_ptr<mlir::Pass> interp::createInterpretPass() {
  return std::make_unique<InterpretPass>();
}

void interp::registerPasses() {
  mlir::registerPass([] { return createInterpretPass(); });
}
