//===- Contractions.cpp - Products of vectors and matrices ----------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop order follows from what lies contiguous in memory: where both
// operands are contiguous along the contracted axis, inner products with one
// partial sum a vector lane; else rows or columns of the result are summed as
// whole vectors. So weight matrices are read as they are stored, forward and
// (transposed) backward. The order of every sum depends on shapes alone.
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::codegen;

namespace {
/// One operand: its elements and the distance, in elements, of a step along
/// each of its two axes; 0 along one that it does not have.
struct Factor {
  Operand operand;
  Value first; ///< of this batch, in elements
  int64_t outer = 0, inner = 0;
};
} // namespace

bool Generator::isFolded(trl::TransposeOp transpose) {
  if (transpose.getPermutation() != ArrayRef<int64_t>{1, 0})
    return false;
  return llvm::all_of(transpose->getUsers(),
                      [](Operation *user) { return isa<trl::MatmulOp>(user); });
}

bool Generator::isOuterProduct(Operation &op) {
  auto matmul = dyn_cast<trl::MatmulOp>(op);
  if (!matmul || !matmul->hasOneUse())
    return false;
  auto lhs = cast<RankedTensorType>(matmul.getLhs().getType()),
       rhs = cast<RankedTensorType>(matmul.getRhs().getType());
  return lhs.getRank() == 2 && rhs.getRank() == 2 && lhs.getDimSize(1) == 1 &&
         isa<trl::YieldOp>(*matmul->user_begin());
}

Value Generator::multiplyAdd(Value x, Value y, Value sum) {
  if (isa<VectorType>(x.getType()) || isa<VectorType>(y.getType()) ||
      isa<VectorType>(sum.getType())) {
    // Vectors narrower than the lanes are partial sums of one point.
    Value &wide = isa<VectorType>(x.getType())   ? x
                  : isa<VectorType>(y.getType()) ? y
                                                 : sum;
    if (cast<VectorType>(wide.getType()).getDimSize(0) == lanes) {
      x = splat(x);
      y = splat(y);
      sum = splat(sum);
    }
  }
  if (isa<FloatType>(getElementTypeOrSelf(x.getType())))
    return math::FmaOp::create(b, loc, x, y, sum);
  return combine(trl::Reduction::sum, sum, combine(trl::Reduction::prod, x, y));
}

/// Lanes of the partial sums of an inner product: a power of two.
static int64_t lanesFor(int64_t length, Type type) {
  int64_t lanes = 1, most = 512 / type.getIntOrFloatBitWidth();
  while (lanes * 2 <= std::min(most, length))
    lanes *= 2;
  return lanes;
}

/// Up to this many vectors of one factor stay in registers.
static constexpr int64_t maxHeld = 8;

SmallVector<Value> Generator::hold(Value base, int64_t length, Type type) {
  int64_t lanes = lanesFor(length, type);
  SmallVector<Value> held;
  if (length / lanes + length % lanes > maxHeld)
    return held;
  for (int64_t k = 0; k < length; k += k + lanes <= length ? lanes : 1)
    held.push_back(
        loadLanes(base, constant(k), k + lanes <= length ? lanes : 1, type));
  return held;
}

