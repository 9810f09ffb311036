//===- ChooseLanes.cpp - Which loops run in lanes -------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First every buffer gets the position, if any, along which loops that may run
// in lanes go through it most often. Then each nest of loops gets the loop in
// which the most elements lie next to each other and the fewest have to be
// gathered; so do the reductions outside of such loops.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "sched/SchedDialect.h"
#include "timerl/Symbolic/Interval.h"
#include "timerl/Vectorize/Passes.h"
#include "timerl/Vectorize/Variance.h"
#include "timerl/Vectorize/Work.h"

using namespace mlir;
using namespace timerl;

namespace {

/// Where one read or write goes, seen from a loop.
struct Access {
  sched::BufferOp buffer; ///< none: an input
  double elements = 0;    ///< in the whole run of the loop
  /// The position that goes up by one from lane to lane and stays inside of
  /// the buffer, if no other position differs between lanes.
  int position = -1;
};

/// What running a loop in lanes would mean.
struct Usage {
  bool possible = true;
  std::vector<Access> accesses;
  double scalars = 0; ///< Operations on few elements, which gain by it most.
};

/// Values of fewer elements than this do not fill vectors of their own.
constexpr int64_t fewElements = 8;

class Examiner {
public:
  Examiner(ModuleOp module,
           const std::map<std::string, sched::BufferOp> &buffers)
      : module(module), buffers(buffers) {}

  Usage examine(sched::ForOp loop, const Intervals &known, double trips);
  Usage examine(trl::ReduceOverOp reduce, unsigned binder,
                const Intervals &known, double trips);

private:
  void block(Block &block, Variances variables, Intervals known, double trips);
  void body(Block &block, Variances variables, Intervals known, double trips);
  void access(StringRef tensor, ArrayAttr indices, OperandRange dynamic,
              const Variances &variables, const Intervals &known,
              int64_t elements, double trips, bool isWrite);
  void require(const Expr &expr, const Variances &variables) {
    usage.possible &= varianceOf(expr, variables) == Variance::Uniform;
  }

  ModuleOp module;
  const std::map<std::string, sched::BufferOp> &buffers;
  llvm::DenseSet<Value> varying;
  Usage usage;
};

int64_t elementsOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.hasStaticShape() ? tensor.getNumElements() : 1;
}

void bindDims(ArrayAttr dims, ArrayAttr values, const Variances &outer,
              const Intervals &outerKnown, Variances &variables,
              Intervals &known) {
  for (auto [dim, value] : llvm::zip(dims.getAsRange<StringAttr>(),
                                     values.getAsRange<trl::ExprAttr>())) {
    Variance variance = varianceOf(value.getExpr(), outer);
    if (variance != Variance::Uniform)
      variables[dim.str()] = variance;
    known.set(dim, outerKnown.of(value.getExpr()));
  }
}

} // namespace

Usage Examiner::examine(sched::ForOp loop, const Intervals &known,
                        double trips) {
  usage = Usage();
  varying.clear();
  // What is told of a length, or asked for, may differ from lane to lane.
  usage.possible = !loop.getUntil() && trl::getMentionedEnds(loop).empty();
  Variances variables{{loop.getName().str(), Variance::Consecutive}};
  Intervals inner = known;
  Interval range =
      rangeOf(loop.getLo().getExpr(), loop.getHi().getExpr(), known);
  inner.set(loop.getName(), range);
  block(loop.getBody().front(), variables, inner, trips * lengthOf(range));
  return std::move(usage);
}

