// RUN: timerl-opt %s --trl-grad --split-input-file | FileCheck %s

// The adjoint of x sums over the inverse of each read: solved where an index
// has a unit coefficient, over a binder with tight bounds or a condition where
// it has not.

// x[t]
// CHECK: trl.equation (t = "0 : 12") defines @d.y.x["t"] {
// CHECK-NEXT: trl.read @d.y.u ["t"] : tensor<f32>
// CHECK-NEXT: trl.read @c ["t"] : tensor<f32>

trl.dim @t extent "12"
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @c ["t"] : tensor<f32>
trl.tensor @u ["t"] : tensor<f32>
trl.tensor @y [] : tensor<f32>
trl.equation (t = "0 : 12") defines @u["t"] {
  %0 = trl.read @c["t"] : tensor<f32>
  %1 = trl.read @x["t"] : tensor<f32>
  %3 = trl.mul %0, %1 : tensor<f32>
  trl.yield %3 : tensor<f32>
}
trl.equation () defines @y[] {
  %0 = trl.reduce_over sum (t = "0 : 12") {
    %1 = trl.read @u["t"] : tensor<f32>
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output save "g" (t = "0 : 12") {
  %0 = trl.grad @y[] wrt @x at ["t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// x[3]
// CHECK: trl.equation () defines @d.y.x[] {
// CHECK-NEXT: trl.reduce_over sum (t = "0 : 12") {
// CHECK-NEXT: trl.read @d.y.u ["t"] : tensor<f32>
// CHECK-NEXT: trl.read @c ["t"] : tensor<f32>

trl.dim @t extent "12"
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @c ["t"] : tensor<f32>
trl.tensor @u ["t"] : tensor<f32>
trl.tensor @y [] : tensor<f32>
trl.equation (t = "0 : 12") defines @u["t"] {
  %0 = trl.read @c["t"] : tensor<f32>
  %1 = trl.read @x["3"] : tensor<f32>
  %3 = trl.mul %0, %1 : tensor<f32>
  trl.yield %3 : tensor<f32>
}
trl.equation () defines @y[] {
  %0 = trl.reduce_over sum (t = "0 : 12") {
    %1 = trl.read @u["t"] : tensor<f32>
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output save "g" (t = "0 : 12") {
  %0 = trl.grad @y[] wrt @x at ["t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// x[t - 1]
// CHECK: trl.equation (t = "0 : 11") defines @d.y.x["t"] {
// CHECK-NEXT: trl.read @d.y.u ["t + 1"] : tensor<f32>
// CHECK-NEXT: trl.read @c ["t + 1"] : tensor<f32>

trl.dim @t extent "12"
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @c ["t"] : tensor<f32>
trl.tensor @u ["t"] : tensor<f32>
trl.tensor @y [] : tensor<f32>
trl.equation (t = "1 : 12") defines @u["t"] {
  %0 = trl.read @c["t"] : tensor<f32>
  %1 = trl.read @x["t - 1"] : tensor<f32>
  %3 = trl.mul %0, %1 : tensor<f32>
  trl.yield %3 : tensor<f32>
}
trl.equation () defines @y[] {
  %0 = trl.reduce_over sum (t = "1 : 12") {
    %1 = trl.read @u["t"] : tensor<f32>
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output save "g" (t = "0 : 12") {
  %0 = trl.grad @y[] wrt @x at ["t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// x[t + 1]
// CHECK: trl.equation (t = "1 : 12") defines @d.y.x["t"] {
// CHECK-NEXT: trl.read @d.y.u ["t - 1"] : tensor<f32>
// CHECK-NEXT: trl.read @c ["t - 1"] : tensor<f32>

trl.dim @t extent "12"
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @c ["t"] : tensor<f32>
trl.tensor @u ["t"] : tensor<f32>
trl.tensor @y [] : tensor<f32>
trl.equation (t = "0 : 11") defines @u["t"] {
  %0 = trl.read @c["t"] : tensor<f32>
  %1 = trl.read @x["t + 1"] : tensor<f32>
  %3 = trl.mul %0, %1 : tensor<f32>
  trl.yield %3 : tensor<f32>
}
trl.equation () defines @y[] {
  %0 = trl.reduce_over sum (t = "0 : 11") {
    %1 = trl.read @u["t"] : tensor<f32>
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output save "g" (t = "0 : 12") {
  %0 = trl.grad @y[] wrt @x at ["t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// x[t // 2]
// CHECK: trl.equation (t = "0 : 6") defines @d.y.x["t"] {
// CHECK-NEXT: trl.reduce_over sum ("t'" = "2*t : 2*t + 2") {
// CHECK-NEXT: trl.read @d.y.u ["t'"] : tensor<f32>
// CHECK-NEXT: trl.read @c ["t'"] : tensor<f32>

trl.dim @t extent "12"
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @c ["t"] : tensor<f32>
trl.tensor @u ["t"] : tensor<f32>
trl.tensor @y [] : tensor<f32>
trl.equation (t = "0 : 12") defines @u["t"] {
  %0 = trl.read @c["t"] : tensor<f32>
  %1 = trl.read @x["t // 2"] : tensor<f32>
  %3 = trl.mul %0, %1 : tensor<f32>
  trl.yield %3 : tensor<f32>
}
trl.equation () defines @y[] {
  %0 = trl.reduce_over sum (t = "0 : 12") {
    %1 = trl.read @u["t"] : tensor<f32>
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output save "g" (t = "0 : 12") {
  %0 = trl.grad @y[] wrt @x at ["t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// x[t % 8]
// CHECK: trl.equation (t = "0 : 8") defines @d.y.x["t"] {
// CHECK-NEXT: trl.reduce_over sum ("t'" = "0 : 12") when "t == t' % 8" {
// CHECK-NEXT: trl.read @d.y.u ["t'"] : tensor<f32>
// CHECK-NEXT: trl.read @c ["t'"] : tensor<f32>

trl.dim @t extent "12"
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @c ["t"] : tensor<f32>
trl.tensor @u ["t"] : tensor<f32>
trl.tensor @y [] : tensor<f32>
trl.equation (t = "0 : 12") defines @u["t"] {
  %0 = trl.read @c["t"] : tensor<f32>
  %1 = trl.read @x["t % 8"] : tensor<f32>
  %3 = trl.mul %0, %1 : tensor<f32>
  trl.yield %3 : tensor<f32>
}
trl.equation () defines @y[] {
  %0 = trl.reduce_over sum (t = "0 : 12") {
    %1 = trl.read @u["t"] : tensor<f32>
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output save "g" (t = "0 : 12") {
  %0 = trl.grad @y[] wrt @x at ["t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// x[(3*t + 1) % 8]
// CHECK: trl.equation (t = "0 : 8") defines @d.y.x["t"] {
// CHECK-NEXT: trl.reduce_over sum ("t'" = "0 : 12") when "(3*t' + 1) % 8 == t" {
// CHECK-NEXT: trl.read @d.y.u ["t'"] : tensor<f32>
// CHECK-NEXT: trl.read @c ["t'"] : tensor<f32>

trl.dim @t extent "12"
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @c ["t"] : tensor<f32>
trl.tensor @u ["t"] : tensor<f32>
trl.tensor @y [] : tensor<f32>
trl.equation (t = "0 : 12") defines @u["t"] {
  %0 = trl.read @c["t"] : tensor<f32>
  %1 = trl.read @x["(3*t + 1) % 8"] : tensor<f32>
  %3 = trl.mul %0, %1 : tensor<f32>
  trl.yield %3 : tensor<f32>
}
trl.equation () defines @y[] {
  %0 = trl.reduce_over sum (t = "0 : 12") {
    %1 = trl.read @u["t"] : tensor<f32>
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output save "g" (t = "0 : 12") {
  %0 = trl.grad @y[] wrt @x at ["t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// x[min(t // 2 + 3, 11)]
// CHECK: trl.equation (t = "3 : 9") defines @d.y.x["t"] {
// CHECK-NEXT: trl.reduce_over sum ("t'" = "0 : 12") when "min((t' // 2) + 3, 11) == t" {
// CHECK-NEXT: trl.read @d.y.u ["t'"] : tensor<f32>
// CHECK-NEXT: trl.read @c ["t'"] : tensor<f32>

trl.dim @t extent "12"
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @c ["t"] : tensor<f32>
trl.tensor @u ["t"] : tensor<f32>
trl.tensor @y [] : tensor<f32>
trl.equation (t = "0 : 12") defines @u["t"] {
  %0 = trl.read @c["t"] : tensor<f32>
  %1 = trl.read @x["min(t // 2 + 3, 11)"] : tensor<f32>
  %3 = trl.mul %0, %1 : tensor<f32>
  trl.yield %3 : tensor<f32>
}
trl.equation () defines @y[] {
  %0 = trl.reduce_over sum (t = "0 : 12") {
    %1 = trl.read @u["t"] : tensor<f32>
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output save "g" (t = "0 : 12") {
  %0 = trl.grad @y[] wrt @x at ["t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// x[11 - t]
// CHECK: trl.equation (t = "0 : 12") defines @d.y.x["t"] {
// CHECK-NEXT: trl.read @d.y.u ["-t + 11"] : tensor<f32>
// CHECK-NEXT: trl.read @c ["-t + 11"] : tensor<f32>

trl.dim @t extent "12"
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @c ["t"] : tensor<f32>
trl.tensor @u ["t"] : tensor<f32>
trl.tensor @y [] : tensor<f32>
trl.equation (t = "0 : 12") defines @u["t"] {
  %0 = trl.read @c["t"] : tensor<f32>
  %1 = trl.read @x["11 - t"] : tensor<f32>
  %3 = trl.mul %0, %1 : tensor<f32>
  trl.yield %3 : tensor<f32>
}
trl.equation () defines @y[] {
  %0 = trl.reduce_over sum (t = "0 : 12") {
    %1 = trl.read @u["t"] : tensor<f32>
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output save "g" (t = "0 : 12") {
  %0 = trl.grad @y[] wrt @x at ["t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// x[0 : t + 1]
// CHECK: trl.equation (t = "0 : 12") defines @d.y.x["t"] {
// CHECK-NEXT: trl.reduce_over sum ("t'" = "t : 12") {
// CHECK-NEXT: trl.read @d.y.u.of.x ["t'"] : tensor<f32>

trl.dim @t extent "12"
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @c ["t"] : tensor<f32>
trl.tensor @u ["t"] : tensor<f32>
trl.tensor @y [] : tensor<f32>
trl.equation (t = "0 : 12") defines @u["t"] {
  %0 = trl.read @c["t"] : tensor<f32>
  %1 = trl.read @x["0 : t + 1"] : tensor<?xf32, #trl.shape<["t + 1"]>>
  %2 = trl.reduce sum %1 [0] : tensor<?xf32, #trl.shape<["t + 1"]>> -> tensor<f32>
  %3 = trl.mul %0, %2 : tensor<f32>
  trl.yield %3 : tensor<f32>
}
trl.equation () defines @y[] {
  %0 = trl.reduce_over sum (t = "0 : 12") {
    %1 = trl.read @u["t"] : tensor<f32>
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output save "g" (t = "0 : 12") {
  %0 = trl.grad @y[] wrt @x at ["t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// x[t : 12]
// CHECK: trl.equation (t = "0 : 12") defines @d.y.x["t"] {
// CHECK-NEXT: trl.reduce_over sum ("t'" = "0 : t + 1") {
// CHECK-NEXT: trl.read @d.y.u.of.x ["t'"] : tensor<f32>

trl.dim @t extent "12"
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @c ["t"] : tensor<f32>
trl.tensor @u ["t"] : tensor<f32>
trl.tensor @y [] : tensor<f32>
trl.equation (t = "0 : 12") defines @u["t"] {
  %0 = trl.read @c["t"] : tensor<f32>
  %1 = trl.read @x["t : 12"] : tensor<?xf32, #trl.shape<["-t + 12"]>>
  %2 = trl.reduce sum %1 [0] : tensor<?xf32, #trl.shape<["-t + 12"]>> -> tensor<f32>
  %3 = trl.mul %0, %2 : tensor<f32>
  trl.yield %3 : tensor<f32>
}
trl.equation () defines @y[] {
  %0 = trl.reduce_over sum (t = "0 : 12") {
    %1 = trl.read @u["t"] : tensor<f32>
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output save "g" (t = "0 : 12") {
  %0 = trl.grad @y[] wrt @x at ["t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// x[t - 2 : t + 1]
// CHECK: trl.equation (t = "0 : 12") defines @d.y.x["t"] {
// CHECK-NEXT: trl.reduce_over sum ("t'" = "max(2, t) : min(12, t + 3)") {
// CHECK-NEXT: trl.read @d.y.u.of.x ["t'"] : tensor<f32>

trl.dim @t extent "12"
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @c ["t"] : tensor<f32>
trl.tensor @u ["t"] : tensor<f32>
trl.tensor @y [] : tensor<f32>
trl.equation (t = "2 : 12") defines @u["t"] {
  %0 = trl.read @c["t"] : tensor<f32>
  %1 = trl.read @x["t - 2 : t + 1"] : tensor<3xf32>
  %2 = trl.reduce sum %1 [0] : tensor<3xf32> -> tensor<f32>
  %3 = trl.mul %0, %2 : tensor<f32>
  trl.yield %3 : tensor<f32>
}
trl.equation () defines @y[] {
  %0 = trl.reduce_over sum (t = "2 : 12") {
    %1 = trl.read @u["t"] : tensor<f32>
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output save "g" (t = "0 : 12") {
  %0 = trl.grad @y[] wrt @x at ["t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// x[2*t : 2*t + 2]
// CHECK: trl.equation (t = "0 : 12") defines @d.y.x["t"] {
// CHECK-NEXT: trl.reduce_over sum ("t'" = "t - ((t + 1) // 2) : (t // 2) + 1") {
// CHECK-NEXT: trl.read @d.y.u.of.x ["t'"] : tensor<f32>

trl.dim @t extent "12"
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @c ["t"] : tensor<f32>
trl.tensor @u ["t"] : tensor<f32>
trl.tensor @y [] : tensor<f32>
trl.equation (t = "0 : 6") defines @u["t"] {
  %0 = trl.read @c["t"] : tensor<f32>
  %1 = trl.read @x["2*t : 2*t + 2"] : tensor<2xf32>
  %2 = trl.reduce sum %1 [0] : tensor<2xf32> -> tensor<f32>
  %3 = trl.mul %0, %2 : tensor<f32>
  trl.yield %3 : tensor<f32>
}
trl.equation () defines @y[] {
  %0 = trl.reduce_over sum (t = "0 : 6") {
    %1 = trl.read @u["t"] : tensor<f32>
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output save "g" (t = "0 : 12") {
  %0 = trl.grad @y[] wrt @x at ["t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}
