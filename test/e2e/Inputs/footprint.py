"""What an executable takes of the machine: footprint.py TIMERLC SCRATCH PROGRAM DIM [timerlc options...]

* A run of 80 points of the param DIM allocates as often as one of 40: nothing is allocated while the program runs.
* Memory in use stays below the arena, the scratch space and 8 MB.
* Only libc and libm (and libpthread, where it is a library of its own) are linked."""

import os
import pathlib
import re
import subprocess
import sys

timerlc, scratch, program, dim, *options = sys.argv[1:]
scratch = pathlib.Path(scratch)
scratch.mkdir(parents=True, exist_ok=True)
counter = scratch / "count.c"
counter.write_text(r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static unsigned long calls;
#define REAL(name) static typeof(&name) real; if (!real) real = (typeof(&name))dlsym(RTLD_NEXT, #name)
static int sorting; // The C library's sort takes space of its own, once the run is over.
void *malloc(size_t n) { REAL(malloc); calls += !sorting; return real(n); }
void qsort(void *p, size_t n, size_t w, int (*f)(const void *, const void *)) {
  REAL(qsort);
  sorting = 1;
  real(p, n, w, f);
  sorting = 0;
}
void *realloc(void *p, size_t n) { REAL(realloc); ++calls; return real(p, n); }
int posix_memalign(void **p, size_t a, size_t n) { REAL(posix_memalign); ++calls; return real(p, a, n); }
void *aligned_alloc(size_t a, size_t n) { REAL(aligned_alloc); ++calls; return real(a, n); }
__attribute__((destructor)) static void tell(void) {
  char text[8192];
  int n = snprintf(text, sizeof(text), "allocations %lu\n", calls);
  if (write(2, text, n)) {}
  int status = open("/proc/self/status", O_RDONLY);
  n = read(status, text, sizeof(text));
  if (n > 0 && write(2, text, n)) {}
}
""")
library = scratch / "count.so"
subprocess.run(["cc", "-shared", "-fPIC", "-O1", counter, "-o", library, "-ldl"], check=True)


def build(points):
    executable = scratch / f"program{points}"
    subprocess.run([timerlc, program, "-o", executable, "-D", f"{dim}={points}", *options], check=True)
    return executable


def measure(executable):
    """How often it allocates, and the most memory in use."""
    result = subprocess.run([executable, "--threads", "2", "--metrics", f"csv:{scratch / 'rows.csv'}"], capture_output=True,
                            text=True, check=True, env={**os.environ, "LD_PRELOAD": str(library)})
    return (int(re.search(r"allocations (\d+)", result.stderr).group(1)),
            int(re.search(r"VmHWM:\s*(\d+) kB", result.stderr).group(1)) * 1024)


few, many = build(40), build(80)
(first, _), (second, used) = measure(few), measure(many)
if first == 0 or first != second:
    sys.exit(f"{first} allocations for 40 points, {second} for 80")

memory = subprocess.run([many, "--print-memory"], capture_output=True, text=True, check=True).stdout
arena = int(re.search(r"arena of (\d+)", memory).group(1))
space = int(re.search(r"scratch space of (\d+)", memory).group(1))
if used > arena + 2 * space + 8 * 2**20:
    sys.exit(f"{used} bytes in use for an arena of {arena} and scratch of {space}")

dynamic = subprocess.run(["readelf", "-d", many], capture_output=True, text=True, check=True).stdout
needed = re.findall(r"NEEDED.*\[(.*)\]", dynamic)
if not set(needed) <= {"libc.so.6", "libm.so.6", "libpthread.so.0"}:
    sys.exit(f"links {needed}")
print(f"{first} allocations, {used - arena} bytes beside the arena")
