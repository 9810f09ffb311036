"""Compiles the examples of the error pages: the first block of each must give
the page's own code and no other, the second must not give it. The compiler's
sources and the pages must know the same codes."""
import pathlib
import re
import subprocess
import sys
import tempfile

compiler, pages, sources = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])


def codes(program):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "example.trl")
        path.write_text(program)
        run = subprocess.run([compiler, "--emit=sched", "-o", "/dev/null", path],
                             capture_output=True, text=True)
    assert run.returncode in (0, 1), f"exit code {run.returncode}: {run.stderr}"
    return set(re.findall(r"(?:error|warning)\[(E\d{4})\]", run.stderr))


failures = []
checked = 0
for page in sorted(pages.glob("E*.md")):
    code, text = page.stem, page.read_text()
    if not text.startswith(f"# {code}: "):
        failures.append(f"{page.name}: the title must start with `# {code}: `")
    explained = subprocess.run([compiler, "--explain", code], capture_output=True, text=True)
    if explained.stdout != text:
        failures.append(f"{page.name}: --explain prints something else")
    blocks = re.findall(r"^```trl\n(.*?)^```", text, re.M | re.S)
    if not blocks:
        continue
    checked += 1
    if len(blocks) < 2:
        failures.append(f"{page.name}: an example needs its fix")
        continue
    if codes(blocks[0]) != {code}:
        failures.append(f"{page.name}: the example gives {sorted(codes(blocks[0])) or 'no error'}")
    if code in codes(blocks[1]):
        failures.append(f"{page.name}: the fix still gives {code}")
used = set()
for source in sources.rglob("*.cpp"):
    used |= set(re.findall(r'"(E\d{4})', source.read_text()))
known = {page.stem for page in pages.glob("E*.md")}
failures += [f"{code} has no page" for code in sorted(used - known)]
failures += [f"{code} has a page, but nothing reports it" for code in sorted(known - used)]
print("\n".join(failures) or f"{checked} pages hold")
sys.exit(bool(failures) or checked == 0)
