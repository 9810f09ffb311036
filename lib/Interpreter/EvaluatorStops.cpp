//===- EvaluatorStops.cpp - Dims that stop early --------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include <limits>

using namespace timerl;
using namespace timerl::interp;
using llvm::ArrayRef;
using llvm::SmallVector;

PointRef Evaluator::stopRef(const IndexExpr &end,
                            ArrayRef<int64_t> environment) {
  SmallVector<int64_t> point;
  for (int slot : end.outer)
    point.push_back(environment[slot]);
  uint32_t table = program.tensors.size() + end.dim;
  return {table, tables[table].find(point)};
}

void Evaluator::advanceStop(PointRef ref, int64_t wanted) {
  const DimInfo &dim = program.dims[ref.table - program.tensors.size()];
  PointTable &until = tables[dim.until];
  SmallVector<int64_t> point(tables[ref.table].point(ref.number));
  point.push_back(0);
  PointTable::Entry &entry = tables[ref.table][ref.number];
  for (; !entry.value && entry.progress < dim.extent; ++entry.progress) {
    point.back() = entry.progress;
    uint32_t number = until.find(point);
    if (!until[number].value) {
      if (entry.progress < wanted)
        miss({static_cast<uint32_t>(dim.until), number});
      return;
    }
    if (until[number].value.getBool())
      entry.value = Array::scalar(DType::I64, entry.progress + 1);
  }
  if (!entry.value)
    entry.value = Array::scalar(DType::I64, dim.extent);
}

std::optional<bool> Evaluator::isBeforeStop(const IndexExpr &end,
                                            ArrayRef<int64_t> environment,
                                            int64_t k) {
  if (k < 0)
    return true;
  if (k >= program.dims[end.dim].extent)
    return false;
  PointRef ref = stopRef(end, environment);
  advanceStop(ref, k);
  const PointTable::Entry &entry = tables[ref.table][ref.number];
  if (entry.value)
    return k < entry.value.getInt(0);
  if (entry.progress >= k)
    return true;
  return std::nullopt;
}

static bool isStop(const IndexExpr &expr) {
  return expr.kind == Expr::Kind::Var && expr.slot < 0;
}

std::optional<bool> Evaluator::compareStop(Expr::Kind kind,
                                           const IndexExpr &sum,
                                           ArrayRef<int64_t> environment,
                                           bool &applies) {
  // sum = rest + sign * end.
  int64_t rest = sum.value, sign = 0;
  const IndexExpr *end = nullptr;
  if (sum.kind != Expr::Kind::Sum)
    return std::nullopt;
  for (auto [operand, coefficient] :
       llvm::zip(sum.operands, sum.coefficients)) {
    if (isStop(operand)) {
      if (end || (coefficient != 1 && coefficient != -1))
        return std::nullopt;
      end = &operand;
      sign = coefficient;
    }
  }
  if (!end)
    return std::nullopt;
  applies = true;
  for (auto [operand, coefficient] :
       llvm::zip(sum.operands, sum.coefficients)) {
    if (isStop(operand))
      continue;
    auto value = evaluate(operand, environment);
    if (!value)
      return std::nullopt;
    rest += *value * coefficient;
  }
  auto before = [&](int64_t k) { return isBeforeStop(*end, environment, k); };
  if (kind == Expr::Kind::Ge) {
    if (sign > 0) // end >= -rest
      return before(-rest - 1);
    auto longer = before(rest); // not rest < end
    return longer ? std::optional<bool>(!*longer) : std::nullopt;
  }
  int64_t k = sign > 0 ? -rest : rest; // k - 1 < end and not k < end
  auto reaches = before(k - 1);
  if (!reaches || !*reaches)
    return reaches;
  auto passes = before(k);
  return passes ? std::optional<bool>(!*passes) : std::nullopt;
}

std::optional<bool> Evaluator::isBelow(const IndexExpr &bound,
                                       ArrayRef<int64_t> environment,
                                       int64_t k) {
  if (isStop(bound))
    return isBeforeStop(bound, environment, k);
  // k < bound is bound - k - 1 >= 0.
  if (bound.kind == Expr::Kind::Sum) {
    IndexExpr sum = bound;
    sum.value -= k + 1;
    bool applies = false;
    auto holds = compareStop(Expr::Kind::Ge, sum, environment, applies);
    if (applies)
      return holds;
  }
  auto value = evaluate(bound, environment);
  return value ? std::optional<bool>(k < *value) : std::nullopt;
}

bool Evaluator::attemptStop(PointRef ref) {
  advanceStop(ref, std::numeric_limits<int64_t>::max());
  return bool(tables[ref.table][ref.number].value);
}
