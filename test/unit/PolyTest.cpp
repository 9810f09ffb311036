//===- PolyTest.cpp - The isl bridge --------------------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "catch2/catch.hpp"
#include "mlir/Parser/Parser.h"
#include "timerl/Poly/Access.h"
#include "llvm/ADT/StringExtras.h"
#include <isl/ast_build.h>

using namespace timerl;
using namespace timerl::poly;

static Expr parse(llvm::StringRef text) {
  auto expr = Expr::parse(text);
  REQUIRE(expr);
  return *expr;
}

TEST_CASE("names survive escaping") {
  for (llvm::StringRef name :
       {"t", "end(t)", "b'", "t''", "my_dim", "net.actor.0.w", "max", "E12",
        "O3", "end(gae.t)", "_x", "x__y", "mod", "Elephant", "5x"}) {
    std::string identifier = escapeName(name);
    INFO(identifier);
    CHECK(llvm::all_of(identifier,
                       [](char c) { return llvm::isAlnum(c) || c == '_'; }));
    CHECK(unescapeName(identifier) == name);
  }
  CHECK(escapeName("t") == "t");
  CHECK(escapeName("E12") != "E12");
  CHECK(escapeName("x_p") != escapeName("x'"));
}

TEST_CASE("expressions and conditions agree with isl point by point") {
  IslContext ctx;
  std::vector<std::string> dims{"t", "b'"};
  Coordinates space(ctx, dims, {"end(t)"});
  auto check = [&](llvm::StringRef text) {
    INFO(text.str());
    Expr expr = parse(text);
    Set holds;
    if (expr.isCondition())
      holds = space.where(expr);
    for (int64_t t = -3; t <= 9; ++t)
      for (int64_t b = -2; b <= 3; ++b) {
        auto binding = [&](llvm::StringRef name) -> std::optional<int64_t> {
          return name == "t" ? t : name == "b'" ? b : 5;
        };
        int64_t expected = *expr.evaluate(binding);
        Set point = space.where(
            Expr::conj({Expr::eq(Expr::var("t"), Expr::constant(t)),
                        Expr::eq(Expr::var("b'"), Expr::constant(b)),
                        Expr::eq(Expr::var("end(t)"), Expr::constant(5))}));
        if (expr.isCondition()) {
          CHECK(isEmpty(point & holds) == !expected);
          continue;
        }
        PwAff exact = space.value(expr);
        PwAff constant = space.value(Expr::constant(expected));
        Set equal(isl_pw_aff_eq_set(exact.release(), constant.release()));
        CHECK(isSubset(point, equal));
      }
    // And back to an expression of the same meaning.
    if (expr.isCondition()) {
      auto back = toCondition(holds, dims);
      REQUIRE(back);
      INFO(back->str());
      CHECK(isEqual(space.where(*back), holds));
    } else if (auto back = toExpr(space.value(expr), dims)) {
      INFO(back->str());
      Set equal(isl_pw_aff_eq_set(space.value(expr).release(),
                                  space.value(*back).release()));
      CHECK(isEqual(equal, space.universe()));
    } else {
      FAIL("no expression");
    }
  };
  for (llvm::StringRef text :
       {"0", "t", "2*t - b' + end(t)", "t // 4", "t % 3", "(2*t + b') // 3 + 1",
        "min(t, b')", "max(t + 1, b', 3)", "4*(t // 4) + t % 2"})
    check(text);
  for (llvm::StringRef text :
       {"true", "false", "t > 0", "t == b'", "t != b'", "t % 2 == 0",
        "(b' + 2*t) % 3 == 1", "t >= 0 and t < end(t)", "t < 0 or b' == 1",
        "not (t < 3 and b' > 0)", "t // 3 != b'", "min(t, b') >= 1"})
    check(text);
}

