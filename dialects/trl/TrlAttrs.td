//===- TrlAttrs.td - Attributes of the trl dialect ---------*- tablegen -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_TRL_ATTRS
#define TIMERL_TRL_ATTRS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/EnumAttr.td"
include "trl/TrlDialect.td"

class Trl_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Trl_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

// The text of an expression is canonical (see Expr.h), so it is its identity:
// uniquing, printing, bytecode and equality all go by it.
def Trl_ExprAttr : Trl_Attr<"Expr", "expr"> {
  let summary = "An index expression or a condition over named dims";
  let parameters = (ins StringRefParameter<"canonical text">:$text);
  let assemblyFormat = "`<` $text `>`";
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins "const ::timerl::Expr &":$expr), [{
    return $_get($_ctxt, expr.str());
  }]>];
  let extraClassDeclaration = [{
    /// The expression as a tree.
    ::timerl::Expr getExpr() const;
  }];
}

def Trl_IterAttr : Trl_Attr<"Iter", "iter"> {
  let summary = "A dim or binder with its half-open range";
  let parameters = (ins "::mlir::StringAttr":$name, "ExprAttr":$lo, "ExprAttr":$hi);
  let assemblyFormat = "`<` $name `,` $lo `,` $hi `>`";
}
def Trl_IterArrayAttr : TypedArrayAttrBase<Trl_IterAttr, "iterators, outermost first">;

def Trl_AtAttr : Trl_Attr<"At", "at"> {
  let summary = "One index of a bracket: a symbolic point";
  let parameters = (ins "ExprAttr":$index);
  let assemblyFormat = "`<` $index `>`";
}
def Trl_RangeAttr : Trl_Attr<"Range", "range"> {
  let summary = "One index of a bracket: the half-open range lo:hi, a leading axis of the result";
  let parameters = (ins "ExprAttr":$lo, "ExprAttr":$hi);
  let assemblyFormat = "`<` $lo `,` $hi `>`";
}
def Trl_DynamicAttr : Trl_Attr<"Dynamic", "dynamic"> {
  let summary = "One index of a bracket: the next dynamic operand, which lies in lo:hi";
  let description = [{
    The half-open bounds hold by derivation from the index's computation, or
    are declared (`checked`) and tested at run time. A missing range is written
    as an empty one, `0:0`, and means that none is known yet.
  }];
  let parameters = (ins "ExprAttr":$lo, "ExprAttr":$hi, "bool":$checked);
  let assemblyFormat = "`<` $lo `,` $hi `,` $checked `>`";
}

def Trl_ShapeAttr : Trl_Attr<"Shape", "shape", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "Encoding of a tensor type whose dynamic lengths depend on dims";
  let description = [{
    One expression an axis, constants for static ones. Only types with a `?`
    carry it, so that static shapes stay plain builtin tensors.
  }];
  let parameters = (ins ArrayRefParameter<"ExprAttr">:$lengths);
  let assemblyFormat = "`<` `[` custom<Lengths>($lengths) `]` `>`";
}

class Trl_Enum<string name, string summary, list<string> cases>
    : I32EnumAttr<name, summary, !foreach(k, !range(!size(cases)), I32EnumAttrCase<cases[k], k>)> {
  let cppNamespace = "::timerl::trl";
  let genSpecializedAttr = 0;
}
class Trl_EnumAttr<I32EnumAttr enum, string attrMnemonic> : EnumAttr<Trl_Dialect, enum, attrMnemonic> {
  let assemblyFormat = "$value";
}

def Trl_Reduction : Trl_Enum<"Reduction", "reduction",
    ["sum", "prod", "max", "min", "any", "all", "argmax"]>;
def Trl_ReductionAttr : Trl_EnumAttr<Trl_Reduction, "reduction">;
def Trl_Predicate : Trl_Enum<"Predicate", "comparison", ["eq", "ne", "lt", "le", "gt", "ge"]>;
def Trl_PredicateAttr : Trl_EnumAttr<Trl_Predicate, "predicate">;
def Trl_Draw : Trl_Enum<"Draw", "random distribution", ["uniform", "normal", "randint", "permutation"]>;
def Trl_DrawAttr : Trl_EnumAttr<Trl_Draw, "draw">;
def Trl_OutputKind : Trl_Enum<"OutputKind", "output", ["report", "save"]>;
def Trl_OutputKindAttr : Trl_EnumAttr<Trl_OutputKind, "output">;

#endif
