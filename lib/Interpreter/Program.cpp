//===- Program.cpp - A trl module laid out for evaluation -----------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Kernels.h"
#include "timerl/Runtime/Random.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace timerl;
using namespace timerl::interp;
using llvm::StringRef;

void interp::fail(StringRef code, mlir::Location loc,
                  const llvm::Twine &message) {
  throw Failure{{code.str(), message.str(), loc}};
}

std::string interp::pointText(StringRef name, llvm::ArrayRef<int64_t> point) {
  std::string text = name.str();
  for (size_t k = 0; k < point.size(); ++k)
    text += (k ? ", " : "[") + std::to_string(point[k]);
  return point.empty() ? text : text + "]";
}

std::optional<unsigned> Program::findTensor(StringRef name) const {
  for (unsigned k = 0; k < tensors.size(); ++k)
    if (tensors[k].name == name)
      return k;
  return std::nullopt;
}

namespace {
class Builder {
public:
  Builder(Program &program, const InterpreterOptions &options)
      : program(program), options(options), loc(program.loc) {}
  void build(mlir::ModuleOp module);

private:
  Program &program;
  const InterpreterOptions &options;
  std::vector<std::pair<std::string, Array>> args;
  llvm::StringMap<unsigned> tensorIds, inputIds, dimIds;
  // Of the body being read.
  Body *body = nullptr;
  std::vector<std::pair<std::string, int>> scope;
  llvm::DenseMap<mlir::Value, int> slots;
  mlir::Location loc;

  void addArg(trl::ArgOp op);
  void addInput(trl::InputOp op);
  void beginBody(Body &body, mlir::Operation *op, mlir::ArrayAttr domain,
                 trl::ExprAttr when);
  std::vector<Iterator> addIterators(mlir::ArrayAttr iterators);
  IndexExpr compile(const Expr &expr);
  IndexExpr compile(trl::ExprAttr attr) { return compile(attr.getExpr()); }
  std::vector<IndexExpr> compileAll(mlir::ArrayAttr attrs);
  std::vector<Access> compileAccesses(mlir::ArrayAttr indices,
                                      mlir::OperandRange dynamic);
  ValueType compileType(mlir::Type type);
  DType dtypeOf(mlir::Type element);
  DType declaredDType(mlir::Type element);
  Region compileRegion(mlir::Region &region);
  Instruction compileOp(mlir::Operation &op);
  int64_t constantOf(const Expr &expr);
  unsigned tensorOf(StringRef name);
};
} // namespace

//===----------------------------------------------------------------------===//
// Types and expressions
//===----------------------------------------------------------------------===//

DType Builder::declaredDType(mlir::Type element) {
  if (element.isF32())
    return DType::F32;
  if (element.isF64())
    return DType::F64;
  if (element.isInteger(1))
    return DType::Bool;
  if (element.isSignlessInteger(32))
    return DType::I32;
  if (element.isSignlessInteger(64))
    return DType::I64;
  return DType::U8;
}

DType Builder::dtypeOf(mlir::Type element) {
  DType dtype = declaredDType(element);
  return options.doublePrecision && dtype == DType::F32 ? DType::F64 : dtype;
}

ValueType Builder::compileType(mlir::Type type) {
  auto tensor = mlir::cast<mlir::RankedTensorType>(type);
  ValueType result;
  result.dtype = dtypeOf(tensor.getElementType());
  result.isStatic = tensor.hasStaticShape();
  if (result.isStatic)
    llvm::append_range(result.shape, tensor.getShape());
  else
    for (const Expr &length : trl::getLengths(type))
      result.lengths.push_back(compile(length));
  return result;
}

