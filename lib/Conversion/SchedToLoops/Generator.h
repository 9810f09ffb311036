//===- Generator.h - From statements on buffers to loops --------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scalar is an SSA value; any other tensor lies row-major in memory: in its
// slot of the arena, or in scratch space, of which each thread has its own and
// which each statement uses anew. So nothing is allocated while the program
// runs.
//
// Inside of a loop that runs in lanes, what differs between the lanes has
// vectors for its elements, one number for each lane; what does not stays a
// number. In memory the lanes of an element are next to each other.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_CONVERSION_SCHEDTOLOOPS_GENERATOR_H
#define TIMERL_LIB_CONVERSION_SCHEDTOLOOPS_GENERATOR_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "sched/SchedDialect.h"
#include "timerl/Symbolic/Interval.h"
#include "timerl/Vectorize/Variance.h"
#include <functional>
#include <map>

namespace timerl::codegen {

/// A value of a statement's body: an SSA scalar, a pointer to its elements, or
/// what computes an element where it is used.
struct Operand {
  mlir::RankedTensorType type;
  mlir::Value value;
  /// Elements differ between lanes: each is a vector.
  bool varying = false;
  /// How far apart two neighbouring elements are in memory, in elements.
  int64_t stride = 1;
  std::function<mlir::Value(mlir::Value index)> compute = nullptr;
  /// The same for a matrix whose elements are computed from row and column.
  std::function<mlir::Value(mlir::Value row, mlir::Value column)> computePair =
      nullptr;
  /// Of such a matrix that is a product of two: these.
  std::function<std::pair<mlir::Value, mlir::Value>(mlir::Value row,
                                                    mlir::Value column)>
      factors = nullptr;
  bool isScalar() const { return type.getRank() == 0; }
  bool isComputed() const { return compute || computePair; }
};

/// Where a value lies in a buffer or an input.
struct Place {
  mlir::Value base;
  mlir::Value offset; ///< In elements; a vector when lanes are far apart.
  int64_t stride = 1; ///< Of the elements of the value.
  bool varying = false;
  bool scattered() const {
    return mlir::isa<mlir::VectorType>(offset.getType());
  }
};

/// The extents of the dims that an input is over; none if one is not constant.
std::optional<llvm::SmallVector<int64_t>> inputExtents(mlir::ModuleOp module,
                                                       trl::InputOp input);

/// What an element takes in memory.
int64_t storedBytes(mlir::Type type);

/// What is known of the lengths of dims that stop early.
Intervals stopLengths(mlir::ModuleOp module);

class Generator {
public:
  /// `recordable`: runs may be recorded. `sanitize`: reads test which point
  /// their slot holds.
  Generator(mlir::ModuleOp module, sched::ProgramOp program,
            mlir::OpBuilder &builder, bool recordable, bool sanitize);

  /// Emits the whole program; failure after an error is reported.
  mlir::LogicalResult run();
  /// Bytes of scratch space that each thread needs.
  int64_t scratchBytes() const { return scratchMost; }

  /// Whether an elementwise op is computed element by element in its one user,
  /// which asks for each element just once.
  static bool isFused(mlir::Operation &op);
  /// Whether a product of a column and a row is computed where it is used.
  static bool isOuterProduct(mlir::Operation &op);

  /// A tensor of which a run keeps all values.
  struct RecordedTensor {
    size_t number = 0;
    llvm::SmallVector<Interval> box; ///< Where its points are.
  };
  std::map<std::string, RecordedTensor> recorded;

  using Body = llvm::function_ref<void(llvm::ArrayRef<mlir::Value>)>;

private:
  /// The names in scope and what is known of them.
  struct Scope {
    std::map<std::string, mlir::Value> variables; ///< In the first lane.
    std::map<std::string, mlir::Value> vectors;   ///< Of varying ones.
    Variances variances;
    Intervals ranges;
    bool inBody = false; ///< Of a statement: names are those of its dims.
  };

  // Structure.
  mlir::LogicalResult emitBlock(mlir::Block &block);
  /// Tests the extents that args decide on.
  void testExtents();
  mlir::LogicalResult emitFor(sched::ForOp loop);
  mlir::LogicalResult emitOutlined(sched::ForOp loop);
  mlir::LogicalResult emitLoop(sched::ForOp loop);
  mlir::LogicalResult emitCountedLoop(sched::ForOp loop);
  mlir::LogicalResult emitStoppingLoop(sched::ForOp loop);
  mlir::LogicalResult emitLaneLoop(sched::ForOp loop);
  mlir::LogicalResult emitLanes(sched::ForOp loop, mlir::Value lo,
                                mlir::Value hi);
  mlir::LogicalResult emitStmt(sched::StmtOp stmt);
  void storeResult(const Operand &value, llvm::StringRef tensor,
                   mlir::ArrayAttr indices);
  void emitRecord(const Operand &value, llvm::StringRef tensor,
                  mlir::ArrayAttr indices, llvm::ArrayRef<mlir::Value> at,
                  mlir::Value from, int64_t elements);
  mlir::LogicalResult emitOutput(sched::OutputOp output);
  mlir::LogicalResult emitPoint(sched::OutputOp output, const Operand &value);
  mlir::LogicalResult emitSave(sched::OutputOp output, const Operand &value,
                               int64_t number);
  mlir::LogicalResult bind(mlir::Operation *op, mlir::ArrayAttr dims,
                           mlir::ArrayAttr values);

