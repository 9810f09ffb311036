//===- CheckSchedule.cpp - Every read finds its value ---------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Accesses.h"
#include "mlir/IR/BuiltinOps.h"
#include "timerl/Check/Check.h"
#include "timerl/Poly/Convert.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <isl/ilp.h>
#include <map>
#include <memory>
#include <set>

using namespace mlir;
using namespace timerl;
using namespace timerl::check;
using namespace timerl::poly;
using timerl::check::Access;

namespace {

/// Whether one place comes before another: for certain, or in some order of the
/// iterations of parallel loops.
enum class Order { Must, May };

/// Per tensor: about a second.
constexpr uint64_t maxOperations = 10'000'000;

/// Variables that equations determine, each by an expression over the others:
/// with them gone, the sets are small and many are empty at sight.
class Solution {
public:
  /// A variable that is not to be determined.
  void keep(const std::string &name) { kept.insert(name); }

  /// Takes what it can of a conjunction, and gives the rest.
  Expr solve(ArrayRef<Expr> given) {
    SmallVector<Expr> facts;
    for (const Expr &fact : given)
      if (fact.kind() == Expr::Kind::And)
        facts.append(fact.operands().begin(), fact.operands().end());
      else
        facts.push_back(fact);
    for (unsigned k = 0; k < facts.size(); ++k) {
      Expr fact = apply(facts[k]);
      facts[k] = fact;
      if (fact.kind() != Expr::Kind::Eq)
        continue;
      const Expr &sum = fact.operands()[0];
      auto tryVariable = [&](const Expr &term, int64_t coefficient) {
        // The reader's own variables stay.
        if (term.kind() != Expr::Kind::Var || std::abs(coefficient) != 1 ||
            kept.count(term.name().str()) ||
            !(term.name().starts_with("w:") || term.name().starts_with("o:")))
          return false;
        Expr rest = (sum - term * coefficient) * -coefficient;
        if (rest.isOverflow() || rest.mentions(term.name()))
          return false;
        for (auto &[name, value] : values)
          value = substitute(value, term.name(), rest);
        values.emplace_back(term.name().str(), rest);
        return true;
      };
      bool solved = false;
      if (sum.kind() == Expr::Kind::Var)
        solved = tryVariable(sum, 1);
      else if (sum.kind() == Expr::Kind::Sum)
        for (auto [term, coefficient] :
             llvm::zip(sum.operands(), sum.coefficients()))
          if (!solved)
            solved = tryVariable(term, coefficient);
      if (solved)
        facts[k] = Expr::boolean(true);
    }
    for (Expr &fact : facts)
      fact = apply(fact);
    return Expr::conj(facts);
  }

  Expr apply(const Expr &expr) const {
    return expr.substitute([&](StringRef name) -> std::optional<Expr> {
      for (const auto &[variable, value] : values)
        if (variable == name)
          return value;
      return std::nullopt;
    });
  }

  /// The names that are left.
  SmallVector<std::string> unsolved(ArrayRef<std::string> names) const {
    SmallVector<std::string> result;
    for (const std::string &name : names)
      if (llvm::none_of(values,
                        [&](const auto &entry) { return entry.first == name; }))
        result.push_back(name);
    return result;
  }

private:
  static Expr substitute(const Expr &expr, StringRef name, const Expr &value) {
    return expr.substitute([&](StringRef other) -> std::optional<Expr> {
      return other == name ? std::optional<Expr>(value) : std::nullopt;
    });
  }
  std::vector<std::pair<std::string, Expr>> values;
  std::set<std::string> kept;
};

/// A point of a set, for messages: variables that were solved have values too.
struct Instance {
  ArrayRef<std::string> names;
  const poly::Point &point;
  const Solution &solution;