IndexExpr Builder::compile(const Expr &expr) {
  IndexExpr result;
  result.kind = expr.kind();
  switch (expr.kind()) {
  case Expr::Kind::Const:
  case Expr::Kind::Bool:
  case Expr::Kind::Sum:
  case Expr::Kind::FloorDiv:
  case Expr::Kind::Mod:
    result.value = expr.value();
    break;
  case Expr::Kind::Var: {
    StringRef name = expr.name();
    for (auto &[known, slot] : llvm::reverse(scope))
      if (known == name) {
        result.slot = slot;
        return result;
      }
    for (auto &[arg, value] : args)
      if (arg == name && !isFloat(value.dtype())) {
        result.kind = Expr::Kind::Const;
        result.value = value.getInt(0);
        return result;
      }
    StringRef dimName = name;
    if (dimName.consume_front("end(") && dimName.consume_back(")")) {
      auto dim = dimIds.find(dimName);
      if (dim == dimIds.end())
        fail("E0901", loc, "`" + name + "` is about an unknown dim");
      const DimInfo &info = program.dims[dim->second];
      if (info.until < 0) { // Never stops early.
        result.kind = Expr::Kind::Const;
        result.value = info.extent;
        return result;
      }
      result.dim = dim->second;
      const TensorInfo &until = program.tensors[info.until];
      for (StringRef outer : llvm::ArrayRef(until.positions).drop_back()) {
        IndexExpr position = compile(Expr::var(outer));
        if (position.kind != Expr::Kind::Var)
          fail("E0901", loc, "`" + name + "` needs dim `" + outer + "` here");
        result.outer.push_back(position.slot);
      }
      return result;
    }
    fail("E0901", loc, "`" + name + "` is no dim, binder or integer arg here");
  }
  case Expr::Kind::Overflow:
    fail("E0902", loc, "an index expression does not fit 64 bits");
  default:
    break;
  }
  for (const Expr &operand : expr.operands())
    result.operands.push_back(compile(operand));
  result.coefficients.assign(expr.coefficients().begin(),
                             expr.coefficients().end());
  return result;
}

std::vector<IndexExpr> Builder::compileAll(mlir::ArrayAttr attrs) {
  std::vector<IndexExpr> result;
  for (const Expr &expr : trl::getExprs(attrs))
    result.push_back(compile(expr));
  return result;
}

std::vector<Access> Builder::compileAccesses(mlir::ArrayAttr indices,
                                             mlir::OperandRange dynamic) {
  std::vector<Access> result;
  unsigned next = 0;
  for (mlir::Attribute index : indices) {
    Access access;
    if (auto at = mlir::dyn_cast<trl::AtAttr>(index)) {
      access.kind = Access::At;
      access.lo = compile(at.getIndex());
    } else if (auto range = mlir::dyn_cast<trl::RangeAttr>(index)) {
      access.kind = Access::Range;
      access.lo = compile(range.getLo());
      access.hi = compile(range.getHi());
    } else {
      auto attr = mlir::cast<trl::DynamicAttr>(index);
      access.kind = Access::Dynamic;
      access.lo = compile(attr.getLo());
      access.hi = compile(attr.getHi());
      access.bounded =
          attr.getLo().getText() != "0" || attr.getHi().getText() != "0";
      access.operand = slots.lookup(dynamic[next++]);
    }
    result.push_back(std::move(access));
  }
  return result;
}

int64_t Builder::constantOf(const Expr &expr) {
  auto value = expr.evaluate([&](StringRef name) -> std::optional<int64_t> {
    for (auto &[arg, array] : args)
      if (arg == name && !isFloat(array.dtype()))
        return array.getInt(0);
    return std::nullopt;
  });
  if (!value)
    fail("E0901", loc, "`" + expr.str() + "` is no constant of this run");
  return *value;
}