  // Threads.
  bool isWorthThreads(double work) const;
  bool isTask(sched::ForOp loop) const;
  /// Has all threads call `body` with parts of 0 : count; `op` is what is
  /// computed, `kept` are values from outside that the body uses.
  void inThreads(mlir::Value count, mlir::Operation *op,
                 llvm::MutableArrayRef<mlir::Value> kept,
                 llvm::function_ref<void(mlir::Value lo, mlir::Value hi)> body);
  mlir::Value reserve(int64_t words);

  // Tests of slots.
  enum class Access { Read, Write };
  void declareSanitizer();
  /// What an op is called in messages, and where it stands.
  std::string describePlace(mlir::Operation *op);
  /// Tells the runtime of an access to a value of `elements` elements.
  void trace(Access access, llvm::StringRef tensor, mlir::ArrayAttr indices,
             llvm::ArrayRef<mlir::Value> at,
             llvm::ArrayRef<mlir::Value> dynamic, const Place &place,
             int64_t elements, mlir::Type type);
  mlir::Value inChosenOrder(mlir::Value variable, mlir::Value lo,
                            mlir::Value hi);

  // Bodies.
  mlir::LogicalResult emitOps(mlir::Block &block);
  mlir::LogicalResult emitOp(mlir::Operation &op);
  mlir::LogicalResult emitElementwise(mlir::Operation &op);
  mlir::LogicalResult emitRead(trl::ReadOp read);
  mlir::Value checkIndex(trl::ReadOp read, mlir::Value position,
                         trl::DynamicAttr declared);
  mlir::LogicalResult emitRandom(trl::RandomOp random);
  void emitScatter(trl::ScatterOp scatter);
  mlir::LogicalResult emitBranches(mlir::Operation *op, mlir::Value condition,
                                   mlir::Region &then, mlir::Region &otherwise);
  mlir::LogicalResult emitVaryingIf(trl::IfOp branch, mlir::Value condition);
  mlir::LogicalResult emitElementwiseIf(trl::IfOp branch,
                                        const Operand &condition);
  void emitArgsort(trl::ArgsortOp argsort);
  mlir::LogicalResult unsupported(mlir::Operation *op, const llvm::Twine &what);
  bool isVarying(mlir::Value value) const {
    return lanes > 1 && varying.contains(value);
  }

  // Reductions.
  mlir::LogicalResult emitReduce(trl::ReduceOp reduce);
  mlir::LogicalResult emitReduceOver(trl::ReduceOverOp reduce);
  mlir::LogicalResult emitArgmaxOver(trl::ReduceOverOp reduce);
  mlir::LogicalResult
  emitNest(trl::ReduceOverOp reduce, llvm::SmallVectorImpl<mlir::Value> &sums,
           bool rest,
           llvm::function_ref<void(llvm::SmallVectorImpl<mlir::Value> &sums,
                                   mlir::Value filter)>
               add);
  mlir::Value combineLanes(trl::Reduction kind, mlir::Value value);

  // Products.
  void emitMatmul(trl::MatmulOp matmul);
  static int64_t tileOf(int64_t length, int64_t most);
  /// Rows and columns of a tile of a result, as many as registers hold.
  static std::pair<int64_t, int64_t> tileShape(int64_t rows, int64_t columns);
  void tiles(int64_t length, int64_t size,
             llvm::function_ref<void(mlir::Value start, int64_t size)> body);
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

  // Scalars, and vectors of one number a lane.
  mlir::Value scalarOp(mlir::Operation &op, llvm::ArrayRef<mlir::Value> args);
  mlir::Value integerPower(mlir::Value x, mlir::Value y);
  mlir::Value castScalar(mlir::Value value, mlir::Type to);
  mlir::Value initial(trl::Reduction kind, mlir::Type type);
  mlir::Value exceeds(mlir::Value value, mlir::Value present);
  mlir::Value combine(trl::Reduction kind, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value then,
                     mlir::Value otherwise);
  mlir::Value negate(mlir::Value condition);
  /// A number in all lanes; a vector stays as it is.
  mlir::Value splat(mlir::Value value);
  /// Makes both vectors if one is.
  void match(mlir::Value &x, mlir::Value &y);
  /// Whether a condition holds in any lane.
  mlir::Value anyLane(mlir::Value condition);
  /// 0, 1, 2, ... over the lanes.
  mlir::Value laneNumbers();
  mlir::Value extractLane(mlir::Value vector, int64_t lane);

