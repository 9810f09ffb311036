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
#include <map>

using namespace mlir;
using namespace timerl;
using namespace timerl::check;
using namespace timerl::trl;

namespace {
class Collector {
public:
  Collector(Accesses &result, ModuleOp module) : result(result) {
    for (auto dim : module.getOps<DimOp>())
      if (dim.getUntil()) {
        stops[dim.getEndName()] = dim;
        if (dim.getCounted())
          result.counts.insert(*dim.getCounted());
      }
    // No run begins with a dim that is empty.
    SmallVector<Expr> facts;
    for (auto dim : module.getOps<DimOp>())
      if (!dim.getExtent().getExpr().isConst())
        facts.push_back(Expr::ge(dim.getExtent().getExpr(), Expr::constant(1)));
    condition = Expr::conj(facts);
  }

  void block(Block &body) {
    auto outer = known;
    for (Operation &op : body) {
      if (auto end = dyn_cast<sched::EndOp>(op)) {
        unsigned place = addPlace(&op, end.getDim());
        std::string name = ("end(" + end.getDim() + ")").str();
        SmallVector<Expr> at;
        for (const Expr &index : getExprs(end.getIndices()))
          at.push_back(inLengths(index));
        addCountRead(place, &op, name, at, {}, Expr::boolean(true));
        known[name] = lengthOf(name, at);
      } else if (auto loop = dyn_cast<sched::ForOp>(op))
        enterLoop(loop);
      else if (auto guard = dyn_cast<sched::IfOp>(op)) {
        Expr outer = condition;
        condition =
            Expr::conj({condition, inLengths(guard.getCondition().getExpr())});
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
    known = std::move(outer);
  }

private:
  DimOp stopOf(StringRef end) const {
    auto found = stops.find(end.str());
    return found == stops.end() ? DimOp() : found->second;
  }

  /// `end(t)` at a point of t's outer dims.
  Length lengthOf(const std::string &name, ArrayRef<Expr> at) {
    Length length;
    length.variable = name + "@";
    for (const Expr &index : at)
      length.variable += index.str() + ",";
    length.dim = name;
    DimOp dim = stopOf(name);
    length.extent = dim ? dim.getExtent().getExpr() : Expr::constant(1);
    length.at.assign(at.begin(), at.end());
    all[length.variable] = length;
    return length;
  }

  /// An expression over loops' variables, its lengths those told before.
  Expr inLengths(const Expr &expr) {
    return expr.substitute([&](StringRef name) -> std::optional<Expr> {
      auto found = known.find(name.str());
      return found == known.end() ? std::optional<Expr>()
                                  : Expr::var(found->second.variable);
    });
  }

  void enterLoop(sched::ForOp op) {
    Expr outer = condition;
    auto outerKnown = known;
    Expr variable = Expr::var(op.getName());
    Expr lo = inLengths(op.getLo().getExpr()),
         hi = inLengths(op.getHi().getExpr());
    condition =
        Expr::conj({condition, Expr::ge(variable, lo), Expr::lt(variable, hi)});
    SmallVector<Expr> point;
    if (op.getUntil()) {
      point = getExprs(*op.getUntilIndices());
      std::string name;
      for (auto &[end, dim] : stops)
        if (*dim.getUntil() == *op.getUntil())
          name = end;
      // Its iterations are the dim's points from the first on.
      Expr step = point.empty() ? Expr() : variable - point.back();
      if (point.empty() || !step.isConst() || step != lo || name.empty() ||
          hi - lo != stopOf(name).getExtent().getExpr()) {
        result.strayLoops.push_back(op);
      } else {
        Length length = lengthOf(name, ArrayRef<Expr>(point).drop_back());
        condition = Expr::conj(
            {condition, Expr::lt(variable, lo + Expr::var(length.variable))});
      }
    }
    loops.push_back({op, op.getName().str()});
    block(op.getBody().front());
    if (op.getUntil()) {
      SmallVector<Attribute> indices;
      for (const Expr &index : point)
        indices.push_back(AtAttr::get(op.getContext(),
                                      ExprAttr::get(op.getContext(), index)));
      unsigned place = addPlace(op, op.getName());
      addAccess(result.reads[*op.getUntil()], place, op,
                ArrayAttr::get(op.getContext(), indices), {},
                Expr::boolean(true));
    }
    loops.pop_back();
    condition = outer;
    known = outerKnown;
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
  Expr outside(const Expr &expr, ArrayRef<IterAttr> binders) {
    return expr.substitute([&](StringRef name) -> std::optional<Expr> {
      for (IterAttr binder : binders)
        if (binder.getName() == name)
          return Expr::var(("binder." + name).str());
      if (stops.count(std::string(name))) {
        // In a body the names in scope tell the point.
        SmallVector<Expr> at;
        for (const std::string &dim : stopOf(name).getOuterDims())
          at.push_back(outside(Expr::var(dim), binders));
        return Expr::var(lengthOf(name.str(), at).variable);
      }
      auto found = bindings.find(name);
      return found == bindings.end() ? std::optional<Expr>() : found->second;
    });
  }

  /// The lengths that an access's expressions mention become variables of it,
  /// with what holds of every length.
  void finish(Access &access) {
    SmallVector<Expr> facts{access.condition};
    auto mention = [&](const Expr &expr) {
      for (const std::string &name : expr.variables()) {
        auto found = all.find(name);
        if (found == all.end() || llvm::is_contained(access.variables, name))
          continue;
        const Length &length = found->second;
        access.variables.push_back(name);
        access.lengths.push_back(length);
        facts.push_back(Expr::ge(Expr::var(name), Expr::constant(1)));
        facts.push_back(Expr::le(Expr::var(name), length.extent));
      }
    };
    mention(access.condition);
    for (const Expr &index : access.point)
      mention(index);
    access.condition = Expr::conj(facts);
  }

  /// Of the count behind an `end(t)`.
  void addCountRead(unsigned place, Operation *op, const std::string &name,
                    ArrayRef<Expr> at, ArrayRef<IterAttr> binders,
                    const Expr &inner) {
    DimOp dim = stopOf(name);
    if (!dim || !dim.getCounted())
      return;
    Access access;
    access.place = place;
    access.op = op;
    for (const Loop &loop : result.places[place].loops)
      access.variables.push_back(loop.name);
    for (IterAttr binder : binders)
      access.variables.push_back(
          ("binder." + binder.getName().getValue()).str());
    access.condition = Expr::conj({result.places[place].condition, inner});
    access.point.assign(at.begin(), at.end());
    finish(access);
    result.reads[*dim.getCounted()].push_back(std::move(access));
  }

  /// The same for each that an op mentions by itself, outside its regions.
  void countReads(unsigned place, Operation *op, ArrayRef<IterAttr> binders,
                  const Expr &inner) {
    SmallVector<std::string> names;
    AttrTypeWalker walker;
    walker.addWalk([&](ExprAttr attr) {
      for (const std::string &name : attr.getExpr().variables())
        if (stops.count(std::string(name)) && !llvm::is_contained(names, name))
          names.push_back(name);
    });
    walker.walk(op->getAttrDictionary());
    for (const std::string &name : names) {
      SmallVector<Expr> at;
      for (const std::string &dim : stopOf(name).getOuterDims())
        at.push_back(outside(Expr::var(dim), binders));
      addCountRead(place, op, name, at, binders, inner);
    }
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
    finish(access);
    list.push_back(std::move(access));
  }

  void reads(unsigned place, Region &region, ArrayRef<IterAttr> binders,
             const Expr &inner) {
    if (region.empty())
      return;
    for (Operation &op : region.front()) {
      if (!isa<ReduceOverOp, CaseOp>(op))
        countReads(place, &op, binders, inner);
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
        // Ranges are asked for once an outer binder has a value.
        countReads(place, &op, all, Expr::conj(facts));
        reads(place, over.getBody(), all, Expr::conj(facts));
      } else if (auto choice = dyn_cast<CaseOp>(op)) {
        countReads(place, &op, binders, inner);
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
  std::map<std::string, DimOp> stops;  ///< by `end(t)`
  std::map<std::string, Length> known; ///< by `end(t)`: told before this place
  std::map<std::string, Length> all;   ///< by variable
};
} // namespace

Accesses::Accesses(sched::ProgramOp program) {
  auto module = program->getParentOfType<ModuleOp>();
  Collector collector(*this, module);
  collector.block(program.getBody().front());
  for (auto arg : module.getOps<ArgOp>())
    if (arg.getDefaultValue().getType().isInteger())
      parameters.push_back(arg.getSymName().str());
}
