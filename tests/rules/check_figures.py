# SPDX-License-Identifier: Apache-2.0
"""The figures of documents are those of vendor-notes/data; a figure that is
edited by hand, in a document or in its data, is found.

check_figures.py SOURCE
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile


def check(folder):
    done = subprocess.run([sys.executable, "vendor-notes/figures.py", "check"],
                          cwd=folder, capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout + done.stderr


def is_found(folder, path, pattern):
    """Does the check fail while a digit of what matches is another?"""
    path = os.path.join(folder, path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    at = re.search(pattern, text).start(1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1:])
    code, _ = check(folder)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return code == 1


def main(source):
    code, said = check(source)
    if code:
        sys.exit(f"FAILED: {said}\nrun python3 vendor-notes/figures.py write")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("README.md", "README.zh-CN.md"):
            shutil.copy(os.path.join(source, name), folder)
        shutil.copytree(os.path.join(source, "vendor-notes"),
                        os.path.join(folder, "vendor-notes"))
        for path, pattern in [
                ("README.md", r"gemm_cpu +(\d)"),
                ("README.zh-CN.md", r"gemm_cpu +(\d)"),
                ("vendor-notes/measured.md", r"cuBLAS, graph \| (\d)"),
                ("vendor-notes/data/pocl-suite.json", r'"value": (\d)'),
                ("vendor-notes/data/h200-gemm.json", r'"ratio": 0\.(\d)')]:
            if not is_found(folder, path, pattern):
                sys.exit(f"FAILED: an edit of {path} is not found")


main(sys.argv[1])
