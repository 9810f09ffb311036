//===- Driver.cpp - Reporting and output of timerlc -----------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Driver/Driver.h"
#include "CommandLine.h"
#include "CrashReport.h"
#include "DependencyFile.h"
#include "timerl/Frontend/ErrorPages.h"
#include "timerl/Pipeline/Pipeline.h"
#include "timerl/Support/OutputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

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

/// Writes a file whole; a failure is an error of the run.
static void writeOrReport(const std::string &path, llvm::StringRef text,
                          DiagnosticEngine &diagnostics,
                          bool executable = false) {
  if (llvm::Error failed = writeWhole(path, text, executable))
    diagnostics.error(
        "E0604", SourceSpan(),
        "can't write " +
            (path == "-" ? "to standard output" : "`" + path + "`") + ": " +
            llvm::toString(std::move(failed)));
}

static bool toStandardOutput(const Invocation &invocation) {
  return invocation.output.empty() || invocation.showCommands;
}

static int compile(const Invocation &invocation, SourceManager &sources) {
  DiagnosticEngine diagnostics(sources);
  PipelineOutput output = runPipeline(invocation, sources, diagnostics);
  if (!diagnostics.hasErrors())
    writeOrReport(toStandardOutput(invocation) ? "-" : invocation.output,
                  output.text, diagnostics, invocation.emit == "exe");
  // Beside an executable that is a file of its own.
  if (!diagnostics.hasErrors() && !toStandardOutput(invocation) &&
      !output.schedule.empty() &&
      llvm::sys::fs::is_regular_file(invocation.output))
    writeOrReport(invocation.output + ".schedule.json", output.schedule,
                  diagnostics);
  if (!diagnostics.hasErrors() && !invocation.dependencyFile.empty())
    writeOrReport(invocation.dependencyFile,
                  dependencyRule(invocation.dependencyTarget, sources),
                  diagnostics);
  if (invocation.jsonErrors)
    diagnostics.printJson(llvm::errs());
  else
    diagnostics.printText(llvm::errs(), invocation.color);
  for (const Diagnostic &diagnostic : diagnostics.diagnostics())
    if (llvm::StringRef(diagnostic.code).starts_with("E000")) {
      reportInternalError();
      return exitInternal;
    }
  return diagnostics.hasErrors() ? exitProgramError : exitSuccess;
}

int timerl::runDriver(int argc, const char *const *argv) {
  SourceManager sources;
  installCrashHandler(argc, argv, sources);
  int exitCode = exitSuccess;
  std::optional<Invocation> invocation = parseCommandLine(argc, argv, exitCode);
  if (!invocation)
    return exitCode;
  if (!invocation->explain.empty())
    return explain(invocation->explain);
  return compile(*invocation, sources);
}
