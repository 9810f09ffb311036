"""Breaks schedules at random, and holds the checker against executables that test their slots (`--sanitize=points`).

Usage: mutate-schedules.py TIMERLC TIMERL-OPT SCRATCH [--first SEED] [--count MUTANTS] [--sample N] [--programs FILE...]

Every schedule is taken as `--emit=sched` prints it: of small programs in samples/ and test/e2e, and of random ones. Unchanged, the
checker must accept it and its executable must find each point that it reads. Then it is changed in one place: a window, an origin, an
offset, a bound, a direction, `parallel`, a guard, a binding, the order or the absence of ops, what a length is asked at. Each mutant that
the checker accepts must run without a wrong read, with loops without an order in ascending and in descending order. Of those refused, one
in N runs, too, to know that executables see what is wrong; at least a fifth must.

A longer run: --count 3000 --first 2."""

import argparse
import collections
import pathlib
import random
import re
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent.parent
sys.path.insert(0, str(root / "test/random"))
from generate import Program

parser = argparse.ArgumentParser()
parser.add_argument("timerlc")
parser.add_argument("opt")
parser.add_argument("scratch", type=pathlib.Path)
parser.add_argument("--first", type=int, default=1)
parser.add_argument("--count", type=int, default=60)
parser.add_argument("--sample", type=int, default=6)
parser.add_argument("--programs", nargs="*", default=[])
options = parser.parse_args()
options.scratch.mkdir(parents=True, exist_ok=True)
rng = random.Random(options.first)

samples = [["samples/fib.trl"], ["samples/ar.trl", "-D", "paths=3", "-D", "steps=5"], ["samples/wavefront.trl", "-D", "n=4"],
           ["samples/lqr.trl", "-D", "steps=3", "-D", "iterations=2"],
           ["samples/reinforce_cartpole.trl", "-D", "envs=2", "-D", "iterations=2", "-D", "horizon=4", "-D", "hidden=2"]]
samples += [[str(path.relative_to(root))] for path in sorted((root / "test/e2e/Inputs/stops").glob("*.trl"))]
if options.programs:
    samples = [[program] for program in options.programs]


def run(*command, timeout=60):
    try:
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -1, "", "timed out")


