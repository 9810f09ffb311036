"""Compares what timerlc says of each program in a folder with the text beside it.

Usage: check-diagnostics.py TIMERLC FOLDER [--update]
For NAME.trl the exact messages, carets included, are in NAME.expected."""

import difflib
import pathlib
import subprocess
import sys

timerlc, folder = sys.argv[1], pathlib.Path(sys.argv[2])
failed = False
programs = sorted(folder.glob("*.trl"))
assert programs, "no programs"
for program in programs:
    run = subprocess.run([timerlc, "--emit=trl", program.name], cwd=folder, capture_output=True, text=True, timeout=60)
    expected = program.with_suffix(".expected")
    if "--update" in sys.argv:
        expected.write_text(run.stderr)
    wanted = expected.read_text()
    if run.stderr != wanted or run.returncode != 1:
        failed = True
        print(f"{program.name}: exit code {run.returncode}")
        sys.stdout.writelines(difflib.unified_diff(wanted.splitlines(True), run.stderr.splitlines(True), "expected", "found"))
sys.exit(failed)
