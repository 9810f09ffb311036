"""Compares the proof of definition with brute force on random small programs.

Usage: random-programs.py COMPILER COUNT [SEED]. Each program has two or three
tensors over two dims with shifted, constant and guarded left-hand sides, and
reads with affine indices, `//`, `%`, conditions and binders. All points are
enumerated; the compiler has to find a double definition, an undefined read and
a cycle exactly when there is one."""
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

compiler, count = sys.argv[1], int(sys.argv[2])
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
EXTENTS = {"i": 3, "t": 5}


def condition(rng, names):
    a, b = rng.choice(names), rng.choice(names)
    return rng.choice([
        f"{a} > 0", f"{a} < 2", f"{a} <= {b}", f"{a} != {b}",
        f"({a} + {rng.randint(1, 3)}*{b}) % 3 == {rng.randint(0, 2)}",
        f"({a} > 0 and {b} < 2)", f"({a} == 1 or {b} > 1)", f"{a} // 2 == {b} % 2"])


def index(rng, names, extent, tame):
    a, b = rng.choice(names), rng.choice(names)
    if tame and rng.random() < 0.95:
        return rng.choice([f"max({a} - 1, 0)", f"min({a}, {extent - 1})", f"min({a} + 1, {extent - 1})", f"{a} // 2",
                           f"({a} + {b}) % {extent}", f"max({extent - 1} - {a}, 0)", str(rng.randint(0, extent - 1))])
    return rng.choice([
        f"{a}", f"{a}", f"{a}", f"{a} - 1", f"{a} + 1", str(rng.randint(0, extent - 1)), f"{a} // 2",
        f"({a} + {b}) % {extent}", f"{extent - 1} - {a}", f"min({a} + 1, {extent - 1})", f"max({a} - 1, 0)"])


def program(rng):
    tensors = ["x", "y", "z"][:rng.randint(2, 3)]
    equations = []
    # Most of the programs are tame: right but for a few mistakes.
    tame = rng.random() < 0.6
    for tensor in tensors:
        split = condition(rng, ["i", "t"])
        for part in range(2 if tame else rng.randint(1, 3)):
            dims, lhs = [], []
            for dim in "it":
                if tame:
                    dims.append(dim)
                    lhs.append(dim)
                    continue
                kind = rng.random()
                if kind < 0.7:
                    dims.append(dim)
                    lhs.append(dim)
                elif kind < 0.85:
                    dims.append(dim)
                    lhs.append(f"{dim}+1")
                else:
                    lhs.append(str(rng.randint(0, 2)))
            # Each position keeps its dim: a constant is left to the other equations.
            guard = condition(rng, dims) if dims and rng.random() < 0.5 else None
            if tame:
                guard = f"not ({split})" if part else split
                if rng.random() < 0.05:
                    guard = condition(rng, dims)
            reads = []  # (binder range or None, condition or None, tensor, indices)
            for _ in range(rng.randint(0, part if tame else 2)):
                names, binder = list(dims), None
                if rng.random() < 0.25:
                    lo = rng.choice(["0", "1"] + dims)
                    binder = (lo, rng.choice(["2", "3"]))
                    names.append("k")
                if not names:
                    names = ["0"]
                held = condition(rng, names) if rng.random() < 0.5 and names != ["0"] else None
                reads.append((binder, held, rng.choice(tensors),
                              [index(rng, names, EXTENTS["i"], tame), index(rng, names, EXTENTS["t"], tame)]))
            equations.append((tensor, dims, lhs, guard, reads))
    return tensors, equations


def text(tensors, equations):
    lines = [f"dim {d} : {n}" for d, n in EXTENTS.items()]
    for tensor, dims, lhs, guard, reads in equations:
        terms = []
        for binder, held, source, indices in reads:
            term = f"{source}[{', '.join(indices)}]"
            if held:
                term = f"(if {held} then {term} else 0.0)"
            if binder:
                # The body may not mention the binder in the read alone.
                term = f"(sum(k in {binder[0]}:{binder[1]}) 1.0 * k * {term})"
            terms.append(term)
        when = f" when {guard}" if guard else ""
        lines.append(f"{tensor}[{', '.join(lhs)}] : f32 = {' + '.join(terms) or '0.5'}{when}")
    return "\n".join(lines + ["report m = 1.0"]) + "\n"


def points(dims):
    result = [{}]
    for dim in dims:
        result = [{**p, dim: v} for p in result for v in range(EXTENTS[dim])]
    return result


def expected(tensors, equations):
    codes, definers, instances = set(), {}, []
    for equation in equations:
        tensor, dims, lhs, guard, reads = equation
        for point in points(dims):
            if guard and not eval(guard, {}, point):
                continue
            target = (tensor, *(eval(e, {}, point) for e in lhs))
            needs = set()
            for binder, held, source, indices in reads:
                values = range(eval(binder[0], {}, point), int(binder[1])) if binder else [None]
                for k in values:
                    scope = point if k is None else {**point, "k": k}
                    scope = {**scope}
                    if held and not eval(held, {}, scope):
                        continue
                    needs.add((source, *(eval(e, {"min": min, "max": max}, scope) for e in indices)))
            instances.append(needs)
            definers.setdefault(target, []).append(len(instances) - 1)
    if any(len(d) > 1 for d in definers.values()):
        codes.add("E0402")
    edges = []
    for needs in instances:
        if any(n not in definers for n in needs):
            codes.add("E0401")
        edges.append([d for n in needs for d in definers.get(n, [])])
    state = [0] * len(instances)
    for root in range(len(instances)):
        stack = [(root, iter(edges[root]))] if not state[root] else []
        state[root] = max(state[root], 1)
        while stack:
            node, successors = stack[-1]
            for successor in successors:
                if state[successor] == 1:
                    codes.add("E0403")
                elif not state[successor]:
                    state[successor] = 1
                    stack.append((successor, iter(edges[successor])))
                    break
            else:
                state[node] = 2
                stack.pop()
    return codes


tally, bad = {}, 0
for number in range(count):
    rng = random.Random(f"{seed}/{number}")
    parts = program(rng)
    source = text(*parts)
    wanted = expected(*parts)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "p.trl")
        path.write_text(source)
        run = subprocess.run([compiler, path, "--emit=trl", "-o", "/dev/null"], capture_output=True, text=True)
    found = set(re.findall(r"error\[(E\d{4})\]", run.stderr))
    if run.returncode not in (0, 1) or any(not c.startswith("E04") for c in found):
        tally["rejected before"] = tally.get("rejected before", 0) + 1
        if run.returncode not in (0, 1):
            bad += 1
            print(f"--- program {number}: exit code {run.returncode}\n{source}{run.stderr}")
        continue
    key = " ".join(sorted(wanted)) or "valid"
    tally[key] = tally.get(key, 0) + 1
    if found != wanted:
        bad += 1
        print(f"--- program {number}: expected {sorted(wanted)}, found {sorted(found)}\n{source}{run.stderr}")
print(tally)
kinds = {"valid", "E0401", "E0402", "E0403"}
seen = {kind for key in tally for kind in key.split()}
if count >= 100 and not kinds <= seen:
    bad += 1
    print("the programs are not varied enough")
sys.exit(bad != 0)
