"""Random well-formed programs, reproducible from a seed: `generate.py SEED` prints one.

Each has two or three dims, tensors of scalars, vectors and records over some of them, recurrences forward and backward in time,
guards, shifts, windows, ranges, gathers, reductions, choices, local recurrences, random draws, and gradients through all of it.
With `stops` (`generate.py SEED stops`), dim t stops early, for some of the other dims by themselves.
Values stay near 1 (every equation ends in a bounded function), so that rounding is not blown up."""

import random
import sys


class Program:
    def __init__(self, seed, stops=False):
        self.rng = random.Random(seed)
        self.outer = None  # of dim t, when it stops early: what its length depends on
        self.ended = False  # its length may be asked for: what decides on it is defined
        self.extents = {"b": self.rng.choice([1, 2, 3, 4, 5, 8, 17, 20]), "t": self.rng.randint(2, 7), "i": self.rng.randint(1, 3)}
        self.lines = [f"dim {name} : {extent}" for name, extent in self.extents.items()]
        self.tensors = []  # name, dims, kind: f (float scalar), v (float[3]), n (int in 0:5), r (record {p: f, q: v})
        self.functions = []
        if stops:
            self.outer = self.pick((), ("i",), ("b",), ("i", "b"), ("i", "b"))
            self.extents["t"] = self.rng.randint(2, 12)
            self.lines = [f"dim {name} : {extent}" for name, extent in self.extents.items() if name != "t"]

    def pick(self, *options):
        return self.rng.choice(options)

    def dims(self):
        options = [("b", "t"), ("b", "t"), ("t",), ("i", "t"), ("i", "b", "t"), ("b",)]
        if self.outer is not None:
            options = [dims for dims in options if "t" not in dims or set(self.outer) <= set(dims)]
        return self.pick(*options)

    #===--- Reads ----------------------------------------------------------===#

    def index(self, dim, scope):
        """An index in range for a position of this dim."""
        extent = self.extents[dim]
        options = [str(self.rng.randrange(extent)), f"randint(0, {extent})"]
        if dim in scope:
            # Twice as likely: the same point.
            options += [dim, dim, dim, f"{dim} // 2", f"(3*{dim} + 1) % {extent}", f"min({dim} + 1, {extent - 1})",
                        f"max({dim} - 1, 0)", f"{extent - 1} - {dim}"]
        for other in scope:
            length = self.extents.get(other, 99)
            if other != dim and (self.extents["t"] if length == "t" else length) <= extent:
                options.append(other)
        return self.pick(*options)

    def read(self, scope, kind):
        candidates = [t for t in self.tensors if t[2] == kind]
        if not candidates:
            return None
        name, dims, _ = self.pick(*candidates)
        if self.outer is not None and "t" in dims:
            return self.readStopping(name, dims, scope)
        return f"{name}[{', '.join(self.index(dim, scope) for dim in dims)}]"

    def readStopping(self, name, dims, scope):
        """Of a tensor over a dim that stops: where the point is known to be there."""
        last = self.rng.random() < 0.2 or not set(self.outer) <= set(scope)
        options = ["0"]
        if not last:
            options += ["t", "t", "t", "max(t - 1, 0)", "t // 2"] if "t" in scope else []
            if self.ended:
                options += ["end(t) - 1", "(end(t) - 1) // 2"]
                options += ["min(t + 1, end(t) - 1)", "end(t) - 1 - t"] if "t" in scope else []
                options += ["k", "k"] if "k" in scope and self.extents.get("k") == "t" else []
        time = self.pick(*options)
        at = lambda dim: dim if time != "0" and dim in self.outer else self.index(dim, scope)
        return f"{name}[{', '.join(time if dim == 't' else at(dim) for dim in dims)}]"

    #===--- Expressions ----------------------------------------------------===#

    def condition(self, scope, depth):
        options = [f"{self.number(scope, depth - 1)} < {self.number(scope, depth - 1)}"]
        if scope:
            dim = self.pick(*scope)
            options += [f"{dim} % 2 == 0", f"{dim} > 1", f"{dim} > 0 and {dim} != 2"]
        return self.pick(*options)

    def number(self, scope, depth):
        if depth <= 0:
            leaf = self.read(scope, "f") or f"{self.rng.uniform(-1, 1):.3f}"
            return self.pick(leaf, leaf, leaf, f"{self.rng.uniform(-1, 1):.3f}", "uniform()", "0.3 * normal()")
        sub = lambda: self.number(scope, depth - 1)
        options = [f"({sub()} + {sub()})", f"({sub()} - {sub()})", f"({sub()} * {sub()})", f"tanh({sub()})", f"sin({sub()})",
                   f"exp(-abs({sub()}))", f"max({sub()}, {sub()})", f"min({sub()}, {sub()})", f"clip({sub()}, -0.5, 0.5)",
                   f"sqrt(0.1 + ({sub()})^2)", f"({sub()} / (1.5 + ({sub()})^2))",
                   f"(if {self.condition(scope, depth)} then {sub()} else {sub()})",
                   f"sum({self.vector(scope, depth - 1)}) / 3", f"max({self.vector(scope, depth - 1)})",
                   f"({self.vector(scope, depth - 1)} @ {self.vector(scope, depth - 1)}) / 3",
                   f"({self.vector(scope, depth - 1)})[{self.rng.randrange(3)}]", f"0.2 * f32({self.integer(scope, depth - 1)})",
                   f"stop_gradient({sub()})"]
        record = self.read(scope, "r")
        if record:
            options += [f"{record}.p"] * 2
        options += self.reductions(scope, depth)
        return self.pick(*options)

    def reductions(self, scope, depth):
        options = []
        for dim, extent in self.extents.items():
            if "k" in scope or f"{dim}'" in scope:
                continue
            if dim == "t" and self.outer is not None:
                continue
            body = self.number(scope + ("k",), depth - 1)
            self.extents["k"] = extent
            body = self.number(scope + ("k",), depth - 1) + " * (1 + k) / 8"
            options.append(f"(mean(k in 0:{extent}) ({body}))")
            options.append(f"(max(k in 0:{extent}) ({body}))")
            if dim in scope:
                options.append(f"(sum(k in {dim}:{extent}) 0.7^(k - {dim}) * ({body}) / {extent})")
                options.append(f"(sum(k in 0:{dim}+1) 0.7^({dim} - k) * ({body}) / {extent})")
                options.append(f"(sum(k in max({dim} - 2, 0):{dim}+1) ({body}) / 3)")
                options.append(f"(mean(k in 0:{extent} when k % 2 == {dim} % 2) ({body}))")
            del self.extents["k"]
            break
        if self.outer is not None and set(self.outer) <= set(scope) and "k" not in scope:
            self.extents["k"] = "t"
            body = self.number(scope + ("k",), depth - 1) + " * (1 + k) / 8"
            if self.ended:
                options += [f"(mean(k in 0:end(t)) ({body}))", f"(max(k in 0:end(t)) ({body}))",
                            f"(sum(k in 0:end(t)) ({body}) / end(t))"]
                if "t" in scope:
                    options += [f"(sum(k in t:end(t)) 0.7^(k - t) * ({body}) / {self.extents['t']})",
                                f"(mean(k in 0:end(t) when k % 2 == t % 2) ({body}))"]
            body = self.number(scope + ("k",), depth - 1) + " * (1 + k) / 8"
            if "t" in scope:
                options += [f"(sum(k in 0:t+1) 0.7^(t - k) * ({body}) / {self.extents['t']})",
                            f"(sum(k in max(t - 2, 0):t+1) ({body}) / 3)"]
            del self.extents["k"]
        return options

    def vector(self, scope, depth):
        leaf = self.read(scope, "v")
        if depth <= 0 or self.rng.random() < 0.3:
            options = [f"[{self.number(scope, 0)}, {self.number(scope, 0)}, {self.number(scope, 0)}]", "uniform(-1, 1, [3])"]
            return self.pick(*(options + [leaf] * 4 if leaf else options))
        sub = lambda: self.vector(scope, depth - 1)
        options = [f"({sub()} + {sub()})", f"({sub()} * {self.number(scope, depth - 1)})", f"tanh({sub()})",
                   f"(if {self.condition(scope, depth)} then {sub()} else {sub()})",
                   f"(if {sub()} < 0.1 then {sub()} else {sub()})", f"sort({sub()})", f"(cumsum({sub()}) / 3)",
                   f"take({sub()}, [2, 0, 1])", f"concat(({sub()})[1:3], ({sub()})[0:1])",
                   f"reshape([{sub()}, {sub()}], [6])[1:4]", f"transpose([{sub()}, {sub()}, {sub()}])[{self.rng.randrange(3)}]"]
        record = self.read(scope, "r")
        if record:
            options += [f"{record}.q"] * 2
        return self.pick(*options)

    def integer(self, scope, depth):
        leaf = self.read(scope, "n")
        if depth <= 0:
            return self.pick(*([leaf] * 3 if leaf else []), str(self.rng.randrange(5)), "randint(0, 5)")
        sub = lambda: self.integer(scope, depth - 1)
        return self.pick(f"(({sub()} + {sub()}) % 5)", f"max({sub()}, {sub()})", f"({sub()} * 3 // 4)",
                         f"argmax({self.vector(scope, depth - 1)})",
                         f"(if {self.condition(scope, depth)} then {sub()} else {sub()})")

    def value(self, kind, scope, depth=3):
        if kind == "f":
            return f"tanh({self.number(scope, depth)})"
        if kind == "v":
            return f"tanh({self.vector(scope, depth - 1)})"
        if kind == "n":
            return f"clip({self.integer(scope, depth)}, 0, 4)"
        return f"{{ p: {self.value('f', scope, depth - 1)}, q: {self.value('v', scope, depth - 1)} }}"

    #===--- Equations ------------------------------------------------------===#

    def define(self):
        name, dims = f"x{len(self.tensors)}", self.dims()
        kind = self.pick("f", "f", "f", "v", "n", "r")
        at = lambda time: f"{name}[{', '.join(time if dim == 't' else dim for dim in dims)}]"
        own = at("t")
        style = self.pick("plain", "plain", "forward", "backward", "guards", "local") if "t" in dims else "plain"
        rest = tuple(dim for dim in dims if dim != "t")
        extent = self.extents["t"]
        if self.outer is not None and style == "backward":
            style = "backward" if self.ended else "forward"
            extent = "t in end(t):end(t)+1"
        if kind in "nr" and style in ("forward", "backward"):
            style = "guards"
        if kind != "f" and style == "local":
            style = "plain"
        if style == "plain":
            self.lines.append(f"{own} = {self.value(kind, dims)}")
        elif style == "guards":
            guard = self.pick("t % 2 == 0", "t > 0", "t == 0 or t > 2")
            self.lines.append(f"{own} = {self.value(kind, dims)} when {guard}")
            self.lines.append(f"{own} = {self.value(kind, dims)} otherwise")
        elif style == "forward":
            self.lines.append(f"{at('0')} = {self.value(kind, rest)}")
            self.lines.append(f"{at('t+1')} = tanh(0.6 * {own} + {self.value(kind, dims, 2)})")
        elif style == "backward":
            self.lines.append(f"{at(str(extent))} = {self.value(kind, rest)}")
            self.lines.append(f"{own} = tanh(0.6 * {at('t+1')} + {self.value(kind, dims, 2)})")
        else:
            function = f"f{len(self.functions)}"
            self.functions.append(f"fn {function}(a, c) = {{ dim s : 4; y[0] = a; y[s+1] = tanh(0.5 * y[s] + c * (1 + s) / 5); y[4] }}")
            self.lines.append(f"{own} = {function}({self.number(dims, 2)}, {self.number(dims, 1)})")
        self.tensors.append((name, dims, kind))

    def gradient(self):
        """A weight read everywhere, a loss, and its gradient."""
        kind = self.pick("f", "v")
        weight = self.value(kind, ("i",), 1)
        self.lines.append(f"w[i] = {weight}")
        use = "w[i]" if kind == "f" else "sum(w[i] * " + self.vector(("i", "b", "t"), 1) + ")"
        self.tensors.append(("w", ("i",), kind))
        style = self.pick("plain", "forward", "through")
        before = len(self.tensors)
        if style == "plain":
            self.lines.append(f"h[i, b, t] = tanh({use} + {self.number(('i', 'b', 't'), 2)})")
        else:
            self.lines.append(f"h[i, b, 0] = tanh({'w[i]' if kind == 'f' else 'sum(w[i])'})")
            self.lines.append(f"h[i, b, t+1] = tanh(0.6 * h[i, b, t] + {use} * {self.number(('i', 'b', 't'), 1)})")
        self.tensors.append(("h", ("i", "b", "t"), "f"))
        if style == "through":
            self.lines.append(f"o[i, b, t] = tanh({self.number(('i', 'b', 't'), 3)})")
            self.tensors.append(("o", ("i", "b", "t"), "f"))
        read = self.tensors[-1][0]
        self.lines.append(f"loss[i] = mean(b, t) ({read}[i, b, t] * {self.number(('i', 'b', 't'), 2)} + {read}[i, b, t]^2)")
        self.lines.append("g[i] = grad(loss, w)")
        self.lines.append("report loss[i] = loss")
        self.lines.append("report g[i] = " + ("g" if kind == "f" else "sum(g * [1.0, 2.0, 3.0])"))

    def stop(self):
        """The condition that decides on the length of t, sometimes held back so that most runs take a few steps."""
        dims = tuple(dim for dim in ("i", "b") if dim in self.outer) + ("t",)
        place = ", ".join(dims)
        self.lines.append(f"level[{place}] = {self.value('f', dims, 2)}")
        bound = self.pick("0.0", "0.5 - t / 8", "0.4", "2.0", "-2.0", "0.0")
        self.lines.append(f"dim t : {self.extents['t']} until level[{place}] > {bound}")
        self.tensors.append(("level", dims, "f"))
        self.lines.append(f"count[{', '.join(dims[:-1])}] = end(t)" if dims[:-1] else "count = end(t)")
        self.lines.append(f"report r_count[{', '.join(dims[:-1])}] = count" if dims[:-1] else "report r_count = count")
        self.ended = True

    def build(self):
        if self.outer is not None:
            for _ in range(self.rng.randint(1, 3)):
                self.define()
            self.stop()
        for _ in range(self.rng.randint(2, 6)):
            self.define()
        reported = list(self.tensors)
        if self.rng.random() < 0.5:
            self.gradient()
        for name, dims, kind in reported:
            value = {"f": name, "v": f"sum({name} * [1.0, 2.0, 4.0])", "n": name, "r": f"{name}.p + 2 * sum({name}.q)"}[kind]
            indices = "[" + ", ".join(dims) + "]"
            value = value.replace(name, name + indices)
            self.lines.append(f"report r_{name}{indices} = {value}")
        return "\n".join(self.functions + self.lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(Program(int(sys.argv[1]), "stops" in sys.argv).build())
