// RUN: timerl-opt %s --sched-check --split-input-file --verify-diagnostics

// A loop that stops early for each b, and loops after it over the points that it executed.
trl.dim @b extent "4"
trl.dim @t extent "10" until @until counted @count
trl.tensor @x ["b", "t"] : tensor<f32>
trl.tensor @until ["b", "t"] : tensor<i1>
trl.tensor @count ["b"] : tensor<i64>
sched.program @main arena 512 {
  sched.buffer @x window [4, 11] origin [0, 0] at 0 bytes 176 live [0, 3]
  sched.buffer @until window [4, 1] origin [0, 0] at 192 bytes 4 live [0, 3]
  sched.buffer @count window [4] origin [0] at 256 bytes 32 live [0, 3]
  sched.for b = "0 : 4" parallel {
    sched.stmt "x.0" (b = "b") defines @x["b", "0"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    sched.for t = "0 : 10" until @until["b", "t"] {
      sched.stmt "x.1" (b = "b", t = "t") defines @x["b", "t + 1"] {
        %0 = trl.read @x["b", "t"] : tensor<f32>
        trl.yield %0 : tensor<f32>
      }
      sched.stmt "until" (b = "b", t = "t") defines @until["b", "t"], @count["b"] {
        %0 = trl.constant dense<true> : tensor<i1>
        %1 = trl.index "t + 1" : tensor<i64>
        trl.yield %0, %1 : tensor<i1>, tensor<i64>
      }
    }
  }
  sched.for b = "0 : 4" {
    sched.end @t["b"]
    sched.for t = "0 : end(t)" reverse {
      sched.output report "r" (b = "b", t = "t") over (b = "0 : 4", t = "0 : 10") {
        %0 = trl.read @x["b", "t + 1"] : tensor<f32>
        trl.yield %0 : tensor<f32>
      }
    }
    sched.output report "last" (b = "b") over (b = "0 : 4") {
      %0 = trl.read @x["b", "end(t)"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
  }
  sched.output report "all" () over () {
    %0 = trl.reduce_over sum (b = "0 : 4", t = "0 : end(t)") {
      %1 = trl.read @x["b", "t"] : tensor<f32>
      trl.yield %1 : tensor<f32>
    } : tensor<f32>
    trl.yield %0 : tensor<f32>
  }
}

// -----

// Points past the end.
trl.dim @b extent "4"
trl.dim @t extent "10" until @until counted @count
trl.tensor @x ["b", "t"] : tensor<f32>
trl.tensor @until ["b", "t"] : tensor<i1>
trl.tensor @count ["b"] : tensor<i64>
sched.program @main arena 512 {
  sched.buffer @x window [4, 11] origin [0, 0] at 0 bytes 176 live [0, 3]
  sched.buffer @until window [4, 1] origin [0, 0] at 192 bytes 4 live [0, 3]
  sched.buffer @count window [4] origin [0] at 256 bytes 32 live [0, 3]
  sched.for b = "0 : 4" parallel {
    sched.stmt "x.0" (b = "b") defines @x["b", "0"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    sched.for t = "0 : 10" until @until["b", "t"] {
      sched.stmt "x.1" (b = "b", t = "t") defines @x["b", "t + 1"] {
        %0 = trl.read @x["b", "t"] : tensor<f32>
        trl.yield %0 : tensor<f32>
      }
      sched.stmt "until" (b = "b", t = "t") defines @until["b", "t"], @count["b"] {
        %0 = trl.constant dense<true> : tensor<i1>
        %1 = trl.index "t + 1" : tensor<i64>
        trl.yield %0, %1 : tensor<i1>, tensor<i64>
      }
    }
    sched.for t = "0 : 10" {
      sched.output report "r" (b = "b", t = "t") over (b = "0 : 4", t = "0 : 10") {
        // expected-error @+1 {{x[0, 2] is read by 'r' at b = 0, t = 1 and was not written before}}
        %0 = trl.read @x["b", "t + 1"] : tensor<f32>
        trl.yield %0 : tensor<f32>
      }
    }
  }
}

// -----

// Another one may have stopped earlier.
trl.dim @b extent "4"
trl.dim @t extent "10" until @until counted @count
trl.tensor @x ["b", "t"] : tensor<f32>
trl.tensor @until ["b", "t"] : tensor<i1>
trl.tensor @count ["b"] : tensor<i64>
sched.program @main arena 512 {
  sched.buffer @x window [4, 11] origin [0, 0] at 0 bytes 176 live [0, 3]
  sched.buffer @until window [4, 1] origin [0, 0] at 192 bytes 4 live [0, 3]
  sched.buffer @count window [4] origin [0] at 256 bytes 32 live [0, 3]
  sched.for b = "0 : 4" parallel {
    sched.stmt "x.0" (b = "b") defines @x["b", "0"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    sched.for t = "0 : 10" until @until["b", "t"] {
      sched.stmt "x.1" (b = "b", t = "t") defines @x["b", "t + 1"] {
        %0 = trl.read @x["b", "t"] : tensor<f32>
        trl.yield %0 : tensor<f32>
      }
      sched.stmt "until" (b = "b", t = "t") defines @until["b", "t"], @count["b"] {
        %0 = trl.constant dense<true> : tensor<i1>
        %1 = trl.index "t + 1" : tensor<i64>
        trl.yield %0, %1 : tensor<i1>, tensor<i64>
      }
    }
  }
  sched.for b = "0 : 4" {
    sched.end @t["b"]
    sched.for t = "0 : end(t)" {
      sched.output report "r" (b = "b", t = "t") over (b = "0 : 4", t = "0 : 10") {
        // expected-error @+1 {{x[3, 2] is read by 'r' at b = 0, t = 1 and was not written before}}
        %0 = trl.read @x["3 - b", "t + 1"] : tensor<f32>
        trl.yield %0 : tensor<f32>
      }
    }
  }
}

// -----

// The length of another one.
trl.dim @b extent "4"
trl.dim @t extent "10" until @until counted @count
trl.tensor @x ["b", "t"] : tensor<f32>
trl.tensor @until ["b", "t"] : tensor<i1>
trl.tensor @count ["b"] : tensor<i64>
sched.program @main arena 512 {
  sched.buffer @x window [4, 11] origin [0, 0] at 0 bytes 176 live [0, 3]
  sched.buffer @until window [4, 1] origin [0, 0] at 192 bytes 4 live [0, 3]
  sched.buffer @count window [4] origin [0] at 256 bytes 32 live [0, 3]
  sched.for b = "0 : 4" parallel {
    sched.stmt "x.0" (b = "b") defines @x["b", "0"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    sched.for t = "0 : 10" until @until["b", "t"] {
      sched.stmt "x.1" (b = "b", t = "t") defines @x["b", "t + 1"] {
        %0 = trl.read @x["b", "t"] : tensor<f32>
        trl.yield %0 : tensor<f32>
      }
      sched.stmt "until" (b = "b", t = "t") defines @until["b", "t"], @count["b"] {
        %0 = trl.constant dense<true> : tensor<i1>
        %1 = trl.index "t + 1" : tensor<i64>
        trl.yield %0, %1 : tensor<i1>, tensor<i64>
      }
    }
  }
  sched.for b = "0 : 4" {
    sched.end @t["3 - b"]
    sched.for t = "0 : end(t)" {
      sched.output report "r" (b = "b", t = "t") over (b = "0 : 4", t = "0 : 10") {
        // expected-error @+1 {{x[0, 2] is read by 'r' at b = 0, t = 1 and was not written before}}
        %0 = trl.read @x["b", "t + 1"] : tensor<f32>
        trl.yield %0 : tensor<f32>
      }
    }
  }
}

// -----

// The length is asked for before the loop.
trl.dim @b extent "4"
trl.dim @t extent "10" until @until counted @count
trl.tensor @x ["b", "t"] : tensor<f32>
trl.tensor @until ["b", "t"] : tensor<i1>
trl.tensor @count ["b"] : tensor<i64>
sched.program @main arena 512 {
  sched.buffer @x window [4, 11] origin [0, 0] at 0 bytes 176 live [0, 3]
  sched.buffer @until window [4, 1] origin [0, 0] at 192 bytes 4 live [0, 3]
  sched.buffer @count window [4] origin [0] at 256 bytes 32 live [0, 3]
  sched.for b = "0 : 4" {
    sched.stmt "x.0" (b = "b") defines @x["b", "0"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    // expected-error @+1 {{count[0] is read by 't' at b = 0 and was not written before}}
    sched.end @t["b"]
    sched.for t = "0 : 10" until @until["b", "t"] {
      sched.stmt "x.1" (b = "b", t = "t") defines @x["b", "t + 1"] {
        %0 = trl.read @x["b", "t"] : tensor<f32>
        trl.yield %0 : tensor<f32>
      }
      sched.stmt "until" (b = "b", t = "t") defines @until["b", "t"], @count["b"] {
        %0 = trl.constant dense<true> : tensor<i1>
        %1 = trl.index "t + 1" : tensor<i64>
        trl.yield %0, %1 : tensor<i1>, tensor<i64>
      }
    }
    sched.for t = "0 : end(t)" {
      sched.output report "r" (b = "b", t = "t") over (b = "0 : 4", t = "0 : 10") {
        %0 = trl.read @x["b", "t + 1"] : tensor<f32>
        trl.yield %0 : tensor<f32>
      }
    }
  }
}

// -----

// And before it has ended.
trl.dim @b extent "4"
trl.dim @t extent "10" until @until counted @count
trl.tensor @x ["b", "t"] : tensor<f32>
trl.tensor @until ["b", "t"] : tensor<i1>
trl.tensor @count ["b"] : tensor<i64>
sched.program @main arena 512 {
  sched.buffer @x window [4, 11] origin [0, 0] at 0 bytes 176 live [0, 3]
  sched.buffer @until window [4, 1] origin [0, 0] at 192 bytes 4 live [0, 3]
  sched.buffer @count window [4] origin [0] at 256 bytes 32 live [0, 3]
  sched.for b = "0 : 4" {
    sched.stmt "x.0" (b = "b") defines @x["b", "0"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    sched.for t = "0 : 10" until @until["b", "t"] {
      sched.stmt "x.1" (b = "b", t = "t") defines @x["b", "t + 1"] {
        %0 = trl.read @x["b", "t"] : tensor<f32>
        trl.yield %0 : tensor<f32>
      }
      // expected-note @+1 {{by 'until' at b = 0, t = 1}}
      sched.stmt "until" (b = "b", t = "t") defines @until["b", "t"], @count["b"] {
        %0 = trl.constant dense<true> : tensor<i1>
        %1 = trl.index "t + 1" : tensor<i64>
        trl.yield %0, %1 : tensor<i1>, tensor<i64>
      }
      sched.output report "r" (b = "b") over (b = "0 : 4") {
        // expected-error @+1 {{count[0] is asked for by 'r' at b = 0, t = 0 and counted further after}}
        %0 = trl.index "end(t)" : tensor<i64>
        trl.yield %0 : tensor<i64>
      }
    }
  }
}

// -----

// A loop that is left early must begin with the first point and be able to reach the last.
trl.dim @b extent "4"
trl.dim @t extent "10" until @until counted @count
trl.tensor @x ["b", "t"] : tensor<f32>
trl.tensor @until ["b", "t"] : tensor<i1>
trl.tensor @count ["b"] : tensor<i64>
sched.program @main arena 512 {
  sched.buffer @x window [4, 11] origin [0, 0] at 0 bytes 176 live [0, 3]
  sched.buffer @until window [4, 1] origin [0, 0] at 192 bytes 4 live [0, 3]
  sched.buffer @count window [4] origin [0] at 256 bytes 32 live [0, 3]
  sched.for b = "0 : 4" {
    sched.stmt "x.0" (b = "b") defines @x["b", "0"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    // expected-error @+1 {{this loop does not go through all points of the dim that it stops at}}
    sched.for t = "0 : 9" until @until["b", "t"] {
      sched.stmt "x.1" (b = "b", t = "t") defines @x["b", "t + 1"] {
        %0 = trl.read @x["b", "t"] : tensor<f32>
        trl.yield %0 : tensor<f32>
      }
      sched.stmt "until" (b = "b", t = "t") defines @until["b", "t"], @count["b"] {
        %0 = trl.constant dense<true> : tensor<i1>
        %1 = trl.index "t + 1" : tensor<i64>
        trl.yield %0, %1 : tensor<i1>, tensor<i64>
      }
    }
    sched.output report "r" (b = "b") over (b = "0 : 4") {
      %0 = trl.index "end(t)" : tensor<i64>
      trl.yield %0 : tensor<i64>
    }
  }
}

// -----

// The end is tested by a condition that is not computed.
trl.dim @b extent "4"
trl.dim @t extent "10" until @until counted @count
trl.tensor @x ["b", "t"] : tensor<f32>
trl.tensor @until ["b", "t"] : tensor<i1>
trl.tensor @count ["b"] : tensor<i64>
sched.program @main arena 512 {
  sched.buffer @x window [4, 11] origin [0, 0] at 0 bytes 176 live [0, 3]
  sched.buffer @until window [4, 1] origin [0, 0] at 192 bytes 4 live [0, 3]
  sched.buffer @count window [4] origin [0] at 256 bytes 32 live [0, 3]
  sched.for b = "0 : 4" {
    // expected-error @+1 {{until[0, 0] is read by 't' at b = 0, t = 0 and was not written before}}
    sched.for t = "0 : 10" until @until["b", "t"] {
      sched.if "t >= 1" {
        sched.stmt "until" (b = "b", t = "t") defines @until["b", "t"], @count["b"] {
          %0 = trl.constant dense<true> : tensor<i1>
          %1 = trl.index "t + 1" : tensor<i64>
          trl.yield %0, %1 : tensor<i1>, tensor<i64>
        }
      }
    }
  }
}