/// The sum of x[k] * y[k] over `length` contiguous elements: partial sums by
/// lane, joined in a fixed tree, then the tail. `held` is all of y in
/// registers, or empty.
Value Generator::innerProduct(Value x, Value y, ArrayRef<Value> held,
                              int64_t length, Type type) {
  int64_t lanes = lanesFor(length, type);
  int64_t whole = lanes > 1 ? length - length % lanes : 0;
  unsigned next = 0;
  auto accumulate = [&](int64_t lo, int64_t hi, int64_t step,
                        Value sum) -> Value {
    if (lo == hi)
      return sum;
    if (!held.empty()) {
      for (int64_t k = lo; k < hi; k += step)
        sum = multiplyAdd(loadLanes(x, constant(k), step, type), held[next++],
                          sum);
      return sum;
    }
    auto loop = scf::ForOp::create(b, loc, constant(lo), constant(hi),
                                   constant(step), ValueRange{sum});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    Value added =
        multiplyAdd(loadLanes(x, k, step, type), loadLanes(y, k, step, type),
                    loop.getRegionIterArg(0));
    scf::YieldOp::create(b, loc, ValueRange{added});
    return loop.getResult(0);
  };
  Value sum = initial(trl::Reduction::sum, type);
  if (lanes > 1) {
    auto vector = VectorType::get({lanes}, type);
    Value partial = accumulate(
        0, whole, lanes,
        arith::ConstantOp::create(
            b, loc, DenseElementsAttr::get(vector, b.getZeroAttr(type))));
    for (int64_t width = lanes / 2; width >= 1; width /= 2) {
      SmallVector<int32_t> low, high;
      for (int64_t k = 0; k < width; ++k) {
        low.push_back(k);
        high.push_back(k + width);
      }
      Value a = LLVM::ShuffleVectorOp::create(b, loc, partial, partial, low);
      Value c = LLVM::ShuffleVectorOp::create(b, loc, partial, partial, high);
      partial = combine(trl::Reduction::sum, a, c);
    }
    sum = LLVM::ExtractElementOp::create(
        b, loc, partial,
        arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0)));
  }
  return accumulate(whole, length, 1, sum);
}

