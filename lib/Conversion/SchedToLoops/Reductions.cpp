//===- Reductions.cpp - Over axes and over binders' ranges ----------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of every sum depends on the program alone. A reduction whose binder
// runs in lanes has one partial result a lane, joined in a fixed tree at the
// end; what the lanes leave over follows one by one. Results of few elements,
// and tiles of larger ones where the body is cheap to repeat, stay in registers
// while the binders run.
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "timerl/Symbolic/Conditions.h"
#include "timerl/Vectorize/Work.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::codegen;

/// As many partial results as registers hold, beside what they are made of.
static constexpr int64_t maxTile = 16;

/// Whether a value takes the place of the present maximum: the first one stays
/// on a tie, NaN is greater than all numbers.
Value Generator::exceeds(Value value, Value present) {
  match(value, present);
  Type type = getElementTypeOrSelf(value.getType());
  if (!isa<FloatType>(type))
    return arith::CmpIOp::create(b, loc,
                                 type.isInteger(1) ? arith::CmpIPredicate::ugt
                                                   : arith::CmpIPredicate::sgt,
                                 value, present);
  auto compare = [&](arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  };
  Value none = compare(arith::CmpFPredicate::UNO, value, value);
  Value some = compare(arith::CmpFPredicate::ORD, present, present);
  return arith::OrIOp::create(
      b, loc, compare(arith::CmpFPredicate::OGT, value, present),
      arith::AndIOp::create(b, loc, none, some));
}

namespace {
/// A maximum so far and where it was found; -1: nowhere yet.
struct Extreme {
  Value value, label;
};
} // namespace

//===----------------------------------------------------------------------===//
// Over axes
//===----------------------------------------------------------------------===//

LogicalResult Generator::emitReduce(trl::ReduceOp reduce) {
  Operand operand = get(reduce.getOperand());
  auto type = cast<RankedTensorType>(reduce.getType());
  trl::Reduction kind = reduce.getReduction();
  bool arg = kind == trl::Reduction::argmax, inLanes = isVarying(reduce);
  Type from = operand.type.getElementType(), to = type.getElementType();
  auto start = [&](Value value) { return inLanes ? splat(value) : value; };
  auto step = [&](Extreme best, Value value, Value label) -> Extreme {
    if (!arg)
      return {combine(kind, best.value, value), Value()};
    Value zero = castScalar(constant(0), to);
    match(best.label, zero);
    Value none = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                       best.label, zero);
    Value better =
        arith::OrIOp::create(b, loc, none, exceeds(value, best.value));
    return {select(better, value, best.value),
            select(better, castScalar(label, to), best.label)};
  };
  ArrayRef<int64_t> shape = operand.type.getShape();
  Value least = start(initial(kind, from)),
        nowhere = arg ? start(castScalar(constant(-1), to)) : Value();
  if (type.getRank() == 0) {
    SmallVector<Value> first{least};
    if (arg)
      first.push_back(nowhere);
    SmallVector<Value> found =
        fold(constant(0), constant(operand.type.getNumElements()), 1, first,
             [&](Value k, ValueRange so) -> SmallVector<Value> {
               Extreme next =
                   step({so[0], arg ? so[1] : Value()}, element(operand, k), k);
               if (arg)
                 return {next.value, next.label};
               return {next.value};
             });
    define(reduce, found.back());
    return success();
  }
  Operand best = scratch(RankedTensorType::get(type.getShape(), from), inLanes),
          index = arg ? scratch(type, inLanes) : best;
  loop(constant(0), constant(type.getNumElements()), [&](Value k) {
    put(best, k, least);
    if (arg)
      put(index, k, nowhere);
  });
  loopNest(shape, [&](ArrayRef<Value> at) {
    SmallVector<Value> kept;
    for (auto [axis, place] : llvm::enumerate(at))
      if (!llvm::is_contained(reduce.getAxes(), static_cast<int64_t>(axis)))
        kept.push_back(place);
    Value place = linear(type.getShape(), kept);
    Extreme next =
        step({element(best, place), arg ? element(index, place) : Value()},
             element(operand, linear(shape, at)), at[reduce.getAxes()[0]]);
    put(best, place, next.value);
    if (arg)
      put(index, place, next.label);
  });
  define(reduce, index);
  return success();
}

