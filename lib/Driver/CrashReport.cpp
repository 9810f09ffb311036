//===- CrashReport.cpp - When the compiler itself is at fault -------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CrashReport.h"
#include "timerl/Driver/Driver.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include <fcntl.h>
#include <unistd.h>

using namespace timerl;

// A signal handler must not allocate: what it needs is ready beforehand.
static int argumentCount;
static const char *const *arguments;
static const SourceManager *reportedSources;
static llvm::SmallString<256> reportPath;

static void put(int file, llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t written = ::write(file, text.data(), text.size());
    if (written <= 0)
      return;
    text = text.drop_front(written);
  }
}

void timerl::reportInternalError() {
  put(STDERR_FILENO,
      "timerlc: internal error: this is a defect of the compiler, not of the "
      "program; please report it");
  int file = ::open(reportPath.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (file < 0) {
    put(STDERR_FILENO, " with the program\n");
    return;
  }
  put(file, "Command line:");
  for (int i = 0; i != argumentCount; ++i) {
    put(file, " ");
    put(file, arguments[i]);
  }
  put(file, "\n");
  for (uint32_t id = 0; id != reportedSources->size(); ++id) {
    put(file, "\n=== ");
    put(file, reportedSources->file(id).path);
    put(file, "\n");
    put(file, reportedSources->file(id).text);
  }
  ::close(file);
  put(STDERR_FILENO, " with the file ");
  put(STDERR_FILENO, reportPath);
  put(STDERR_FILENO, "\n");
}

static void handleCrash(void *) {
  reportInternalError();
  ::_exit(exitInternal);
}

void timerl::installCrashHandler(int argc, const char *const *argv,
                                 const SourceManager &sources) {
  argumentCount = argc;
  arguments = argv;
  reportedSources = &sources;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, reportPath);
  llvm::sys::path::append(
      reportPath, "timerlc-crash-" +
                      std::to_string(llvm::sys::Process::getProcessId()) +
                      ".txt");
  reportPath.c_str(); // Terminates the text now rather than in the handler.
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0]);
  llvm::sys::AddSignalHandler(handleCrash, nullptr);
}
