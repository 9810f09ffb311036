//===- SchedToLoops.cpp - The pass from sched to loops --------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "timerl/Conversion/Passes.h"
#include "timerl/Schedule/ScheduleJson.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <set>

using namespace mlir;
using namespace timerl;

namespace {

/// How many points an output has at most, if that is known.
std::optional<int64_t> numPoints(sched::OutputOp output) {
  int64_t points = 1;
  Intervals lengths = codegen::stopLengths(output->getParentOfType<ModuleOp>());
  for (auto iter : output.getDomain().getAsRange<trl::IterAttr>()) {
    auto lo = lengths.of(iter.getLo().getExpr()).lo,
         hi = lengths.of(iter.getHi().getExpr()).hi;
    if (!lo || !hi || llvm::MulOverflow(points, *hi - *lo, points))
      return std::nullopt;
  }
  return points;
}

/// A constant string that the runtime finds by name.
void addText(OpBuilder &builder, ModuleOp module, StringRef name,
             std::string text) {
  text.push_back('\0');
  LLVM::GlobalOp::create(
      builder, module.getLoc(),
      LLVM::LLVMArrayType::get(builder.getI8Type(), text.size()),
      /*isConstant=*/true, LLVM::Linkage::External, name,
      builder.getStringAttr(text));
}

/// What the runtime reads at the start, a line each: `arg NAME TYPE DEFAULT`,
/// `report TYPE NAME` and its dims, `save TYPE NAME` and its points and axes,
/// `at most` those of a dim that may stop early.
std::string describe(ModuleOp module, ArrayRef<sched::OutputOp> outputs,
                     const codegen::Generator &generator) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto arg : module.getOps<trl::ArgOp>()) {
    TypedAttr value = arg.getDefaultValue();
    os << "arg " << arg.getSymName() << ' ' << value.getType() << ' ';
    if (auto number = dyn_cast<FloatAttr>(value))
      os << llvm::format("%.17g", number.getValueAsDouble()) << '\n';
    else if (value.getType().isInteger(1))
      os << (cast<IntegerAttr>(value).getValue().isZero() ? 0 : 1) << '\n';
    else if (value.getType().isUnsignedInteger())
      os << cast<IntegerAttr>(value).getValue().getZExtValue() << '\n';
    else
      os << cast<IntegerAttr>(value).getValue().getSExtValue() << '\n';
  }
  sched::ProgramOp program = *module.getOps<sched::ProgramOp>().begin();
  os << "arena " << program.getArena() << "\nscratch "
     << generator.scratchBytes() << '\n';
  SmallVector<std::pair<StringRef, const codegen::Generator::RecordedTensor *>>
      records(generator.recorded.size());
  for (auto &[name, record] : generator.recorded)
    records[record.number] = {name, &record};
  for (auto &[name, record] : records) {
    auto type = cast<RankedTensorType>(
        module.lookupSymbol<trl::TensorOp>(name).getType());
    os << "record " << type.getElementType() << ' ' << name << '\n';
    for (const Interval &range : record->box)
      os << "position " << *range.lo << ' ' << *range.hi - *range.lo + 1
         << '\n';
    for (int64_t extent : type.getShape())
      os << "length " << extent << '\n';
  }
  for (auto buffer : program.getBody().front().getOps<sched::BufferOp>())
    os << "buffer " << buffer.getOffset() << ' ' << buffer.getBytes() << ' '
       << buffer.getTensor() << '\n';
  for (auto input : module.getOps<trl::InputOp>()) {
    auto type = cast<RankedTensorType>(input.getType());
    os << "input " << type.getElementType() << ' ' << input.getSymName()
       << '\n';
    // The generator has refused what has no extents.
    SmallVector<int64_t> shape = *codegen::inputExtents(module, input);
    llvm::append_range(shape, type.getShape());
    for (int64_t extent : shape)
      os << "extent " << extent << '\n';
  }
  std::set<std::pair<trl::OutputKind, std::string>> seen;
  for (sched::OutputOp output : outputs) {
    if (!seen.emplace(output.getKind(), output.getName().str()).second)
      continue;
    auto type =
        cast<RankedTensorType>(output.getYield().getValues()[0].getType());
    if (output.getKind() == trl::OutputKind::save) {
      os << "save " << type.getElementType() << ' ' << output.getName() << '\n'
         << "points " << *numPoints(output) << '\n';
      Intervals lengths = codegen::stopLengths(module);
      for (auto iter : output.getDomain().getAsRange<trl::IterAttr>()) {
        Expr hi = iter.getHi().getExpr();
        os << "axis " << *lengths.of(hi).hi - *iter.getLo().getExpr().getConst()
           << (hi.isConst() ? "\n" : " at most\n");
      }
      for (int64_t extent : type.getShape())
        os << "axis " << extent << '\n';
      continue;
    }
    os << "report " << type.getElementType() << ' ' << output.getName() << '\n';
    for (Attribute dim : output.getDims())
      os << "dim " << cast<StringAttr>(dim).getValue() << '\n';
    if (auto rows = numPoints(output))
      os << "rows " << *rows << '\n';
  }
  return text;
}

