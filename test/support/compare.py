"""What the runners share: commands with a time limit, and comparisons of numbers, tables and NPZ archives.

A tolerance is relative to 1 + |expected|. NaN equals NaN; an infinity only itself. Integers and booleans are equal or not."""

import math
import subprocess
import zipfile

import numpy


def run(*command, timeout=120):
    """The finished process; one that takes too long ends with -1."""
    try:
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -1, "", f"timed out after {timeout} s")


def near(x, y, tolerance):
    """Of two floats."""
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or math.isinf(y):
        return x == y or math.isnan(x) and math.isnan(y)
    return abs(x - y) <= tolerance * (1 + abs(y))


def nearText(a, b, tolerance, exact):
    """Of two words of a table. With `exact`, what has no point or exponent is taken for an integer: it must be the same."""
    if a == b:
        return True
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return near(x, y, 0 if exact and not any(mark in a + b for mark in ".en") else tolerance)


def compareTables(found, expected, tolerance, exact=False):
    """None, or what differs in two runs' reports."""
    lines, wanted = found.splitlines(), expected.splitlines()
    if len(lines) != len(wanted):
        return f"{len(lines)} lines instead of {len(wanted)}"
    for number, (line, want) in enumerate(zip(lines, wanted)):
        cells, wantedCells = line.split(), want.split()
        if len(cells) != len(wantedCells) or not all(nearText(a, b, tolerance, exact) for a, b in zip(cells, wantedCells)):
            return f"line {number + 1}:\n  executable  {line}\n  interpreter {want}"
    return None


def readSaves(path):
    """The arrays of an NPZ archive by name."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as file:
                arrays[name.removesuffix(".npy")] = numpy.lib.format.read_array(file)
    return arrays


def compareSaves(found, expected, tolerances):
    """None, or what differs in two archives: names, types, shapes, values. `tolerances` is one number, or a function of the
    dtype."""
    mine, theirs = readSaves(found), readSaves(expected)
    if sorted(mine) != sorted(theirs):
        return f"{sorted(mine)} instead of {sorted(theirs)}"
    for name, wanted in theirs.items():
        values = mine[name]
        if (values.dtype, values.shape) != (wanted.dtype, wanted.shape):
            return f"{name}: {values.dtype}{list(values.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
        isFloat = wanted.dtype.kind == "f"
        tolerance = (tolerances(wanted.dtype) if callable(tolerances) else tolerances) if isFloat else 0
        for place in numpy.ndindex(wanted.shape):
            x, y = values[place], wanted[place]
            if not (near(float(x), float(y), tolerance) if isFloat else x == y):
                return f"{name}{list(place)}: {x} instead of {y}"
    return None
