//===- GradientTest.cpp - The interpreter's gradients ---------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients against central differences in f64, and the rules for points where
// a derivative is a matter of definition.
//
//===----------------------------------------------------------------------===//

#include "InterpreterTest.h"
#include <cmath>

using namespace timerl;

/// A program over twelve numbers w[0] .. w[11], read from an input, which
/// `equations` make y of.
static std::string program(const std::string &equations) {
  return R"trl(
    trl.dim @t extent "12"
    trl.dim @s extent "12"
    trl.input @x : tensor<12xf64> over []
    trl.tensor @w ["t"] : tensor<f64>
    trl.tensor @y [] : tensor<f64>
    trl.equation (t = "0 : 12") defines @w["t"] {
      %0 = trl.read @x[] : tensor<12xf64>
      %1 = trl.extract %0["t"] : tensor<12xf64> -> tensor<f64>
      trl.yield %1 : tensor<f64>
    }
    trl.output report "y" () {
      %0 = trl.read @y[] : tensor<f64>
      trl.yield %0 : tensor<f64>
    }
    trl.output save "g" (t = "0 : 12") {
      %0 = trl.grad @y[] wrt @w at ["t"] : tensor<f64>
      trl.yield %0 : tensor<f64>
    }
    )trl" +
         equations;
}

static InterpreterOptions at(const std::vector<double> &x) {
  InterpreterOptions options;
  options.inputs["x"] = Array(DType::F64, {12});
  std::copy(x.begin(), x.end(), options.inputs["x"].mutableData<double>());
  return options;
}

/// Some numbers without pattern, none of them near 0 or near another.
static std::vector<double> somewhere() {
  std::vector<double> x;
  for (int k = 0; k < 12; ++k)
    x.push_back(0.3 + 0.11 * ((k * 7) % 12));
  return x;
}

static void checkGradient(const std::string &equations) {
  INFO(equations);
  std::string text = program(equations);
  std::vector<double> x = somewhere();
  std::vector<double> gradient = saved(run(text, at(x)), "g");
  REQUIRE(gradient.size() == 12);
  double largest = 0;
  for (int k = 0; k < 12; ++k) {
    const double step = 1e-5;
    auto up = x, down = x;
    up[k] += step;
    down[k] -= step;
    double difference =
        (scalar(run(text, at(up)), "y") - scalar(run(text, at(down)), "y")) /
        (2 * step);
    INFO("w[" << k << "]");
    CHECK(gradient[k] == Approx(difference).epsilon(1e-7).margin(1e-8));
    largest = std::max(largest, std::fabs(difference));
  }
  CHECK(largest > 1e-3);
}

/// y = sum over t of sin(u[t]) * w[t], where u is what `ops` make as %u.
static void checkOver(const std::string &range, const std::string &ops) {
  checkGradient(R"trl(
    trl.tensor @u ["t"] : tensor<f64>
    trl.equation (t = ")trl" +
                range + R"trl(") defines @u["t"] {)trl" + ops + R"trl(
      trl.yield %u : tensor<f64>
    }
    trl.equation () defines @y[] {
      %0 = trl.reduce_over sum (t = ")trl" +
                range + R"trl(") {
        %1 = trl.read @u["t"] : tensor<f64>
        %2 = trl.sin %1 : tensor<f64>
        %3 = trl.read @w["t"] : tensor<f64>
        %4 = trl.mul %2, %3 : tensor<f64>
        trl.yield %4 : tensor<f64>
      } : tensor<f64>
      trl.yield %0 : tensor<f64>
    })trl");
}

