//===- Naming.cpp - Points and equations in the program's words -----------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Naming.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::poly;
using namespace timerl::trl;

std::string Naming::tensor(StringRef symbol) const {
  auto op = SymbolTable::lookupSymbolIn(
      program.module(), StringAttr::get(program.module().getContext(), symbol));
  // Leaves of one record have one declaration in the source. Its name is what
  // their symbols have in common.
  StringRef name = symbol;
  if (op && !isa<UnknownLoc>(op->getLoc()))
    for (auto other : program.module().getOps<TensorOp>()) {
      if (other.getLoc() != op->getLoc() || other == op)
        continue;
      StringRef leaf = other.getSymName();
      while (!(leaf == name || leaf.starts_with((name + ".").str()))) {
        auto [front, back] = name.rsplit('.');
        if (back.empty())
          break;
        name = front;
      }
    }
  auto [path, last] = name.rsplit('$');
  if (last.empty())
    return name.str();
  if (last == "until")
    return ("until of " + path.substr(path.rfind('$') + 1)).str();
  if (path == "hidden")
    return "a value";
  return last.str();
}

std::string Naming::point(StringRef symbol,
                          ArrayRef<std::string> indices) const {
  std::string text = "`" + tensor(symbol);
  if (!indices.empty())
    text += "[" + llvm::join(indices, ", ") + "]";
  return text + "`";
}

std::string Naming::point(StringRef symbol, ArrayRef<int64_t> indices) const {
  SmallVector<std::string> texts;
  for (int64_t index : indices)
    texts.push_back(std::to_string(index));
  return point(symbol, texts);
}

static std::string outputText(OutputOp output) {
  return (stringifyOutputKind(output.getKind()) + " " + output.getName()).str();
}

std::string Naming::statement(const Statement &statement) const {
  if (auto output = dyn_cast<OutputOp>(statement.op))
    return "`" + outputText(output) + "`";
  SmallVector<std::string> indices;
  for (const Expr &index : statement.writes.front().indices)
    indices.push_back(index.str());
  return point(statement.writes.front().tensor, indices);
}

std::string Naming::instance(const Statement &statement,
                             ArrayRef<int64_t> values) const {
  if (auto output = dyn_cast<OutputOp>(statement.op))
    return "`" + outputText(output) + "`";
  SmallVector<std::string> indices;
  for (const Expr &index : statement.writes.front().indices) {
    auto value = index.evaluate([&](StringRef name) -> std::optional<int64_t> {
      auto found = llvm::find(statement.dims(), name);
      if (found == statement.dims().end())
        return std::nullopt;
      return values[found - statement.dims().begin()];
    });
    indices.push_back(value ? std::to_string(*value) : index.str());
  }
  return point(statement.writes.front().tensor, indices);
}

std::string Naming::subject(const Statement &statement) const {
  if (auto output = dyn_cast<OutputOp>(statement.op))
    return outputText(output);
  return tensor(statement.writes.front().tensor);
}

std::string Witness::at() const {
  SmallVector<std::string> parts;
  for (auto [name, value, isFree] : llvm::zip(names, values, free))
    if (!isFree)
      parts.push_back(name + " = " + std::to_string(value));
  for (const auto &[name, value] : parameters)
    parts.push_back(name + " = " + std::to_string(value));
  return parts.empty() ? "" : " at " + llvm::join(parts, ", ");
}

std::string Witness::text(const Expr &expr) const {
  return expr
      .substitute([&](StringRef name) -> std::optional<Expr> {
        auto found = llvm::find(names, name);
        if (found != names.end()) {
          size_t k = found - names.begin();
          return free[k] ? std::nullopt
                         : std::optional<Expr>(Expr::constant(values[k]));
        }
        for (const auto &[parameter, value] : parameters)
          if (parameter == name)
            return Expr::constant(value);
        return std::nullopt;
      })
      .str();
}

std::optional<Witness> poly::findWitness(const Scope &scope,
                                         const Set &failing) {
  auto point = leastPoint(failing);
  if (!point)
    return std::nullopt;
  Witness witness;
  witness.names.append(scope.names.begin(), scope.names.end());
  witness.values = point->coordinates;
  for (unsigned k = 0; k < scope.names.size(); ++k) {
    // Free: at each point of the scope that differs from a failing one in this
    // coordinate alone, it fails too.
    Set others(isl_set_eliminate(failing.copy(), isl_dim_set, k, 1));
    bool isFree = isEqual(others & scope.points, failing & scope.points);
    witness.free.push_back(isFree);
  }
  // A parameter matters unless it may have any value.
  for (const auto &[name, value] : point->parameters) {
    int position = isl_set_find_dim_by_name(failing.get(), isl_dim_param,
                                            escapeName(name).c_str());
    Set others(isl_set_eliminate(failing.copy(), isl_dim_param, position, 1));
    if (!isEqual(others & scope.points, failing & scope.points))
      witness.parameters.emplace_back(name, value);
  }
  return witness;
}
