//===- Declarations.cpp - What a module declares --------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Builtins.h"
#include "Children.h"
#include "Scopes.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/SaveAndRestore.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace timerl;
using namespace timerl::elaboration;

static EnvironmentPtr builtinEnvironment() {
  auto environment = std::make_shared<Environment>();
  for (const std::string &name : builtinNames())
    environment->define(name, Term::builtin(name));
  environment->define("pi", Term::real(std::numbers::pi));
  environment->define("inf",
                      Term::real(std::numeric_limits<double>::infinity()));
  return environment;
}

std::optional<Type> Elaborator::resolveDtype(const ast::Type &type) {
  StringRef name = type.dtype;
  if (name == "f32")
    return Type(builder.getF32Type());
  if (name == "f64")
    return Type(builder.getF64Type());
  if (name == "i32" || name == "int")
    return Type(builder.getI32Type());
  if (name == "float")
    return Type(builder.getF32Type());
  if (name == "i64")
    return Type(builder.getI64Type());
  if (name == "u8")
    return Type(IntegerType::get(&mlirContext, 8, IntegerType::Unsigned));
  if (name == "bool")
    return Type(builder.getI1Type());
  if (name == "f16" || name == "bf16") {
    error("E0505", type.span, "f16 and bf16 are not supported yet");
    return std::nullopt;
  }
  // The parser has reported any other name.
  return std::nullopt;
}

std::optional<RankedTensorType>
Elaborator::resolveType(const ast::Type &type, EnvironmentPtr environment) {
  auto dtype = resolveDtype(type);
  SmallVector<Expr> lengths;
  for (const ast::ExprPtr &length : type.shape) {
    auto value = evaluateIndex(*length, environment, "a length");
    if (!value)
      return std::nullopt;
    if (value->isConst() && value->value() < 0) {
      error("E0302", length->span, "a length cannot be " + value->str());
      return std::nullopt;
    }
    lengths.push_back(*value);
  }
  if (!dtype)
    return std::nullopt;
  return trl::getTensorType(lengths, *dtype);
}

bool Elaborator::declareName(ModuleScope &scope, StringRef name,
                             SourceSpan span, Term value) {
  for (const auto &[other, existing] : scope.environment->names)
    if (other == name) {
      timerl::Diagnostic &diagnostic =
          error("E0220", span, "`" + name.str() + "` is declared twice");
      if (auto it = scope.places.find(name.str()); it != scope.places.end())
        diagnostic.note(it->second, "first declared here");
      return false;
    }
  scope.environment->define(name.str(), std::move(value));
  scope.places[name.str()] = span;
  return true;
}

ModuleScope *Elaborator::declareModule(const ast::Module &module,
                                       std::string name) {
  if (auto it = scopes.find(&module); it != scopes.end())
    return it->second;
  ModuleScope &scope = scopeStorage.emplace_back();
  scopes[&module] = &scope;
  scope.module = &module;
  scope.name = std::move(name);
  scope.environment =
      Environment::inner(builtins ? builtins : builtins = builtinEnvironment());
  scope.environment->module = &scope;
  bool isMain = &module == &program.main();
  auto mainOnly = [&](const ast::Statement &statement, StringRef what) {
    if (!isMain)
      error("E0612", statement.span,
            what.str() + " belongs in the program itself, not in a module that "
                         "it imports");
    return isMain;
  };
  for (const ast::StatementPtr &owned : module.statements) {
    const ast::Statement &statement = *owned;
    switch (statement.kind) {
    case ast::Statement::Kind::Import:
      for (const auto &imported :
           llvm::cast<ast::ImportStatement>(statement).modules) {
        const ast::Module *target = program.resolve(module, imported.path);
        Term value; // An error when it could not be loaded: names in it stay
                    // silent.
        if (target) {
          value.kind = Term::Kind::Module;
          value.module = declareModule(*target, imported.alias);
        }
        declareName(scope, imported.alias, imported.span, value);
      }
      break;
    case ast::Statement::Kind::Function: {
      const auto &function = llvm::cast<ast::FunctionStatement>(statement);
      Term value;
      value.kind = Term::Kind::Function;
      value.function = &function;
      value.module = &scope;
      std::set<std::string> names;
      for (const ast::Parameter &parameter : function.parameters)
        if (!names.insert(parameter.name).second)
          error("E0220", parameter.span,
                "`" + function.name + "` has two parameters `" +
                    parameter.name + "`");
      declareName(scope, function.name, function.nameSpan, value);
      break;
    }
    case ast::Statement::Kind::Param:
      declareParam(scope, llvm::cast<ast::ParamStatement>(statement), isMain);
      break;
    case ast::Statement::Kind::Let: {
      const auto &let = llvm::cast<ast::LetStatement>(statement);
      Term value = evaluate(*let.value, scope.environment);
      if (let.type && !value.isError() &&
          !checkAnnotation(*let.type, value, scope.environment, let.value->span,
                           "`" + let.name + "`"))
        value = Term::error();
      declareName(scope, let.name, let.nameSpan, value);
      break;
    }
    case ast::Statement::Kind::Assert: {
      const auto &assertion = llvm::cast<ast::AssertStatement>(statement);
      Term value = evaluate(*assertion.condition, scope.environment);
      if (value.isError())
        break;
      if (!value.isConstBool())
        error("E0215", assertion.condition->span,
              "`assert` needs a condition known at compile time, not " +
                  value.describe());
      else if (!value.expr.isTrue())
        error("E0613", assertion.condition->span,
              assertion.text.empty()
                  ? std::string("this assertion does not hold")
                  : assertion.text);
      break;
    }
    case ast::Statement::Kind::Arg:
      if (mainOnly(statement, "an `arg`"))
        declareArg(scope, llvm::cast<ast::ArgStatement>(statement));
      break;
    case ast::Statement::Kind::Dim:
      if (mainOnly(statement, "a `dim`"))
        declareDim(scope, llvm::cast<ast::DimStatement>(statement));
      break;
    case ast::Statement::Kind::Input:
      if (mainOnly(statement, "an `input`"))
        declareInput(scope, llvm::cast<ast::InputStatement>(statement));
      break;
    case ast::Statement::Kind::Equation:
      mainOnly(statement, "an equation");
      break;
    case ast::Statement::Kind::Report:
      mainOnly(statement, "a `report`");
      break;
    case ast::Statement::Kind::Save:
      mainOnly(statement, "a `save`");
      break;
    }
  }
  return &scope;
}

