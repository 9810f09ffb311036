//===- Kernels.h - Operations on arrays -------------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The meaning of each operation on values, as the `trl` dialect states it.
// Types and shapes have been checked by the dialect's verifiers.
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_INTERPRETER_KERNELS_H
#define TIMERL_LIB_INTERPRETER_KERNELS_H

#include "Program.h"

namespace timerl::interp {

using Shape = llvm::ArrayRef<int64_t>;

// Elementwise.
Array unary(Opcode code, const Array &x);
Array binary(Opcode code, const Array &x, const Array &y);
Array compare(trl::Predicate predicate, const Array &x, const Array &y);
Array clip(const Array &x, const Array &lo, const Array &hi);
Array select(const Array &condition, const Array &x, const Array &y);
Array castArray(const Array &x, DType dtype);
Array fill(const Array &value, Shape shape);
Array fromElements(mlir::ElementsAttr elements, DType dtype);

// Shapes.
/// Row-major strides in elements.
llvm::SmallVector<int64_t> stridesOf(Shape shape);
/// Where each element of the result is found in an operand of the given
/// strides: the offset `base` plus index times stride, in row-major order.
template <typename Body>
void forEachOffset(Shape shape, llvm::ArrayRef<int64_t> strides, int64_t base,
                   Body &&body) {
  int64_t size = sizeOf(shape);
  llvm::SmallVector<int64_t> index(shape.size());
  for (int64_t k = 0, offset = base; k < size; ++k) {
    body(k, offset);
    for (int64_t axis = shape.size() - 1; axis >= 0; --axis) {
      offset += strides[axis];
      if (++index[axis] < shape[axis])
        break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}
/// The operand's strides seen as the result's: 0 where an axis stretches.
llvm::SmallVector<int64_t> broadcastStrides(Shape from, Shape to);
/// The elements at `base` plus index times stride.
Array gather(const Array &x, Shape shape, llvm::ArrayRef<int64_t> strides,
             int64_t base);
Array iota(DType dtype, Shape shape, int64_t axis);
Array concat(llvm::ArrayRef<Array> parts, int64_t axis, DType dtype,
             Shape shape);
Array take(const Array &x, const Array &indices);
Array scatter(const Array &base, const Array &indices, const Array &updates,
              bool add);

// Along axes.
Array matmul(const Array &x, const Array &y, Shape shape);
Array reduce(trl::Reduction reduction, const Array &x,
             llvm::ArrayRef<int64_t> axes, DType dtype, Shape shape);
Array cumsum(const Array &x, int64_t axis, bool reverse);
Array argsort(const Array &x);

/// Elementwise running reduction. Floats are held in double and rounded once.
class Accumulator {
public:
  Accumulator(trl::Reduction reduction, DType dtype, Shape shape);
  /// Takes element `from` of `x` into element `to`; `label` is what argmax
  /// gives when this one is the maximum.
  void add(int64_t to, const Array &x, int64_t from, int64_t label = 0);
  Array finish(DType dtype) const;

private:
  trl::Reduction reduction;
  bool floating;
  llvm::SmallVector<int64_t> shape;
  std::vector<double> reals;
  std::vector<int64_t> integers, labels;
};

// Random draws.
struct RandomPlace {
  uint64_t seed, site;
  llvm::SmallVector<int64_t> point;
};
/// Draws of the declared type, held as `dtype`.
Array draw(trl::Draw kind, const RandomPlace &place, DType declared,
           DType dtype, Shape shape, int64_t lo, int64_t hi);

} // namespace timerl::interp

#endif // TIMERL_LIB_INTERPRETER_KERNELS_H
