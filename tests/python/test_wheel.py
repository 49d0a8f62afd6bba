# SPDX-License-Identifier: Apache-2.0
"""The wheel in a clean environment beside an installed library: 200 random
cases, the examples of lib/python/README.md, and lib/examples/*.py.

    test_wheel.py CMAKE BUILD SCRATCH SOURCE
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

cmake, build, scratch, source = sys.argv[1:]
scratch, source = pathlib.Path(scratch), pathlib.Path(source)
prefix, venv = scratch / "prefix", scratch / "venv"
environment = {name: value for name, value in os.environ.items()
               if name not in ("PYTHONPATH", "XL_LIBRARY")}


def run(*command):
    print("--", *command, flush=True)
    subprocess.run([*map(str, command)], check=True, cwd=scratch,
                   env=environment)


shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
if subprocess.run([sys.executable, "-m", "pip", "--version"],
                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                  ).returncode:
    print("SKIPPED: python3-pip not found")
    sys.exit()
run(cmake, "--install", build, "--prefix", prefix)
wheel, = prefix.glob("share/crosslane/*.whl")
library, = prefix.rglob("libcrosslane.so.0.1")
environment["LD_LIBRARY_PATH"] = str(library.parent)
# NumPy is the system's.
run(sys.executable, "-m", "venv", "--without-pip", "--system-site-packages",
    venv)
python = venv / "bin/python"
run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index",
    "--no-deps", wheel)
run(python, "-c", "import crosslane, pathlib; "
    f"assert {str(venv)!r} in crosslane.__file__; "
    "assert pathlib.Path(crosslane.__file__).with_name('py.typed').exists(); "
    "assert crosslane.verify(cases=200, seed=19) == 200")

examples = re.findall(r"```python\n(.*?)```",
                      (source / "lib/python/README.md").read_text(), re.S)
assert len(examples) >= 3, "lib/python/README.md lacks examples"
for i, text in enumerate(examples):
    program = scratch / f"readme_{i}.py"
    program.write_text(text)
    run(python, program)
image = b"P6\n5 4\n255\n" + bytes(range(60))
(scratch / "in.ppm").write_bytes(image)
run(python, source / "lib/examples/image_filter.py")
run(python, source / "lib/examples/image_filter.py", "x", "in.ppm",
    "out.ppm")
assert (scratch / "out.ppm").read_bytes() == image

run(sys.executable, "-m", "pip", "--python", python, "uninstall", "--yes",
    "crosslane")
assert not list(venv.rglob("crosslane*")), "files are left"