void Elaborator::declareParam(ModuleScope &scope,
                              const ast::ParamStatement &statement,
                              bool isMain) {
  Term value;
  bool overridden = false;
  if (isMain)
    for (const auto &[name, text] : options.defines) {
      if (name != statement.name)
        continue;
      usedDefines.insert(name);
      overridden = true;
      value = parseDefine(text);
      if (value.isError())
        error("E0611", statement.nameSpan,
              "`-D " + name + "=" + text + "` is no int, float or bool");
    }
  if (!overridden) {
    if (!statement.value) {
      error("E0611", statement.nameSpan,
            "param `" + statement.name + "` has no value")
          .suggest("give it one with `-D " + statement.name + "=...`");
    } else {
      value = evaluate(*statement.value, scope.environment);
    }
  }
  if (!value.isError() && statement.type) {
    StringRef type = statement.type->dtype;
    bool fits = type == "int" ? value.isConstInt()
                : type == "float"
                    ? value.isConstInt() || value.kind == Term::Kind::Float
                : type == "bool" ? value.isConstBool()
                                 : false;
    if (type != "int" && type != "float" && type != "bool") {
      error("E0219", statement.type->span,
            "a param is int, float or bool, not `" + type.str() + "`");
      value = Term::error();
    } else if (!fits) {
      error("E0611",
            statement.value && !overridden ? statement.value->span
                                           : statement.nameSpan,
            "param `" + statement.name + "` is " + type.str() +
                ", and this is " + value.describe());
      value = Term::error();
    } else if (type == "float" && value.isConstInt()) {
      value = Term::real(static_cast<double>(value.expr.value()));
    }
  } else if (!value.isError() && !value.isConst()) {
    error("E0611", statement.nameSpan,
          "param `" + statement.name + "` must be an int, float or bool");
    value = Term::error();
  }
  declareName(scope, statement.name, statement.nameSpan, value);
}

/// An int, float or bool as written on the command line.
Term Elaborator::parseDefine(StringRef text) {
  if (text == "true" || text == "false")
    return Term::condition(Expr::boolean(text == "true"));
  std::string plain;
  for (char c : text)
    if (c != '_')
      plain += c;
  int64_t integer;
  if (!StringRef(plain).getAsInteger(10, integer))
    return Term::integer(integer);
  double number;
  if (!plain.empty() && !StringRef(plain).getAsDouble(number))
    return Term::real(number);
  return Term::error();
}

