//===- Convert.cpp - Index expressions to isl and back --------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "timerl/Poly/Convert.h"
#include "llvm/ADT/STLExtras.h"

using namespace timerl;
using namespace timerl::poly;

//===----------------------------------------------------------------------===//
// To isl
//===----------------------------------------------------------------------===//

Coordinates::Coordinates(IslContext &context, llvm::ArrayRef<std::string> dims,
                         llvm::ArrayRef<std::string> parameters,
                         llvm::StringRef tuple)
    : ctx(&context), dims(dims.begin(), dims.end()) {
  isl_space *space =
      isl_space_set_alloc(context, parameters.size(), dims.size());
  for (auto [k, name] : llvm::enumerate(parameters))
    space = isl_space_set_dim_name(space, isl_dim_param, k,
                                   escapeName(name).c_str());
  for (auto [k, name] : llvm::enumerate(dims))
    space =
        isl_space_set_dim_name(space, isl_dim_set, k, escapeName(name).c_str());
  if (!tuple.empty())
    space = isl_space_set_tuple_name(space, isl_dim_set, tuple.str().c_str());
  setSpace = Space(space);
}

Set Coordinates::universe() const {
  return Set(isl_set_universe(setSpace.copy()));
}

PwAff Coordinates::constant(int64_t value) const {
  isl_aff *aff =
      isl_aff_zero_on_domain(isl_local_space_from_space(setSpace.copy()));
  aff = isl_aff_set_constant_val(aff, isl_val_int_from_si(*ctx, value));
  return PwAff(isl_pw_aff_from_aff(aff));
}

Aff Coordinates::affine(const Expr &expr) const {
  llvm::SmallVector<std::pair<Expr, int64_t>> terms;
  int64_t offset = 0;
  switch (expr.kind()) {
  case Expr::Kind::Const:
    offset = expr.value();
    break;
  case Expr::Kind::Var:
    terms.emplace_back(expr, 1);
    break;
  case Expr::Kind::Sum:
    offset = expr.value();
    for (auto [operand, coefficient] :
         llvm::zip(expr.operands(), expr.coefficients())) {
      if (operand.kind() != Expr::Kind::Var)
        return Aff();
      terms.emplace_back(operand, coefficient);
    }
    break;
  default:
    return Aff();
  }
  Space space = setSpace;
  for (auto &[variable, coefficient] : terms) {
    if (llvm::is_contained(dims, variable.name()))
      continue;
    std::string name = escapeName(variable.name());
    if (isl_space_find_dim_by_name(space.get(), isl_dim_param, name.c_str()) >=
        0)
      continue;
    unsigned count = isl_space_dim(space.get(), isl_dim_param);
    space = Space(isl_space_add_dims(space.release(), isl_dim_param, 1));
    space = Space(isl_space_set_dim_name(space.release(), isl_dim_param, count,
                                         name.c_str()));
  }
  isl_aff *aff =
      isl_aff_zero_on_domain(isl_local_space_from_space(space.copy()));
  aff = isl_aff_set_constant_val(aff, isl_val_int_from_si(*ctx, offset));
  for (auto &[variable, coefficient] : terms) {
    auto found = llvm::find(dims, variable.name());
    bool isDim = found != dims.end();
    int position =
        isDim ? found - dims.begin()
              : isl_space_find_dim_by_name(space.get(), isl_dim_param,
                                           escapeName(variable.name()).c_str());
    aff = isl_aff_set_coefficient_val(aff, isDim ? isl_dim_in : isl_dim_param,
                                      position,
                                      isl_val_int_from_si(*ctx, coefficient));
  }
  return Aff(aff);
}

