// RUN: timerl-opt %s --trl-prove-definitions --split-input-file --verify-diagnostics

// One equation that defines a point at two values of its dims.
trl.dim @i extent "3"
trl.dim @t extent "4"
trl.tensor @x ["i"] : tensor<f32>
// expected-error @+1 {{E0402: this equation defines `x[1]` twice: at i = 0, t = 1 and at i = 1, t = 0}}
trl.equation (i = "0 : 3", t = "0 : 4") defines @x["i + t"] {
  %0 = trl.constant dense<1.0> : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// Both targets of an equation are one tensor, and meet.
trl.dim @i extent "3"
trl.tensor @x ["i"] : tensor<f32>
// expected-error @+1 {{E0402: this equation defines `x[1]` twice}}
trl.equation (i = "0 : 3") defines @x["i"], @x["i + 1"] {
  %0 = trl.constant dense<1.0> : tensor<f32>
  trl.yield %0, %0 : tensor<f32>, tensor<f32>
}

// -----

// Injective, though no index is a dim by itself.
trl.dim @i extent "3"
trl.dim @t extent "4"
trl.tensor @x ["i"] : tensor<f32>
trl.equation (i = "0 : 3", t = "0 : 4") defines @x["4*i + t"] {
  %0 = trl.constant dense<1.0> : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// An input has the points of its dims, and no more.
trl.dim @i extent "3"
trl.input @x : tensor<f32> over ["i"] // expected-note {{`x[i]` is there for i in 0:3}}
trl.output save "x" (i = "0 : 3") {
  // expected-error @+1 {{E0401: `x[3]` is read by `save x` at i = 2, which the input does not have}}
  %0 = trl.read @x["i + 1"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// The scalar and the leaf of a gradient have to be there.
trl.dim @i extent "3"
// expected-note @+1 {{`net[i]` is defined for i in 0:3}}
trl.tensor @net ["i"] : tensor<f32>
// expected-note @+1 {{`loss[i]` is defined for i in 0:3}}
trl.tensor @loss ["i"] : tensor<f32>
trl.equation (i = "0 : 3") defines @net["i"], @loss["i"] {
  %0 = trl.constant dense<1.0> : tensor<f32>
  trl.yield %0, %0 : tensor<f32>, tensor<f32>
}
trl.output save "g" (i = "0 : 3") {
  // expected-error @+2 {{E0401: `loss[3]` is differentiated by `save g` at i = 2, and no equation defines it}}
  // expected-error @+1 {{E0401: a gradient with respect to `net[-1]` is taken by `save g` at i = 0, and no equation defines it}}
  %0 = trl.grad @loss["i + 1"] wrt @net at ["i - 1"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// A gradient depends on all that its scalar depends on.
trl.dim @i extent "3"
trl.tensor @net ["i"] : tensor<f32>
trl.tensor @other ["i"] : tensor<f32>
trl.tensor @loss ["i"] : tensor<f32>
trl.equation (i = "0 : 3") defines @other["i"] {
  %0 = trl.constant dense<1.0> : tensor<f32>
  trl.yield %0 : tensor<f32>
}
// expected-error @+1 {{E0403: `net[i]` depends on itself at i = 0: net -> loss -> net}}
trl.equation (i = "0 : 3") defines @net["i"] {
  // expected-note @+1 {{`net[0]` differentiates `loss[0]` here}}
  %0 = trl.grad @loss["i"] wrt @other at ["i"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.equation (i = "0 : 3") defines @loss["i"] {
  // expected-note @+1 {{`loss[0]` reads `net[0]` here}}
  %0 = trl.read @net["i"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// expected-error @+1 {{E0406: dim `i` has no points: its extent is 0}}
trl.dim @i extent "0"