void Elaborator::declareArg(ModuleScope &scope,
                            const ast::ArgStatement &statement) {
  Term value = statement.value ? evaluate(*statement.value, scope.environment)
                               : Term::error();
  if (!statement.value)
    error("E0611", statement.nameSpan,
          "arg `" + statement.name + "` needs a default value");
  std::optional<Type> type;
  if (statement.type) {
    if (!statement.type->shape.empty())
      error("E0302", statement.type->span,
            "an `arg` is a scalar; read tensors with `input`");
    type = resolveDtype(*statement.type);
  } else if (!value.isError()) {
    type = value.kind == Term::Kind::Float  ? Type(builder.getF32Type())
           : value.kind == Term::Kind::Cond ? Type(builder.getI1Type())
                                            : Type(builder.getI32Type());
  }
  if (value.isError() || !type) {
    declareName(scope, statement.name, statement.nameSpan, Term::error());
    return;
  }
  bool isFloat = isa<FloatType>(*type), isBool = type->isInteger(1);
  bool fits = isFloat  ? value.isConstInt() || value.kind == Term::Kind::Float
              : isBool ? value.isConstBool()
                       : value.isConstInt();
  if (!fits) {
    error("E0611", statement.value->span,
          "the default of `" + statement.name + "` must be a constant " +
              typeText(RankedTensorType::get({}, *type)) + ", not " +
              value.describe());
    declareName(scope, statement.name, statement.nameSpan, Term::error());
    return;
  }
  TypedAttr attr;
  if (isFloat)
    attr = builder.getFloatAttr(*type, value.kind == Term::Kind::Float
                                           ? value.number
                                           : double(value.expr.value()));
  else if (isBool)
    attr = builder.getBoolAttr(value.expr.isTrue());
  else
    attr = IntegerAttr::get(*type, APInt(type->getIntOrFloatBitWidth(),
                                         value.expr.value(), true, true));
  builder.setInsertionPointToEnd(output->getBody());
  declarationsEnd = trl::ArgOp::create(builder, location(statement.span),
                                       statement.name, attr);
  // An integer arg is an index expression; others are data, and so are bytes,
  // whose arithmetic wraps.
  Term result;
  if (!isFloat && !isBool && !type->isUnsignedInteger(8)) {
    result = Term::integer(Expr::var(statement.name));
    if (type->isInteger(64))
      wideArgs.insert(statement.name);
  } else {
    auto scalar = RankedTensorType::get({}, *type);
    result.kind = Term::Kind::Arg;
    result.symbol = statement.name;
    result.type = scalar;
  }
  declareName(scope, statement.name, statement.nameSpan, result);
}

void Elaborator::declareDim(ModuleScope &scope,
                            const ast::DimStatement &statement) {
  DimInfo &dim = dimStorage.emplace_back();
  dim.name = statement.name;
  dim.span = statement.nameSpan;
  dim.isSeed = statement.isSeed;
  auto extent = evaluateIndex(*statement.extent, scope.environment,
                              "the extent of a dim");
  if (extent && extent->isConst() && extent->value() < 1) {
    error("E0406", statement.extent->span,
          "dim `" + statement.name + "` is empty: its extent is " +
              extent->str());
    extent = std::nullopt;
  }
  dim.extent = extent ? *extent : Expr::constant(1);
  dim.until = statement.until.get();
  Term value;
  value.kind = Term::Kind::Dim;
  value.text = statement.name;
  value.expr = dim.hi();
  if (!declareName(scope, statement.name, statement.nameSpan, value))
    return;
  scope.dims[statement.name] = &dim;
  allDims.push_back(&dim);
}

void Elaborator::declareInput(ModuleScope &scope,
                              const ast::InputStatement &statement) {
  TensorInfo &tensor = tensorStorage.emplace_back();
  tensor.name = tensor.symbol = statement.name;
  tensor.span = statement.nameSpan;
  tensor.isInput = true;
  Term value;
  auto type = resolveType(statement.type, scope.environment);
  bool ok = type.has_value();
  if (type && !type->hasStaticShape()) {
    error("E0302", statement.type.span,
          "the shape of an input must be known at compile time");
    ok = false;
  }
  for (auto [k, name] : llvm::enumerate(statement.over)) {
    auto dim = scope.dims.find(name);
    if (dim == scope.dims.end()) {
      error("E0201", statement.overSpans[k], "unknown dim `" + name + "`");
      ok = false;
      continue;
    }
    tensor.positions.push_back(name);
    tensor.extents.push_back({name, Expr(), dim->second->extent});
  }
  if (ok) {
    tensor.state = TensorInfo::State::Known;
    tensor.structure.type = *type;
    SmallVector<StringRef> over(statement.over.begin(), statement.over.end());
    builder.setInsertionPointToEnd(output->getBody());
    declarationsEnd =
        trl::InputOp::create(builder, location(statement.span), statement.name,
                             *type, builder.getStrArrayAttr(over));
    value.kind = Term::Kind::Tensor;
    value.tensor = &tensor;
  }
  declareName(scope, statement.name, statement.nameSpan, value);
}