//===----------------------------------------------------------------------===//
// Over binders
//===----------------------------------------------------------------------===//

namespace {
/// A binder that runs in lanes: as a whole number of vectors, or the rest.
struct Laned {
  int binder = -1;
  int64_t lanes = 1;
  bool rest = false;
};
} // namespace

static Laned lanedBinder(trl::ReduceOverOp reduce) {
  auto attribute = reduce->getAttrOfType<DenseI64ArrayAttr>("lanes");
  if (!attribute)
    return {};
  return {static_cast<int>(attribute[0]), attribute[1], false};
}

/// The binders' loops, the laned one innermost, around the body; `add` takes
/// what was yielded into the sums, which the loops carry.
LogicalResult Generator::emitNest(
    trl::ReduceOverOp reduce, SmallVectorImpl<Value> &sums, bool rest,
    llvm::function_ref<void(SmallVectorImpl<Value> &, Value)> add) {
  Laned laned = lanedBinder(reduce);
  auto iterators = reduce.getBinders().getAsRange<trl::IterAttr>();
  SmallVector<trl::IterAttr> binders;
  for (auto [k, iter] : llvm::enumerate(iterators))
    if (static_cast<int>(k) != laned.binder)
      binders.push_back(iter);
  if (laned.binder >= 0)
    binders.push_back(cast<trl::IterAttr>(reduce.getBinders()[laned.binder]));
  Scope outer = scope;
  LogicalResult result = success();
  auto body = [&](SmallVectorImpl<Value> &sums) {
    result = emitOps(reduce.getBody().front());
    if (failed(result))
      return;
    add(sums, reduce.getFiltered()
                  ? get(reduce.getYield().getValues().back()).value
                  : Value());
  };
  // Whether the first `depth` binders tell all that a condition depends on.
  auto isTold = [&](const Expr &condition, unsigned depth) {
    return llvm::none_of(
        ArrayRef(binders).drop_front(depth), [&](trl::IterAttr binder) {
          std::string name = binder.getName().str();
          return condition.mentions(name) ||
                 llvm::any_of(condition.variables(), [&](const auto &other) {
                   auto stop = stops.find(other);
                   return stop != stops.end() &&
                          llvm::is_contained(stop->second.getOuterDims(), name);
                 });
        });
  };
  using Nest = llvm::function_ref<void(SmallVectorImpl<Value> &)>;
  auto where = [&](const Expr &condition, SmallVectorImpl<Value> &sums,
                   Nest inner) {
    Scope around = scope;
    scope.ranges.assume(condition);
    SmallVector<Value> before(sums.begin(), sums.end());
    auto branch = scf::IfOp::create(b, loc, TypeRange(ValueRange(before)),
                                    emitExpr(condition),
                                    /*withElseRegion=*/true);
    auto fill = [&](Block *into, Nest emit, SmallVectorImpl<Value> &yielded) {
      OpBuilder::InsertionGuard guard(b);
      if (into->mightHaveTerminator())
        into->getTerminator()->erase();
      b.setInsertionPointToStart(into);
      emit(yielded);
      scf::YieldOp::create(b, loc, yielded);
    };
    fill(branch.thenBlock(), inner, sums);
    fill(branch.elseBlock(), [](auto &) {}, before);
    sums.assign(branch.result_begin(), branch.result_end());
    scope = std::move(around);
  };
  // Conditions are tested as soon as may be: the ranges of later binders mean
  // something where they hold alone.
  std::function<void(unsigned, ArrayRef<Expr>, SmallVectorImpl<Value> &)> nest =
      [&](unsigned depth, ArrayRef<Expr> conditions,
          SmallVectorImpl<Value> &sums) {
        SmallVector<Expr> told, later;
        for (const Expr &condition : conditions)
          (isTold(condition, depth) ? told : later).push_back(condition);
        if (!told.empty())
          return where(Expr::conj(told), sums,
                       [&](auto &so) { nest(depth, later, so); });
        if (depth == binders.size())
          return body(sums);
        trl::IterAttr iter = binders[depth];
        std::string name = iter.getName().str();
        Value lo = emitExpr(iter.getLo().getExpr()),
              hi = emitExpr(iter.getHi().getExpr());
        scope.ranges.set(name, rangeOf(iter.getLo().getExpr(),
                                       iter.getHi().getExpr(), scope.ranges));
        scope.variances.erase(name);
        int64_t step = 1;
        if (laned.binder >= 0 && depth + 1 == binders.size()) {
          Value size = constant(laned.lanes);
          Value length =
              arith::MaxSIOp::create(b, loc, subtract(hi, lo), constant(0));
          Value whole = this->add(
              lo, multiply(arith::DivUIOp::create(b, loc, length, size), size));
          (rest ? lo : hi) = whole;
          step = rest ? 1 : laned.lanes;
          if (!rest)
            scope.variances[name] = Variance::Consecutive;
        }
        sums = fold(lo, hi, step, SmallVector<Value>(sums.begin(), sums.end()),
                    [&](Value k, ValueRange carried) {
                      scope.variables[name] = k;
                      SmallVector<Value> next(carried);
                      nest(depth + 1, later, next);
                      return next;
                    });
      };
  nest(0, conjuncts(reduce.getWhen().getExpr()), sums);
  scope = std::move(outer);
  return result;
}

