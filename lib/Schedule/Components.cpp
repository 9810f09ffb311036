//===- Components.cpp - Strongly connected components ---------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R. Tarjan, "Depth-first search and linear graph algorithms" (SIAM J. Comput.
// 1972), with an explicit stack.
//
//===----------------------------------------------------------------------===//

#include "Components.h"
#include <set>

using namespace timerl;
using namespace timerl::schedule;

std::vector<Members> schedule::findComponents(const Members &members,
                                              const Edges &edges,
                                              unsigned count) {
  std::vector<std::vector<unsigned>> next(count);
  for (const Dependence &edge : edges)
    next[edge.from].push_back(edge.to);
  std::vector<int> number(count, -1), low(count, 0), component(count, -1);
  std::vector<unsigned> stack;
  int counter = 0, found = 0;
  for (unsigned root : members) {
    if (number[root] >= 0)
      continue;
    std::vector<std::pair<unsigned, size_t>> calls{{root, 0}};
    while (!calls.empty()) {
      unsigned v = calls.back().first;
      size_t &k = calls.back().second;
      if (k == 0) {
        number[v] = low[v] = counter++;
        stack.push_back(v);
      }
      std::optional<unsigned> child;
      while (k < next[v].size() && !child) {
        unsigned w = next[v][k++];
        if (number[w] < 0)
          child = w;
        else if (component[w] < 0)
          low[v] = std::min(low[v], number[w]);
      }
      if (child) {
        calls.push_back({*child, 0});
        continue;
      }
      if (low[v] == number[v]) {
        unsigned w;
        do {
          w = stack.back();
          stack.pop_back();
          component[w] = found;
        } while (w != v);
        ++found;
      }
      calls.pop_back();
      if (!calls.empty())
        low[calls.back().first] = std::min(low[calls.back().first], low[v]);
    }
  }

  std::vector<Members> list(found);
  for (unsigned s : members)
    list[component[s]].push_back(s);
  std::vector<std::set<int>> before(found);
  for (const Dependence &edge : edges)
    if (component[edge.from] != component[edge.to])
      before[component[edge.to]].insert(component[edge.from]);
  std::vector<Members> order;
  std::vector<bool> done(found, false);
  for (int step = 0; step < found; ++step) {
    int best = -1;
    for (int c = 0; c < found; ++c)
      if (!done[c] &&
          llvm::all_of(before[c], [&](int b) { return bool(done[b]); }) &&
          (best < 0 || list[c][0] < list[best][0]))
        best = c;
    done[best] = true;
    order.push_back(list[best]);
  }
  return order;
}
