//===- Align.cpp - One loop for several statements ------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dims are matched along dependences: of the dims of a statement the one that
// moves least against the dim of its neighbour. Shifts solve a system of
// difference constraints, as longest paths (R. Bellman, "On a routing problem",
// 1958).
//
//===----------------------------------------------------------------------===//

#include "Align.h"
#include <numeric>

using namespace timerl;
using namespace timerl::poly;
using namespace timerl::schedule;

namespace {

class Aligner {
public:
  Aligner(Graph &graph, const Members &members, Edges &edges, unsigned seed,
          unsigned dim)
      : graph(graph), members(members), edges(edges),
        name(graph.statements[seed].dims[dim]) {
    candidate.alignments[seed] = {dim, 1, 0};
    scales[seed] = {1, 1};
  }

  bool matchDims();
  bool match(unsigned statement, Dependence &edge);
  bool solveShifts(Candidate &solution, bool reverse);

  Candidate candidate;

private:
  bool isMember(unsigned s) const {
    return std::binary_search(members.begin(), members.end(), s);
  }

  Graph &graph;
  const Members &members;
  Edges &edges;
  std::string name;
  std::map<unsigned, std::pair<int64_t, int64_t>> scales; ///< as fractions
};

} // namespace

/// Chooses the dim of a statement by an edge whose other end has one.
bool Aligner::match(unsigned s, Dependence &edge) {
  bool forward = edge.to == s;
  unsigned other = forward ? edge.from : edge.to;
  Candidate::Alignment known = candidate.alignments[other];
  auto [numerator, denominator] = scales[other];
  const schedule::Statement &statement = graph.statements[s];
  std::optional<std::pair<int64_t, bool>> best; // range, has another name
  // Only the points that take part tell how fast one moves against the other.
  auto theirs =
      forward ? edge.extentWritten(known.dim) : edge.extentRead(known.dim);
  for (unsigned d = 0; d < statement.dims.size(); ++d) {
    if (statement.isFixed(d))
      continue;
    auto consider = [&](int64_t mine, int64_t their) {
      Bounds bounds = forward ? edge.distance(known.dim, their, d, mine)
                              : edge.distance(d, mine, known.dim, their);
      if (!bounds.min || !bounds.max)
        return;
      std::pair<int64_t, bool> rank{*bounds.max - *bounds.min,
                                    statement.dims[d] != name};
      if (best && rank >= *best)
        return;
      best = rank;
      candidate.alignments[s] = {d, 1, 0};
      int64_t n = numerator * mine, m = denominator * their;
      int64_t common = std::gcd(n, m);
      scales[s] = {n / common, m / common};
    };
    consider(1, 1);
    if (!best)
      continue;
    auto ours = forward ? edge.extentRead(d) : edge.extentWritten(d);
    if (!ours || !theirs || *ours < 2 || *theirs < 2 || best->first == 0)
      continue;
    // One may run slower than the other: h[t // 4] beside x[t].
    int64_t up = (*theirs + *ours / 2) / *ours;
    int64_t down = (*ours + *theirs / 2) / *theirs;
    if (up > 1)
      consider(up, 1);
    if (down > 1)
      consider(1, down);
  }
  return best.has_value();
}

bool Aligner::matchDims() {
  while (true) {
    bool changed = false;
    for (Dependence &edge : edges) {
      if (!isMember(edge.from) || !isMember(edge.to))
        continue;
      bool from = candidate.alignments.count(edge.from),
           to = candidate.alignments.count(edge.to);
      if (from == to)
        continue;
      if (!match(from ? edge.to : edge.from, edge))
        return false;
      changed = true;
    }
    if (changed)
      continue;
    // Members that share no data with the rest go by name, one at a time.
    auto alone = llvm::find_if(
        members, [&](unsigned s) { return !candidate.alignments.count(s); });
    if (alone == members.end())
      break;
    const schedule::Statement &statement = graph.statements[*alone];
    unsigned d = llvm::find(statement.dims, name) - statement.dims.begin();
    if (d == statement.dims.size() || statement.isFixed(d))
      return false;
    candidate.alignments[*alone] = {d, 1, 0};
    scales[*alone] = {1, 1};
  }
  int64_t common = 1;
  for (auto &[s, scale] : scales)
    common = std::lcm(common, scale.second);
  for (auto &[s, alignment] : candidate.alignments)
    alignment.scale = scales[s].first * (common / scales[s].second);
  return true;
}

bool Aligner::solveShifts(Candidate &solution, bool reverse) {
  solution.reverse = reverse;
  int64_t sign = reverse ? -1 : 1;
  bool changed = true;
  for (unsigned round = 0; changed; ++round) {
    if (round > members.size())
      return false;
    changed = false;
    for (Dependence &edge : edges) {
      auto &from = solution.alignments[edge.from],
           &to = solution.alignments[edge.to];
      Bounds bounds = edge.distance(from.dim, from.scale, to.dim, to.scale);
      std::optional<int64_t> nearest = reverse ? bounds.max : bounds.min;
      if (!nearest)
        return false;
      // In the loop's direction the reader must not come before the writer.
      int64_t slack = sign * (*nearest + to.shift - from.shift);
      if (slack >= 0)
        continue;
      if (edge.from == edge.to)
        return false;
      to.shift -= sign * slack;
      changed = true;
    }
  }
  int64_t lo = INT64_MAX, hi = INT64_MIN;
  for (auto &[s, alignment] : solution.alignments) {
    lo = std::min(lo, alignment.shift);
    hi = std::max(hi, alignment.shift);
  }
  solution.spread = hi - lo;
  solution.parallel = true;
  for (Dependence &edge : edges) {
    auto &from = solution.alignments[edge.from],
         &to = solution.alignments[edge.to];
    Bounds bounds = edge.distance(from.dim, from.scale, to.dim, to.scale);
    solution.parallel &= bounds.min == from.shift - to.shift &&
                         bounds.max == from.shift - to.shift;
  }
  return true;
}

std::optional<Candidate> schedule::align(Graph &graph, const Members &members,
                                         Edges &edges, unsigned seed,
                                         unsigned dim, bool fused) {
  Aligner aligner(graph, members, edges, seed, dim);
  if (!aligner.matchDims())
    return std::nullopt;
  Candidate forward = aligner.candidate, backward = aligner.candidate;
  bool ascends = aligner.solveShifts(forward, false);
  bool descends = aligner.solveShifts(backward, true);
  if (!ascends && !descends)
    return std::nullopt;
  Candidate &best = descends && (!ascends || backward.spread < forward.spread)
                        ? backward
                        : forward;
  if (fused && best.spread > 0) {
    auto extent = extentOf(graph.statements[seed].points, dim);
    if (extent && best.spread > *extent / 4)
      return std::nullopt;
  }
  return best;
}
