"""Schedules random recurrences, and has each schedule checked.

Usage: random-recurrences.py COMPILER COUNT [SEED]. Each program has tensors over
two dims that read each other at earlier points of the outer dim, and at earlier
(or, in another program, later) points of the inner one; some run on a slower
clock, some read a whole range, some are guarded. All have an order, so all have
to get one, and the compiler's own check has to accept it."""
import random
import subprocess
import sys
import tempfile
from pathlib import Path

compiler, count = sys.argv[1], int(sys.argv[2])
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
N, T = 4, 12


def read(rng, source, before, sign):
    """A read of `source` that lies before the point (i, t) being defined."""
    kind = rng.random()
    if before and kind < 0.3:
        return f"{source}[i, t]"
    if kind < 0.65:
        d = rng.randint(1, 2)
        inside = f"t >= {d}" if sign > 0 else f"t < {T - d}"
        return f"(if {inside} then {source}[i, t {'-' if sign > 0 else '+'} {d}] else 1.0)"
    if kind < 0.8:
        return f"(if i > 0 then {source}[i - 1, {rng.choice(['t', f'{T - 1} - t', str(rng.randint(0, T - 1)), 't // 2'])}] else 1.0)"
    if kind < 0.9:
        return f"(if i > 0 then mean(k in 0:{T}) {source}[i - 1, k] else 1.0)"
    return (f"(sum(k in 0:t) {source}[i, k])" if sign > 0 else f"(sum(k in t+1:{T}) {source}[i, k])")


def program(rng):
    sign = rng.choice([1, -1])
    names = ["x", "y", "z", "w"][:rng.randint(1, 4)]
    lines = [f"dim i : {N}", f"dim t : {T}", f"dim n : {T // 4}"]
    slow = rng.random() < 0.3 and sign > 0
    for k, name in enumerate(names):
        terms = [read(rng, source, names.index(source) < k, sign)
                 for source in (rng.choice(names) for _ in range(rng.randint(1, 3)))]
        if slow and rng.random() < 0.5:
            terms.append("(if t >= 4 then h[i, t // 4 - 1] else 1.0)")
        body = " + ".join(f"0.1 * {term}" for term in terms)
        if rng.random() < 0.3:
            guard = rng.choice(["t % 2 == 0", "(i + 2*t) % 3 == 1", f"t < {rng.randint(1, T - 1)}", "t <= i"])
            lines.append(f"{name}[i, t] : f32 = {body} when {guard}")
            lines.append(f"{name}[i, t] : f32 = 0.5 otherwise")
        else:
            lines.append(f"{name}[i, t] : f32 = {body}")
    if slow:
        lines.append(f"h[i, n] : f32 = mean(k in 4*n:4*n+4) {names[0]}[i, k]")
    lines.append(f"report last[i] = {names[-1]}[i, {rng.randint(0, T - 1)}]")
    if rng.random() < 0.5:
        lines.append(f"report all[i, t] = {names[0]}[i, t]")
    return "\n".join(lines) + "\n"


bad = 0
with tempfile.TemporaryDirectory() as folder:
    for k in range(count):
        source = program(random.Random(seed * 100003 + k))
        path = Path(folder, "p.trl")
        path.write_text(source)
        run = subprocess.run([compiler, path, "--emit=sched", "-o", "/dev/null"], capture_output=True, text=True, timeout=60)
        if run.returncode:
            bad += 1
            print(source + run.stderr)
print(f"{count - bad} of {count} scheduled")
sys.exit(bad > 0)
