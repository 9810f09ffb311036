//===- TrlDialect.td - The trl dialect ---------------------*- tablegen -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_TRL_DIALECT
#define TIMERL_TRL_DIALECT

include "mlir/IR/OpBase.td"

def Trl_Dialect : Dialect {
  let name = "trl";
  let cppNamespace = "::timerl::trl";
  let summary = "Recurrence equations over tensors indexed by symbolic dims";
  let description = [{
    A module of the `trl` dialect is a program as its author wrote it, with
    names looked up, types checked and functions inlined, and nothing
    transformed. It is a flat list of symbols:

    * `trl.dim` declares an iteration dimension and its extent;
    * `trl.arg` and `trl.input` declare run-time scalars and tensors;
    * `trl.tensor` declares a recurrent tensor: a value of one tensor type at
      each point of an integer set. A record of the source is one `trl.tensor`
      per leaf (`net.actor.0.w`);
    * `trl.equation` defines one or several recurrent tensors at the points of
      its domain; `trl.output` states what is reported or saved.

    Inside an equation's region stand pure operations on tensors (scalars have
    rank 0), and `trl.read`, which reads a recurrent tensor or an input at a
    symbolic point. Dims and binders are not SSA values: they are named in
    index expressions, attributes that print in the language's own notation.
    So a shift is `t + 1` in the source, the IR and the error message alike.

    A dim or binder is in scope inside the op that introduces it. Lengths that
    depend on dims (`x[0:t+1]`) are `?` in a tensor type whose encoding
    `#trl.shape` gives each of them as an expression.

    Semantics of values: integers wrap; integer division and remainder floor,
    and give 0 for a zero divisor; casts from float to integer round toward
    zero, saturate, and turn NaN into 0. Booleans are i1, `u8` is ui8.
  }];
  let useDefaultAttributePrinterParser = 1;
}

#endif
