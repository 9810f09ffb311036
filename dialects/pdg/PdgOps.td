//===- PdgOps.td - The pdg dialect -------------------------*- tablegen -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_PDG_OPS
#define TIMERL_PDG_OPS

include "mlir/IR/OpBase.td"
include "trl/TrlAttrs.td"

def Pdg_Dialect : Dialect {
  let name = "pdg";
  let cppNamespace = "::timerl::pdg";
  let summary = "A program as a polyhedral dependence graph";
  let description = [{
    A `pdg.graph` stands in a module next to the program's declarations, which
    stay in the `trl` dialect. Its nodes are equations and outputs with their
    domains as integer sets and what they read as relations, in isl's notation;
    names of dims and tensors are escaped so that isl takes them (`s.x` is
    `s_dx`). Bodies are those of the `trl` dialect.
  }];
  let dependentDialects = ["::timerl::trl::TrlDialect"];
}

class Pdg_Op<string mnemonic, list<Trait> traits = []> : Op<Pdg_Dialect, mnemonic, traits>;

def Pdg_GraphOp : Pdg_Op<"graph", [HasParent<"::mlir::ModuleOp">, NoTerminator, SingleBlock]> {
  let summary = "The nodes of a program, in its order";
  let description = [{
    `params` are the run-time integers that sets mention; `assume` is what holds
    of them.
  }];
  let arguments = (ins StrArrayAttr:$params, StrAttr:$assume);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`params` $params `assume` $assume $body attr-dict";
}

def Pdg_NodeOp : Pdg_Op<"node", [HasParent<"GraphOp">, SingleBlock]> {
  let summary = "An equation or an output: a domain, relations, and a body";
  let description = [{
    For each point of `domain`, a set whose tuple is called as the node, the node
    defines its targets, or (`output`, `label`) reports or saves the value; then
    `range` has the ranges of the output's dims.
    `reads` has one relation for each tensor or input that the body reads. It
    contains all points that may be read: the whole range of an index that is
    computed at run time.

    ```mlir
    pdg.node "E1" ["t"] on "{ E1[t] : 0 <= t <= 19 }" defines @fib["t + 2"]
        reads ["{ E1[t] -> fib[p0] : t <= p0 <= 1 + t }"] { ... }
    ```
  }];
  let arguments = (ins StrAttr:$name, StrArrayAttr:$dims, StrAttr:$domain, ArrayAttr:$targets, ArrayAttr:$indices,
                       StrArrayAttr:$reads, OptionalAttr<Trl_OutputKindAttr>:$output, OptionalAttr<StrAttr>:$label,
                       OptionalAttr<Trl_IterArrayAttr>:$range);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name $dims `on` $domain (`output` $output^ $label custom<Iterators>($range))?
    custom<DefinedTargets>($targets, $indices) `reads` $reads $body attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::timerl::trl::YieldOp getYield();
    /// Name of the k-th target tensor, and where it is defined.
    ::llvm::StringRef getTarget(unsigned k);
    ::llvm::SmallVector<::timerl::Expr> getTargetIndices(unsigned k);
  }];
}

#endif