LogicalResult Generator::emitArgmaxOver(trl::ReduceOverOp reduce) {
  Type type = cast<RankedTensorType>(reduce.getYield().getValues()[0].getType())
                  .getElementType();
  bool inLanes = isVarying(reduce.getResult(0));
  SmallVector<Value> sums{initial(trl::Reduction::argmax, type), constant(-1)};
  if (inLanes)
    for (Value &sum : sums)
      sum = splat(sum);
  std::string binder =
      cast<trl::IterAttr>(reduce.getBinders()[0]).getName().str();
  LogicalResult result = emitNest(
      reduce, sums, false, [&](SmallVectorImpl<Value> &so, Value filter) {
        Value value = get(reduce.getYield().getValues()[0]).value;
        Value zero = constant(0), label = so[1];
        match(label, zero);
        Value none = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                           label, zero);
        Value better = exceeds(value, so[0]);
        match(none, better);
        better = arith::OrIOp::create(b, loc, none, better);
        if (filter) {
          match(better, filter);
          better = arith::AndIOp::create(b, loc, better, filter);
        }
        so[0] = select(better, value, so[0]);
        so[1] = select(better, scope.variables.at(binder), so[1]);
      });
  define(reduce.getResult(0), castScalar(sums[1], b.getI32Type()));
  return result;
}

Value Generator::combineLanes(trl::Reduction kind, Value value) {
  int64_t width = cast<VectorType>(value.getType()).getDimSize(0);
  while (width > 1) {
    width /= 2;
    SmallVector<int32_t> low, high;
    for (int64_t k = 0; k < width; ++k) {
      low.push_back(k);
      high.push_back(k + width);
    }
    value =
        combine(kind, LLVM::ShuffleVectorOp::create(b, loc, value, value, low),
                LLVM::ShuffleVectorOp::create(b, loc, value, value, high));
  }
  return extractLane(value, 0);
}

/// Whether a body costs little more than the reads in it, so that it may be
/// repeated for each tile of the result.
static bool isCheap(Block &body) {
  for (Operation &op : body.without_terminator()) {
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    if (auto read = dyn_cast<trl::ReadOp>(op)) {
      for (Attribute index : read.getIndices())
        if (!isa<trl::AtAttr>(index))
          return false;
      continue;
    }
    if (isa<trl::ReshapeOp, trl::ConstantOp, trl::ArgValueOp, trl::IndexOp,
            trl::FillOp>(op))
      continue;
    if (isa<trl::BroadcastOp>(op)) {
      if (cast<RankedTensorType>(op.getOperand(0).getType()).getRank())
        return false;
      continue;
    }
    if (Generator::isOuterProduct(op))
      continue;
    bool costly = isa<trl::ExpOp, trl::LogOp, trl::TanhOp, trl::PowOp,
                      trl::SinOp, trl::CosOp>(op);
    if (!op.hasTrait<OpTrait::Elementwise>() || costly ||
        (type.getRank() && !Generator::isFused(op)))
      return false;
  }
  return true;
}

/// Whether a body uses no values from outside, so that it can be elsewhere.
static bool isSelfContained(Region &region) {
  bool contained = true;
  region.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      contained &= region.isAncestor(operand.getParentRegion());
  });
  return contained;
}

