//===- CommandLine.cpp - The options of timerlc ---------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "timerl/Driver/Driver.h"
#include "timerl/Frontend/Diagnostics.h"
#include "timerl/Pipeline/Pipeline.h"
#include "timerl/Target/Executable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace timerl;

static constexpr const char *version =
    "timerlc " TIMERL_VERSION " (LLVM " LLVM_VERSION_STRING ")";

/// `name=value`, split; reports when there is no `=`.
static bool
splitPairs(const std::vector<std::string> &texts, const char *option,
           bool allowBare,
           std::vector<std::pair<std::string, std::string>> &pairs) {
  for (const std::string &text : texts) {
    auto [name, value] = llvm::StringRef(text).split('=');
    if (name.empty() ||
        (!text.empty() && text.find('=') == std::string::npos && !allowBare)) {
      llvm::errs() << "timerlc: error: `" << option << " " << text
                   << "`: expected NAME=VALUE\n";
      return false;
    }
    pairs.emplace_back(
        name.str(), text.find('=') == std::string::npos ? "true" : value.str());
  }
  return true;
}

/// Names the option that an unknown one was probably meant to be.
static void suggestOptions(const CLI::App &app,
                           const std::vector<std::string> &unknown) {
  std::vector<std::string> known;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      known.push_back("--" + name);
  for (const std::string &text : unknown) {
    llvm::StringRef name = llvm::StringRef(text).split('=').first;
    llvm::errs() << "timerlc: error: unknown option `" << name << "`";
    // `-emit=trl` has a dash too few, and the words after it are letters.
    std::string dashed = "--" + name.ltrim('-').str();
    llvm::StringRef nearest = llvm::is_contained(known, dashed)
                                  ? llvm::StringRef(dashed)
                                  : nearestName(dashed, known);
    if (!nearest.empty())
      llvm::errs() << "; did you mean `" << nearest << "`?";
    llvm::errs() << "\n";
  }
}

/// Colour is for people at a terminal who did not ask for none
/// (https://no-color.org).
static bool terminalHasColors() {
  auto none = llvm::sys::Process::GetEnv("NO_COLOR");
  return llvm::sys::Process::StandardErrHasColors() && (!none || none->empty());
}

