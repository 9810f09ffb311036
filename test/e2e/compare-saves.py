"""Compares two NPZ archives: names, types, shapes, and values up to a tolerance relative to 1 + |value|.

Usage: compare-saves.py FOUND EXPECTED TOLERANCE"""

import array
import ast
import sys
import zipfile

found, expected, tolerance = sys.argv[1:]
codes = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "|b1": "b", "|u1": "B"}


def read(path):
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            begin = 10 + int.from_bytes(data[8:10], "little")
            header = ast.literal_eval(data[10:begin].decode())
            arrays[name] = header["descr"], header["shape"], array.array(codes[header["descr"]], data[begin:])
    return arrays


mine, theirs = read(found), read(expected)
if sorted(mine) != sorted(theirs):
    sys.exit(f"{sorted(mine)} instead of {sorted(theirs)}")
for name, (kind, shape, values) in theirs.items():
    if mine[name][:2] != (kind, shape):
        sys.exit(f"{name}: {mine[name][:2]} instead of {(kind, shape)}")
    for place, (x, y) in enumerate(zip(mine[name][2], values)):
        if abs(x - y) > float(tolerance) * (1 + abs(y)):
            sys.exit(f"{name}, element {place}: {x} instead of {y}")
print("equal")