/// Sizes of tiles along an axis: one that divides it if it is not too small.
int64_t Generator::tileOf(int64_t length, int64_t most) {
  for (int64_t size = most; 2 * size > most; --size)
    if (length % size == 0)
      return size;
  return std::min(length, most);
}

std::pair<int64_t, int64_t> Generator::tileShape(int64_t rows,
                                                 int64_t columns) {
  int64_t width = columns == 1 ? 1 : tileOf(columns, rows == 1 ? maxTile : 4);
  return {tileOf(rows, std::max<int64_t>(1, maxTile / width)), width};
}

/// Tiles along an axis: start and size of each, the last may be smaller.
void Generator::tiles(int64_t length, int64_t size,
                      llvm::function_ref<void(Value, int64_t)> body) {
  int64_t whole = length / size * size;
  if (whole == size)
    body(constant(0), size);
  else if (whole)
    fold(constant(0), constant(whole), size, {},
         [&](Value start, ValueRange) -> SmallVector<Value> {
           body(start, size);
           return {};
         });
  if (whole < length)
    body(constant(whole), length - whole);
}

LogicalResult Generator::emitReduceOver(trl::ReduceOverOp reduce) {
  if (reduce.getReduction() == trl::Reduction::argmax)
    return emitArgmaxOver(reduce);
  trl::Reduction kind = reduce.getReduction();
  Laned laned = lanedBinder(reduce);
  auto yields =
      reduce.getYield().getValues().take_front(reduce.getNumResults());
  int64_t elements = 0;
  for (Value value : yields)
    elements += cast<RankedTensorType>(value.getType()).getNumElements();

  // Runs `emit` with the binder's lanes on, and again for what they leave over.
  auto inLanes = [&](llvm::function_ref<LogicalResult(bool rest)> emit,
                     llvm::function_ref<void()> join) {
    if (laned.binder < 0)
      return emit(false);
    std::string name =
        cast<trl::IterAttr>(reduce.getBinders()[laned.binder]).getName().str();
    lanes = laned.lanes;
    addVarying(reduce.getBody().front(), {{name, Variance::Consecutive}},
               varying);
    LogicalResult result = emit(false);
    join();
    lanes = 1;
    if (failed(result))
      return failure();
    auto iter = cast<trl::IterAttr>(reduce.getBinders()[laned.binder]);
    auto length = (iter.getHi().getExpr() - iter.getLo().getExpr()).getConst();
    if (length && *length % laned.lanes == 0)
      return success();
    return emit(true);
  };

  // The elements picked, in registers.
  using Pick = std::function<Value(Value sum)>;
  auto reduceInRegisters = [&](ArrayRef<unsigned> results, ArrayRef<Pick> picks,
                               SmallVectorImpl<Value> &sums) {
    return inLanes(
        [&](bool rest) {
          if (!rest)
            for (unsigned r : results) {
              Type type =
                  cast<RankedTensorType>(yields[r].getType()).getElementType();
              Value first = initial(kind, type);
              bool wide = laned.binder >= 0 || isVarying(reduce.getResult(r));
              sums.push_back(wide ? splat(first) : first);
            }
          return emitNest(reduce, sums, rest,
                          [&](SmallVectorImpl<Value> &so, Value filter) {
                            for (auto [sum, pick] : llvm::zip(so, picks)) {
                              Value next = pick(sum);
                              sum = filter ? select(filter, next, sum) : next;
                            }
                          });
        },
        [&] {
          for (Value &sum : sums)
            sum = combineLanes(kind, sum);
        });
  };
  auto take = [&](unsigned r, Value row, Value column) -> Pick {
    return [this, kind, yields, r, row, column](Value sum) -> Value {
      Operand operand = get(yields[r]);
      if (!column)
        return combine(kind, sum, element(operand, row));
      if (operand.factors && kind == trl::Reduction::sum) {
        auto [x, y] = operand.factors(row, column);
        return multiplyAdd(x, y, sum);
      }
      return combine(kind, sum, pairElement(operand, row, column));
    };
  };

  if (elements <= maxTile) {
    SmallVector<unsigned> results;
    SmallVector<Pick> picks;
    for (auto [r, value] : llvm::enumerate(yields))
      for (int64_t k = 0;
           k < cast<RankedTensorType>(value.getType()).getNumElements(); ++k) {
        results.push_back(static_cast<unsigned>(r));
        picks.push_back(take(static_cast<unsigned>(r), constant(k), Value()));
      }
    SmallVector<Value> sums;
    if (failed(reduceInRegisters(results, picks, sums)))
      return failure();
    unsigned next = 0;
    for (auto [r, result] : llvm::enumerate(reduce.getResults())) {
      auto type = cast<RankedTensorType>(result.getType());
      if (type.getRank() == 0) {
        define(result, sums[next++]);
        continue;
      }
      Operand to = scratch(type, isVarying(result));
      for (int64_t k = 0; k < type.getNumElements(); ++k)
        put(to, constant(k), sums[next++]);
      define(result, to);
    }
    return success();
  }

  if (isCheap(reduce.getBody().front())) {
    LogicalResult emitted = success();
    for (auto [r, result] : llvm::enumerate(reduce.getResults())) {
      auto type = cast<RankedTensorType>(result.getType());
      Operand to = scratch(type, isVarying(result));
      bool matrix = type.getRank() == 2;
      int64_t columns = matrix ? type.getDimSize(1) : 1,
              rows = matrix ? type.getDimSize(0) : type.getNumElements();
      auto [height, width] = tileShape(rows, columns);
      auto band = [&, width = width](Value i, int64_t tall) {
        tiles(columns, width, [&](Value j, int64_t wide) {
          SmallVector<unsigned> results(tall * wide, static_cast<unsigned>(r));
          SmallVector<Pick> picks;
          SmallVector<Value> places;
          for (int64_t di = 0; di < tall; ++di)
            for (int64_t dj = 0; dj < wide; ++dj) {
              Value row = add(i, constant(di)), column = add(j, constant(dj));
              picks.push_back(take(static_cast<unsigned>(r), row,
                                   matrix ? column : Value()));
              places.push_back(matrix ? linear(type.getShape(), {row, column})
                                      : row);
            }
          SmallVector<Value> sums;
          if (failed(reduceInRegisters(results, picks, sums))) {
            emitted = failure();
            return;
          }
          for (auto [sum, place] : llvm::zip(sums, places))
            put(to, place, sum);
        });
      };
      int64_t whole = rows / height;
      if (whole > 1 && isSelfContained(reduce.getBody()) &&
          isWorthThreads(estimateWork(reduce, scope.ranges))) {
        inThreads(constant(whole), reduce, to.value, [&](Value lo, Value hi) {
          loop(lo, hi,
               [&](Value n) { band(multiply(n, constant(height)), height); });
        });
        if (whole * height < rows)
          band(constant(whole * height), rows - whole * height);
      } else {
        tiles(rows, height, band);
      }
      define(result, to);
    }
    return emitted;
  }

  // In memory.
  SmallVector<Operand> held;
  SmallVector<Value> none;
  LogicalResult result = inLanes(
      [&](bool rest) {
        if (!rest)
          for (auto [value, result] : llvm::zip(yields, reduce.getResults())) {
            auto type = cast<RankedTensorType>(value.getType());
            Operand to = scratch(type, laned.binder >= 0 || isVarying(result));
            Value neutral = initial(kind, type.getElementType());
            loop(constant(0), constant(type.getNumElements()),
                 [&](Value k) { put(to, k, neutral); });
            held.push_back(to);
          }
        return emitNest(
            reduce, none, rest, [&](SmallVectorImpl<Value> &, Value filter) {
              for (auto [value, to] : llvm::zip(yields, held)) {
                Operand operand = get(value);
                loop(constant(0), constant(to.type.getNumElements()),
                     [&, to = to](Value k) {
                       Value old = element(to, k);
                       Value next = combine(kind, old, element(operand, k));
                       put(to, k, filter ? select(filter, next, old) : next);
                     });
              }
            });
      },
      [&] {
        for (Operand &partial : held) {
          Operand to = scratch(partial.type);
          loop(constant(0), constant(to.type.getNumElements()), [&](Value k) {
            put(to, k, combineLanes(kind, element(partial, k)));
          });
          partial = to;
        }
      });
  for (auto [value, to] : llvm::zip(reduce.getResults(), held))
    if (to.isScalar())
      define(value,
             element({RankedTensorType::get({1}, to.type.getElementType()),
                      to.value, to.varying, to.stride},
                     constant(0)));
    else
      define(value, to);
  return result;
}
