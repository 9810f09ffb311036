//===- Pipeline.cpp - The stages in order ---------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Pipeline/Pipeline.h"
#include "MlirDiagnostics.h"
#include "ReadStage.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "pdg/PdgDialect.h"
#include "timerl/Autodiff/Passes.h"
#include "timerl/Check/Check.h"
#include "timerl/Conversion/Passes.h"
#include "timerl/Elaboration/Elaborate.h"
#include "timerl/Frontend/ModuleLoader.h"
#include "timerl/Interpreter/Interpreter.h"
#include "timerl/Poly/Definitions.h"
#include "timerl/Schedule/ScheduleJson.h"
#include "timerl/Support/OutputFile.h"
#include "timerl/Target/Executable.h"
#include "timerl/Transforms/Passes.h"
#include "timerl/Vectorize/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace timerl;

/// The stages that are IR, each with the passes that lead to it from the one
/// before, `trl` from elaboration's result. A schedule checks itself before
/// anything is made of it.
namespace {
struct IrStage {
  llvm::StringLiteral name;
  std::unique_ptr<mlir::Pass> (*createPass)(const Invocation &);
  std::unique_ptr<mlir::Pass> (*createCheck)() = nullptr;
};
} // namespace
/// A pass that no option concerns.
template <std::unique_ptr<mlir::Pass> (*create)()>
static std::unique_ptr<mlir::Pass> plain(const Invocation &) {
  return create();
}
static std::unique_ptr<mlir::Pass> chooseLanes(const Invocation &invocation) {
  return createChooseLanesPass(invocation.sanitizePoints ? 1
                                                         : invocation.lanes);
}
static std::unique_ptr<mlir::Pass> toLoops(const Invocation &invocation) {
  return createSchedToLoopsPass(invocation.recordable,
                                invocation.sanitizePoints);
}
static constexpr IrStage irStages[] = {
    {"trl", plain<poly::createProveDefinitionsPass>},
    {"trl-ranges", plain<createRangesToBindersPass>},
    {"trl-grad", plain<autodiff::createTrlGradPass>},
    {"trl-opt", plain<createSimplifyReductionsPass>},
    {"pdg", plain<createTrlToPdgPass>},
    {"pdg-opt", plain<createPdgDemandPass>},
    {"sched", plain<createPdgToSchedPass>, check::createCheckSchedulePass},
    {"sched-opt", chooseLanes},
    {"loops", toLoops},
};

/// What is made of the last of them.
static constexpr std::pair<llvm::StringLiteral, CodeKind> codeStages[] = {
    {"llvm-dialect", CodeKind::LlvmDialect},
    {"llvm", CodeKind::Llvm},
    {"obj", CodeKind::Object},
    {"exe", CodeKind::Object},
};

bool timerl::isIrStage(llvm::StringRef name) {
  return llvm::any_of(irStages,
                      [&](const IrStage &stage) { return stage.name == name; });
}

std::vector<std::string> timerl::stageNames() {
  std::vector<std::string> names = {"ast"};
  for (const IrStage &stage : irStages)
    names.push_back(stage.name.str());
  for (auto &stage : codeStages)
    names.push_back(stage.first.str());
  names.push_back("schedule-json");
  return names;
}

/// Runs one pass; false after an error, which is reported.
namespace {
/// Wall time of each step, printed at the end (`--time-report`).
class Times {
public:
  explicit Times(bool wanted) : wanted(wanted), last(Clock::now()) {}
  ~Times() {
    if (!wanted)
      return;
    double total = 0;
    for (auto &[step, seconds] : steps)
      total += seconds;
    for (auto &[step, seconds] : steps)
      llvm::errs() << llvm::format("%8.3f s  %3.0f %%  ", seconds,
                                   100 * seconds / total)
                   << step << '\n';
    llvm::errs() << llvm::format("%8.3f s         total\n", total);
  }
  /// What has passed since the last step belongs to this one.
  void add(llvm::StringRef step) {
    auto now = Clock::now();
    steps.emplace_back(step.str(),
                       std::chrono::duration<double>(now - last).count());
    last = now;
  }

private:
  using Clock = std::chrono::steady_clock;
  bool wanted;
  Clock::time_point last;
  std::vector<std::pair<std::string, double>> steps;
};
} // namespace

static bool runPass(mlir::ModuleOp module, std::unique_ptr<mlir::Pass> pass,
                    DiagnosticEngine &diagnostics) {
  std::string name = pass->getArgument().str();
  mlir::PassManager manager(module.getContext());
  manager.addPass(std::move(pass));
  if (mlir::succeeded(manager.run(module)))
    return true;
  if (!diagnostics.hasErrors())
    diagnostics.error("E0001", SourceSpan(),
                      "the pass `" + name + "` failed without saying why");
  return false;
}

static void interpretModule(mlir::ModuleOp module, const Invocation &invocation,
                            const SourceManager &sources,
                            DiagnosticEngine &diagnostics,
                            llvm::raw_ostream &os) {
  InterpreterCommand command;
  InterpreterOptions &options = command.options;
  options.seed = invocation.seed;
  options.doublePrecision = invocation.doublePrecision;
  for (auto &[name, value] : invocation.argValues)
    options.args[name] = value;
  for (auto &[name, file] : invocation.inputFiles)
    command.inputFiles[name] = file;
  command.recordPath = invocation.record;
  command.savePath = invocation.save;
  command.checkPath = invocation.check;
  if (!invocation.check.empty())
    options.check = invocation.forced ? InterpreterOptions::Check::Forced
                                      : InterpreterOptions::Check::Local;
  auto error = runInterpreter(module, command, os);
  if (!error)
    return;
  llvm::SmallVector<SourceSpan> calls;
  SourceSpan span = spanOf(error->loc, sources, calls);
  Diagnostic &diagnostic = diagnostics.error(error->code, span, error->message);
  for (SourceSpan call : calls)
    diagnostic.note(call, "called here");
}

