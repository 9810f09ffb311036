"""Compiles a program and compares its reports, run for run, with the reference interpreter's.

Usage: compare-runs.py TIMERLC SCRATCH TOLERANCE PROGRAM [timerlc options...]
Seeds 1 to 3. Tolerance is relative to 1 + |value|; integers and empty cells must be equal."""

import math
import pathlib
import subprocess
import sys

timerlc, scratch, tolerance, program, *options = sys.argv[1:]
scratch = pathlib.Path(scratch)
scratch.mkdir(parents=True, exist_ok=True)
executable = scratch / pathlib.Path(program).stem


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        sys.exit(f"{command} failed with {result.returncode}:\n{result.stderr}")
    return result.stdout


def near(a, b):
    if a == b:
        return True
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return math.isnan(x) and math.isnan(y) or abs(x - y) <= float(tolerance) * (1 + abs(y))


run(timerlc, program, "-o", executable, *options)
worst = 0
for seed in ("1", "2", "3"):
    found = run(executable, "--seed", seed).split("\n")
    expected = run(timerlc, "--interpret", program, "--seed", seed, *options).split("\n")
    if len(found) != len(expected):
        sys.exit(f"seed {seed}: {len(found)} lines instead of {len(expected)}")
    for number, (line, wanted) in enumerate(zip(found, expected)):
        cells, wantedCells = line.split(), wanted.split()
        if len(cells) != len(wantedCells) or not all(map(near, cells, wantedCells)):
            sys.exit(f"seed {seed}, line {number + 1}:\n  executable  {line}\n  interpreter {wanted}")
print("equal")