std::optional<Invocation>
timerl::parseCommandLine(int argc, const char *const *argv, int &exitCode) {
  Invocation invocation;
  CLI::App app("Compiles a deep-RL program, written as recurrence equations, "
               "to a native executable.",
               "timerlc");
  app.set_version_flag("--version", version);
  app.allow_extras();
  std::vector<std::string> defines, sets, inputs;
  std::string color = "auto", errorFormat = "text";
  app.add_option("program", invocation.input,
                 "the program, a .trl file, or the .mlir of a stage")
      ->type_name("FILE");
  app.add_option(
         "-o", invocation.output,
         "where the output goes; `-` is standard output, the default for "
         "text")
      ->type_name("FILE");
  app.add_option("--emit", invocation.emit,
                 "stop at a stage and print it: " +
                     llvm::join(stageNames(), ", "))
      ->type_name("STAGE");
  bool objectOnly = false;
  app.add_flag("-c", objectOnly, "stop at the object file, like --emit=obj");
  app.add_option("-O", invocation.optimisation,
                 "how much LLVM optimises, 0 to 3 (2); results are the same")
      ->check(CLI::Range(0, 3))
      ->type_name("N");
  app.add_option("--target-cpu", invocation.cpu,
                 "the processor to compile for: native (the default), "
                 "x86-64-v3, ...")
      ->type_name("NAME");
  app.add_option("--lanes", invocation.lanes,
                 "how many iterations of a loop run side by side in a vector, "
                 "at most: 1, 4, 8, 16 (16)")
      ->check(CLI::IsMember({1, 4, 8, 16}))
      ->type_name("N");
  std::vector<std::string> sanitizers;
  app.add_option("--sanitize", sanitizers,
                 "points: the executable tests at each read that its slot "
                 "holds the point it wants")
      ->check(CLI::IsMember({"points"}))
      ->allow_extra_args(false)
      ->type_name("WHAT");
  bool trustSchedule = false;
  app.add_flag("--no-verify-schedule", trustSchedule,
               "do not check the schedule against its accesses");
  app.add_flag("--recordable", invocation.recordable,
               "the executable can record its runs (--record), which makes it "
               "slower");
  app.add_option("--print-ir-after", invocation.printAfter,
                 "print the IR after a stage to standard error; `all`: after "
                 "each")
      ->allow_extra_args(false)
      ->type_name("STAGE");
  app.add_option("--print-ir-tree", invocation.irFolder,
                 "write the IR after each stage to a file of this folder, "
                 "numbered in their order")
      ->type_name("DIR");
  app.add_flag("--time-report", invocation.timeReport,
               "print how long each step took");
  app.add_flag("-v", invocation.verbose, "print the commands that are run");
  app.add_flag("--show-commands", invocation.showCommands,
               "(-###) print the commands, and run none");
  app.add_option("-D", defines, "the value of a param")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  app.add_option("-I", invocation.includePaths,
                 "a folder to look for modules in")
      ->allow_extra_args(false)
      ->type_name("DIR");
  app.add_option("--color", color, "colour in messages: auto, always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_option("--error-format", errorFormat,
                 "how errors are printed: text, json")
      ->check(CLI::IsMember({"text", "json"}));
  bool writeDependencies = false;
  app.add_flag("--MD", writeDependencies,
               "(-MD) also write a rule for make: what the output depends on");
  app.add_option("--MF", invocation.dependencyFile,
                 "(-MF) where the rule goes; OUTPUT.d otherwise")
      ->type_name("FILE");
  app.add_option("--MT", invocation.dependencyTarget,
                 "(-MT) the target of the rule; OUTPUT otherwise")
      ->type_name("NAME");
  app.add_option("--explain", invocation.explain,
                 "explain an error, with an example and its fix")
      ->type_name("CODE");
  app.add_flag("--interpret", invocation.interpret,
               "run the program with the reference interpreter");
  app.add_option("--seed", invocation.seed,
                 "the seed of the run (with --interpret)")
      ->type_name("N");
  app.add_option("--set", sets, "the value of an arg (with --interpret)")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  app.add_option("--input", inputs,
                 "an input's NPY or NPZ file (with --interpret)")
      ->allow_extra_args(false)
      ->type_name("NAME=FILE");
  app.add_option(
         "--record", invocation.record,
         "write every tensor at every point to an NPZ file (with --interpret)")
      ->type_name("FILE");
  app.add_option(
         "--check", invocation.check,
         "check each equation against a recorded run (with --interpret)")
      ->type_name("FILE");
  app.add_option("--save", invocation.save,
                 "write the program's saves to an NPZ file (with --interpret)")
      ->type_name("FILE");
  std::string checkMode = "local";
  app.add_option("--check-mode", checkMode,
                 "local: each equation from the recorded values that it "
                 "reads; forced: the whole run, with recorded integers and "
                 "booleans (with --check)")
      ->check(CLI::IsMember({"local", "forced"}));
  app.add_flag("--double", invocation.doublePrecision,
               "compute what is declared f32 in f64 (with --interpret)");
  try {
    // CLI11 knows one letter after one dash; compilers' own habits differ.
    std::vector<std::string> words(std::reverse_iterator(argv + argc),
                                   std::reverse_iterator(argv + 1));
    for (std::string &word : words)
      if (word == "-MD" || word == "-MF" || word == "-MT")
        word.insert(0, "-");
      else if (word == "-###")
        word = "--show-commands";
    app.parse(std::move(words));
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
      exitCode = app.exit(error);
      return std::nullopt;
    }
    llvm::errs() << "timerlc: error: " << error.what() << "\n";
    exitCode = exitUsage;
    return std::nullopt;
  }
  exitCode = exitUsage;
  auto usage = [&](const std::string &message) {
    llvm::errs() << "timerlc: error: " << message << "\n";
    return std::nullopt;
  };
  std::vector<std::string> options, files;
  for (const std::string &extra : app.remaining())
    (extra.size() > 1 && extra[0] == '-' ? options : files).push_back(extra);
  if (!options.empty()) {
    suggestOptions(app, options);
    return std::nullopt;
  }
  if (!files.empty())
    return usage("one program at a time: `" + invocation.input + "` and `" +
                 files[0] + "`");
  if (!invocation.explain.empty())
    return invocation;
  if (invocation.input.empty())
    return usage("no program given; see `timerlc --help`");
  if (objectOnly && !invocation.emit.empty() && invocation.emit != "obj")
    return usage("`-c` and `--emit` exclude each other");
  if (objectOnly)
    invocation.emit = "obj";
  if (!isKnownCpu(invocation.cpu))
    return usage("unknown processor `" + invocation.cpu +
                 "`; native and x86-64-v2 to -v4 are known, and what `clang "
                 "--print-supported-cpus` lists");
  std::vector<std::string> stages = stageNames();
  for (const std::string &stage : invocation.printAfter)
    if (stage != "all" && !isIrStage(stage)) {
      llvm::StringRef nearest = nearestName(stage, stages);
      return usage("`--print-ir-after " + stage + "`: no such stage of IR" +
                   (nearest.empty() || !isIrStage(nearest)
                        ? ""
                        : "; did you mean `" + nearest.str() + "`?"));
    }
  if (!invocation.emit.empty() &&
      !llvm::is_contained(stages, invocation.emit)) {
    llvm::StringRef nearest = nearestName(invocation.emit, stages);
    return usage("unknown stage `" + invocation.emit + "`" +
                 (nearest.empty() ? "; stages are " + llvm::join(stages, ", ")
                                  : "; did you mean `" + nearest.str() + "`?"));
  }
  if (invocation.interpret && !invocation.emit.empty())
    return usage("`--interpret` and `--emit` exclude each other");
  if (invocation.interpret && objectOnly)
    return usage("`--interpret` and `-c` exclude each other");
  if (!invocation.interpret && invocation.emit.empty())
    invocation.emit = "exe";
  if (invocation.showCommands && invocation.emit != "exe")
    return usage("`-###` prints commands, and only linking runs one");
  if (invocation.output.empty() &&
      (invocation.emit == "exe" || invocation.emit == "obj")) {
    llvm::StringRef stem = llvm::sys::path::stem(invocation.input);
    invocation.output = stem.str() + (invocation.emit == "obj" ? ".o" : "");
    if (invocation.output == invocation.input)
      return usage("say with `-o` where the executable of `" +
                   invocation.input + "` goes");
  }
  if (!invocation.interpret &&
      (app.count("--seed") || app.count("--set") || app.count("--input") ||
       app.count("--record") || app.count("--check") || app.count("--save") ||
       app.count("--double")))
    return usage("`--seed`, `--set`, `--input`, `--record`, `--check`, "
                 "`--save` and `--double` go with `--interpret`; a compiled "
                 "program has flags of its own");
  if (app.count("--check-mode") && !app.count("--check"))
    return usage("`--check-mode` goes with `--check`");
  if (app.count("--check") && (app.count("--record") || app.count("--save")))
    return usage("`--check` makes no run that `--record` or `--save` could "
                 "write");
  if (!writeDependencies && (app.count("--MF") || app.count("--MT")))
    return usage("`-MF` and `-MT` go with `-MD`");
  if (writeDependencies) {
    bool toFile = !invocation.output.empty() && invocation.output != "-";
    if (!toFile && (!app.count("--MF") || !app.count("--MT")))
      return usage("`-MD` needs `-o`, or both `-MF` and `-MT`");
    if (invocation.dependencyTarget.empty())
      invocation.dependencyTarget = invocation.output;
    if (invocation.dependencyFile.empty())
      invocation.dependencyFile = invocation.output + ".d";
  }
  invocation.forced = checkMode == "forced";
  invocation.sanitizePoints = !sanitizers.empty();
  invocation.checkSchedule = !trustSchedule;
  if (!splitPairs(defines, "-D", true, invocation.defines) ||
      !splitPairs(sets, "--set", false, invocation.argValues) ||
      !splitPairs(inputs, "--input", false, invocation.inputFiles))
    return std::nullopt;
  invocation.jsonErrors = errorFormat == "json";
  invocation.color =
      color == "always" || (color == "auto" && terminalHasColors());
  return invocation;
}
