//===- Threads.cpp - Work split over threads ------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop without an order becomes a function of a part of its range, which the
// runtime calls on each thread. What an iteration computes does not depend on
// where the parts begin, so any number of threads gives the same bits.
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "timerl/Vectorize/Passes.h"
#include "timerl/Vectorize/Work.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::codegen;

/// Work that is worth waking threads for: some tens of microseconds.
static constexpr double leastWork = 300'000;

bool Generator::isWorthThreads(double work) const {
  return !inTask && !sanitize && lanes == 1 && work >= leastWork;
}

bool Generator::isTask(sched::ForOp op) const {
  if (!op.getParallel() || !isWorthThreads(estimateWork(op, scope.ranges)))
    return false;
  // Reports come from one thread.
  return !op.walk([](sched::OutputOp) {
              return WalkResult::interrupt();
            }).wasInterrupted();
}

/// Stack space of this function.
Value Generator::reserve(int64_t words) {
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.getInsertionBlock();
  auto function = cast<func::FuncOp>(
      isa<func::FuncOp>(block->getParentOp())
          ? block->getParentOp()
          : block->getParentOp()->getParentOfType<func::FuncOp>());
  b.setInsertionPointToStart(&function.getBody().front());
  return LLVM::AllocaOp::create(b, loc,
                                LLVM::LLVMPointerType::get(b.getContext()),
                                b.getI64Type(), constant(words));
}

void Generator::inThreads(Value count, Operation *op,
                          MutableArrayRef<Value> kept,
                          llvm::function_ref<void(Value lo, Value hi)> body) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  // All that the function needs travels in one array of words.
  SmallVector<Value *> captured{&arena, &args};
  for (auto &[name, length] : ends)
    captured.push_back(&length);
  for (auto &[name, value] : scope.variables)
    captured.push_back(&value);
  for (Value &value : kept)
    captured.push_back(&value);
  Value context = reserve(static_cast<int64_t>(captured.size()));
  for (auto [k, value] : llvm::enumerate(captured)) {
    Value place = offsetPointer(context, constant(k), i64);
    LLVM::StoreOp::create(b, loc, *value, place);
  }
  Value outerArena = arena, outerArgs = args, outerPoints = points,
        outerScratch = scratchSpace;
  auto outerEnds = ends;
  Scope outerScope = scope;
  SmallVector<Value> outerKept(kept);
  std::string name = "timerl_task_" + std::to_string(numOutlined++);
  auto type = b.getFunctionType({pointer, pointer, i64, i64}, {});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(module.getBody());
    auto function = func::FuncOp::create(b, loc, name, type);
    function.setPrivate();
    function->setAttr(
        "llvm.linkage",
        LLVM::LinkageAttr::get(b.getContext(), LLVM::Linkage::Internal));
    Block *entry = function.addEntryBlock();
    b.setInsertionPointToStart(entry);
    for (auto [k, value] : llvm::enumerate(captured)) {
      Value place = offsetPointer(entry->getArgument(0), constant(k), i64);
      *value = LLVM::LoadOp::create(b, loc, value->getType(), place);
    }
    scratchSpace = entry->getArgument(1);
    points = reserve(32 * maxLanes);
    inTask = true;
    body(entry->getArgument(2), entry->getArgument(3));
    inTask = false;
    func::ReturnOp::create(b, loc);
  }
  arena = outerArena;
  args = outerArgs;
  points = outerPoints;
  scratchSpace = outerScratch;
  ends = std::move(outerEnds);
  scope = std::move(outerScope);
  llvm::copy(outerKept, kept.begin());
  Value function = func::ConstantOp::create(b, loc, type, name);
  func::CallOp::create(b, loc, "timerl_rt_parallel", TypeRange(),
                       ValueRange{function, context, count});
}
