// Orders, windows and lifetimes of small recurrences, worked out by hand.
// RUN: timerl-opt %s --split-input-file --convert-trl-to-pdg --convert-pdg-to-sched | FileCheck %s

// fib[t] is still to be reported when fib[t + 2] is written: three slots.
// CHECK: sched.program @main arena 64 {
// CHECK-NEXT: sched.buffer @fib window [3] origin [0] at 0 bytes 24 live [0, 3]
// CHECK-NEXT: sched.stmt "fib.0" () defines @fib["0"]
// CHECK: sched.stmt "fib.1" () defines @fib["1"]
// CHECK: sched.for t = "0 : 20" {
// CHECK-NEXT: sched.stmt "fib.2" (t = "t") defines @fib["t + 2"]
// CHECK: sched.output {{ *}}report "fib" (t = "t") over (t = "0 : 20")
trl.tensor @fib ["t"] : tensor<i64>
trl.equation () defines @fib["0"] {
  %0 = trl.constant dense<0> : tensor<i64>
  trl.yield %0 : tensor<i64>
}
trl.equation () defines @fib["1"] {
  %0 = trl.constant dense<1> : tensor<i64>
  trl.yield %0 : tensor<i64>
}
trl.equation (t = "0 : 20") defines @fib["t + 2"] {
  %0 = trl.read @fib["t"] : tensor<i64>
  %1 = trl.read @fib["t + 1"] : tensor<i64>
  %2 = trl.add %0, %1 : tensor<i64>
  trl.yield %2 : tensor<i64>
}
trl.output report "fib" (t = "0 : 20") {
  %0 = trl.read @fib["t"] : tensor<i64>
  trl.yield %0 : tensor<i64>
}

// -----

