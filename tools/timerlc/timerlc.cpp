//===- timerlc.cpp - The compiler's entry point ---------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Driver/Driver.h"

int main(int argc, char **argv) { return timerl::runDriver(argc, argv); }
