//===- Children.cpp - Children of a syntax tree node ----------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Children.h"
#include "llvm/Support/Casting.h"

using namespace timerl;

void elaboration::forEachChild(
    const ast::Expr *expr,
    llvm::function_ref<void(const ast::Expr *,
                            const std::vector<std::string> &)>
        visit) {
  std::vector<std::string> none;
  auto child = [&](const ast::ExprPtr &node,
                   const std::vector<std::string> &names) {
    if (node)
      visit(node.get(), names);
  };
  auto binderRange = [&](const ast::Binder &binder,
                         const std::vector<std::string> &names) {
    child(binder.lo, names);
    child(binder.hi, names);
    child(binder.elements, names);
  };
  if (const auto *field = llvm::dyn_cast<ast::FieldExpr>(expr)) {
    child(field->base, none);
  } else if (const auto *index = llvm::dyn_cast<ast::IndexExpr>(expr)) {
    child(index->base, none);
    for (const ast::IndexItem &item : index->items) {
      child(item.lo, none);
      child(item.hi, none);
    }
  } else if (const auto *call = llvm::dyn_cast<ast::CallExpr>(expr)) {
    child(call->callee, none);
    for (const ast::Argument &argument : call->arguments)
      child(argument.value, none);
  } else if (const auto *unary = llvm::dyn_cast<ast::UnaryExpr>(expr)) {
    child(unary->operand, none);
  } else if (const auto *binary = llvm::dyn_cast<ast::BinaryExpr>(expr)) {
    child(binary->lhs, none);
    child(binary->rhs, none);
  } else if (const auto *choice = llvm::dyn_cast<ast::IfExpr>(expr)) {
    child(choice->condition, none);
    child(choice->then, none);
    child(choice->otherwise, none);
  } else if (const auto *list = llvm::dyn_cast<ast::ListExpr>(expr)) {
    for (const ast::ExprPtr &element : list->elements)
      child(element, none);
  } else if (const auto *tuple = llvm::dyn_cast<ast::TupleExpr>(expr)) {
    for (const ast::ExprPtr &element : tuple->elements)
      child(element, none);
  } else if (const auto *record = llvm::dyn_cast<ast::RecordExpr>(expr)) {
    for (const auto &field : record->fields)
      child(field.value, none);
  } else if (const auto *block = llvm::dyn_cast<ast::BlockExpr>(expr)) {
    std::vector<std::string> names;
    for (const ast::StatementPtr &statement : block->statements) {
      if (const auto *let =
              llvm::dyn_cast<ast::LetStatement>(statement.get())) {
        child(let->value, names);
        names.push_back(let->name);
      } else if (const auto *dim =
                     llvm::dyn_cast<ast::DimStatement>(statement.get())) {
        child(dim->extent, names);
        names.push_back(dim->name);
      } else if (const auto *equation =
                     llvm::dyn_cast<ast::EquationStatement>(statement.get())) {
        for (const ast::LhsTensor &target : equation->targets)
          names.push_back(target.name);
        child(equation->value, names);
      }
    }
    child(block->value, names);
  } else if (const auto *reduce = llvm::dyn_cast<ast::ReduceExpr>(expr)) {
    std::vector<std::string> names;
    for (const ast::Binder &binder : reduce->binders) {
      binderRange(binder, names);
      names.push_back(binder.name);
    }
    child(reduce->filter, names);
    child(reduce->body, names);
  } else if (const auto *fold = llvm::dyn_cast<ast::FoldExpr>(expr)) {
    binderRange(fold->binder, none);
    child(fold->init, none);
    child(fold->body, {fold->binder.name, fold->accumulator});
  } else if (const auto *build = llvm::dyn_cast<ast::BuildExpr>(expr)) {
    binderRange(build->binder, none);
    child(build->body, {build->binder.name});
  }
}
