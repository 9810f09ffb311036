"""Programs that show one feature of the language each, compiled and compared with the reference interpreter.

Usage: run.py TIMERLC SCRATCH [NAME...] [--shard K/N] [--quick | --full]
Each program NAME.trl has a param n, the size; its first line says what it shows. Everything that it saves and reports is
compared with `timerlc --interpret`: integers and booleans exactly, f32 up to 4e-6 and f64 up to 1e-12, relative to
1 + |value|. What it saves under a name that starts with `holds` must be true everywhere: laws that do not rest on the
interpreter. Between executables, with any number of threads and at any -O, every bit must be the same; loops in more or
fewer lanes may round differently, and are compared with the interpreter.

  mode       sizes             -O        lanes      threads
  --quick    one, by the name  2         16         1, 3
  (default)  1, 3, 17          0, 3      16, 1      1, 2, 3, 7
  --full     1, 3, 17          0 to 3    16, 4, 1   1, 2, 3, 7    and with --sanitize points

Lines at the top of a program say what a run needs:
  # Flags: --scale 2.5         args
  # Input: x f64[n, 3] 0:5     a file for the input x, of numbers in that range (-2:2, when none is given)
  # Interpreter: E0915         it has to refuse this program with that error; executables must keep the laws
A failure is one line, with the commands that show it again. The last line counts."""

import argparse
import pathlib
import re
import shlex
import sys
import time
import zlib

import numpy

here = pathlib.Path(__file__).resolve().parent
sys.path.append(str(here.parent / "support"))
from compare import compareSaves, compareTables, readSaves, run

parser = argparse.ArgumentParser()
parser.add_argument("timerlc")
parser.add_argument("scratch", type=pathlib.Path)
parser.add_argument("names", nargs="*")
parser.add_argument("--shard", default="0/1")
mode = parser.add_mutually_exclusive_group()
mode.add_argument("--quick", action="store_true")
mode.add_argument("--full", action="store_true")
options = parser.parse_args()

sizes = [1, 3, 17]
threads = [1, 3] if options.quick else [1, 2, 3, 7]
# How programs are built; all builds of one number of lanes must give the same bits.
if options.quick:
    builds = ["-O2 --lanes 16"]
elif options.full:
    builds = ["-O2 --lanes 16", "-O0 --lanes 16", "-O3 --lanes 16", "-O2 --lanes 4", "-O2 --lanes 1", "-O1 --lanes 1 --sanitize points"]
else:
    builds = ["-O0 --lanes 16", "-O3 --lanes 16", "-O3 --lanes 1"]
dtypes = {"f32": "<f4", "f64": "<f8", "i32": "<i4", "i64": "<i8", "u8": "|u1", "bool": "|b1"}


def toleranceOf(dtype):
    return 1e-12 if dtype.itemsize == 8 else 4e-6


def bitsOf(path):
    """What is saved, byte for byte; the sign and the payload of a NaN are nobody's promise."""
    arrays = readSaves(path)
    for values in arrays.values():
        if values.dtype.kind == "f":
            values[numpy.isnan(values)] = numpy.nan
    return {name: values.tobytes() for name, values in arrays.items()}


class Failure(Exception):
    pass


