//===- GenerateCode.cpp - From loops to object code -----------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "timerl/Target/Executable.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace timerl;

static llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static mlir::LogicalResult lowerToLlvmDialect(mlir::ModuleOp module) {
  mlir::PassManager manager(module.getContext());
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
  manager.addPass(mlir::createSCFToControlFlowPass());
  manager.addPass(mlir::arith::createArithExpandOpsPass());
  manager.addPass(mlir::createConvertMathToLLVMPass());
  manager.addPass(mlir::createConvertMathToLibmPass());
  manager.addPass(mlir::createArithToLLVMConversionPass());
  manager.addPass(mlir::createConvertControlFlowToLLVMPass());
  manager.addPass(mlir::createConvertFuncToLLVMPass());
  manager.addPass(mlir::createReconcileUnrealizedCastsPass());
  manager.addPass(mlir::createCSEPass());
  return manager.run(module);
}

static std::unique_ptr<llvm::TargetMachine>
makeMachine(llvm::StringRef cpu, unsigned level, std::string &error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  // Names sorted: the map's own order is none.
  std::vector<std::string> names;
  for (auto &feature : llvm::sys::getHostCPUFeatures())
    names.push_back((feature.second ? "+" : "-") + feature.first().str());
  llvm::sort(names);
  // A processor named by the user has just its own features.
  bool native = cpu == "native";
  llvm::SubtargetFeatures features;
  if (native)
    for (const std::string &name : names)
      features.AddFeature(name);
  // Neither reassociation nor fused multiply-add: results are those of the
  // program's own operations.
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, native ? llvm::sys::getHostCPUName() : cpu, features.getString(),
      options, llvm::Reloc::PIC_, std::nullopt,
      *llvm::CodeGenOpt::getLevel(level)));
}

bool timerl::isKnownCpu(llvm::StringRef cpu) {
  if (cpu == "native")
    return true;
  std::string error;
  auto machine = makeMachine("native", 0, error);
  return machine && machine->getMCSubtargetInfo()->isCPUStringValid(cpu);
}

static void optimise(llvm::Module &module, llvm::TargetMachine &machine,
                     unsigned level) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  // Loops that matter are in lanes and tiles already; unrolling the others
  // again doubles the time of compiling PPO and gains nothing at run time.
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  static const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::ModulePassManager passes =
      level == 0 ? builder.buildO0DefaultPipeline(levels[0])
                 : builder.buildPerModuleDefaultPipeline(levels[level]);
  passes.run(module, modules);
}

llvm::Expected<std::string>
timerl::generateCode(mlir::ModuleOp module, CodeKind kind,
                     const CodegenOptions &options,
                     llvm::function_ref<void(llvm::StringRef)> finished) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  if (mlir::failed(lowerToLlvmDialect(module)))
    return failure("lowering to the LLVM dialect failed");
  finished("llvm-dialect");
  std::string text;
  llvm::raw_string_ostream os(text);
  if (kind == CodeKind::LlvmDialect) {
    module.print(os);
    return text;
  }
  std::string error;
  auto machine = makeMachine(options.cpu, options.level, error);
  if (!machine)
    return failure("no code generator for this machine: " + error);
  llvm::LLVMContext context;
  auto code = mlir::translateModuleToLLVMIR(module, context, "program");
  if (!code)
    return failure("translation to LLVM IR failed");
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  // The whole width of the machine's vectors: bodies are loops over elements.
  for (llvm::Function &function : *code)
    if (!function.isDeclaration())
      function.addFnAttr("prefer-vector-width", "512");
  optimise(*code, *machine, options.level);
  finished("llvm");
  if (kind == CodeKind::Llvm) {
    code->print(os, nullptr);
    return text;
  }
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream object(bytes);
  llvm::legacy::PassManager emit;
  if (machine->addPassesToEmitFile(emit, object, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return failure("this machine's code generator writes no object files");
  emit.run(*code);
  finished("obj");
  return std::string(bytes.begin(), bytes.end());
}