void Generator::emitMatmul(trl::MatmulOp matmul) {
  auto type = cast<RankedTensorType>(matmul.getType());
  Type elementType = type.getElementType();
  if (isOuterProduct(*matmul)) {
    // Vectors, whichever way they lie.
    auto vector = [&](Value value) {
      auto transpose = value.getDefiningOp<trl::TransposeOp>();
      return get(transpose && isFolded(transpose) ? transpose.getOperand()
                                                  : value);
    };
    Operand column = vector(matmul.getLhs()), row = vector(matmul.getRhs());
    Operand result{type, Value(), isVarying(matmul)};
    result.factors = [=, this](Value i, Value j) {
      return std::pair(element(column, i), element(row, j));
    };
    result.computePair = [=, this](Value i, Value j) {
      return combine(trl::Reduction::prod, element(column, i), element(row, j));
    };
    return define(matmul, result);
  }
  bool inLanes = isVarying(matmul);
  unsigned left = cast<RankedTensorType>(matmul.getLhs().getType()).getRank(),
           right = cast<RankedTensorType>(matmul.getRhs().getType()).getRank();
  auto factor = [&](Value value, bool contractsLast) {
    Factor result;
    bool transposed = false;
    if (auto transpose = value.getDefiningOp<trl::TransposeOp>())
      if (isFolded(transpose)) {
        value = transpose.getOperand();
        transposed = true;
      }
    result.operand = inMemory(get(value));
    result.first = constant(0);
    ArrayRef<int64_t> shape = result.operand.type.getShape();
    int64_t row = shape.size() == 1 ? 1 : shape.back(), column = 1;
    if (shape.size() == 1)
      column = 0;
    // Steps along the first and the second axis of the matrix.
    if (transposed)
      std::swap(row, column);
    result.inner = contractsLast && shape.size() > 1 ? column : row;
    result.outer = shape.size() == 1 ? 0 : contractsLast ? row : column;
    return result;
  };
  Factor lhs = factor(matmul.getLhs(), true),
         rhs = factor(matmul.getRhs(), false);
  int64_t inner =
      cast<RankedTensorType>(matmul.getLhs().getType()).getShape().back();
  ArrayRef<int64_t> shape = type.getShape();
  unsigned batch = shape.size() - (left > 1) - (right > 1);
  int64_t rows = left > 1 ? shape[batch] : 1,
          columns = right > 1 ? shape.back() : 1;
  Operand result = scratch(type, inLanes);
  Value base = result.value;

  loopNest(shape.take_front(batch), [&](ArrayRef<Value> at) {
    Value number = linear(shape.take_front(batch), at);
    auto scaled = [&](Value x, int64_t by) -> Value {
      return arith::MulIOp::create(b, loc, x, constant(by));
    };
    auto sum = [&](Value x, Value y) -> Value {
      return arith::AddIOp::create(b, loc, x, y);
    };
    if (left > 2)
      lhs.first = scaled(number, rows * inner);
    if (right > 2)
      rhs.first = scaled(number, inner * columns);
    Value to = scaled(number, rows * columns);
    // Where an element lies in its operand.
    auto place = [&](const Factor &f, Value outer, Value k) {
      return sum(f.first, sum(scaled(outer, f.outer), scaled(k, f.inner)));
    };
    auto target = [&](Value i, Value j) {
      return sum(to, sum(scaled(i, columns), j));
    };
    Value none = constant(0);
    if (inLanes) {
      // Tiles of the result stay in registers along the contracted axis.
      auto [height, width] = tileShape(rows, columns);
      tiles(rows, height, [&, width = width](Value i, int64_t tall) {
        tiles(columns, width, [&](Value j, int64_t wide) {
          Value zero = splat(initial(trl::Reduction::sum, elementType));
          SmallVector<Value> sums(tall * wide, zero);
          sums =
              fold(none, constant(inner), 1, sums, [&](Value k, ValueRange so) {
                SmallVector<Value> xs, ys, next;
                for (int64_t di = 0; di < tall; ++di)
                  xs.push_back(element(lhs.operand,
                                       place(lhs, sum(i, constant(di)), k)));
                for (int64_t dj = 0; dj < wide; ++dj)
                  ys.push_back(element(rhs.operand,
                                       place(rhs, sum(j, constant(dj)), k)));
                for (int64_t n = 0; n < tall * wide; ++n)
                  next.push_back(
                      multiplyAdd(xs[n / wide], ys[n % wide], so[n]));
                return next;
              });
          for (int64_t n = 0; n < tall * wide; ++n)
            put(result,
                target(sum(i, constant(n / wide)), sum(j, constant(n % wide))),
                sums[n]);
        });
      });
      return;
    }
    if (lhs.inner == 1 && rhs.inner == 1) {
      // A single column serves all rows: it is read once.
      SmallVector<Value> held;
      if (columns == 1)
        held = hold(offsetPointer(rhs.operand.value, place(rhs, none, none),
                                  elementType),
                    inner, elementType);
      loop(none, constant(rows), [&](Value i) {
        loop(none, constant(columns), [&](Value j) {
          Value x = offsetPointer(lhs.operand.value, place(lhs, i, none),
                                  elementType),
                y = offsetPointer(rhs.operand.value, place(rhs, j, none),
                                  elementType);
          store(innerProduct(x, y, held, inner, elementType), base,
                target(i, j));
        });
      });
      return;
    }
    Value zero = initial(trl::Reduction::sum, elementType);
    loop(none, constant(rows * columns),
         [&](Value n) { store(zero, base, sum(to, n)); });
    // The innermost loop goes along the result's rows or its columns.
    bool alongColumns = rhs.outer == 1 || columns > 1;
    auto update = [&](Value i, Value k, Value j) {
      Value at = target(i, j);
      store(multiplyAdd(element(lhs.operand, place(lhs, i, k)),
                        element(rhs.operand, place(rhs, j, k)),
                        load(base, at, elementType)),
            base, at);
    };
    if (alongColumns)
      loop(none, constant(rows), [&](Value i) {
        loop(none, constant(inner), [&](Value k) {
          loop(none, constant(columns), [&](Value j) { update(i, k, j); });
        });
      });
    else
      loop(none, constant(inner), [&](Value k) {
        loop(none, constant(rows), [&](Value i) { update(i, k, none); });
      });
  });
  if (type.getRank())
    return define(matmul, result);
  define(matmul, loadFrom({base, constant(0), 1, result.varying}, constant(0),
                          elementType));
}
