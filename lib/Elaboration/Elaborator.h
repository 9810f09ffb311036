//===- Elaborator.h - State of one elaboration ------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One class, implemented over several files: Declarations.cpp (what a module
// declares), Equations.cpp (left-hand sides, domains, output of ops),
// Inference.cpp (types of recurrent tensors), Expressions.cpp (the walk over
// the syntax tree), Operators.cpp (dtypes, shapes, arithmetic), Indexing.cpp,
// Control.cpp (if, reductions, folds), Calls.cpp and Builtins.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_ELABORATION_ELABORATOR_H
#define TIMERL_LIB_ELABORATION_ELABORATOR_H

#include "Term.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "timerl/Elaboration/Elaborate.h"
#include "timerl/Symbolic/Interval.h"
#include "trl/TrlDialect.h"
#include "llvm/ADT/MapVector.h"
#include <deque>
#include <optional>
#include <set>

namespace timerl::elaboration {

/// A dim or binder in scope, under its name in the IR.
struct Iterator {
  std::string name;
  Expr lo, hi;
};

/// A declared dim.
struct DimInfo {
  std::string name;
  SourceSpan span;
  Expr extent;
  bool isSeed = false;
  const ast::Expr *until = nullptr;
  TensorInfo *stop = nullptr; ///< hidden tensor of `until`
  /// 0 : extent, or 0 : end(name) for a dim that stops early.
  Expr hi() const { return until ? Expr::var("end(" + name + ")") : extent; }
};

struct CallFrame {
  std::string name; ///< as written: `rl.gae`
  std::string id;   ///< function and number of the call in its caller: part of
                    ///< random sites
  const ast::FunctionStatement *function = nullptr; ///< null: not in a function
  SourceSpan call;
  /// Calls and draws made in this frame so far, by name: random sites.
  std::map<std::string, unsigned> ordinals;
};

/// One equation of the program, of a local recurrence, or of `until`.
struct EquationInfo {
  std::vector<const ast::LhsTensor *> lhs; ///< as written; none for `until`
  const ast::Expr *guard = nullptr;
  bool isOtherwise = false;
  SourceSpan guardSpan;
  const ast::Expr *rhs = nullptr;
  SourceSpan span;
  EnvironmentPtr environment;
  std::vector<TensorInfo *> targets;
  /// Of a local recurrence: what encloses it.
  std::vector<Iterator> outer;
  Expr outerWhen = Expr::boolean(true);
  std::vector<CallFrame> frames;
  // The left-hand side, resolved.
  bool valid = true;
  std::vector<std::vector<Expr>> indices;      ///< per target
  std::vector<Iterator> domain;                ///< outer ones first
  std::map<std::string, std::string> dimNames; ///< source name -> IR name
  Expr when = Expr::boolean(true);
  std::string site; ///< independent of order and of dim names
};

/// A recurrent tensor of the program or of a local recurrence, or an input.
struct TensorInfo {
  enum class State { Unknown, InProgress, Known, Failed };
  std::string name;   ///< as written
  std::string symbol; ///< unique; leaves append their path
  SourceSpan span;
  bool hidden = false;
  bool isInput = false;
  std::vector<std::string> positions; ///< dim name per position, or empty
  std::vector<Iterator> extents;      ///< per position: hull of its points
  unsigned numOuter = 0; ///< leading positions of a local recurrence
  std::vector<EquationInfo *> equations;
  std::optional<Structure> annotation;
  State state = State::Unknown;
  Structure structure; ///< when known
  // While a type that this one depends on is being inferred:
  std::optional<Structure> provisional; ///< what to go by
  unsigned round = 0;                   ///< of inference that this was found in
  size_t taint = 0;                     ///< lowest inference that it went by
  TensorInfo *blockedOn = nullptr;      ///< what has to have a type first
};

/// What one module declares, under its names.
struct ModuleScope {
  const ast::Module *module = nullptr;
  std::string name;
  EnvironmentPtr environment;
  std::map<std::string, SourceSpan> places; ///< where each name is declared
  llvm::MapVector<llvm::StringRef, TensorInfo *> tensors;
  llvm::MapVector<llvm::StringRef, DimInfo *> dims;
};

class Elaborator {
public:
  Elaborator(mlir::MLIRContext &context, const LoadedProgram &program,
             const SourceManager &sources, const ElaborationOptions &options,
             DiagnosticEngine &diagnostics);
  mlir::OwningOpRef<mlir::ModuleOp> run();

private:
  //===--- Errors ---------------------------------------------------------===//
  /// Reports with the call path as notes; silent during type inference, whose
  /// mistakes show again when the equation is written.
  timerl::Diagnostic &error(llvm::StringRef code, SourceSpan span,
                            std::string message);
  Term fail(llvm::StringRef code, SourceSpan span, std::string message) {
    error(code, span, std::move(message));
    return Term::error();
  }
  mlir::Location location(SourceSpan span);

