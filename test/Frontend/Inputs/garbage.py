"""Writes files that must be refused in linear time into a folder."""
import pathlib
import random
import sys

folder = pathlib.Path(sys.argv[1])
folder.mkdir(exist_ok=True)
mega = 1 << 20
random.seed(7)
words = ["x", "[", "]", "(", ")", "{", "}", "=", "+", "-", "sum(", "k in", "if", "then", "else", "\n", ";", ",", ":",
         "let", "dim", "fn", "when", "1.5", "$", "\"", "not", "#", "."]
texts = {
    "tokens": " ".join(random.choice(words) for _ in range(mega // 4)),
    "line": " ".join(w for w in (random.choice(words) for _ in range(mega // 4)) if w not in "\n#"),
    "letters": "".join(chr(random.randrange(32, 0x2FF)) for _ in range(mega // 2)),
    "sum": "x = 1" + "+1" * (mega // 2),
    "digits": "x = " + "9" * mega,
    "stuck": "x = {\n  $\n}",
    "blocks": "x = " + "{ y[ 1\n" * (mega // 8),
    "statements": "x = ;" * (mega // 5),
}
texts |= {f"open{i}": "x = " + b * mega for i, b in enumerate("([{-")}
texts |= {f"close{i}": b * mega for i, b in enumerate(")]}")}
texts |= {f"word{i}": "x = " + w * (mega // len(w)) for i, w in enumerate(["not ", "2^", "sum(t) ", "if ", "a.", "f(", "a[0]", "{ a: "])}
for name, text in texts.items():
    (folder / f"{name}.trl").write_text(text)
