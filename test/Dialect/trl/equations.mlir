// RUN: timerl-opt %s --verify-roundtrip | FileCheck %s

trl.dim @b extent "64"
trl.dim @t extent "500"
trl.arg @gamma = 9.9e-01 : f32
trl.tensor @s ["b", "t"] : tensor<4xf32>
trl.tensor @r ["b", "t"] : tensor<f32>
trl.equation (b = "0 : 64") defines @s["b", "0"] {
  %0 = trl.random uniform "s.0" at ["b"] seed "0" : tensor<4xf32>
  trl.yield %0 : tensor<4xf32>
}
// CHECK: trl.equation (b = "0 : 64", t = "0 : 500") when "t % 2 == 0 or t // 3 >= 5" defines @s["b", "t + 1"], @r["b", "t"]
trl.equation (b = "0 : 64", t = "0 : 500") when "t % 2 == 0 or t // 3 > 4" defines @s["b", "t + 1"], @r["b", "t"] {
  %0 = trl.read @s["b", "t"] : tensor<4xf32>
  %1 = trl.extract %0["2"] : tensor<4xf32> -> tensor<f32>
  %j = trl.index "t // 4" : tensor<i32>
  // CHECK: trl.read @s ["b", "0 : t + 1"] : tensor<?x4xf32, #trl.shape<["t + 1", "4"]>>
  %2 = trl.read @s["b", "0 : t + 1"] : tensor<?x4xf32, #trl.shape<["t + 1", "4"]>>
  %3 = trl.read @r["b", dyn "0 : t"](%j : tensor<i32>) : tensor<f32>
  // CHECK: trl.reduce_over  sum (k = "t : 500", "b'" = "0 : 64")
  %4 = trl.reduce_over sum (k = "t : 500", "b'" = "0 : 64") {
    %5 = trl.read @r["b'", "k"] : tensor<f32>
    trl.yield %5 : tensor<f32>
  } : tensor<f32>
  %6 = trl.case "t > 0" {
    trl.yield %4 : tensor<f32>
  } else {
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0, %6 : tensor<4xf32>, tensor<f32>
}
trl.output report "m" (t = "0 : 500") {
  %0:1 = trl.grad @r["0", "t"] wrt @s at ["0", "0"] : tensor<4xf32>
  %1 = trl.reduce sum %0 [0] : tensor<4xf32> -> tensor<f32>
  trl.yield %1 : tensor<f32>
}