  std::string text(const Expr &expr) const {
    auto value = solution.apply(expr).evaluate(
        [&](StringRef name) -> std::optional<int64_t> {
          auto found = llvm::find(names, name);
          if (found != names.end())
            return point.coordinates[found - names.begin()];
          for (const auto &[parameter, value] : point.parameters)
            if (parameter == name)
              return value;
          return std::nullopt;
        });
    return value ? std::to_string(*value) : expr.str();
  }
};

/// An access whose variables have a prefix of their own, so that several fit
/// into one space.
struct Role {
  const Access *access;
  std::string prefix;
  Expr condition;          ///< of the access, over its own variables
  SmallVector<Expr> point; ///< likewise
  SmallVector<std::string> variables;
  Role(const Access &access, StringRef prefix)
      : access(&access), prefix(prefix), condition(in(access.condition)) {
    for (const Expr &index : access.point)
      point.push_back(in(index));
    for (const std::string &variable : access.variables)
      variables.push_back(this->prefix + variable);
  }
  Expr in(const Expr &expr) const {
    return expr.substitute([&](StringRef name) -> std::optional<Expr> {
      if (llvm::is_contained(access->variables, name))
        return Expr::var(prefix + name.str());
      return std::nullopt;
    });
  }
};

class Checker {
public:
  explicit Checker(sched::ProgramOp program)
      : program(program), accesses(program) {
    for (auto buffer : program.getOps<sched::BufferOp>())
      buffers[buffer.getTensor()] = buffer;
  }

  /// True when nothing wrong was found; else errors were emitted.
  bool run();
  /// Whether all was looked at.
  bool isComplete() const { return complete; }

private:
  SmallVector<Expr> before(const Role &a, const Role &b, Order order) const;
  bool checkWritten(StringRef tensor, const Access &read);
  bool checkFinal(StringRef tensor, const Access &read);
  bool checkKept(StringRef tensor, const Access &read, bool sameTensor);
  bool mayWrap(StringRef tensor, unsigned position);
  bool isClobbered(const Role &write, const Role &other, const Role &read,
                   const Expr &sameSlot, StringRef tensor, StringRef by);
  const std::string &key(StringRef tensor);
  /// Role `prefix` of an access.
  const Role &role(const Access &access, StringRef prefix) {
    std::unique_ptr<Role> &known = roles[{&access, prefix.str()}];
    if (!known)
      known = std::make_unique<Role>(access, prefix);
    return *known;
  }
  const Place &placeOf(const Role &role) const {
    return accesses.places[role.access->place];
  }

