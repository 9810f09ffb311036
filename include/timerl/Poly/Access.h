//===- Access.h - What equations define and read, as relations --*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The polyhedral view of a `trl` module. An equation is a statement, whose
// instances are the points of its domain, `E12[b, i, t]`; what it defines and
// reads are relations from its instances to points of tensors, `s[b, i, t + 1]`
// (tuples are named as by `escapeName`).
//
// Parameters are the integer `trl.arg`s that index expressions mention, and one
// variable `end(t)` for each dim that stops early, with 1 <= end(t) <= extent.
// As a parameter it stands for the number of points of t at *one* point of t's
// outer dims. So a relation is exact between points that agree on the outer
// dims. Where they differ, `end(t)` of the two sides are different numbers: see
// `Program::renameStops`.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_POLY_ACCESS_H
#define TIMERL_POLY_ACCESS_H

#include "mlir/IR/BuiltinOps.h"
#include "timerl/Poly/Convert.h"
#include "trl/TrlDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <vector>

namespace timerl::poly {

/// A place inside an equation: the dims and binders in scope, outermost first,
/// and the points that reach it.
struct Scope {
  llvm::SmallVector<std::string> names;
  Set points;
};

struct Write {
  llvm::StringRef tensor;
  llvm::SmallVector<Expr> indices;
  Map map; ///< { E12[b, i, t] -> s[b, i, t + 1] }
};

struct Access {
  enum class Kind {
    Read,
    Gradient, ///< the differentiated scalar of a `trl.grad`
    Leaf,     ///< what it is differentiated by
    Stop,     ///< the `until` that decides whether the point is executed
  };
  Kind kind = Kind::Read;
  mlir::Operation *op = nullptr;
  llvm::StringRef source; ///< a tensor or an input
  /// The place: the statement's dims, then the binders around the read.
  std::shared_ptr<const Scope> scope;
  /// From the place, restricted to the points that reach it under `when`s and
  /// `trl.case`s: { E12[b, i, t, k] -> r[b, i, k] }. A dynamic index relates to
  /// its whole range.
  Map full;
  /// The same from the statement's instances: { E12[b, i, t] -> r[b, i, k] }.
  Map relation;
  bool may = false; ///< has a dynamic index: one point of many is read
  /// Equal for accesses of a statement that have one place and one bracket,
  /// such as those to the leaves of a record.
  const void *bracket = nullptr;
};

/// An op of a statement's region and its place.
struct Placed {
  mlir::Operation *op;
  std::shared_ptr<const Scope> scope;
};

struct Statement {
  mlir::Operation *op = nullptr; ///< `trl.equation` or `trl.output`
  std::string
      name; ///< tuple name: `E` or `O`, and the op's place in the module
  std::shared_ptr<const Scope> scope; ///< its dims and its domain
  llvm::SmallVector<Write> writes;
  std::vector<Access> accesses;
  std::vector<Placed> extracts; ///< every `trl.extract`

  llvm::ArrayRef<std::string> dims() const { return scope->names; }
  const Set &domain() const { return scope->points; }
};

/// Where a tensor is defined: statement and position in its `writes`.
struct Definition {
  unsigned statement;
  unsigned write;
};

class Program {
public:
  /// Asks the context whether it failed when done. Malformed modules are the
  /// verifier's matter.
  Program(IslContext &context, mlir::ModuleOp module);

  IslContext &context() const { return ctx; }
  mlir::ModuleOp module() const { return moduleOp; }
  llvm::ArrayRef<Statement> statements() const { return list; }
  const Statement *find(llvm::StringRef tupleName) const;

  llvm::ArrayRef<std::string> parameters() const { return params; }
  /// What holds of the parameters: extents are at least 1, and `end(t)` lies
  /// between 1 and t's extent.
  const Set &assumptions() const { return assumed; }

  /// All definitions of a tensor, in program order.
  llvm::ArrayRef<Definition> definitions(llvm::StringRef tensor) const;
  /// The points of a tensor or an input that are defined.
  Set defined(llvm::StringRef source) const;
  trl::DimOp dim(llvm::StringRef name) const;
  /// A number that is equal for sources that are defined alike, such as the
  /// leaves of a record.
  unsigned sourceClass(llvm::StringRef source) const;

  /// The place of an op with these iterators inside `outer` (null: none).
  std::shared_ptr<const Scope> enter(const Scope *outer, mlir::ArrayAttr iters,
                                     const Expr &when,
                                     llvm::StringRef tuple) const;
  /// The relation of one bracket, `trl.read`'s indices, from a place.
  Map bracket(const Scope &scope, mlir::ArrayAttr indices) const;

  /// The set with every `end(t)` replaced by another unknown, `end(t)'`, for
  /// the side of a comparison that lies at other points of the outer dims.
  Set renameStops(const Set &set) const;
  Map renameStops(const Map &map) const;
  /// The variables `end(t)` that are parameters, each with the dim.
  llvm::ArrayRef<std::pair<std::string, trl::DimOp>> stops() const {
    return stopVariables;
  }

private:
  void collectParameters();
  void analyse(Statement &statement, mlir::Region &region,
               std::shared_ptr<const Scope> scope);
  void addAccess(Statement &statement, Access::Kind kind, mlir::Operation *op,
                 llvm::StringRef source, mlir::ArrayAttr indices,
                 const std::shared_ptr<const Scope> &scope);
  void addStops(Statement &statement, mlir::Operation *op,
                mlir::ArrayAttr iters, llvm::ArrayRef<Expr> exprs,
                const std::shared_ptr<const Scope> &scope);

  IslContext &ctx;
  mutable mlir::ModuleOp moduleOp; // MLIR handles are not const-correct.
  std::vector<Statement> list;
  llvm::SmallVector<std::string> params;
  llvm::SmallVector<std::pair<std::string, trl::DimOp>> stopVariables;
  Set assumed;
  llvm::StringMap<llvm::SmallVector<Definition>> defs;
  llvm::StringMap<trl::DimOp> dims;
  mutable std::map<std::string, unsigned> classes;
  mutable llvm::StringMap<unsigned> classOf;
  /// Relations by place and bracket: the leaves of a record share one.
  mutable std::map<std::pair<const Scope *, const void *>, std::pair<Map, Map>>
      brackets;
};

/// The instance of a point for a message: each dim with its value,
/// `b = 0, i = 2, t = 499`.
std::string describe(llvm::ArrayRef<std::string> names,
                     llvm::ArrayRef<int64_t> values);

} // namespace timerl::poly

#endif // TIMERL_POLY_ACCESS_H
