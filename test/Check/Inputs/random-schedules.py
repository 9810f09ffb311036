"""Compares the checker of schedules with execution on random small schedules.

Usage: random-schedules.py TIMERL-OPT COUNT [SEED]. A schedule is executed with
memory that remembers which point each slot holds; the checker has to accept it
exactly when every read finds its point."""
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

tool, count = sys.argv[1], int(sys.argv[2])
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0


def expr(rng, names, wild):
    if not names or rng.random() < 0.1:
        return str(rng.randint(0, 2))
    name = rng.choice(names)
    shift = rng.choice([0, 0, 1, -1] if wild else [0, 0, 0, 1])
    return name if not shift else f"{name} + {shift}" if shift > 0 else f"{name} - {-shift}"


class Generator:
    def __init__(self, rng):
        self.rng, self.stmts, self.loops, self.writes = rng, 0, 0, []
        self.tensors = {t: rng.choice([0, 1, 1, 2]) for t in ["x", "y", "z"][:rng.randint(1, 3)]}

    def block(self, names, depth):
        body = []
        for _ in range(self.rng.randint(1, 3)):
            kind = self.rng.random()
            if kind < 0.5 and depth < 2:
                name = f"l{self.loops}"
                self.loops += 1
                lo, hi = self.rng.choice([("0", "3"), ("0", "4"), ("1", "4")] + [(n, "4") for n in names])
                reverse = self.rng.random() < 0.25
                body.append(("for", name, lo, hi, reverse, self.block(names + [name], depth + 1)))
            elif kind < 0.6 and names and depth < 3:
                name = self.rng.choice(names)
                guard = self.rng.choice([f"{name} >= 1", f"{name} == 0", f"{name} % 2 == 0"])
                body.append(("if", guard, self.block(names, depth + 1)))
            else:
                target = self.rng.choice(sorted(self.tensors))
                reads = []
                for _ in range(self.rng.randint(0, 2)):
                    source = self.rng.choice(sorted(self.tensors))
                    at = [expr(self.rng, names, True) for _ in range(self.tensors[source])]
                    # Often what an earlier statement wrote, now or some iterations ago.
                    near = [w for w in self.writes if set(w[2]) <= set(names)]
                    if near and self.rng.random() < 0.85:
                        source, at, _ = self.rng.choice(near)
                        back = self.rng.choice([0, 0, 0, 1, 2])
                        at = [f"{e} - {back}" if back and re.search("l[0-9]", e) else e for e in at]
                    reads.append((source, at))
                indices = [expr(self.rng, names, False) for _ in range(self.tensors[target])]
                self.writes.append((target, indices, re.findall("l[0-9]+", " ".join(indices))))
                body.append(("stmt", f"s{self.stmts}", list(names), target, indices, reads))
                self.stmts += 1
        return body

    def program(self):
        body = self.block([], 0)
        buffers, offset = {}, 0
        for tensor, rank in sorted(self.tensors.items()):
            window = [self.rng.choice([1, 2, 3, 6, 6]) for _ in range(rank)]
            size = 4
            for w in window:
                size *= w
            place = offset
            # Single slots may share their bytes.
            single = [b for b in buffers.values() if b[2] == 4]
            if size == 4 and single and self.rng.random() < 0.5:
                place = single[0][1]
            buffers[tensor] = (window, place, size)
            offset += 256
        return body, buffers, offset


