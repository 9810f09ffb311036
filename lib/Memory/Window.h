//===- Window.h - How many slots a tensor needs -----------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_MEMORY_WINDOW_H
#define TIMERL_LIB_MEMORY_WINDOW_H

#include "timerl/Memory/Storage.h"

namespace timerl::memory {

/// A statement that writes or reads a tensor, and the relation from its
/// instances to the tensor's points.
struct Use {
  unsigned statement;
  const poly::Map *relation;
};

struct Uses {
  std::vector<Use> writes, reads;
};

/// The least windows found for a tensor with these uses; none when it has no
/// static bound.
std::optional<Window> chooseWindow(const schedule::Graph &graph,
                                   const Uses &uses, WindowCache &cache);

} // namespace timerl::memory

#endif // TIMERL_LIB_MEMORY_WINDOW_H
