//===- Ranges.cpp - What is known of computed indices ---------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Poly/Ranges.h"
#include "trl/TrlDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <set>

using namespace mlir;
using namespace timerl;
using namespace timerl::trl;

using Bound = std::optional<Expr>;

namespace {

/// Least and greatest value, both inclusive; a missing one is not known. Of a
/// tensor, what holds of every element; of a float, bounds that are integers.
struct Interval {
  bool none = false; ///< no value reaches here, as far as is known yet
  std::optional<Expr> lo, last;

  static Interval unknown() { return {}; }
  static Interval unreached() { return {true, {}, {}}; }
  static Interval of(const Expr &expr) { return {false, expr, expr}; }
  static Interval between(int64_t lo, int64_t last) {
    return {false, Expr::constant(lo), Expr::constant(last)};
  }
  bool operator==(const Interval &other) const {
    return none == other.none && lo == other.lo && last == other.last;
  }
};

/// Dims and binders in scope at an op, each with its range.
using Bounds = llvm::StringMap<std::pair<Expr, Expr>>;

class RangeAnalysis {
public:
  explicit RangeAnalysis(ModuleOp module) : module(module) {
    for (auto equation : module.getOps<EquationOp>())
      for (unsigned k = 0; k < equation.getNumTargets(); ++k)
        definitions[equation.getTarget(k)].push_back({equation, k});
    for (auto dim : module.getOps<DimOp>())
      if (dim.getUntil())
        stops[("end(" + dim.getSymName() + ")").str()] =
            dim.getExtent().getExpr();
  }

  std::vector<Operation *> run();

private:
  using Definition = std::pair<EquationOp, unsigned>;

  Interval evaluate(Value value);
  Interval evaluateOp(OpResult result);
  Interval read(ReadOp op);
  Interval readDefinition(ReadOp op, Definition definition);
  Interval draw(RandomOp op);
  Interval reduceOver(ReduceOverOp op, unsigned position);
  Interval yielded(Region &region, unsigned position) {
    return evaluate(
        cast<YieldOp>(region.front().getTerminator()).getValues()[position]);
  }

  const Bounds &boundsAt(Operation *op);
  /// A bound of `expr` that mentions none of `names`; none when there is none.
  std::optional<Expr> eliminate(const Expr &expr, bool least,
                                ArrayRef<StringRef> names, const Bounds &bounds,
                                unsigned depth = 0);
  Interval eliminate(const Interval &interval, ArrayRef<StringRef> names,
                     const Bounds &bounds);
  bool isNonNegative(const Expr &expr, const Bounds &bounds,
                     unsigned depth = 0);
  Bound widened(const Bound &bound, bool down);
  bool isLessEqual(const Expr &a, const Expr &b, const Bounds &bounds) {
    return isNonNegative(b - a, bounds);
  }
  Expr simplify(const Expr &expr, const Bounds &bounds);
  Interval wrapped(Interval interval, Type type, const Bounds &bounds);

  ModuleOp module;
  llvm::StringMap<SmallVector<Definition>> definitions;
  llvm::StringMap<Expr> stops;
  /// Constants of the program, at which growing bounds halt for a while.
  std::set<int64_t> thresholds;
  llvm::StringMap<SmallVector<Interval>> summaries; ///< of needed tensors
  llvm::SetVector<StringAttr> needed;
  llvm::DenseMap<Value, Interval> memo; ///< of the current round
  llvm::DenseMap<Operation *, std::unique_ptr<Bounds>> boundsMemo;
};

} // namespace

//===----------------------------------------------------------------------===//
// Arithmetic of intervals
//===----------------------------------------------------------------------===//

template <typename F>
static Bound both(const Bound &a, const Bound &b, F f) {
  if (!a || !b)
    return std::nullopt;
  Expr result = f(*a, *b);
  return result.isOverflow() ? Bound() : Bound(result);
}
static Expr least(const Expr &a, const Expr &b) { return Expr::min({a, b}); }
static Expr greatest(const Expr &a, const Expr &b) { return Expr::max({a, b}); }
static Expr plus(const Expr &a, const Expr &b) { return a + b; }
static Expr minus(const Expr &a, const Expr &b) { return a - b; }

