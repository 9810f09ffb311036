// What the verifiers of the sched dialect refuse.
// RUN: timerl-opt %s --split-input-file --verify-diagnostics

trl.tensor @x ["t"] : tensor<f32>
sched.program @main arena 64 {
  // expected-error @+1 {{takes 8 bytes, not 4}}
  sched.buffer @x window [2] origin [0] at 0 bytes 4 live [0, 0]
}

// -----

trl.tensor @x ["t"] : tensor<f32>
sched.program @main arena 64 {
  // expected-error @+1 {{is not aligned to 64 bytes}}
  sched.buffer @x window [2] origin [0] at 8 bytes 8 live [0, 0]
}

// -----

sched.program @main arena 64 {
  sched.for t = "0 : 4" {
    // expected-error @+1 {{has the variable of a loop around it, t}}
    sched.for t = "0 : 4" {
    }
  }
}

// -----

trl.tensor @x ["t"] : tensor<f32>
sched.program @main arena 64 {
  sched.for t = "0 : 4" {
    // expected-error @+1 {{uses 'k', which is no variable of a loop around it}}
    sched.stmt "x" (t = "k") defines @x["t"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
  }
}

// -----

trl.tensor @x ["t"] : tensor<f32>
sched.program @main arena 64 {
  // expected-error @+1 {{yields 'tensor<f32>' for @x instead of 'tensor<4xf32>'}}
  sched.stmt "x" () defines @x["0 : 4"] {
    %0 = trl.constant dense<1.0> : tensor<f32>
    trl.yield %0 : tensor<f32>
  }
}

// -----

// A length must have been told, for a dim that has one, and at a point of all its outer dims.
trl.dim @t extent "4"
sched.program @main arena 64 {
  // expected-error @+1 {{uses 'end(t)', which is no variable of a loop around it}}
  sched.for t = "0 : end(t)" {
  }
}

// -----

trl.dim @t extent "4"
sched.program @main arena 64 {
  // expected-error @+1 {{asks for the length of @t, which is not counted}}
  sched.end @t[]
}

// -----

trl.dim @t extent "4" until @u counted @n
trl.tensor @u ["b", "t"] : tensor<i1>
trl.tensor @n ["b"] : tensor<i64>
sched.program @main arena 64 {
  // expected-error @+1 {{needs an index for each of the 1 outer dims of @t}}
  sched.end @t[]
}