  sched::ProgramOp program;
  Accesses accesses;
  IslContext context;
  llvm::StringMap<sched::BufferOp> buffers;
  llvm::StringMap<SmallVector<bool>> wraps;
  llvm::StringMap<std::string> keys;
  std::map<std::pair<const Access *, std::string>, std::unique_ptr<Role>>
      roles; // looked up only
  /// Pairs of a read and a foreign write that were looked at, by their texts.
  std::set<std::string> foreign;
  /// Conditions of which no point was found, as text: different accesses often
  /// come to the same one.
  std::set<std::string> refuted;
  bool complete = true;
};

/// The ways in which `a` comes before `b`: one condition for each loop that
/// they share and that orders them, and one when they are in the same iteration
/// of all of them.
SmallVector<Expr> Checker::before(const Role &a, const Role &b,
                                  Order order) const {
  const Place &first = placeOf(a), &second = placeOf(b);
  SmallVector<Expr> ways, equal;
  for (auto [loop, other] : llvm::zip(first.loops, second.loops)) {
    if (loop.op != other.op)
      break;
    Expr x = Expr::var(a.prefix + loop.name);
    Expr y = Expr::var(b.prefix + loop.name);
    if (loop.op.getReverse())
      std::swap(x, y);
    SmallVector<Expr> way(equal);
    if (!loop.op.getParallel())
      way.push_back(Expr::lt(x, y));
    else if (order == Order::May)
      way.push_back(Expr::ne(x, y));
    if (!loop.op.getParallel() || order == Order::May)
      ways.push_back(Expr::conj(way));
    equal.push_back(Expr::eq(x, y));
  }
  if (first.order < second.order)
    ways.push_back(Expr::conj(equal));
  return ways;
}

static std::string text(const Access &access) {
  std::string result = std::to_string(access.place) + ": ";
  result += access.condition.str();
  for (const Expr &index : access.point)
    result += ", " + index.str();
  return result;
}

/// All writes of a tensor, as text: leaves of a record are written alike.
const std::string &Checker::key(StringRef tensor) {
  auto [entry, isNew] = keys.try_emplace(tensor);
  if (isNew)
    if (auto found = accesses.writes.find(tensor);
        found != accesses.writes.end())
      for (const Access &access : found->second)
        entry->second += text(access) + "; ";
  return entry->second;
}

static std::string pointText(StringRef tensor, const Role &role,
                             const Instance &at) {
  SmallVector<std::string> indices;
  for (const Expr &index : role.point)
    indices.push_back(at.text(index));
  return (tensor + "[" + llvm::join(indices, ", ") + "]").str();
}

static std::string placeText(const Place &place, const Role &role,
                             const Instance &at) {
  SmallVector<std::string> parts;
  for (const Loop &loop : place.loops)
    parts.push_back(loop.name + " = " +
                    at.text(Expr::var(role.prefix + loop.name)));
  std::string text = "'" + place.name + "'";
  if (!parts.empty())
    text += " at " + llvm::join(parts, ", ");
  return text;
}

/// The points that are there for each value of a length.
static Set whatever(const Coordinates &space, const Set &points,
                    const std::string &length, const Expr &extent) {
  unsigned place = llvm::find(space.names(), length) - space.names().begin();
  auto anyValue = [&](const Set &set) {
    return Set(isl_set_insert_dims(
        isl_set_project_out(set.copy(), isl_dim_set, place, 1), isl_dim_set,
        place, 1));
  };
  Expr variable = Expr::var(length);
  Set values = space.where(Expr::conj(
      {Expr::ge(variable, Expr::constant(1)), Expr::le(variable, extent)}));
  Set some = anyValue(points);
  return some - anyValue((some & values) - points);
}

/// At one outer point a dim has one length.
static void addLinks(const Role &a, const Role &b,
                     SmallVectorImpl<Expr> &facts) {
  for (const Length &mine : a.access->lengths)
    for (const Length &other : b.access->lengths) {
      if (mine.dim != other.dim)
        continue;
      SmallVector<Expr> ways{Expr::eq(Expr::var(a.prefix + mine.variable),
                                      Expr::var(b.prefix + other.variable))};
      for (auto [x, y] : llvm::zip(mine.at, other.at))
        ways.push_back(Expr::ne(a.in(x), b.in(y)));
      facts.push_back(Expr::disj(ways));
    }
}

/// A length is asked for when its loop has ended.
bool Checker::checkFinal(StringRef tensor, const Access &read) {
  const Role &reader = role(read, "r:");
  for (const Access &write : accesses.writes[tensor]) {
    const Role &writer = role(write, "w:");
    SmallVector<std::string> names(reader.variables);
    llvm::append_range(names, writer.variables);
    SmallVector<Expr> facts{reader.condition, writer.condition};
    for (auto [a, b] : llvm::zip(reader.point, writer.point))
      facts.push_back(Expr::eq(a, b));
    addLinks(reader, writer, facts);
    SmallVector<Expr> ways = before(reader, writer, Order::May);
    if (read.place == write.place)
      ways.push_back(Expr::boolean(true));
    Solution solution;
    Expr condition = solution.solve(facts);
    SmallVector<std::string> left = solution.unsolved(names);
    Coordinates space(context, left, accesses.parameters);
    Set common = space.where(condition);
    for (const Expr &way : ways) {
      auto point = leastPoint(common & space.where(solution.apply(way)));
      if (!point || context.failed())
        continue;
      Instance at{left, *point, solution};
      auto diagnostic = read.op->emitError("E0002: the schedule is wrong: ")
                        << pointText(tensor, reader, at) << " is asked for by "
                        << placeText(placeOf(reader), reader, at)
                        << " and counted further after";
      diagnostic.attachNote(write.op->getLoc())
          << "by " << placeText(placeOf(writer), writer, at);
      return false;
    }
  }
  return true;
}

/// Every point that is read was written before.
bool Checker::checkWritten(StringRef tensor, const Access &read) {
  const Role &reader = role(read, "r:");
  SmallVector<std::string> names(reader.variables);
  unsigned numOwn = names.size();
  SmallVector<std::string> own(names);
  Coordinates readSpace(context, own, accesses.parameters);
  Set missing = readSpace.where(reader.condition);
  auto writes = accesses.writes.find(tensor);
  if (writes != accesses.writes.end())
    for (const Access &write : writes->second) {
      const Role &writer = role(write, "w:");
      names.truncate(numOwn);
      llvm::append_range(names, writer.variables);
      // A writer's length is the reader's at the same outer point; elsewhere
      // the value must have been written whatever the length is.
      for (bool linked : {true, false}) {
        SmallVector<Expr> facts;
        for (auto [a, b] : llvm::zip(reader.point, writer.point))
          facts.push_back(Expr::eq(a, b));
        facts.push_back(writer.condition);
        SmallVector<const Length *> free;
        for (const Length &length : write.lengths) {
          auto same = llvm::find_if(read.lengths, [&](const Length &l) {
            return l.dim == length.dim;
          });
          if (!linked || same == read.lengths.end()) {
            free.push_back(&length);
            continue;
          }
          facts.push_back(Expr::eq(Expr::var(reader.prefix + same->variable),
                                   Expr::var(writer.prefix + length.variable)));
          for (auto [a, b] : llvm::zip(same->at, length.at))
            facts.push_back(Expr::eq(reader.in(a), writer.in(b)));
        }
        if (!linked && free.empty())
          break;
        Solution solution;
        for (const Length *length : free)
          solution.keep(writer.prefix + length->variable);
        Expr condition = solution.solve(facts);
        SmallVector<std::string> left = solution.unsolved(names);
        Coordinates both(context, left, accesses.parameters);
        Set common = both.where(condition);
        if (isEmpty(common))
          continue;
        for (const Expr &way : before(writer, reader, Order::Must)) {
          Set pairs = common & both.where(solution.apply(way));
          for (const Length *length : free)
            pairs = whatever(both, pairs, writer.prefix + length->variable,
                             length->extent);
          Set found(isl_set_project_out(pairs.release(), isl_dim_set, numOwn,
                                        left.size() - numOwn));
          missing = missing - found;
        }
        if (write.lengths.empty())
          break;
      }
    }
  if (context.failed())
    return true;
  auto point = leastPoint(missing);
  if (!point)
    return true;
  Solution none;
  Instance at{own, *point, none};
  read.op->emitError("E0002: the schedule is wrong: ")
      << pointText(tensor, reader, at) << " is read by "
      << placeText(placeOf(reader), reader, at)
      << " and was not written before";
  return false;
}

bool Checker::isClobbered(const Role &write, const Role &other,
                          const Role &read, const Expr &sameSlot,
                          StringRef tensor, StringRef by) {
  SmallVector<std::string> names;
  for (const Role *role : {&read, &write, &other})
    llvm::append_range(names, role->variables);
  SmallVector<Expr> first = before(write, other, Order::May);
  // What one statement stores, it stores one after the other.
  if (write.access != other.access &&
      write.access->place == other.access->place) {
    SmallVector<Expr> equal;
    for (const Loop &loop : placeOf(write).loops)
      equal.push_back(Expr::eq(Expr::var(write.prefix + loop.name),
                               Expr::var(other.prefix + loop.name)));
    first.push_back(Expr::conj(equal));
  }
  SmallVector<Expr> second = before(other, read, Order::May);
  SmallVector<Expr> required = before(write, read, Order::Must);
  if (first.empty() || second.empty() || required.empty())
    return false;
  SmallVector<Expr> facts;
  for (auto [a, b] : llvm::zip(read.point, write.point))
    facts.push_back(Expr::eq(a, b));
  facts.push_back(sameSlot);
  for (const Role *role : {&read, &write, &other})
    facts.push_back(role->condition);
  addLinks(read, write, facts);
  addLinks(read, other, facts);
  addLinks(write, other, facts);
  Solution solution;
  Expr condition = solution.solve(facts);
  for (SmallVector<Expr> *ways : {&first, &second, &required}) {
    for (Expr &way : *ways)
      way = solution.apply(way);
    llvm::erase_if(*ways, [](const Expr &way) { return way.isFalse(); });
    if (ways->empty())
      return false;
  }
  Expr question = Expr::conj(
      {condition, Expr::disj(first), Expr::disj(second), Expr::disj(required)});
  if (refuted.count(question.str()))
    return false;
  SmallVector<std::string> left = solution.unsolved(names);
  Coordinates space(context, left, accesses.parameters);
  Set common = space.where(condition);
  if (isEmpty(common))
    first.clear();
  for (const Expr &early : first) {
    Set half = common & space.where(early);
    if (isEmpty(half))
      continue;
    for (const Expr &late : second) {
      Set whole = half & space.where(late);
      if (isEmpty(whole))
        continue;
      for (const Expr &way : required) {
        auto point = leastPoint(whole & space.where(way));
        if (!point)
          continue;
        Instance at{left, *point, solution};
        auto diagnostic =
            read.access->op->emitError("E0002: the schedule is wrong: ");
        diagnostic << pointText(tensor, read, at) << ", which "
                   << placeText(placeOf(read), read, at)
                   << " reads, is overwritten before by "
                   << pointText(by, other, at);
        diagnostic.attachNote(other.access->op->getLoc())
            << "by " << placeText(placeOf(other), other, at);
        diagnostic.attachNote(write.access->op->getLoc())
            << "written by " << placeText(placeOf(write), write, at);
        return true;
      }
    }
  }
  if (!context.failed())
    refuted.insert(question.str());
  return false;
}

/// Whether two written points may differ by as much as the window there, so
/// that different points have one slot.
bool Checker::mayWrap(StringRef tensor, unsigned position) {
  auto [entry, isNew] = wraps.try_emplace(tensor);
  if (!isNew)
    return entry->second[position];
  ArrayRef<int64_t> window = buffers.lookup(tensor).getWindow();
  for (unsigned k = 0; k < window.size(); ++k) {
    std::optional<int64_t> lo, hi;
    bool bounded = true;
    for (const Access &write : accesses.writes[tensor]) {
      Coordinates space(context, write.variables, accesses.parameters);
      Set domain = space.where(write.condition);
      if (isEmpty(domain))
        continue;
      PwAff value = space.value(write.point[k]);
      Set points(isl_map_range(isl_map_intersect_domain(
          isl_map_from_pw_aff(value.release()), domain.release())));
      isl_aff *coordinate = isl_aff_var_on_domain(
          isl_local_space_from_space(isl_set_get_space(points.get())),
          isl_dim_set, 0);
      Isl<isl_val> least(isl_set_min_val(points.get(), coordinate));
      Isl<isl_val> greatest(isl_set_max_val(points.get(), coordinate));
      isl_aff_free(coordinate);
      if (!least || !greatest || isl_val_is_int(least.get()) != isl_bool_true ||
          isl_val_is_int(greatest.get()) != isl_bool_true) {
        bounded = false;
        break;
      }
      int64_t from = isl_val_get_num_si(least.get());
      int64_t to = isl_val_get_num_si(greatest.get());
      lo = std::min(lo.value_or(from), from);
      hi = std::max(hi.value_or(to), to);
    }
    wraps[tensor].push_back(!bounded || (lo && *hi - *lo >= window[k]));
  }
  return wraps[tensor][position];
}

/// Between the write and the read of a value, its slot is not written: not by
/// other values of the tensor (unless that is known), nor by other tensors.
bool Checker::checkKept(StringRef tensor, const Access &read, bool sameTensor) {
  sched::BufferOp buffer = buffers.lookup(tensor);
  const Role &reader = role(read, "r:");
  for (const Access &write : accesses.writes[tensor]) {
    const Role &writer = role(write, "w:");
    // Other values of the tensor, in the same slot.
    ArrayRef<int64_t> window = buffer.getWindow();
    for (const Access &other : accesses.writes[tensor]) {
      if (!sameTensor)
        break;
      const Role &third = role(other, "o:");
      SmallVector<Expr> same, different;
      for (unsigned k = 0; k < window.size(); ++k) {
        Expr distance = third.point[k] - reader.point[k];
        same.push_back(Expr::eq(window[k] == 1 ? Expr::constant(0)
                                               : Expr::mod(distance, window[k]),
                                Expr::constant(0)));
        different.push_back(Expr::ne(distance, Expr::constant(0)));
      }
      Expr sameSlot = Expr::conj(same);
      // One coordinate that differs is enough, and each is a case of its own.
      for (const Expr &one : different)
        if (isClobbered(writer, third, reader, Expr::conj({sameSlot, one}),
                        tensor, tensor))
          return false;
    }
    // Values of other tensors, in the same bytes.
    for (auto other : program.getOps<sched::BufferOp>()) {
      int64_t begin = other.getOffset(),
              end = begin + int64_t(other.getBytes());
      if (other == buffer || end <= int64_t(buffer.getOffset()) ||
          begin >= int64_t(buffer.getOffset() + buffer.getBytes()))
        continue;
      auto writes = accesses.writes.find(other.getTensor());
      if (writes == accesses.writes.end() ||
          !foreign
               .insert(text(read) + "|" + text(write) + "|" +
                       key(other.getTensor()))
               .second)
        continue;
      for (const Access &over : writes->second)
        if (isClobbered(writer, role(over, "o:"), reader, Expr::boolean(true),
                        tensor, other.getTensor()))
          return false;
    }
  }
  return true;
}

bool Checker::run() {
  bool holds = true;
  for (auto buffer : program.getOps<sched::BufferOp>())
    if (int64_t(buffer.getOffset() + buffer.getBytes()) >
        int64_t(program.getArena())) {
      buffer.emitError("E0002: the buffer ends behind the arena");
      holds = false;
    }
  for (sched::ForOp loop : accesses.strayLoops) {
    loop.emitError(
        "E0002: the schedule is wrong: this loop does not go through "
        "all points of the dim that it stops at");
    holds = false;
  }
  // The leaves of a record are written and read alike: once is enough.
  std::set<std::string> written, kept;
  for (auto &[tensor, reads] : accesses.reads) {
    auto declaration = SymbolTable::lookupNearestSymbolFrom(
        program, StringAttr::get(program.getContext(), tensor));
    if (isa_and_nonnull<trl::InputOp>(declaration))
      continue;
    if (!buffers.count(tensor)) {
      reads.front().op->emitError("E0002: @") << tensor << " has no buffer";
      holds = false;
      continue;
    }
    OperationLimit limit(context, maxOperations);
    std::string windows;
    for (int64_t size : buffers.lookup(tensor).getWindow())
      windows += std::to_string(size) + ", ";
    for (const Access &read : reads) {
      std::string both = text(read) + "|" + key(tensor);
      if (written.insert(both).second && !checkWritten(tensor, read)) {
        holds = false;
        break;
      }
      if (accesses.counts.contains(tensor) && !checkFinal(tensor, read)) {
        holds = false;
        break;
      }
      bool sameSlots = kept.insert(windows + both).second;
      if (!checkKept(tensor, read, sameSlots)) {
        holds = false;
        break;
      }
    }
    complete &= !context.failed();
  }
  return holds;
}

struct CheckSchedule : PassWrapper<CheckSchedule, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckSchedule)
  StringRef getArgument() const final { return "sched-check"; }
  StringRef getDescription() const final {
    return "Check that every read of a schedule finds its value";
  }
  void runOnOperation() final {
    for (auto program : getOperation().getOps<sched::ProgramOp>()) {
      Checker checker(program);
      if (!checker.run())
        signalPassFailure();
      else if (!checker.isComplete())
        program.emitWarning(
            "the schedule could not be checked within the limit "
            "on work");
    }
  }
};
} // namespace

std::unique_ptr<Pass> check::createCheckSchedulePass() {
  return std::make_unique<CheckSchedule>();
}

void check::registerPasses() {
  registerPass([] { return createCheckSchedulePass(); });
}