class Feature:
    def __init__(self, path):
        self.path, self.name, self.text = path, path.stem, path.read_text()
        self.scratch = options.scratch / self.name
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.flags = [word for line in re.findall(r"^# Flags: (.*)", self.text, re.M) for word in shlex.split(line)]
        self.refusal = re.findall(r"^# Interpreter: (E\d+)", self.text, re.M)
        self.runs, self.builds, self.sameInLanes = 0, 0, True

    def checkForm(self):
        if not self.text.startswith("# ") or self.text.startswith(("# Flags:", "# Input:")):
            raise Failure("the first line does not say what the program shows")
        if not re.search(r"^param n *: int", self.text, re.M) or not re.search(r"^save ", self.text, re.M):
            raise Failure("a program has a param n, and saves something")

    def inputs(self, n):
        """The files of the inputs for this size, as flags; the numbers depend on the names alone."""
        flags = []
        for name, dtype, shape, bounds in re.findall(r"^# Input: (\w+) (\w+)(\[.*?\])?(?: (\S+))?$", self.text, re.M):
            lo, hi = (eval(bound, {"n": n}) for bound in (bounds or "-2:2").split(":"))
            numbers = numpy.random.RandomState(zlib.crc32(f"{self.name}.{name}".encode())).uniform(
                lo, hi, eval(shape or "[]", {"n": n}))
            path = self.scratch / f"{name}-{n}.npy"
            values = numpy.floor(numbers) if dtypes[dtype][1] in "iu" else numbers > (lo + hi) / 2 if dtype == "bool" else numbers
            numpy.save(path, values.astype(dtypes[dtype]))
            flags += ["--input", f"{name}={path}"]
        return flags

    def do(self, commands, command):
        commands.append(shlex.join(map(str, command)))
        result = run(*command, timeout=60)
        if result.returncode != 0:
            message = (result.stderr.strip().splitlines() or ["no message"])[0]
            self.fail(f"status {result.returncode}, {message}", commands)
        return result.stdout

    def fail(self, what, commands):
        raise Failure(f"{what}; reproduce: {' && '.join(commands)}")

    def checkLaws(self, n, saves, commands):
        for name, values in readSaves(saves).items():
            if name.startswith("holds") and not values.all():
                self.fail(f"n = {n}: {name} does not hold: {values.tolist()}", commands)

    def checkSize(self, n):
        inputs, sized = self.inputs(n), ["-D", f"n={n}"]
        args = [word for name, value in zip(self.flags[::2], self.flags[1::2]) for word in ("--set", f"{name[2:]}={value}")]
        seed = ["--seed", "1"]
        expected, interpretation = self.scratch / f"expected-{n}.npz", []
        interpret = [options.timerlc, "--interpret", self.path, *sized, *seed, *args, *inputs, "--save", expected]
        if self.refusal:
            if f"error[{self.refusal[0]}]" not in run(*interpret).stderr:
                self.fail(f"n = {n}: the interpreter does not refuse it with {self.refusal[0]}", [shlex.join(map(str, interpret))])
        else:
            table = self.do(interpretation, interpret)
            self.checkLaws(n, expected, interpretation)
        first = {}  # of each number of lanes: the bits that all must have
        for build in builds:
            lanes, compilation = build.split()[2], []
            executable = self.scratch / f"n{n}{build.replace(' ', '')}"
            self.builds += 1
            self.do(compilation, [options.timerlc, self.path, *sized, *build.split(), "-o", executable])
            for number in threads:
                found, commands = self.scratch / f"found-{n}-{number}.npz", list(compilation)
                self.runs += 1
                output = self.do(commands, [executable, *seed, *self.flags, *inputs, "--threads", str(number), "--save", found])
                bits = bitsOf(found), output.replace("-nan", "nan")
                if lanes in first:
                    if bits != first[lanes][:2]:
                        names = [name for name in bits[0] if bits[0][name] != first[lanes][0].get(name)]
                        self.fail(f"n = {n}: {names or 'reports'}: not the bits of `{first[lanes][2]} --threads 1`", commands)
                    continue
                first[lanes] = *bits, build
                if self.refusal:
                    self.checkLaws(n, found, commands)
                    continue
                problem = compareSaves(found, expected, toleranceOf) or compareTables(output, table, 4e-6)
                if problem:
                    self.fail(f"n = {n}: {problem}", commands + interpretation)
        self.sameInLanes &= all(bits[:2] == first["16"][:2] for bits in first.values())

    def check(self):
        self.checkForm()
        for n in [sizes[zlib.crc32(self.name.encode()) % 3]] if options.quick else sizes:
            self.checkSize(n)


programs = sorted(here.glob("*.trl"))
unknown = set(options.names) - {path.stem for path in programs}
if unknown:
    sys.exit(f"there is no {', '.join(sorted(unknown))}")
share, shares = map(int, options.shard.split("/"))
chosen = [path for k, path in enumerate(programs) if k % shares == share and (not options.names or path.stem in options.names)]
start, failures, counts = time.monotonic(), 0, [0, 0, 0]
for path in chosen:
    feature = Feature(path)
    try:
        feature.check()
    except Failure as failure:
        failures += 1
        print(f"FAIL {feature.name}: {failure}", flush=True)
    counts = [counts[0] + feature.builds, counts[1] + feature.runs, counts[2] + (not feature.sameInLanes)]
rounded = "" if options.quick else f"{counts[2]} round differently in lanes, "
print(f"{len(chosen)} programs, {counts[0]} builds, {counts[1]} runs, {rounded}{failures} failed, {time.monotonic() - start:.0f} s")
sys.exit(failures != 0 or not chosen)
