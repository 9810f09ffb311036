"""Writes two programs that mean the same as REINFORCE: dims renamed; statements shuffled. rewrite.py PROGRAM FOLDER"""

import pathlib
import random
import re
import sys

names = {"b": "env", "i": "round", "t": "moment", "k": "later"}
code = [re.sub(r"#.*", "", line) for line in pathlib.Path(sys.argv[1]).read_text().splitlines()]
folder = pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
renamed = [re.sub(r"(?<![\w.])([bitk])(?![\w.])", lambda match: names[match[1]], line) for line in code]
(folder / "renamed.trl").write_text("\n".join(renamed) + "\n")
first = [line for line in code if re.match("param|arg|dim|import", line)]
rest = [line for line in code if line.strip() and line not in first]
random.Random(3).shuffle(rest)
(folder / "shuffled.trl").write_text("\n".join(first + rest) + "\n")