static Interval join(const Interval &a, const Interval &b) {
  if (a.none)
    return b;
  if (b.none)
    return a;
  return {false, both(a.lo, b.lo, least), both(a.last, b.last, greatest)};
}

static Bound either(const Bound &a, const Bound &b,
                    Expr (*combine)(const Expr &, const Expr &)) {
  if (!a || !b)
    return a ? a : b;
  return combine(*a, *b);
}

static Interval minimum(const Interval &a, const Interval &b) {
  return {false, both(a.lo, b.lo, least), either(a.last, b.last, least)};
}
static Interval maximum(const Interval &a, const Interval &b) {
  return {false, either(a.lo, b.lo, greatest), both(a.last, b.last, greatest)};
}

static Interval negated(const Interval &a) {
  auto minus = [](const Bound &bound) {
    return bound ? Bound(-*bound) : Bound();
  };
  return {false, minus(a.last), minus(a.lo)};
}

static std::optional<std::pair<int64_t, int64_t>>
constants(const Interval &interval) {
  if (!interval.lo || !interval.last || !interval.lo->isConst() ||
      !interval.last->isConst())
    return std::nullopt;
  return std::pair(interval.lo->value(), interval.last->value());
}

static Interval product(const Interval &a, const Interval &b) {
  auto x = constants(a), y = constants(b);
  if (x && y) {
    std::optional<int64_t> lo, last;
    for (int64_t p : {x->first, x->second})
      for (int64_t q : {y->first, y->second}) {
        int64_t value;
        if (__builtin_mul_overflow(p, q, &value))
          return Interval::unknown();
        lo = std::min(lo.value_or(value), value);
        last = std::max(last.value_or(value), value);
      }
    return Interval::between(*lo, *last);
  }
  if (x && x->first == x->second)
    return product(b, a);
  if (!y || y->first != y->second)
    return Interval::unknown();
  int64_t factor = y->first;
  auto scaled = [&](const Bound &bound) -> Bound {
    if (!bound || (*bound * factor).isOverflow())
      return std::nullopt;
    return *bound * factor;
  };
  if (factor >= 0)
    return {false, scaled(a.lo), scaled(a.last)};
  return {false, scaled(a.last), scaled(a.lo)};
}

static Interval quotient(const Interval &a, const Interval &b) {
  auto divisor = constants(b);
  if (!divisor || divisor->first <= 0)
    return Interval::unknown();
  if (divisor->first == divisor->second) {
    auto divided = [&](const Bound &bound) {
      return bound ? Bound(Expr::floorDiv(*bound, divisor->first)) : Bound();
    };
    return {false, divided(a.lo), divided(a.last)};
  }
  // Of a number that is not negative, toward zero.
  if (auto dividend = constants(a); dividend && dividend->first >= 0)
    return Interval::between(dividend->first / divisor->second,
                             dividend->second / divisor->first);
  return Interval::unknown();
}

static Interval modulo(const Interval &a, const Interval &b) {
  auto divisor = constants(b);
  if (divisor && divisor->first == divisor->second && divisor->first > 0 &&
      a.lo && a.last && *a.lo == *a.last)
    return Interval::of(Expr::mod(*a.lo, divisor->first));
  auto dividend = constants(a);
  if (divisor && dividend && divisor->first > 0 && dividend->first >= 0 &&
      dividend->second < divisor->first)
    return a; // Already smaller.
  // 0 for a zero divisor, else between 0 and the divisor, on its side.
  if (b.lo && b.lo->isConst() && b.lo->value() >= 0) {
    Bound last;
    if (b.last)
      last = Expr::max({*b.last - Expr::constant(1), Expr::constant(0)});
    return {false, Expr::constant(0), last};
  }
  return Interval::unknown();
}

//===----------------------------------------------------------------------===//
// Bounds of dims
//===----------------------------------------------------------------------===//