TEST_CASE("a least point names every parameter") {
  IslContext ctx;
  Set set = parseSet(ctx, "[end_ot_c] -> { [b, t] : 3 <= end_ot_c <= 9 and 0 "
                          "<= b < 4 and end_ot_c - 1 <= t < 20 }");
  auto point = leastPoint(set);
  REQUIRE(point);
  CHECK(point->coordinates == llvm::SmallVector<int64_t>{0, 2});
  REQUIRE(point->parameters.size() == 1);
  CHECK(point->parameters[0].first == "end(t)");
  CHECK(point->parameters[0].second == 3);
  CHECK_FALSE(leastPoint(parseSet(ctx, "{ [t] : t > 3 and t < 4 }")));
  auto unbounded = leastPoint(parseSet(ctx, "{ [t] : t < 4 }"));
  REQUIRE(unbounded);
  CHECK(unbounded->coordinates[0] < 4);
}

TEST_CASE("too much work ends in a failure that can be cleared") {
  IslContext ctx;
  Set set = parseSet(ctx, "{ [a, b, c] : exists x, y: a = 3x + 5y and 7b + 2a "
                          "> 3c and x + y > c }");
  REQUIRE_FALSE(ctx.failed());
  {
    OperationLimit limit(ctx, 10);
    Set complement = Set(isl_set_complement(set.copy()));
    CHECK_FALSE(complement);
    CHECK(ctx.failed());
    CHECK_FALSE(ctx.message().empty());
  }
  CHECK_FALSE(ctx.failed());
  CHECK_FALSE(isEmpty(parseSet(ctx, "{ [a] : a > 0 }")));
}