unsigned Builder::tensorOf(StringRef name) {
  auto found = tensorIds.find(name);
  if (found == tensorIds.end())
    fail("E0901", loc, "unknown tensor `" + name + "`");
  return found->second;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

void Builder::addArg(trl::ArgOp op) {
  StringRef name = op.getSymName();
  DType dtype = dtypeOf(op.getDefaultValue().getType());
  auto given = options.args.find(name.str());
  if (given == options.args.end()) {
    if (auto real = mlir::dyn_cast<mlir::FloatAttr>(op.getDefaultValue()))
      args.emplace_back(name, Array::scalar(dtype, real.getValueAsDouble()));
    else
      args.emplace_back(
          name, Array::scalar(
                    dtype, mlir::cast<mlir::IntegerAttr>(op.getDefaultValue())
                               .getValue()
                               .getSExtValue()));
    if (dtype == DType::Bool) // An i1 sign-extends to -1.
      args.back().second = Array::scalar(dtype, args.back().second.getBool());
    return;
  }
  StringRef text = given->second;
  auto bad = [&] {
    fail("E0903", op.getLoc(),
         "`" + text + "` is no " + nameOf(dtype) + ", which arg `" + name +
             "` is");
  };
  if (isFloat(dtype)) {
    double value;
    if (text.getAsDouble(value))
      bad();
    args.emplace_back(name, Array::scalar(dtype, value));
  } else if (dtype == DType::Bool) {
    if (text != "true" && text != "false")
      bad();
    args.emplace_back(name, Array::scalar(dtype, text == "true"));
  } else {
    int64_t value;
    if (text.getAsInteger(10, value))
      bad();
    Array array = Array::scalar(dtype, value);
    if (array.getInt(0) != value)
      bad();
    args.emplace_back(name, array);
  }
}

void Builder::addInput(trl::InputOp op) {
  auto type = mlir::cast<mlir::RankedTensorType>(op.getType());
  if (!type.hasStaticShape())
    fail("E0904", op.getLoc(), "an input needs a static shape");
  InputInfo input{op.getSymName().str(),
                  op.getLoc(),
                  declaredDType(type.getElementType()),
                  llvm::SmallVector<int64_t>(type.getShape()),
                  {},
                  {},
                  {}};
  llvm::SmallVector<int64_t> full;
  for (StringRef over : op.getOver().getAsValueRange<mlir::StringAttr>()) {
    auto dim = dimIds.find(over);
    if (dim == dimIds.end())
      fail("E0901", op.getLoc(), "unknown dim `" + over + "`");
    input.over.push_back(over.str());
    input.extents.push_back(program.dims[dim->second].extent);
    full.push_back(input.extents.back());
  }
  llvm::append_range(full, input.shape);
  auto given = options.inputs.find(input.name);
  if (given == options.inputs.end())
    fail("E0905", op.getLoc(),
         "input `" + input.name + "` needs a file of type " +
             typeText(input.dtype, full) + ": --input " + input.name + "=FILE");
  const Array &value = given->second;
  if (value.dtype() != input.dtype || value.shape() != llvm::ArrayRef(full))
    fail("E0905", op.getLoc(),
         "input `" + input.name + "` needs " + typeText(input.dtype, full) +
             ", but its file holds " + typeText(value.dtype(), value.shape()));
  DType dtype = dtypeOf(type.getElementType());
  input.value = castArray(value, dtype);
  input.dtype = dtype;
  inputIds[input.name] = program.inputs.size();
  program.inputs.push_back(std::move(input));
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

std::vector<Iterator> Builder::addIterators(mlir::ArrayAttr iterators) {
  std::vector<Iterator> result;
  for (auto attr : iterators.getAsRange<trl::IterAttr>()) {
    Iterator iterator;
    iterator.name = attr.getName().str();
    iterator.lo = compile(attr.getLo());
    iterator.hi = compile(attr.getHi());
    iterator.slot = body->environmentSize++;
    scope.emplace_back(iterator.name, iterator.slot);
    result.push_back(std::move(iterator));
  }
  return result;
}

void Builder::beginBody(Body &next, mlir::Operation *op, mlir::ArrayAttr domain,
                        trl::ExprAttr when) {
  body = &next;
  body->op = op;
  scope.clear();
  slots.clear();
  loc = op->getLoc();
  body->domain = addIterators(domain);
  body->when = compile(when);
}

Region Builder::compileRegion(mlir::Region &source) {
  Region region;
  for (mlir::Operation &op : source.front().without_terminator())
    region.instructions.push_back(compileOp(op));
  for (mlir::Value value : source.front().getTerminator()->getOperands())
    region.yields.push_back(slots.lookup(value));
  return region;
}

Instruction Builder::compileOp(mlir::Operation &op) {
  loc = op.getLoc();
  Instruction inst;
  inst.op = &op;
  for (mlir::Value operand : op.getOperands())
    inst.operands.push_back(slots.lookup(operand));
  inst.result = body->numSlots;
  for (mlir::Value result : op.getResults()) {
    slots[result] = body->numSlots++;
    inst.types.push_back(compileType(result.getType()));
  }
  auto code = [&](Opcode opcode) { inst.code = opcode; };
  llvm::TypeSwitch<mlir::Operation *>(&op)
      .Case([&](trl::ConstantOp constant) {
        code(Opcode::Constant);
        inst.constant = fromElements(constant.getValue(), inst.types[0].dtype);
      })
      .Case([&](trl::ArgValueOp value) {
        code(Opcode::Constant);
        for (auto &[name, array] : args)
          if (name == value.getArg())
            inst.constant = array;
        if (!inst.constant)
          fail("E0901", loc, "unknown arg `" + value.getArg() + "`");
      })
      .Case([&](trl::FillOp) { code(Opcode::Fill); })
      .Case([&](trl::IndexOp index) {
        code(Opcode::Index);
        inst.expr = compile(index.getExprAttr());
      })
      .Case([&](trl::IotaOp iota) {
        code(Opcode::Iota);
        inst.axes = {static_cast<int64_t>(iota.getAxis())};
      })
      .Case([&](trl::RandomOp random) {
        code(Opcode::Random);
        inst.draw = random.getDraw();
        inst.drawType =
            declaredDType(mlir::cast<mlir::RankedTensorType>(random.getType())
                              .getElementType());
        inst.site = timerl_random_hash(random.getSite().data(),
                                       random.getSite().size());
        inst.point = compileAll(random.getPoint());
        inst.expr = compile(random.getSeedOffsetAttr());
      })
      .Case([&](trl::ReadOp read) {
        code(Opcode::Read);
        inst.accesses = compileAccesses(read.getIndices(), read.getDynamic());
        auto input = inputIds.find(read.getSource());
        inst.isInput = input != inputIds.end();
        inst.source = inst.isInput ? input->second : tensorOf(read.getSource());
      })
      .Case([&](trl::GradOp grad) {
        code(Opcode::Grad);
        inst.source = tensorOf(grad.getOf());
        inst.point = compileAll(grad.getOfIndices());
        inst.leaf = compileAll(grad.getWrtIndices());
        for (auto leaf :
             grad.getWrt().getAsValueRange<mlir::FlatSymbolRefAttr>())
          inst.leaves.push_back(tensorOf(leaf));
      })
      .Case([&](trl::NegOp) { code(Opcode::Neg); })
      .Case([&](trl::AbsOp) { code(Opcode::Abs); })
      .Case([&](trl::ExpOp) { code(Opcode::Exp); })
      .Case([&](trl::LogOp) { code(Opcode::Log); })
      .Case([&](trl::SqrtOp) { code(Opcode::Sqrt); })
      .Case([&](trl::SinOp) { code(Opcode::Sin); })
      .Case([&](trl::CosOp) { code(Opcode::Cos); })
      .Case([&](trl::TanhOp) { code(Opcode::Tanh); })
      .Case([&](trl::FloorOp) { code(Opcode::Floor); })
      .Case([&](trl::CeilOp) { code(Opcode::Ceil); })
      .Case([&](trl::NotOp) { code(Opcode::Not); })
      .Case([&](trl::AddOp) { code(Opcode::Add); })
      .Case([&](trl::SubOp) { code(Opcode::Sub); })
      .Case([&](trl::MulOp) { code(Opcode::Mul); })
      .Case([&](trl::DivOp) { code(Opcode::Div); })
      .Case([&](trl::FloorDivOp) { code(Opcode::FloorDiv); })
      .Case([&](trl::ModOp) { code(Opcode::Mod); })
      .Case([&](trl::PowOp) { code(Opcode::Pow); })
      .Case([&](trl::MinOp) { code(Opcode::Min); })
      .Case([&](trl::MaxOp) { code(Opcode::Max); })
      .Case([&](trl::AndOp) { code(Opcode::And); })
      .Case([&](trl::OrOp) { code(Opcode::Or); })
      .Case([&](trl::CotangentMulOp) { code(Opcode::CotangentMul); })
      .Case([&](trl::ClipOp) { code(Opcode::Clip); })
      .Case([&](trl::CompareOp compare) {
        code(Opcode::Compare);
        inst.predicate = compare.getPredicate();
      })
      .Case([&](trl::SelectOp) { code(Opcode::Select); })
      .Case([&](trl::CastOp) { code(Opcode::Cast); })
      .Case([&](trl::StopGradientOp) { code(Opcode::StopGradient); })
      .Case([&](trl::BroadcastOp) { code(Opcode::Broadcast); })
      .Case([&](trl::ReshapeOp) { code(Opcode::Reshape); })
      .Case([&](trl::TransposeOp transpose) {
        code(Opcode::Transpose);
        llvm::append_range(inst.axes, transpose.getPermutation());
      })
      .Case([&](trl::StackOp) { code(Opcode::Stack); })
      .Case([&](trl::ConcatOp concat) {
        code(Opcode::Concat);
        inst.axes = {static_cast<int64_t>(concat.getAxis())};
      })
      .Case([&](trl::ExtractOp extract) {
        code(Opcode::Extract);
        inst.accesses =
            compileAccesses(extract.getIndices(), extract.getDynamic());
      })
      .Case([&](trl::TakeOp) { code(Opcode::Take); })
      .Case([&](trl::ScatterOp scatter) {
        code(Opcode::Scatter);
        inst.flag = scatter.getAdd();
      })
      .Case([&](trl::MatmulOp) { code(Opcode::Matmul); })
      .Case([&](trl::ReduceOp reduce) {
        code(Opcode::Reduce);
        inst.reduction = reduce.getReduction();
        llvm::append_range(inst.axes, reduce.getAxes());
      })
      .Case([&](trl::CumsumOp cumsum) {
        code(Opcode::Cumsum);
        inst.axes = {static_cast<int64_t>(cumsum.getAxis())};
        inst.flag = cumsum.getReverse();
      })
      .Case([&](trl::ArgsortOp) { code(Opcode::Argsort); })
      .Case([&](trl::ReduceOverOp reduce) {
        code(Opcode::ReduceOver);
        inst.reduction = reduce.getReduction();
        inst.flag = reduce.getFiltered();
        size_t outer = scope.size();
        inst.binders = addIterators(reduce.getBinders());
        inst.expr = compile(reduce.getWhenAttr());
        inst.regions.push_back(compileRegion(reduce.getBody()));
        scope.resize(outer);
      })
      .Case([&](trl::IfOp branch) {
        code(Opcode::If);
        inst.regions.push_back(compileRegion(branch.getThen()));
        inst.regions.push_back(compileRegion(branch.getOtherwise()));
      })
      .Case([&](trl::CaseOp branch) {
        code(Opcode::Case);
        inst.expr = compile(branch.getConditionAttr());
        inst.regions.push_back(compileRegion(branch.getThen()));
        inst.regions.push_back(compileRegion(branch.getOtherwise()));
      })
      .Default([&](mlir::Operation *other) {
        fail("E0906", loc,
             "the interpreter does not evaluate `" +
                 other->getName().getStringRef() + "`");
      });
  return inst;
}

void Builder::build(mlir::ModuleOp module) {
  for (auto op : module.getOps<trl::ArgOp>())
    addArg(op);
  for (auto &[name, text] : options.args)
    if (llvm::none_of(args, [&](auto &arg) { return arg.first == name; }))
      fail("E0903", module.getLoc(), "the program has no arg `" + name + "`");
  for (auto op : module.getOps<trl::TensorOp>()) {
    auto type = mlir::cast<mlir::RankedTensorType>(op.getType());
    TensorInfo info{op.getSymName().str(), op.getLoc(), {},
                    op.getRank(),          {},          {}};
    info.type.dtype = dtypeOf(type.getElementType());
    info.type.isStatic = type.hasStaticShape();
    if (info.type.isStatic)
      llvm::append_range(info.type.shape, type.getShape());
    for (StringRef position :
         op.getPositions().getAsValueRange<mlir::StringAttr>())
      info.positions.push_back(position.str());
    tensorIds[info.name] = program.tensors.size();
    program.tensors.push_back(std::move(info));
  }
  for (auto op : module.getOps<trl::DimOp>()) {
    loc = op.getLoc();
    DimInfo info{op.getSymName().str(), constantOf(op.getExtent().getExpr())};
    if (info.extent < 1)
      fail("E0406", loc,
           "dim `" + info.name + "` is empty: its extent is " +
               std::to_string(info.extent));
    if (auto until = op.getUntil()) {
      info.until = tensorOf(*until);
      if (program.tensors[info.until].rank == 0)
        fail("E0901", loc, "the stop of dim `" + info.name + "` needs the dim");
    }
    dimIds[info.name] = program.dims.size();
    program.dims.push_back(std::move(info));
  }
  for (auto op : module.getOps<trl::InputOp>())
    addInput(op);
  for (auto &[name, array] : options.inputs)
    if (!inputIds.contains(name))
      fail("E0905", module.getLoc(), "the program has no input `" + name + "`");
  for (auto op : module.getOps<trl::EquationOp>()) {
    Equation equation;
    beginBody(equation, op, op.getDomain(), op.getWhenAttr());
    for (unsigned k = 0; k < op.getNumTargets(); ++k) {
      unsigned tensor = tensorOf(op.getTarget(k));
      Target target{tensor, {}};
      for (const Expr &index : op.getTargetIndices(k))
        target.indices.push_back(compile(index));
      program.tensors[tensor].definitions.emplace_back(program.equations.size(),
                                                       k);
      equation.targets.push_back(std::move(target));
    }
    equation.region = compileRegion(op.getBody());
    markActivity(equation);
    program.equations.push_back(std::move(equation));
  }
  for (auto op : module.getOps<trl::OutputOp>()) {
    Output output;
    output.kind = op.getKind();
    output.name = op.getName().str();
    beginBody(output, op, op.getDomain(), op.getWhenAttr());
    output.region = compileRegion(op.getBody());
    program.outputs.push_back(std::move(output));
  }
}

Program::Program(mlir::ModuleOp module, const InterpreterOptions &options)
    : loc(module.getLoc()), doublePrecision(options.doublePrecision) {
  Builder(*this, options).build(module);
}