const Bounds &RangeAnalysis::boundsAt(Operation *op) {
  while (op && !isa<EquationOp, OutputOp, ReduceOverOp, ModuleOp>(op))
    op = op->getParentOp();
  std::unique_ptr<Bounds> &entry = boundsMemo[op];
  if (entry)
    return *entry;
  auto bounds = std::make_unique<Bounds>();
  auto add = [&](ArrayAttr iters) {
    for (auto iter : iters.getAsRange<IterAttr>())
      (*bounds)[iter.getName()] = {iter.getLo().getExpr(),
                                   iter.getHi().getExpr() - Expr::constant(1)};
  };
  if (op && !isa<ModuleOp>(op)) {
    *bounds = boundsAt(op->getParentOp());
    if (auto equation = dyn_cast<EquationOp>(op))
      add(equation.getDomain());
    else if (auto output = dyn_cast<OutputOp>(op))
      add(output.getDomain());
    else
      add(cast<ReduceOverOp>(op).getBinders());
  } else {
    for (auto &[name, extent] : stops)
      (*bounds)[name] = {Expr::constant(1), extent};
  }
  std::unique_ptr<Bounds> &slot = boundsMemo[op];
  slot = std::move(bounds);
  return *slot;
}

Bound RangeAnalysis::eliminate(const Expr &expr, bool wantLeast,
                               ArrayRef<StringRef> names, const Bounds &bounds,
                               unsigned depth) {
  auto mentionsAny = [&](const Expr &e) {
    return llvm::any_of(names,
                        [&](StringRef name) { return e.mentions(name); });
  };
  if (!mentionsAny(expr))
    return expr;
  if (depth > 20)
    return std::nullopt;
  auto operand = [&](unsigned k, bool wantLeast) {
    return eliminate(expr.operands()[k], wantLeast, names, bounds, depth + 1);
  };
  switch (expr.kind()) {
  case Expr::Kind::Var: {
    auto found = bounds.find(expr.name());
    if (found == bounds.end())
      return std::nullopt;
    const Expr &bound = wantLeast ? found->second.first : found->second.second;
    return eliminate(bound, wantLeast, names, bounds, depth + 1);
  }
  case Expr::Kind::Sum: {
    Expr sum = Expr::constant(expr.value());
    for (unsigned k = 0; k < expr.operands().size(); ++k) {
      int64_t coefficient = expr.coefficients()[k];
      Bound term = operand(k, wantLeast == (coefficient > 0));
      if (!term)
        return std::nullopt;
      sum = sum + *term * coefficient;
    }
    return sum.isOverflow() ? Bound() : Bound(sum);
  }
  case Expr::Kind::FloorDiv: {
    Bound inner = operand(0, wantLeast);
    return inner ? Bound(Expr::floorDiv(*inner, expr.value())) : Bound();
  }
  case Expr::Kind::Mod:
    return Expr::constant(wantLeast ? 0 : expr.value() - 1);
  case Expr::Kind::Min:
  case Expr::Kind::Max: {
    SmallVector<Expr> parts;
    for (unsigned k = 0; k < expr.operands().size(); ++k) {
      Bound part = operand(k, wantLeast);
      if (part)
        parts.push_back(*part);
      else if ((expr.kind() == Expr::Kind::Min) == wantLeast)
        return std::nullopt; // The unknown one may be the one that counts.
    }
    if (parts.empty())
      return std::nullopt;
    return expr.kind() == Expr::Kind::Min ? Expr::min(parts) : Expr::max(parts);
  }
  default:
    return std::nullopt;
  }
}

Interval RangeAnalysis::eliminate(const Interval &interval,
                                  ArrayRef<StringRef> names,
                                  const Bounds &bounds) {
  if (interval.none)
    return interval;
  Interval result;
  if (interval.lo)
    result.lo = eliminate(*interval.lo, true, names, bounds);
  if (interval.last)
    result.last = eliminate(*interval.last, false, names, bounds);
  return result;
}

