//===- TrlToPdg.cpp - Equations to the nodes of a graph -------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
#include "pdg/PdgDialect.h"
#include "timerl/Conversion/Passes.h"
#include "timerl/Poly/Access.h"
#include "timerl/Poly/Ranges.h"

using namespace mlir;
using namespace timerl;
using namespace timerl::poly;

namespace {

class TrlToPdg : public PassWrapper<TrlToPdg, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TrlToPdg)
  StringRef getArgument() const override { return "convert-trl-to-pdg"; }
  StringRef getDescription() const override {
    return "Equations become the nodes of a dependence graph";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<pdg::PdgDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool gradients = false;
    module.walk([&](trl::GradOp grad) {
      grad.emitError("E0001: a gradient is left; run trl-grad first");
      gradients = true;
    });
    if (gradients)
      return signalPassFailure();
    // What is not known of an index would make its relation empty.
    for (Operation *unknown : deriveIndexRanges(module)) {
      unknown->emitError("E0405: nothing is known of the range of this index");
      return signalPassFailure();
    }

    for (auto dim : module.getOps<trl::DimOp>())
      if (dim.getUntil())
        giveCount(dim);

    IslContext context;
    Program program(context, module);
    OpBuilder builder(module.getBody(), module.getBody()->end());
    auto graph = pdg::GraphOp::create(builder, module.getLoc(),
                                      names(program.parameters()),
                                      text(toText(program.assumptions())));
    builder.setInsertionPointToStart(&graph.getBody().emplaceBlock());
    for (const Statement &statement : program.statements())
      convert(builder, statement);
    if (context.failed()) {
      module.emitError("E0001: isl failed: ") << context.message();
      return signalPassFailure();
    }
    for (const Statement &statement : program.statements())
      statement.op->erase();
  }

private:
  StringAttr text(const Twine &value) {
    return StringAttr::get(&getContext(), value);
  }
  ArrayAttr names(ArrayRef<std::string> list) {
    SmallVector<Attribute> attrs;
    for (const std::string &name : list)
      attrs.push_back(text(name));
    return ArrayAttr::get(&getContext(), attrs);
  }

  /// The equation of `until` counts, too: with each point t it stores t + 1.
  void giveCount(trl::DimOp dim) {
    auto module = dim->getParentOfType<ModuleOp>();
    auto until = module.lookupSymbol<trl::TensorOp>(dim.getUntilAttr());
    trl::EquationOp stop;
    for (auto equation : module.getOps<trl::EquationOp>())
      for (unsigned k = 0; k < equation.getNumTargets(); ++k)
        if (equation.getTarget(k) == *dim.getUntil())
          stop = equation;
    if (!stop)
      return;
    OpBuilder builder(until);
    auto type = RankedTensorType::get({}, builder.getI64Type());
    std::string name = (dim.getSymName() + "$end").str();
    auto tensor = cast<trl::TensorOp>(builder.clone(*until));
    tensor.setSymName(name);
    tensor.setPositionsAttr(
        builder.getArrayAttr(until.getPositions().getValue().drop_back()));
    tensor.setTypeAttr(TypeAttr::get(type));
    auto symbol = FlatSymbolRefAttr::get(tensor.getSymNameAttr());
    dim.setCountedAttr(symbol);

    SmallVector<Expr> point = stop.getTargetIndices(0);
    SmallVector<Attribute> targets(stop.getTargets().getValue()),
        indices(stop.getIndices().getValue());
    targets.push_back(symbol);
    indices.push_back(trl::getExprArrayAttr(&getContext(),
                                            ArrayRef<Expr>(point).drop_back()));
    stop.setTargetsAttr(builder.getArrayAttr(targets));
    stop.setIndicesAttr(builder.getArrayAttr(indices));
    trl::YieldOp yield = stop.getYield();
    builder.setInsertionPoint(yield);
    auto count = trl::IndexOp::create(
        builder, stop.getLoc(), type,
        trl::ExprAttr::get(&getContext(), point.back() + Expr::constant(1)));
    yield.getValuesMutable().append(count.getResult());
  }

  void convert(OpBuilder &builder, const Statement &statement) {
    // One relation a source, in order of first mention.
    llvm::MapVector<StringRef, Map> relations;
    for (const Access &access : statement.accesses) {
      auto [entry, isNew] =
          relations.try_emplace(access.source, access.relation);
      if (!isNew)
        entry->second = entry->second | access.relation;
    }
    SmallVector<Attribute> reads;
    for (auto &[source, relation] : relations)
      reads.push_back(text(toText(Map(isl_map_coalesce(relation.copy())))));
    ArrayAttr none = builder.getArrayAttr({});
    auto equation = dyn_cast<trl::EquationOp>(statement.op);
    auto output = dyn_cast<trl::OutputOp>(statement.op);
    auto node = pdg::NodeOp::create(
        builder, statement.op->getLoc(), text(statement.name),
        names(statement.dims()), text(toText(statement.domain())),
        equation ? equation.getTargets() : none,
        equation ? equation.getIndices() : none, builder.getArrayAttr(reads),
        output ? output.getKindAttr() : trl::OutputKindAttr(),
        output ? output.getNameAttr() : StringAttr(),
        output ? output.getDomainAttr() : ArrayAttr());
    node.getBody().takeBody(statement.op->getRegion(0));
  }
};

} // namespace

std::unique_ptr<Pass> timerl::createTrlToPdgPass() {
  return std::make_unique<TrlToPdg>();
}
void timerl::registerTrlToPdgPass() { PassRegistration<TrlToPdg>(); }
