"""Gradients that an executable saves, against central differences of the losses it reports: gradients.py TIMERLC SCRATCH PROGRAM"""

import math
import pathlib
import struct
import subprocess
import sys
import zipfile

timerlc, scratch, program = sys.argv[1:]
scratch = pathlib.Path(scratch)
scratch.mkdir(parents=True, exist_ok=True)
rows, columns, step = 3, 12, 1e-5


def npy(path, descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


executable = scratch / "gradients"
subprocess.run([timerlc, program, "-o", executable], check=True)
npy(scratch / "j.npy", "<i4", f"({columns},)", struct.pack(f"<{columns}i", *(5 * k * k % columns for k in range(columns))))
point = [math.sin(1.7 * k) + 0.1 for k in range(rows * columns)]


def run(values, *options):
    """The losses by name."""
    npy(scratch / "w.npy", "<f8", f"({rows}, {columns})", struct.pack(f"<{len(values)}d", *values))
    text = subprocess.run([executable, "--input", f"w0={scratch / 'w.npy'}", "--input", f"j0={scratch / 'j.npy'}", *options],
                          check=True, capture_output=True, text=True).stdout.split()
    return dict(zip(text[: len(text) // 2], map(float, text[len(text) // 2 :])))


losses = run(point, "--save", scratch / "saved.npz")
differences = {name: [] for name in losses}
for k in range(len(point)):
    values = list(point)
    values[k] = point[k] + step
    above = run(values)
    values[k] = point[k] - step
    below = run(values)
    for name in losses:
        differences[name].append((above[name] - below[name]) / (2 * step))

failed = False
archive = zipfile.ZipFile(scratch / "saved.npz")
for name, expected in differences.items():
    data = archive.read(f"g{name}.npy")
    found = struct.unpack(f"<{len(point)}d", data[-8 * len(point) :])
    assert any(abs(value) > 1e-3 for value in found), name
    worst = max(abs(x - y) / (1 + abs(y)) for x, y in zip(found, expected))
    print(f"{name:12} {worst:.1e}")
    failed |= worst > 1e-7
sys.exit(failed)
