//===- Expressions.cpp - The walk over the syntax tree --------------------===//
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

/// Beyond this nesting of calls and expressions a program is taken to recurse
/// without end; well inside the stack.
static constexpr unsigned maxDepth = 2500;

Term Elaborator::evaluate(const ast::Expr &expr,
                          const EnvironmentPtr &environment) {
  Term value = evaluateBase(expr, environment);
  if (value.kind == Term::Kind::Tensor)
    return bareRead(*value.tensor, expr.span);
  if (value.kind == Term::Kind::Dim)
    return fail("E0205", expr.span,
                "dim `" + value.text + "` is no index of this equation");
  return value;
}

/// Like `evaluate`, but a tensor's name stays a name, for a bracket to follow.
Term Elaborator::evaluateBase(const ast::Expr &expr,
                              const EnvironmentPtr &environment) {
  if (depth > maxDepth)
    return fail("E0502", expr.span,
                "expressions and calls nest too deeply here (more than " +
                    std::to_string(maxDepth) + " levels)");
  llvm::SaveAndRestore<unsigned> nesting(depth, depth + 1);
  switch (expr.kind) {
  case ast::Expr::Kind::Int:
    return Term::integer(llvm::cast<ast::IntExpr>(expr).value);
  case ast::Expr::Kind::Float:
    return Term::real(llvm::cast<ast::FloatExpr>(expr).value);
  case ast::Expr::Kind::Bool:
    return Term::condition(
        Expr::boolean(llvm::cast<ast::BoolExpr>(expr).value));
  case ast::Expr::Kind::String:
    return Term::string(llvm::cast<ast::StringExpr>(expr).value);
  case ast::Expr::Kind::Name:
    return evaluateName(llvm::cast<ast::NameExpr>(expr), environment);
  case ast::Expr::Kind::Field:
    return evaluateField(llvm::cast<ast::FieldExpr>(expr), environment);
  case ast::Expr::Kind::Index:
    return evaluateIndexing(llvm::cast<ast::IndexExpr>(expr), environment);
  case ast::Expr::Kind::Call:
    return evaluateCall(llvm::cast<ast::CallExpr>(expr), environment);
  case ast::Expr::Kind::Unary: {
    const auto &node = llvm::cast<ast::UnaryExpr>(expr);
    return unary(node.op, evaluate(*node.operand, environment), expr.span);
  }
  case ast::Expr::Kind::Binary: {
    const auto &node = llvm::cast<ast::BinaryExpr>(expr);
    Term lhs = evaluate(*node.lhs, environment);
    // A constant decides `and` and `or` alone: `bootstrap and not
    // next.terminated`.
    if (lhs.isConstBool() &&
        (node.op == ast::BinaryOp::And || node.op == ast::BinaryOp::Or) &&
        lhs.expr.isTrue() == (node.op == ast::BinaryOp::Or))
      return lhs;
    Term rhs = evaluate(*node.rhs, environment);
    return binary(node.op, lhs, rhs, expr.span);
  }
  case ast::Expr::Kind::If:
    return evaluateIf(llvm::cast<ast::IfExpr>(expr), environment);
  case ast::Expr::Kind::List:
  case ast::Expr::Kind::Tuple: {
    const auto &list = expr.kind == ast::Expr::Kind::List
                           ? llvm::cast<ast::ListExpr>(expr).elements
                           : llvm::cast<ast::TupleExpr>(expr).elements;
    std::vector<Term> elements;
    for (const ast::ExprPtr &element : list) {
      elements.push_back(evaluate(*element, environment));
      if (elements.back().isError())
        return Term::error();
    }
    Term value = Term::tuple(std::move(elements));
    if (expr.kind == ast::Expr::Kind::List)
      value.kind = Term::Kind::List;
    return value;
  }
  case ast::Expr::Kind::Record: {
    std::vector<std::string> names;
    std::vector<Term> elements;
    bool failed = false;
    for (const auto &field : llvm::cast<ast::RecordExpr>(expr).fields) {
      if (llvm::is_contained(names, field.name))
        return Term::error(); // Reported by the parser.
      names.push_back(field.name);
      elements.push_back(evaluate(*field.value, environment));
      failed |= elements.back().isError();
    }
    return failed ? Term::error()
                  : Term::record(std::move(names), std::move(elements));
  }
  case ast::Expr::Kind::Block:
    return evaluateBlock(llvm::cast<ast::BlockExpr>(expr), environment);
  case ast::Expr::Kind::Reduce:
    return evaluateReduce(llvm::cast<ast::ReduceExpr>(expr), environment);
  case ast::Expr::Kind::Fold:
    return evaluateFold(llvm::cast<ast::FoldExpr>(expr), environment);
  case ast::Expr::Kind::Build:
    return evaluateBuild(llvm::cast<ast::BuildExpr>(expr), environment);
  case ast::Expr::Kind::Error:
    return Term::error();
  }
  return Term::error();
}

