//===- Evaluator.h - Evaluation on demand -----------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recurrences are as deep as an episode is long times the number of iterations,
// so points are not evaluated by recursion. A region is *attempted*: a read of
// a point not yet known gives a null array, operations on null arrays give null
// arrays, and the attempt notes every point it missed. Those go onto a stack;
// when they are known, the region is attempted again. A point that misses one
// under evaluation depends on itself.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_INTERPRETER_EVALUATOR_H
#define TIMERL_LIB_INTERPRETER_EVALUATOR_H

#include "Kernels.h"
#include "PointTable.h"
#include "Program.h"

namespace timerl::interp {

/// A point of a tensor, or of the stop of a dim (numbered after the tensors).
struct PointRef {
  uint32_t table, number;
  bool operator==(const PointRef &rhs) const = default;
};

struct Frame;

/// Told what a region does while it is evaluated (see GradientTape).
class Observer {
public:
  virtual ~Observer() = default;
  /// What follows is another attempt at the same region.
  virtual void restarted() = 0;
  /// An instruction without regions, its results being in the frame;
  /// `points` are those a read or a gradient used.
  virtual void executed(const Instruction &inst, const Frame &frame,
                        llvm::ArrayRef<PointRef> points) = 0;
  /// Results of `inst` are the values of these slots.
  virtual void forwarded(const Instruction &inst,
                         llvm::ArrayRef<int> slots) = 0;
  /// One round of a reduction, then its end.
  virtual void reduced(const Instruction &inst, const Frame &frame) = 0;
  virtual void reductionDone(const Instruction &inst, const Frame &frame) = 0;
  /// An elementwise `if`.
  virtual void chosen(const Instruction &inst, const Frame &frame) = 0;
};

/// The state of one region under evaluation.
struct Frame {
  explicit Frame(const Body &body)
      : body(body), slots(body.numSlots), environment(body.environmentSize) {}
  const Body &body;
  std::vector<Array> slots;
  std::vector<int64_t> environment;
  Observer *observer = nullptr;
  /// Where the last extract found its elements.
  int64_t sliceBase = 0;
  llvm::SmallVector<int64_t> sliceStrides;
};

/// An equation at one point of its domain.
struct Instance {
  unsigned equation;
  llvm::SmallVector<int64_t> environment;
};

class Evaluator {
public:
  Evaluator(const Program &program, const InterpreterOptions &options);

  const Program &program;

