// RUN: timerl-opt %s --sched-check --split-input-file --verify-diagnostics

// A recurrence in two slots, and a value that is written over in its last read.
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @y ["t"] : tensor<f32>
sched.program @main arena 128 {
  sched.buffer @x window [1] origin [0] at 0 bytes 4 live [0, 2]
  sched.buffer @y window [1] origin [0] at 64 bytes 4 live [1, 2]
  sched.stmt "x.0" () defines @x["0"] {
    %0 = trl.constant dense<1.0> : tensor<f32>
    trl.yield %0 : tensor<f32>
  }
  sched.for t = "0 : 500" {
    sched.stmt "y" (t = "t") defines @y["t"] {
      %0 = trl.read @x["t"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    sched.stmt "x.1" (t = "t") defines @x["t + 1"] {
      %0 = trl.read @x["t"] : tensor<f32>
      %1 = trl.read @y["t"] : tensor<f32>
      %2 = trl.add %0, %1 : tensor<f32>
      trl.yield %2 : tensor<f32>
    }
  }
}

// -----

// The window is too small: the value before the last one is gone.
trl.tensor @x ["t"] : tensor<f32>
sched.program @main arena 64 {
  sched.buffer @x window [2] origin [0] at 0 bytes 8 live [0, 2]
  sched.for t = "0 : 2" {
    // expected-note @+1 {{written by 'x.0' at t = 1}}
    sched.stmt "x.0" (t = "t") defines @x["t"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
  }
  sched.for t = "0 : 98" {
    // expected-note @+1 {{by 'x.1' at t = 1}}
    sched.stmt "x.1" (t = "t") defines @x["t + 2"] {
      %0 = trl.read @x["t"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    sched.if "t >= 1" {
      sched.output report "m" (t = "t") over (t = "1 : 98") {
        // expected-error @+1 {{E0002: the schedule is wrong: x[1], which 'm' at t = 1 reads, is overwritten before by x[3]}}
        %0 = trl.read @x["t"] : tensor<f32>
        trl.yield %0 : tensor<f32>
      }
    }
  }
}

// -----

// Read in the wrong order.
trl.tensor @x ["t"] : tensor<f32>
sched.program @main arena 64 {
  sched.buffer @x window [10] origin [0] at 0 bytes 40 live [0, 1]
  sched.for t = "0 : 10" {
    sched.output report "m" (t = "t") over (t = "0 : 10") {
      // expected-error @+1 {{E0002: the schedule is wrong: x[0] is read by 'm' at t = 0 and was not written before}}
      %0 = trl.read @x["t"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    sched.stmt "x" (t = "t") defines @x["t"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
  }
}

// -----

// Iterations of a parallel loop must not read each other's values; without
// `parallel` the first loop would be right.
trl.tensor @x ["t"] : tensor<f32>
sched.program @main arena 64 {
  sched.buffer @x window [11] origin [0] at 0 bytes 44 live [0, 1]
  sched.stmt "x.0" () defines @x["0"] {
    %0 = trl.constant dense<1.0> : tensor<f32>
    trl.yield %0 : tensor<f32>
  }
  sched.for t = "0 : 10" parallel {
    sched.stmt "x.1" (t = "t") defines @x["t + 1"] {
      // expected-error @+1 {{x[1] is read by 'x.1' at t = 1 and was not written before}}
      %0 = trl.read @x["t"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
  }
}

// -----

// A scratch value in one slot, under a parallel loop: another iteration may
// write it in between.
trl.tensor @x ["t"] : tensor<f32>
trl.tensor @y ["t"] : tensor<f32>
sched.program @main arena 128 {
  sched.buffer @x window [1] origin [0] at 0 bytes 4 live [0, 1]
  sched.buffer @y window [10] origin [0] at 64 bytes 40 live [1, 1]
  sched.for t = "0 : 10" parallel {
    // expected-note @+2 {{written by 'x' at t = 0}}
    // expected-note @+1 {{by 'x' at t = 1}}
    sched.stmt "x" (t = "t") defines @x["t"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
    sched.stmt "y" (t = "t") defines @y["t"] {
      // expected-error @+1 {{x[0], which 'y' at t = 0 reads, is overwritten before by x[1]}}
      %0 = trl.read @x["t"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
  }
}

// -----

// Backwards in time, from the end on.
trl.tensor @a ["t"] : tensor<f32>
sched.program @main arena 64 {
  sched.buffer @a window [2] origin [0] at 0 bytes 8 live [0, 1]
  sched.stmt "a.0" () defines @a["10"] {
    %0 = trl.constant dense<1.0> : tensor<f32>
    trl.yield %0 : tensor<f32>
  }
  sched.for t = "0 : 10" reverse {
    sched.stmt "a.1" (t = "t") defines @a["t"] {
      %0 = trl.read @a["t + 1"] : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
  }
}

// -----

// Two buffers in the same bytes, whose values live at the same time.
trl.tensor @x [] : tensor<f32>
trl.tensor @y [] : tensor<f32>
sched.program @main arena 64 {
  sched.buffer @x window [] origin [] at 0 bytes 4 live [0, 2]
  sched.buffer @y window [] origin [] at 0 bytes 4 live [1, 2]
  // expected-note @+1 {{written by 'x'}}
  sched.stmt "x" () defines @x[] {
    %0 = trl.constant dense<1.0> : tensor<f32>
    trl.yield %0 : tensor<f32>
  }
  // expected-note @+1 {{by 'y'}}
  sched.stmt "y" () defines @y[] {
    %0 = trl.read @x[] : tensor<f32>
    trl.yield %0 : tensor<f32>
  }
  sched.output report "m" () over () {
    // expected-error @+1 {{x[], which 'm' reads, is overwritten before by y[]}}
    %0 = trl.read @x[] : tensor<f32>
    trl.yield %0 : tensor<f32>
  }
}

// -----

// A slice of what a vectorised statement wrote.
trl.tensor @x ["b", "t"] : tensor<f32>
sched.program @main arena 8192 {
  sched.buffer @x window [8, 101] origin [0, 0] at 0 bytes 3232 live [0, 3]
  sched.for b = "0 : 8" parallel {
    sched.stmt "x.0" (b = "b") defines @x["b", "0"] {
      %0 = trl.constant dense<1.0> : tensor<f32>
      trl.yield %0 : tensor<f32>
    }
  }
  sched.for t = "0 : 100" {
    sched.stmt "x.1" (t = "t") defines @x["0 : 8", "t + 1"] {
      %0 = trl.read @x["0 : 8", "t"] : tensor<8xf32>
      trl.yield %0 : tensor<8xf32>
    }
  }
  sched.output save "last" () over () {
    %0 = trl.read @x["3", "100"] : tensor<f32>
    trl.yield %0 : tensor<f32>
  }
}

// -----

// Two values of one statement, in the same bytes.
trl.tensor @x [] : tensor<f32>
trl.tensor @y [] : tensor<f32>
sched.program @main arena 64 {
  sched.buffer @x window [] origin [] at 0 bytes 4 live [0, 1]
  sched.buffer @y window [] origin [] at 0 bytes 4 live [0, 1]
  // expected-note @+2 {{written by 'x'}}
  // expected-note @+1 {{by 'x'}}
  sched.stmt "x" () defines @x[], @y[] {
    %0 = trl.constant dense<1.0> : tensor<f32>
    trl.yield %0, %0 : tensor<f32>, tensor<f32>
  }
  sched.output report "m" () over () {
    // expected-error @+1 {{x[], which 'm' reads, is overwritten before by y[]}}
    %0 = trl.read @x[] : tensor<f32>
    trl.yield %0 : tensor<f32>
  }
}