TEST_CASE("gradients through reads at a point") {
  for (auto [range, index] : std::vector<std::pair<std::string, std::string>>{
           {"0 : 12", "t"},
           {"0 : 12", "3"},
           {"1 : 12", "t - 1"},
           {"0 : 11", "t + 1"},
           {"0 : 12", "t // 2"},
           {"0 : 12", "t % 8"},
           {"0 : 12", "(3*t + 1) % 8"},
           {"0 : 12", "min(t // 2 + 3, 11)"},
           {"0 : 12", "max(t - 3, 0)"},
           {"0 : 12", "11 - t"}})
    checkOver(range, R"trl(
      %0 = trl.read @w[")trl" +
                         index + R"trl("] : tensor<f64>
      %u = trl.mul %0, %0 : tensor<f64>)trl");
}

TEST_CASE("gradients through ranges and windows") {
  for (auto [range, slice, length] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"0 : 12", "0 : t + 1", "t + 1"},
           {"0 : 12", "t : 12", "-t + 12"},
           {"2 : 12", "t - 2 : t + 1", ""},
           {"0 : 6", "2*t : 2*t + 2", ""}}) {
    std::string type =
        length.empty() ? (range == "0 : 6" ? "tensor<2xf64>" : "tensor<3xf64>")
                       : "tensor<?xf64, #trl.shape<[\"" + length + "\"]>>";
    for (std::string reduction : {"sum", "prod", "max", "min"})
      checkOver(range, "%0 = trl.read @w[\"" + slice + "\"] : " + type +
                           "\n%1 = trl.sin %0 : " + type +
                           "\n%u = trl.reduce " + reduction +
                           " %1 [0] : " + type + " -> tensor<f64>");
  }
  for (std::string reduction : {"sum", "prod", "max", "min"})
    checkOver("0 : 12",
              R"trl(
      %u = trl.reduce_over )trl" +
                  reduction +
                  R"trl( (k = "max(t - 4, 0) : t + 1") when "k % 3 != 1" {
        %0 = trl.read @w["k"] : tensor<f64>
        %1 = trl.cos %0 : tensor<f64>
        trl.yield %1 : tensor<f64>
      } : tensor<f64>)trl");
}

TEST_CASE("gradients through windows of windows and transposed reads") {
  checkGradient(R"trl(
    trl.tensor @u ["t"] : tensor<f64>
    trl.tensor @v ["t"] : tensor<f64>
    trl.equation (t = "0 : 10") defines @u["t"] {
      %0 = trl.reduce_over sum (k = "t : t + 3") {
        %1 = trl.read @w["k"] : tensor<f64>
        %2 = trl.mul %1, %1 : tensor<f64>
        trl.yield %2 : tensor<f64>
      } : tensor<f64>
      trl.yield %0 : tensor<f64>
    }
    trl.equation (t = "0 : 8") defines @v["t"] {
      %0 = trl.reduce_over prod (k = "t : t + 3") {
        %1 = trl.read @u["k"] : tensor<f64>
        trl.yield %1 : tensor<f64>
      } : tensor<f64>
      trl.yield %0 : tensor<f64>
    }
    trl.equation () defines @y[] {
      %0 = trl.read @v["0 : 8"] : tensor<8xf64>
      %1 = trl.log %0 : tensor<8xf64>
      %2 = trl.reduce sum %1 [0] : tensor<8xf64> -> tensor<f64>
      trl.yield %2 : tensor<f64>
    })trl");
  checkGradient(R"trl(
    trl.tensor @u ["t", "s"] : tensor<f64>
    trl.equation (t = "0 : 12", s = "0 : 12") defines @u["t", "s"] {
      %0 = trl.read @w["t"] : tensor<f64>
      %1 = trl.read @w["s"] : tensor<f64>
      %2 = trl.exp %1 : tensor<f64>
      %3 = trl.mul %0, %2 : tensor<f64>
      trl.yield %3 : tensor<f64>
    }
    trl.equation () defines @y[] {
      %0 = trl.reduce_over sum (t = "0 : 12", s = "t : 12") {
        %1 = trl.read @u["s", "t"] : tensor<f64>
        %2 = trl.read @u["t", "0 : 3"] : tensor<3xf64>
        %3 = trl.reduce sum %2 [0] : tensor<3xf64> -> tensor<f64>
        %4 = trl.div %1, %3 : tensor<f64>
        trl.yield %4 : tensor<f64>
      } : tensor<f64>
      trl.yield %0 : tensor<f64>
    })trl");
}