  //===--- Declarations ---------------------------------------------------===//
  ModuleScope *declareModule(const ast::Module &module, std::string name);
  void declareTensors(ModuleScope &scope);
  void declareDim(ModuleScope &scope, const ast::DimStatement &statement);
  void declareInput(ModuleScope &scope, const ast::InputStatement &statement);
  void declareArg(ModuleScope &scope, const ast::ArgStatement &statement);
  void declareParam(ModuleScope &scope, const ast::ParamStatement &statement,
                    bool isMain);
  void declareUntil(DimInfo &dim);
  bool declareName(ModuleScope &scope, llvm::StringRef name, SourceSpan span,
                   Term value);
  std::optional<mlir::RankedTensorType> resolveType(const ast::Type &type,
                                                    EnvironmentPtr environment);
  std::optional<mlir::Type> resolveDtype(const ast::Type &type);
  void resolveUntil(ModuleScope &scope, DimInfo &dim);
  Term parseDefine(llvm::StringRef text);

  //===--- Equations ------------------------------------------------------===//
  void resolveLhs(EquationInfo &equation, const ModuleScope &scope);
  void resolvePositions(TensorInfo &tensor);
  void resolveGuards(llvm::ArrayRef<EquationInfo *> equations);
  void writeTensor(TensorInfo &tensor);
  void writeEquation(EquationInfo &equation);
  void writeReport(ModuleScope &scope, const ast::ReportStatement &statement);
  void writeSave(ModuleScope &scope, const ast::SaveStatement &statement);
  EnvironmentPtr indexEnvironment(const EquationInfo &equation);
  /// The value as usable in the current equation: one of another equation (what
  /// a local recurrence captures) is read from a hidden tensor.
  mlir::Value capture(mlir::Value value, SourceSpan span);
  /// A hidden tensor that holds the value at every point of its equation.
  Term hide(mlir::Value value, SourceSpan span);
  /// The value inside `op`, copied there with what it is computed from.
  mlir::Value hideAcross(mlir::Value value, mlir::Operation *op);

  //===--- Types of tensors -----------------------------------------------===//
  /// The structure of a tensor; null when it cannot be told (reported, or about
  /// to be). Throws `Blocked` when it depends on what is being inferred.
  const Structure *structureOfTensor(TensorInfo &tensor);
  const Structure *inferTensor(TensorInfo &tensor);
  /// What the equations of a tensor say of its type, one look at each.
  struct Attempt {
    std::optional<Structure> found;
    TensorInfo *blockedOn = nullptr; ///< further out
  };
  Attempt attemptInference(TensorInfo &tensor);
  std::optional<Structure> inferEquation(EquationInfo &equation);
  size_t levelOf(const TensorInfo &tensor) const; ///< one in progress
  Structure structureOf(const Term &value);
  bool isStorable(const Term &value);
  std::optional<std::vector<mlir::Value>> convertTo(const Term &value,
                                                    const Structure &structure,
                                                    SourceSpan span,
                                                    llvm::StringRef what);

  //===--- Expressions ----------------------------------------------------===//
  Term evaluate(const ast::Expr &expr, const EnvironmentPtr &environment);
  Term evaluateBase(const ast::Expr &expr, const EnvironmentPtr &environment);
  Term evaluateName(const ast::NameExpr &expr,
                    const EnvironmentPtr &environment);
  Term evaluateField(const ast::FieldExpr &expr,
                     const EnvironmentPtr &environment);
  Term evaluateBlock(const ast::BlockExpr &expr,
                     const EnvironmentPtr &environment);
  Term selectField(const Term &base, llvm::StringRef field, SourceSpan span);
  std::optional<Expr> evaluateIndex(const ast::Expr &expr,
                                    const EnvironmentPtr &environment,
                                    llvm::StringRef what);
  std::optional<Expr> evaluateGuard(const ast::Expr &expr,
                                    const EnvironmentPtr &environment);
  std::vector<std::string> visibleNames(const Environment &environment);

