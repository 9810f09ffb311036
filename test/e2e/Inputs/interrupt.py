"""A run that is told to end reports what it has so far: interrupt.py EXECUTABLE CSV"""

import signal
import subprocess
import sys
import time

executable, csv = sys.argv[1:]
for number in (signal.SIGINT, signal.SIGTERM):
    process = subprocess.Popen([executable, "--metrics", f"csv:{csv}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.3)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    rows = open(csv).read().split("\n")
    assert process.returncode == 128 + number, (process.returncode, err)
    assert "stopped by a signal" in err, err
    assert 2 <= len(rows) - 1 < 151 and len(out.split("\n")) == len(rows), (len(rows), out)
