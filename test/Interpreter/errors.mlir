// RUN: not timerl-opt %s --split-input-file --trl-interpret -o %t 2>&1 | FileCheck %s

// CHECK: E0910: `a[2]` depends on itself: a[2] -> b[2] -> a[2]
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
trl.output report "a" (t = "2 : 3") {
  %0 = trl.read @a["t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// CHECK: E0912: `a[5]` is read by an output, and no equation defines it
trl.tensor @a ["t"] : tensor<f32>
trl.equation (t = "0 : 5") defines @a["t"] {
  %0 = trl.constant dense<1.0> : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output report "a" () {
  %0 = trl.read @a["5"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}