def emit(body, indent, lines):
    pad = "  " * indent
    for op in body:
        if op[0] == "for":
            lines.append(f'{pad}sched.for {op[1]} = "{op[2]} : {op[3]}" {"reverse " if op[4] else ""}{{')
            emit(op[5], indent + 1, lines)
            lines.append(pad + "}")
        elif op[0] == "if":
            lines.append(f'{pad}sched.if "{op[1]}" {{')
            emit(op[2], indent + 1, lines)
            lines.append(pad + "}")
        else:
            _, name, names, target, indices, reads = op
            quote = lambda es: "[" + ", ".join(f'"{e}"' for e in es) + "]"
            dims = ", ".join(f'{n} = "{n}"' for n in names)
            lines.append(f'{pad}sched.stmt "{name}" ({dims}) defines @{target}{quote(indices)} {{')
            for k, (source, at) in enumerate(reads):
                lines.append(f"{pad}  %{k} = trl.read @{source}{quote(at)} : tensor<f32>")
            lines.append(f"{pad}  %v = trl.constant dense<1.0> : tensor<f32>")
            lines.append(f"{pad}  trl.yield %v : tensor<f32>")
            lines.append(pad + "}")


def run(body, buffers):
    """None if a point is written twice, else what happens first to a read."""
    memory, written, holds = {}, set(), "right"

    def slot(tensor, point):
        window, place, _ = buffers[tensor]
        return (place, *(p % w for p, w in zip(point, window))) if any(w > 1 for w in window) else (place,)

    def execute(body, scope):
        nonlocal holds
        for op in body:
            if op[0] == "for":
                values = range(eval(op[2], {}, scope), int(op[3]))
                for value in reversed(values) if op[4] else values:
                    if not execute(op[5], {**scope, op[1]: value}):
                        return False
            elif op[0] == "if":
                if eval(op[1], {}, scope) and not execute(op[2], scope):
                    return False
            else:
                _, _, _, target, indices, reads = op
                for source, at in reads:
                    point = tuple(eval(e, {}, scope) for e in at)
                    if holds == "right" and memory.get(slot(source, point)) != (source, point):
                        holds = "overwritten" if (source, point) in written else "not written"
                point = tuple(eval(e, {}, scope) for e in indices)
                if (target, point) in written:
                    return False
                written.add((target, point))
                memory[slot(target, point)] = (target, point)
        return True

    return holds if execute(body, {}) else None


def show(body):
    lines = []
    emit(body, 1, lines)
    return lines


tally, bad, number = {"right": 0, "not written": 0, "overwritten": 0}, 0, 0
while sum(tally.values()) < count:
    number += 1
    rng = random.Random(f"{seed}/{number}")
    generator = Generator(rng)
    body, buffers, size = generator.program()
    wanted = run(body, buffers)
    if wanted is None:
        continue
    if tally[wanted] >= count // 3 + 1 or not any("read" in line for line in show(body)):
        continue
    lines = []
    for tensor, rank in sorted(generator.tensors.items()):
        positions = ", ".join(f'"p{k}"' for k in range(rank))
        lines.append(f"trl.tensor @{tensor} [{positions}] : tensor<f32>")
    lines.append(f"sched.program @main arena {size} {{")
    for tensor, (window, place, bytes) in buffers.items():
        zeros = ", ".join("0" for _ in window)
        lines.append(f"  sched.buffer @{tensor} window [{', '.join(map(str, window))}] origin [{zeros}] "
                     f"at {place} bytes {bytes} live [0, 99]")
    emit(body, 1, lines)
    lines.append("}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "p.mlir")
        path.write_text("\n".join(lines))
        result = subprocess.run([tool, "--sched-check", path, "-o", "/dev/null"], capture_output=True, text=True)
    errors = [line for line in result.stderr.splitlines() if "error: " in line]
    if any("E0002" not in line for line in errors) or (result.returncode != 0) != bool(errors):
        bad += 1
        print(f"--- {number}: not accepted as input\n" + "\n".join(lines) + "\n" + result.stderr)
        tally["right"] += 1
        continue
    tally[wanted] += 1
    if (wanted == "right") != (not errors):
        bad += 1
        print(f"--- {number}: execution says: {wanted}\n" + "\n".join(lines) + "\n" + result.stderr)
print(tally)
if count >= 30 and not all(tally.values()):
    bad += 1
    print("the schedules are not varied enough")
sys.exit(bad != 0)
