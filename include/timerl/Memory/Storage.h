//===- Storage.h - A place in memory for every value ------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_MEMORY_STORAGE_H
#define TIMERL_MEMORY_STORAGE_H

#include "timerl/Schedule/LoopTree.h"

namespace timerl::memory {

/// The storage of one tensor; see `sched.buffer` for what the numbers mean.
struct Buffer {
  trl::TensorOp tensor;
  llvm::SmallVector<int64_t> window, origin;
  int64_t bytes = 0;
  int64_t offset = 0;
  int64_t first = 0, last = 0;
};

struct Plan {
  std::vector<Buffer> buffers; ///< in order of declaration
  int64_t arena = 0;           ///< bytes
};

/// How many slots a tensor has along each of its positions, and the least
/// point.
struct Window {
  llvm::SmallVector<int64_t> sizes, origin;
  int64_t slots = 0; ///< the product of the sizes
};

/// Windows found before, by all that they depend on: the leaves of a record are
/// written and read alike, and often under either of two schedules.
struct WindowCache {
  poly::MapPool pool;
  std::map<std::string, std::optional<Window>> windows;
};

/// Windows from the exact life of every value under the schedule, lifetimes,
/// and offsets. On failure says why (E0802).
std::optional<Plan> planMemory(const schedule::Graph &graph,
                               const schedule::LoopTree &tree,
                               WindowCache &cache);

/// Places buffers by first fit, the largest first, at multiples of 64 bytes;
/// gives the end of the last.
int64_t placeBuffers(std::vector<Buffer> &buffers);

} // namespace timerl::memory

#endif // TIMERL_MEMORY_STORAGE_H
