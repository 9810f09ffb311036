//===- Term.cpp - What an expression stands for during elaboration -------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Term.h"
#include "trl/TrlDialect.h"

using namespace timerl;
using namespace timerl::elaboration;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

bool Structure::anyWeak() const {
  if (kind == Kind::Leaf)
    return weak;
  return llvm::any_of(children,
                      [](const Structure &child) { return child.anyWeak(); });
}

bool Structure::sameNesting(const Structure &other) const {
  if (kind != other.kind || names != other.names ||
      children.size() != other.children.size())
    return false;
  for (auto [a, b] : llvm::zip(children, other.children))
    if (!a.sameNesting(b))
      return false;
  return true;
}

std::string elaboration::typeText(mlir::RankedTensorType type) {
  std::string text;
  mlir::Type element = type.getElementType();
  if (element.isInteger(1))
    text = "bool";
  else if (element.isUnsignedInteger(8))
    text = "u8";
  else if (element.isF32() || element.isF64())
    text = element.isF32() ? "f32" : "f64";
  else
    text = "i" + std::to_string(element.getIntOrFloatBitWidth());
  if (type.getRank() == 0)
    return text;
  std::vector<std::string> lengths;
  for (const Expr &length : trl::getLengths(type))
    lengths.push_back(length.str());
  return text + "[" + llvm::join(lengths, ", ") + "]";
}

std::string Structure::str() const {
  if (kind == Kind::Leaf)
    return typeText(type);
  std::vector<std::string> parts;
  for (unsigned k = 0; k < children.size(); ++k)
    parts.push_back((kind == Kind::Record ? names[k] + ": " : "") +
                    children[k].str());
  return (kind == Kind::Record ? "{ " : "(") + llvm::join(parts, ", ") +
         (kind == Kind::Record ? " }" : ")");
}

void Structure::forEachLeaf(
    llvm::function_ref<void(const std::string &, const Structure &)> visit,
    const std::string &path) const {
  if (kind == Kind::Leaf)
    return visit(path, *this);
  for (unsigned k = 0; k < children.size(); ++k) {
    std::string name = kind == Kind::Record ? names[k] : std::to_string(k);
    children[k].forEachLeaf(visit, path.empty() ? name : path + "." + name);
  }
}

//===----------------------------------------------------------------------===//
// Term
//===----------------------------------------------------------------------===//

Term Term::integer(Expr expr) {
  Term value;
  value.kind = Kind::Int;
  value.expr = std::move(expr);
  return value;
}
Term Term::condition(Expr expr) {
  Term value;
  value.kind = Kind::Cond;
  value.expr = std::move(expr);
  return value;
}
Term Term::real(double number) {
  Term value;
  value.kind = Kind::Float;
  value.number = number;
  return value;
}
Term Term::string(std::string text) {
  Term value;
  value.kind = Kind::String;
  value.text = std::move(text);
  return value;
}
Term Term::ofLeaf(mlir::Value leaf) {
  Term value;
  value.kind = Kind::Leaf;
  value.leaf = leaf;
  return value;
}
Term Term::weak(bool isFloat, std::vector<Expr> lengths,
                std::function<mlir::Value(mlir::Type)> build) {
  Term value;
  value.kind = Kind::Weak;
  value.weakFloat = isFloat;
  value.lengths = std::move(lengths);
  value.build = std::move(build);
  return value;
}
Term Term::record(std::vector<std::string> names, std::vector<Term> elements) {
  Term value;
  value.kind = Kind::Record;
  value.names = std::move(names);
  value.elements = std::move(elements);
  return value;
}
Term Term::tuple(std::vector<Term> elements) {
  Term value;
  value.kind = Kind::Tuple;
  value.elements = std::move(elements);
  return value;
}
Term Term::builtin(std::string name) {
  Term value;
  value.kind = Kind::Builtin;
  value.text = std::move(name);
  return value;
}

const Term *Term::field(llvm::StringRef name) const {
  for (unsigned k = 0; k < names.size(); ++k)
    if (names[k] == name)
      return &elements[k];
  return nullptr;
}

std::string Term::describe() const {
  switch (kind) {
  case Kind::Error:
    return "an error";
  case Kind::Int:
    return "an integer";
  case Kind::Cond:
    return "a condition";
  case Kind::Float:
    return "a number";
  case Kind::String:
    return "a string";
  case Kind::Weak:
    return weakFloat ? "a float" : "an integer";
  case Kind::Leaf:
    return typeText(mlir::cast<mlir::RankedTensorType>(leaf.getType()));
  case Kind::Lazy:
  case Kind::Arg:
    return typeText(type);
  case Kind::Record:
    return "a record";
  case Kind::Tuple:
    return "a tuple";
  case Kind::List:
    return "a list";
  case Kind::Function:
  case Kind::Builtin:
    return "a function";
  case Kind::Module:
    return "a module";
  case Kind::Tensor:
    return "a recurrent tensor";
  case Kind::Dim:
    return "a dim";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Environment
//===----------------------------------------------------------------------===//

EnvironmentPtr Environment::inner(EnvironmentPtr parent) {
  auto environment = std::make_shared<Environment>();
  environment->module = parent->module;
  environment->parent = std::move(parent);
  return environment;
}

const Term *Environment::find(llvm::StringRef name) const {
  for (const Environment *scope = this; scope; scope = scope->parent.get())
    for (auto it = scope->names.rbegin(); it != scope->names.rend(); ++it)
      if (it->first == name)
        return &it->second;
  return nullptr;
}

const Term *Environment::findDim(llvm::StringRef name) const {
  for (const Environment *scope = this; scope; scope = scope->parent.get())
    for (auto it = scope->names.rbegin(); it != scope->names.rend(); ++it)
      if (it->first == name && it->second.kind == Term::Kind::Dim)
        return &it->second;
  return nullptr;
}

void Environment::define(std::string name, Term value) {
  names.emplace_back(std::move(name), std::move(value));
}