Usage Examiner::examine(trl::ReduceOverOp reduce, unsigned binder,
                        const Intervals &known, double trips) {
  usage = Usage();
  varying.clear();
  usage.possible = reduce.getReduction() != trl::Reduction::argmax &&
                   trl::getMentionedEnds(reduce).empty();
  auto all = reduce.getBinders().getAsRange<trl::IterAttr>();
  SmallVector<trl::IterAttr> binders(all.begin(), all.end());
  StringRef name = binders[binder].getName();
  Variances variables{{name.str(), Variance::Consecutive}};
  Intervals inner = known;
  for (trl::IterAttr iter : binders) {
    // The laned binder goes innermost: the others must not know of it.
    if (iter != binders[binder]) {
      require(iter.getLo().getExpr(), variables);
      require(iter.getHi().getExpr(), variables);
    }
    Interval range =
        rangeOf(iter.getLo().getExpr(), iter.getHi().getExpr(), inner);
    inner.set(iter.getName(), range);
    trips *= lengthOf(range);
  }
  require(reduce.getWhen().getExpr(), variables);
  body(reduce.getBody().front(), variables, inner, trips);
  return std::move(usage);
}

void Examiner::block(Block &block, Variances variables, Intervals known,
                     double trips) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<sched::ForOp>(op)) {
      require(loop.getLo().getExpr(), variables);
      require(loop.getHi().getExpr(), variables);
      if (loop.getUntil())
        for (const Expr &index : trl::getExprs(*loop.getUntilIndices()))
          require(index, variables);
      Intervals inner = known;
      Interval range =
          rangeOf(loop.getLo().getExpr(), loop.getHi().getExpr(), known);
      inner.set(loop.getName(), range);
      this->block(loop.getBody().front(), variables, inner,
                  trips * lengthOf(range));
    } else if (auto guard = dyn_cast<sched::IfOp>(op)) {
      Expr condition = guard.getCondition().getExpr();
      require(condition, variables);
      Intervals inner = known;
      inner.assume(condition);
      this->block(guard.getBody().front(), variables, inner, trips);
    } else if (auto stmt = dyn_cast<sched::StmtOp>(op)) {
      Variances dims;
      Intervals inner;
      bindDims(stmt.getDims(), stmt.getValues(), variables, known, dims, inner);
      body(stmt.getBody().front(), dims, inner, trips);
      for (auto [value, target, indices] :
           llvm::zip(stmt.getYield().getValues(), stmt.getTargets(),
                     stmt.getIndices()))
        access(cast<FlatSymbolRefAttr>(target).getValue(),
               cast<ArrayAttr>(indices), stmt->getOperands(), dims, inner,
               elementsOf(value.getType()), trips, /*isWrite=*/true);
    } else if (auto output = dyn_cast<sched::OutputOp>(op)) {
      Variances dims;
      Intervals inner;
      bindDims(output.getDims(), output.getValues(), variables, known, dims,
               inner);
      body(output.getBody().front(), dims, inner, trips);
    }
  }
}

void Examiner::body(Block &block, Variances variables, Intervals known,
                    double trips) {
  addVarying(block, variables, varying);
  auto differs = [&](Value value) { return varying.contains(value); };
  for (Operation &op : block.without_terminator()) {
    bool any = llvm::any_of(op.getResults(), differs);
    if (any && op.getNumResults() &&
        elementsOf(op.getResultTypes()[0]) < fewElements)
      usage.scalars += trips;
    if (auto read = dyn_cast<trl::ReadOp>(op)) {
      access(read.getSource(), read.getIndices(), read.getDynamic(), variables,
             known, elementsOf(read.getType()), trips, /*isWrite=*/false);
    } else if (auto extract = dyn_cast<trl::ExtractOp>(op)) {
      for (auto range : extract.getIndices().getAsRange<Attribute>())
        if (auto slice = dyn_cast<trl::RangeAttr>(range))
          require(slice.getLo().getExpr(), variables);
    } else if (auto random = dyn_cast<trl::RandomOp>(op)) {
      require(random.getSeedOffset().getExpr(), variables);
      usage.possible &= llvm::none_of(random.getBounds(), differs);
      usage.possible &= !any || random.getDraw() != trl::Draw::permutation;
    } else if (auto sort = dyn_cast<trl::ArgsortOp>(op)) {
      usage.possible &= !any;
    } else if (auto branch = dyn_cast<trl::CaseOp>(op)) {
      Expr condition = branch.getCondition().getExpr();
      require(condition, variables);
      Intervals inner = known;
      inner.assume(condition);
      body(branch.getThen().front(), variables, inner, trips);
      inner = known;
      inner.assume(Expr::negate(condition));
      body(branch.getOtherwise().front(), variables, inner, trips);
    } else if (auto branch = dyn_cast<trl::IfOp>(op)) {
      for (Region &region : op.getRegions())
        body(region.front(), variables, known, trips);
    } else if (auto reduce = dyn_cast<trl::ReduceOverOp>(op)) {
      Variances inner = variables;
      Intervals ranges = known;
      double times = trips;
      for (auto iter : reduce.getBinders().getAsRange<trl::IterAttr>()) {
        require(iter.getLo().getExpr(), inner);
        require(iter.getHi().getExpr(), inner);
        inner.erase(iter.getName().str());
        Interval range =
            rangeOf(iter.getLo().getExpr(), iter.getHi().getExpr(), ranges);
        ranges.set(iter.getName(), range);
        times *= lengthOf(range);
      }
      require(reduce.getWhen().getExpr(), inner);
      ranges.assume(reduce.getWhen().getExpr());
      body(reduce.getBody().front(), inner, ranges, times);
    }
  }
}