TEST_CASE("generated expressions come back") {
  IslContext ctx;
  Isl<isl_ast_expr> expr;
  isl_ast_build *build = isl_ast_build_from_context(
      isl_set_read_from_str(ctx, "[n, my__n] -> { : n > 3 }"));
  isl_pw_aff *value = isl_pw_aff_read_from_str(
      ctx, "[n, my__n] -> { [(min(n, my__n) + floor(n/2) + 3)] }");
  expr = Isl<isl_ast_expr>(isl_ast_build_expr_from_pw_aff(build, value));
  isl_ast_build_free(build);
  auto back = toExpr(expr.get());
  REQUIRE(back);
  Expr expected = parse("min(n, my_n) + n // 2 + 3");
  for (int64_t n = 4; n < 9; ++n)
    for (int64_t other = -2; other < 12; ++other) {
      auto binding = [&](llvm::StringRef name) -> std::optional<int64_t> {
        return name == "n" ? n : other;
      };
      CHECK(back->evaluate(binding) == expected.evaluate(binding));
    }
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static mlir::OwningOpRef<mlir::ModuleOp> parseModule(mlir::MLIRContext &context,
                                                     llvm::StringRef text) {
  context.loadDialect<trl::TrlDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  return module;
}

static bool same(IslContext &ctx, const Map &map, llvm::StringRef text) {
  Map expected = parseMap(ctx, text);
  INFO(toText(map));
  return isl_map_is_equal(map.get(), expected.get()) == isl_bool_true;
}

TEST_CASE("reads are relations under binders, conditions and ranges") {
  mlir::MLIRContext context;
  auto module = parseModule(context, R"mlir(
    trl.dim @t extent "10"
    trl.tensor @r ["t"] : tensor<f32>
    trl.tensor @s ["t"] : tensor<f32>
    trl.equation (t = "0 : 10") when "t % 2 == 0" defines @s["t + 1"] {
      %0 = trl.reduce_over sum (k = "t : 10") when "k > 3" {
        %1 = trl.read @r["k"] : tensor<f32>
        trl.yield %1 : tensor<f32>
      } : tensor<f32>
      %2 = trl.case "t > 4" {
        %3 = trl.read @r["t - 1"] : tensor<f32>
        trl.yield %3 : tensor<f32>
      } else {
        %3 = trl.read @r["t : t + 2"] : tensor<2xf32>
        %4 = trl.reduce sum %3 [0] : tensor<2xf32> -> tensor<f32>
        trl.yield %4 : tensor<f32>
      } : tensor<f32>
      %i = trl.index "t" : tensor<i32>
      %5 = trl.read @r[dyn "0 : t + 1"](%i : tensor<i32>) : tensor<f32>
      trl.yield %5 : tensor<f32>
    }
  )mlir");
  IslContext ctx;
  Program program(ctx, *module);
  REQUIRE(program.statements().size() == 1);
  const Statement &statement = program.statements()[0];
  CHECK(statement.name == "E0");
  CHECK(isEqual(statement.domain(),
                parseSet(ctx, "{ E0[t] : 0 <= t < 10 and t mod 2 = 0 }")));
  REQUIRE(statement.writes.size() == 1);
  CHECK(same(ctx, statement.writes[0].map,
             "{ E0[t] -> s[t + 1] : 0 <= t < 10 and t mod 2 = 0 }"));
  REQUIRE(statement.accesses.size() == 4);
  CHECK(same(ctx, statement.accesses[0].full,
             "{ E0[t, k] -> r[k] : 0 <= t < 10 and t mod 2 = 0 and t <= k < 10 "
             "and k > 3 }"));
  CHECK(
      same(ctx, statement.accesses[0].relation,
           "{ E0[t] -> r[k] : 0 <= t < 10 and t mod 2 = 0 and t <= k < 10 and "
           "k > 3 }"));
  CHECK(same(ctx, statement.accesses[1].relation,
             "{ E0[t] -> r[t - 1] : 4 < t < 10 and t mod 2 = 0 }"));
  CHECK(same(ctx, statement.accesses[2].relation,
             "{ E0[t] -> r[k] : 0 <= t <= 4 and t mod 2 = 0 and t <= k < t + 2 "
             "}"));
  CHECK(
      same(ctx, statement.accesses[3].relation,
           "{ E0[t] -> r[k] : 0 <= t < 10 and t mod 2 = 0 and 0 <= k <= t }"));
  CHECK(statement.accesses[3].may);
  CHECK_FALSE(statement.accesses[2].may);
}

TEST_CASE("a dim that stops has a length, and depends on its condition") {
  mlir::MLIRContext context;
  auto module = parseModule(context, R"mlir(
    trl.dim @b extent "4"
    trl.dim @t extent "10" until @t.until
    trl.tensor @t.until ["b", "t"] : tensor<i1> hidden
    trl.tensor @s ["b", "t"] : tensor<f32>
    trl.equation (b = "0 : 4", t = "0 : end(t)") defines @s["b", "t + 1"] {
      %0 = trl.read @s["b", "t"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    trl.output save "s" (b = "0 : 4") {
      %0 = trl.read @s["b", "end(t)"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
  )mlir");
  IslContext ctx;
  Program program(ctx, *module);
  REQUIRE(program.parameters() ==
          llvm::ArrayRef<std::string>(std::vector<std::string>{"end(t)"}));
  const Statement &step = program.statements()[0];
  REQUIRE(step.accesses.size() == 2);
  CHECK(step.accesses[0].kind == Access::Kind::Stop);
  CHECK(
      same(ctx, step.accesses[0].relation,
           "[end_ot_c] -> { E0[b, t] -> t_duntil[b, t - 1] : 0 <= b < 4 and 1 "
           "<= t < end_ot_c <= 10 }"));
  const Statement &save = program.statements()[1];
  CHECK(save.name == "O1");
  REQUIRE(save.accesses.size() == 2);
  CHECK(
      same(ctx, save.accesses[1].relation,
           "[end_ot_c] -> { O1[b] -> t_duntil[b, t] : 0 <= b < 4 and 0 <= t < "
           "end_ot_c <= 10 }"));
}

TEST_CASE("integer arguments are parameters") {
  mlir::MLIRContext context;
  auto module = parseModule(context, R"mlir(
    trl.arg @n = 8 : i32
    trl.arg @unused = 8 : i32
    trl.dim @i extent "n"
    trl.tensor @x ["i"] : tensor<f32>
    trl.equation (i = "0 : n") defines @x["i"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
  )mlir");
  IslContext ctx;
  Program program(ctx, *module);
  CHECK(program.parameters().size() == 1);
  CHECK(isEqual(program.defined("x"),
                parseSet(ctx, "[n] -> { x[i] : 0 <= i < n }")));
  CHECK(isEqual(program.assumptions(), parseSet(ctx, "[n] -> { : n >= 1 }")));
}
