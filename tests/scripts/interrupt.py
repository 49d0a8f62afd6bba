# SPDX-License-Identifier: Apache-2.0
"""Run a command, interrupt it once when a file says a word, and exit as it does.

interrupt.py FILE WORD COMMAND...: one SIGINT, not before the work that matters
is done; a signal after a fixed time comes too early on a slow device.
"""
import signal
import subprocess
import sys
import time

LONGEST_S = 900  # else it hangs


def says(path, word):
    try:
        with open(path, encoding="utf-8") as file:
            return word in file.read()
    except FileNotFoundError:
        return False


path, word = sys.argv[1:3]
child = subprocess.Popen(sys.argv[3:])
end = time.monotonic() + LONGEST_S
while not says(path, word) and child.poll() is None:
    if time.monotonic() > end:
        child.kill()
        sys.exit(f"no {word} in {path} after {LONGEST_S} s")
    time.sleep(0.05)
child.send_signal(signal.SIGINT)
code = child.wait()
sys.exit(code if code >= 0 else 128 - code)