std::vector<std::string>
Elaborator::visibleNames(const Environment &environment) {
  std::vector<std::string> names;
  for (const Environment *scope = &environment; scope;
       scope = scope->parent.get())
    for (const auto &[name, value] : scope->names)
      names.push_back(name);
  return names;
}

Term Elaborator::evaluateName(const ast::NameExpr &expr,
                              const EnvironmentPtr &environment) {
  if (const Term *value = environment->find(expr.name))
    return *value;
  timerl::Diagnostic &diagnostic =
      error("E0201", expr.span, "unknown name `" + expr.name + "`");
  std::vector<std::string> names = visibleNames(*environment);
  llvm::StringRef nearest = nearestName(expr.name, names);
  if (!nearest.empty())
    diagnostic.suggest("did you mean `" + nearest.str() + "`?");
  return Term::error();
}

Term Elaborator::evaluateField(const ast::FieldExpr &expr,
                               const EnvironmentPtr &environment) {
  Term base = evaluate(*expr.base, environment);
  return selectField(base, expr.field, expr.fieldSpan);
}

Term Elaborator::selectField(const Term &base, llvm::StringRef field,
                             SourceSpan span) {
  if (base.isError())
    return base;
  if (base.kind == Term::Kind::Module) {
    if (const Term *value = base.module->environment->find(field))
      return *value;
    timerl::Diagnostic &diagnostic = error(
        "E0202", span,
        "module `" + base.module->name + "` has no `" + field.str() + "`");
    std::vector<std::string> names = visibleNames(*base.module->environment);
    llvm::StringRef nearest = nearestName(field, names);
    if (!nearest.empty())
      diagnostic.suggest("did you mean `" + nearest.str() + "`?");
    return Term::error();
  }
  if (base.kind == Term::Kind::Record) {
    if (const Term *value = base.field(field))
      return *value;
    timerl::Diagnostic &diagnostic =
        error("E0203", span, "the record has no field `" + field.str() + "`");
    llvm::StringRef nearest = nearestName(field, base.names);
    diagnostic.suggest(nearest.empty()
                           ? "its fields are " + llvm::join(base.names, ", ")
                           : "did you mean `" + nearest.str() + "`?");
    return Term::error();
  }
  if (base.kind == Term::Kind::Tuple || base.kind == Term::Kind::List) {
    unsigned number;
    if (field.getAsInteger(10, number))
      return fail("E0203", span,
                  "a tuple's elements are numbered: there is no `" +
                      field.str() + "`");
    if (number >= base.elements.size())
      return fail("E0203", span,
                  "the tuple has " + std::to_string(base.elements.size()) +
                      " elements, numbered from 0: there is no " + field.str());
    return base.elements[number];
  }
  return fail("E0203", span, base.describe() + " has no fields");
}

std::optional<Expr> Elaborator::evaluateIndex(const ast::Expr &expr,
                                              const EnvironmentPtr &environment,
                                              llvm::StringRef what) {
  Term value = evaluate(expr, environment);
  if (value.isError())
    return std::nullopt;
  if (value.kind == Term::Kind::Int) {
    if (value.expr.isOverflow()) {
      error("E0209", expr.span, what.str() + " does not fit 64 bits");
      return std::nullopt;
    }
    return value.expr;
  }
  error("E0204", expr.span,
        what.str() + " must be an integer made of params and dims, not " +
            value.describe());
  return std::nullopt;
}

std::optional<Expr>
Elaborator::evaluateGuard(const ast::Expr &expr,
                          const EnvironmentPtr &environment) {
  llvm::SaveAndRestore<bool> guard(inGuard, true);
  Term value = evaluate(expr, environment);
  if (value.isError())
    return std::nullopt;
  if (value.kind == Term::Kind::Cond)
    return value.expr;
  timerl::Diagnostic &diagnostic = error(
      "E0208", expr.span,
      "a guard must be a condition over indices, not " + value.describe());
  if (isBoolValue(value))
    diagnostic.suggest("choose between values with `if ... then ... else ...`");
  return std::nullopt;
}

