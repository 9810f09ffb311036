//===- GradientTape.h - The tape of one equation ----------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Records what an equation's region does at one point and runs it backwards.
// Cotangents are doubles. A cotangent that is zero contributes exactly zero,
// whatever it is multiplied by.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_INTERPRETER_GRADIENTTAPE_H
#define TIMERL_LIB_INTERPRETER_GRADIENTTAPE_H

#include "Evaluator.h"

namespace timerl::interp {

/// Whether any derivative passes through the operation.
bool isDifferentiable(Opcode code);

class GradientTape : public Observer {
public:
  using Cotangent = std::vector<double>;

  /// `isVaried`: whether a point depends on the leaf, or is it.
  GradientTape(const Body &body, std::function<bool(PointRef)> isVaried)
      : isVaried(std::move(isVaried)), ids(body.numSlots, -1) {}

  void restarted() override;
  void executed(const Instruction &inst, const Frame &frame,
                llvm::ArrayRef<PointRef> points) override;
  void forwarded(const Instruction &inst, llvm::ArrayRef<int> slots) override;
  void reduced(const Instruction &inst, const Frame &frame) override;
  void reductionDone(const Instruction &inst, const Frame &frame) override;
  void chosen(const Instruction &inst, const Frame &frame) override;

  /// From cotangents of the yielded slots (empty ones are zero) to those of the
  /// points read.
  void reverse(llvm::ArrayRef<int> yields, llvm::ArrayRef<Cotangent> seeds,
               llvm::function_ref<void(PointRef, llvm::ArrayRef<double>)> add);

private:
  struct Entry {
    const Instruction *inst;
    /// Identities of the operands; -1: constant. Of a region's yields, round
    /// after round, for a reduction; both branches' for an `if`.
    llvm::SmallVector<int, 3> from;
    llvm::SmallVector<Array, 3> operands;
    int to; ///< Of the first result.
    llvm::SmallVector<Array, 1> results;
    llvm::SmallVector<PointRef, 1> points;
    int64_t sliceBase = 0;
    llvm::SmallVector<int64_t> sliceStrides;
  };

  std::function<bool(PointRef)> isVaried;
  std::vector<int> ids; ///< The identity of each slot's present value.
  std::vector<Entry> entries;
  std::vector<Entry> rounds; ///< Reductions under way, innermost last.
  int numIds = 0;
  std::vector<Cotangent> cotangents; ///< By identity; empty: zero.

  void close(Entry entry, const Frame &frame);
  Cotangent &at(int id, int64_t size);
  void pull(const Entry &entry);
  void pullElementwise(const Entry &entry, const Cotangent &g);
  void pullShape(const Entry &entry, const Cotangent &g);
  void pullMatmul(const Entry &entry, const Cotangent &g);
  void pullReduce(const Entry &entry, const Cotangent &g);
  void pullReduceOver(const Entry &entry);
  void pullIf(const Entry &entry);
  /// Adds offset by offset into the operand.
  void pullStrided(const Entry &entry, const Cotangent &g,
                   llvm::ArrayRef<int64_t> strides, int64_t base);
};

} // namespace timerl::interp

#endif // TIMERL_LIB_INTERPRETER_GRADIENTTAPE_H
