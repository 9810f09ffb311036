"""The worst residuals that a check of a record lists: residuals.py TOLERANCE FILE TENSOR..., which have to be among them."""

import sys

tolerance, path, *needed = sys.argv[1:]
found = {}
for line in open(path):
    cells = line.split()
    if len(cells) >= 3 and cells[0] != "tensor":
        try:
            found[cells[0]] = float(cells[2])
        except ValueError:
            sys.exit(f"not a residual: {line}")
missing = [name for name in needed if name not in found]
bad = {name: value for name, value in found.items() if not value <= float(tolerance)}
if missing or bad:
    sys.exit(f"missing {missing}, too far {bad}")