void Examiner::access(StringRef tensor, ArrayAttr indices, OperandRange dynamic,
                      const Variances &variables, const Intervals &known,
                      int64_t elements, double trips, bool isWrite) {
  auto found = buffers.find(tensor.str());
  Access result;
  if (found != buffers.end())
    result.buffer = found->second;
  result.elements = trips * double(elements);
  unsigned numVarying = 0, next = 0;
  for (auto [p, index] : llvm::enumerate(indices)) {
    if (auto range = dyn_cast<trl::RangeAttr>(index)) {
      require(range.getLo().getExpr(), variables);
      continue;
    }
    auto point = dyn_cast<trl::AtAttr>(index);
    if (!point) {
      numVarying += varying.contains(dynamic[next++]);
      continue;
    }
    Expr expr = point.getIndex().getExpr();
    Variance variance = varianceOf(expr, variables);
    if (variance == Variance::Uniform)
      continue;
    ++numVarying;
    if (variance != Variance::Consecutive || !result.buffer)
      continue;
    int64_t origin = result.buffer.getOrigin()[p],
            window = result.buffer.getWindow()[p];
    if (known.of(expr).within(origin, origin + window - 1))
      result.position = static_cast<int>(p);
  }
  if (numVarying != 1)
    result.position = -1;
  // Lanes that write the same place have no order.
  usage.possible &= !isWrite || numVarying > 0;
  if (numVarying)
    usage.accesses.push_back(result);
}

namespace {

class ChooseLanes : public PassWrapper<ChooseLanes, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChooseLanes)
  ChooseLanes() = default;
  explicit ChooseLanes(unsigned lanes) { limit = lanes; }
  ChooseLanes(const ChooseLanes &other) : PassWrapper(other) {
    limit = other.limit;
  }
  StringRef getArgument() const override { return "sched-choose-lanes"; }
  StringRef getDescription() const override {
    return "Loops that run in the lanes of vectors, and buffers laid out for "
           "it";
  }
  Option<unsigned> limit{*this, "lanes",
                         llvm::cl::desc("the most lanes of a loop; 1: none"),
                         llvm::cl::init(maxLanes)};

  void runOnOperation() override {
    if (limit < 2)
      return;
    for (auto program : getOperation().getOps<sched::ProgramOp>())
      run(program);
  }

private:
  /// A loop that may run in lanes, with those inside of it.
  struct Candidate {
    Operation *op;
    unsigned binder = 0; ///< of a reduction
    int64_t length = 0;
    Usage usage;
    std::vector<Candidate> inner;
  };

  void run(sched::ProgramOp program);
  void find(Block &block, const Intervals &known, double trips,
            std::vector<Candidate> &found);
  void findReductions(Block &block, Intervals known, double trips,
                      std::vector<Candidate> &found);
  double gain(const Candidate &candidate);
  double choose(std::vector<Candidate> &candidates,
                SmallVectorImpl<Candidate *> &chosen);
  unsigned lanesFor(int64_t length);

  std::map<std::string, sched::BufferOp> buffers;
  std::map<std::string, int> minor;
};

} // namespace