/// Bytes are computed with as i16, which no other type needs: arithmetic knows
/// no unsigned types, and the order of bytes is that of small numbers.
void widenBytes(ModuleOp module) {
  Type byte = IntegerType::get(module.getContext(), 8, IntegerType::Unsigned),
       wide = IntegerType::get(module.getContext(), 16);
  module.walk([&](Operation *op) {
    for (Value result : op->getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      if (type.getElementType() == byte)
        result.setType(type.clone(wide));
    }
    auto constant = dyn_cast<trl::ConstantOp>(op);
    auto value = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                          : DenseIntElementsAttr();
    if (value && value.getElementType() == byte)
      constant.setValueAttr(cast<ElementsAttr>(value.mapValues(
          wide, [](const APInt &number) { return number.zext(16); })));
  });
}

/// `sanitize BYTES RANK`: the narrowest element, and the most coordinates.
std::string describeShadow(sched::ProgramOp program) {
  int64_t width = 8;
  size_t rank = 0;
  for (auto buffer : program.getBody().front().getOps<sched::BufferOp>()) {
    auto tensor = SymbolTable::lookupNearestSymbolFrom<trl::TensorOp>(
        buffer, buffer.getTensorAttr());
    auto type = cast<RankedTensorType>(tensor.getType());
    width = std::min(width, codegen::storedBytes(type.getElementType()));
    rank = std::max(rank, buffer.getWindow().size());
  }
  return "sanitize " + std::to_string(width) + " " + std::to_string(rank) +
         "\n";
}

struct SchedToLoops : PassWrapper<SchedToLoops, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SchedToLoops)
  Option<bool> sanitize{
      *this, "sanitize",
      llvm::cl::desc("reads test which point their slot holds"),
      llvm::cl::init(false)};
  StringRef getArgument() const override { return "convert-sched-to-loops"; }
  StringRef getDescription() const override {
    return "Turn a schedule into a function of loops over its arena";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
                    math::MathDialect, scf::SCFDialect>();
  }

  SchedToLoops() = default;
  SchedToLoops(bool record, bool test) {
    recordable = record;
    sanitize = test;
  }
  SchedToLoops(const SchedToLoops &other) : PassWrapper(other) {
    recordable = other.recordable;
    sanitize = other.sanitize;
  }
  Option<bool> recordable{*this, "recordable",
                          llvm::cl::desc("runs may be recorded"),
                          llvm::cl::init(false)};

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto programs = llvm::to_vector(module.getOps<sched::ProgramOp>());
    if (programs.size() != 1) {
      module.emitError("E0001: code is generated for one schedule, not ")
          << programs.size();
      return signalPassFailure();
    }
    sched::ProgramOp program = programs[0];
    OpBuilder builder(&getContext());
    // Parts of one output that stand at several places share its number.
    std::multimap<int64_t, sched::OutputOp> ordered;
    program.walk([&](sched::OutputOp output) {
      auto order = output->getAttrOfType<IntegerAttr>("order");
      ordered.emplace(order ? order.getInt() : 0, output);
    });
    SmallVector<sched::OutputOp> outputs;
    for (auto &[order, output] : ordered)
      outputs.push_back(output);
    std::map<std::string, int64_t> numbers[2];
    for (sched::OutputOp output : outputs) {
      auto &known = numbers[output.getKind() == trl::OutputKind::save];
      int64_t number =
          known.try_emplace(output.getName().str(), known.size()).first->second;
      output->setAttr("number", builder.getI64IntegerAttr(number));
    }
    std::string schedule;
    llvm::raw_string_ostream json(schedule);
    schedule::writeScheduleJson(program, json);
    widenBytes(module);
    codegen::Generator generator(module, program, builder, recordable,
                                 sanitize);
    if (failed(generator.run()))
      return signalPassFailure();
    for (auto &[name, record] : generator.recorded)
      for (const Interval &range : record.box)
        if (!range.lo || !range.hi) {
          program.emitError("E0501: recording `")
              << name
              << "`, whose points have no bounds at compile time, is not "
                 "supported by the CPU code generator yet";
          return signalPassFailure();
        }
    builder.setInsertionPointToEnd(module.getBody());
    addText(builder, module, "timerl_program_text",
            describe(module, outputs, generator) +
                (sanitize ? describeShadow(program) : ""));
    addText(builder, module, "timerl_program_schedule", std::move(schedule));
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (!isa<func::FuncOp, LLVM::GlobalOp>(op))
        op.erase();
  }
};

} // namespace

std::unique_ptr<Pass> timerl::createSchedToLoopsPass(bool recordable,
                                                     bool sanitize) {
  return std::make_unique<SchedToLoops>(recordable, sanitize);
}
void timerl::registerSchedToLoopsPass() { PassRegistration<SchedToLoops>(); }