  /// Evaluates a body at a point of its domain, with all it depends on.
  /// Throws Failure, as everything here.
  llvm::SmallVector<Array> evaluate(const Body &body,
                                    llvm::ArrayRef<int64_t> environment);
  const Array &evaluate(unsigned tensor, llvm::ArrayRef<int64_t> point);
  /// Calls `visit` with the environment of each point of the domain, in order.
  void forEachPoint(const Body &body,
                    llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

  /// The equation that defines a point; none when nothing does.
  std::optional<Instance> findDefinition(unsigned tensor,
                                         llvm::ArrayRef<int64_t> point);
  /// Runs an equation, for what the observer then learns; its reads are known
  /// or become so.
  llvm::SmallVector<Array> rerun(const Instance &instance, Observer *observer);

  PointTable &table(unsigned tensor) { return tables[tensor]; }
  /// None when unknown as yet (noted as missing).
  std::optional<int64_t> evaluate(const IndexExpr &expr,
                                  llvm::ArrayRef<int64_t> environment);
  llvm::SmallVector<int64_t> targetPoint(const Target &target,
                                         llvm::ArrayRef<int64_t> environment);

private:
  const InterpreterOptions &options;
  std::vector<PointTable> tables; ///< Tensors, then stops of dims.
  std::vector<PointRef> missing;  ///< Of the present attempt.
  uint32_t attempt = 0;
  mlir::Operation *current = nullptr; ///< For messages.
  std::map<std::pair<const Instruction *, std::pair<uint32_t, uint32_t>>,
           llvm::SmallVector<Array>>
      gradients; ///< Known results of `trl.grad`.

  struct Pending {
    PointRef ref;
    bool started;
  };
  std::vector<Pending> stack;

  /// Whether point k of a dim that may stop is executed: k < end(dim), which
  /// is known once the stop is known not to lie before k. That is why points
  /// of the dim can be evaluated before its end is known.
  std::optional<bool> isBeforeStop(const IndexExpr &end,
                                   llvm::ArrayRef<int64_t> environment,
                                   int64_t k);
  /// k < bound.
  std::optional<bool> isBelow(const IndexExpr &bound,
                              llvm::ArrayRef<int64_t> environment, int64_t k);
  /// sum == 0 or sum >= 0 where a stop is a term of the sum; none when there
  /// is no such term (`applies` is false then) or the answer is not known yet.
  std::optional<bool> compareStop(Expr::Kind kind, const IndexExpr &sum,
                                  llvm::ArrayRef<int64_t> environment,
                                  bool &applies);
  PointRef stopRef(const IndexExpr &end, llvm::ArrayRef<int64_t> environment);
  /// Moves on over points of the dim that are known; notes the first unknown
  /// one as missing when `wanted` lies behind it.
  void advanceStop(PointRef ref, int64_t wanted);
  void beginAttempt();
  void miss(PointRef ref);
  /// Evaluates everything on the stack above its lowest `base` entries.
  void drain(size_t base);
  /// Repeats `body` until it misses nothing, evaluating what it misses.
  void untilKnown(mlir::Location loc, llvm::function_ref<void()> body);
  void pushMissing(mlir::Location loc);
  /// None when a stop must be known first (then noted as missing), or when
  /// nothing defines the point.
  std::optional<Instance> resolve(unsigned tensor,
                                  llvm::ArrayRef<int64_t> point);
  [[noreturn]] void failUndefined(PointRef ref);
  bool attemptTensor(PointRef ref);
  bool attemptStop(PointRef ref);
  std::string describe(PointRef ref);
  mlir::Location locationOf(PointRef ref);

  void runRegion(const Region &region, Frame &frame);
  void run(const Instruction &inst, Frame &frame);
  void runReduceOver(const Instruction &inst, Frame &frame);
  void runBranch(const Instruction &inst, Frame &frame, bool condition);
  void runElementwiseIf(const Instruction &inst, Frame &frame,
                        const Array &condition);
  Array runRead(const Instruction &inst, Frame &frame,
                llvm::ArrayRef<int64_t> shape,
                llvm::SmallVectorImpl<PointRef> &points);
  Array runExtract(const Instruction &inst, Frame &frame,
                   llvm::ArrayRef<int64_t> shape);
  Array runSimple(const Instruction &inst, llvm::ArrayRef<Array> operands,
                  llvm::ArrayRef<int64_t> shape, Frame &frame);
  void runGrad(const Instruction &inst, Frame &frame);
  bool shapeOf(const ValueType &type, Frame &frame,
               llvm::SmallVectorImpl<int64_t> &shape);
  bool evaluateAll(llvm::ArrayRef<IndexExpr> exprs, Frame &frame,
                   llvm::SmallVectorImpl<int64_t> &values);

  bool matches(const Equation &equation, const Target &target,
               llvm::ArrayRef<int64_t> point,
               llvm::SmallVectorImpl<int64_t> &environment, bool &unknown);
  bool search(const Equation &equation, const Target &target,
              llvm::ArrayRef<int64_t> point, llvm::ArrayRef<bool> solved,
              unsigned depth, llvm::SmallVectorImpl<int64_t> &environment,
              bool &unknown);
};

/// dy/dx for each leaf of a `trl.grad`, y and all it depends on being known.
llvm::SmallVector<Array> gradient(Evaluator &evaluator, const Instruction &inst,
                                  PointRef of, llvm::ArrayRef<PointRef> leaves);

} // namespace timerl::interp

#endif // TIMERL_LIB_INTERPRETER_EVALUATOR_H
