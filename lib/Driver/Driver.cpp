//===- Driver.cpp - Reporting and output of timerlc -----------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Driver/Driver.h"
#include "CommandLine.h"
#include "OutputFile.h"
#include "timerl/Frontend/ErrorPages.h"
#include "timerl/Pipeline/Pipeline.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

using namespace timerl;

static int explain(const std::string &code) {
  std::vector<std::string> codes;
  for (const ErrorPage &page : errorPages()) {
    llvm::StringRef known = page.name.drop_back(3); // ".md"
    codes.push_back(known.str());
    if (!known.equals_insensitive(code))
      continue;
    if (llvm::Error failed = writeWhole("-", page.text)) {
      llvm::errs() << "timerlc: error: " << llvm::toString(std::move(failed))
                   << '\n';
      return exitProgramError;
    }
    return exitSuccess;
  }
  llvm::errs() << "timerlc: error: there is no error code `" << code << "`";
  llvm::StringRef near = nearestName(code, codes);
  if (!near.empty())
    llvm::errs() << "; did you mean `" << near << "`?\n";
  else
    llvm::errs() << "; codes look like `E0104`, and errors name theirs\n";
  return exitUsage;
}

static int compile(const Invocation &invocation) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  std::string text = runPipeline(invocation, sources, diagnostics);
  if (!diagnostics.hasErrors()) {
    std::string path = invocation.output.empty() ? "-" : invocation.output;
    if (llvm::Error failed = writeWhole(path, text))
      diagnostics.error(
          "E0604", SourceSpan(),
          "can't write " +
              (path == "-" ? "to standard output" : "`" + path + "`") + ": " +
              llvm::toString(std::move(failed)));
  }
  if (invocation.jsonErrors)
    diagnostics.printJson(llvm::errs());
  else
    diagnostics.printText(llvm::errs(), invocation.color);
  return diagnostics.hasErrors() ? exitProgramError : exitSuccess;
}

/// Runs in a signal handler, before LLVM's own that prints the stack.
static void reportCrash(void *) {
  static constexpr char message[] =
      "timerlc: internal error: this is a defect of the compiler, not of the "
      "program; please report it with the program\n";
  [[maybe_unused]] auto written =
      ::write(STDERR_FILENO, message, sizeof(message) - 1);
  ::_exit(exitInternal);
}

int timerl::runDriver(int argc, const char *const *argv) {
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0]);
  llvm::sys::AddSignalHandler(reportCrash, nullptr);
  int exitCode = exitSuccess;
  std::optional<Invocation> invocation = parseCommandLine(argc, argv, exitCode);
  if (!invocation)
    return exitCode;
  if (!invocation->explain.empty())
    return explain(invocation->explain);
  return compile(*invocation);
}