// Rewards come forward in time, returns backward. Iterations are independent:
// each has slots of its own. The return keeps one slot in an iteration: the next
// is read before it is overwritten.
// CHECK: sched.program @main
// CHECK-DAG: sched.buffer @r window [5, 10]
// CHECK-DAG: sched.buffer @s window [5, 2]
// CHECK-DAG: sched.buffer @g window [5, 1]
// CHECK: sched.for i = "0 : 5" parallel {
// CHECK: sched.stmt "s.0" (i = "i")
// CHECK: sched.stmt "g.0" (i = "i")
// CHECK: sched.for t = "0 : 10" {
// CHECK: sched.stmt "s.1" (i = "i", t = "t")
// CHECK: sched.stmt "r.0" (i = "i", t = "t")
// CHECK: sched.for t = "0 : 10" reverse {
// CHECK: sched.stmt "g.1" (i = "i", t = "t")
// CHECK: sched.output {{ *}}report "g" (i = "i")
trl.tensor @s ["i", "t"] : tensor<f32>
trl.tensor @r ["i", "t"] : tensor<f32>
trl.tensor @g ["i", "t"] : tensor<f32>
trl.equation (i = "0 : 5") defines @s["i", "0"] {
  %0 = trl.constant dense<1.0> : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.equation (i = "0 : 5", t = "0 : 10") defines @s["i", "t + 1"] {
  %0 = trl.read @s["i", "t"] : tensor<f32>
  %1 = trl.sin %0 : tensor<f32>
  trl.yield %1 : tensor<f32>
}
trl.equation (i = "0 : 5", t = "0 : 10") defines @r["i", "t"] {
  %0 = trl.read @s["i", "t"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.equation (i = "0 : 5") defines @g["i", "10"] {
  %0 = trl.constant dense<0.0> : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.equation (i = "0 : 5", t = "0 : 10") defines @g["i", "t"] {
  %0 = trl.read @r["i", "t"] : tensor<f32>
  %1 = trl.read @g["i", "t + 1"] : tensor<f32>
  %2 = trl.add %0, %1 : tensor<f32>
  trl.yield %2 : tensor<f32>
}
trl.output report "g" (i = "0 : 5") {
  %0 = trl.read @g["i", "0"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// One row at a time: of x[i - 1, .] and x[i, j - 1] a row and no more is kept.
// CHECK: sched.program @main
// CHECK-NEXT: sched.buffer @x window [1, 8]
// CHECK-NEXT: sched.for i = "0 : 8" {
// CHECK-NEXT: sched.for j = "0 : 8" {
// CHECK-NEXT: sched.stmt "x.0" (i = "i", j = "j") defines @x["i", "j"]
trl.tensor @x ["i", "j"] : tensor<f32>
trl.equation (i = "0 : 8", j = "0 : 8") defines @x["i", "j"] {
  %0 = trl.case "i >= 1 and j >= 1" {
    %1 = trl.read @x["i - 1", "j"] : tensor<f32>
    %2 = trl.read @x["i", "j - 1"] : tensor<f32>
    %3 = trl.add %1, %2 : tensor<f32>
    trl.yield %3 : tensor<f32>
  } else {
    %1 = trl.constant dense<1.0> : tensor<f32>
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output report "last" () {
  %0 = trl.read @x["7", "7"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// A slow clock inside a fast one: one loop steps through both. h[n + 1] is
// computed as soon as x[4n + 3] is there, while h[n] is still to be read.
// CHECK: sched.program @main
// CHECK: sched.buffer @h window [2]
// CHECK: sched.for n = "-2 : 97" {
// CHECK: sched.stmt "x.1" (t = "n + 2")
// CHECK: sched.if "n == 4*(n // 4) and n <= 92" {
// CHECK: sched.stmt "h.1" (n = "n // 4")
trl.tensor @h ["n"] : tensor<f32>
trl.tensor @x ["t"] : tensor<f32>
trl.equation () defines @h["0"] {
  %0 = trl.constant dense<1.0> : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.equation (n = "0 : 24") defines @h["n + 1"] {
  %0 = trl.read @x["4*n + 3"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.equation () defines @x["0"] {
  %0 = trl.constant dense<1.0> : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.equation (t = "0 : 99") defines @x["t + 1"] {
  %0 = trl.read @x["t"] : tensor<f32>
  %1 = trl.read @h["t // 4"] : tensor<f32>
  %2 = trl.add %0, %1 : tensor<f32>
  trl.yield %2 : tensor<f32>
}
trl.output report "x" () {
  %0 = trl.read @x["99"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}

// -----

// A triangle, and a guard over both dims.
// CHECK: sched.program @main
// CHECK: sched.for i = "1 : 9" parallel {
// CHECK: sched.for j = {{.*}} parallel {
// CHECK: sched.if "3*((2*i + j + 1) // 3) == 2*i + j + 1" {
trl.tensor @y ["i", "j"] : tensor<i32>
trl.equation (i = "0 : 9", j = "0 : i + 1") when "(i + 2*j) % 3 == 1" defines @y["i", "j"] {
  %0 = trl.index "i + j" : tensor<i32>
  trl.yield %0 : tensor<i32>
}
trl.output report "y" (i = "0 : 9", j = "0 : i + 1") when "(i + 2*j) % 3 == 1" {
  %0 = trl.read @y["i", "j"] : tensor<i32>
  trl.yield %0 : tensor<i32>
}

// -----

// Paths are independent, and their mean is wanted at each step. Paths outside
// would keep all steps of all paths; steps outside keep two.
// CHECK: sched.program @main arena 80000
// CHECK: sched.buffer @x window [10000, 2]
// CHECK: sched.for t = "0 : 100" {
// CHECK: sched.output {{ *}}report "mean" (t = "t")
// CHECK: sched.if "t <= 97" {
// CHECK: sched.for p = "0 : 10000" parallel {
// CHECK: sched.stmt "x.2" (p = "p", t = "t")
trl.tensor @x ["p", "t"] : tensor<f32>
trl.equation (p = "0 : 10000") defines @x["p", "0"] {
  %0 = trl.constant dense<1.0> : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.equation (p = "0 : 10000") defines @x["p", "1"] {
  %0 = trl.constant dense<1.0> : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.equation (p = "0 : 10000", t = "0 : 98") defines @x["p", "t + 2"] {
  %0 = trl.read @x["p", "t"] : tensor<f32>
  %1 = trl.read @x["p", "t + 1"] : tensor<f32>
  %2 = trl.add %0, %1 : tensor<f32>
  trl.yield %2 : tensor<f32>
}
trl.output report "mean" (t = "0 : 100") {
  %0 = trl.read @x["0 : 10000", "t"] : tensor<10000xf32>
  %1 = trl.reduce sum %0 [0] : tensor<10000xf32> -> tensor<f32>
  trl.yield %1 : tensor<f32>
}

// -----

// The inner loop needs no order, but its iterations read the row before in
// reverse: a point may not be overwritten by an iteration that could come first.
// CHECK: sched.program @main
// CHECK: sched.buffer @x window [2, 12]
// CHECK: sched.for i = "0 : 4" {
// CHECK: sched.for t = "0 : 12" parallel {
trl.tensor @x ["i", "t"] : tensor<f32>
trl.equation (i = "0 : 4", t = "0 : 12") defines @x["i", "t"] {
  %0 = trl.case "i >= 1" {
    %1 = trl.read @x["i - 1", "11 - t"] : tensor<f32>
    trl.yield %1 : tensor<f32>
  } else {
    %1 = trl.constant dense<1.0> : tensor<f32>
    trl.yield %1 : tensor<f32>
  } : tensor<f32>
  trl.yield %0 : tensor<f32>
}
trl.output report "x" () {
  %0 = trl.read @x["3", "4"] : tensor<f32>
  trl.yield %0 : tensor<f32>
}
