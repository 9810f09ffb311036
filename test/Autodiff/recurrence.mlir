// RUN: timerl-opt %s --trl-grad | FileCheck %s

// Backpropagation through time: weights read at all b and t, a recurrence over
// t inside an iteration, and weights that are themselves a recurrence over i.
// The adjoint of h has one i, not pairs (i, i').

// CHECK: trl.tensor @d.loss.w ["i"]
// CHECK: trl.tensor @d.loss.h ["i", "b", "t"]

// Cotangents of one step, computed once for all of its reads.
// CHECK: trl.equation (b = "0 : 4", i = "0 : 5", t = "0 : 8") defines @d.loss.h.of.h["b", "i", "t"], @d.loss.h.of.w["b", "i", "t"]
// CHECK: trl.read @d.loss.h ["i", "b", "t + 1"]

// CHECK: trl.equation (i = "0 : 5") defines @d.loss.w["i"]
// CHECK-NEXT: trl.reduce_over sum (b = "0 : 4", t = "0 : 8") {
// CHECK-NEXT: trl.read @d.loss.h.of.w ["b", "i", "t"]

// CHECK: trl.equation (i = "0 : 5", b = "0 : 4", t = "1 : 9") defines @d.loss.h["i", "b", "t"]
// CHECK-NEXT: trl.case "t <= 7" {
// CHECK-NEXT: trl.read @d.loss.h.of.h ["b", "i", "t"]
// CHECK: trl.case "t == 8" {
// CHECK-NEXT: %[[CT:.*]] = trl.read @d.loss.loss.sum ["i"]
// CHECK-NEXT: %[[H:.*]] = trl.read @h ["b", "i", "8"]
// CHECK-NEXT: trl.cotangent_mul %[[CT]], %[[H]]

// CHECK: defines @w["i + 1"]
// CHECK: trl.read @d.loss.w ["i"]
// CHECK-NOT: trl.grad
trl.dim @i extent "5"
trl.dim @b extent "4"
trl.dim @t extent "8"
trl.tensor @w ["i"] : tensor<f32>
trl.tensor @x ["b", "i", "t"] : tensor<f32>
trl.tensor @h ["b", "i", "t"] : tensor<f32>
trl.tensor @loss ["i"] : tensor<f32>
trl.equation () defines @w["0"] {
  %0 = trl.constant dense<0.5> : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.equation (i = "0 : 5") defines @w["i + 1"] {
  %0 = trl.read @w["i"] : tensor<f32>
  %1 = trl.grad @loss["i"] wrt @w at ["i"] : tensor<f32>
  %2 = trl.sub %0, %1 : tensor<f32>
  trl.yield %2 : tensor<f32>
}
trl.equation (b = "0 : 4", i = "0 : 5", t = "0 : 8") defines @x["b", "i", "t"] {
  %0 = trl.index "b + t" : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.equation (b = "0 : 4", i = "0 : 5") defines @h["b", "i", "0"] {
  %0 = trl.constant dense<0.0> : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.equation (b = "0 : 4", i = "0 : 5", t = "0 : 8") defines @h["b", "i", "t + 1"] {
  %0 = trl.read @h["b", "i", "t"] : tensor<f32>
  %1 = trl.read @x["b", "i", "t"] : tensor<f32>
  %2 = trl.read @w["i"] : tensor<f32>
  %3 = trl.mul %2, %0 : tensor<f32>
  %4 = trl.add %3, %1 : tensor<f32>
  %5 = trl.tanh %4 : tensor<f32>
  trl.yield %5 : tensor<f32>
}
trl.equation (i = "0 : 5") defines @loss["i"] {
  %n = trl.constant dense<0.25> : tensor<f32>
  %0 = trl.reduce_over sum (b = "0 : 4") {
    %1 = trl.read @h["b", "i", "8"] : tensor<f32>
    %2 = trl.mul %1, %1 : tensor<f32>
    trl.yield %2 : tensor<f32>
  } : tensor<f32>
  %3 = trl.mul %0, %n : tensor<f32>
  trl.yield %3 : tensor<f32>
}
trl.output save "w" () {
  %0 = trl.read @w["5"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}
