//===- Align.cpp - One loop for several statements ------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dims are matched along dependences: of the dims of a statement the one that
// moves least against those of its neighbours, at the speed at which it does.
// Shifts solve a system of difference constraints, as longest paths (R.
// Bellman, "On a routing problem", 1958).
//
//===----------------------------------------------------------------------===//

#include "Align.h"
#include <numeric>
#include <set>

using namespace timerl;
using namespace timerl::poly;
using namespace timerl::schedule;

namespace {

class Aligner {
public:
  /// `single`: statements may be executed in one iteration alone.
  Aligner(Graph &graph, const Members &members, Edges &edges, unsigned seed,
          unsigned dim, bool single)
      : graph(graph), members(members), edges(edges),
        name(graph.statements[seed].dims[dim]), single(single) {
    candidate.alignments[seed] = {dim, 1, 0};
    scales[seed] = {1, 1};
  }

  bool matchDims();
  bool match(unsigned statement);
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
  bool single;
  std::map<unsigned, std::pair<int64_t, int64_t>> scales; ///< as fractions
};

} // namespace

/// Chooses the dim of a statement, and its scale, by the edges whose other ends
/// have theirs.
bool Aligner::match(unsigned s) {
  const schedule::Statement &statement = graph.statements[s];
  std::vector<Dependence *> known;
  for (Dependence &edge : edges)
    if (edge.from != edge.to && (edge.from == s || edge.to == s) &&
        candidate.alignments.count(edge.from == s ? edge.to : edge.from))
      known.push_back(&edge);
  using Scale = std::pair<int64_t, int64_t>;
  auto reduced = [](int64_t numerator, int64_t denominator) {
    int64_t common = std::gcd(numerator, denominator);
    return Scale(numerator / common, denominator / common);
  };
  // How much a dim at this scale moves against those at the other ends.
  auto movement = [&](unsigned d, Scale scale) -> std::optional<double> {
    double sum = 0;
    for (Dependence *edge : known) {
      bool forward = edge->to == s;
      unsigned other = forward ? edge->from : edge->to;
      unsigned theirs = candidate.alignments[other].dim;
      auto [numerator, denominator] = scales[other];
      int64_t common = std::lcm(denominator, scale.second);
      int64_t mine = scale.first * (common / scale.second),
              their = numerator * (common / denominator);
      Bounds bounds = forward ? edge->distance(theirs, their, d, mine)
                              : edge->distance(d, mine, theirs, their);
      if (!bounds.min || !bounds.max)
        return std::nullopt;
      sum += double(*bounds.max - *bounds.min) / common;
    }
    return sum;
  };
  std::optional<std::pair<double, bool>> best; // movement, has another name
  auto choose = [&](unsigned d, Scale scale) {
    std::optional<double> sum = movement(d, scale);
    if (!sum)
      return false;
    std::pair<double, bool> rank{*sum, d == noDim || statement.dims[d] != name};
    if (!best || rank < *best) {
      best = rank;
      candidate.alignments[s] = {d, 1, 0};
      scales[s] = scale;
    }
    return true;
  };
  for (unsigned d = 0; d < statement.dims.size(); ++d) {
    if (statement.isFixed(d))
      continue;
    std::set<Scale> tried;
    for (Dependence *edge : known) {
      bool forward = edge->to == s;
      unsigned other = forward ? edge->from : edge->to;
      unsigned dim = candidate.alignments[other].dim;
      Scale same = dim == noDim ? Scale(1, 1) : scales[other];
      if (tried.insert(same).second && !choose(d, same))
        break;
      if (dim == noDim)
        continue;
      // One may run slower than the other: h[t // 4] beside x[t]. Only the
      // points that take part tell.
      auto ours = forward ? edge->extentRead(d) : edge->extentWritten(d);
      auto theirs = forward ? edge->extentWritten(dim) : edge->extentRead(dim);
      if (!ours || !theirs || *ours < 2 || *theirs < 2 || best->first == 0)
        continue;
      int64_t up = (*theirs + *ours / 2) / *ours;
      int64_t down = (*ours + *theirs / 2) / *theirs;
      Scale slower = up > 1 ? reduced(same.first * up, same.second)
                            : reduced(same.first, same.second * down);
      if (up != down && tried.insert(slower).second)
        choose(d, slower);
    }
  }
  if (single)
    choose(noDim, {0, 1});
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
      if (!match(from ? edge.to : edge.from))
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
  std::optional<Candidate> best;
  for (bool single : {false, true}) {
    // What has no need to share the loop is better outside of it.
    if (best || (single && fused))
      break;
    Aligner aligner(graph, members, edges, seed, dim, single);
    if (!aligner.matchDims())
      continue;
    Candidate forward = aligner.candidate, backward = aligner.candidate;
    bool ascends = aligner.solveShifts(forward, false);
    bool descends = aligner.solveShifts(backward, true);
    if (descends && (!ascends || backward.spread < forward.spread))
      best = backward;
    else if (ascends)
      best = forward;
  }
  if (best && fused && best->spread > 0) {
    auto extent = extentOf(graph.statements[seed].points, dim);
    if (extent && best->spread > *extent / 4)
      return std::nullopt;
  }
  return best;
}
