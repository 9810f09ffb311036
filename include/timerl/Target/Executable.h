//===- Executable.h - From loops to objects and executables -----*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_TARGET_EXECUTABLE_H
#define TIMERL_TARGET_EXECUTABLE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir {
class DialectRegistry;
}

namespace timerl {

struct CodegenOptions {
  unsigned level = 2;         ///< of LLVM's optimisation, 0 to 3
  std::string cpu = "native"; ///< a processor's name as LLVM knows it
};

/// Whether LLVM knows the processor: `native`, `x86-64-v3`, ...
bool isKnownCpu(llvm::StringRef cpu);

/// How the result is given back.
enum class CodeKind { LlvmDialect, Llvm, Object };

/// Lowers what `convert-sched-to-loops` made, in place, to the LLVM dialect,
/// LLVM IR (after optimisation) or an object file for this machine, and returns
/// its text or bytes, the same ones whenever the module is the same.
/// Errors are emitted at the module or returned. `finished` hears of each step
/// by the name of the stage that it made.
llvm::Expected<std::string>
generateCode(mlir::ModuleOp module, CodeKind kind,
             const CodegenOptions &options,
             llvm::function_ref<void(llvm::StringRef stage)> finished);

/// Links an object with the runtime through `cc` and returns the executable's
/// bytes. `compilerPath` is the compiler's own executable. The command goes to
/// `log` as it is run, if there is one.
llvm::Expected<std::string> linkExecutable(llvm::StringRef object,
                                           llvm::StringRef compilerPath,
                                           llvm::raw_ostream *log = nullptr);

/// The command that links `object` to `output`, for a person to read.
llvm::Expected<std::string> linkCommand(llvm::StringRef object,
                                        llvm::StringRef output,
                                        llvm::StringRef compilerPath);

} // namespace timerl

#endif // TIMERL_TARGET_EXECUTABLE_H
