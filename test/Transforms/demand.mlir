// Only what outputs need stays: nodes, targets, ops, and points.
// RUN: timerl-opt %s --convert-trl-to-pdg --pdg-demand | FileCheck %s

trl.tensor @x ["t"] : tensor<f32>
trl.tensor @unused ["t"] : tensor<f32>
trl.tensor @square ["t"] : tensor<f32>
trl.tensor @cube ["t"] : tensor<f32>

// The last point, x[10], is not read.
// CHECK: pdg.node "E0" ["t"] on "{ E0[t] : 0 <= t <= 8 }" defines @x["t + 1"]
trl.equation (t = "0 : 10") defines @x["t + 1"] {
  %0 = trl.index "t" : tensor<f32>
  trl.yield %0 : tensor<f32>
}
// CHECK-NOT: @unused
trl.equation (t = "0 : 10") defines @unused["t"] {
  %0 = trl.index "t" : tensor<f32>
  trl.yield %0 : tensor<f32>
}
// Of two targets one is needed, and what only the other used goes.
// CHECK: defines @square["t"] reads ["{ E2[t] -> x[{{.*}}] : {{.*}} }"] {
// CHECK-NEXT: trl.read @x ["t"]
// CHECK-NEXT: trl.mul
// CHECK-NEXT: trl.yield %{{.*}} : tensor<f32>
trl.equation (t = "1 : 10") defines @square["t"], @cube["t"] {
  %0 = trl.read @x["t"] : tensor<f32>
  %1 = trl.mul %0, %0 : tensor<f32>
  %2 = trl.mul %1, %0 : tensor<f32>
  trl.yield %1, %2 : tensor<f32>, tensor<f32>
}
// CHECK: pdg.node "O3" [] {{.*}} output {{ *}}report "sum" ()
trl.output report "sum" () {
  %0 = trl.read @square["1 : 10"] : tensor<9xf32>
  %1 = trl.reduce sum %0 [0] : tensor<9xf32> -> tensor<f32>
  trl.yield %1 : tensor<f32>
}