/// Sound, not complete: alternatives of `min` and `max` are tried one by one,
/// then every name is replaced by its bound.
bool RangeAnalysis::isNonNegative(const Expr &expr, const Bounds &bounds,
                                  unsigned depth) {
  if (auto value = expr.getConst())
    return *value >= 0;
  if (expr.isOverflow() || depth > 6)
    return false;
  auto alternatives = [&](const Expr &choice, int64_t coefficient,
                          const Expr &rest) {
    bool all = (choice.kind() == Expr::Kind::Min) == (coefficient > 0);
    auto holds = [&](const Expr &operand) {
      return isNonNegative(rest + operand * coefficient, bounds, depth + 1);
    };
    return all ? llvm::all_of(choice.operands(), holds)
               : llvm::any_of(choice.operands(), holds);
  };
  auto isChoice = [](const Expr &e) {
    return e.kind() == Expr::Kind::Min || e.kind() == Expr::Kind::Max;
  };
  if (isChoice(expr))
    return alternatives(expr, 1, Expr::constant(0));
  if (expr.kind() == Expr::Kind::Sum)
    for (auto [operand, coefficient] :
         llvm::zip(expr.operands(), expr.coefficients()))
      if (isChoice(operand))
        return alternatives(operand, coefficient, expr - operand * coefficient);
  SmallVector<StringRef> known;
  for (const auto &entry : bounds)
    known.push_back(entry.first());
  auto least = eliminate(expr, true, known, bounds);
  return least && least->isConst() && least->value() >= 0;
}

Expr RangeAnalysis::simplify(const Expr &expr, const Bounds &bounds) {
  if (expr.kind() != Expr::Kind::Min && expr.kind() != Expr::Kind::Max)
    return expr;
  bool isMin = expr.kind() == Expr::Kind::Min;
  SmallVector<Expr> kept;
  for (const Expr &operand : expr.operands())
    kept.push_back(simplify(operand, bounds));
  for (unsigned k = 0; k < kept.size();) {
    bool dominated = llvm::any_of(llvm::enumerate(kept), [&](auto other) {
      if (other.index() == k)
        return false;
      return isMin ? isLessEqual(other.value(), kept[k], bounds)
                   : isLessEqual(kept[k], other.value(), bounds);
    });
    if (dominated && kept.size() > 1)
      kept.erase(kept.begin() + k);
    else
      ++k;
  }
  return isMin ? Expr::min(kept) : Expr::max(kept);
}

