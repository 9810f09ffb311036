// RUN: timerl-opt %s --trl-grad --split-input-file --verify-diagnostics

trl.dim @t extent "4"
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @y ["t"] : tensor<2xf32>
trl.output save "g" (t = "0 : 4") {
  // expected-error @+1 {{E0701: only a float scalar has a gradient, and `y` holds 'tensor<2xf32>'}}
  %0 = trl.grad @y["t"] wrt @x at ["t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// A step that descends its own gradient, all the way back: endless orders of
// derivatives.
trl.dim @t extent "4"
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @y ["t"] : tensor<f32>
trl.equation () defines @x["0"] {
  %0 = trl.constant dense<1.0> : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.equation (t = "0 : 4") defines @y["t"] {
  %0 = trl.read @x["t"] : tensor<f32>
  %1 = trl.mul %0, %0 : tensor<f32>
  trl.yield %1 : tensor<f32>
}
trl.equation (t = "0 : 4") defines @x["t + 1"] {
  %0 = trl.read @x["t"] : tensor<f32>
  // expected-error @+1 {{E0703: this gradient depends on itself}}
  %1 = trl.grad @y["t"] wrt @x at ["0"] : tensor<f32>
  %2 = trl.sub %0, %1 : tensor<f32>
  trl.yield %2 : tensor<f32>
}
