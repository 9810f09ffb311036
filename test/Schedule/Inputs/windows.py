"""Storage windows of small programs against what one works out by hand: windows.py TIMERLC SCRATCH"""

import json
import pathlib
import subprocess
import sys

timerlc, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
scratch.mkdir(parents=True, exist_ok=True)

# Name, program, windows, and why.
programs = [
    ("first_order", "dim t : 20\nx[0] = 1.0\nx[t+1] = 0.5 * x[t]\nreport r = x[20]",
     {"x": [1]}, "x[t] is read once more, before x[t+1] is written"),
    ("fibonacci", "dim t : 20\nx[0] = 0\nx[1] = 1\nx[t+2] = x[t+1] + x[t]\nreport r = x[21]",
     {"x": [2]}, "x[t+2] goes where x[t] was read last; x[t+1] is still needed"),
    ("average", "dim t : 20\nx[t] = uniform()\ny[t] = mean(k in max(t-3, 0):t+1) x[k]\nreport r[t] = y",
     {"x": [4], "y": [1]}, "the last four of x; each y leaves at once"),
    ("returns", "dim t : 20\nx[t] = uniform()\nret[t] = if t == 19 then x else x + 0.9 * ret[t+1]\nreport r = ret[0]",
     {"x": [20], "ret": [1]}, "the sum begins at the end, when all of x has been drawn; of ret it needs the one before"),
    ("weights", "dim i : 10\ndim b : 8\nw[0] = 0.5\nw[i+1] = w[i] - 0.1 * mean(b) (w[i] * f32(b))\nreport r = w[10]",
     {"w": [1]}, "the update is in place"),
    ("batch", "dim b : 8\ndim t : 20\ns[b, 0] = uniform()\ns[b, t+1] = 0.9 * s[b, t]\nreport r = sum(b) s[b, 20]",
     {"s": [8, 1]}, "a state for each environment, none for past steps"),
    ("demand", "dim t : 32\nx[t] = uniform()\nm[0] = 0.0\n"
     "m[t+1] = if t % 4 == 3 then x[t] + x[t-1] + x[t-2] + x[t-3] else m[t]\nreport r = m[32]",
     {"x": [4], "m": [1]}, "only m[32] is asked for, so only the last four of x"),
    ("wavefront", "dim i : 12\ndim j : 9\n"
     "x[i, j] = (if i > 0 then x[i-1, j] else 1) + (if j > 0 then x[i, j-1] else 0)\nreport r = x[11, 8]",
     {"x": [1, 9]}, "one row: x[i, j] goes where x[i-1, j] was read last"),
    ("gather", "dim t : 50\nx[t] = uniform()\nj[t] = randint(0, 8)\ny[t] = x[max(t - j, 0) in max(t-7, 0):t+1]\nreport r = sum(t) y",
     {"x": [50], "j": [50], "y": [50]}, "loops without an order go first, where memory is small; the sum needs all of y"),
    ("lag_three", "dim t : 21\nx[t] = uniform() when t < 3\nx[t] = 0.5 * x[t-3] otherwise\nreport r = x[19] + x[20]",
     {"x": [3]}, "x[t] goes where x[t-3] was read last, though the first three are drawn in any order"),
    ("through_time", "dim t : 16\nw[0] = 0.5\nh[0] = 0.1\nh[t+1] = tanh(0.7 * h[t] + w[0])\nl = h[16]^2\ng = grad(l, w[0])\nreport r = g",
     {"h": [17], "d.l.h": [16], "d.l.h.of.h": [1]}, "the way back needs every h; adjoints are summed at the end, their carry is one"),
]
failed = False
for name, program, expected, why in programs:
    path = scratch / f"{name}.trl"
    path.write_text(program + "\n")
    text = subprocess.run([timerlc, path, "--emit=schedule-json", "-o", "-"], check=True, capture_output=True, text=True).stdout
    found = {buffer["tensor"]: buffer["window"] for buffer in json.loads(text)["buffers"]}
    if any(found.get(tensor) != window for tensor, window in expected.items()):
        failed = True
        print(f"{name}: expected {expected} ({why}), found {found}")
sys.exit(failed)