/// The stage that a module is.
static llvm::StringRef stageOf(mlir::ModuleOp module) {
  if (!module.getOps<sched::ProgramOp>().empty())
    return "sched";
  return module.getOps<pdg::GraphOp>().empty() ? "trl" : "pdg";
}

/// Object code of a module of loops, linked if asked for.
static std::string makeCode(mlir::ModuleOp module, llvm::StringRef stage,
                            const Invocation &invocation, Times &times,
                            DiagnosticEngine &diagnostics) {
  const auto *found = llvm::find_if(
      codeStages, [&](auto &known) { return known.first == stage; });
  llvm::Expected<std::string> code = generateCode(
      module, found->second, {invocation.optimisation, invocation.cpu},
      [&](llvm::StringRef step) { times.add(step); });
  if (!code) {
    std::string message = llvm::toString(code.takeError());
    if (!diagnostics.hasErrors())
      diagnostics.error("E0001", SourceSpan(), message);
    return "";
  }
  if (stage != "exe")
    return *code;
  static int anchor;
  std::string self = llvm::sys::fs::getMainExecutable(nullptr, &anchor);
  if (invocation.showCommands)
    code = linkCommand("program.o", invocation.output, self);
  else
    code = linkExecutable(*code, self,
                          invocation.verbose ? &llvm::errs() : nullptr);
  times.add("linking");
  if (code)
    return *code;
  diagnostics.error("E0605", SourceSpan(), llvm::toString(code.takeError()));
  return "";
}

/// Writes DIR/NUMBER-STAGE.mlir; false after an error, which is reported.
static bool writeStage(llvm::StringRef folder, unsigned number,
                       llvm::StringRef stage, mlir::ModuleOp module,
                       DiagnosticEngine &diagnostics) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(
      path, llvm::formatv("{0,0+2}-{1}.mlir", number + 1, stage).str());
  std::string problem;
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    problem = code.message();
  else if (llvm::Error error = writeWhole(path, text))
    problem = llvm::toString(std::move(error));
  if (problem.empty())
    return true;
  diagnostics.error("E0604", SourceSpan(),
                    "can't write `" + path.str().str() + "`: " + problem);
  return false;
}

static void printSchedule(mlir::ModuleOp module, llvm::raw_ostream &os) {
  for (auto schedule : module.getOps<sched::ProgramOp>())
    schedule::writeScheduleJson(schedule, os);
}

PipelineOutput timerl::runPipeline(const Invocation &invocation,
                                   SourceManager &sources,
                                   DiagnosticEngine &diagnostics) {
  PipelineOutput output;
  llvm::raw_string_ostream os(output.text);
  Times times(invocation.timeReport);

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  DiagnosticBridge bridge(context, sources, diagnostics);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  // Where the pipeline begins.
  llvm::StringRef first = irStages[0].name;
  if (llvm::StringRef(invocation.input).ends_with(".mlir")) {
    module = readStage(context, invocation.input, sources, diagnostics);
    if (!module)
      return output;
    first = stageOf(*module);
    times.add("parsing");
  } else {
    LoadedProgram program = loadProgram(
        invocation.input, {invocation.includePaths}, sources, diagnostics);
    if (diagnostics.hasErrors())
      return output;
    times.add("parsing");
    if (invocation.emit == "ast") {
      ast::print(program.main(), os);
      return output;
    }
    module =
        elaborate(context, program, sources, {invocation.defines}, diagnostics);
    if (!module)
      return output;
    times.add("elaboration");
  }
  bool asJson = invocation.emit == "schedule-json";
  llvm::StringRef last = invocation.interpret ? "trl"
                         : asJson ? "sched"
                                  : llvm::StringRef(invocation.emit);
  bool begun = false;
  for (const IrStage &stage : irStages) {
    // What is read is a stage already; a program in `trl` is still proved.
    bool isFirst = !begun && stage.name == first;
    begun |= isFirst;
    if (!begun)
      continue;
    if (!isFirst || stage.name == irStages[0].name) {
      if (!runPass(*module, stage.createPass(invocation), diagnostics))
        return output;
      times.add(stage.name);
    }
    if (stage.createCheck && invocation.checkSchedule) {
      if (!runPass(*module, stage.createCheck(), diagnostics))
        return output;
      times.add(stage.name.str() + ", checked");
    }
    if (last == "exe" && stage.name == "sched") {
      llvm::raw_string_ostream json(output.schedule);
      printSchedule(*module, json);
    }
    if (llvm::is_contained(invocation.printAfter, stage.name) ||
        llvm::is_contained(invocation.printAfter, "all")) {
      llvm::errs() << "// after " << stage.name << '\n';
      module->print(llvm::errs());
    }
    if (!invocation.irFolder.empty() &&
        !writeStage(invocation.irFolder, &stage - irStages, stage.name, *module,
                    diagnostics))
      return output;
    if (stage.name == last)
      break;
  }
  if (invocation.interpret)
    interpretModule(*module, invocation, sources, diagnostics, os);
  else if (asJson)
    printSchedule(*module, os);
  else if (llvm::any_of(codeStages,
                        [&](auto &stage) { return stage.first == last; }))
    output.text = makeCode(*module, last, invocation, times, diagnostics);
  else
    module->print(os);
  return output;
}
