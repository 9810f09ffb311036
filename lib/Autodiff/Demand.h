//===- Demand.h - Which points an adjoint is needed at ----------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For a gradient dy/dx with outer dims o, the adjoint of a point of a tensor z
// is needed where the point depends on the leaf x[q(o)] and y[p(o)] depends on
// it. Both sets are closures over the reads; they are computed over unions of
// basic relations o -> z with widening along recurrences, so that they may be
// too large but never too small. A larger set costs work, not correctness: the
// adjoint of a point that y does not depend on is 0.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_AUTODIFF_DEMAND_H
#define TIMERL_LIB_AUTODIFF_DEMAND_H

#include "Graph.h"
#include "timerl/Poly/Isl.h"
#include <map>

namespace timerl::autodiff {

/// One `trl.grad` to rewrite.
struct Site {
  trl::GradOp grad;
  /// The iterators that y's point depends on, outermost first: o. An adjoint is
  /// the same for all leaf points, as no point depends on itself; only where a
  /// leaf of several may be defined by another one, leaf points are in o, too.
  llvm::SmallVector<trl::IterAttr> outer;
  llvm::SmallVector<Expr> ofIndices;
  llvm::SmallVector<Expr> leafIndices;
  llvm::SmallVector<llvm::StringRef> leaves;
  Scope scope;

  explicit Site(trl::GradOp grad);
  bool hasSeveralLeaves() const { return leaves.size() > 1; }
};

/// What was computed before, under keys that say all that it depends on.
/// Records have many tensors with the same points, so that most questions are
/// asked again. Relations are of the pool, where their addresses are keys.
struct DemandCache {
  using Pieces = llvm::SmallVector<poly::Map>;
  using Classes = llvm::SmallVector<std::pair<unsigned, poly::Map>>;
  struct Insertion {
    Pieces after;
    poly::Map added;
  };
  poly::MapPool pool;
  std::map<std::string, poly::Map> relations, seeds;
  std::map<std::string, std::pair<poly::Map, poly::Map>> edges;
  std::map<std::vector<const void *>, Insertion> insertions;
  std::map<std::pair<const void *, const void *>, Pieces> images;
  std::map<std::pair<const void *, std::string>, Classes> classified;
};

class Demand {
public:
  /// `extents` gives the constant extents of dims, which bound `end(t)`.
  Demand(poly::IslContext &isl, DemandCache &cache, const Graph &graph,
         const Site &site, const std::map<std::string, int64_t> &extents);

  /// o -> points of the tensor whose adjoint is needed; null for none.
  poly::Map points(llvm::StringRef tensor) const;
  /// o -> instances of the access (values of its scope's iterators) that carry
  /// a cotangent from `target` to the source; null for none.
  poly::Map instances(unsigned access, unsigned target) const;
  /// A gradient not rewritten yet that carries a cotangent, or null.
  trl::GradOp unresolved() const;
  /// All tensors with points, in program order.
  llvm::ArrayRef<llvm::StringRef> tensors() const { return needed; }

  /// instance -> point of the tensor at `indices`, over `scope`'s iterators.
  poly::Map relation(const Scope &scope,
                     llvm::ArrayRef<mlir::Attribute> indices) const;
  /// The same for a target of an equation, over its scope or an inner one.
  poly::Map written(trl::EquationOp equation, unsigned target,
                    const Scope *scope = nullptr) const;
  /// The values of o at which the gradient is taken.
  poly::Set outerSet() const { return outer; }

private:
  using Pieces = DemandCache::Pieces; ///< basic relations o -> z
  /// By tensor, then by the order of its positions and the outer dims of the
  /// same names: points of this iteration, of earlier and of later ones are
  /// never joined, or u' > u in an earlier iteration would become one in this.
  using Closure = llvm::MapVector<llvm::StringRef, std::map<unsigned, Pieces>>;
  /// The pairs of an outer dim and a position of a tensor that have one name,
  /// and their text.
  struct SameNames {
    llvm::SmallVector<std::pair<unsigned, unsigned>> pairs;
    std::string key;
  };
  poly::Map seed(llvm::ArrayRef<Expr> indices) const;
  const poly::Map &edge(unsigned access, unsigned target, bool forward) const;
  Closure close(llvm::ArrayRef<std::pair<llvm::StringRef, poly::Map>> seeds,
                bool forward) const;
  poly::Map insert(Pieces &pieces, const poly::Map &piece,
                   bool recurrent) const;
  poly::Map insertNew(Pieces &pieces, const poly::Map &piece,
                      bool recurrent) const;
  const DemandCache::Classes &classify(llvm::StringRef tensor,
                                       const poly::Map &piece) const;
  const SameNames &sameNames(llvm::StringRef tensor) const;
  const Pieces &image(const poly::Map &piece, const poly::Map &step) const;
  void findRecurrences();

  poly::IslContext &isl;
  DemandCache &cache;
  const Graph &graph;
  const Site &site;
  const std::map<std::string, int64_t> &extents;
  poly::Set outer;
  /// Number of the strongly connected component of each tensor.
  std::map<llvm::StringRef, unsigned> component;
  /// Found before: by tensor, and by access and target.
  mutable std::map<llvm::StringRef, SameNames> namesOf;
  mutable std::map<std::pair<unsigned, unsigned>,
                   const std::pair<poly::Map, poly::Map> *>
      edges;
  llvm::MapVector<llvm::StringRef, poly::Map> demanded;
  llvm::SmallVector<llvm::StringRef> needed;
};

} // namespace timerl::autodiff

#endif // TIMERL_LIB_AUTODIFF_DEMAND_H
