"""How much of parsing, name and type checking, and proofs the tests' own programs execute.

Usage: coverage.py BUILD [--least PERCENT]. BUILD is configured with -DTIMERL_COVERAGE=ON. Every program under samples/ and test/,
right or wrong, is printed as a tree and compiled to `trl`; then llvm-cov counts. Fails when fewer lines of a library than PERCENT (80) are executed."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("--least", type=float, default=80)
parser.add_argument("--tools", default="/usr/lib/llvm-22/bin")
options = parser.parse_args()
root = pathlib.Path(__file__).resolve().parents[1]
timerlc = options.build.resolve() / "bin" / "timerlc"
programs = sorted([*root.glob("samples/**/*.trl"), *root.glob("test/**/*.trl")])

with tempfile.TemporaryDirectory() as scratch:
    profile = pathlib.Path(scratch, "profile")
    for number, program in enumerate(programs):
        environment = dict(os.environ, LLVM_PROFILE_FILE=f"{scratch}/{number % 8}-%m.profraw")
        for stage in (["--emit=trl"], ["--emit=ast", "--error-format=json"]):
            subprocess.run([timerlc, program, *stage, "-o", os.devnull], env=environment, capture_output=True, timeout=60)
    raw = list(pathlib.Path(scratch).glob("*.profraw"))
    if not raw:
        sys.exit("no counts were written: is the build configured with -DTIMERL_COVERAGE=ON?")
    subprocess.run([f"{options.tools}/llvm-profdata", "merge", "-o", profile, *raw], check=True)
    text = subprocess.run([f"{options.tools}/llvm-cov", "export", "--summary-only", timerlc, f"--instr-profile={profile}"],
                          check=True, capture_output=True, text=True).stdout

lines = {}
for entry in json.loads(text)["data"][0]["files"]:
    path = pathlib.Path(entry["filename"])
    if not path.is_relative_to(root / "lib"):
        continue
    count = entry["summary"]["lines"]
    name = path.relative_to(root / "lib")
    print(f"{count['covered']:6} of {count['count']:6} lines  {100 * count['covered'] / max(1, count['count']):5.1f} %  {name}")
    covered, total = lines.get(name.parts[0], (0, 0))
    lines[name.parts[0]] = covered + count["covered"], total + count["count"]
few = False
for library, (covered, total) in sorted(lines.items()):
    print(f"{covered:6} of {total:6} lines  {100 * covered / total:5.1f} %  {library}, with {len(programs)} programs")
    few |= 100 * covered < options.least * total
sys.exit(few)
