//===- InterpreterTest.cpp - The reference interpreter --------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InterpreterTest.h"
#include <cmath>
#include <limits>

using namespace timerl;

//===----------------------------------------------------------------------===//
// Demand
//===----------------------------------------------------------------------===//

TEST_CASE("a recurrence far deeper than any stack is evaluated") {
  auto result = run(R"trl(
    trl.dim @t extent "200000"
    trl.tensor @s ["t"] : tensor<i64>
    trl.equation () defines @s["0"] {
      %0 = trl.constant dense<1> : tensor<i64>
      trl.yield %0 : tensor<i64>
    }
    trl.equation (t = "0 : 200000") defines @s["t + 1"] {
      %0 = trl.read @s["t"] : tensor<i64>
      %1 = trl.constant dense<2> : tensor<i64>
      %2 = trl.add %0, %1 : tensor<i64>
      trl.yield %2 : tensor<i64>
    }
    trl.output report "s" () {
      %0 = trl.read @s["200000"] : tensor<i64>
      trl.yield %0 : tensor<i64>
    })trl");
  CHECK(scalar(result, "s") == 400001);
}

TEST_CASE("the equation of a point is found from its indices") {
  // Each equation covers what the others leave; a point is 100 times its
  // equation plus the value of the iterator there.
  auto result = run(R"trl(
    trl.dim @t extent "20"
    trl.tensor @x ["t"] : tensor<i32>
    trl.equation () defines @x["0"] {
      %0 = trl.constant dense<100> : tensor<i32>
      trl.yield %0 : tensor<i32>
    }
    trl.equation (t = "0 : 20") when "t % 2 == 1 and t < 9" defines @x["t + 1"] {
      %0 = trl.index "t + 200" : tensor<i32>
      trl.yield %0 : tensor<i32>
    }
    trl.equation (t = "0 : 5") defines @x["2*t + 1"] {
      %0 = trl.index "t + 300" : tensor<i32>
      trl.yield %0 : tensor<i32>
    }
    trl.equation (t = "44 : 80") when "t % 4 == 2" defines @x["t // 4"] {
      %0 = trl.index "t + 400" : tensor<i32>
      trl.yield %0 : tensor<i32>
    }
    trl.output save "x" (t = "0 : 20") when "t != 10" {
      %0 = trl.read @x["t"] : tensor<i32>
      trl.yield %0 : tensor<i32>
    })trl");
  std::vector<double> expected{100, 300, 201, 301, 203, 302,
                               205, 303, 207, 304, 0};
  for (int t = 11; t < 20; ++t)
    expected.push_back(400 + 4 * t + 2);
  CHECK(saved(result, "x") == expected);
}

TEST_CASE("points with two positions, and iterators given by search") {
  auto result = run(R"trl(
    trl.dim @i extent "3"
    trl.dim @t extent "4"
    trl.tensor @x ["i", "t"] : tensor<i32>
    trl.equation (i = "0 : 3", t = "0 : 4") defines @x["i + t", "t"] {
      %0 = trl.index "10*i + t" : tensor<i32>
      trl.yield %0 : tensor<i32>
    }
    trl.output report "a" () {
      %0 = trl.read @x["5", "3"] : tensor<i32>
      trl.yield %0 : tensor<i32>
    })trl");
  CHECK(scalar(result, "a") == 23);
}

