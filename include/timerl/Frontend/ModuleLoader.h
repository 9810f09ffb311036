//===- ModuleLoader.h - A program with all it imports -----------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Import paths: `nn`, `dist.categorical` name a file of the standard library
// (`<std>/nn.trl`, `<std>/dist/categorical.trl`), else `nn.trl` next to the
// importing file, else in one of the `-I` folders. `import "f.trl"` skips the
// library.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_FRONTEND_MODULELOADER_H
#define TIMERL_FRONTEND_MODULELOADER_H

#include "timerl/Frontend/AST.h"
#include "timerl/Frontend/Diagnostics.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace timerl {

/// Every module of one compilation, each parsed once.
struct LoadedProgram {
  /// `[0]` is the main file; the others in order of first import, depth first.
  std::vector<std::unique_ptr<ast::Module>> modules;
  /// What an import in a module refers to, by its written path.
  std::map<std::pair<const ast::Module *, std::string>, ast::Module *> imports;

  const ast::Module &main() const { return *modules.front(); }
  /// Null when the import failed (which is reported).
  const ast::Module *resolve(const ast::Module &importer,
                             const std::string &path) const {
    auto found = imports.find({&importer, path});
    return found == imports.end() ? nullptr : found->second;
  }
};

struct LoadOptions {
  std::vector<std::string> includePaths;
};

/// Reads and parses `path` (`-`: standard input) and, transitively, what it
/// imports. Reports files that can't be read (E0601), imports that name nothing
/// (E0602) and import cycles (E0603) next to errors of syntax. The program has
/// no modules when the main file can't be read.
LoadedProgram loadProgram(const std::string &path, const LoadOptions &options,
                          SourceManager &sources,
                          DiagnosticEngine &diagnostics);

/// The same for a main file that is already among the sources.
LoadedProgram loadProgram(uint32_t mainFile, const LoadOptions &options,
                          SourceManager &sources,
                          DiagnosticEngine &diagnostics);

/// One file of the standard library, embedded in the compiler.
struct StdModule {
  llvm::StringLiteral name; ///< `dist/categorical.trl`
  llvm::StringLiteral text;
};
llvm::ArrayRef<StdModule> standardLibrary();

} // namespace timerl

#endif // TIMERL_FRONTEND_MODULELOADER_H