/// Statements of a block: `let`s, and local recurrences, which become hidden
/// tensors over the indices in scope and the block's own dims.
Term Elaborator::evaluateBlock(const ast::BlockExpr &expr,
                               const EnvironmentPtr &outer) {
  EnvironmentPtr environment = Environment::inner(outer);
  std::vector<EquationInfo *> equations;
  std::map<std::string, TensorInfo *> tensors;
  std::map<std::string, Iterator> dims;

  // Local tensors are known before the first statement: they may be read above
  // their equations, as at the top level.
  for (const ast::StatementPtr &statement : expr.statements) {
    const auto *equation =
        llvm::dyn_cast<ast::EquationStatement>(statement.get());
    if (!equation)
      continue;
    if (!canEmit())
      return fail("E0215", equation->span,
                  "a local recurrence cannot be evaluated at compile time");
    for (const ast::LhsTensor &target : equation->targets) {
      TensorInfo *&tensor = tensors[target.name];
      if (tensor)
        continue;
      tensor = &tensorStorage.emplace_back();
      tensor->name = target.name;
      tensor->span = target.nameSpan;
      tensor->hidden = true;
      std::string site = context->site.substr(0, context->site.find('['));
      llvm::replace(site, ' ', '.');
      tensor->symbol = site + "$" + target.name;
      // Inference makes and forgets local tensors: it leaves the count alone.
      if (unsigned count = scratchDepth ? 0 : symbolCounts[tensor->symbol]++)
        tensor->symbol += "$" + std::to_string(count);
      tensor->numOuter = context->iterators.size();
      for (const Iterator &iterator : context->iterators)
        tensor->positions.push_back(iterator.name);
      Term value;
      value.kind = Term::Kind::Tensor;
      value.tensor = tensor;
      environment->define(target.name, value);
    }
  }
  for (const ast::StatementPtr &statement : expr.statements) {
    if (const auto *let = llvm::dyn_cast<ast::LetStatement>(statement.get())) {
      // A `let` sees the names above it, and hides an outer one of its name.
      environment = Environment::inner(environment);
      Term value = evaluate(*let->value, environment);
      if (let->type && !value.isError())
        checkAnnotation(*let->type, value, environment, let->value->span,
                        "`" + let->name + "`");
      environment->define(let->name, value);
    } else if (const auto *dim =
                   llvm::dyn_cast<ast::DimStatement>(statement.get())) {
      auto extent =
          evaluateIndex(*dim->extent, environment, "the extent of a dim");
      if (dim->until || dim->isSeed)
        return fail("E0215", dim->span,
                    "a local dim can neither stop early nor be a seed");
      if (!extent)
        return Term::error();
      dims[dim->name] = {freshName(dim->name), Expr(), *extent};
      Term value;
      value.kind = Term::Kind::Dim;
      value.text = dim->name;
      value.expr = *extent;
      environment->define(dim->name, value);
    } else if (const auto *statementEquation =
                   llvm::dyn_cast<ast::EquationStatement>(statement.get())) {
      EquationInfo &equation = equationStorage.emplace_back();
      for (const ast::LhsTensor &target : statementEquation->targets)
        equation.lhs.push_back(&target);
      equation.guard = statementEquation->when.get();
      equation.isOtherwise = statementEquation->isOtherwise;
      equation.guardSpan = statementEquation->guardSpan;
      equation.rhs = statementEquation->value.get();
      equation.span = statementEquation->span;
      equation.environment = environment;
      equation.outer = context->iterators;
      equation.outerWhen = context->when;
      equation.frames = frames;
      for (const ast::LhsTensor &target : statementEquation->targets) {
        TensorInfo &tensor = *tensors[target.name];
        equation.targets.push_back(&tensor);
        tensor.equations.push_back(&equation);
        if (target.type && !tensor.annotation)
          if (auto type = resolveType(*target.type, environment)) {
            tensor.annotation = Structure();
            tensor.annotation->type = *type;
          }
      }
      equations.push_back(&equation);
    }
  }
  if (!equations.empty()) {
    ModuleScope local;
    local.environment = environment;
    std::deque<DimInfo> storage;
    for (auto &[name, iterator] : dims) {
      DimInfo &info = storage.emplace_back();
      info.name = iterator.name;
      info.extent = iterator.hi;
      local.dims[llvm::StringRef(name)] = &info;
    }
    std::string site = context->site + callPath();
    for (EquationInfo *equation : equations) {
      equation->environment = environment;
      resolveLhs(*equation, local);
      equation->site = site + "/" + equation->site;
    }
    resolveGuards(equations);
    for (auto &[name, tensor] : tensors)
      resolvePositions(*tensor);
    for (EquationInfo *equation : equations)
      if (!equation->valid)
        return Term::error();
    if (!scratchDepth) {
      for (auto &[name, tensor] : tensors)
        writeTensor(*tensor);
      for (EquationInfo *equation : equations)
        writeEquation(*equation);
    }
  }
  return evaluate(*expr.value, environment);
}
