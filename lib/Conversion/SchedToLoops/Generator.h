//===- Generator.h - From statements on buffers to loops --------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scalar is an SSA value; any other tensor lies dense and row-major in
// memory: in its slot of the arena, or in scratch space behind the arena, which
// each statement uses anew. So nothing is allocated while the program runs.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_CONVERSION_SCHEDTOLOOPS_GENERATOR_H
#define TIMERL_LIB_CONVERSION_SCHEDTOLOOPS_GENERATOR_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "sched/SchedDialect.h"
#include <functional>
#include <map>

namespace timerl::codegen {

/// A value of a statement's body: an SSA scalar, a pointer to its elements, or
/// what computes an element where it is used.
struct Operand {
  mlir::RankedTensorType type;
  mlir::Value value;
  std::function<mlir::Value(mlir::Value index)> compute = nullptr;
  bool isScalar() const { return type.getRank() == 0; }
};

/// The extents of the dims that an input is over; none if one is not constant.
std::optional<llvm::SmallVector<int64_t>> inputExtents(mlir::ModuleOp module,
                                                       trl::InputOp input);

class Generator {
public:
  Generator(mlir::ModuleOp module, sched::ProgramOp program,
            mlir::OpBuilder &builder);

  /// Emits the whole program; failure after an error is reported.
  mlir::LogicalResult run();
  /// Bytes of the arena, scratch space included.
  int64_t arenaBytes() const { return scratchBase + scratchMost; }

  using Body = llvm::function_ref<void(llvm::ArrayRef<mlir::Value>)>;

private:
  // Structure.
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emitFor(sched::ForOp loop);
  mlir::LogicalResult emitOutlined(sched::ForOp loop);
  mlir::LogicalResult emitLoop(sched::ForOp loop);
  mlir::LogicalResult emitStmt(sched::StmtOp stmt);
  mlir::LogicalResult emitOutput(sched::OutputOp output);
  mlir::LogicalResult emitSave(sched::OutputOp output, const Operand &value,
                               int64_t number);
  mlir::LogicalResult bind(mlir::Operation *op, mlir::ArrayAttr dims,
                           mlir::ArrayAttr values);

  // Bodies.
  mlir::LogicalResult emitOps(mlir::Block &block);
  mlir::LogicalResult emitOp(mlir::Operation &op);
  mlir::LogicalResult emitElementwise(mlir::Operation &op);
  static bool isFused(mlir::Operation &op);
  mlir::LogicalResult emitRead(trl::ReadOp read);
  void checkIndex(trl::ReadOp read, mlir::Value position,
                  trl::DynamicAttr declared);
  mlir::LogicalResult emitRandom(trl::RandomOp random);
  mlir::LogicalResult emitReduce(trl::ReduceOp reduce);
  mlir::LogicalResult emitReduceOver(trl::ReduceOverOp reduce);
  mlir::LogicalResult emitBranches(mlir::Operation *op, mlir::Value condition,
                                   mlir::Region &then, mlir::Region &otherwise);
  mlir::LogicalResult emitElementwiseIf(trl::IfOp branch,
                                        const Operand &condition);
  void emitMatmul(trl::MatmulOp matmul);
  /// Whether products read the operand in its place: no copy is made.
  static bool isFolded(trl::TransposeOp transpose);
  mlir::Value multiplyAdd(mlir::Value x, mlir::Value y, mlir::Value sum);
  mlir::Value innerProduct(mlir::Value x, mlir::Value y,
                           llvm::ArrayRef<mlir::Value> held, int64_t length,
                           mlir::Type type);
  /// All of a short vector in registers; empty when it is too long.
  llvm::SmallVector<mlir::Value> hold(mlir::Value base, int64_t length,
                                      mlir::Type type);
  mlir::Value loadLanes(mlir::Value base, mlir::Value k, int64_t lanes,
                        mlir::Type type);
  void emitArgsort(trl::ArgsortOp argsort);
  mlir::LogicalResult unsupported(mlir::Operation *op, const llvm::Twine &what);

  // Scalars.
  mlir::Value scalarOp(mlir::Operation &op, llvm::ArrayRef<mlir::Value> args);
  mlir::Value castScalar(mlir::Value value, mlir::Type to);
  mlir::Value initial(trl::Reduction kind, mlir::Type type);
  mlir::Value exceeds(mlir::Value value, mlir::Value present);
  mlir::Value combine(trl::Reduction kind, mlir::Value a, mlir::Value b);

  // Expressions and addresses.
  mlir::Value text(llvm::StringRef characters);
  mlir::Value emitExpr(const Expr &expr);
  mlir::Value constant(int64_t value);
  mlir::Value floorDiv(mlir::Value lhs, mlir::Value rhs);
  mlir::Value linear(llvm::ArrayRef<int64_t> shape,
                     llvm::ArrayRef<mlir::Value> indices);
  /// Where in its buffer a value lies, in elements.
  mlir::Value slot(sched::BufferOp buffer, int64_t elements,
                   llvm::ArrayRef<mlir::Value> positions);
  mlir::Value load(mlir::Value base, mlir::Value index, mlir::Type type);
  void store(mlir::Value value, mlir::Value base, mlir::Value index);
  mlir::Value element(const Operand &operand, mlir::Value index);
  mlir::Value offsetPointer(mlir::Value base, mlir::Value index,
                            mlir::Type type);
  mlir::Value scratch(mlir::RankedTensorType type);
  void loopNest(llvm::ArrayRef<int64_t> shape, Body body);
  void loop(mlir::Value lo, mlir::Value hi,
            llvm::function_ref<void(mlir::Value)> body);
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  void copy(const Operand &from, mlir::Value base, mlir::Value first);
  void define(mlir::Value result, mlir::Value value);
  Operand get(mlir::Value value);

  mlir::ModuleOp module;
  sched::ProgramOp program;
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Value arena, args;
  mlir::Value points; ///< Room for the coordinates of a point.
  llvm::DenseMap<mlir::Value, Operand> values;
  /// Pointers into buffers: what they point to may be overwritten.
  llvm::DenseSet<mlir::Value> borrowed;
  unsigned loopDepth = 0, numOutlined = 0;
  std::map<std::string, mlir::Value> variables;
  std::map<std::string, mlir::Value> ends; ///< Where `end(t)` is kept.
  std::map<std::string, sched::BufferOp> buffers;
  std::map<std::string, unsigned> argNumbers;
  std::map<std::string, std::string> texts; ///< Globals of constant strings.
  /// Of each input: where its pointer stands among the args, and its extents.
  struct InputPlace {
    size_t number = 0;
    llvm::SmallVector<int64_t> extents;
  };
  std::map<std::string, InputPlace> inputs;
  unsigned outputs = 0;
  int64_t scratchBase, scratchUsed = 0, scratchMost = 0;
};

} // namespace timerl::codegen

#endif // TIMERL_LIB_CONVERSION_SCHEDTOLOOPS_GENERATOR_H
