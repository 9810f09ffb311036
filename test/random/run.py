"""Compiles random programs and compares the executables with the reference interpreter.

Usage: run.py TIMERLC SCRATCH [--first SEED] [--count N] [--tolerance X] [--stops]
With --stops, of programs whose dim t stops early.
A refusal (E0501, E0503, E0504, E0703, E0801 to E0805) is counted; any other error, a crash, a hang or a difference fails,
after the program has been made smaller line by line. Fails too when more than a third are refused."""

import argparse
import collections
import pathlib
import re
import sys

from generate import Program

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from compare import compareTables, run

parser = argparse.ArgumentParser()
parser.add_argument("timerlc")
parser.add_argument("scratch", type=pathlib.Path)
parser.add_argument("--first", type=int, default=1)
parser.add_argument("--count", type=int, default=30)
parser.add_argument("--tolerance", type=float, default=2e-4)
parser.add_argument("--stops", action="store_true")
options = parser.parse_args()
options.scratch.mkdir(parents=True, exist_ok=True)
refusals = {"E0501", "E0503", "E0504", "E0703", "E0801", "E0802", "E0803", "E0804", "E0805"}


def attempt(text, name="program"):
    """None when all is well, `refused CODE`, or what is wrong."""
    source, executable = options.scratch / f"{name}.trl", options.scratch / name
    source.write_text(text)
    expected = run(options.timerlc, "--interpret", source, "--seed", "5")
    compiled = run(options.timerlc, source, "-o", executable)
    codes = set(re.findall(r"error\[(E\d+)\]", compiled.stderr))
    if compiled.returncode != 0:
        if codes and codes <= refusals and expected.returncode == 0:
            return "refused " + min(codes)
        if codes and expected.returncode == compiled.returncode == 1 and compiled.stderr == expected.stderr:
            return "invalid: " + compiled.stderr.splitlines()[0]
        return f"compilation gives {compiled.returncode}: {compiled.stderr[:400]}"
    if expected.returncode != 0:
        return f"interpretation gives {expected.returncode}: {expected.stderr[:400]}"
    found = run(executable, "--seed", "5")
    if found.returncode != 0:
        return f"the executable gives {found.returncode}: {found.stderr[:400]}"
    difference = compareTables(found.stdout, expected.stdout, options.tolerance, exact=True)
    return f"differs: {difference}" if difference else None


def kindOf(problem):
    if not problem:
        return ""
    return problem.split(":")[0].split(" gives")[0] + "".join(re.findall(r"E\d{4}", problem)[:1])


def shrink(text, problem):
    """Drops lines as long as the same kind of problem stays."""
    lines, changed = text.splitlines(), True
    while changed:
        changed = False
        for k in reversed(range(len(lines))):
            smaller = "\n".join(lines[:k] + lines[k + 1:]) + "\n"
            found = attempt(smaller, "smaller")
            if found and not found.startswith("refused") and kindOf(found) == kindOf(problem):
                lines, changed, problem = lines[:k] + lines[k + 1:], True, found
    return "\n".join(lines), problem


counts, failures = collections.Counter(), 0
for seed in range(options.first, options.first + options.count):
    text = Program(seed, options.stops).build()
    problem = attempt(text)
    if problem is None:
        counts["equal"] += 1
    elif problem.startswith("refused"):
        counts[problem] += 1
    else:
        failures += 1
        counts["wrong"] += 1
        smallest, problem = shrink(text, problem)
        print(f"seed {seed}: {problem}\n{smallest}\n", flush=True)
print(", ".join(f"{number} {what}" for what, number in counts.most_common()))
refused = sum(number for what, number in counts.items() if what.startswith("refused"))
if failures or refused * 3 > options.count:
    sys.exit(1)
