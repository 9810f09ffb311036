//===- Accesses.cpp - Reads and writes of a schedule ----------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Accesses.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::check;
using namespace timerl::trl;

namespace {
class Collector {
public:
  Collector(Accesses &result) : result(result) {}

  void block(Block &body) {
    for (Operation &op : body) {
      if (auto loop = dyn_cast<sched::ForOp>(op))
        enterLoop(loop);
      else if (auto guard = dyn_cast<sched::IfOp>(op)) {
        Expr outer = condition;
        condition = Expr::conj({condition, guard.getCondition().getExpr()});
        block(guard.getBody().front());
        condition = outer;
      } else if (auto statement = dyn_cast<sched::StmtOp>(op)) {
        unsigned place = addPlace(&op, statement.getName());
        bind(statement.getDims(), statement.getValues());
        reads(place, statement.getBody(), {}, Expr::boolean(true));
        for (auto [target, indices] :
             llvm::zip(statement.getTargets(), statement.getIndices()))
          addAccess(result.writes[cast<FlatSymbolRefAttr>(target).getValue()],
                    place, &op, cast<ArrayAttr>(indices), {},
                    Expr::boolean(true));
        bindings.clear();
      } else if (auto output = dyn_cast<sched::OutputOp>(op)) {
        unsigned place = addPlace(&op, output.getName());
        bind(output.getDims(), output.getValues());
        reads(place, output.getBody(), {}, Expr::boolean(true));
        bindings.clear();
      }
    }
  }

  llvm::StringMap<Expr> ends; ///< extents of early-stopping loops

private:
  void enterLoop(sched::ForOp op) {
    Expr outer = condition;
    Expr variable = Expr::var(op.getName());
    Expr lo = op.getLo().getExpr(), hi = op.getHi().getExpr();
    condition =
        Expr::conj({condition, Expr::ge(variable, lo), Expr::lt(variable, hi)});
    if (op.getUntil()) {
      std::string end = ("end(" + op.getName() + ")").str();
      condition =
          Expr::conj({condition, Expr::lt(variable, lo + Expr::var(end))});
      ends[end] = hi - lo;
    }
    loops.push_back({op, op.getName().str()});
    block(op.getBody().front());
    if (op.getUntil()) {
      SmallVector<Attribute> indices;
      for (auto index : op.getUntilIndices()->getAsRange<ExprAttr>())
        indices.push_back(AtAttr::get(op.getContext(), index));
      unsigned place = addPlace(op, op.getName());
      addAccess(result.reads[*op.getUntil()], place, op,
                ArrayAttr::get(op.getContext(), indices), {},
                Expr::boolean(true));
    }
    loops.pop_back();
    condition = outer;
  }

  unsigned addPlace(Operation *op, StringRef name) {
    Place place{op, name.str(), loops, condition,
                unsigned(result.places.size())};
    result.places.push_back(std::move(place));
    return result.places.size() - 1;
  }

  void bind(ArrayAttr dims, ArrayAttr values) {
    for (auto [dim, value] : llvm::zip(dims.getAsRange<StringAttr>(),
                                       values.getAsRange<ExprAttr>()))
      bindings[dim.getValue()] = value.getExpr();
  }

  /// An expression of a body over the loops' variables. Binders, which may have
  /// the name of a loop's variable, are kept apart.
  Expr outside(const Expr &expr, ArrayRef<IterAttr> binders) const {
    return expr.substitute([&](StringRef name) -> std::optional<Expr> {
      for (IterAttr binder : binders)
        if (binder.getName() == name)
          return Expr::var(("binder." + name).str());
      auto found = bindings.find(name);
      return found == bindings.end() ? std::optional<Expr>() : found->second;
    });
  }

