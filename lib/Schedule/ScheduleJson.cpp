//===- ScheduleJson.cpp - The schedule of a program as JSON ---------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Schedule/ScheduleJson.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace timerl;
using llvm::json::OStream;

static std::string kindOf(Operation &op) {
  auto output = dyn_cast<sched::OutputOp>(op);
  if (!output)
    return "equation";
  return stringifyOutputKind(output.getKind()).str();
}

static StringRef nameOf(Operation &op) {
  if (auto output = dyn_cast<sched::OutputOp>(op))
    return output.getName();
  return cast<sched::StmtOp>(op).getName();
}

static void writeBindings(OStream &json, ArrayAttr dims, ArrayAttr values) {
  json.attributeObject("dims", [&] {
    for (auto [dim, value] : llvm::zip(dims.getAsRange<StringAttr>(),
                                       values.getAsRange<trl::ExprAttr>()))
      json.attribute(dim.getValue(), value.getText());
  });
}

static void writeNest(OStream &json, Block &block, unsigned &index) {
  for (Operation &op : block) {
    if (isa<sched::BufferOp, sched::EndOp>(op))
      continue;
    json.object([&] {
      if (auto loop = dyn_cast<sched::ForOp>(op)) {
        json.attribute("for", loop.getName());
        json.attribute("lo", loop.getLo().getText());
        json.attribute("hi", loop.getHi().getText());
        json.attribute("reverse", loop.getReverse());
        json.attribute("parallel", loop.getParallel());
        if (loop.getUntil()) {
          std::string point;
          for (auto index : loop.getUntilIndices()->getAsRange<trl::ExprAttr>())
            point += (point.empty() ? "" : ", ") + index.getText().str();
          json.attribute("until", (*loop.getUntil() + "[" + point + "]").str());
        }
        json.attributeArray(
            "body", [&] { writeNest(json, loop.getBody().front(), index); });
      } else if (auto guard = dyn_cast<sched::IfOp>(op)) {
        json.attribute("if", guard.getCondition().getText());
        json.attributeArray(
            "body", [&] { writeNest(json, guard.getBody().front(), index); });
      } else {
        json.attribute("statement", index++);
        auto output = dyn_cast<sched::OutputOp>(op);
        auto stmt = dyn_cast<sched::StmtOp>(op);
        writeBindings(json, output ? output.getDims() : stmt.getDims(),
                      output ? output.getValues() : stmt.getValues());
      }
    });
  }
}

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  return text;
}

static void writeBuffer(OStream &json, sched::BufferOp buffer) {
  auto tensor = SymbolTable::lookupNearestSymbolFrom<trl::TensorOp>(
      buffer, buffer.getTensorAttr());
  auto list = [&](StringRef key, ArrayRef<int64_t> values) {
    json.attributeArray(key, [&] {
      for (int64_t value : values)
        json.value(value);
    });
  };
  json.object([&] {
    json.attribute("tensor", buffer.getTensor());
    json.attribute("type", textOf(tensor.getType()));
    list("window", buffer.getWindow());
    list("origin", buffer.getOrigin());
    json.attribute("arena", "host");
    json.attribute("offset", int64_t(buffer.getOffset()));
    json.attribute("bytes", int64_t(buffer.getBytes()));
    list("lifetime", buffer.getLive());
  });
}

void schedule::writeScheduleJson(sched::ProgramOp program,
                                 llvm::raw_ostream &os) {
  Block &body = program.getBody().front();
  auto buffers = llvm::to_vector(body.getOps<sched::BufferOp>());
  llvm::stable_sort(buffers, [](sched::BufferOp a, sched::BufferOp b) {
    return a.getOffset() < b.getOffset();
  });
  SmallVector<Operation *> statements;
  program.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<sched::StmtOp, sched::OutputOp>(op))
      statements.push_back(op);
  });
  int64_t most = 0;
  for (int64_t s = 0; s < int64_t(statements.size()); ++s) {
    int64_t live = 0;
    for (sched::BufferOp buffer : buffers)
      if (buffer.getLive()[0] <= s && s <= buffer.getLive()[1])
        live += buffer.getBytes();
    most = std::max(most, live);
  }
  OStream json(os, 2);
  json.object([&] {
    json.attribute("version", 1);
    json.attribute("program", program.getSymName());
    json.attributeArray("arenas", [&] {
      json.object([&] {
        json.attribute("space", "host");
        json.attribute("bytes", int64_t(program.getArena()));
        json.attribute("alignment", 64);
      });
    });
    json.attribute("peak_bytes", int64_t(program.getArena()));
    json.attribute("lower_bound_bytes", most);
    json.attributeArray("buffers", [&] {
      for (sched::BufferOp buffer : buffers)
        writeBuffer(json, buffer);
    });
    json.attributeArray("statements", [&] {
      for (auto [index, op] : llvm::enumerate(statements))
        json.object([&] {
          json.attribute("index", int64_t(index));
          json.attribute("name", nameOf(*op));
          json.attribute("kind", kindOf(*op));
        });
    });
    unsigned index = 0;
    json.attributeArray("nest", [&] { writeNest(json, body, index); });
  });
  os << '\n';
}
