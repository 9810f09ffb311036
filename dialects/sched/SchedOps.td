//===- SchedOps.td - The sched dialect ---------------------*- tablegen -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_SCHED_OPS
#define TIMERL_SCHED_OPS

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "trl/TrlAttrs.td"

def Sched_Dialect : Dialect {
  let name = "sched";
  let cppNamespace = "::timerl::sched";
  let summary = "A program as loops over statements, with a place in memory for every value";
  let description = [{
    A `sched.program` stands in a module of the `trl` dialect next to the
    program's declarations (`trl.arg`, `trl.input`, `trl.tensor`), which it
    refers to by symbol. It begins with its buffers, then follow loops, guards,
    statements and outputs, executed in the order in which they stand.

    As in the `trl` dialect, loop variables are names in index expressions, not
    SSA values. A statement binds the names of its equation's dims to expressions
    over the enclosing loops' variables; its body is the equation's, unchanged.
  }];
  let dependentDialects = ["::timerl::trl::TrlDialect"];
}

class Sched_Op<string mnemonic, list<Trait> traits = []> : Op<Sched_Dialect, mnemonic, traits>;

def Sched_ProgramOp : Sched_Op<"program", [Symbol, HasParent<"::mlir::ModuleOp">, NoTerminator, SingleBlock]> {
  let summary = "The whole program, with the size of its arena in bytes";
  let description = [{
    All buffers lie in one arena, which the executable allocates once, aligned to
    64 bytes, and whose contents are undefined at the start.

    ```mlir
    sched.program @main arena 1024 {
      sched.buffer @s.x window [64, 1, 2] origin [0, 0, 0] at 0 bytes 512 live [0, 7]
      sched.for t = "0 : 500" { ... }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$arena);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `arena` $arena $body attr-dict";
  let hasVerifier = 1;
}

def Sched_BufferOp : Sched_Op<"buffer", [HasParent<"ProgramOp">]> {
  let summary = "Storage of a recurrent tensor";
  let description = [{
    The value at index (p0, p1, ...) lies in slot ((p0 - origin0) mod window0,
    (p1 - origin1) mod window1, ...). Slots are stored row-major, each holds the
    tensor's value row-major: positions first, then axes, dense. An element takes
    as many bytes as its type, a boolean one. `offset` is in bytes, a multiple of
    64.

    At most one value that is still to be read lies in a slot at any time. A
    position whose window equals its extent needs no `mod`.

    With `minor p` position p is stored innermost instead, inside of the values:
    an element of a value and the same element of its neighbour along p are next
    to each other.

    `live` is the first and the last statement or output, counted in the order of
    the program, between which the storage is this buffer's own.
  }];
  let arguments = (ins FlatSymbolRefAttr:$tensor, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$origin,
                       I64Attr:$offset, I64Attr:$bytes, DenseI64ArrayAttr:$live,
                       OptionalAttr<I64Attr>:$minor);
  let assemblyFormat = "$tensor `window` $window `origin` $origin `at` $offset `bytes` $bytes `live` $live (`minor` $minor^)? attr-dict";
  let hasVerifier = 1;
}

def Sched_ForOp : Sched_Op<"for", [NoTerminator, SingleBlock]> {
  let summary = "A loop over lo <= name < hi, ascending, or descending if `reverse`";
  let description = [{
    Bounds are expressions over the variables of enclosing loops, integer
    `trl.arg`s and `end(...)`; a range may be empty. `parallel`: iterations may
    run in any order and at the same time (buffers are wide enough for that).
    `lanes n`: n iterations run side by side, each in a lane of vectors; what is
    left over runs one by one.

    With `until @x[...]` the loop ends after the first iteration in which the
    boolean scalar stored in @x at that point, whose last index mentions the
    loop's variable, is true. @x is the `until` of a dim whose range the loop runs
    through, at one point of its outer dims.

    ```mlir
    sched.for t = "0 : 500" reverse { ... }
    ```
  }];
  let arguments = (ins StrAttr:$name, Trl_ExprAttr:$lo, Trl_ExprAttr:$hi, UnitAttr:$reverse, UnitAttr:$parallel,
                       OptionalAttr<I64Attr>:$lanes,
                       OptionalAttr<FlatSymbolRefAttr>:$until, OptionalAttr<ArrayAttr>:$until_indices);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    custom<Loop>($name, $lo, $hi) (`reverse` $reverse^)? (`parallel` $parallel^)? (`lanes` $lanes^)?
    (`until` $until^ custom<ExprList>($until_indices))? $body attr-dict
  }];
  let hasVerifier = 1;
}

def Sched_EndOp : Sched_Op<"end"> {
  let summary = "Tells the length of a dim that stops early";
  let description = [{
    From here to the end of the block, and in the blocks inside, the variable
    `end(t)` in bounds and conditions is the number of points that dim t has at
    this point of its outer dims, as it stands in the dim's `counted` tensor. The
    loop that stops has ended. In the body of a statement `end(t)` needs no such
    op: there it is the number at the point that the names in scope tell.

    ```mlir
    sched.end @t["b"]
    sched.for t = "0 : end(t)" { ... }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$dim, ArrayAttr:$indices);
  let assemblyFormat = "$dim custom<ExprList>($indices) attr-dict";
  let hasVerifier = 1;
}

def Sched_IfOp : Sched_Op<"if", [NoTerminator, SingleBlock]> {
  let summary = "A guard: a condition over the variables of enclosing loops";
  let arguments = (ins Trl_ExprAttr:$condition);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "custom<ExprText>($condition) $body attr-dict";
  let hasVerifier = 1;
}

def Sched_StmtOp : Sched_Op<"stmt", [SingleBlock]> {
  let summary = "One instance of an equation: computes values and stores them";
  let description = [{
    Binds each of its dims, all at once, to the value of an expression over the
    variables outside. Inside the body and in the indices of targets only these
    names, `trl.arg`s, `end(...)` and binders are in scope.

    All reads of the body happen before any of the statement's writes: a target
    may share its slot with a value that the body reads.

    An index of a target is a point, or a range `"0 : 64"`, which the first axes
    of the yielded value run along, in order, as in `trl.read`.

    ```mlir
    sched.stmt "s.1" (b = "b", t = "t - 1") defines @s.x["b", "t + 1"] {
      %0 = trl.read @s.x["b", "t"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, StrArrayAttr:$dims, ArrayAttr:$values, ArrayAttr:$targets, ArrayAttr:$indices);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name custom<Bindings>($dims, $values) `defines` custom<PlacedTargets>($targets, $indices) $body attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ ::timerl::trl::YieldOp getYield(); }];
}

def Sched_OutputOp : Sched_Op<"output", [SingleBlock]> {
  let summary = "One point of a report or of a saved tensor";
  let description = [{
    Binds dims as `sched.stmt` does. The points of a report come in the order in
    which they are written. `over` has the range of each dim: a saved array has
    hi - lo of each as its leading axes, and a point lies at dim - lo.

    ```mlir
    sched.output report "mean_return" (i = "i") over (i = "0 : 150") { ... trl.yield %0 : tensor<f32> }
    ```
  }];
  let arguments = (ins Trl_OutputKindAttr:$kind, StrAttr:$name, StrArrayAttr:$dims, ArrayAttr:$values,
                       Trl_IterArrayAttr:$domain);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind $name custom<Bindings>($dims, $values) `over` custom<Iterators>($domain) $body attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{ ::timerl::trl::YieldOp getYield(); }];
}

#endif
