"""Writes columns of a CSV file with a header as an NPY file:
csv-to-npy.py TABLE.csv OUT.npy TYPE COLUMN... One column gives a vector,
several the rows of a matrix. TYPE is f4, f8, i4 or b1."""
import csv
import struct
import sys

table, out, dtype, *columns = sys.argv[1:]
kind, code = {"f4": (float, "f"), "f8": (float, "d"), "i4": (int, "i"),
              "b1": (lambda text: text in ("1", "True", "true"), "?")}[dtype]
with open(table, newline="") as file:
    rows = [[kind(row[column]) for column in columns] for row in csv.DictReader(file)]
shape = (len(rows),) if len(columns) == 1 else (len(rows), len(columns))
header = repr({"descr": ("|" if dtype == "b1" else "<") + dtype, "fortran_order": False, "shape": shape})
header += " " * (63 - (10 + len(header)) % 64) + "\n"
with open(out, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    for row in rows:
        file.write(struct.pack(f"<{len(row)}{code}", *row))
