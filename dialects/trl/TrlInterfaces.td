//===- TrlInterfaces.td - Op interfaces of the trl dialect -*- tablegen -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_TRL_INTERFACES
#define TIMERL_TRL_INTERFACES

include "mlir/IR/OpBase.td"

def Trl_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::timerl::trl";
  let description = [{
    An op without regions that reverse-mode differentiation passes through. An
    op that does not implement it carries no cotangent when its results are
    integers or booleans, and cannot be differentiated when they are floats.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether results depend on this operand, as far as derivatives go: its
        elements are floats, and the op is no constant under differentiation.
      }], "bool", "isDifferentiable", (ins "unsigned":$operand)>,
    InterfaceMethod<[{
        Builds the product of the cotangents of the results (null for a result
        without one; at least one is there) with the Jacobian. Gives one value an
        operand, of the operand's type; null for operands that carry none.
        A cotangent of exactly 0 contributes exactly 0.
      }], "::llvm::SmallVector<::mlir::Value>", "buildVjp",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$cotangents)>
  ];
}

#endif
