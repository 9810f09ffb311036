//===- Definitions.cpp - Every point that is read is defined once ---------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Poly/Definitions.h"
#include "Proof.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace mlir;
using namespace timerl;
using namespace timerl::poly;
using namespace timerl::trl;

//===----------------------------------------------------------------------===//
// Dims and ranges
//===----------------------------------------------------------------------===//

void poly::checkDims(Proof &proof) {
  for (auto dim : proof.program.module().getOps<DimOp>()) {
    auto extent = dim.getExtent().getExpr().getConst();
    if (extent && *extent <= 0)
      proof.error("E0406", dim.getLoc(),
                  ("dim `" + dim.getSymName() +
                   "` has no points: its extent is " + Twine(*extent))
                      .str());
  }
}

namespace {
/// One bracket's worth of checks on ranges.
class RangeChecker {
public:
  explicit RangeChecker(Proof &proof) : proof(proof) {}

  void check(const Statement &statement) {
    for (const Access &access : statement.accesses)
      if (auto read = dyn_cast_or_null<ReadOp>(access.op);
          read && access.kind == Access::Kind::Read)
        checkBracket(read, *access.scope, read.getIndices(), {});
    for (const Placed &placed : statement.extracts) {
      auto extract = cast<ExtractOp>(placed.op);
      checkBracket(extract, *placed.scope, extract.getIndices(),
                   getLengths(extract.getOperand().getType()));
    }
  }

private:
  /// `lengths`: of the axes that are indexed, when it is a value's bracket.
  void checkBracket(Operation *op, const Scope &scope, ArrayAttr indices,
                    ArrayRef<Expr> lengths) {
    if (!done.insert({&scope, indices.getAsOpaquePointer(),
                      lengths.empty() ? nullptr : op})
             .second)
      return;
    for (auto [axis, index] : llvm::enumerate(indices)) {
      if (auto range = dyn_cast<RangeAttr>(index)) {
        Expr lo = range.getLo().getExpr(), hi = range.getHi().getExpr();
        expect(op, scope, Expr::le(lo, hi), [&](const Witness &witness) {
          proof.error("E0404", op->getLoc(),
                      "the range `" + lo.str() + ":" + hi.str() +
                          "` runs backwards: it is " + witness.text(lo) + ":" +
                          witness.text(hi) + witness.at());
        });
        if (axis < lengths.size())
          for (const Expr &bound :
               {Expr::ge(lo, Expr::constant(0)), Expr::le(hi, lengths[axis])})
            expectInside(op, scope, bound, lo.str() + ":" + hi.str(), axis,
                         lengths[axis]);
      } else if (auto at = dyn_cast<AtAttr>(index);
                 at && axis < lengths.size()) {
        Expr point = at.getIndex().getExpr();
        for (const Expr &bound : {Expr::ge(point, Expr::constant(0)),
                                  Expr::lt(point, lengths[axis])})
          expectInside(op, scope, bound, point.str(), axis, lengths[axis]);
      }
    }
  }

  void expectInside(Operation *op, const Scope &scope, const Expr &condition,
                    const std::string &index, unsigned axis,
                    const Expr &length) {
    expect(op, scope, condition, [&](const Witness &witness) {
      proof.error("E0408", op->getLoc(),
                  "the index `" + index + "` lies outside axis " +
                      std::to_string(axis) + ", whose length is " +
                      witness.text(length) + witness.at());
    });
  }

  void expect(Operation *op, const Scope &scope, const Expr &condition,
              llvm::function_ref<void(const Witness &)> report) {
    if (condition.isTrue())
      return;
    Coordinates space(
        proof.program.context(), scope.names, proof.program.parameters(),
        isl_set_has_tuple_name(scope.points.get()) == isl_bool_true
            ? isl_set_get_tuple_name(scope.points.get())
            : "");
    Set failing = scope.points & space.where(Expr::negate(condition));
    if (auto witness = findWitness(scope, failing))
      report(*witness);
  }

  Proof &proof;
  std::set<std::tuple<const Scope *, const void *, Operation *>> done;
};
} // namespace

void poly::checkRanges(Proof &proof) {
  RangeChecker checker(proof);
  for (const Statement &statement : proof.program.statements())
    checker.check(statement);
}

//===----------------------------------------------------------------------===//
// No point twice
//===----------------------------------------------------------------------===//

/// Each dim of the statement is, up to a constant, one of the indices.
static bool isPlainlyInjective(const Statement &statement, const Write &write) {
  return llvm::all_of(statement.dims(), [&](const std::string &dim) {
    return llvm::any_of(write.indices, [&](const Expr &index) {
      return (index - Expr::var(dim)).isConst();
    });
  });
}

