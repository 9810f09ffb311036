"""Damages sample programs token by token and compiles them.

Every run must end in time with exit code 0 or 1; what does not is kept as
OUT/crash-N.trl. Runs timerlc as a whole, so that what lies behind the parser is
tried on programs that are nearly right.
"""
import argparse
import collections
import os
import pathlib
import random
import re
import subprocess
import time

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("timerlc")
arguments.add_argument("programs", nargs="+", type=pathlib.Path)
arguments.add_argument("--options", default="--emit=schedule-json", help="(written --options=...) for timerlc, separated by spaces")
arguments.add_argument("--out", type=pathlib.Path, default=pathlib.Path("mutated"))
arguments.add_argument("--seconds", type=float, default=300)
arguments.add_argument("--timeout", type=float, default=20, help="of one run")
arguments.add_argument("--seed", type=int, default=1)
options = arguments.parse_args()

random.seed(options.seed)
options.out.mkdir(exist_ok=True)
token = re.compile(r"#[^\n]*|\d[\w.]*|\w+'*|==|!=|<=|>=|//|->|\n|[^\w\s]|[ \t]+")
pool = []
for program in options.programs:
    pool.append(token.findall(program.read_text()))
words = [w for tokens in pool for w in tokens if w.strip() and not w.startswith("#")]
words += ["-1", "0", "9223372036854775807", "1e308", "true", "[]", "{}", "()", "t", "grad", "zeros", "len", "x[0]"]


def kind_of(word):
    return "name" if re.match(r"[A-Za-z_]", word) else "number" if word[0].isdigit() else "sign"


def damage(tokens):
    tokens = list(tokens)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        places = [i for i, w in enumerate(tokens) if w.strip() and not w.startswith("#")]
        if not places:
            break
        i = random.choice(places)
        kind = random.randrange(12)
        if kind == 0:
            del tokens[i]
        elif kind == 1:
            tokens.insert(i, tokens[i])
        elif kind in (2, 3):
            tokens[i] = random.choice(words)
        elif kind == 4:
            tokens.insert(i, random.choice(words))
        elif kind == 5:
            j = random.choice(places)
            tokens[i], tokens[j] = tokens[j], tokens[i]
        else:  # A word of its own kind from the same program: often still a program.
            alike = [tokens[j] for j in places if kind_of(tokens[j]) == kind_of(tokens[i])]
            tokens[i] = random.choice(alike)
    return "".join(tokens)


codes, kept, end = collections.Counter(), 0, time.monotonic() + options.seconds
while time.monotonic() < end:
    text = damage(random.choice(pool))
    path = options.out / "current.trl"
    path.write_text(text)
    try:
        run = subprocess.run([options.timerlc, *options.options.split(), "-o", "/dev/null", path],
                             capture_output=True, text=True, timeout=options.timeout,
                             env=os.environ | {"TMPDIR": str(options.out.resolve())})
        code = run.returncode
    except subprocess.TimeoutExpired:
        run, code = None, "timeout"
    codes[code] += 1
    if code not in (0, 1):
        kept += 1
        (options.out / f"crash-{kept}.trl").write_text(text)
        print(f"crash-{kept}.trl: {code}", flush=True)
        if run:
            print("\n".join(run.stderr.splitlines()[:12]), flush=True)
path.unlink()
print(dict(codes))
raise SystemExit(kept != 0)