def source(turn):
    """A program: samples and random ones in turn."""
    if options.programs or turn % 2 == 0:
        program, *arguments = samples[turn // 2 % len(samples)]
        return root / program, arguments
    path = options.scratch / "random.trl"
    seed = 1000 * options.first + turn
    path.write_text(Program(seed, turn % 4 == 1).build())
    return path, []


#===--- Schedules as text ------------------------------------------------===#

def blocks(lines):
    """For each op of the program that can change its place: its first and last line, and its depth."""
    found, stack = [], []
    for number, line in enumerate(lines):
        text = line.strip()
        if re.match(r"sched\.(for|if|stmt|output|end)\b", text):
            if text.endswith("{"):
                stack.append((number, True))
            else:
                found.append((number, number, len(stack)))
        elif text.endswith("{"):
            stack.append((number, False))
        elif text.startswith("}") and stack:
            begin, op = stack.pop()
            if text.endswith("{"):
                stack.append((number, False))
                if op:
                    stack[-1] = (begin, True)
            elif op:
                found.append((begin, number, len(stack)))
    return found


def pick(lines, pattern):
    found = [number for number, line in enumerate(lines) if re.search(pattern, line)]
    return rng.choice(found) if found else None


def numbers(line, name):
    return [int(part) for part in re.search(name + r" \[([^\]]*)\]", line).group(1).split(",") if part.strip()]


def withNumbers(line, name, values):
    return re.sub(name + r" \[[^\]]*\]", name + " [" + ", ".join(map(str, values)) + "]", line)


def shiftWindow(lines):
    number = pick(lines, r"sched\.buffer.*window \[[^\]]*\d")
    if number is None:
        return None
    line = lines[number]
    window, size = numbers(line, "window"), int(re.search(r"bytes (\d+)", line).group(1))
    wide = [k for k, extent in enumerate(window) if extent > 1]
    if not wide:
        return None
    k = rng.choice(wide)
    less = rng.choice([window[k] - 1, 1])
    lines[number] = re.sub(r"bytes \d+", f"bytes {size // window[k] * less}", line)
    window[k] = less
    lines[number] = withNumbers(lines[number], "window", window)
    return "window"


def shiftOrigin(lines):
    number = pick(lines, r"sched\.buffer.*origin \[[^\]]*\d")
    if number is None:
        return None
    origin = numbers(lines[number], "origin")
    origin[rng.randrange(len(origin))] += rng.choice([-1, 1])
    lines[number] = withNumbers(lines[number], "origin", origin)
    return "origin"


def moveOffset(lines):
    number, other = pick(lines, r"sched\.buffer"), pick(lines, r"sched\.buffer")
    if number is None or number == other:
        return None
    offset = re.search(r"at (\d+) bytes", lines[other]).group(1)
    lines[number] = re.sub(r"at \d+ bytes", f"at {offset} bytes", lines[number])
    return "offset"


def shiftBound(lines):
    number = pick(lines, r"sched\.for ")
    if number is None:
        return None
    lo, hi = re.search(r'= "(.*) : (.*?)"', lines[number]).groups()
    change = rng.choice([(f"{lo} + 1", hi), (lo, f"{hi} - 1"), (lo, f"{hi} + 1"), (f"{lo} - 1", hi)])
    lines[number] = re.sub(r'= ".*?"', f'= "{change[0]} : {change[1]}"', lines[number], count=1)
    return "bound"


def turnLoop(lines):
    number = pick(lines, r"sched\.for (?!.*until)")
    if number is None:
        return None
    line = lines[number]
    lines[number] = line.replace(" reverse", "") if " reverse" in line else re.sub(r'(= ".*?")', r"\1 reverse", line, count=1)
    return "direction"


def makeParallel(lines):
    number = pick(lines, r"sched\.for (?!.*(until|parallel))")
    if number is None:
        return None
    lines[number] = lines[number].replace(" {", " parallel {")
    return "parallel"


def dropGuard(lines):
    number = pick(lines, r"sched\.if ")
    if number is None:
        return None
    lines[number] = re.sub(r'if ".*"', 'if "true"', lines[number])
    return "guard"


def shiftBinding(lines):
    number = pick(lines, r'sched\.(stmt|output).*\(.* = "')
    if number is None:
        return None
    bindings = re.search(r"\((\w.*?)\) (defines|over)", lines[number])
    if not bindings:
        return None
    places = list(re.finditer(r'= "([^"]*)"', bindings.group(1)))
    place = rng.choice(places)
    begin = bindings.start(1)
    changed = f'= "{place.group(1)} {rng.choice(["+", "-"])} 1"'
    lines[number] = lines[number][:begin + place.start()] + changed + lines[number][begin + place.end():]
    return "binding"


def swapOps(lines):
    found = sorted(blocks(lines))
    pairs = [(a, b) for a in found for b in found if a[2] == b[2] and b[0] == a[1] + 1]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    lines[a[0]:b[1] + 1] = lines[b[0]:b[1] + 1] + lines[a[0]:a[1] + 1]
    return "order"


def dropOp(lines):
    found = [op for op in blocks(lines) if re.search(r"sched\.(stmt|for)", lines[op[0]])]
    if not found:
        return None
    begin, end, _ = rng.choice(found)
    del lines[begin:end + 1]
    return "absence"


def moveLength(lines):
    number = pick(lines, r'sched\.end .*\["')
    if number is None:
        return None
    lines[number] = re.sub(r'\["(.*?)"', rng.choice([r'["\1 + 1"', r'["\1 - 1"', r'["0"']), lines[number], count=1)
    return "length"


mutations = [shiftWindow, shiftWindow, shiftOrigin, moveOffset, moveOffset, shiftBound, shiftBound, turnLoop, makeParallel,
             makeParallel, dropGuard, shiftBinding, swapOps, swapOps, dropOp, moveLength]

#===--- The two judges ---------------------------------------------------===#


def refusal(path):
    """Of the checker or a verifier; None when it accepts."""
    checked = run(options.opt, path, "--sched-check", "-o", "/dev/null")
    if checked.returncode == 0:
        return None
    if "error" not in checked.stderr:
        sys.exit(f"{path}: the checker gives {checked.returncode}: {checked.stderr[:500]}")
    return re.search(r"error: (.*)", checked.stderr).group(1)


def wrongRead(path):
    """What an executable that tests its slots finds; None when nothing."""
    executable = options.scratch / "sanitized"
    built = run(options.timerlc, path, "--sanitize=points", "--no-verify-schedule", "-O0", "-o", executable)
    if built.returncode:
        if "E0501" in built.stderr:
            return None  # Not to be had as an executable, wherever the program came from.
        return f"can't be built: {built.stderr[:500]}"
    for order in ("ascending", "descending"):
        found = run(executable, "--order", order, "--seed", "3")
        if found.returncode:
            return f"{order}: exit code {found.returncode}: {found.stderr.strip()[:300]}"
    return None


counts, perKind, failures, sampled, seen, turn, mutants = collections.Counter(), collections.Counter(), 0, 0, 0, 0, 0
while mutants < options.count and turn < 4 * options.count + 8:
    path, arguments = source(turn)
    turn += 1
    emitted = run(options.timerlc, path, *arguments, "--emit=sched", "-o", "-")
    if emitted.returncode:
        counts["programs refused"] += 1
        continue
    plan = options.scratch / "plan.mlir"
    plan.write_text(emitted.stdout)
    problem = refusal(plan) or wrongRead(plan)
    if problem:
        failures += 1
        plan.rename(options.scratch / f"failure{failures}.mlir")
        print(f"{path} {arguments}, unchanged: {problem}")
        continue
    counts["plans"] += 1
    for _ in range(max(2, min(12, options.count // 20))):
        lines = emitted.stdout.splitlines()
        kind = rng.choice(mutations)(lines)
        if not kind or lines == emitted.stdout.splitlines():
            continue
        mutants += 1
        mutant = options.scratch / "mutant.mlir"
        mutant.write_text("\n".join(lines) + "\n")
        refused = refusal(mutant)
        perKind[kind, bool(refused)] += 1
        if refused and rng.randrange(options.sample):
            continue
        wrong = wrongRead(mutant)
        if refused:
            sampled += 1
            seen += wrong is not None
        elif wrong:
            failures += 1
            mutant.rename(options.scratch / f"failure{failures}.mlir")
            print(f"{path} {arguments}, {kind}: accepted, but {wrong}; see failure{failures}.mlir")
for kind in sorted({kind for kind, _ in perKind}):
    print(f"{kind}: {perKind[kind, True]} refused, {perKind[kind, False]} accepted and right")
print(f"{counts['plans']} plans, {mutants} mutants, {counts['programs refused']} programs without a plan; "
      f"of {sampled} refused mutants executables saw {seen} fail")
sys.exit(failures > 0 or mutants < options.count or seen * 5 < sampled)
