"""compare-npz.py A.npz B.npz TOLERANCE: the same arrays, elements equal up to TOLERANCE * max(1, |x|)."""
import ast
import struct
import sys
import zipfile

FORMATS = {"|b1": "?", "<i4": "i", "<i8": "q", "<f4": "f", "<f8": "d"}


def load(path):
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None, "a checksum is wrong"
        for name in archive.namelist():
            data = archive.read(name)
            assert data[:6] == b"\x93NUMPY"
            (length,) = struct.unpack("<H", data[8:10])
            header = ast.literal_eval(data[10 : 10 + length].decode())
            code = FORMATS[header["descr"]]
            values = [v for (v,) in struct.iter_unpack("<" + code, data[10 + length :])]
            arrays[name] = (header["descr"], header["shape"], values)
    return arrays


a, b = load(sys.argv[1]), load(sys.argv[2])
tolerance = float(sys.argv[3])
assert a.keys() == b.keys(), f"{sorted(a)} against {sorted(b)}"
for name in a:
    assert a[name][:2] == b[name][:2], f"{name}: {a[name][:2]} against {b[name][:2]}"
    for x, y in zip(a[name][2], b[name][2]):
        assert abs(x - y) <= tolerance * max(1, abs(y)), f"{name}: {x} against {y}"
