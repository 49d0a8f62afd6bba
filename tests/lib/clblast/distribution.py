# SPDX-License-Identifier: Apache-2.0
"""Runs CLBlast's own tests, as the distribution has them, with
libcrosslane-clblast before CLBlast.

No test may fail, and calls of each routine must have been served.

    distribution.py LIBRARY ROUTINE...
"""
import os
import re
import shutil
import subprocess
import sys

library, *routines = sys.argv[1:]
# OpenBLAS is the reference; its threads are as many as it wants.
env = {name: value for name, value in os.environ.items()
       if not name.startswith("OPENBLAS_")}
env |= {"LD_PRELOAD": library, "XL_CLBLAST": "stats"}
failures = []
for routine in routines:
    program = f"clblast_test_{routine}"
    if not shutil.which(program):
        print(f"SKIPPED: {program} (Debian: clblast-tests) is not here")
        sys.exit()
    run = subprocess.run([program], env=env, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    counts = [sum(int(n) for n in re.findall(rf"(\d+) {what}", run.stdout))
              for what in (r"passed /", r"skipped /", r"failed(?!\()")]
    served = re.findall(r"; (\w+) (\d+), (\d+)", run.stdout)
    print(routine, "passed %d, skipped %d, failed %d;" % tuple(counts),
          " ".join(f"{name} {ours} of {int(ours) + int(theirs)}"
                   for name, ours, theirs in served), flush=True)
    if run.returncode or counts[2] or not counts[0] or not served or \
            any(ours == "0" for _, ours, _ in served):
        failures.append(f"{routine}: exit {run.returncode}\n{run.stdout}")
print("\n".join(failures))
sys.exit(bool(failures))