TEST_CASE("gradients through gathers") {
  checkOver("0 : 12", R"trl(
      %i = trl.index "t*5 + 2" : tensor<i32>
      %n = trl.constant dense<7> : tensor<i32>
      %j = trl.mod %i, %n : tensor<i32>
      %0 = trl.read @w[dyn "0 : 7"] (%j : tensor<i32>) : tensor<f64>
      %1 = trl.read @w["0 : 12"] : tensor<12xf64>
      %2 = trl.extract %1[dyn "0 : 0"] (%i : tensor<i32>) : tensor<12xf64> -> tensor<f64>
      %u = trl.mul %0, %2 : tensor<f64>)trl");
  checkGradient(R"trl(
    trl.equation () defines @y[] {
      %x = trl.read @w["0 : 12"] : tensor<12xf64>
      %o = trl.argsort %x : tensor<12xf64> -> tensor<12xi32>
      %s = trl.take %x[%o] : tensor<12xf64>, tensor<12xi32> -> tensor<12xf64>
      %c = trl.cumsum %s axis 0 : tensor<12xf64>
      %d = trl.cumsum %c axis 0 reverse : tensor<12xf64>
      %j = trl.constant dense<[3, 3, 20, 0]> : tensor<4xi32>
      %v = trl.extract %x["4 : 8"] : tensor<12xf64> -> tensor<4xf64>
      %e = trl.scatter %d[%j], %v : tensor<12xf64>, tensor<4xi32>, tensor<4xf64>
      %f = trl.scatter add %e[%j], %v : tensor<12xf64>, tensor<4xi32>, tensor<4xf64>
      %g = trl.mul %f, %f : tensor<12xf64>
      %h = trl.reduce sum %g [0] : tensor<12xf64> -> tensor<f64>
      trl.yield %h : tensor<f64>
    })trl");
}

TEST_CASE("gradients through time") {
  // A recurrence, forwards and back, that reads its weights at every step.
  checkGradient(R"trl(
    trl.tensor @h ["t"] : tensor<f64>
    trl.tensor @r ["t"] : tensor<f64>
    trl.equation () defines @h["0"] {
      %0 = trl.read @w["0"] : tensor<f64>
      trl.yield %0 : tensor<f64>
    }
    trl.equation (t = "0 : 12") defines @h["t + 1"] {
      %0 = trl.read @h["t"] : tensor<f64>
      %1 = trl.read @w["t"] : tensor<f64>
      %2 = trl.read @w["3"] : tensor<f64>
      %3 = trl.mul %0, %1 : tensor<f64>
      %4 = trl.add %3, %2 : tensor<f64>
      %5 = trl.tanh %4 : tensor<f64>
      trl.yield %5 : tensor<f64>
    }
    trl.equation () defines @r["12"] {
      %0 = trl.constant dense<0.0> : tensor<f64>
      trl.yield %0 : tensor<f64>
    }
    trl.equation (t = "0 : 12") defines @r["t"] {
      %0 = trl.read @r["t + 1"] : tensor<f64>
      %1 = trl.read @w["2"] : tensor<f64>
      %2 = trl.mul %0, %1 : tensor<f64>
      %3 = trl.read @h["t + 1"] : tensor<f64>
      %4 = trl.add %2, %3 : tensor<f64>
      trl.yield %4 : tensor<f64>
    }
    trl.equation () defines @y[] {
      %0 = trl.reduce_over sum (t = "0 : 12", s = "0 : 2") {
        %1 = trl.read @r["t"] : tensor<f64>
        %2 = trl.read @w["s"] : tensor<f64>
        %3 = trl.mul %1, %2 : tensor<f64>
        trl.yield %3 : tensor<f64>
      } : tensor<f64>
      trl.yield %0 : tensor<f64>
    })trl");
}