/// The number of lanes that takes the fewest passes; what is left over runs
/// alone. Passes of few lanes cost a little less.
unsigned ChooseLanes::lanesFor(int64_t length) {
  unsigned best = 1;
  double least = double(length);
  for (unsigned lanes = 4; lanes <= limit && lanes <= length; lanes *= 2) {
    double cost = double(length / lanes) * (0.6 + 0.4 * lanes / maxLanes) +
                  double(length % lanes);
    if (cost < least) {
      least = cost;
      best = lanes;
    }
  }
  return best;
}

void ChooseLanes::findReductions(Block &block, Intervals known, double trips,
                                 std::vector<Candidate> &found) {
  Examiner examiner(getOperation(), buffers);
  for (Operation &op : block.without_terminator()) {
    auto reduce = dyn_cast<trl::ReduceOverOp>(op);
    if (auto branch = dyn_cast<trl::CaseOp>(op)) {
      Expr condition = branch.getCondition().getExpr();
      Intervals then = known, otherwise = known;
      then.assume(condition);
      otherwise.assume(Expr::negate(condition));
      findReductions(branch.getThen().front(), then, trips, found);
      findReductions(branch.getOtherwise().front(), otherwise, trips, found);
      continue;
    }
    if (!reduce) {
      for (Region &region : op.getRegions())
        findReductions(region.front(), known, trips, found);
      continue;
    }
    Intervals inner = known;
    std::vector<Candidate> binders;
    double times = trips;
    for (auto [k, iter] :
         llvm::enumerate(reduce.getBinders().getAsRange<trl::IterAttr>())) {
      Interval range =
          rangeOf(iter.getLo().getExpr(), iter.getHi().getExpr(), inner);
      inner.set(iter.getName(), range);
      times *= lengthOf(range);
      if (!range.lo || !range.hi || lanesFor(*range.hi - *range.lo + 1) == 1)
        continue;
      Usage usage =
          examiner.examine(reduce, static_cast<unsigned>(k), known, trips);
      if (usage.possible)
        binders.push_back({&op,
                           static_cast<unsigned>(k),
                           *range.hi - *range.lo + 1,
                           std::move(usage),
                           {}});
    }
    std::vector<Candidate> nested;
    findReductions(reduce.getBody().front(), inner, times, nested);
    if (binders.empty()) {
      llvm::append_range(found, nested);
      continue;
    }
    // Only one binder of a reduction, or those inside: the nested ones are
    // the alternative to each.
    for (Candidate &candidate : binders)
      candidate.inner = nested;
    llvm::append_range(found, binders);
  }
}

void ChooseLanes::find(Block &block, const Intervals &known, double trips,
                       std::vector<Candidate> &found) {
  Examiner examiner(getOperation(), buffers);
  for (Operation &op : block) {
    if (auto loop = dyn_cast<sched::ForOp>(op)) {
      Interval range =
          rangeOf(loop.getLo().getExpr(), loop.getHi().getExpr(), known);
      Intervals inner = known;
      inner.set(loop.getName(), range);
      std::vector<Candidate> inside;
      find(loop.getBody().front(), inner, trips * lengthOf(range), inside);
      auto lo = loop.getLo().getExpr().getConst(),
           hi = loop.getHi().getExpr().getConst();
      if (loop.getParallel() && lo && hi && lanesFor(*hi - *lo) > 1) {
        Usage usage = examiner.examine(loop, known, trips);
        if (usage.possible) {
          found.push_back(
              {&op, 0, *hi - *lo, std::move(usage), std::move(inside)});
          continue;
        }
      }
      llvm::append_range(found, inside);
    } else if (auto guard = dyn_cast<sched::IfOp>(op)) {
      Intervals inner = known;
      inner.assume(guard.getCondition().getExpr());
      find(guard.getBody().front(), inner, trips, found);
    } else if (isa<sched::StmtOp, sched::OutputOp>(op)) {
      Variances none;
      Intervals dims;
      auto stmt = dyn_cast<sched::StmtOp>(op);
      auto output = dyn_cast<sched::OutputOp>(op);
      bindDims(stmt ? stmt.getDims() : output.getDims(),
               stmt ? stmt.getValues() : output.getValues(), none, known, none,
               dims);
      findReductions(op.getRegion(0).front(), dims, trips, found);
    }
  }
}