PwAff Coordinates::value(const Expr &expr) const {
  if (Aff aff = affine(expr))
    return PwAff(isl_pw_aff_from_aff(aff.release()));
  auto divisor = [&] { return isl_val_int_from_si(*ctx, expr.value()); };
  switch (expr.kind()) {
  case Expr::Kind::Sum: {
    PwAff sum = constant(expr.value());
    for (auto [operand, coefficient] :
         llvm::zip(expr.operands(), expr.coefficients())) {
      isl_pw_aff *term = isl_pw_aff_scale_val(
          value(operand).release(), isl_val_int_from_si(*ctx, coefficient));
      sum = PwAff(isl_pw_aff_add(sum.release(), term));
    }
    return sum;
  }
  case Expr::Kind::FloorDiv:
    return PwAff(isl_pw_aff_floor(isl_pw_aff_scale_down_val(
        value(expr.operands()[0]).release(), divisor())));
  case Expr::Kind::Mod:
    return PwAff(
        isl_pw_aff_mod_val(value(expr.operands()[0]).release(), divisor()));
  case Expr::Kind::Min:
  case Expr::Kind::Max: {
    PwAff best = value(expr.operands()[0]);
    for (const Expr &operand : expr.operands().drop_front()) {
      PwAff next = value(operand);
      best = PwAff(expr.kind() == Expr::Kind::Min
                       ? isl_pw_aff_min(best.release(), next.release())
                       : isl_pw_aff_max(best.release(), next.release()));
    }
    return best;
  }
  default:
    if (expr.isCondition()) // A condition counts as 0 or 1.
      return PwAff(isl_set_indicator_function(where(expr).release()));
    return PwAff();
  }
}

Set Coordinates::where(const Expr &condition) const {
  switch (condition.kind()) {
  case Expr::Kind::Bool:
    return condition.isTrue() ? universe()
                              : Set(isl_set_empty(setSpace.copy()));
  case Expr::Kind::Eq:
    return Set(isl_pw_aff_zero_set(value(condition.operands()[0]).release()));
  case Expr::Kind::Ge:
    return Set(isl_pw_aff_nonneg_set(value(condition.operands()[0]).release()));
  case Expr::Kind::Not:
    return Set(isl_pw_aff_non_zero_set(
        value(condition.operands()[0].operands()[0]).release()));
  case Expr::Kind::And: {
    // Affine constraints go into one convex set: to intersect a set for each
    // would take most of the time.
    isl_basic_set *convex = isl_basic_set_universe(setSpace.copy());
    llvm::SmallVector<Expr> rest;
    for (const Expr &operand : condition.operands()) {
      bool equality = operand.kind() == Expr::Kind::Eq;
      Aff aff = equality || operand.kind() == Expr::Kind::Ge
                    ? affine(operand.operands()[0])
                    : Aff();
      if (!aff || isl_aff_dim(aff.get(), isl_dim_param) !=
                      isl_space_dim(setSpace.get(), isl_dim_param)) {
        rest.push_back(operand);
        continue;
      }
      convex = isl_basic_set_add_constraint(
          convex, equality ? isl_equality_from_aff(aff.release())
                           : isl_inequality_from_aff(aff.release()));
    }
    Set result(isl_set_from_basic_set(convex));
    for (const Expr &operand : rest)
      result = result & where(operand);
    return result;
  }
  case Expr::Kind::Or: {
    Set result = where(condition.operands()[0]);
    for (const Expr &operand : condition.operands().drop_front())
      result = result | where(operand);
    return result;
  }
  default:
    return Set();
  }
}

//===----------------------------------------------------------------------===//
// From isl
//===----------------------------------------------------------------------===//

static std::optional<int64_t> toInt(isl_val *given) {
  Isl<isl_val> value(given);
  if (!value || isl_val_is_int(value.get()) != isl_bool_true ||
      isl_val_cmp_si(value.get(), INT64_MAX) > 0 ||
      isl_val_cmp_si(value.get(), INT64_MIN) < 0)
    return std::nullopt;
  return isl_val_get_num_si(value.get());
}

namespace {
/// Converts affine expressions of one tuple.
class FromIsl {
public:
  explicit FromIsl(llvm::ArrayRef<std::string> dims) : dims(dims) {}

  std::optional<Expr> convert(isl_aff *aff) const {
    auto denominator = toInt(isl_aff_get_denominator_val(aff));
    if (!denominator)
      return std::nullopt;
    auto numerator = scaled(aff, *denominator);
    if (!numerator)
      return std::nullopt;
    return Expr::floorDiv(*numerator, *denominator);
  }

