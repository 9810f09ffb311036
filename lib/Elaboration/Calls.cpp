//===- Calls.cpp - Functions are inlined and specialised per call ---------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elaborator.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace timerl;
using namespace timerl::elaboration;

/// A function may call itself only through compile-time `if`s, so this deep is
/// endless.
static constexpr unsigned maxRecursion = 100;

/// How a callee was written, for messages: `rl.gae`.
static std::string calleeText(const ast::Expr &expr) {
  if (const auto *name = llvm::dyn_cast<ast::NameExpr>(&expr))
    return name->name;
  if (const auto *field = llvm::dyn_cast<ast::FieldExpr>(&expr))
    return calleeText(*field->base) + "." + field->field;
  return "function";
}

Term Elaborator::evaluateCall(const ast::CallExpr &expr,
                              const EnvironmentPtr &environment) {
  Term callee = evaluate(*expr.callee, environment);
  if (callee.isError())
    return callee;
  std::string name = calleeText(*expr.callee);
  if (callee.kind != Term::Kind::Function && callee.kind != Term::Kind::Builtin)
    return fail("E0204", expr.callee->span,
                "`" + name + "` is " + callee.describe() + ", not a function");

  // end(t): the name of a dim is no value elsewhere.
  if (callee.kind == Term::Kind::Builtin && callee.text == "end") {
    const auto *argument =
        expr.arguments.size() == 1
            ? llvm::dyn_cast<ast::NameExpr>(expr.arguments[0].value.get())
            : nullptr;
    const Term *dim = argument ? environment->findDim(argument->name) : nullptr;
    if (!dim)
      return fail("E0204", expr.span, "`end` takes the name of a dim");
    return endOf(*dim, expr.span);
  }
  std::vector<CallArgument> arguments;
  bool failed = false;
  for (const ast::Argument &argument : expr.arguments) {
    arguments.push_back(
        {argument.name, argument.span, evaluate(*argument.value, environment)});
    failed |= arguments.back().value.isError();
  }
  if (failed)
    return Term::error();
  if (callee.kind == Term::Kind::Builtin)
    return callBuiltin(callee.text, std::move(arguments), expr.span);
  return callFunction(callee, std::move(arguments), name, expr.span);
}

Term Elaborator::endOf(const Term &dim, SourceSpan span) {
  if (dim.expr.kind() == Expr::Kind::Var &&
      dim.expr.name().starts_with("end(")) {
    for (DimInfo *info : allDims) {
      if (!info->stop || info->hi() != dim.expr)
        continue;
      for (unsigned k = 0; k + 1 < info->stop->positions.size(); ++k) {
        const std::string &outer = info->stop->positions[k];
        if (!context ||
            llvm::none_of(context->iterators,
                          [&](const Iterator &i) { return i.name == outer; }))
          return fail("E0205", span,
                      "`end(" + info->name + ")` depends on `" + outer +
                          "`, which is no index here");
      }
    }
  }
  return Term::integer(dim.expr);
}

