"""Writes the files that inputs.trl reads: make-inputs.py FOLDER"""

import pathlib
import struct
import sys
import zipfile

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


(folder / "cost.npy").write_bytes(npy("<i4", (2, 3), struct.pack("<6i", 1, 2, 3, 11, 12, 13)))
(folder / "wide.npy").write_bytes(npy("<i8", (2, 3), struct.pack("<6q", 1, 2, 3, 11, 12, 13)))
with zipfile.ZipFile(folder / "all.npz", "w") as archive:
    archive.writestr("other.npy", npy("<f4", (1,), struct.pack("<f", 0)))
    archive.writestr("start.npy", npy("<f4", (3,), struct.pack("<3f", 4, 5, 6)))
(folder / "image.npy").write_bytes(npy("|u1", (20, 4), bytes((37 * k * k + 11 * k) % 256 for k in range(80))))
(folder / "five.npy").write_bytes(npy("<f4", (5,), struct.pack("<5f", 1, 2, 3, 4, 5)))