  //===--- Indexing -------------------------------------------------------===//
  Term evaluateIndexing(const ast::IndexExpr &expr,
                        const EnvironmentPtr &environment);
  Term readTensor(TensorInfo &tensor, std::vector<IndexValue> indices,
                  SourceSpan span);
  Term bareRead(TensorInfo &tensor, SourceSpan span);
  Term notConstant(const TensorInfo &tensor, SourceSpan span);
  Term indexValue(const Term &base, const ast::IndexExpr &expr,
                  const EnvironmentPtr &environment);
  std::optional<IndexValue> evaluateItem(const ast::IndexItem &item,
                                         const EnvironmentPtr &environment,
                                         std::optional<Expr> lo,
                                         std::optional<Expr> hi);
  Term indexAxes(const Term &base, std::vector<IndexValue> items,
                 SourceSpan span);
  mlir::Value emitRead(const Term &lazy, SourceSpan span);

  //===--- Data -----------------------------------------------------------===//
  bool canEmit() const { return context != nullptr; }
  /// Bounds of an index here.
  Interval reach(const Expr &index) const;
  mlir::Value materialize(const Term &value, mlir::Type elementType,
                          SourceSpan span);
  /// With the dtype it has, or f32, i32, bool when weak.
  mlir::Value materialize(const Term &value, SourceSpan span);
  mlir::Type elementTypeOf(const Term &value); ///< null when weak
  std::vector<Expr> lengthsOf(const Term &value);
  Term settleList(const Term &list, SourceSpan span);
  bool isFloatValue(const Term &value);
  bool isBoolValue(const Term &value);
  std::optional<std::vector<Expr>> broadcastLengths(llvm::ArrayRef<Expr> a,
                                                    llvm::ArrayRef<Expr> b,
                                                    SourceSpan span);
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<Expr> lengths,
                        SourceSpan span);
  mlir::Value castTo(mlir::Value value, mlir::Type elementType,
                     SourceSpan span);
  mlir::Type promote(llvm::ArrayRef<Term> values, bool forceFloat = false);
  Term mapLeaves(llvm::ArrayRef<Term> values, SourceSpan span,
                 llvm::function_ref<Term(llvm::ArrayRef<Term>)> apply);
  Term unary(ast::UnaryOp op, const Term &operand, SourceSpan span);
  Term binary(ast::BinaryOp op, const Term &lhs, const Term &rhs,
              SourceSpan span);
  Term binaryLeaf(ast::BinaryOp op, const Term &lhs, const Term &rhs,
                  SourceSpan span);
  Term foldConstants(ast::BinaryOp op, const Term &lhs, const Term &rhs,
                     SourceSpan span, bool &folded);
  Term matmul(const Term &lhs, const Term &rhs, SourceSpan span);
  mlir::Value emitBinary(ast::BinaryOp op, mlir::Value lhs, mlir::Value rhs,
                         SourceSpan span);
  Term power(const Term &base, const Term &exponent, SourceSpan span);
  /// Emits an elementwise op on operands brought to one type and shape.
  template <typename Op>
  Term elementwise(llvm::ArrayRef<Term> operands, bool forceFloat,
                   SourceSpan span);
  mlir::Value constant(mlir::Type elementType, double number, SourceSpan span);
  mlir::Value constant(mlir::Type elementType, int64_t number, SourceSpan span);

  //===--- Control --------------------------------------------------------===//
  Term evaluateIf(const ast::IfExpr &expr, const EnvironmentPtr &environment);
  std::optional<Structure> unifyBranches(const Term &a, const Term &b,
                                         SourceSpan span);
  bool coerce(const Term &value, const Structure &structure, SourceSpan span,
              llvm::SmallVectorImpl<mlir::Value> &leaves);
  Term rebuild(const Structure &structure, llvm::ArrayRef<mlir::Value> &leaves);
  Term prepareReduction(llvm::StringRef reduction, const Term &body,
                        SourceSpan span);
  mlir::Value reductionCount(llvm::ArrayRef<Iterator> binders, const Expr &when,
                             trl::ReduceOverOp filtered, mlir::Type type,
                             SourceSpan span);
  Term evaluateReduce(const ast::ReduceExpr &expr,
                      const EnvironmentPtr &environment);
  Term reduceUnrolled(const ast::ReduceExpr &expr,
                      const EnvironmentPtr &environment,
                      llvm::ArrayRef<Term> elements);
  Term evaluateFold(const ast::FoldExpr &expr,
                    const EnvironmentPtr &environment);
  Term evaluateBuild(const ast::BuildExpr &expr,
                     const EnvironmentPtr &environment);
  std::optional<std::vector<Term>>
  binderElements(const ast::Binder &binder, const EnvironmentPtr &environment);
  Term reduceAxes(llvm::StringRef reduction, const Term &operand,
                  const Term *axis, SourceSpan span);
  std::string freshName(const std::string &name);

