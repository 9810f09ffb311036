// The sched dialect: what it prints is what it reads, and what it refuses.
// RUN: timerl-opt %s | timerl-opt | FileCheck %s

trl.tensor @x ["b", "t"] : tensor<f32>
trl.tensor @y ["t"] : tensor<4xi1>

// CHECK-LABEL: sched.program @main arena 640
sched.program @main arena 640 {
  // CHECK: sched.buffer @x window [64, 2] origin [0, 0] at 0 bytes 512 live [0, 2]
  sched.buffer @x window [64, 2] origin [0, 0] at 0 bytes 512 live [0, 2]
  sched.buffer @y window [3] origin [1] at 576 bytes 12 live [1, 2]
  // CHECK: sched.for b = "0 : 64" parallel {
  sched.for b = "0 : 64" parallel {
    // CHECK: sched.stmt "x.0" (b = "b") defines @x["b", "0"] {
    sched.stmt "x.0" (b = "b") defines @x["b", "0"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
  }
  // CHECK: sched.for t = "0 : 500" until @y ["t"] {
  sched.for t = "0 : 500" until @y["t"] {
    // CHECK: sched.if "t >= 1" {
    sched.if "t >= 1" {
      // CHECK: sched.stmt "x.1" (t = "t - 1") defines @x["0 : 64", "t + 1"], @y["t + 1"] {
      sched.stmt "x.1" (t = "t - 1") defines @x["0 : 64", "t + 1"], @y["t + 1"] {
        %0 = trl.read @x["0 : 64", "t"] : tensor<64xf32>
        %1 = trl.constant dense<true> : tensor<4xi1>
        trl.yield %0, %1 : tensor<64xf32>, tensor<4xi1>
      }
      // CHECK: sched.output report "x" (t = "t") over (t = "0 : 500") {
      sched.output report "x" (t = "t") over (t = "0 : 500") {
        %0 = trl.read @x["0", "t"] : tensor<f32>
        trl.yield %0 : tensor<f32>
      }
    }
  }
}