  /// denominator * aff, which has integer coefficients.
  std::optional<Expr> scaled(isl_aff *aff, int64_t denominator) const {
    isl_ctx *ctx = isl_aff_get_ctx(aff);
    auto scale = [&](isl_val *value) {
      return toInt(isl_val_mul(value, isl_val_int_from_si(ctx, denominator)));
    };
    auto offset = scale(isl_aff_get_constant_val(aff));
    if (!offset)
      return std::nullopt;
    Expr sum = Expr::constant(*offset);
    for (isl_dim_type type : {isl_dim_param, isl_dim_in, isl_dim_div}) {
      unsigned count = isl_aff_dim(aff, type);
      for (unsigned k = 0; k < count; ++k) {
        auto coefficient = scale(isl_aff_get_coefficient_val(aff, type, k));
        if (!coefficient)
          return std::nullopt;
        if (*coefficient == 0)
          continue;
        std::optional<Expr> term;
        if (type == isl_dim_param)
          term = Expr::var(
              unescapeName(isl_aff_get_dim_name(aff, isl_dim_param, k)));
        else if (type == isl_dim_in)
          term = Expr::var(dims[k]);
        else {
          Aff div(isl_aff_get_div(aff, k)); // The argument of the floor.
          if (div)
            term = convert(div.get());
        }
        if (!term)
          return std::nullopt;
        sum = sum + *term * *coefficient;
      }
    }
    return sum;
  }

  std::optional<Expr> condition(isl_constraint *constraint) const {
    Aff aff(isl_constraint_get_aff(isl_constraint_copy(constraint)));
    if (!aff)
      return std::nullopt;
    auto value = convert(aff.get());
    if (!value)
      return std::nullopt;
    bool equality = isl_constraint_is_equality(constraint) == isl_bool_true;
    return equality ? Expr::eq(*value, Expr::constant(0))
                    : Expr::ge(*value, Expr::constant(0));
  }

private:
  llvm::ArrayRef<std::string> dims;
};

struct Piece {
  Set domain;
  Aff value;
};
} // namespace

std::optional<Expr> poly::toExpr(const Aff &aff,
                                 llvm::ArrayRef<std::string> dims) {
  return aff ? FromIsl(dims).convert(aff.get()) : std::nullopt;
}

std::optional<Expr> poly::toExpr(const PwAff &value,
                                 llvm::ArrayRef<std::string> dims) {
  if (!value)
    return std::nullopt;
  std::vector<Piece> pieces;
  isl_pw_aff_foreach_piece(
      value.get(),
      [](isl_set *domain, isl_aff *aff, void *user) {
        static_cast<std::vector<Piece> *>(user)->push_back(
            {Set(domain), Aff(aff)});
        return isl_stat_ok;
      },
      &pieces);
  if (pieces.empty())
    return std::nullopt;
  llvm::SmallVector<Expr> exprs;
  for (Piece &piece : pieces) {
    auto expr = toExpr(piece.value, dims);
    if (!expr)
      return std::nullopt;
    if (!llvm::is_contained(exprs, *expr))
      exprs.push_back(*expr);
  }
  if (exprs.size() == 1)
    return exprs[0];
  // Several pieces: right only if each is the least, or each the greatest, of
  // all on its own part.
  for (bool minimum : {true, false}) {
    bool holds = llvm::all_of(pieces, [&](Piece &piece) {
      return llvm::all_of(pieces, [&](Piece &other) {
        isl_aff *lesser = minimum ? piece.value.copy() : other.value.copy();
        isl_aff *greater = minimum ? other.value.copy() : piece.value.copy();
        Set ordered(isl_aff_le_set(lesser, greater));
        return isSubset(piece.domain, ordered);
      });
    });
    if (holds)
      return minimum ? Expr::min(exprs) : Expr::max(exprs);
  }
  return std::nullopt;
}