void Elaborator::declareTensors(ModuleScope &scope) {
  for (const ast::StatementPtr &owned : scope.module->statements) {
    const auto *statement = llvm::dyn_cast<ast::EquationStatement>(owned.get());
    if (!statement)
      continue;
    EquationInfo &equation = equationStorage.emplace_back();
    for (const ast::LhsTensor &target : statement->targets)
      equation.lhs.push_back(&target);
    equation.guard = statement->when.get();
    equation.isOtherwise = statement->isOtherwise;
    equation.guardSpan = statement->guardSpan;
    equation.rhs = statement->value.get();
    equation.span = statement->span;
    equation.environment = scope.environment;
    for (const ast::LhsTensor &target : statement->targets) {
      TensorInfo *&tensor = scope.tensors[target.name];
      if (!tensor) {
        tensor = &tensorStorage.emplace_back();
        tensor->name = tensor->symbol = target.name;
        tensor->span = target.nameSpan;
        Term value;
        value.kind = Term::Kind::Tensor;
        value.tensor = tensor;
        if (!declareName(scope, target.name, target.nameSpan, value))
          equation.valid = false;
      }
      if (llvm::is_contained(equation.targets, tensor)) {
        error("E0220", target.nameSpan,
              "`" + target.name + "` is defined twice by one equation");
        equation.valid = false;
        continue;
      }
      if (target.type && !tensor->annotation)
        if (auto type = resolveType(*target.type, scope.environment)) {
          tensor->annotation = Structure();
          tensor->annotation->type = *type;
        }
      equation.targets.push_back(tensor);
      tensor->equations.push_back(&equation);
    }
    programEquations.push_back(&equation);
  }
  for (DimInfo *dim : allDims)
    if (dim->until)
      declareUntil(*dim);
  for (EquationInfo *equation : programEquations)
    if (equation->valid)
      resolveLhs(*equation, scope);
  resolveGuards(programEquations);
  for (auto &[name, tensor] : scope.tensors)
    resolvePositions(*tensor);
  for (DimInfo *dim : allDims)
    if (dim->until)
      resolveUntil(scope, *dim);
}

void Elaborator::declareUntil(DimInfo &dim) {
  TensorInfo &tensor = tensorStorage.emplace_back();
  tensor.name = "until of " + dim.name;
  tensor.symbol = dim.name + "$until";
  tensor.span = dim.span;
  tensor.hidden = true;
  dim.stop = &tensor;
}

void Elaborator::resolveUntil(ModuleScope &scope, DimInfo &dim) {
  // The condition's own indices besides the dim itself are the outer dims: the
  // dims it names, and those of tensors it names without a bracket.
  std::set<std::string> dims;
  std::function<void(const ast::Expr *, std::set<std::string>)> visit =
      [&](const ast::Expr *expr, std::set<std::string> bound) {
        if (!expr)
          return;
        if (const auto *name = llvm::dyn_cast<ast::NameExpr>(expr)) {
          if (bound.count(name->name))
            return;
          if (scope.dims.count(name->name))
            dims.insert(name->name);
          if (auto tensor = scope.tensors.find(name->name);
              tensor != scope.tensors.end())
            for (const std::string &position : tensor->second->positions)
              if (!bound.count(position) && scope.dims.count(position))
                dims.insert(position);
          return;
        }
        if (const auto *index = llvm::dyn_cast<ast::IndexExpr>(expr)) {
          // The base of a bracket has explicit indices.
          const auto *base = llvm::dyn_cast<ast::NameExpr>(index->base.get());
          if (!base || !scope.tensors.count(base->name))
            visit(index->base.get(), bound);
          for (const ast::IndexItem &item : index->items) {
            visit(item.lo.get(), bound);
            visit(item.hi.get(), bound);
          }
          return;
        }
        forEachChild(expr, [&](const ast::Expr *child,
                               const std::vector<std::string> &binders) {
          std::set<std::string> inner = bound;
          inner.insert(binders.begin(), binders.end());
          visit(child, inner);
        });
      };
  visit(dim.until, {});
  dims.erase(dim.name);
  TensorInfo &tensor = *dim.stop;
  EquationInfo &equation = equationStorage.emplace_back();
  equation.rhs = dim.until;
  equation.span = dim.until->span;
  equation.environment = scope.environment;
  equation.targets = {&tensor};
  equation.indices.emplace_back();
  equation.site = tensor.symbol;
  auto bring = [&](const std::string &name) {
    DimInfo *info = scope.dims[name];
    equation.dimNames[name] = name;
    equation.domain.push_back({name, Expr(), info->hi()});
    equation.indices[0].push_back(Expr::var(name));
    tensor.positions.push_back(name);
    tensor.extents.push_back({name, Expr(), info->extent});
  };
  // In the order of the declarations.
  for (auto &[name, info] : scope.dims)
    if (dims.count(name.str()))
      bring(name.str());
  bring(dim.name);
  tensor.equations = {&equation};
  tensor.annotation = Structure();
  tensor.annotation->type = RankedTensorType::get({}, builder.getI1Type());
  programEquations.push_back(&equation);
  untilTensors.push_back(&tensor);
}
