//===- Program.h - A trl module laid out for evaluation ---------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A one-to-one reading of a `trl` module in which names have become numbers:
// SSA values are slots of a frame, dims and binders positions of an
// environment, symbols indices of a table. Nothing is transformed.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_INTERPRETER_PROGRAM_H
#define TIMERL_LIB_INTERPRETER_PROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "timerl/Interpreter/Interpreter.h"
#include "timerl/Support/Array.h"
#include "trl/TrlDialect.h"

namespace timerl::interp {

/// An index expression or condition over an environment.
struct IndexExpr {
  Expr::Kind kind = Expr::Kind::Const;
  int64_t value = 0;
  /// Var: a position of the environment, or -1 for `end(dim)`, whose outer
  /// dims then stand at `outer`.
  int slot = -1;
  unsigned dim = 0;
  std::vector<int> outer;
  std::vector<IndexExpr> operands;
  std::vector<int64_t> coefficients;
};

struct Iterator {
  std::string name;
  int slot;
  IndexExpr lo, hi;
};

/// One index of a read or an extract.
struct Access {
  enum Kind { At, Range, Dynamic } kind;
  IndexExpr lo, hi;     ///< At: the index is `lo`.
  bool bounded = false; ///< Dynamic: `lo : hi` is a range to respect.
  int operand = -1;     ///< Dynamic: the slot of the index.
};

enum class Opcode {
  Constant,
  Fill,
  Index,
  Iota,
  Random,
  Read,
  Grad,
  // Elementwise.
  Neg,
  Abs,
  Exp,
  Log,
  Sqrt,
  Sin,
  Cos,
  Tanh,
  Floor,
  Ceil,
  Not,
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  Min,
  Max,
  And,
  Or,
  CotangentMul,
  Clip,
  Compare,
  Select,
  Cast,
  StopGradient,
  // Shapes.
  Broadcast,
  Reshape,
  Transpose,
  Stack,
  Concat,
  Extract,
  Take,
  Scatter,
  // Along axes.
  Matmul,
  Reduce,
  Cumsum,
  Argsort,
  // Regions.
  ReduceOver,
  If,
  Case
};

struct ValueType {
  DType dtype;
  bool isStatic = true;
  llvm::SmallVector<int64_t> shape; ///< When static.
  std::vector<IndexExpr> lengths;   ///< When not.
};

struct Region;

struct Instruction {
  Opcode code;
  mlir::Operation *op;
  llvm::SmallVector<int, 3> operands;
  int result = 0; ///< Slot of the first result; the others follow.
  llvm::SmallVector<ValueType, 1> types;

  Array constant;                  ///< Constant.
  llvm::SmallVector<int64_t> axes; ///< Axes, axis or permutation.
  bool flag = false;               ///< reverse, add, filtered.
  trl::Reduction reduction{};      ///< Reduce, ReduceOver.
  trl::Predicate predicate{};      ///< Compare.
  trl::Draw draw{};                ///< Random.
  DType drawType{};                ///< Random: as declared.
  uint64_t site = 0;               ///< Random: hash of the site.
  IndexExpr expr;                  ///< Index, Case, `when`, seed offset.
  std::vector<IndexExpr> point;    ///< Random's point; Grad's `of`.
  std::vector<IndexExpr> leaf;     ///< Grad: the point of the leaves.
  std::vector<unsigned> leaves;    ///< Grad: their tensors.
  std::vector<Access> accesses;    ///< Read, Extract.
  unsigned source = 0;             ///< Read, Grad: tensor or input.
  bool isInput = false;            ///< Read.
  std::vector<Iterator> binders;   ///< ReduceOver.
  std::vector<Region> regions;
  /// Whether a float result may carry a gradient (set by the gradient tape).
  bool useful = false;
};

struct Region {
  std::vector<Instruction> instructions;
  llvm::SmallVector<int> yields;
};

/// What equations and outputs share.
struct Body {
  mlir::Operation *op;
  std::vector<Iterator> domain;
  IndexExpr when;
  Region region;
  unsigned numSlots = 0, environmentSize = 0;
};

struct Target {
  unsigned tensor;
  std::vector<IndexExpr> indices;
};

struct Equation : Body {
  std::vector<Target> targets;
  /// Tensors a gradient may pass on to.
  std::vector<unsigned> activeReads;
};

struct Output : Body {
  trl::OutputKind kind;
  std::string name;
};

struct TensorInfo {
  std::string name;
  mlir::Location loc;
  ValueType type; ///< dtype and static shape; dynamic lengths are unresolved.
  unsigned rank;
  std::vector<std::string> positions;
  /// (equation, target) pairs that define points of it.
  std::vector<std::pair<unsigned, unsigned>> definitions;
};

struct InputInfo {
  std::string name;
  mlir::Location loc;
  DType dtype;
  llvm::SmallVector<int64_t> shape; ///< Of one point.
  std::vector<std::string> over;
  llvm::SmallVector<int64_t> extents; ///< Of the dims it is over.
  Array value;
};

struct DimInfo {
  std::string name;
  int64_t extent;
  int until = -1; ///< Tensor.
};

/// Raised inside the interpreter alone and caught at its entry; never crosses
/// LLVM or MLIR frames.
struct Failure {
  InterpreterError error;
};
[[noreturn]] void fail(llvm::StringRef code, mlir::Location loc,
                       const llvm::Twine &message);

class Program {
public:
  /// Throws Failure.
  Program(mlir::ModuleOp module, const InterpreterOptions &options);

  mlir::Location loc;
  std::vector<TensorInfo> tensors;
  std::vector<InputInfo> inputs;
  std::vector<DimInfo> dims;
  std::vector<Equation> equations;
  std::vector<Output> outputs;
  bool doublePrecision;

  std::optional<unsigned> findTensor(llvm::StringRef name) const;
};

/// Sets `Instruction::useful` and `Equation::activeReads`.
void markActivity(Equation &equation);

/// `s[3, 0, 501]`.
std::string pointText(llvm::StringRef name, llvm::ArrayRef<int64_t> point);

} // namespace timerl::interp

#endif // TIMERL_LIB_INTERPRETER_PROGRAM_H