/// Two different constants stand at one position.
static bool arePlainlyDisjoint(const Write &a, const Write &b) {
  return llvm::any_of(llvm::zip(a.indices, b.indices), [](auto pair) {
    const auto &[left, right] = pair;
    return left.isConst() && right.isConst() && left != right;
  });
}

void poly::checkDefinedOnce(Proof &proof) {
  const Program &program = proof.program;
  std::set<unsigned> seen;
  std::set<std::pair<unsigned, unsigned>> reported;
  for (auto tensor : program.module().getOps<TensorOp>()) {
    StringRef name = tensor.getSymName();
    ArrayRef<Definition> definitions = program.definitions(name);
    if (definitions.empty() || !seen.insert(program.sourceClass(name)).second)
      continue;
    for (auto [k, definition] : llvm::enumerate(definitions)) {
      const Statement &statement = program.statements()[definition.statement];
      const Write &write = statement.writes[definition.write];
      if (!isPlainlyInjective(statement, write) &&
          isl_map_is_injective(write.map.get()) == isl_bool_false &&
          reported.insert({definition.statement, definition.statement})
              .second) {
        // Two different instances with one point: their order by the
        // lexicographic one makes the pair definite.
        Map pairs = compose(write.map, reverse(write.map));
        Map order(isl_map_lex_lt(isl_set_get_space(statement.domain().get())));
        Map clashing = pairs & order;
        Set flat(isl_set_flatten(isl_map_wrap(clashing.copy())));
        auto both = leastPoint(flat);
        if (!both)
          continue;
        unsigned rank = statement.dims().size();
        ArrayRef<int64_t> values = both->coordinates;
        SmallVector<int64_t> point;
        for (const Expr &index : write.indices)
          point.push_back(
              index
                  .evaluate([&](StringRef dim) -> std::optional<int64_t> {
                    auto found = llvm::find(statement.dims(), dim);
                    if (found != statement.dims().end())
                      return values[found - statement.dims().begin()];
                    for (const auto &[parameter, value] : both->parameters)
                      if (parameter == dim)
                        return value;
                    return std::nullopt;
                  })
                  .value_or(0));
        proof.error("E0402", statement.op->getLoc(),
                    "this equation defines " + proof.naming.point(name, point) +
                        " twice: at " +
                        describe(statement.dims(), values.take_front(rank)) +
                        " and at " +
                        describe(statement.dims(), values.slice(rank, rank)));
      }
      for (const Definition &other : definitions.take_front(k)) {
        if (other.statement == definition.statement &&
            other.write == definition.write)
          continue;
        const Statement &earlier = program.statements()[other.statement];
        const Write &first = earlier.writes[other.write];
        if (arePlainlyDisjoint(first, write))
          continue;
        Set common = rangeOf(first.map) & rangeOf(write.map);
        auto point = leastPoint(common);
        if (!point ||
            !reported.insert({other.statement, definition.statement}).second)
          continue;
        auto &error = proof.error(
            "E0402", statement.op->getLoc(),
            (other.statement == definition.statement
                 ? "this equation defines "
                 : "both equations define ") +
                proof.naming.point(name, point->coordinates) +
                (other.statement == definition.statement ? " twice" : ""));
        if (other.statement != definition.statement) {
          error.notes.emplace_back(earlier.op->getLoc(),
                                   "the other one, for " +
                                       proof.naming.statement(earlier));
          error.help = "restrict one of them with `when`, or give its dim "
                       "another range, as in `x[t in 1:steps]`";
        }
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Every read point
//===----------------------------------------------------------------------===//

Map poly::contradictoryStops(const Program &program, const Scope &scope,
                             StringRef source, const Map &pairs) {
  auto tensor = dyn_cast_or_null<TensorOp>(SymbolTable::lookupSymbolIn(
      program.module(),
      StringAttr::get(program.module().getContext(), source)));
  Map result;
  if (!tensor)
    return result;
  for (auto [variable, dim] : program.stops()) {
    auto until = dyn_cast_or_null<TensorOp>(SymbolTable::lookupSymbolIn(
        program.module(), dim.getUntilAttr().getAttr()));
    if (!until)
      continue;
    Map differing(isl_map_universe(isl_map_get_space(pairs.get())));
    bool comparable = true;
    for (Attribute outer : until.getPositions().getValue().drop_back()) {
      StringRef name = cast<StringAttr>(outer).getValue();
      auto here = llvm::find(scope.names, name);
      auto there = llvm::find(tensor.getPositions(), outer);
      comparable &=
          here != scope.names.end() && there != tensor.getPositions().end();
      if (comparable)
        differing = Map(isl_map_equate(differing.release(), isl_dim_in,
                                       here - scope.names.begin(), isl_dim_out,
                                       there - tensor.getPositions().begin()));
    }
    if (!comparable)
      continue;
    // Where the place and the point agree on the outer dims, the two lengths
    // are one; this is where they differ.
    Coordinates none(program.context(), {}, program.parameters());
    Set unequal(isl_set_params(
        none.where(Expr::ne(Expr::var(variable), Expr::var(variable + "'")))
            .release()));
    differing =
        Map(isl_map_intersect_params(differing.release(), unequal.release()));
    result = result ? result | differing : differing;
  }
  return result;
}

namespace {
class ReadChecker {
public:
  explicit ReadChecker(Proof &proof) : proof(proof), program(proof.program) {}

  void check(const Statement &statement) {
    for (const Access &access : statement.accesses) {
      unsigned sourceClass = program.sourceClass(access.source);
      if (!done.insert({access.scope.get(), access.bracket, sourceClass})
               .second)
        continue;
      Map missing = undefinedReads(access, sourceClass);
      if (!missing || isEmpty(missing))
        continue;
      report(statement, access, missing);
    }
  }

private:
  /// The part of an access's pairs whose point nothing defines.
  Map undefinedReads(const Access &access, unsigned sourceClass) {
    auto [entry, isNew] = defined.try_emplace(sourceClass, Set());
    if (isNew) {
      Set set = program.defined(access.source);
      set = Set(isl_set_coalesce(set.release()));
      entry->second = Set(isl_set_reset_tuple_id(set.release()));
    }
    Set points(isl_set_set_tuple_name(entry->second.copy(),
                                      escapeName(access.source).c_str()));
    bool stops = llvm::any_of(program.stops(), [&](const auto &stop) {
      int position = isl_set_find_dim_by_name(points.get(), isl_dim_param,
                                              escapeName(stop.first).c_str());
      return position >= 0 &&
             isl_set_involves_dims(points.get(), isl_dim_param, position, 1) ==
                 isl_bool_true;
    });
    if (!stops) {
      Set read = rangeOf(access.full);
      if (isSubset(read, points))
        return Map();
      return Map(isl_map_subtract_range(access.full.copy(), points.release()));
    }
    Map missing(isl_map_subtract_range(access.full.copy(),
                                       program.renameStops(points).release()));
    Map contradictory =
        contradictoryStops(program, *access.scope, access.source, missing);
    if (contradictory)
      missing = missing - contradictory;
    missing = Map(isl_map_intersect_params(
        missing.release(),
        program.renameStops(program.assumptions()).release()));
    // Which length the other side had is no part of the message.
    for (auto [variable, dim] : program.stops()) {
      int position = isl_map_find_dim_by_name(
          missing.get(), isl_dim_param, escapeName(variable + "'").c_str());
      if (position >= 0)
        missing = Map(
            isl_map_project_out(missing.release(), isl_dim_param, position, 1));
    }
    return missing;
  }

  void report(const Statement &statement, const Access &access,
              const Map &missing) {
    auto witness = findWitness(*access.scope, domainOf(missing));
    if (!witness)
      return;
    // The least missing point at the witness.
    Set at = domainOf(missing);
    for (auto [k, value] : llvm::enumerate(witness->values))
      at = Set(isl_set_fix_val(at.release(), isl_dim_set, k,
                               isl_val_int_from_si(program.context(), value)));
    auto point = leastPoint(rangeOf(missing & at));
    if (!point)
      return;
    SmallVector<std::string> indices;
    SmallVector<Expr> written = plainIndices(access);
    for (auto [k, value] : llvm::enumerate(point->coordinates)) {
      indices.push_back(k < written.size() && !written[k].isOverflow()
                            ? witness->text(written[k])
                            : std::to_string(value));
    }
    std::string name = proof.naming.point(access.source, indices);
    std::string reader = proof.naming.statement(statement);
    // The same point read by the same equation is one mistake, whatever leaf of
    // a record and however often.
    if (!reported.insert({&statement, name}).second)
      return;
    std::string message;
    switch (access.kind) {
    case Access::Kind::Read:
      message = name + " is read by " + reader;
      break;
    case Access::Kind::Gradient:
      message = name + " is differentiated by " + reader;
      break;
    case Access::Kind::Leaf:
      message = "a gradient with respect to " + name + " is taken by " + reader;
      break;
    case Access::Kind::Stop:
      message = "whether " + reader + " is evaluated depends on " + name;
      break;
    }
    message += witness->at();
    message += program.definitions(access.source).empty() && !isInput(access)
                   ? ", and no equation defines any point of it"
               : isInput(access) ? ", which the input does not have"
                                 : ", and no equation defines it";
    auto &error = proof.error("E0401", access.op->getLoc(), std::move(message));
    error.help = suggestion(access, *point);
    describeDomain(error, access);
  }

  bool isInput(const Access &access) {
    return isa_and_nonnull<InputOp>(declaration(access.source));
  }
  Operation *declaration(StringRef source) {
    return SymbolTable::lookupSymbolIn(
        program.module(),
        StringAttr::get(program.module().getContext(), source));
  }

  /// The indices of an access; an `Overflow` where it reads a range.
  static SmallVector<Expr> plainIndices(const Access &access) {
    SmallVector<Expr> result;
    Expr none =
        Expr::constant(INT64_MAX) + Expr::constant(1); // No single index.
    auto read = dyn_cast<ReadOp>(access.op);
    if (read && access.kind == Access::Kind::Read) {
      for (Attribute index : read.getIndices()) {
        auto at = dyn_cast<AtAttr>(index);
        result.push_back(at ? at.getIndex().getExpr() : none);
      }
    } else if (auto grad = dyn_cast<GradOp>(access.op)) {
      if (access.kind != Access::Kind::Stop)
        result =
            getExprs(access.kind == Access::Kind::Leaf ? grad.getWrtIndices()
                                                       : grad.getOfIndices());
    }
    return result;
  }

  /// A dim of the source that may stop before the point.
  std::string suggestion(const Access &access, const Point &point) {
    auto tensor = dyn_cast_or_null<TensorOp>(declaration(access.source));
    if (!tensor)
      return "";
    for (auto [k, position] : llvm::enumerate(tensor.getPositions()))
      for (auto [variable, dim] : program.stops())
        if (cast<StringAttr>(position).getValue() == dim.getSymName() &&
            point.coordinates[k] > 0)
          return ("`" + dim.getSymName() +
                  "` may stop before this point; `end(" + dim.getSymName() +
                  ")` is the number of its points")
              .str();
    return "";
  }

  void describeDomain(ProofError &error, const Access &access) {
    Set points = program.defined(access.source);
    Operation *op = declaration(access.source);
    if (!points || isEmpty(points) || !op)
      return;
    ArrayAttr positions = isa<TensorOp>(op) ? cast<TensorOp>(op).getPositions()
                                            : cast<InputOp>(op).getOver();
    SmallVector<std::string> indices, parts;
    for (auto [k, position] : llvm::enumerate(positions)) {
      std::string name = cast<StringAttr>(position).getValue().str();
      auto bound = [&](bool least) -> std::optional<Expr> {
        PwAff value(least ? isl_set_dim_min(points.copy(), k)
                          : isl_set_dim_max(points.copy(), k));
        return toExpr(value, {});
      };
      auto lo = bound(true), last = bound(false);
      if (!lo || !last) {
        program.context().clear();
        return;
      }
      if (name.empty() || *lo == *last) {
        indices.push_back(lo->str());
        if (*lo != *last)
          return;
        continue;
      }
      indices.push_back(name);
      parts.push_back(name + " in " + lo->str() + ":" +
                      (*last + Expr::constant(1)).str());
    }
    if (indices.empty())
      return;
    std::string message = proof.naming.point(access.source, indices) +
                          (isa<InputOp>(op) ? " is there" : " is defined");
    if (!parts.empty())
      message += " for " + llvm::join(parts, ", ");
    // Is every point in between defined as well?
    Set hull(isl_set_from_basic_set(
        isl_set_simple_hull(isl_set_remove_divs(points.copy()))));
    if (!isSubset(hull, points))
      message += ", though not at every point in between";
    error.notes.emplace_back(op->getLoc(), message);
  }

  Proof &proof;
  const Program &program;
  std::set<std::tuple<const Scope *, const void *, unsigned>> done;
  std::map<unsigned, Set> defined;
  std::set<std::pair<const Statement *, std::string>> reported;
};
} // namespace

void poly::checkReads(Proof &proof) {
  ReadChecker checker(proof);
  for (const Statement &statement : proof.program.statements())
    checker.check(statement);
}
