// Executables that test their slots name the point wanted, the point found, and who reads; a correct schedule runs through.
// RUN: split-file %s %t
// RUN: timerlc %t/right.mlir --sanitize=points -o %t/right
// RUN: %t/right | FileCheck %t/right.mlir
// RUN: %t/right --order descending | FileCheck %t/right.mlir

// RUN: not timerlc %t/window.mlir -o %t/window 2>&1 | FileCheck %t/window.mlir --check-prefix=CHECKER
// RUN: timerlc %t/window.mlir --sanitize=points --no-verify-schedule -o %t/window
// RUN: not %t/window 2>&1 | FileCheck %t/window.mlir

// RUN: timerlc %t/never.mlir --sanitize=points --no-verify-schedule -o %t/never
// RUN: not %t/never 2>&1 | FileCheck %t/never.mlir

// RUN: timerlc %t/parallel.mlir --sanitize=points --no-verify-schedule -o %t/parallel
// RUN: %t/parallel
// RUN: not %t/parallel --order descending 2>&1 | FileCheck %t/parallel.mlir

// RUN: timerlc %t/overlap.mlir --sanitize=points --no-verify-schedule -o %t/overlap
// RUN: not %t/overlap 2>&1 | FileCheck %t/overlap.mlir

// RUN: not timerlc %t/malformed.mlir 2>&1 | FileCheck %t/malformed.mlir

//--- right.mlir
// CHECK: t v
// CHECK-NEXT: 0 1
// CHECK-NEXT: 1 1
trl.tensor @x ["t"] : tensor<3xf32>
sched.program @main arena 64 {
  sched.buffer @x window [1] origin [0] at 0 bytes 12 live [0, 2]
  sched.stmt "x.0" () defines @x["0"] {
    %0 = trl.constant dense<1.0> : tensor<3xf32>
    trl.yield %0 : tensor<3xf32>
  }
  sched.for t = "0 : 2" {
    sched.output report "v" (t = "t") over (t = "0 : 2") {
      %0 = trl.read @x["t"] : tensor<3xf32>
      %1 = trl.reduce max %0 [0] : tensor<3xf32> -> tensor<f32>
      trl.yield %1 : tensor<f32>
    }
    sched.stmt "x.1" (t = "t") defines @x["t + 1"] {
      %0 = trl.read @x["t"] : tensor<3xf32>
      trl.yield %0 : tensor<3xf32>
    }
  }
}

//--- window.mlir
// CHECKER: error[E0002]: the schedule is wrong: x[0], which 'v' at t = 1 reads, is overwritten before by x[1]
// CHECK: error: {{.*}}window.mlir:[[#]]:[[#]]: `v` reads x[0], but its slot holds x[1]
trl.tensor @x ["t"] : tensor<3xf32>
sched.program @main arena 64 {
  sched.buffer @x window [1] origin [0] at 0 bytes 12 live [0, 2]
  sched.for t = "0 : 3" {
    sched.stmt "x.0" (t = "t") defines @x["t"] {
      %0 = trl.constant dense<1.0> : tensor<3xf32>
      trl.yield %0 : tensor<3xf32>
    }
    sched.if "t >= 1" {
      sched.output report "v" (t = "t - 1") over (t = "0 : 2") {
        %0 = trl.read @x["t"] : tensor<3xf32>
        %1 = trl.reduce max %0 [0] : tensor<3xf32> -> tensor<f32>
        trl.yield %1 : tensor<f32>
      }
    }
  }
}

//--- never.mlir
// CHECK: error: {{.*}}: `v` reads x[2], whose slot was never written
trl.tensor @x ["t"] : tensor<f32>
sched.program @main arena 64 {
  sched.buffer @x window [3] origin [0] at 0 bytes 12 live [0, 1]
  sched.for t = "0 : 2" {
    sched.stmt "x.0" (t = "t") defines @x["t"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
  }
  sched.for t = "0 : 3" {
    sched.output report "v" (t = "t") over (t = "0 : 3") {
      %0 = trl.read @x["t"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
  }
}

//--- parallel.mlir
// CHECK: error: {{.*}}: `x.1` reads x[2], whose slot was never written
trl.tensor @x ["t"] : tensor<f32>
sched.program @main arena 64 {
  sched.buffer @x window [4] origin [0] at 0 bytes 16 live [0, 1]
  sched.stmt "x.0" () defines @x["0"] {
    %0 = trl.constant dense<1.0> : tensor<f32>
    trl.yield %0 : tensor<f32>
  }
  sched.for t = "0 : 3" parallel {
    sched.stmt "x.1" (t = "t") defines @x["t + 1"] {
      %0 = trl.read @x["t"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
  }
}

//--- overlap.mlir
// CHECK: error: {{.*}}: `v` reads x[], but its slot holds y[4]
trl.tensor @x [] : tensor<f32>
trl.tensor @y ["t"] : tensor<i1>
sched.program @main arena 64 {
  sched.buffer @x window [] origin [] at 0 bytes 4 live [0, 2]
  sched.buffer @y window [1] origin [0] at 0 bytes 1 live [1, 2]
  sched.stmt "x.0" () defines @x[] {
    %0 = trl.constant dense<1.0> : tensor<f32>
    trl.yield %0 : tensor<f32>
  }
  sched.stmt "y.0" () defines @y["4"] {
    %0 = trl.constant dense<true> : tensor<i1>
    trl.yield %0 : tensor<i1>
  }
  sched.output report "v" () over () {
    %0 = trl.read @x[] : tensor<f32>
    trl.yield %0 : tensor<f32>
  }
}

//--- malformed.mlir
// CHECK: malformed.mlir:[[#@LINE+2]]:{{.*}}error[E0606]: {{.*}}takes 8 bytes, not 4
trl.tensor @x ["t"] : tensor<f32>
sched.program @main arena 64 { sched.buffer @x window [2] origin [0] at 0 bytes 4 live [0, 0] }
