//===- AutodiffTest.cpp - Gradients as equations --------------------------===//
//
// Part of TimeRL, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In this executable `run` applies `trl-grad` before it interprets. So all
// tests of GradientTest.cpp, against differences and against the rules that the
// language states, are tests of the pass, too. Here are those that compare both
// ways of taking a gradient.
//
//===----------------------------------------------------------------------===//

#include "InterpreterTest.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "timerl/Autodiff/Passes.h"
#include "timerl/Elaboration/Elaborate.h"
#include "timerl/Frontend/ModuleLoader.h"
#include "timerl/Poly/Definitions.h"
#include <cmath>

using namespace timerl;

/// Each point is defined once, and no point depends on itself.
static bool isWellDefined(mlir::ModuleOp module) {
  mlir::ScopedDiagnosticHandler quiet(
      module.getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
  mlir::PassManager passes(module.getContext());
  passes.addPass(poly::createProveDefinitionsPass());
  return mlir::succeeded(passes.run(module));
}

static void rewriteGradients(mlir::ModuleOp module) {
  bool wasWellDefined = isWellDefined(module);
  mlir::PassManager passes(module.getContext());
  passes.addPass(autodiff::createTrlGradPass());
  REQUIRE(mlir::succeeded(passes.run(module)));
  if (wasWellDefined)
    REQUIRE(isWellDefined(module));
  bool left = false;
  module.walk([&](trl::GradOp) { left = true; });
  REQUIRE(!left);
}

[[maybe_unused]] static const bool prepared = [] {
  prepareModule = rewriteGradients;
  return true;
}();

/// Values of all outputs, in order.
static std::vector<double> valuesOf(const InterpreterResult &result) {
  std::vector<double> values;
  for (auto &output : result.outputs)
    for (auto &array : output.values)
      for (int64_t k = 0; k < array.size(); ++k)
        values.push_back(array.getDouble(k));
  return values;
}

static std::vector<double> valuesOf(mlir::ModuleOp module) {
  InterpreterOptions options;
  options.doublePrecision = true;
  auto result = interpret(module, options);
  INFO((result.error ? result.error->message : ""));
  REQUIRE(!result.error);
  return valuesOf(result);
}

/// The rewritten program gives what the interpreter's tape gives.
static void compareWithTape(mlir::ModuleOp module) {
  std::vector<double> expected = valuesOf(module);
  rewriteGradients(module);
  std::vector<double> found = valuesOf(module);
  REQUIRE(found.size() == expected.size());
  REQUIRE(!found.empty());
  double worst = 0;
  for (auto [a, b] : llvm::zip(found, expected))
    worst = std::max(worst, std::isnan(a) == std::isnan(b)
                                ? std::fabs(a - b) / (1 + std::fabs(b))
                                : 1);
  CHECK(worst < 1e-9);
}

static mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext &context,
                                               const std::string &text) {
  INFO(text);
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  LoadedProgram program =
      loadProgram(sources.add("test.trl", text), {}, sources, diagnostics);
  REQUIRE(!diagnostics.hasErrors());
  auto module = elaborate(context, program, sources, {}, diagnostics);
  std::string messages;
  llvm::raw_string_ostream os(messages);
  diagnostics.printText(os, false);
  INFO(messages);
  REQUIRE(module);
  REQUIRE(!diagnostics.hasErrors());
  return module;
}

static void compareSource(const std::string &text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = parse(context, text);
  INFO(text);
  compareWithTape(*module);
}

static void
compareSample(const std::string &name,
              std::vector<std::pair<std::string, std::string>> defines) {
  SECTION(name) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    SourceManager sources;
    DiagnosticEngine diagnostics(sources);
    LoadedProgram program = loadProgram(
        std::string(TIMERL_SAMPLES) + "/" + name, {}, sources, diagnostics);
    REQUIRE(!diagnostics.hasErrors());
    auto module = elaborate(context, program, sources, {defines}, diagnostics);
    REQUIRE(!diagnostics.hasErrors());
    compareWithTape(*module);
  }
}

