"""Compiles a program and compares its reports, run for run, with the reference interpreter's.

Usage: compare-runs.py TIMERLC SCRATCH TOLERANCE PROGRAM [timerlc options...]
Seeds 1 to 3. Tolerance is relative to 1 + |value|; empty cells must be equal."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import compare

timerlc, scratch, tolerance, program, *options = sys.argv[1:]
scratch = pathlib.Path(scratch)
scratch.mkdir(parents=True, exist_ok=True)
executable = scratch / pathlib.Path(program).stem


def run(*command):
    result = compare.run(*command, timeout=600)
    if result.returncode != 0:
        sys.exit(f"{command} failed with {result.returncode}:\n{result.stderr}")
    return result.stdout


run(timerlc, program, "-o", executable, *options)
for seed in ("1", "2", "3"):
    found = run(executable, "--seed", seed)
    expected = run(timerlc, "--interpret", program, "--seed", seed, *options)
    problem = compare.compareTables(found, expected, float(tolerance))
    if problem:
        sys.exit(f"seed {seed}, {problem}")
print("equal")