  //===--- Calls ----------------------------------------------------------===//
  struct CallArgument {
    std::string name;
    SourceSpan span;
    Term value;
  };
  Term evaluateCall(const ast::CallExpr &expr,
                    const EnvironmentPtr &environment);
  Term callFunction(const Term &function, std::vector<CallArgument> arguments,
                    const std::string &name, SourceSpan span);
  bool checkAnnotation(const ast::Type &type, Term &value,
                       const EnvironmentPtr &environment, SourceSpan span,
                       llvm::StringRef what);
  Term callBuiltin(llvm::StringRef name, std::vector<CallArgument> arguments,
                   SourceSpan span);
  Term draw(llvm::StringRef name, llvm::ArrayRef<CallArgument> arguments,
            SourceSpan span);
  Term differentiate(llvm::ArrayRef<CallArgument> arguments, SourceSpan span);
  Term filled(const Term &like, double number, SourceSpan span);
  std::optional<std::vector<Expr>> shapeArgument(const Term &value,
                                                 SourceSpan span);
  std::string callPath();
  Term endOf(const Term &dim, SourceSpan span);
  friend struct Builtins;

  //===--- State ----------------------------------------------------------===//
  /// Where ops go: one equation, report, or save.
  struct Context {
    std::vector<Iterator> iterators; ///< domain, then binders in scope
    Expr when = Expr::boolean(true); ///< guard of the equation and of cases
    std::string site;
    mlir::Operation *top = nullptr;
  };
  struct Scratch; ///< RAII: elaborates for types alone
  struct Inside;  ///< RAII: enters a context
  /// Thrown through elaboration's own frames alone: a type depends on itself.
  struct Blocked {
    TensorInfo *on;
  };

  mlir::MLIRContext &mlirContext;
  const LoadedProgram &program;
  const SourceManager &sources;
  const ElaborationOptions &options;
  DiagnosticEngine &diagnostics;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> output;
  Context *context = nullptr;
  std::vector<CallFrame> frames{CallFrame()};
  std::vector<std::string> compileTimeIndices;
  bool inGuard = false; ///< evaluating a `when`
  unsigned scratchDepth = 0;
  unsigned depth = 0;
  Diagnostic ignored;
  std::map<const ast::Module *, ModuleScope *> scopes;
  std::deque<ModuleScope> scopeStorage;
  std::deque<TensorInfo> tensorStorage;
  std::deque<EquationInfo> equationStorage;
  std::deque<DimInfo> dimStorage;
  std::vector<DimInfo *> allDims;
  std::vector<TensorInfo *> inferenceStack;
  size_t taint = SIZE_MAX; ///< lowest inference whose provisional type was used
  /// Inferred, but by the provisional types of the inferences below them.
  std::vector<TensorInfo *> tentative;
  unsigned inferenceRound = 0, inferenceRounds = 0; ///< this one, and so far
  bool inferenceChanged = false; ///< is any type new in this round?
  std::map<std::string, unsigned> symbolCounts;
  llvm::DenseMap<mlir::Value, std::string> captures;
  std::map<std::string, TensorInfo *> hiddenTensors;
  unsigned numHidden = 0;
  std::vector<EquationInfo *> programEquations;
  std::vector<TensorInfo *> untilTensors;
  std::set<std::string> usedDefines;
  std::set<std::string> wideArgs;          ///< i64
  std::map<std::string, SourceSpan> saved; ///< by the name of the array
  EnvironmentPtr builtins;
  mlir::Operation *declarationsEnd = nullptr;
};

} // namespace timerl::elaboration

#endif // TIMERL_LIB_ELABORATION_ELABORATOR_H
