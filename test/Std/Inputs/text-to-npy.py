"""Writes each array of a text file as an NPY file: text-to-npy.py TEXT FOLDER.
A line is a name, a shape (- for a scalar) and the elements: integers make i4,
others f8."""
import pathlib
import struct
import sys

for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
    name, shape, *elements = line.split()
    shape = () if shape == "-" else tuple(int(length) for length in shape.split(","))
    whole = all(element.lstrip("-").isdigit() for element in elements)
    header = repr({"descr": "<i4" if whole else "<f8", "fortran_order": False, "shape": shape})
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    values = [int(element) if whole else float(element) for element in elements]
    with open(pathlib.Path(sys.argv[2], name + ".npy"), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}{'i' if whole else 'd'}", *values))
