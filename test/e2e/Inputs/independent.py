"""What the independent evaluations share: records, and networks differentiated by hand, in double precision."""

import array
import math
import struct
import subprocess
import sys
import zipfile


class Recorded:
    """A record of a run: one tensor's value at one point."""

    def __init__(self, path):
        self.arrays = {}
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                self.arrays[name.removesuffix(".npy")] = parse(archive.read(name))

    def at(self, name, *point):
        """A float, int or bool, or nested lists."""
        shape, values = self.arrays[name]
        low = self.arrays[name + "@lo"][1] if name + "@lo" in self.arrays else [0] * len(point)
        offset, size = 0, len(values)
        for coordinate, lo, length in zip(point, low, shape):
            offset = offset * length + int(coordinate - lo)
            size //= length
        return nest(values[offset * size:(offset + 1) * size], shape[len(point):])


def parse(data):
    length = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:10 + length].decode("latin1"))
    codes = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "|b1": "b", "|u1": "B"}
    values = array.array(codes[header["descr"]])
    values.frombytes(data[10 + length:])
    return header["shape"], values.tolist()


def nest(values, shape):
    if not shape:
        return values[0]
    size = len(values) // shape[0]
    return [nest(values[k * size:(k + 1) * size], shape[1:]) for k in range(shape[0])]


def record(timerlc, path, *arguments):
    subprocess.run([timerlc, "--interpret", *arguments, "--record", path], check=True, stdout=subprocess.DEVNULL)
    return Recorded(path)


def forward(net, x):
    """The activations of each layer of a tanh network, the output last."""
    activations = [x]
    for number, (w, b) in enumerate(net):
        z = [sum(p * q for p, q in zip(row, activations[-1])) + c for row, c in zip(w, b)]
        activations.append(z if number == len(net) - 1 else [math.tanh(v) for v in z])
    return activations


def zeros(net):
    return [([[0.0] * len(row) for row in w], [0.0] * len(b)) for w, b in net]


def backward(net, activations, cotangent, gradient):
    """Adds the gradient of the weights, given that of the output."""
    for number in reversed(range(len(net))):
        if number < len(net) - 1:
            cotangent = [c * (1 - a * a) for c, a in zip(cotangent, activations[number + 1])]
        w, _ = net[number]
        for row, c in enumerate(cotangent):
            gradient[number][1][row] += c
            for column, a in enumerate(activations[number]):
                gradient[number][0][row][column] += c * a
        cotangent = [sum(w[row][k] * c for row, c in enumerate(cotangent)) for k in range(len(w[0]))]


def log_softmax(z):
    top = max(z)
    total = math.log(sum(math.exp(v - top) for v in z))
    return [v - top - total for v in z]


def network(run, name, layers, *point):
    return [(run.at(f"{name}.{k}.w", *point), run.at(f"{name}.{k}.b", *point)) for k in range(layers)]


def flat(net):
    return [v for w, b in net for v in [x for row in w for x in row] + b]


def require(what, found, expected, tolerance):
    """Compares lists of numbers, relative to the greatest of the expected ones."""
    scale = max([abs(v) for v in expected] + [1e-12])
    worst = max(abs(x - y) for x, y in zip(found, expected, strict=True))
    if not worst <= tolerance * scale:
        sys.exit(f"{what}: off by {worst / scale:.3g} of {scale:.3g}, allowed {tolerance}")
    print(f"{what}: {worst / scale:.2g}")


def cartpole(state, action):
    """Gymnasium 1.4.0's step."""
    x, v, theta, omega = state
    force = 10.0 if action == 1 else -10.0
    temp = (force + 0.05 * omega ** 2 * math.sin(theta)) / 1.1
    alpha = (9.8 * math.sin(theta) - math.cos(theta) * temp) / (0.5 * (4.0 / 3.0 - 0.1 * math.cos(theta) ** 2 / 1.1))
    accel = temp - 0.05 * alpha * math.cos(theta) / 1.1
    state = [x + 0.02 * v, v + 0.02 * accel, theta + 0.02 * omega, omega + 0.02 * alpha]
    return state, abs(state[0]) > 2.4 or abs(state[2]) > 12 * 2 * math.pi / 360
