//===- ModuleLoader.cpp - A program with all it imports -------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Frontend/ModuleLoader.h"
#include "timerl/Frontend/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace timerl;

static constexpr llvm::StringLiteral stdPrefix = "<std>/";

namespace {
class Loader {
public:
  Loader(const LoadOptions &options, SourceManager &sources,
         DiagnosticEngine &diagnostics)
      : options(options), sources(sources), diagnostics(diagnostics) {}

  /// Adds a file from disk; UINT32_MAX after an error, reported at `span`.
  uint32_t read(const std::string &path, SourceSpan span);
  void load(uint32_t file);
  LoadedProgram program;

private:
  using Import = ast::ImportStatement::Module;

  ast::Module *import(const ast::Module &importer, const Import &import);
  /// The file an import means, added to the sources on first use.
  uint32_t locate(const ast::Module &importer, const Import &import);
  uint32_t findStd(const std::string &name);
  std::vector<std::string> candidatePaths(const ast::Module &importer,
                                          const std::string &file) const;
  void reportNotFound(const ast::Module &importer, const Import &import,
                      const std::string &file);
  void reportCycle(uint32_t file, SourceSpan span);

  const LoadOptions &options;
  SourceManager &sources;
  DiagnosticEngine &diagnostics;
  std::map<uint32_t, ast::Module *> loaded;
  /// From the main file to the one being read, with the import that led there.
  std::vector<std::pair<uint32_t, SourceSpan>> active;
  /// Real paths, so that one file under two names is read once.
  std::map<std::string, uint32_t> fileByRealPath;
};
} // namespace

uint32_t Loader::read(const std::string &path, SourceSpan span) {
  // Spans count bytes in 32 bits; a source this large is no source.
  constexpr uint64_t maxSize = 64 << 20;
  llvm::SmallString<256> real;
  if (path != "-" && !llvm::sys::fs::real_path(path, real)) {
    auto found = fileByRealPath.find(real.str().str());
    if (found != fileByRealPath.end())
      return found->second;
  }
  auto fail = [&](const std::string &why) {
    diagnostics.error("E0601", span, "can't read `" + path + "`: " + why);
    return UINT32_MAX;
  };
  if (path != "-" && llvm::sys::fs::is_directory(path))
    return fail("it is a folder");
  uint64_t size = 0;
  if (path != "-" && !llvm::sys::fs::file_size(path, size) && size > maxSize)
    return fail("it is larger than 64 MiB");
  auto buffer = path == "-" ? llvm::MemoryBuffer::getSTDIN()
                            : llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return fail(buffer.getError().message());
  if ((*buffer)->getBufferSize() > maxSize)
    return fail("it is larger than 64 MiB");
  uint32_t file =
      sources.add(path == "-" ? "<stdin>" : path, (*buffer)->getBuffer().str());
  if (!real.empty())
    fileByRealPath[real.str().str()] = file;
  return file;
}

uint32_t Loader::findStd(const std::string &name) {
  for (const StdModule &module : standardLibrary()) {
    if (module.name != name)
      continue;
    std::string shown = (stdPrefix + name).str();
    uint32_t file = sources.find(shown);
    return file != UINT32_MAX ? file : sources.add(shown, module.text.str());
  }
  return UINT32_MAX;
}

std::vector<std::string> Loader::candidatePaths(const ast::Module &importer,
                                                const std::string &file) const {
  if (llvm::sys::path::is_absolute(file))
    return {file};
  std::vector<std::string> paths;
  auto add = [&](llvm::StringRef folder) {
    llvm::SmallString<256> path(folder);
    llvm::sys::path::append(path, file);
    paths.push_back(path.str().str());
  };
  llvm::StringRef importerPath = sources.file(importer.file).path;
  if (!importerPath.starts_with(stdPrefix))
    add(llvm::sys::path::parent_path(importerPath));
  for (const std::string &folder : options.includePaths)
    add(folder);
  return paths;
}

