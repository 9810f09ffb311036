//===- Executable.cpp - Linking with the runtime --------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Target/Executable.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace timerl;

static llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static std::string readFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

namespace {
/// What is needed to link: `cc`, and the runtime next to the compiler.
struct Linker {
  std::string program, runtime;

  std::vector<std::string> command(llvm::StringRef object,
                                   llvm::StringRef output) const {
    return {program, object.str(), runtime,   "-lm",
            "-o",    output.str(), "-pthread"};
  }
};
} // namespace

static llvm::Expected<Linker> findLinker(llvm::StringRef compilerPath) {
  llvm::SmallString<256> runtime = llvm::sys::path::parent_path(compilerPath);
  llvm::sys::path::append(runtime, "..", "lib", "libtimerlrt.a");
  llvm::sys::path::remove_dots(runtime, /*remove_dot_dot=*/true);
  if (!llvm::sys::fs::exists(runtime))
    return failure("the runtime library is not where it was expected, at `" +
                   runtime + "`: is the installation complete?");
  auto program = llvm::sys::findProgramByName("cc");
  if (!program)
    return failure("no `cc` on the path, which links executables; install a C "
                   "compiler");
  return Linker{*program, std::string(runtime)};
}

/// Quoted so that a shell would read it back.
static void printCommand(llvm::ArrayRef<std::string> command,
                         llvm::raw_ostream &os) {
  llvm::interleave(
      command, os,
      [&](llvm::StringRef word) {
        bool plain = !word.empty() && llvm::all_of(word, [](char c) {
          return llvm::isAlnum(c) || llvm::StringRef("_-+=./,:@%").contains(c);
        });
        if (plain) {
          os << word;
          return;
        }
        os << '\'';
        for (char c : word)
          if (c == '\'')
            os << "'\\''";
          else
            os << c;
        os << '\'';
      },
      " ");
  os << '\n';
}

llvm::Expected<std::string> timerl::linkCommand(llvm::StringRef object,
                                                llvm::StringRef output,
                                                llvm::StringRef compilerPath) {
  auto linker = findLinker(compilerPath);
  if (!linker)
    return linker.takeError();
  std::string text;
  llvm::raw_string_ostream os(text);
  printCommand(linker->command(object, output), os);
  return text;
}

llvm::Expected<std::string> timerl::linkExecutable(llvm::StringRef object,
                                                   llvm::StringRef compilerPath,
                                                   llvm::raw_ostream *log) {
  auto linker = findLinker(compilerPath);
  if (!linker)
    return linker.takeError();
  llvm::SmallString<256> folder;
  if (std::error_code code =
          llvm::sys::fs::createUniqueDirectory("timerlc", folder))
    return failure("can't make a temporary folder: " + code.message());
  llvm::scope_exit remove(
      [&] { (void)llvm::sys::fs::remove_directories(folder); });
  // Fixed names, since the linker keeps the name of its input.
  auto inFolder = [&](llvm::StringRef name) {
    llvm::SmallString<256> path = folder;
    llvm::sys::path::append(path, name);
    return std::string(path);
  };
  std::string objectPath = inFolder("program.o"), output = inFolder("program"),
              messages = inFolder("messages");
  {
    std::error_code code;
    llvm::raw_fd_ostream os(objectPath, code);
    if (!code)
      os << object;
    os.close();
    if (os.has_error())
      code = os.error();
    os.clear_error();
    if (code)
      return failure("can't write `" + objectPath + "`: " + code.message());
  }
  std::vector<std::string> command = linker->command(objectPath, output);
  if (log)
    printCommand(command, *log);
  std::vector<llvm::StringRef> arguments(command.begin(), command.end());
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""),
                                                llvm::StringRef(messages),
                                                llvm::StringRef(messages)};
  std::string problem;
  int status = llvm::sys::ExecuteAndWait(
      linker->program, arguments, std::nullopt, redirects, 0, 0, &problem);
  if (status != 0)
    return failure("`" + linker->program + "` failed to link the program" +
                   (problem.empty() ? "" : ": " + problem) + "\n" +
                   readFile(messages));
  std::string bytes = readFile(output);
  if (bytes.empty())
    return failure("can't read what `" + linker->program + "` wrote");
  return bytes;
}
