//===- FuzzBytes.cpp - Any bytes through the front end --------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks for crashes, hangs and broken promises: an answer for every input,
// places inside the file, trees of bounded height.
//
//===----------------------------------------------------------------------===//

#include "FuzzCheck.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  timerl::checkFrontEnd(
      std::string(reinterpret_cast<const char *>(data), size));
  return 0;
}