/// What an operation that wraps or rounds gives: its exact result, if that fits
/// the type for certain, and else any value.
Interval RangeAnalysis::wrapped(Interval interval, Type type,
                                const Bounds &bounds) {
  if (interval.none)
    return interval;
  auto integer =
      dyn_cast<IntegerType>(cast<RankedTensorType>(type).getElementType());
  if (!integer) {
    // Floats round, but are exact up to 2^24.
    Expr exact = Expr::constant(int64_t(1) << 24);
    if (interval.lo && interval.last &&
        isLessEqual(-exact, *interval.lo, bounds) &&
        isLessEqual(*interval.last, exact, bounds))
      return interval;
    return Interval::unknown();
  }
  bool isUnsigned = integer.isUnsigned() || integer.getWidth() == 1;
  unsigned bits = isUnsigned ? integer.getWidth() : integer.getWidth() - 1;
  Expr high = Expr::constant(bits >= 63 ? INT64_MAX : (int64_t(1) << bits) - 1);
  Expr low = isUnsigned ? Expr::constant(0) : -high - Expr::constant(1);
  if (interval.lo && interval.last && isLessEqual(low, *interval.lo, bounds) &&
      isLessEqual(*interval.last, high, bounds))
    return interval;
  return integer.getWidth() < 32 ? Interval{false, low, high}
                                 : Interval::unknown();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Interval RangeAnalysis::evaluate(Value value) {
  auto found = memo.find(value);
  if (found != memo.end())
    return found->second;
  auto result = dyn_cast<OpResult>(value);
  Interval interval = result ? evaluateOp(result) : Interval::unknown();
  const Bounds &bounds = boundsAt(result ? result.getOwner() : nullptr);
  if (interval.lo)
    interval.lo = simplify(*interval.lo, bounds);
  if (interval.last)
    interval.last = simplify(*interval.last, bounds);
  return memo[value] = interval;
}

static Interval ofConstant(ElementsAttr value) {
  std::optional<int64_t> lo, last;
  auto add = [&](int64_t below, int64_t above) {
    lo = std::min(lo.value_or(below), below);
    last = std::max(last.value_or(above), above);
  };
  if (auto integers = dyn_cast<DenseIntElementsAttr>(value)) {
    auto type = cast<IntegerType>(integers.getElementType());
    bool isUnsigned = type.isUnsigned() || type.getWidth() == 1;
    for (const APInt &element : integers) {
      int64_t number =
          isUnsigned ? element.getZExtValue() : element.getSExtValue();
      add(number, number);
    }
  } else if (auto floats = dyn_cast<DenseFPElementsAttr>(value)) {
    for (const APFloat &element : floats) {
      double number = element.convertToDouble();
      if (!(std::abs(number) < 1e15))
        return Interval::unknown();
      add(std::floor(number), std::ceil(number));
    }
  }
  return lo ? Interval::between(*lo, *last) : Interval::unknown();
}

Interval RangeAnalysis::draw(RandomOp op) {
  switch (op.getDraw()) {
  case Draw::uniform:
    return Interval::between(0, 1);
  case Draw::normal:
    return Interval::unknown();
  case Draw::permutation: {
    Expr length = getLengths(op.getType())[0];
    return {false, Expr::constant(0), length - Expr::constant(1)};
  }
  case Draw::randint: {
    Interval from = evaluate(op.getBounds()[0]);
    Interval to = evaluate(op.getBounds()[1]);
    if (from.none || to.none)
      return Interval::unreached();
    // `lo` when the range is empty.
    Bound last;
    if (to.last) {
      last = *to.last - Expr::constant(1);
      bool full =
          from.last && to.lo &&
          isLessEqual(*from.last + Expr::constant(1), *to.lo, boundsAt(op));
      if (!full)
        last = both(last, from.last, greatest);
    }
    return {false, from.lo, last};
  }
  }
  return Interval::unknown();
}

Interval RangeAnalysis::reduceOver(ReduceOverOp op, unsigned position) {
  SmallVector<StringRef> names;
  for (auto iter : op.getBinders().getAsRange<IterAttr>())
    names.push_back(iter.getName());
  const Bounds &bounds = boundsAt(op.getYield());
  Interval result;
  switch (op.getReduction()) {
  case Reduction::argmax: {
    auto iter = cast<IterAttr>(op.getBinders()[0]);
    Expr lo = iter.getLo().getExpr();
    Expr last = iter.getHi().getExpr() - Expr::constant(1);
    bool nonEmpty = !op.getFiltered() && op.getWhen().getExpr().isTrue() &&
                    isLessEqual(lo, last, boundsAt(op->getParentOp()));
    if (!nonEmpty)
      return {false, Expr::constant(-1), Expr::max({last, Expr::constant(-1)})};
    return {false, lo, last};
  }
  case Reduction::any:
  case Reduction::all:
    return Interval::between(0, 1);
  case Reduction::max:
  case Reduction::min: {
    // Over nothing the result is the least or greatest of the type.
    bool nonEmpty =
        !op.getFiltered() && op.getWhen().getExpr().isTrue() &&
        llvm::all_of(
            op.getBinders().getAsRange<IterAttr>(), [&](IterAttr iter) {
              return isLessEqual(iter.getLo().getExpr() + Expr::constant(1),
                                 iter.getHi().getExpr(), bounds);
            });
    Interval body = yielded(op.getBody(), position);
    return nonEmpty ? eliminate(body, names, bounds) : Interval::unknown();
  }
  case Reduction::sum: {
    Expr count = Expr::constant(1);
    for (auto iter : op.getBinders().getAsRange<IterAttr>()) {
      auto next =
          Expr::mul(count, iter.getHi().getExpr() - iter.getLo().getExpr());
      if (!next || !next->isConst())
        return Interval::unknown();
      count = *next;
    }
    Interval body = eliminate(yielded(op.getBody(), position), names, bounds);
    if (body.none)
      return body;
    Interval sum = product(body, Interval::of(count));
    if (op.getFiltered() || !op.getWhen().getExpr().isTrue())
      sum = join(sum, Interval::between(0, 0)); // Fewer may count.
    return wrapped(sum, op.getResult(position).getType(), bounds);
  }
  default:
    return Interval::unknown();
  }
}

Interval RangeAnalysis::readDefinition(ReadOp op, Definition definition) {
  auto [equation, position] = definition;
  Interval interval =
      summaries[op.getSource()]
               [llvm::find(definitions[op.getSource()], definition) -
                definitions[op.getSource()].begin()];
  if (interval.none)
    return interval;
  // Dims of the definition that the read's indices determine.
  llvm::StringMap<Expr> values;
  SmallVector<Expr> targets = equation.getTargetIndices(position);
  for (auto [target, index] : llvm::zip(targets, op.getIndices())) {
    auto at = dyn_cast<AtAttr>(index);
    if (!at)
      continue;
    Expr point = at.getIndex().getExpr();
    if (target.isConst() && point.isConst() && target != point)
      return Interval::unreached();
    std::vector<std::string> variables = target.variables();
    if (variables.size() != 1)
      continue;
    Expr shift = target - Expr::var(variables[0]);
    if (shift.isConst())
      values.try_emplace(variables[0], point - shift);
  }
  SmallVector<StringRef> rest;
  const Bounds &bounds = boundsAt(equation);
  for (const auto &entry : bounds)
    if (!values.count(entry.first()) && !entry.first().starts_with("end("))
      rest.push_back(entry.first());
  // A length of a stopped dim belongs to the definition's own outer dims.
  for (const auto &entry : stops)
    rest.push_back(entry.first());
  interval = eliminate(interval, rest, bounds);
  auto moved = [&](const Bound &bound) -> Bound {
    if (!bound)
      return bound;
    return bound->substitute([&](StringRef name) -> std::optional<Expr> {
      auto found = values.find(name);
      return found == values.end() ? std::optional<Expr>() : found->second;
    });
  };
  return {false, moved(interval.lo), moved(interval.last)};
}

Interval RangeAnalysis::read(ReadOp op) {
  if (!definitions.count(op.getSource()))
    return Interval::unknown(); // An input.
  if (needed.insert(op.getSourceAttr().getAttr()))
    summaries[op.getSource()].assign(definitions[op.getSource()].size(),
                                     Interval::unreached());
  Interval result = Interval::unreached();
  for (const Definition &definition : definitions[op.getSource()])
    result = join(result, readDefinition(op, definition));
  return result;
}

Interval RangeAnalysis::evaluateOp(OpResult result) {
  Operation *op = result.getOwner();
  const Bounds &bounds = boundsAt(op);
  auto elementType = cast<RankedTensorType>(result.getType()).getElementType();
  if (elementType.isInteger(1))
    return Interval::between(0, 1);
  auto operand = [&](unsigned k) { return evaluate(op->getOperand(k)); };
  auto anyNone = [&](std::initializer_list<Interval> intervals) {
    return llvm::any_of(intervals, [](const Interval &i) { return i.none; });
  };
  auto binary = [&](llvm::function_ref<Interval(Interval, Interval)> combine,
                    bool wraps) {
    Interval a = operand(0), b = operand(1);
    if (anyNone({a, b}))
      return Interval::unreached();
    Interval combined = combine(a, b);
    return wraps ? wrapped(combined, result.getType(), bounds) : combined;
  };
  bool isFloat = isa<FloatType>(elementType);
  return TypeSwitch<Operation *, Interval>(op)
      .Case([&](ConstantOp op) { return ofConstant(op.getValue()); })
      .Case([&](IndexOp op) { return Interval::of(op.getExpr().getExpr()); })
      .Case([&](ArgValueOp op) {
        return isFloat ? Interval::unknown()
                       : Interval::of(Expr::var(op.getArg()));
      })
      .Case([&](IotaOp op) {
        Expr length = getLengths(op.getType())[op.getAxis()];
        return Interval{false, Expr::constant(0), length - Expr::constant(1)};
      })
      .Case([&](RandomOp op) { return draw(op); })
      .Case([&](ReadOp op) { return read(op); })
      .Case([&](ArgsortOp op) {
        Expr length = getLengths(op.getOperand().getType()).back();
        return Interval{false, Expr::constant(0), length - Expr::constant(1)};
      })
      .Case([&](ReduceOp op) {
        SmallVector<Expr> lengths = getLengths(op.getOperand().getType());
        if (op.getReduction() == Reduction::argmax)
          return Interval{
              false, Expr::constant(0),
              Expr::max({lengths[op.getAxes()[0]] - Expr::constant(1),
                         Expr::constant(0)})};
        bool nonEmpty = llvm::all_of(op.getAxes(), [&](int64_t axis) {
          return isLessEqual(Expr::constant(1), lengths[axis], bounds);
        });
        if (nonEmpty && (op.getReduction() == Reduction::max ||
                         op.getReduction() == Reduction::min))
          return operand(0);
        if (op.getReduction() == Reduction::sum && !isFloat) {
          Expr count = Expr::constant(1);
          for (int64_t axis : op.getAxes()) {
            auto next = Expr::mul(count, lengths[axis]);
            if (!next)
              return Interval::unknown();
            count = *next;
          }
          Interval x = operand(0);
          return x.none ? x
                        : wrapped(product(x, Interval::of(count)),
                                  result.getType(), bounds);
        }
        return Interval::unknown();
      })
      .Case([&](AddOp) {
        return binary(
            [](Interval a, Interval b) {
              return Interval{false, both(a.lo, b.lo, plus),
                              both(a.last, b.last, plus)};
            },
            true);
      })
      .Case([&](SubOp) {
        return binary(
            [](Interval a, Interval b) {
              return Interval{false, both(a.lo, b.last, minus),
                              both(a.last, b.lo, minus)};
            },
            true);
      })
      .Case([&](MulOp) { return binary(product, true); })
      .Case([&](FloorDivOp) { return binary(quotient, false); })
      .Case([&](ModOp) { return binary(modulo, false); })
      .Case([&](MinOp) { return binary(minimum, false); })
      .Case([&](MaxOp) { return binary(maximum, false); })
      .Case([&](ClipOp) {
        Interval x = operand(0), lo = operand(1), hi = operand(2);
        if (anyNone({x, lo, hi}))
          return Interval::unreached();
        return minimum(maximum(x, lo), hi);
      })
      .Case([&](NegOp) {
        Interval x = operand(0);
        return x.none ? x : wrapped(negated(x), result.getType(), bounds);
      })
      .Case([&](AbsOp) {
        Interval x = operand(0);
        if (x.none)
          return x;
        Interval either = maximum(x, negated(x));
        either.lo = either.lo ? Expr::max({*either.lo, Expr::constant(0)})
                              : Expr::constant(0);
        return wrapped(either, result.getType(), bounds);
      })
      .Case([&](CastOp op) {
        Interval x = operand(0);
        bool fromFloat = isa<FloatType>(
            cast<RankedTensorType>(op.getOperand().getType()).getElementType());
        if (x.none || isFloat)
          return x;
        if (fromFloat) // NaN becomes 0.
          x = join(x, Interval::between(0, 0));
        return wrapped(x, result.getType(), bounds);
      })
      .Case<FloorOp, CeilOp, StopGradientOp, BroadcastOp, ReshapeOp,
            TransposeOp, FillOp, ExtractOp, TakeOp>(
          [&](Operation *) { return operand(0); })
      .Case<StackOp, ConcatOp>([&](Operation *op) {
        Interval all = Interval::unreached();
        for (Value value : op->getOperands())
          all = join(all, evaluate(value));
        return all;
      })
      .Case([&](ScatterOp op) {
        if (op.getAdd())
          return Interval::unknown();
        return join(evaluate(op.getBase()), evaluate(op.getUpdates()));
      })
      .Case([&](SelectOp op) {
        return join(evaluate(op.getThen()), evaluate(op.getOtherwise()));
      })
      .Case<IfOp, CaseOp>([&](Operation *op) {
        return join(yielded(op->getRegion(0), result.getResultNumber()),
                    yielded(op->getRegion(1), result.getResultNumber()));
      })
      .Case([&](ReduceOverOp op) {
        return reduceOver(op, result.getResultNumber());
      })
      .Default([](Operation *) { return Interval::unknown(); });
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// The next constant of the program beyond a bound; none when there is no more.
Bound RangeAnalysis::widened(const Bound &bound, bool down) {
  if (!bound || !bound->isConst())
    return std::nullopt;
  auto next = thresholds.lower_bound(bound->value());
  if (!down)
    return next == thresholds.end() ? Bound() : Expr::constant(*next);
  if (next != thresholds.end() && *next == bound->value())
    return bound;
  return next == thresholds.begin() ? Bound() : Expr::constant(*--next);
}

std::vector<Operation *> RangeAnalysis::run() {
  struct Use {
    Operation *op;
    ArrayAttr indices;
    OperandRange dynamic;
  };
  std::vector<Use> uses;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto read = dyn_cast<ReadOp>(op); read && !read.getDynamic().empty())
      uses.push_back({op, read.getIndices(), read.getDynamic()});
    if (auto extract = dyn_cast<ExtractOp>(op);
        extract && !extract.getDynamic().empty())
      uses.push_back({op, extract.getIndices(), extract.getDynamic()});
  });
  constexpr unsigned maxThresholds = 100;
  module.walk([&](Operation *op) {
    std::optional<int64_t> value;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      Interval interval = ofConstant(constant.getValue());
      if (auto pair = constants(interval); pair && pair->first == pair->second)
        value = pair->first;
    } else if (auto index = dyn_cast<IndexOp>(op)) {
      value = index.getExpr().getExpr().getConst();
    }
    if (value && thresholds.size() < maxThresholds)
      thresholds.insert(*value);
  });
  // Which tensors are needed shows as values are evaluated. Their summaries
  // grow until they hold; bounds that keep growing are given up. Then two
  // rounds of recomputation win back what `min`, `%` and the like bound in any
  // case.
  constexpr unsigned precise = 4, narrowing = 2;
  bool changed;
  auto sweep = [&](bool grow, bool widen) {
    memo.clear();
    changed = false;
    for (const Use &use : uses)
      for (Value value : use.dynamic)
        evaluate(value);
    for (unsigned k = 0; k < needed.size(); ++k) { // May grow meanwhile.
      StringRef name = needed[k];
      for (unsigned d = 0; d < definitions[name].size(); ++d) {
        auto [equation, position] = definitions[name][d];
        Interval next = evaluate(equation.getYield().getValues()[position]);
        Interval &summary = summaries[name][d];
        if (grow) {
          Interval joined = join(summary, next);
          if (widen && !summary.none) {
            if (joined.lo != summary.lo)
              joined.lo = widened(joined.lo, /*down=*/true);
            if (joined.last != summary.last)
              joined.last = widened(joined.last, /*down=*/false);
          }
          next = joined;
        }
        changed |= !(next == summary);
        summary = next;
      }
    }
  };
  unsigned round = 0;
  do
    sweep(/*grow=*/true, /*widen=*/round++ >= precise);
  while (changed);
  for (unsigned round = 0; round < narrowing; ++round)
    sweep(/*grow=*/false, /*widen=*/false);
  memo.clear();

  std::vector<Operation *> unknown;
  MLIRContext *context = module.getContext();
  for (const Use &use : uses) {
    auto extract = dyn_cast<ExtractOp>(use.op);
    SmallVector<Attribute> indices(use.indices.begin(), use.indices.end());
    unsigned next = 0;
    bool complete = true;
    for (auto [axis, index] : llvm::enumerate(indices)) {
      auto dynamic = dyn_cast<DynamicAttr>(index);
      if (!dynamic)
        continue;
      Value value = use.dynamic[next++];
      if (dynamic.getChecked())
        continue;
      Interval interval = evaluate(value);
      // A value that is never there may be anything.
      if (!interval.lo || !interval.last) {
        complete = false;
        continue;
      }
      Expr lo = *interval.lo, hi = *interval.last + Expr::constant(1);
      const Bounds &bounds = boundsAt(use.op);
      if (extract) {
        Expr length = getLengths(extract.getOperand().getType())[axis];
        if (!isNonNegative(lo, bounds) || !isLessEqual(hi, length, bounds))
          continue; // Clamped.
      }
      index = DynamicAttr::get(context, ExprAttr::get(context, lo),
                               ExprAttr::get(context, hi), false);
    }
    ArrayAttr written = ArrayAttr::get(context, indices);
    if (extract)
      extract.setIndicesAttr(written);
    else
      cast<ReadOp>(use.op).setIndicesAttr(written);
    if (!complete && !extract)
      unknown.push_back(use.op);
  }
  return unknown;
}

std::vector<Operation *> poly::deriveIndexRanges(ModuleOp module) {
  return RangeAnalysis(module).run();
}
