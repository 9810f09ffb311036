//===- Sanitize.cpp - Executables that test what their slots hold ---------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With `--sanitize=points` the runtime keeps, beside each element of the arena,
// which point of which tensor was written there last. A write tells it, a read
// says what it wants; the program ends at the first read that finds something
// else. Loops without an order run in one that the command line chooses.
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::codegen;

void Generator::declareSanitizer() {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  auto declare = [&](StringRef name, ArrayRef<Type> types, TypeRange results) {
    func::FuncOp::create(b, loc, name, b.getFunctionType(types, results))
        .setPrivate();
  };
  // Tensor, coordinates, first element; elements, bytes between them, width.
  declare("timerl_rt_wrote", {pointer, i64, pointer, pointer, i64, i64, i64},
          {});
  declare("timerl_rt_expect",
          {pointer, pointer, i64, pointer, pointer, i64, i64, i64}, {});
  declare("timerl_rt_descends", {}, i64);
}

std::string Generator::describePlace(Operation *op) {
  std::string name;
  if (auto statement = dyn_cast<sched::StmtOp>(op))
    name = "`" + statement.getName().str() + "`";
  else if (auto output = dyn_cast<sched::OutputOp>(op))
    name = "`" + output.getName().str() + "`";
  else if (auto loop = dyn_cast<sched::ForOp>(op))
    name = "the end of loop `" + loop.getName().str() + "`";
  else if (auto end = dyn_cast<sched::EndOp>(op))
    name = "`end(" + end.getDim().str() + ")`";
  if (auto file = op->getLoc()->findInstanceOf<FileLineColLoc>())
    name = (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
            Twine(file.getColumn()) + ": " + name)
               .str();
  return name;
}

void Generator::trace(Access access, StringRef tensor, ArrayAttr indices,
                      ArrayRef<Value> at, ArrayRef<Value> dynamic,
                      const Place &place, int64_t elements, Type type) {
  if (!sanitize || !buffers.count(tensor.str()))
    return;
  unsigned axis = 0, next = 0;
  SmallVector<Value> coordinates;
  for (Attribute index : indices) {
    Value &coordinate = coordinates.emplace_back();
    if (auto point = dyn_cast<trl::AtAttr>(index))
      coordinate = emitExpr(point.getIndex().getExpr());
    else if (auto range = dyn_cast<trl::RangeAttr>(index))
      coordinate = add(emitExpr(range.getLo().getExpr()), at[axis++]);
    else
      coordinate = dynamic[next++];
  }
  for (auto [p, coordinate] : llvm::enumerate(coordinates))
    store(coordinate, points, constant(p));
  int64_t width = storedBytes(type);
  SmallVector<Value> operands;
  if (access == Access::Read)
    operands.push_back(text(describePlace(current)));
  operands.append({text(tensor), constant(indices.size()), points,
                   offsetPointer(place.base, place.offset, type),
                   constant(elements), constant(place.stride * width),
                   constant(width)});
  func::CallOp::create(
      b, loc, access == Access::Read ? "timerl_rt_expect" : "timerl_rt_wrote",
      TypeRange(), operands);
}

/// The iteration that comes k-th in the order chosen at run time.
Value Generator::inChosenOrder(Value variable, Value lo, Value hi) {
  Value descends = func::CallOp::create(b, loc, "timerl_rt_descends",
                                        b.getI64Type(), ValueRange())
                       .getResult(0);
  Value other = subtract(add(lo, subtract(hi, constant(1))), variable);
  return arith::SelectOp::create(b, loc,
                                 arith::CmpIOp::create(b, loc,
                                                       arith::CmpIPredicate::ne,
                                                       descends, constant(0)),
                                 other, variable);
}