  void addAccess(std::vector<Access> &list, unsigned place, Operation *op,
                 ArrayAttr indices, ArrayRef<IterAttr> binders,
                 const Expr &inner) {
    Access access;
    access.place = place;
    access.op = op;
    for (const Loop &loop : result.places[place].loops)
      access.variables.push_back(loop.name);
    SmallVector<Expr> facts{result.places[place].condition, inner};
    for (IterAttr binder : binders)
      access.variables.push_back(
          ("binder." + binder.getName().getValue()).str());
    for (auto [k, index] : llvm::enumerate(indices)) {
      if (auto at = dyn_cast<AtAttr>(index)) {
        access.point.push_back(outside(at.getIndex().getExpr(), binders));
        continue;
      }
      Expr lo, hi;
      if (auto range = dyn_cast<RangeAttr>(index)) {
        lo = range.getLo().getExpr();
        hi = range.getHi().getExpr();
      } else {
        auto dynamic = cast<DynamicAttr>(index);
        lo = dynamic.getLo().getExpr();
        hi = dynamic.getHi().getExpr();
      }
      access.variables.push_back("position." + std::to_string(k));
      access.point.push_back(Expr::var(access.variables.back()));
      facts.push_back(Expr::ge(access.point.back(), outside(lo, binders)));
      facts.push_back(Expr::lt(access.point.back(), outside(hi, binders)));
    }
    access.condition = Expr::conj(facts);
    list.push_back(std::move(access));
  }

  void reads(unsigned place, Region &region, ArrayRef<IterAttr> binders,
             const Expr &inner) {
    if (region.empty())
      return;
    for (Operation &op : region.front()) {
      if (auto read = dyn_cast<ReadOp>(op)) {
        addAccess(result.reads[read.getSource()], place, &op, read.getIndices(),
                  binders, inner);
      } else if (auto over = dyn_cast<ReduceOverOp>(op)) {
        SmallVector<IterAttr> all(binders);
        SmallVector<Expr> facts{inner};
        for (auto binder : over.getBinders().getAsRange<IterAttr>()) {
          all.push_back(binder);
          Expr variable = outside(Expr::var(binder.getName()), all);
          facts.push_back(
              Expr::ge(variable, outside(binder.getLo().getExpr(), all)));
          facts.push_back(
              Expr::lt(variable, outside(binder.getHi().getExpr(), all)));
        }
        facts.push_back(outside(over.getWhen().getExpr(), all));
        reads(place, over.getBody(), all, Expr::conj(facts));
      } else if (auto choice = dyn_cast<CaseOp>(op)) {
        Expr holds = outside(choice.getCondition().getExpr(), binders);
        reads(place, choice.getThen(), binders, Expr::conj({inner, holds}));
        reads(place, choice.getOtherwise(), binders,
              Expr::conj({inner, Expr::negate(holds)}));
      } else {
        for (Region &nested : op.getRegions())
          reads(place, nested, binders, inner);
      }
    }
  }

  Accesses &result;
  SmallVector<Loop> loops;
  Expr condition = Expr::boolean(true);
  llvm::StringMap<Expr> bindings;
};
} // namespace

Accesses::Accesses(sched::ProgramOp program)
    : assumptions(Expr::boolean(true)) {
  Collector collector(*this);
  collector.block(program.getBody().front());
  SmallVector<Expr> facts;
  // In order of the program, not of the table.
  program.walk<WalkOrder::PreOrder>([&](sched::ForOp loop) {
    if (!loop.getUntil())
      return;
    std::string end = ("end(" + loop.getName() + ")").str();
    if (llvm::is_contained(parameters, end))
      return;
    parameters.push_back(end);
    facts.push_back(Expr::ge(Expr::var(end), Expr::constant(1)));
    facts.push_back(Expr::le(Expr::var(end), collector.ends.lookup(end)));
  });
  for (auto arg : program->getParentOfType<ModuleOp>().getOps<ArgOp>())
    if (arg.getDefaultValue().getType().isInteger())
      parameters.push_back(arg.getSymName().str());
  assumptions = Expr::conj(facts);
}
