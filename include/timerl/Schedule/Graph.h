//===- Graph.h - Statements and dependences to be scheduled -----*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the scheduler works on: the nodes of a `pdg.graph` as statements, and
// the flow dependences between them. A schedule gives each statement the loops
// around it and its place between them.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_SCHEDULE_GRAPH_H
#define TIMERL_SCHEDULE_GRAPH_H

#include "pdg/PdgDialect.h"
#include "timerl/Poly/Convert.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringRef.h"
#include <isl/ilp.h>
#include <map>
#include <set>
#include <vector>

namespace timerl::schedule {

/// In place of a statement's dim: none, with the scale 0.
constexpr unsigned noDim = ~0u;

/// How a statement goes through one loop: the loop's variable is
/// scale * dim + shift; or it is executed in one iteration, the shift's.
struct LoopStep {
  unsigned loop;  ///< number of the loop, unique in the program
  unsigned place; ///< of the loop among what surrounds it
  unsigned dim;   ///< of the statement, or none
  int64_t scale = 1;
  int64_t shift = 0;
};

struct Loop {
  std::string variable;
  bool reverse = false;
  bool parallel = false;
};

struct Statement {
  pdg::NodeOp node;
  std::string name; ///< of its tuple
  llvm::SmallVector<std::string> dims;
  poly::Set domain;
  /// What holds of the points whatever the lengths of dims that stop early.
  poly::Set points;
  std::vector<std::pair<std::string, poly::Map>> writes, reads; ///< by tensor

  llvm::SmallVector<LoopStep> steps; ///< outermost first
  unsigned place = 0;                ///< inside the innermost of them

  bool isFixed(unsigned dim) const;
  unsigned countFree() const;
};

/// Least and greatest value of a distance; none where it is unbounded.
struct Bounds {
  std::optional<int64_t> min, max;
};

/// { from[x] -> to[y] }: y reads what x wrote.
struct Dependence {
  Dependence(unsigned from, unsigned to, poly::Map map,
             llvm::SmallVector<std::string> tensors)
      : from(from), to(to), map(std::move(map)), tensors(std::move(tensors)) {}

  unsigned from, to;
  poly::Map map;
  llvm::SmallVector<std::string> tensors;

  /// Of toScale * y[toDim] - fromScale * x[fromDim].
  Bounds distance(unsigned fromDim, int64_t fromScale, unsigned toDim,
                  int64_t toScale);
  /// How many values a dim takes among the points that write, or that read;
  /// none when it is unknown.
  std::optional<int64_t> extentWritten(unsigned fromDim);
  std::optional<int64_t> extentRead(unsigned toDim);

private:
  /// Computed so far; copies share them.
  struct Known {
    std::map<std::vector<int64_t>, Bounds> distances;
    std::map<unsigned, std::optional<int64_t>> written, read;
    poly::Set writers, readers;
  };
  std::shared_ptr<Known> known = std::make_shared<Known>();
};

/// Adds factor * dim, where there is a dim.
isl_constraint *addTerm(isl_constraint *constraint, isl_dim_type type,
                        unsigned dim, int64_t factor);

/// Number of values that a dim takes; none when it is unknown.
std::optional<int64_t> extentOf(const poly::Set &points, unsigned dim);

/// A dim that stops early. Its length is a parameter of domains, `end(t)`: one
/// number at each point of the outer dims, which the domain's own dims of these
/// names tell. In what relates points of several statements, or of one
/// statement at several points, the parameter is eliminated.
struct Stop {
  std::string dim, end;
  std::string until, counted; ///< tensors
  llvm::SmallVector<std::string> outer;
  unsigned statement = 0; ///< which defines both
  unsigned position = 0;  ///< of the dim among the statement's
};

class Graph {
public:
  Graph(poly::IslContext &context, pdg::GraphOp op);

  poly::IslContext &context;
  pdg::GraphOp op;
  llvm::SmallVector<std::string> params;
  poly::Set assumptions;
  std::vector<Statement> statements;
  std::vector<Dependence> dependences;
  std::vector<Loop> loops;
  std::vector<Stop> stops;
  /// By loop: tensors whose values one iteration leaves to a later one.
  std::vector<std::set<std::string>> carried;

  /// The points of the loops around a statement at which it is executed, of the
  /// first `depth` loops only: { [l0, l1, ...] }.
  poly::Set executed(const Statement &statement, unsigned depth) const;

  /// Without the lengths of dims that stop.
  poly::Set forgetStops(const poly::Set &set) const;
  /// Whether it depends on the length of this dim.
  bool involves(const poly::Set &set, const Stop &stop) const;
  /// The statement's dim that is this outer dim of a stop; none: its
  /// dims.size().
  unsigned findDim(const Statement &statement, llvm::StringRef name) const;
  /// The loop of the statement that defines the stop along the dim that stops;
  /// none before it is scheduled.
  std::optional<unsigned> loopOf(const Stop &stop) const;
  /// Statements outside of the loop that stops read the number of its points.
  void addCountReads();
};

/// What comes outside, where there is a choice.
enum class Preference {
  Parallel, ///< loops without an order: threads meet seldom
  Storage,  ///< the loops along which recurrences run: little is alive at once
};

/// Gives every statement its loops and places. On failure says why at the
/// nodes concerned (E0801).
mlir::LogicalResult computeSchedule(Graph &graph, Preference preference);

} // namespace timerl::schedule

#endif // TIMERL_SCHEDULE_GRAPH_H