std::optional<Expr> poly::toCondition(const Set &set,
                                      llvm::ArrayRef<std::string> dims) {
  if (!set)
    return std::nullopt;
  // Every variable that is left after this is an integer division.
  Set known(isl_set_coalesce(isl_set_compute_divs(set.copy())));
  struct State {
    FromIsl from;
    std::vector<Expr> disjuncts;
    bool failed = false;
  } state{FromIsl(dims), {}, false};
  isl_set_foreach_basic_set(
      known.get(),
      [](isl_basic_set *given, void *user) {
        Isl<isl_basic_set> part(given);
        auto &state = *static_cast<State *>(user);
        struct Inner {
          State *state;
          std::vector<Expr> conjuncts;
        } inner{&state, {}};
        isl_basic_set_foreach_constraint(
            part.get(),
            [](isl_constraint *given, void *user) {
              Isl<isl_constraint> constraint(given);
              auto &inner = *static_cast<Inner *>(user);
              // The two bounds that define a division say nothing more.
              if (isl_constraint_is_div_constraint(constraint.get()) ==
                  isl_bool_true)
                return isl_stat_ok;
              auto expr = inner.state->from.condition(constraint.get());
              if (expr)
                inner.conjuncts.push_back(*expr);
              else
                inner.state->failed = true;
              return isl_stat_ok;
            },
            &inner);
        state.disjuncts.push_back(Expr::conj(inner.conjuncts));
        return isl_stat_ok;
      },
      &state);
  if (state.failed)
    return std::nullopt;
  return Expr::disj(state.disjuncts);
}

std::optional<Expr> poly::toExpr(isl_ast_expr *expr) {
  switch (isl_ast_expr_get_type(expr)) {
  case isl_ast_expr_id: {
    Isl<isl_id> id(isl_ast_expr_get_id(expr));
    return Expr::var(unescapeName(isl_id_get_name(id.get())));
  }
  case isl_ast_expr_int: {
    auto value = toInt(isl_ast_expr_get_val(expr));
    if (!value)
      return std::nullopt;
    return Expr::constant(*value);
  }
  case isl_ast_expr_op:
    break;
  default:
    return std::nullopt;
  }
  llvm::SmallVector<Expr> operands;
  for (int k = 0; k < isl_ast_expr_get_op_n_arg(expr); ++k) {
    Isl<isl_ast_expr> argument(isl_ast_expr_get_op_arg(expr, k));
    auto operand = toExpr(argument.get());
    if (!operand)
      return std::nullopt;
    operands.push_back(*operand);
  }
  auto divisor = [&] { return operands[1].getConst(); };
  switch (isl_ast_expr_get_op_type(expr)) {
  case isl_ast_op_and:
  case isl_ast_op_and_then:
    return Expr::conj(operands);
  case isl_ast_op_or:
  case isl_ast_op_or_else:
    return Expr::disj(operands);
  case isl_ast_op_max:
    return Expr::max(operands);
  case isl_ast_op_min:
    return Expr::min(operands);
  case isl_ast_op_minus:
    return -operands[0];
  case isl_ast_op_add:
    return operands[0] + operands[1];
  case isl_ast_op_sub:
    return operands[0] - operands[1];
  case isl_ast_op_mul:
    return Expr::mul(operands[0], operands[1]);
  case isl_ast_op_div:
  case isl_ast_op_fdiv_q:
  case isl_ast_op_pdiv_q:
    if (!divisor())
      return std::nullopt;
    return Expr::floorDiv(operands[0], *divisor());
  case isl_ast_op_pdiv_r:
  case isl_ast_op_zdiv_r: // Only compared with 0, where both agree.
    if (!divisor())
      return std::nullopt;
    return Expr::mod(operands[0], *divisor());
  case isl_ast_op_eq:
    return Expr::eq(operands[0], operands[1]);
  case isl_ast_op_le:
    return Expr::le(operands[0], operands[1]);
  case isl_ast_op_lt:
    return Expr::lt(operands[0], operands[1]);
  case isl_ast_op_ge:
    return Expr::ge(operands[0], operands[1]);
  case isl_ast_op_gt:
    return Expr::gt(operands[0], operands[1]);
  default:
    return std::nullopt;
  }
}
