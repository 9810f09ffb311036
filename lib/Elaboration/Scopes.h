//===- Scopes.h - RAII of an elaboration ------------------------*- C++ -*-===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TIMERL_LIB_ELABORATION_SCOPES_H
#define TIMERL_LIB_ELABORATION_SCOPES_H

#include "Elaborator.h"

namespace timerl::elaboration {

/// Elaborates for types alone: no diagnostics, and ops in a module that goes
/// away.
struct Elaborator::Scratch {
  explicit Scratch(Elaborator &elaborator)
      : elaborator(elaborator), guard(elaborator.builder),
        module(mlir::ModuleOp::create(elaborator.builder.getUnknownLoc())) {
    ++elaborator.scratchDepth;
    elaborator.builder.setInsertionPointToEnd(module->getBody());
  }
  ~Scratch() { --elaborator.scratchDepth; }
  Elaborator &elaborator;
  mlir::OpBuilder::InsertionGuard guard;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Enters one equation or output: its indices, its random site, its call path.
struct Elaborator::Inside {
  Inside(Elaborator &elaborator, std::vector<Iterator> iterators, Expr when,
         std::string site, std::vector<CallFrame> frames)
      : elaborator(elaborator), guard(elaborator.builder),
        outer(elaborator.context), outerFrames(std::move(elaborator.frames)),
        outerIndices(std::move(elaborator.compileTimeIndices)),
        outerDepth(elaborator.depth) {
    own.iterators = std::move(iterators);
    own.when = std::move(when);
    own.site = std::move(site);
    elaborator.frames = std::move(frames);
    // Sites count from the equation on: the path to it is in its own site.
    elaborator.frames.push_back(CallFrame());
    elaborator.compileTimeIndices.clear();
    elaborator.context = &own;
  }
  Inside(Elaborator &elaborator, const EquationInfo &equation)
      : Inside(elaborator, equation.domain, equation.when, equation.site,
               equation.frames) {}
  ~Inside() {
    elaborator.context = outer;
    elaborator.frames = std::move(outerFrames);
    elaborator.compileTimeIndices = std::move(outerIndices);
    elaborator.depth = outerDepth;
  }
  void enter(mlir::Operation *op, mlir::Region &body) {
    own.top = op;
    elaborator.builder.setInsertionPointToEnd(&body.front());
  }
  Elaborator &elaborator;
  mlir::OpBuilder::InsertionGuard guard;
  Context own;
  Context *outer;
  std::vector<CallFrame> outerFrames;
  std::vector<std::string> outerIndices;
  unsigned outerDepth;
};

} // namespace timerl::elaboration

#endif // TIMERL_LIB_ELABORATION_SCOPES_H
