//===- Arena.cpp - Offsets of buffers in one arena ------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Memory/Storage.h"
#include <numeric>

using namespace timerl;
using namespace timerl::memory;

int64_t memory::placeBuffers(std::vector<Buffer> &buffers) {
  constexpr int64_t alignment = 64;
  std::vector<unsigned> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    return buffers[a].bytes > buffers[b].bytes;
  });
  int64_t arena = 0;
  std::vector<unsigned> placed; // by offset
  for (unsigned k : order) {
    Buffer &buffer = buffers[k];
    buffer.offset = 0;
    for (unsigned other : placed) {
      const Buffer &there = buffers[other];
      if (there.last < buffer.first || buffer.last < there.first)
        continue;
      if (buffer.offset + buffer.bytes <= there.offset)
        break;
      int64_t end = there.offset + there.bytes;
      end = (end + alignment - 1) / alignment * alignment;
      buffer.offset = std::max(buffer.offset, end);
    }
    auto position = std::upper_bound(
        placed.begin(), placed.end(), k, [&](unsigned a, unsigned b) {
          return buffers[a].offset < buffers[b].offset;
        });
    placed.insert(position, k);
    arena = std::max(arena, buffer.offset + buffer.bytes);
  }
  return (arena + alignment - 1) / alignment * alignment;
}