TEST_CASE("the gradients of the sample programs") {
  compareSample("lqr.trl", {});
  compareSample(
      "reinforce_cartpole.trl",
      {{"envs", "3"}, {"iterations", "3"}, {"horizon", "12"}, {"hidden", "5"}});
  compareSample("dqn_cartpole.trl", {{"total", "60"},
                                     {"capacity", "40"},
                                     {"start", "20"},
                                     {"every", "5"},
                                     {"sync", "10"},
                                     {"batch", "6"}});
  compareSample("ppo_cartpole.trl", {{"envs", "2"},
                                     {"steps", "8"},
                                     {"epochs", "2"},
                                     {"minibatches", "2"},
                                     {"total", "48"}});
  compareSample("ppo_lstm.trl", {{"envs", "4"},
                                 {"steps", "5"},
                                 {"epochs", "2"},
                                 {"minibatches", "2"},
                                 {"total", "60"}});
}

TEST_CASE("gradients at the points of outer dims") {
  // Every point of a tensor is a leaf of its own, and pairs of points matter.
  compareSource(R"trl(
dim t : 7
dim s : 7
x[t] = f64(t) / 5.0 + 0.3
h[0] = x[0] * 0.5
h[t+1] = tanh(h * x + x[t // 2])
y[t] = h[t+1]^2 + x[t]
late[s, t] = grad(y[t], x[s])
along[t] = grad(y, x)
inner[t] = grad(y[6], h[t])
shifted[t] = grad(y[min(t + 2, 6)], h[t])
report late[s, t] = late
report along[t] = along
report inner[t] = inner
report shifted[t] = shifted
)trl");
}

TEST_CASE("gradients through records, branches and reductions of reductions") {
  compareSource(R"trl(
dim i : 4
dim b : 3
dim t : 5
p[0] = { w: f64(0.4), v: [f64(0.1), 0.7] }
p[i+1] = { w: p.w - 0.1 * g.w, v: p.v - 0.1 * g.v }
h[b, i, 0] = p.v * (b + 1)
h[b, i, t+1] = if t % 2 == 0 then tanh(h * p.w) else { let q = sum(h); if q > 0.5 then h * q else h + p.v }
c[i, t] = max(b) sum(h[b, i, t]^2) * p.w
loss[i] = sum(t) c * (min(b) sum(h)) + prod(b when b != 1) h[b, i, 5][0]
g[i] = grad(loss, p)
report loss[i] = loss
report w[i] = g.w
report v[i] = sum(g.v)
)trl");
}

TEST_CASE("gradients where a dim stops early") {
  // x[i, t + 1] = a[i] * x[i, t] until x > 2 + i; the loss reads all points and
  // the last.
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.getOrLoadDialect<trl::TrlDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"trl(
    trl.dim @i extent "3"
    trl.dim @t extent "9" until @stop
    trl.tensor @a ["i"] : tensor<f64>
    trl.tensor @x ["i", "t"] : tensor<f64>
    trl.tensor @loss ["i"] : tensor<f64>
    trl.tensor @stop ["i", "t"] : tensor<i1>
    trl.equation () defines @a["0"] {
      %0 = trl.constant dense<1.3> : tensor<f64>
      trl.yield %0 : tensor<f64>
    }
    trl.equation (i = "0 : 3") defines @a["i + 1"] {
      %0 = trl.read @a["i"] : tensor<f64>
      %1 = trl.grad @loss["i"] wrt @a at ["i"] : tensor<f64>
      %2 = trl.constant dense<0.001> : tensor<f64>
      %3 = trl.mul %1, %2 : tensor<f64>
      %4 = trl.sub %0, %3 : tensor<f64>
      trl.yield %4 : tensor<f64>
    }
    trl.equation (i = "0 : 3") defines @x["i", "0"] {
      %0 = trl.read @a["i"] : tensor<f64>
      trl.yield %0 : tensor<f64>
    }
    trl.equation (i = "0 : 3", t = "0 : 9") defines @x["i", "t + 1"] {
      %0 = trl.read @x["i", "t"] : tensor<f64>
      %1 = trl.read @a["i"] : tensor<f64>
      %2 = trl.mul %0, %1 : tensor<f64>
      trl.yield %2 : tensor<f64>
    }
    trl.equation (i = "0 : 3", t = "0 : 9") defines @stop["i", "t"] {
      %0 = trl.read @x["i", "t"] : tensor<f64>
      %1 = trl.index "i + 2" : tensor<f64>
      %2 = trl.compare gt %0, %1 : tensor<f64> -> tensor<i1>
      trl.yield %2 : tensor<i1>
    }
    trl.equation (i = "0 : 3") defines @loss["i"] {
      %0 = trl.reduce_over sum (t = "0 : end(t)") {
        %1 = trl.read @x["i", "t"] : tensor<f64>
        %2 = trl.mul %1, %1 : tensor<f64>
        trl.yield %2 : tensor<f64>
      } : tensor<f64>
      %3 = trl.read @x["i", "end(t)"] : tensor<f64>
      %4 = trl.add %0, %3 : tensor<f64>
      trl.yield %4 : tensor<f64>
    }
    trl.output report "a" (i = "0 : 4") {
      %0 = trl.read @a["i"] : tensor<f64>
      trl.yield %0 : tensor<f64>
    })trl",
                                                        &context);
  REQUIRE(module);
  compareWithTape(*module);
}

