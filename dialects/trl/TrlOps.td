//===- TrlOps.td - Operations of the trl dialect -----------*- tablegen -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_TRL_OPS
#define TIMERL_TRL_OPS

include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "trl/TrlAttrs.td"

class Trl_Op<string mnemonic, list<Trait> traits = []> : Op<Trl_Dialect, mnemonic, traits>;

def Trl_Tensor : RankedTensorOf<[F32, F64, I1, I32, I64, UI8]>;
def Trl_FloatTensor : RankedTensorOf<[F32, F64]>;
def Trl_IntTensor : RankedTensorOf<[I32, I64, UI8]>;
def Trl_NumberTensor : RankedTensorOf<[F32, F64, I32, I64, UI8]>;
def Trl_BoolTensor : RankedTensorOf<[I1]>;

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

class Trl_Declaration<string mnemonic> : Trl_Op<mnemonic, [Symbol, HasParent<"::mlir::ModuleOp">]>;

def Trl_DimOp : Trl_Declaration<"dim"> {
  let summary = "An iteration dimension, 0 <= name < extent";
  let description = [{
    `extent` is a constant, or mentions an integer `trl.arg` by name. A dim with
    `until` stops early: @until is a boolean tensor over the dim's outer dims and
    the dim itself (the last); the first point where it holds is the last point
    executed. The variable `end(name)` in index expressions is the number of
    points executed at the current outer dims. A `seed` dim is added to the
    run's seed and is no part of a random draw's point.

    From `pdg` on the count has a place: @counted is an i64 tensor over the outer
    dims, written anew at each point executed, and final when the loop over the
    dim has ended.

    ```mlir
    trl.dim @t extent "500" until @t.until counted @t.end
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Trl_ExprAttr:$extent,
                       OptionalAttr<FlatSymbolRefAttr>:$until, UnitAttr:$seed,
                       OptionalAttr<FlatSymbolRefAttr>:$counted);
  let assemblyFormat = [{
    $sym_name `extent` custom<ExprText>($extent) (`until` $until^ (`counted` $counted^)?)? (`seed` $seed^)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// The variable `end(name)`.
    std::string getEndName() { return ("end(" + getSymName() + ")").str(); }
    /// The dims at whose points a dim with `until` stops, each by itself.
    ::llvm::SmallVector<std::string> getOuterDims();
  }];
}

def Trl_ArgOp : Trl_Declaration<"arg"> {
  let summary = "A run-time scalar: a flag of the executable";
  let arguments = (ins SymbolNameAttr:$sym_name, TypedAttrInterface:$default_value);
  let assemblyFormat = "$sym_name `=` $default_value attr-dict";
}

def Trl_InputOp : Trl_Declaration<"input"> {
  let summary = "A tensor read from a file, over zero or more dims";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Trl_Tensor>:$type, StrArrayAttr:$over);
  let assemblyFormat = "$sym_name `:` $type `over` $over attr-dict";
}

def Trl_TensorOp : Trl_Declaration<"tensor"> {
  let summary = "A recurrent tensor: a value of one type at each point of an integer set";
  let description = [{
    Indexed by `rank` integers; the domain is the union of what its equations
    define. `positions` names each position for a reader (the dim that the
    source put there, or an empty string).
    A tensor made by the compiler, such as a local recurrence or the stop of a
    dim, is `hidden`: messages name the source construct instead.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Trl_Tensor>:$type,
                       StrArrayAttr:$positions, UnitAttr:$hidden);
  let assemblyFormat = "$sym_name $positions `:` $type (`hidden` $hidden^)? attr-dict";
  let extraClassDeclaration = [{
    /// Number of index positions.
    unsigned getRank() { return getPositions().size(); }
  }];
}

//===----------------------------------------------------------------------===//
// Equations
//===----------------------------------------------------------------------===//

def Trl_EquationOp : Trl_Op<"equation", [HasParent<"::mlir::ModuleOp">, SingleBlock]> {
  let summary = "Defines recurrent tensors at the points of a domain";
  let description = [{
    For every point of `domain` at which `when` holds, the k-th target tensor
    has, at the point given by its index expressions, the k-th yielded value.

    ```mlir
    trl.equation (b = "0 : 64", t = "0 : 500") when "t % 2 == 0" defines @s["b", "t + 1"], @y["b", "t"] {
      %0 = trl.read @s["b", "t"] : tensor<4xf32>
      ...
      trl.yield %1, %2 : tensor<4xf32>, tensor<f32>
    }
    ```
  }];
  let arguments = (ins Trl_IterArrayAttr:$domain, Trl_ExprAttr:$when, ArrayAttr:$targets, ArrayAttr:$indices);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    custom<Iterators>($domain) custom<When>($when) `defines` custom<Targets>($targets, $indices)
    $body attr-dict
  }];
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::ArrayRef<IterAttr>":$domain, "const ::timerl::Expr &":$when,
                                 "::llvm::ArrayRef<::llvm::StringRef>":$targets,
                                 "::llvm::ArrayRef<::llvm::SmallVector<::timerl::Expr>>":$indices)>];
  let extraClassDeclaration = [{
    /// Name of the k-th target tensor.
    ::llvm::StringRef getTarget(unsigned k);
    unsigned getNumTargets() { return getTargets().size(); }
    /// Where the k-th target is defined, one expression a position.
    ::llvm::SmallVector<::timerl::Expr> getTargetIndices(unsigned k);
    YieldOp getYield();
  }];
}

def Trl_OutputOp : Trl_Op<"output", [HasParent<"::mlir::ModuleOp">, SingleBlock]> {
  let summary = "A metric (`report`) or a saved tensor (`save`)";
  let description = [{
    Yields one value. `report`: a scalar at each point of the domain where
    `when` holds, in the order of the domain. `save`: the values over the
    domain become one array, the domain's dims as leading axes.
  }];
  let arguments = (ins Trl_OutputKindAttr:$kind, StrAttr:$name, Trl_IterArrayAttr:$domain, Trl_ExprAttr:$when);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind $name custom<Iterators>($domain) custom<When>($when) $body attr-dict";
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "OutputKind":$kind, "::llvm::StringRef":$name,
                                 "::llvm::ArrayRef<IterAttr>":$domain, "const ::timerl::Expr &":$when)>];
  let extraClassDeclaration = [{ YieldOp getYield(); }];
}

def Trl_YieldOp : Trl_Op<"yield", [Pure, Terminator]> {
  let summary = "The values of the enclosing region, here and in later dialects";
  let arguments = (ins Variadic<Trl_Tensor>:$values);
  let assemblyFormat = "$values `:` type($values) attr-dict";
}

//===----------------------------------------------------------------------===//
// Reads and sources of values
//===----------------------------------------------------------------------===//

def Trl_ReadOp : Trl_Op<"read", [Pure]> {
  let summary = "Reads a recurrent tensor or an input at a symbolic point";
  let description = [{
    One index a position: `#trl.at` a symbolic point, `#trl.range` a slice, which
    adds a leading axis (the first range gives the first axis), or `#trl.dynamic`
    an integer scalar operand (a gather through time).

    ```mlir
    %0 = trl.read @r["b", "t : 500", dyn "0 : 64"] (%j : tensor<i32>)
           : tensor<?xf32, #trl.shape<[<"500 - t">]>>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$source, ArrayAttr:$indices, Variadic<Trl_IntTensor>:$dynamic);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = [{
    $source custom<Indices>($indices) (`(` $dynamic^ `:` type($dynamic) `)`)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Trl_ConstantOp : Trl_Op<"constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "A tensor constant";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

def Trl_FillOp : Trl_Op<"fill", [Pure]> {
  let summary = "A tensor of any shape, dynamic ones included, with one scalar everywhere";
  let arguments = (ins Trl_Tensor:$value);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Trl_IndexOp : Trl_Op<"index", [Pure]> {
  let summary = "The value of an index expression (a number) or condition (a bool) at this point";
  let arguments = (ins Trl_ExprAttr:$expr);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = "custom<ExprText>($expr) attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Trl_ArgValueOp : Trl_Op<"arg_value", [Pure]> {
  let summary = "The value of a run-time scalar";
  let arguments = (ins FlatSymbolRefAttr:$arg);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = "$arg attr-dict `:` type($result)";
}

def Trl_IotaOp : Trl_Op<"iota", [Pure]> {
  let summary = "0, 1, 2, ... along one axis, equal along the others";
  let arguments = (ins I64Attr:$axis);
  let results = (outs Trl_NumberTensor:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def Trl_RandomOp : Trl_Op<"random", [Pure]> {
  let summary = "A counter-based random draw";
  let description = [{
    `site` identifies the draw independently of line numbers and of other
    equations: tensor, ordinal of its equation, call path, compile-time indices.
    The bits are Philox4x32-10 (Salmon et al., SC 2011) under key
    hash(seed + `seed_offset`, site), at counter (element, `point`): see
    Random.h of the runtime for the exact mapping. `point` lists the dims in
    their order of declaration, then the binders. Draws:

    * `uniform`: in [0, 1); f32 has 24 random bits, f64 53;
    * `normal`: standard normal;
    * `randint`: an integer in [lo, hi) for two integer scalar operands; lo when
      the range is empty;
    * `permutation`: of 0 .. n - 1, i32.
  }];
  let arguments = (ins Trl_DrawAttr:$draw, StrAttr:$site, ArrayAttr:$point, Trl_ExprAttr:$seed_offset,
                       Variadic<Trl_IntTensor>:$bounds);
  let results = (outs Trl_NumberTensor:$result);
  let assemblyFormat = [{
    $draw $site `at` custom<ExprList>($point) `seed` custom<ExprText>($seed_offset)
    (`(` $bounds^ `:` type($bounds) `)`)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

class Trl_Unary<string mnemonic, Type type, string what> : Trl_Op<mnemonic, [Pure, Elementwise, SameOperandsAndResultType]> {
  let summary = "Elementwise " # what;
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
def Trl_NegOp : Trl_Unary<"neg", Trl_NumberTensor, "negation; integers wrap">;
def Trl_AbsOp : Trl_Unary<"abs", Trl_NumberTensor, "absolute value">;
def Trl_ExpOp : Trl_Unary<"exp", Trl_FloatTensor, "e^x">;
def Trl_LogOp : Trl_Unary<"log", Trl_FloatTensor, "natural logarithm">;
def Trl_SqrtOp : Trl_Unary<"sqrt", Trl_FloatTensor, "square root">;
def Trl_SinOp : Trl_Unary<"sin", Trl_FloatTensor, "sine">;
def Trl_CosOp : Trl_Unary<"cos", Trl_FloatTensor, "cosine">;
def Trl_TanhOp : Trl_Unary<"tanh", Trl_FloatTensor, "hyperbolic tangent">;
def Trl_FloorOp : Trl_Unary<"floor", Trl_FloatTensor, "round down">;
def Trl_CeilOp : Trl_Unary<"ceil", Trl_FloatTensor, "round up">;
def Trl_NotOp : Trl_Unary<"not", Trl_BoolTensor, "logical not">;

class Trl_Binary<string mnemonic, Type type, string what> : Trl_Op<mnemonic, [Pure, Elementwise, SameOperandsAndResultType]> {
  let summary = "Elementwise " # what;
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}
def Trl_AddOp : Trl_Binary<"add", Trl_NumberTensor, "sum">;
def Trl_SubOp : Trl_Binary<"sub", Trl_NumberTensor, "difference">;
def Trl_MulOp : Trl_Binary<"mul", Trl_NumberTensor, "product">;
def Trl_DivOp : Trl_Binary<"div", Trl_FloatTensor, "quotient">;
def Trl_FloorDivOp : Trl_Binary<"floordiv", Trl_NumberTensor, "floor of the quotient; 0 for an integer zero divisor">;
def Trl_ModOp : Trl_Binary<"mod", Trl_NumberTensor, "x - y * floor(x / y); 0 for an integer zero divisor">;
def Trl_PowOp : Trl_Binary<"pow", Trl_NumberTensor,
    "power; integers by squaring, wrapping, 0 for a negative exponent unless the base is 1 or -1">;
def Trl_MinOp : Trl_Binary<"min", Trl_NumberTensor, "minimum; NaN if either is; on a tie half the gradient each">;
def Trl_MaxOp : Trl_Binary<"max", Trl_NumberTensor, "maximum; NaN if either is; on a tie half the gradient each">;
def Trl_AndOp : Trl_Binary<"and", Trl_BoolTensor, "logical and">;
def Trl_OrOp : Trl_Binary<"or", Trl_BoolTensor, "logical or">;
def Trl_CotangentMulOp : Trl_Binary<"cotangent_mul", Trl_FloatTensor,
    "product lhs * rhs, exactly 0 where lhs, a cotangent, is 0, even if rhs is infinite or NaN">;

def Trl_ClipOp : Trl_Op<"clip", [Pure, Elementwise, SameOperandsAndResultType]> {
  let summary = "Elementwise min(max(x, lo), hi); the gradient passes to x on the closed interval";
  let arguments = (ins Trl_NumberTensor:$operand, Trl_NumberTensor:$lo, Trl_NumberTensor:$hi);
  let results = (outs Trl_NumberTensor:$result);
  let assemblyFormat = "$operand `,` $lo `,` $hi attr-dict `:` type($result)";
}

def Trl_CompareOp : Trl_Op<"compare", [Pure, Elementwise, SameTypeOperands]> {
  let summary = "Elementwise comparison; ordered for floats, except that ne holds for NaN";
  let arguments = (ins Trl_PredicateAttr:$predicate, Trl_Tensor:$lhs, Trl_Tensor:$rhs);
  let results = (outs Trl_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}

def Trl_SelectOp : Trl_Op<"select", [Pure, Elementwise, AllTypesMatch<["then", "otherwise", "result"]>]> {
  let summary = "Elementwise choice; both sides are evaluated";
  let arguments = (ins Trl_BoolTensor:$condition, Trl_Tensor:$then, Trl_Tensor:$otherwise);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = "$condition `,` $then `,` $otherwise attr-dict `:` type($condition) `,` type($result)";
  let hasVerifier = 1;
}

def Trl_CastOp : Trl_Op<"cast", [Pure, Elementwise]> {
  let summary = "Elementwise change of element type: toward zero, saturating, NaN to 0";
  let arguments = (ins Trl_Tensor:$operand);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Trl_StopGradientOp : Trl_Op<"stop_gradient", [Pure, Elementwise, SameOperandsAndResultType]> {
  let summary = "The same value, a constant under differentiation";
  let arguments = (ins Trl_Tensor:$operand);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

def Trl_BroadcastOp : Trl_Op<"broadcast", [Pure]> {
  let summary = "NumPy broadcasting to the result's shape: axes align at the right, length 1 stretches";
  let arguments = (ins Trl_Tensor:$operand);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Trl_ReshapeOp : Trl_Op<"reshape", [Pure]> {
  let summary = "The same elements in row-major order under another shape";
  let arguments = (ins Trl_Tensor:$operand);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Trl_TransposeOp : Trl_Op<"transpose", [Pure]> {
  let summary = "Axis k of the result is axis permutation[k] of the operand";
  let arguments = (ins Trl_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = "$operand $permutation attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Trl_StackOp : Trl_Op<"stack", [Pure, SameTypeOperands]> {
  let summary = "Stacks one or more values of one type along a new leading axis";
  let arguments = (ins Variadic<Trl_Tensor>:$operands);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = "$operands attr-dict `:` type($operands) `->` type($result)";
  let hasVerifier = 1;
}

def Trl_ConcatOp : Trl_Op<"concat", [Pure]> {
  let summary = "Joins values along an existing axis";
  let arguments = (ins Variadic<Trl_Tensor>:$operands, I64Attr:$axis);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = "$operands `axis` $axis attr-dict `:` type($operands) `->` type($result)";
  let hasVerifier = 1;
}

def Trl_ExtractOp : Trl_Op<"extract", [Pure]> {
  let summary = "Indexes a value's axes: x[k], x[lo:hi], x[j]; axes without an index stay whole";
  let description = [{
    The indices are those of `trl.read`, for the leading axes; ranges keep their
    axis in place. A dynamic index without a derived range is clamped to the axis.
  }];
  let arguments = (ins Trl_Tensor:$operand, ArrayAttr:$indices, Variadic<Trl_IntTensor>:$dynamic);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = [{
    $operand custom<Indices>($indices) (`(` $dynamic^ `:` type($dynamic) `)`)? attr-dict
    `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Trl_TakeOp : Trl_Op<"take", [Pure]> {
  let summary = "result[i..., rest] = operand[indices[i...], rest]; indices are clamped to the axis";
  let arguments = (ins Trl_Tensor:$operand, Trl_IntTensor:$indices);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = "$operand `[` $indices `]` attr-dict `:` type($operand) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

def Trl_ScatterOp : Trl_Op<"scatter", [Pure, AllTypesMatch<["base", "result"]>]> {
  let summary = "base with result[indices[i]] = updates[i], in order of i";
  let description = [{
    `indices` has rank 1 (or 0: one update), updates the same leading length and
    base's trailing shape. Later updates win, or add up (`add`); an index outside
    the leading axis of base is dropped.
  }];
  let arguments = (ins Trl_Tensor:$base, Trl_IntTensor:$indices, Trl_Tensor:$updates, UnitAttr:$add);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = [{ (`add` $add^)? $base `[` $indices `]` `,` $updates attr-dict
      `:` type($base) `,` type($indices) `,` type($updates) }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Along axes
//===----------------------------------------------------------------------===//

def Trl_MatmulOp : Trl_Op<"matmul", [Pure]> {
  let summary = "NumPy's `@` on vectors and matrices, batched over equal leading axes";
  let description = [{
    Ranks 1 and 1 give the inner product, 2 and 1 and 1 and 2 the usual; higher
    ranks are batches of matrices whose leading axes have been made equal.
  }];
  let arguments = (ins Trl_NumberTensor:$lhs, Trl_NumberTensor:$rhs);
  let results = (outs Trl_NumberTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

def Trl_ReduceOp : Trl_Op<"reduce", [Pure]> {
  let summary = "Reduces axes of a value; over nothing: sum 0, prod 1, max -inf, min inf, any false, all true";
  let description = [{
    `axes` are ascending. `max`'s gradient goes to the first maximum. `argmax`
    reduces one axis to the first index of the maximum, as i32.
  }];
  let arguments = (ins Trl_ReductionAttr:$reduction, Trl_Tensor:$operand, DenseI64ArrayAttr:$axes);
  let results = (outs Trl_Tensor:$result);
  let assemblyFormat = "$reduction $operand $axes attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Trl_CumsumOp : Trl_Op<"cumsum", [Pure, SameOperandsAndResultType]> {
  let summary = "Running sum along an axis; from the end when `reverse`";
  let arguments = (ins Trl_NumberTensor:$operand, I64Attr:$axis, UnitAttr:$reverse);
  let results = (outs Trl_NumberTensor:$result);
  let assemblyFormat = "$operand `axis` $axis (`reverse` $reverse^)? attr-dict `:` type($result)";
}

def Trl_ArgsortOp : Trl_Op<"argsort", [Pure]> {
  let summary = "Stable ascending order of the last axis, NaN last, as i32";
  let arguments = (ins Trl_NumberTensor:$operand);
  let results = (outs Trl_IntTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

//===----------------------------------------------------------------------===//
// Structured control
//===----------------------------------------------------------------------===//

def Trl_ReduceOverOp : Trl_Op<"reduce_over", [Pure, SingleBlock]> {
  let summary = "Reduces a body over binders";
  let description = [{
    For all values of the binders, outermost first, at which `when` holds (and,
    if `filtered`, the last yielded value, a boolean scalar, is true), reduces the
    yielded values elementwise. A binder's range may mention dims and outer
    binders. `argmax` takes one binder and a scalar, and gives the binder's value
    at the first maximum, as i32; -1 over nothing.

    ```mlir
    %0 = trl.reduce_over sum (k = "t : 500") {
      %1 = trl.read @r["k"] : tensor<f32>
      trl.yield %1 : tensor<f32>
    } : tensor<f32>
    ```
  }];
  let arguments = (ins Trl_ReductionAttr:$reduction, Trl_IterArrayAttr:$binders, Trl_ExprAttr:$when, UnitAttr:$filtered);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Trl_Tensor>:$results);
  let assemblyFormat = [{
    $reduction custom<Iterators>($binders) custom<When>($when) (`filtered` $filtered^)? $body attr-dict `:` type($results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ YieldOp getYield(); }];
}

def Trl_IfOp : Trl_Op<"if", [Pure, SingleBlock]> {
  let summary = "The chosen branch's values; elementwise when the condition is no scalar";
  let description = [{
    Lazy in meaning: value and gradient are the chosen branch's alone. With a
    scalar condition only that branch is evaluated. With a tensor condition both
    are, each element is taken from the chosen one, and the cotangent of an
    element that was not chosen is exactly 0. Region bodies may use values from
    outside.
  }];
  let arguments = (ins Trl_BoolTensor:$condition);
  let regions = (region SizedRegion<1>:$then, SizedRegion<1>:$otherwise);
  let results = (outs Variadic<Trl_Tensor>:$results);
  let assemblyFormat = "$condition `:` type($condition) $then `else` $otherwise attr-dict `:` type($results)";
  let hasVerifier = 1;
}

def Trl_CaseOp : Trl_Op<"case", [Pure, SingleBlock]> {
  let summary = "Like `trl.if` with a condition over dims, which also limits what each branch reads";
  let arguments = (ins Trl_ExprAttr:$condition);
  let regions = (region SizedRegion<1>:$then, SizedRegion<1>:$otherwise);
  let results = (outs Variadic<Trl_Tensor>:$results);
  let assemblyFormat = "custom<ExprText>($condition) $then `else` $otherwise attr-dict `:` type($results)";
  let hasVerifier = 1;
}

def Trl_GradOp : Trl_Op<"grad", [Pure]> {
  let summary = "Gradients of a scalar tensor at a point with respect to points of tensors";
  let description = [{
    `of` at `of_indices` is a float scalar y; the k-th result is dy/dx for the leaf
    tensor `wrt[k]` at the common point `wrt_indices`, with x's type. The leaf is
    independent; everything else, other points of x included, is a function of it.

    ```mlir
    %0:2 = trl.grad @loss["i"] wrt @net.w, @net.b at ["i"] : tensor<4x2xf32>, tensor<2xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$of, ArrayAttr:$of_indices, ArrayAttr:$wrt, ArrayAttr:$wrt_indices);
  let results = (outs Variadic<Trl_FloatTensor>:$results);
  let assemblyFormat = [{
    $of custom<ExprList>($of_indices) `wrt` custom<SymbolList>($wrt) `at` custom<ExprList>($wrt_indices)
    attr-dict `:` type($results)
  }];
  let hasVerifier = 1;
}

#endif
