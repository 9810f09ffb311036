"""Runs the lit suite and the unit tests, and counts both.

The last line is `N passed, M failed`; the exit code is 1 when one failed or
none ran.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--lit", required=True, help="the test runner of LLVM")
arguments.add_argument("--suite", required=True, help="the built test folder")
arguments.add_argument("--unit", nargs="*", default=[], help="unit test executables")
options = arguments.parse_args()


def run(name, command, report):
    """Runs one program that writes a JUnit report; gives (passed, failed)."""
    code = subprocess.run(command).returncode
    try:
        tree = xml.parse(report)
    except (OSError, xml.ParseError):
        print(f"{name}: no report, exit code {code}")
        return 0, 1
    passed = failed = 0
    for case in tree.iter("testcase"):
        if case.find("skipped") is not None:
            continue
        bad = case.find("failure") is not None or case.find("error") is not None
        passed, failed = passed + (not bad), failed + bad
        if bad:
            print(f"FAILED {name}: {case.get('classname')}: {case.get('name')}")
    if code != 0 and failed == 0:  # A crash after the last test counts too.
        print(f"{name}: exit code {code}")
        failed = 1
    return passed, failed


total = [0, 0]
with tempfile.TemporaryDirectory() as folder:
    report = pathlib.Path(folder, "report.xml")
    for unit in options.unit:
        name = pathlib.Path(unit).name
        print(f"-- {name}", flush=True)
        # Console output would hide in the report; it is printed for failures.
        counts = run(name, [unit, "-r", "junit", "-o", str(report)], report)
        if counts[1]:
            subprocess.run([unit])
        total = [a + b for a, b in zip(total, counts)]
        report.unlink(missing_ok=True)
    counts = run("lit", [options.lit, "-sv", "--xunit-xml-output", str(report), options.suite], report)
    total = [a + b for a, b in zip(total, counts)]
print(f"{total[0]} passed, {total[1]} failed")
sys.exit(total[1] != 0 or total[0] == 0)
