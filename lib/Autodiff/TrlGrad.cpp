//===- TrlGrad.cpp - The pass trl-grad ------------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients are rewritten one at a time, first those whose tensor does not
// depend on other gradients that are still there, so that a gradient of a
// gradient finds the inner one as equations.
//
//===----------------------------------------------------------------------===//

#include "Adjoint.h"
#include "Outline.h"
#include "Vjp.h"
#include "mlir/Pass/Pass.h"
#include "timerl/Autodiff/Passes.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::autodiff;
using namespace timerl::trl;

namespace {

/// isl's work for one gradient, in its own units: about a minute.
constexpr uint64_t maxOperations = 600'000'000;

class TrlGradPass : public PassWrapper<TrlGradPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TrlGradPass)

  StringRef getArgument() const override { return "trl-grad"; }
  StringRef getDescription() const override {
    return "Rewrite gradients into equations";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registerDifferentiableOps(registry);
  }

  void runOnOperation() override {
    if (failed(rewriteAll()))
      return signalPassFailure();
    getOperation().walk([](StopGradientOp op) {
      op.getResult().replaceAllUsesWith(op.getOperand());
      op.erase();
    });
  }

private:
  LogicalResult rewriteAll();
  LogicalResult check(GradOp grad);
  /// Whether the gradient could be rewritten now: it waits for others.
  FailureOr<bool> rewrite(GradOp grad);
};

LogicalResult TrlGradPass::check(GradOp grad) {
  auto tensor = dyn_cast_or_null<TensorOp>(
      SymbolTable::lookupSymbolIn(getOperation(), grad.getOf()));
  if (!tensor)
    return grad.emitError("E0701: `") << grad.getOf() << "` is no tensor";
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getRank() != 0 || !isFloat(type))
    return grad.emitError("E0701: only a float scalar has a gradient, and `")
           << grad.getOf() << "` holds " << type;
  if (tensor.getRank() != grad.getOfIndices().size())
    return grad.emitError("E0701: `")
           << grad.getOf() << "` takes " << tensor.getRank() << " indices";
  for (auto symbol : grad.getWrt().getAsRange<FlatSymbolRefAttr>()) {
    auto leaf = cast<TensorOp>(
        SymbolTable::lookupSymbolIn(getOperation(), symbol.getValue()));
    if (!isFloat(leaf.getType()))
      return grad.emitError("E0702: a gradient is taken by floats, and `")
             << symbol.getValue() << "` holds " << leaf.getType();
    if (leaf.getRank() != grad.getWrtIndices().size())
      return grad.emitError("E0702: `")
             << symbol.getValue() << "` takes " << leaf.getRank() << " indices";
  }
  return success();
}

FailureOr<bool> TrlGradPass::rewrite(GradOp grad) {
  ModuleOp module = getOperation();
  std::map<std::string, int64_t> extents;
  for (auto dim : module.getOps<DimOp>())
    if (auto extent = dim.getExtent().getExpr().getConst())
      extents[dim.getSymName().str()] = *extent;

  poly::IslContext isl;
  poly::OperationLimit limit(isl, maxOperations);
  DemandCache cache;
  // Once more after outlining, which changes the graph.
  for (bool outlined = false;; outlined = true) {
    Site site(grad);
    Graph graph(module);
    Demand demand(isl, cache, graph, site, extents);
    if (isl.failed())
      return grad.emitError("E0703: the index sets of this gradient are too "
                            "complex: ")
             << isl.message();
    if (demand.unresolved())
      return false;
    bool changed = false;
    if (!outlined)
      for (auto &[equation, accesses] : graph.byEquation) {
        DenseSet<Operation *> active;
        for (unsigned k : accesses)
          for (unsigned target : graph.accesses[k].targets)
            if (demand.instances(k, target))
              active.insert(graph.accesses[k].op);
        if (!active.empty() &&
            failed(outlineReductions(equation, active, changed)))
          return failure();
      }
    if (changed)
      continue;
    if (failed(AdjointBuilder(module, isl, graph, demand, site).run()))
      return failure();
    return true;
  }
}

LogicalResult TrlGradPass::rewriteAll() {
  for (;;) {
    SmallVector<GradOp> grads;
    getOperation().walk([&](GradOp grad) { grads.push_back(grad); });
    if (grads.empty())
      return success();
    bool progress = false;
    for (GradOp grad : grads) {
      if (failed(check(grad)))
        return failure();
      FailureOr<bool> done = rewrite(grad);
      if (failed(done))
        return failure();
      if ((progress = *done))
        break;
    }
    if (!progress)
      return grads[0].emitError(
          "E0703: this gradient depends on itself: what it differentiates was "
          "computed with it, and the path is not cut by `stop_gradient`");
  }
}

} // namespace

std::unique_ptr<Pass> autodiff::createTrlGradPass() {
  return std::make_unique<TrlGradPass>();
}

void autodiff::registerPasses() { PassRegistration<TrlGradPass>(); }

void autodiff::registerDifferentiableOps(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TrlDialect *) {
    attachElementwiseModels(context);
    attachShapeModels(context);
  });
}
