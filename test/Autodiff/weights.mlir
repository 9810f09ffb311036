// RUN: timerl-opt %s --trl-grad | FileCheck %s

// A weight matrix that all samples of a minibatch read. Its cotangent is an
// outer product per sample, which is never stored: the factors are, and the sum
// over samples is a sum of products, a matrix product once n is an axis.
// i and u are the gradient's own: no adjoint has them twice.

// CHECK-DAG: trl.tensor @d.loss.w ["i", "u"] : tensor<8x4xf32>
// CHECK-DAG: trl.tensor @[[F:d.loss.h.of.w]] ["i", "u", "n"] : tensor<8xf32>
// CHECK-NOT: "n"] : tensor<8x4xf32>
// CHECK: trl.equation (i = "0 : 10", u = "0 : 4") defines @d.loss.w["i", "u"] {
// CHECK-NEXT: trl.reduce_over sum (n = "0 : 16") {
// CHECK-DAG: trl.read @[[F]] ["i", "u", "n"] : tensor<8xf32>
// CHECK-DAG: trl.read @x ["i", "n"] : tensor<4xf32>
// CHECK: trl.matmul {{.*}} : tensor<8x1xf32>, tensor<1x4xf32> -> tensor<8x4xf32>

trl.dim @i extent "10"
trl.dim @u extent "4"
trl.dim @n extent "16"
trl.tensor @w ["i", "u"] : tensor<8x4xf32>
trl.tensor @x ["i", "n"] : tensor<4xf32>
trl.tensor @h ["i", "u", "n"] : tensor<8xf32>
trl.tensor @loss ["i", "u"] : tensor<f32>
trl.equation () defines @w["0", "0"] {
  %0 = trl.constant dense<0.1> : tensor<8x4xf32>
  trl.yield %0 : tensor<8x4xf32>
}
trl.equation (i = "0 : 10", u = "0 : 4") defines @w["i", "u + 1"] {
  %0 = trl.read @w["i", "u"] : tensor<8x4xf32>
  %1 = trl.grad @loss["i", "u"] wrt @w at ["i", "u"] : tensor<8x4xf32>
  %2 = trl.sub %0, %1 : tensor<8x4xf32>
  trl.yield %2 : tensor<8x4xf32>
}
trl.equation (i = "0 : 10") defines @w["i + 1", "0"] {
  %0 = trl.read @w["i", "4"] : tensor<8x4xf32>
  trl.yield %0 : tensor<8x4xf32>
}
trl.equation (i = "0 : 10", n = "0 : 16") defines @x["i", "n"] {
  %0 = trl.random normal "x.0" at ["i", "n"] seed "0" : tensor<4xf32>
  trl.yield %0 : tensor<4xf32>
}
trl.equation (i = "0 : 10", u = "0 : 4", n = "0 : 16") defines @h["i", "u", "n"] {
  %0 = trl.read @w["i", "u"] : tensor<8x4xf32>
  %1 = trl.read @x["i", "n"] : tensor<4xf32>
  %2 = trl.matmul %0, %1 : tensor<8x4xf32>, tensor<4xf32> -> tensor<8xf32>
  %3 = trl.tanh %2 : tensor<8xf32>
  %4 = trl.exp %3 : tensor<8xf32>
  trl.yield %4 : tensor<8xf32>
}
trl.equation (i = "0 : 10", u = "0 : 4") defines @loss["i", "u"] {
  %0 = trl.reduce_over sum (n = "0 : 16") {
    %1 = trl.read @h["i", "u", "n"] : tensor<8xf32>
    %2 = trl.mul %1, %1 : tensor<8xf32>
    %3 = trl.reduce sum %2 [0] : tensor<8xf32> -> tensor<f32>
    trl.yield %3 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output save "w" () {
  %0 = trl.read @w["10", "0"] : tensor<8x4xf32>
  trl.yield %0 : tensor<8x4xf32>
}