  // Expressions and addresses.
  /// The address of a constant string.
  mlir::Value text(llvm::StringRef characters);
  /// `file:line:column`, where it is known.
  static std::string placeOf(mlir::Operation *op);
  /// In the first lane.
  mlir::Value emitExpr(const Expr &expr) { return emitExpr(expr, false); }
  /// In each lane: a vector where they differ.
  mlir::Value emitLanes(const Expr &expr) { return emitExpr(expr, true); }
  mlir::Value emitExpr(const Expr &expr, bool inLanes);
  /// The length `end(t)` at a point of t's outer dims.
  mlir::Value countOf(const std::string &end, llvm::ArrayRef<Expr> outer);
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value subtract(mlir::Value x, mlir::Value y);
  mlir::Value multiply(mlir::Value x, mlir::Value y);
  mlir::Value floorDiv(mlir::Value lhs, mlir::Value rhs);
  mlir::Value linear(llvm::ArrayRef<int64_t> shape,
                     llvm::ArrayRef<mlir::Value> indices);
  /// Where a tensor or an input has its value of `elements` elements at
  /// `indices`; ranges start `at` their beginnings, dynamic ones are `dynamic`.
  Place placeOf(llvm::StringRef tensor, mlir::ArrayAttr indices,
                llvm::ArrayRef<mlir::Value> at,
                llvm::ArrayRef<mlir::Value> dynamic, int64_t elements);
  /// Element `k` of the value at a place.
  mlir::Value loadFrom(const Place &place, mlir::Value k, mlir::Type type);
  void storeTo(const Place &place, mlir::Value k, mlir::Value value);
  /// A value as it lies in memory, in the type that it is computed with.
  mlir::Value asComputed(mlir::Value read, mlir::Type type);
  mlir::Value load(mlir::Value base, mlir::Value index, mlir::Type type);
  void store(mlir::Value value, mlir::Value base, mlir::Value index);
  mlir::Value element(const Operand &operand, mlir::Value index);
  mlir::Value pairElement(const Operand &operand, mlir::Value row,
                          mlir::Value column);
  /// An element at an index that may differ between lanes.
  mlir::Value gather(const Operand &operand, mlir::Value index);
  void put(const Operand &to, mlir::Value index, mlir::Value value);
  mlir::Value offsetPointer(mlir::Value base, mlir::Value index,
                            mlir::Type type);
  Operand scratch(mlir::RankedTensorType type, bool varying = false);
  /// With its elements in memory; next to each other, unless they are vectors.
  Operand inMemory(const Operand &operand);
  void loopNest(llvm::ArrayRef<int64_t> shape, Body body);
  void loop(mlir::Value lo, mlir::Value hi,
            llvm::function_ref<void(mlir::Value)> body);
  /// A loop that carries values.
  llvm::SmallVector<mlir::Value>
  fold(mlir::Value lo, mlir::Value hi, int64_t step, mlir::ValueRange initial,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           body);
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  void copy(const Operand &from, const Operand &to, mlir::Value first);
  void define(mlir::Value result, mlir::Value value);
  void define(mlir::Value result, const Operand &operand);
  Operand get(mlir::Value value);

  mlir::ModuleOp module;
  sched::ProgramOp program;
  mlir::OpBuilder &b;
  mlir::Location loc;
  bool sanitize;
  mlir::Operation *current = nullptr; ///< Statement, output or loop's end.
  mlir::Value arena, args, scratchSpace;
  bool recordable;
  bool inTask = false; ///< On one of the threads.
  mlir::Value points;  ///< Room for the coordinates of a point in each lane.
  int64_t lanes = 1;
  /// What differs between lanes in the statement at hand.
  llvm::DenseSet<mlir::Value> varying;
  /// The lanes in which the branch at hand is taken; none: all.
  mlir::Value active;
  llvm::DenseMap<mlir::Value, Operand> values;
  /// Pointers into buffers: what they point to may be overwritten.
  llvm::DenseSet<mlir::Value> borrowed;
  unsigned loopDepth = 0, numOutlined = 0;
  Scope scope;
  std::map<std::string, mlir::Value> ends; ///< `end(t)`, between statements.
  std::map<std::string, trl::DimOp> stops; ///< Dims by `end(t)`.
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
  int64_t scratchUsed = 0, scratchMost = 0;
};

} // namespace timerl::codegen

#endif // TIMERL_LIB_CONVERSION_SCHEDTOLOOPS_GENERATOR_H
