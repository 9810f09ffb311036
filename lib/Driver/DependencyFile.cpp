//===- DependencyFile.cpp - What make needs to know -----------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DependencyFile.h"

using namespace timerl;

/// As make and ninja read names: spaces and `#` after a backslash, `$` doubled.
static std::string escaped(llvm::StringRef name) {
  std::string out;
  for (char c : name) {
    if (c == ' ' || c == '#')
      out += '\\';
    if (c == '$')
      out += '$';
    out += c;
  }
  return out;
}

std::string timerl::dependencyRule(llvm::StringRef target,
                                   const SourceManager &sources) {
  std::string rule = escaped(target) + ":";
  for (uint32_t id = 0; id != sources.size(); ++id) {
    llvm::StringRef path = sources.file(id).path;
    if (!path.starts_with("<"))
      rule += " \\\n  " + escaped(path);
  }
  return rule + "\n";
}
