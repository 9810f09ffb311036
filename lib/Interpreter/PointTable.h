//===- PointTable.h - Values at integer points ------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_INTERPRETER_POINTTABLE_H
#define TIMERL_LIB_INTERPRETER_POINTTABLE_H

#include "timerl/Support/Array.h"
#include "llvm/ADT/Hashing.h"
#include <vector>

namespace timerl::interp {

/// Numbers the points of one tensor in the order in which they are first asked
/// for, and holds what is known of each.
class PointTable {
public:
  explicit PointTable(unsigned rank) : rank(rank), index(16, -1) {}

  struct Entry {
    Array value;          ///< Null until evaluated.
    int64_t progress = 0; ///< Of an early stop: points seen so far.
    uint32_t attempt = 0; ///< The last attempt that asked for it.
    bool active = false;  ///< Under evaluation.
  };

  uint32_t find(llvm::ArrayRef<int64_t> point) {
    size_t slot = lookup(point);
    if (index[slot] >= 0)
      return index[slot];
    if (2 * (entries.size() + 1) > index.size()) {
      grow();
      slot = lookup(point);
    }
    index[slot] = entries.size();
    entries.emplace_back();
    coordinates.insert(coordinates.end(), point.begin(), point.end());
    return entries.size() - 1;
  }

  Entry &operator[](uint32_t number) { return entries[number]; }
  llvm::ArrayRef<int64_t> point(uint32_t number) const {
    return llvm::ArrayRef(coordinates).slice(size_t(number) * rank, rank);
  }
  uint32_t size() const { return entries.size(); }

private:
  unsigned rank;
  std::vector<Entry> entries;
  std::vector<int64_t> coordinates;
  std::vector<int64_t> index; ///< Open addressing; a power of two long.

  size_t lookup(llvm::ArrayRef<int64_t> point) const {
    size_t slot = llvm::hash_combine_range(point.begin(), point.end());
    for (;; ++slot) {
      slot &= index.size() - 1;
      if (index[slot] < 0 || this->point(index[slot]) == point)
        return slot;
    }
  }
  void grow() {
    index.assign(index.size() * 2, -1);
    for (uint32_t number = 0; number < entries.size(); ++number)
      index[lookup(point(number))] = number;
  }
};

} // namespace timerl::interp

#endif // TIMERL_LIB_INTERPRETER_POINTTABLE_H