void Loader::reportNotFound(const ast::Module &importer, const Import &import,
                            const std::string &file) {
  // A name that did not end is no name to look for.
  if (diagnostics.hasErrorAt("E0105", import.span))
    return;
  Diagnostic &diagnostic = diagnostics.error(
      "E0602", import.span, "there is no module `" + import.path + "`");
  std::vector<std::string> names;
  for (const StdModule &module : standardLibrary()) {
    std::string name = module.name.drop_back(4).str();
    std::replace(name.begin(), name.end(), '/', '.');
    names.push_back(name);
  }
  llvm::StringRef near = nearestName(import.path, names);
  // `import categorical`: the last part alone.
  for (const std::string &name : names)
    if (near.empty() && llvm::StringRef(name).ends_with("." + import.path))
      near = name;
  if (!near.empty() && !import.isFile)
    diagnostic.suggest(("did you mean `" + near + "`?").str());
  std::string looked = import.isFile ? "looked for "
                                     : "looked in the standard "
                                       "library and for ";
  std::vector<std::string> paths = candidatePaths(importer, file);
  for (size_t i = 0; i != paths.size(); ++i)
    looked += (i ? ", `" : "`") + paths[i] + "`";
  if (!paths.empty())
    diagnostic.note({}, looked);
}

uint32_t Loader::locate(const ast::Module &importer, const Import &import) {
  std::string file = import.path;
  if (!import.isFile) {
    std::replace(file.begin(), file.end(), '.', '/');
    file += ".trl";
    uint32_t found = findStd(file);
    if (found != UINT32_MAX)
      return found;
  }
  for (const std::string &path : candidatePaths(importer, file))
    if (llvm::sys::fs::exists(path))
      return read(path, import.span);
  reportNotFound(importer, import, file);
  return UINT32_MAX;
}

void Loader::reportCycle(uint32_t file, SourceSpan span) {
  auto first = llvm::find_if(
      active, [&](const auto &entry) { return entry.first == file; });
  std::string cycle;
  for (auto it = first; it != active.end(); ++it)
    cycle += "`" + sources.file(it->first).path + "` -> ";
  cycle += "`" + sources.file(file).path + "`";
  Diagnostic &diagnostic =
      diagnostics.error("E0603", span, "modules import each other: " + cycle);
  diagnostic.suggest("move what both need to a third module");
  for (auto it = std::next(first); it != active.end(); ++it)
    diagnostic.note(it->second,
                    "`" + sources.file(it->first).path + "` is imported here");
}

ast::Module *Loader::import(const ast::Module &importer, const Import &import) {
  uint32_t file = locate(importer, import);
  if (file == UINT32_MAX)
    return nullptr;
  if (llvm::any_of(active,
                   [&](const auto &entry) { return entry.first == file; })) {
    reportCycle(file, import.span);
    return nullptr;
  }
  auto found = loaded.find(file);
  if (found != loaded.end())
    return found->second;
  // A chain this long comes from a program that writes programs, and would
  // exhaust the stack before it ended.
  constexpr size_t maxDepth = 200;
  if (active.size() >= maxDepth) {
    diagnostics.error("E0602", import.span,
                      "imports are nested more than 200 files deep");
    return nullptr;
  }
  active.push_back({file, import.span});
  load(file);
  active.pop_back();
  return loaded[file];
}

void Loader::load(uint32_t file) {
  if (active.empty())
    active.push_back({file, SourceSpan()});
  program.modules.push_back(
      std::make_unique<ast::Module>(parseModule(sources, file, diagnostics)));
  ast::Module *module = program.modules.back().get();
  loaded[file] = module;
  for (const ast::StatementPtr &statement : module->statements) {
    const auto *node = llvm::dyn_cast<ast::ImportStatement>(statement.get());
    if (!node)
      continue;
    for (const Import &wanted : node->modules)
      if (ast::Module *target = import(*module, wanted))
        program.imports[{module, wanted.path}] = target;
  }
}

LoadedProgram timerl::loadProgram(const std::string &path,
                                  const LoadOptions &options,
                                  SourceManager &sources,
                                  DiagnosticEngine &diagnostics) {
  Loader loader(options, sources, diagnostics);
  uint32_t file = loader.read(path, SourceSpan());
  if (file != UINT32_MAX)
    loader.load(file);
  return std::move(loader.program);
}

LoadedProgram timerl::loadProgram(uint32_t mainFile, const LoadOptions &options,
                                  SourceManager &sources,
                                  DiagnosticEngine &diagnostics) {
  Loader loader(options, sources, diagnostics);
  loader.load(mainFile);
  return std::move(loader.program);
}