TEST_CASE("gradients of matrix products, shapes and elementwise functions") {
  checkGradient(R"trl(
    trl.equation () defines @y[] {
      %x = trl.read @w["0 : 12"] : tensor<12xf64>
      %a = trl.reshape %x : tensor<12xf64> -> tensor<3x4xf64>
      %b = trl.transpose %a [1, 0] : tensor<3x4xf64> -> tensor<4x3xf64>
      %c = trl.matmul %a, %b : tensor<3x4xf64>, tensor<4x3xf64> -> tensor<3x3xf64>
      %v = trl.extract %a["1"] : tensor<3x4xf64> -> tensor<4xf64>
      %d = trl.matmul %a, %v : tensor<3x4xf64>, tensor<4xf64> -> tensor<3xf64>
      %e = trl.broadcast %d : tensor<3xf64> -> tensor<3x3xf64>
      %f = trl.div %c, %e : tensor<3x3xf64>
      %g = trl.matmul %v, %b : tensor<4xf64>, tensor<4x3xf64> -> tensor<3xf64>
      %h = trl.stack %d, %g : tensor<3xf64>, tensor<3xf64> -> tensor<2x3xf64>
      %i = trl.concat %f, %h axis 0 : tensor<3x3xf64>, tensor<2x3xf64> -> tensor<5x3xf64>
      %j = trl.sqrt %i : tensor<5x3xf64>
      %k = trl.reduce max %j [1] : tensor<5x3xf64> -> tensor<5xf64>
      %l = trl.reduce sum %k [0] : tensor<5xf64> -> tensor<f64>
      trl.yield %l : tensor<f64>
    })trl");
  for (std::string op :
       {"neg", "abs", "exp", "log", "sqrt", "sin", "cos", "tanh"})
    checkOver("0 : 12", "%0 = trl.read @w[\"t\"] : tensor<f64>\n%u = trl." +
                            op + " %0 : tensor<f64>");
  for (std::string op : {"add", "sub", "mul", "div", "mod", "pow", "min", "max",
                         "cotangent_mul"})
    checkOver("0 : 12", "%0 = trl.read @w[\"t\"] : tensor<f64>\n"
                        "%1 = trl.read @w[\"(t + 5) % 12\"] : tensor<f64>\n"
                        "%u = trl." +
                            op + " %0, %1 : tensor<f64>");
  checkOver("0 : 12", R"trl(
      %0 = trl.read @w["t"] : tensor<f64>
      %1 = trl.read @w["(t + 5) % 12"] : tensor<f64>
      %2 = trl.read @w["(t + 3) % 12"] : tensor<f64>
      %3 = trl.clip %0, %1, %2 : tensor<f64>
      %4 = trl.compare lt %1, %2 : tensor<f64> -> tensor<i1>
      %5 = trl.select %4, %0, %3 : tensor<i1>, tensor<f64>
      %6 = trl.if %4 : tensor<i1> {
        %7 = trl.mul %1, %3 : tensor<f64>
        trl.yield %7 : tensor<f64>
      } else {
        trl.yield %2 : tensor<f64>
      } : tensor<f64>
      %8 = trl.case "t % 3 == 1" {
        %9 = trl.exp %6 : tensor<f64>
        trl.yield %9 : tensor<f64>
      } else {
        trl.yield %5 : tensor<f64>
      } : tensor<f64>
      %u = trl.add %8, %6 : tensor<f64>)trl");
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// dy/dw[0..2] at the given values, where y is made by `ops` as %y from
/// %x = [w0, w1, w2].
static std::vector<double> gradientAt(std::vector<double> x,
                                      const std::string &ops) {
  x.resize(12);
  auto gradient = saved(run(program(R"trl(
    trl.equation () defines @y[] {
      %x = trl.read @w["0 : 3"] : tensor<3xf64>
      %a = trl.extract %x["0"] : tensor<3xf64> -> tensor<f64>
      %b = trl.extract %x["1"] : tensor<3xf64> -> tensor<f64>
      %c = trl.extract %x["2"] : tensor<3xf64> -> tensor<f64>
    )trl" + ops + "\ntrl.yield %y : tensor<f64>\n}"),
                            at(x)),
                        "g");
  gradient.resize(3);
  return gradient;
}

TEST_CASE("ties and kinks have the derivatives that the language states") {
  using V = std::vector<double>;
  CHECK(gradientAt({2, 2, 0}, "%y = trl.max %a, %b : tensor<f64>") ==
        V{0.5, 0.5, 0});
  CHECK(gradientAt({2, 2, 0}, "%y = trl.min %a, %b : tensor<f64>") ==
        V{0.5, 0.5, 0});
  CHECK(gradientAt({1, 2, 2}, "%y = trl.reduce max %x [0] : tensor<3xf64> -> "
                              "tensor<f64>") == V{0, 1, 0});
  CHECK(gradientAt({1, 1, 2}, "%y = trl.reduce min %x [0] : tensor<3xf64> -> "
                              "tensor<f64>") == V{1, 0, 0});
  CHECK(gradientAt({0, 3, 2}, "%y = trl.reduce prod %x [0] : tensor<3xf64> -> "
                              "tensor<f64>") == V{6, 0, 0});
  for (double x : {1.0, 1.5, 2.0})
    CHECK(gradientAt({x, 1, 2}, "%y = trl.clip %a, %b, %c : tensor<f64>") ==
          V{1, 0, 0});
  CHECK(gradientAt({0.5, 1, 2}, "%y = trl.clip %a, %b, %c : tensor<f64>") ==
        V{0, 1, 0});
  CHECK(gradientAt({2.5, 1, 2}, "%y = trl.clip %a, %b, %c : tensor<f64>") ==
        V{0, 0, 1});
  CHECK(gradientAt({0, 0, 0}, "%y = trl.abs %a : tensor<f64>")[0] == 0);
  CHECK(gradientAt({1.5, 0, 0}, "%y = trl.floor %a : tensor<f64>")[0] == 0);
}

TEST_CASE("stop_gradient and integers cut") {
  using V = std::vector<double>;
  CHECK(gradientAt({3, 2, 0}, R"(
      %0 = trl.stop_gradient %a : tensor<f64>
      %y = trl.mul %0, %b : tensor<f64>)") == V{0, 3, 0});
  CHECK(gradientAt({3.5, 2, 0}, R"(
      %0 = trl.cast %a : tensor<f64> -> tensor<i32>
      %1 = trl.cast %0 : tensor<i32> -> tensor<f64>
      %y = trl.mul %1, %b : tensor<f64>)") == V{0, 3, 0});
}

TEST_CASE("a branch that was not chosen contributes exactly zero") {
  using V = std::vector<double>;
  // sqrt has an infinite derivative at 0.
  std::string ops = R"(
      %z = trl.constant dense<0.0> : tensor<3xf64>
      %p = trl.compare gt %x, %z : tensor<3xf64> -> tensor<3xi1>
      %0 = trl.if %p : tensor<3xi1> {
        %1 = trl.sqrt %x : tensor<3xf64>
        trl.yield %1 : tensor<3xf64>
      } else {
        trl.yield %z : tensor<3xf64>
      } : tensor<3xf64>
      %y = trl.reduce sum %0 [0] : tensor<3xf64> -> tensor<f64>)";
  CHECK(gradientAt({0, 4, 0}, ops) == V{0, 0.25, 0});
  CHECK(gradientAt({0, 4, 0}, R"(
      %0 = trl.sqrt %a : tensor<f64>
      %1 = trl.mul %0, %c : tensor<f64>
      %y = trl.add %1, %b : tensor<f64>)") == V{0, 1, 0});
}

TEST_CASE("a leaf is independent of the other points of its tensor") {
  // w[i + 1] = w[i] * w[i]; y = w[3] * w[2].
  std::string text = R"trl(
    trl.tensor @w ["i"] : tensor<f64>
    trl.tensor @v ["i"] : tensor<f64>
    trl.tensor @y [] : tensor<f64>
    trl.equation () defines @w["0"], @v["0"] {
      %0 = trl.constant dense<2.0> : tensor<f64>
      trl.yield %0, %0 : tensor<f64>, tensor<f64>
    }
    trl.equation (i = "0 : 3") defines @w["i + 1"], @v["i + 1"] {
      %0 = trl.read @w["i"] : tensor<f64>
      %1 = trl.mul %0, %0 : tensor<f64>
      trl.yield %1, %0 : tensor<f64>, tensor<f64>
    }
    trl.equation () defines @y[] {
      %0 = trl.read @w["3"] : tensor<f64>
      %1 = trl.read @w["2"] : tensor<f64>
      %2 = trl.mul %0, %1 : tensor<f64>
      trl.yield %2 : tensor<f64>
    }
    trl.output save "g" (i = "0 : 4") {
      %0 = trl.grad @y[] wrt @w at ["i"] : tensor<f64>
      trl.yield %0 : tensor<f64>
    }
    trl.output report "both" () {
      %0:2 = trl.grad @y[] wrt @w, @v at ["2"] : tensor<f64>, tensor<f64>
      %1 = trl.add %0#0, %0#1 : tensor<f64>
      trl.yield %1 : tensor<f64>
    })trl";
  auto result = run(text);
  // w = 2, 4, 16, 256; as functions of a leaf x: y = x^3 at w[2], x^6 at w[1],
  // x^12 at w[0].
  CHECK(saved(result, "g") ==
        std::vector<double>{12 * 2048, 6 * 1024, 3 * 256, 16});
  CHECK(scalar(result, "both") == 3 * 256);
}

TEST_CASE("a gradient of a gradient is refused only where it matters") {
  std::string prefix = R"trl(
    trl.tensor @w ["i"] : tensor<f64>
    trl.tensor @l ["i"] : tensor<f64>
    trl.tensor @g ["i"] : tensor<f64>
    trl.equation () defines @w["0"] {
      %0 = trl.constant dense<0.5> : tensor<f64>
      trl.yield %0 : tensor<f64>
    }
    trl.equation (i = "0 : 5") defines @w["i + 1"] {
      %0 = trl.read @w["i"] : tensor<f64>
      %1 = trl.read @g["i"] : tensor<f64>
      %2 = trl.sub %0, %1 : tensor<f64>
      trl.yield %2 : tensor<f64>
    }
    trl.equation (i = "0 : 5") defines @l["i"] {
      %0 = trl.read @w["i"] : tensor<f64>
      %1 = trl.read @w["i // 2"] : tensor<f64>
      %2 = trl.mul %0, %1 : tensor<f64>
      trl.yield %2 : tensor<f64>
    }
    trl.equation (i = "0 : 5") defines @g["i"] {
      %0 = trl.grad @l["i"] wrt @w at ["i"] : tensor<f64>
      trl.yield %0 : tensor<f64>
    }
    trl.output save "x" (i = "0 : 3") {)trl";
  // l[i] reads older weights, which come from older gradients.
  auto result = run(prefix + R"(
      %0 = trl.read @w["i"] : tensor<f64>
      trl.yield %0 : tensor<f64>
    })");
  CHECK(saved(result, "x") == std::vector<double>{0.5, -0.5, -1.0});
  if (!prepareModule) // As an equation, it has a gradient of its own.
    CHECK(failure(prefix + R"(
      %0 = trl.grad @l["i + 1"] wrt @w at ["i"] : tensor<f64>
      trl.yield %0 : tensor<f64>
    })") == "E0915: the interpreter does not differentiate a gradient");
}
