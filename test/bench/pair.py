"""Times two commands in turn, several rounds of both, and prints the median of each and their ratio.

Usage: pair.py [--rounds N] [--cpu K] 'COMMAND A' 'COMMAND B'
Commands are split as by a shell, but no shell runs. `--cpu` binds both to one processor."""

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import time

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--cpu", type=int)
parser.add_argument("commands", nargs=2)
options = parser.parse_args()
if options.cpu is not None:
    os.sched_setaffinity(0, {options.cpu})


def seconds(command):
    start = time.monotonic()
    result = subprocess.run(shlex.split(command), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if result.returncode:
        sys.exit(f"`{command}` failed with {result.returncode}:\n{result.stderr}")
    return time.monotonic() - start


times = [[], []]
for _ in range(options.rounds):
    for command, list_ in zip(options.commands, times):
        list_.append(seconds(command))
for command, list_ in zip(options.commands, times):
    print(f"{statistics.median(list_):8.2f} s  ({min(list_):.2f} to {max(list_):.2f})  {command}")
print(f"ratio {statistics.median(times[1]) / statistics.median(times[0]):.2f}")