Term Elaborator::callFunction(const Term &callee,
                              std::vector<CallArgument> arguments,
                              const std::string &name, SourceSpan span) {
  const ast::FunctionStatement &function = *callee.function;
  if (function.isExtern)
    return fail("E0505", span, "`extern` functions are not supported yet");
  if (!function.body)
    return Term::error();
  unsigned recursion = 0;
  for (const CallFrame &frame : frames)
    recursion += frame.function == &function;
  if (recursion > maxRecursion)
    return fail("E0502", span,
                "`" + name + "` calls itself without end (more than " +
                    std::to_string(maxRecursion) + " times)");

  auto environment = std::make_shared<Environment>();
  environment->parent = callee.module->environment;
  environment->module = callee.module;
  std::vector<std::optional<CallArgument>> bound(function.parameters.size());
  unsigned position = 0;
  for (CallArgument &argument : arguments) {
    unsigned slot = position;
    if (argument.name.empty()) {
      if (position++ >= function.parameters.size()) {
        error("E0212", span,
              "`" + name + "` takes " +
                  std::to_string(function.parameters.size()) +
                  (function.parameters.size() == 1 ? " argument, not "
                                                   : " arguments, not ") +
                  std::to_string(arguments.size()))
            .note(function.nameSpan, "defined here");
        return Term::error();
      }
    } else {
      std::vector<std::string> names;
      for (const ast::Parameter &parameter : function.parameters)
        names.push_back(parameter.name);
      slot = llvm::find(names, argument.name) - names.begin();
      if (slot == names.size()) {
        timerl::Diagnostic &diagnostic =
            error("E0212", argument.span,
                  "`" + name + "` has no parameter `" + argument.name + "`");
        llvm::StringRef nearest = nearestName(argument.name, names);
        if (!nearest.empty())
          diagnostic.suggest("did you mean `" + nearest.str() + "`?");
        diagnostic.note(function.nameSpan, "defined here");
        return Term::error();
      }
    }
    if (bound[slot])
      return fail("E0212", argument.span,
                  "parameter `" + function.parameters[slot].name + "` of `" +
                      name + "` is given twice");
    bound[slot] = std::move(argument);
  }

  CallFrame frame;
  frame.name = name;
  frame.function = &function;
  frame.call = span;
  frame.id = function.name + "." +
             std::to_string(frames.back().ordinals[function.name]++);
  frames.push_back(frame);
  struct Pop {
    std::vector<CallFrame> &frames;
    ~Pop() { frames.pop_back(); }
  } pop{frames};

  for (unsigned k = 0; k < bound.size(); ++k) {
    const ast::Parameter &parameter = function.parameters[k];
    if (!bound[k]) {
      if (!parameter.defaultValue) {
        frames.pop_back(); // The mistake is the caller's.
        error("E0212", span,
              "`" + name + "` needs its parameter `" + parameter.name + "`")
            .note(function.nameSpan, "defined here");
        frames.push_back(frame);
        return Term::error();
      }
      bound[k] = CallArgument{parameter.name, parameter.span,
                              evaluate(*parameter.defaultValue, environment)};
    }
    if (bound[k]->value.isError())
      return Term::error();
    if (parameter.type &&
        !checkAnnotation(*parameter.type, bound[k]->value, environment, span,
                         "`" + parameter.name + "` of `" + name + "`"))
      return Term::error();
    environment->define(parameter.name, bound[k]->value);
  }
  Term result = evaluate(*function.body, environment);
  if (result.isError() || function.results.empty())
    return result;
  if (function.results.size() == 1) {
    if (!checkAnnotation(function.results[0], result, environment,
                         function.body->span, "the result of `" + name + "`"))
      return Term::error();
    return result;
  }
  if (result.kind != Term::Kind::Tuple ||
      result.elements.size() != function.results.size())
    return fail("E0304", function.body->span,
                "`" + name + "` says that it gives " +
                    std::to_string(function.results.size()) + " values");
  for (unsigned k = 0; k < result.elements.size(); ++k)
    if (!checkAnnotation(function.results[k], result.elements[k], environment,
                         function.body->span, "a result of `" + name + "`"))
      return Term::error();
  return result;
}

/// Checks a value against an annotation, gives weak values its dtype, and binds
/// shape names that have no meaning yet: `x: f32[n, m]`.
bool Elaborator::checkAnnotation(const ast::Type &type, Term &value,
                                 const EnvironmentPtr &environment,
                                 SourceSpan span, llvm::StringRef what) {
  if (type.dtype == "int" || type.dtype == "float") {
    if (!type.shape.empty() ||
        !(value.kind == Term::Kind::Int ||
          (type.dtype == "float" && value.kind == Term::Kind::Float))) {
      error("E0301", span,
            what.str() + " must be a compile-time " + type.dtype + ", not " +
                value.describe());
      return false;
    }
    return true;
  }
  auto dtype = resolveDtype(type);
  if (!dtype)
    return false;
  if (!value.isData()) {
    error("E0301", span,
          what.str() + " must be " + type.dtype + ", not " + value.describe());
    return false;
  }
  std::vector<Expr> lengths = lengthsOf(value);
  if (lengths.size() != type.shape.size()) {
    error("E0302", span,
          what.str() + " must have rank " + std::to_string(type.shape.size()) +
              ", not " + std::to_string(lengths.size()));
    return false;
  }
  for (unsigned k = 0; k < lengths.size(); ++k) {
    const auto *name = llvm::dyn_cast<ast::NameExpr>(type.shape[k].get());
    if (name && !environment->find(name->name)) {
      environment->define(name->name, Term::integer(lengths[k]));
      continue;
    }
    auto expected = evaluateIndex(*type.shape[k], environment, "a length");
    if (!expected)
      return false;
    if (*expected != lengths[k]) {
      error("E0302", span,
            what.str() + " has length " + lengths[k].str() + " in axis " +
                std::to_string(k) + ", not " + expected->str());
      return false;
    }
  }
  mlir::Type own = elementTypeOf(value);
  if (own == *dtype)
    return true;
  auto dtypeText = typeText(mlir::RankedTensorType::get({}, *dtype));
  bool fits = !own &&
              (mlir::isa<mlir::FloatType>(*dtype) || !isFloatValue(value)) &&
              !dtype->isInteger(1);
  if (!fits) {
    error("E0301", span,
          what.str() + " must be " + dtypeText + ", not " + value.describe())
        .suggest("convert it: `" + dtypeText + "(...)`");
    return false;
  }
  if (!canEmit())
    return true; // Stays a compile-time number.
  mlir::Value leaf = materialize(value, *dtype, span);
  if (leaf)
    value = Term::ofLeaf(leaf);
  return leaf != nullptr;
}

std::string Elaborator::callPath() {
  std::string path;
  for (const CallFrame &frame : frames)
    if (frame.function)
      path += "/" + frame.id;
  if (!compileTimeIndices.empty())
    path += "(" + llvm::join(compileTimeIndices, ",") + ")";
  return path;
}