/// Elements found next to each other, less those gathered one by one.
double ChooseLanes::gain(const Candidate &candidate) {
  double sum = candidate.usage.scalars;
  for (Access access : candidate.usage.accesses) {
    auto found = access.buffer ? minor.find(access.buffer.getTensor().str())
                               : minor.end();
    bool carried = access.position >= 0 && found != minor.end() &&
                   found->second == access.position;
    sum += carried ? access.elements : -access.elements;
  }
  return sum;
}

double ChooseLanes::choose(std::vector<Candidate> &candidates,
                           SmallVectorImpl<Candidate *> &chosen) {
  double total = 0;
  for (size_t k = 0; k < candidates.size();) {
    // Candidates of one op are alternatives.
    Candidate *best = nullptr;
    double most = 0;
    size_t end = k;
    for (; end < candidates.size() && candidates[end].op == candidates[k].op;
         ++end)
      if (double value = gain(candidates[end]); value > most) {
        most = value;
        best = &candidates[end];
      }
    SmallVector<Candidate *> inner;
    double inside = choose(candidates[k].inner, inner);
    if (best && most >= inside) {
      chosen.push_back(best);
      total += most;
    } else {
      llvm::append_range(chosen, inner);
      total += inside;
    }
    k = end;
  }
  return total;
}

void ChooseLanes::run(sched::ProgramOp program) {
  buffers.clear();
  minor.clear();
  for (auto buffer : program.getBody().front().getOps<sched::BufferOp>())
    buffers[buffer.getTensor().str()] = buffer;
  std::vector<Candidate> candidates;
  find(program.getBody().front(), Intervals(), 1, candidates);

  std::map<std::string, std::map<int, double>> votes;
  std::function<void(const std::vector<Candidate> &)> count =
      [&](const std::vector<Candidate> &list) {
        for (const Candidate &candidate : list) {
          for (Access access : candidate.usage.accesses)
            if (access.position >= 0)
              votes[access.buffer.getTensor().str()][access.position] +=
                  access.elements;
          count(candidate.inner);
        }
      };
  count(candidates);
  OpBuilder builder(program.getContext());
  for (auto &[tensor, positions] : votes) {
    double most = 0;
    for (auto &[position, weight] : positions)
      if (weight > most) {
        most = weight;
        minor[tensor] = position;
      }
  }
  SmallVector<Candidate *> chosen;
  choose(candidates, chosen);
  std::map<std::string, bool> used;
  for (Candidate *candidate : chosen) {
    unsigned lanes = lanesFor(candidate->length);
    if (auto loop = dyn_cast<sched::ForOp>(candidate->op))
      loop.setLanes(lanes);
    else
      candidate->op->setAttr("lanes",
                             builder.getDenseI64ArrayAttr(
                                 {int64_t(candidate->binder), int64_t(lanes)}));
    for (Access access : candidate->usage.accesses)
      if (access.position >= 0)
        used[access.buffer.getTensor().str()] = true;
  }
  // The layout changes only where a loop in lanes profits.
  for (auto &[tensor, position] : minor)
    if (used.count(tensor))
      buffers.at(tensor).setMinor(position);
}

std::unique_ptr<Pass> timerl::createChooseLanesPass(unsigned lanes) {
  return std::make_unique<ChooseLanes>(lanes);
}
void timerl::registerVectorize() { PassRegistration<ChooseLanes>(); }