TEST_CASE("gradients through a gather in time, and a leaf read by all") {
  compareSource(R"trl(
dim i : 3
dim k : 6
dim n : 4
w[0] = [f64(0.3), 0.6]
w[i+1] = w - 0.1 * g
x[i, k] = w * (k + 1) + cos(w)
j[i, n] = randint(0, 6)
z[i, n] = x[i, j[i, n]]
loss[i] = mean(n) sum(z^2) * (z[i, n])[1]
g[i] = grad(loss, w)
report loss[i] = loss
report g[i] = sum(g)
)trl");
}

TEST_CASE(
    "gradients of maxima, products and filtered sums with ties and zeros") {
  compareSource(R"trl(
dim i : 4
dim b : 3
dim t : 4
w[i] = [f64(i) - 1.0, 2.0 - i]
x[i, b, t] = w * ((b + t) % 3) + (if (b + t) % 2 == 0 then 0.5 else 0.0)
top[i] = max(b, t) x[i, b, t]
low[i] = min(t, b) x[i, b, t]
all[i] = prod(b) (1.0 + sum(t) x[i, b, t])
zeros[i] = prod(t) (x[i, 0, t])[0]
some[i] = mean(b, t when (x[i, b, t])[1] > 0.4) sum(x[i, b, t]^2)
outside[i] = sum(t) (sum(w^2) + 0.1 * t) * max(b) (sin(sum(w)) - b)
y[i] = sum(top * low) + sum(all) + zeros + some + outside
g[i] = grad(y, w)
report y[i] = y
report a[i] = (g[i])[0]
report b[i] = (g[i])[1]
)trl");
}

TEST_CASE("gradients where an arg bounds a dim, and inside reductions") {
  compareSource(R"trl(
arg n : i32 = 5
dim i : n
dim t : 4
w[0] = f64(0.5)
w[i+1] = w - 0.1 * g
h[i, 0] = w
h[i, t+1] = sin(h * w) + w
loss[i] = sum(t) h[i, t + 1]^2
g[i] = grad(loss, w)
spread[i] = sum(t) grad(loss, h[i, t])^2
report g[i] = g
report spread[i] = spread
)trl");
}

TEST_CASE("the gradient of a gradient's norm") {
  auto values = [](double w) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    auto module = parse(context, R"trl(
arg start : f64 = 0.3
dim t : 4
dim i : 1
w[i] = [start, start^2]
h[i, 0] = w
h[i, t+1] = tanh(h * (w[i])[0] + (w[i])[1])
y[i] = sum(h[i, 4]^2)
g[i] = grad(y, w)
norm[i] = sum(g^2)
second[i] = grad(norm, w)
report norm[i] = norm
report second[i] = (second[i])[0] + 2.0 * start * (second[i])[1]
)trl");
    rewriteGradients(*module);
    InterpreterOptions options;
    options.args["start"] = std::to_string(w);
    auto result = interpret(*module, options);
    INFO((result.error ? result.error->message : ""));
    REQUIRE(!result.error);
    return valuesOf(result);
  };
  const double step = 1e-4;
  double difference =
      (values(0.3 + step)[0] - values(0.3 - step)[0]) / (2 * step);
  CHECK(values(0.3)[1] == Approx(difference).epsilon(1e-6));
  CHECK(std::fabs(difference) > 0.1);
}