TEST_CASE("errors name the points involved") {
  CHECK(failure(R"trl(
    trl.dim @t extent "5"
    trl.tensor @a ["t"] : tensor<f32>
    trl.tensor @b ["t"] : tensor<f32>
    trl.equation (t = "0 : 5") defines @a["t"] {
      %0 = trl.read @b["t"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    trl.equation (t = "0 : 5") defines @b["t"] {
      %0 = trl.read @a["t"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    trl.output report "a" (t = "3 : 4") {
      %0 = trl.read @a["t"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    })trl") == "E0910: `a[3]` depends on itself: a[3] -> b[3] -> a[3]");
  CHECK(failure(R"trl(
    trl.dim @t extent "5"
    trl.tensor @a ["t"] : tensor<f32>
    trl.tensor @b ["t"] : tensor<f32>
    trl.equation (t = "0 : 5") defines @a["t"] {
      %0 = trl.read @b["t + 1"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    trl.equation (t = "0 : 5") defines @b["t"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    trl.output report "a" (t = "0 : 5") {
      %0 = trl.read @a["t"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    })trl") == "E0912: `b[5]` is read by `a[4]`, and no equation defines it");
  CHECK(failure(R"trl(
    trl.tensor @a ["t"] : tensor<f32>
    trl.equation (t = "0 : 5") defines @a["t"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    trl.equation (t = "4 : 6") defines @a["t"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    trl.output report "a" () {
      %0 = trl.read @a["4"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    })trl") == "E0911: two equations define `a[4]`");
  CHECK(failure(R"trl(
    trl.tensor @a ["t"] : tensor<f32>
    trl.equation (t = "0 : 9") defines @a["t"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    trl.output report "a" (t = "2 : 3") {
      %j = trl.constant dense<7> : tensor<i32>
      %0 = trl.read @a[checked "0 : 5"] (%j : tensor<i32>) : tensor<f32>
      trl.yield %0 : tensor<f32>
    })trl") == "E0914: index 7 of `a`, position 0, is not in 0:5, at t = 2");
}

TEST_CASE("the stop of a dim depends on its outer dims") {
  auto result = run(R"trl(
    trl.dim @b extent "3"
    trl.dim @t extent "10" until @stop
    trl.tensor @stop ["b", "t"] : tensor<i1> hidden
    trl.equation (b = "0 : 3", t = "0 : 10") defines @stop["b", "t"] {
      %0 = trl.index "t == 4*b + 3" : tensor<i1>
      trl.yield %0 : tensor<i1>
    }
    trl.output save "n" (b = "0 : 3") {
      %0 = trl.index "end(t)" : tensor<i32>
      trl.yield %0 : tensor<i32>
    }
    trl.output save "sum" (b = "0 : 3") {
      %0 = trl.reduce_over sum (k = "0 : end(t)") {
        %1 = trl.index "k" : tensor<i32>
        trl.yield %1 : tensor<i32>
      } : tensor<i32>
      trl.yield %0 : tensor<i32>
    }
    trl.output report "points" (b = "0 : 2", t = "0 : end(t)") {
      %0 = trl.index "t" : tensor<i32>
      trl.yield %0 : tensor<i32>
    })trl");
  CHECK(saved(result, "n") == std::vector<double>{4, 8, 10});
  CHECK(saved(result, "sum") == std::vector<double>{6, 28, 45});
  CHECK(output(result, "points").values.size() == 12);
}

TEST_CASE("points before a stop are known before the stop is") {
  std::string dims = R"trl(
    trl.dim @b extent "3"
    trl.dim @t extent "10" until @stop
    trl.tensor @x ["b", "t"] : tensor<i32>
    trl.tensor @stop ["b", "t"] : tensor<i1> hidden
    trl.equation (b = "0 : 3") defines @x["b", "0"] {
      %0 = trl.constant dense<1> : tensor<i32>
      trl.yield %0 : tensor<i32>
    }
    trl.equation (b = "0 : 3", t = "0 : end(t)") defines @x["b", "t + 1"] {
      %0 = trl.read @x["b", "t"] : tensor<i32>
      %1 = trl.add %0, %0 : tensor<i32>
      trl.yield %1 : tensor<i32>
    }
    trl.equation (b = "0 : 3", t = "0 : end(t)") defines @stop["b", "t"] {
      %0 = trl.read @x["b", "t"] : tensor<i32>
      %1 = trl.index "8*b + 4" : tensor<i32>
      %2 = trl.compare ge %0, %1 : tensor<i32> -> tensor<i1>
      trl.yield %2 : tensor<i1>
    }
    )trl";
  // The bounds of a domain and conditions on the end, either way round.
  auto result = run(dims + R"trl(
    trl.tensor @y ["b", "t"] : tensor<i32>
    trl.equation (b = "0 : 3", t = "0 : end(t) + 1") when "t != end(t)" defines @y["b", "t"] {
      %0 = trl.index "t" : tensor<i32>
      trl.yield %0 : tensor<i32>
    }
    trl.equation (b = "0 : 3", t = "0 : 11") when "t == end(t)" defines @y["b", "t"] {
      %0 = trl.index "-t" : tensor<i32>
      trl.yield %0 : tensor<i32>
    }
    trl.output save "n" (b = "0 : 3") {
      %0 = trl.index "end(t)" : tensor<i32>
      trl.yield %0 : tensor<i32>
    }
    trl.output save "y" (b = "0 : 1", t = "0 : end(t) + 1") {
      %0 = trl.read @y["b", "t"] : tensor<i32>
      trl.yield %0 : tensor<i32>
    }
    trl.output save "last" (b = "0 : 3") {
      %0 = trl.read @x["b", "end(t)"] : tensor<i32>
      trl.yield %0 : tensor<i32>
    })trl");
  CHECK(saved(result, "n") == std::vector<double>{3, 5, 6});
  CHECK(saved(result, "y") == std::vector<double>{0, 1, 2, -3});
  CHECK(saved(result, "last") == std::vector<double>{8, 32, 64});
  CHECK(failure(dims + R"trl(
    trl.output report "past" () {
      %0 = trl.index "0" : tensor<i32>
      %1 = trl.reduce_over sum (b = "0 : 1", t = "0 : 6") {
        %2 = trl.read @x["b", "t"] : tensor<i32>
        trl.yield %2 : tensor<i32>
      } : tensor<i32>
      trl.yield %1 : tensor<i32>
    })trl") ==
        "E0912: `x[0, 4]` is read by an output, and no equation defines it");
}

TEST_CASE("a stop that needs itself, or dims that are not at hand") {
  std::string dims = R"trl(
    trl.dim @b extent "3"
    trl.dim @t extent "10" until @stop
    trl.tensor @stop ["b", "t"] : tensor<i1> hidden
    )trl";
  CHECK(failure(dims + R"trl(
    trl.equation (b = "0 : 3", t = "0 : 10") defines @stop["b", "t"] {
      %0 = trl.index "end(t) == 4*b + 3" : tensor<i1>
      trl.yield %0 : tensor<i1>
    }
    trl.output report "n" (b = "0 : 1") {
      %0 = trl.index "end(t)" : tensor<i32>
      trl.yield %0 : tensor<i32>
    })trl") ==
        "E0910: `stop[0, 0]` depends on itself: stop[0, 0] -> stop[0, 0]");
  CHECK(failure(dims + R"trl(
    trl.output report "n" (t = "0 : end(t)", b = "0 : 3") {
      %0 = trl.index "t" : tensor<i32>
      trl.yield %0 : tensor<i32>
    })trl") == "E0901: `b` is no dim, binder or integer arg here");
}

TEST_CASE("only the chosen branch is evaluated") {
  auto result = run(R"trl(
    trl.tensor @a ["t"] : tensor<f32>
    trl.output report "x" (t = "0 : 3") {
      %0 = trl.case "t >= 0" {
        %1 = trl.constant dense<1.0> : tensor<f32>
        trl.yield %1 : tensor<f32>
      } else {
        %1 = trl.read @a["t"] : tensor<f32>
        trl.yield %1 : tensor<f32>
      } : tensor<f32>
      %c = trl.index "t == 9" : tensor<i1>
      %2 = trl.if %c : tensor<i1> {
        %1 = trl.read @a["t"] : tensor<f32>
        trl.yield %1 : tensor<f32>
      } else {
        trl.yield %0 : tensor<f32>
      } : tensor<f32>
      trl.yield %2 : tensor<f32>
    })trl");
  CHECK(output(result, "x").values.size() == 3);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

TEST_CASE("arguments, inputs and reports") {
  const char *text = R"trl(
    trl.dim @b extent "n"
    trl.arg @n = 2 : i32
    trl.arg @lr = 2.5e-01 : f32
    trl.input @x : tensor<2xf32> over ["b"]
    trl.output report "y" (b = "0 : n") {
      %0 = trl.read @x["b"] : tensor<2xf32>
      %1 = trl.reduce sum %0 [0] : tensor<2xf32> -> tensor<f32>
      %2 = trl.arg_value @lr : tensor<f32>
      %3 = trl.mul %1, %2 : tensor<f32>
      trl.yield %3 : tensor<f32>
    }
    trl.output report "b" (b = "0 : n") when "b == 0" {
      %0 = trl.index "b > 0" : tensor<i1>
      trl.yield %0 : tensor<i1>
    })trl";
  InterpreterOptions options;
  Array x(DType::F32, {3, 2});
  for (int k = 0; k < 6; ++k)
    x.mutableData<float>()[k] = k + 0.5f;
  options.inputs["x"] = x;
  CHECK(failure(text, options) ==
        "E0905: input `x` needs f32[2, 2], but its file holds f32[3, 2]");
  options.args["n"] = "3";
  auto result = run(text, options);
  std::string table;
  llvm::raw_string_ostream os(table);
  printReports(result, os);
  CHECK(table == "b    y      b\n"
                 "0  0.5  false\n"
                 "1  1.5       \n"
                 "2  2.5       \n");
  options.args["n"] = "3.5";
  CHECK(failure(text, options) == "E0903: `3.5` is no i32, which arg `n` is");
  options.args.clear();
  options.args["m"] = "1";
  CHECK(failure(text, options) == "E0903: the program has no arg `m`");
}

/// Runs a region that yields one value and gives its elements.
static std::vector<double> evaluate(const std::string &type,
                                    const std::string &ops) {
  auto result = run("trl.output save \"v\" () {\n" + ops +
                    "\ntrl.yield %r : " + type + "\n}");
  return saved(result, "v");
}

static const double inf = std::numeric_limits<double>::infinity();

TEST_CASE("integers wrap; division and remainder floor, and give 0 by 0") {
  auto binary = [](const std::string &op) {
    return evaluate("tensor<5xi32>",
                    "%a = trl.constant dense<[7, -7, 2147483647, -2147483648, "
                    "5]> : tensor<5xi32>\n"
                    "%b = trl.constant dense<[-2, 2, 1, -1, 0]> : "
                    "tensor<5xi32>\n%r = trl." +
                        op + " %a, %b : tensor<5xi32>");
  };
  using V = std::vector<double>;
  CHECK(binary("add") == V{5, -5, -2147483648.0, 2147483647, 5});
  CHECK(binary("floordiv") == V{-4, -4, 2147483647, -2147483648.0, 0});
  CHECK(binary("mod") == V{-1, 1, 0, 0, 0});
  CHECK(binary("pow") == V{0, 49, 2147483647, 0, 1});
  CHECK(evaluate("tensor<3xui8>",
                 "%a = trl.constant dense<[1, 200, 0]> : tensor<3xui8>\n"
                 "%b = trl.constant dense<[255, 2, 1]> : tensor<3xui8>\n"
                 "%c = trl.mul %a, %b : tensor<3xui8>\n"
                 "%r = trl.neg %c : tensor<3xui8>") == V{1, 112, 0});
}

TEST_CASE("casts go toward zero, saturate, and turn NaN into 0") {
  auto cast = [](const std::string &type) {
    return evaluate("tensor<6x" + type + ">",
                    "%a = trl.constant dense<[1.9, -1.9, 3.0e10, -3.0e20, "
                    "0x7FC00000, 300.0]> : tensor<6xf32>\n"
                    "%r = trl.cast %a : tensor<6xf32> -> tensor<6x" +
                        type + ">");
  };
  using V = std::vector<double>;
  CHECK(cast("i32") == V{1, -1, 2147483647, -2147483648.0, 0, 300});
  CHECK(cast("i64") == V{1, -1, double(int64_t(3e10f)), -0x1p63, 0, 300});
  CHECK(cast("ui8") == V{1, 0, 255, 0, 0, 255});
}

TEST_CASE("minimum, maximum and comparisons with NaN") {
  std::string operands =
      "%a = trl.constant dense<[1.0, 0x7FC00000, 2.0]> : tensor<3xf32>\n"
      "%b = trl.constant dense<[2.0, 1.0, 0x7FC00000]> : tensor<3xf32>\n";
  for (std::string op : {"min", "max"}) {
    auto values = evaluate("tensor<3xf32>", operands + "%r = trl." + op +
                                                " %a, %b : tensor<3xf32>");
    CHECK(values[0] == (op == "min" ? 1 : 2));
    CHECK(std::isnan(values[1]));
    CHECK(std::isnan(values[2]));
  }
  auto compare = [&](const std::string &predicate) {
    return evaluate("tensor<3xi1>",
                    operands + "%r = trl.compare " + predicate +
                        " %a, %b : tensor<3xf32> -> tensor<3xi1>");
  };
  CHECK(compare("ne") == std::vector<double>{1, 1, 1});
  CHECK(compare("le") == std::vector<double>{1, 0, 0});
}

TEST_CASE("reductions, over nothing too") {
  using V = std::vector<double>;
  std::string matrix = "%a = trl.constant dense<[[1.0, 5.0, 5.0], [4.0, 2.0, "
                       "0.5]]> : tensor<2x3xf32>\n";
  CHECK(evaluate("tensor<2xf32>",
                 matrix + "%r = trl.reduce prod %a [1] : tensor<2x3xf32> -> "
                          "tensor<2xf32>") == V{25, 4});
  CHECK(evaluate("tensor<3xf32>",
                 matrix + "%r = trl.reduce min %a [0] : tensor<2x3xf32> -> "
                          "tensor<3xf32>") == V{1, 2, 0.5});
  CHECK(evaluate("tensor<2xi32>",
                 matrix + "%r = trl.reduce argmax %a [1] : tensor<2x3xf32> -> "
                          "tensor<2xi32>") == V{1, 0});
  CHECK(evaluate("tensor<3xi32>",
                 matrix + "%r = trl.reduce argmax %a [0] : tensor<2x3xf32> -> "
                          "tensor<3xi32>") == V{1, 0, 0});
  CHECK(evaluate("tensor<f32>",
                 matrix + "%r = trl.reduce sum %a [0, 1] : tensor<2x3xf32> -> "
                          "tensor<f32>") == V{17.5});
  auto nothing = [](const std::string &reduction) {
    return evaluate("tensor<f32>", "%r = trl.reduce_over " + reduction +
                                       " (k = \"3 : 3\") {\n%0 = trl.constant "
                                       "dense<1.0> : tensor<f32>\ntrl.yield %0 "
                                       ": tensor<f32>\n} : tensor<f32>");
  };
  CHECK(nothing("sum") == V{0});
  CHECK(nothing("prod") == V{1});
  CHECK(nothing("max") == V{-inf});
  CHECK(nothing("min") == V{inf});
  auto argmax = [](const std::string &range) {
    return evaluate("tensor<i32>",
                    "%r = trl.reduce_over argmax (k = \"" + range +
                        "\") when \"k != 5\" {\n%0 = trl.index \"min(k, 8) - k "
                        "// 9*100\" : tensor<i32>\ntrl.yield %0 : "
                        "tensor<i32>\n} : tensor<i32>");
  };
  CHECK(argmax("2 : 12") == V{8});
  CHECK(argmax("2 : 2") == V{-1});
}

TEST_CASE("shapes: broadcast, transpose, concat, extract, take, scatter") {
  using V = std::vector<double>;
  std::string matrix =
      "%a = trl.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>\n";
  CHECK(evaluate("tensor<3x2xi32>",
                 matrix + "%r = trl.transpose %a [1, 0] : tensor<2x3xi32> -> "
                          "tensor<3x2xi32>") == V{1, 4, 2, 5, 3, 6});
  CHECK(evaluate("tensor<2x4xi32>",
                 matrix + "%b = trl.extract %a[\"0 : 2\", \"2 : 3\"] : "
                          "tensor<2x3xi32> -> tensor<2x1xi32>\n"
                          "%r = trl.concat %a, %b axis 1 : tensor<2x3xi32>, "
                          "tensor<2x1xi32> -> tensor<2x4xi32>") ==
        V{1, 2, 3, 3, 4, 5, 6, 6});
  CHECK(evaluate("tensor<2x2xi32>",
                 matrix + "%b = trl.extract %a[\"0 : 2\", \"2 : 3\"] : "
                          "tensor<2x3xi32> -> tensor<2x1xi32>\n"
                          "%r = trl.broadcast %b : tensor<2x1xi32> -> "
                          "tensor<2x2xi32>") == V{3, 3, 6, 6});
  CHECK(evaluate("tensor<3xi32>",
                 matrix + "%j = trl.constant dense<9> : tensor<i32>\n"
                          "%r = trl.extract %a[dyn \"0 : 0\"] (%j : "
                          "tensor<i32>) : tensor<2x3xi32> -> tensor<3xi32>") ==
        V{4, 5, 6});
  CHECK(evaluate("tensor<3x3xi32>",
                 matrix +
                     "%j = trl.constant dense<[1, -4, 7]> : tensor<3xi32>\n"
                     "%r = trl.take %a[%j] : tensor<2x3xi32>, "
                     "tensor<3xi32> -> tensor<3x3xi32>") ==
        V{4, 5, 6, 1, 2, 3, 4, 5, 6});
  std::string updates =
      "%x = trl.constant dense<[10, 20, 30]> : tensor<3xi32>\n"
      "%j = trl.constant dense<[1, 5, 1]> : tensor<3xi32>\n"
      "%u = trl.constant dense<[1, 2, 3]> : tensor<3xi32>\n";
  CHECK(evaluate("tensor<3xi32>",
                 updates + "%r = trl.scatter %x[%j], %u : tensor<3xi32>, "
                           "tensor<3xi32>, tensor<3xi32>") == V{10, 3, 30});
  CHECK(evaluate("tensor<3xi32>",
                 updates + "%r = trl.scatter add %x[%j], %u : tensor<3xi32>, "
                           "tensor<3xi32>, tensor<3xi32>") == V{10, 24, 30});
}

TEST_CASE("matrix products, running sums and stable sorting") {
  using V = std::vector<double>;
  std::string matrix =
      "%a = trl.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : "
      "tensor<2x3xf32>\n"
      "%v = trl.constant dense<[1.0, 0.5, 2.0]> : tensor<3xf32>\n";
  CHECK(evaluate("tensor<2xf32>",
                 matrix + "%r = trl.matmul %a, %v : tensor<2x3xf32>, "
                          "tensor<3xf32> -> tensor<2xf32>") == V{8, 18.5});
  CHECK(evaluate("tensor<2x2xf32>",
                 matrix + "%b = trl.transpose %a [1, 0] : tensor<2x3xf32> -> "
                          "tensor<3x2xf32>\n"
                          "%r = trl.matmul %a, %b : tensor<2x3xf32>, "
                          "tensor<3x2xf32> -> tensor<2x2xf32>") ==
        V{14, 32, 32, 77});
  CHECK(evaluate("tensor<f32>", matrix +
                                    "%r = trl.matmul %v, %v : tensor<3xf32>, "
                                    "tensor<3xf32> -> tensor<f32>") == V{5.25});
  CHECK(evaluate("tensor<2x3xf32>",
                 matrix + "%r = trl.cumsum %a axis 0 reverse : "
                          "tensor<2x3xf32>") == V{5, 7, 9, 4, 5, 6});
  CHECK(evaluate("tensor<5xi32>",
                 "%a = trl.constant dense<[2.0, 0x7FC00000, 1.0, 2.0, -1.0]> : "
                 "tensor<5xf32>\n%r = trl.argsort %a : tensor<5xf32> -> "
                 "tensor<5xi32>") == V{4, 2, 0, 3, 1});
}

TEST_CASE("random draws depend on seed, site and point alone") {
  auto draws = [](uint64_t seed, const std::string &site,
                  const std::string &offset) {
    InterpreterOptions options;
    options.seed = seed;
    auto result = run("trl.output save \"u\" (p = \"0 : 2\", t = \"0 : 3\") {\n"
                      "%0 = trl.random uniform \"" +
                          site + "\" at [\"t\"] seed \"" + offset +
                          "\" : tensor<5xf32>\ntrl.yield %0 : tensor<5xf32>\n}",
                      options);
    return saved(result, "u");
  };
  auto first = draws(3, "a", "p");
  CHECK(first == draws(3, "a", "p"));
  CHECK(first != draws(3, "b", "p"));
  // The second run of a seed dim is a run of its own with the next seed.
  auto next = draws(4, "a", "p");
  CHECK(std::equal(first.begin() + 15, first.end(), next.begin()));
  CHECK(!std::equal(first.begin(), first.begin() + 15, next.begin()));
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

static const char *recordedProgram = R"trl(
    trl.dim @t extent "6"
    trl.tensor @s ["t"] : tensor<2xf32>
    trl.tensor @a ["t"] : tensor<i32>
    trl.equation () defines @s["-1"] {
      %0 = trl.constant dense<[0.5, 0.25]> : tensor<2xf32>
      trl.yield %0 : tensor<2xf32>
    }
    trl.equation (t = "0 : 6") defines @s["t"], @a["t"] {
      %0 = trl.read @s["t - 1"] : tensor<2xf32>
      %1 = trl.sin %0 : tensor<2xf32>
      %2 = trl.reduce argmax %1 [0] : tensor<2xf32> -> tensor<i32>
      %3 = trl.cast %2 : tensor<i32> -> tensor<f32>
      %4 = trl.fill %3 : tensor<f32> -> tensor<2xf32>
      %5 = trl.add %1, %4 : tensor<2xf32>
      trl.yield %5, %2 : tensor<2xf32>, tensor<i32>
    }
    trl.output save "s" (t = "-1 : 6") {
      %0 = trl.read @s["t"] : tensor<2xf32>
      trl.yield %0 : tensor<2xf32>
    })trl";

TEST_CASE("a record agrees with itself, and a change is found where it is") {
  InterpreterOptions options;
  options.keepRecord = true;
  auto result = run(recordedProgram, options);
  std::vector<std::string> names;
  for (auto &array : result.record)
    names.push_back(array.name);
  CHECK(names ==
        std::vector<std::string>{"s", "s@mask", "s@lo", "a", "a@mask"});
  CHECK(result.record[0].value.shape() == llvm::ArrayRef<int64_t>{7, 2});

  InterpreterOptions check;
  check.record = result.record;
  check.check = InterpreterOptions::Check::Local;
  auto same = run(recordedProgram, check);
  REQUIRE(same.residuals.size() == 2);
  CHECK(same.residuals[0].worst == 0);
  CHECK(same.residuals[0].numPoints == 7);

  // s[3] turned: s[4] and a[4] were not computed from it, nor it from s[2].
  float *turned = result.record[0].value.mutableData<float>() + 2 * 4;
  std::swap(turned[0], turned[1]);
  check.record = result.record;
  auto changed = run(recordedProgram, check);
  CHECK(changed.residuals[0].worst > 0.1);
  CHECK((changed.residuals[0].point == std::vector<int64_t>{3} ||
         changed.residuals[0].point == std::vector<int64_t>{4}));
  CHECK(changed.residuals[1].worst == inf);

  // Forced: the integers are the record's, so only s[3] itself differs.
  check.check = InterpreterOptions::Check::Forced;
  auto forced = run(recordedProgram, check);
  CHECK(forced.residuals[0].point == std::vector<int64_t>{3});
  CHECK(forced.residuals[1].worst == 0);
}

TEST_CASE("a value larger than any memory is an error") {
  CHECK(failure(R"trl(
    trl.arg @n = 4000000000 : i64
    trl.output save "x" () {
      %0 = trl.constant dense<1.0> : tensor<f32>
      %1 = trl.fill %0 : tensor<f32> -> tensor<?x?xf32, #trl.shape<["n", "n"]>>
      %2 = trl.reduce sum %1 [0, 1] : tensor<?x?xf32, #trl.shape<["n", "n"]>> -> tensor<f32>
      trl.yield %2 : tensor<f32>
    })trl") == "E0919: the run needs more memory than there is");
}
