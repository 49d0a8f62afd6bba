# SPDX-License-Identifier: Apache-2.0
"""The figures of documents are those of vendor-notes/data; a figure that is
edited by hand, in a document or in its data, is found. Rows of every op are
kept, with the command that measures them. A shipped run has nothing that
identifies a card or a machine.

check_figures.py SOURCE
"""
import json
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


def row(op, shape, params, dtype=None, found=(), ns=2e6):
    return {"op": op, "shape": shape, "params": params, "found": list(found),
            "dtype": dtype, "cache": "hot", "variant": "any", "median_ns": ns,
            "mad_ns": ns and ns / 100, "value": 5, "unit": "s", "bytes": 8,
            "roof": None, "diagnosis": None, "verdict": "ok", "warnings": []}


RUN = {
    "tool": {"library": "0.1.0", "command": "conv"},
    "environment": {
        "date": "2026-01-01", "arguments": ["a b"],
        "variables": {"A": "SECRET"}, "options": {
            "dtype": None, "stride": 2, "shape": ["x=1", "y=2"],
            "json": "SECRET", "seed": 1, "quick": True}},
    "state": {"text": "QUIET"}, "host": {"cpu": "C", "kernel": "SECRET"},
    "devices": [{"name": "D", "driver": "1", "uuid": "SECRET",
                 "pci": "SECRET", "facts": [
                     {"name": "uuid", "value": "SECRET"},
                     {"name": "clock_hz", "value": 5}]}],
    "rows": [
        row("gemm", {"m": 8, "n": 8, "k": 8, "batch": 9}, {"trans": "nn"},
            "f32"),
        row("gemm", {"m": 8, "n": 1, "k": 8}, {"trans": "nn"}, "f16"),
        row("conv", {"n": 1, "h": 9}, {"layout": "nchw", "pad": 1}, "f32"),
        row("conv", {"n": 1, "h": 9}, {"layout": "nchw"}, "f32"),
        row("expr", {"d0": 4}, {"case": "sum", "gain": 3}, "f32", ["gain"]),
        row("probe_bandwidth", {"bytes": 1536}, {}),
        row("probe_cache", {"bytes": 2}, {"curve": 1}, found=["curve"]),
        row("probe_timer", {}, {}, ns=None)]}
CASES = ["8^3 x9 f32", "8x1x8 f16", "1x9 pad=1 f32", "1x9 f32", "sum 4 f32",
         "1.50 KiB", "-"]
METHOD = "clbench conv 'a b' --stride 2 --shape x=1 --shape y=2 --quick; QUIET"


def keeps(folder):
    """Does `keep` write the cases, a found number and the command of RUN?"""
    run = os.path.join(folder, "run.json")
    with open(run, "w", encoding="utf-8") as file:
        json.dump(RUN, file)
    subprocess.run([sys.executable, "vendor-notes/figures.py", "keep", run,
                    "kept"], cwd=folder, check=True)
    with open(os.path.join(folder, "vendor-notes/data/kept.json"),
              encoding="utf-8") as file:
        kept = json.load(file)
    return kept["method"] == METHOD and kept["rows"][4]["gain"] == 3 and \
        [row["case"] for row in kept["rows"]] == CASES


def ships(folder):
    """Does `ship` write all of RUN but what identifies?"""
    run, path = (os.path.join(folder, name) for name in (
        "run.json", "bench/reference_runs/shipped.json"))
    os.makedirs(os.path.dirname(path))
    subprocess.run([sys.executable, "vendor-notes/figures.py", "ship", run,
                    "shipped"], cwd=folder, check=True)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return "SECRET" not in text and json.loads(text)["rows"] == RUN["rows"] \
        and json.loads(text)["devices"][0]["facts"][0]["value"] == 5


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
        if not keeps(folder):
            sys.exit("FAILED: rows are not kept as they should be")
        if not ships(folder):
            sys.exit("FAILED: a run is not shipped as it should be")


main(sys.argv[1])
