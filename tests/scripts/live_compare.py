# SPDX-License-Identifier: Apache-2.0
"""Comparisons of measured runs: how often equal ones are called different, and
how often a planted change is named.

live_compare.py CLBENCH FOLDER [--trials N] [--suites N] [--neighbours N]

`clbench ab`: N trials of 5 rounds of a product, with equal sides and with 1.1
times the work in b. `clbench compare`: N suites; each beside the next as it
is, and with the times of rows of the second multiplied. Neighbours are
processes that use a core each. The figures are printed with the bars that
they are held to; below one the exit code is 1.
"""
import argparse
import contextlib
import json
import os
import re
import subprocess
import sys

ROUNDS = 5
SIDE = "512x512x640"
MORE = "512x512x704"  # 1.1 times the work
WORK = 1.1
NEAR = 0.02  # of equal sides
RIGHT = 38 / 40  # of trials


@contextlib.contextmanager
def neighbours(n):
    spin = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(spin) for _ in range(n)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def call(clbench, *args):
    got = subprocess.run([clbench, *args], capture_output=True, text=True,
                         check=False, env={**os.environ, "COLUMNS": "200"})
    return got.returncode, got.stdout + got.stderr


def calls(text):
    """Ratio and call of each row of a comparison's first table."""
    row = re.compile(r"^  (\S.*?)  +\S.*?\s(\d+\.\d+) +(?:\d\S*\.\.\S+|-)"
                     r" +(SLOWER|FASTER|AMBIGUOUS|SAME|as all|few)")
    lines = text.split("\n  op ")[0].splitlines()
    found = [row.match(line) for line in lines]
    return [(m[1], float(m[2]), m[3]) for m in found if m]


def judge(what, n, of, least):
    fine = n >= least * of
    print(f"{what}: {n} of {of}{'' if fine else '  BELOW THE BAR'}", flush=True)
    return fine


def ab_trials(clbench, n):
    def trial(b):
        code, text = call(clbench, "ab", "--rounds", str(ROUNDS), "--", SIDE,
                          b, "gemm", "--roofs", "theoretical")
        found = calls(text)
        if code or not found:
            sys.exit(f"ab: exit code {code}\n{text}")
        return found[0][1:]

    near = wrong = named = 0
    for i in range(n):
        ratio, equal = trial(SIDE)
        more, planted = trial(MORE)
        print(f"  ab {i + 1}: equal {ratio:.3f} {equal}, planted {more:.3f} "
              f"{planted}", flush=True)
        near += abs(ratio - 1) <= NEAR
        wrong += equal in ("SLOWER", "FASTER")
        named += planted == "SLOWER"
    fine = judge("ab, equal sides within 2 %", near, n, RIGHT)
    fine &= judge("ab, equal sides not called different", n - wrong, n, 0.95)
    return judge(f"ab, {WORK}x named", named, n, RIGHT) and fine


def slowed(doc, factor, is_planted):
    """A copy whose planted rows took `factor` times as long."""
    out = json.loads(json.dumps(doc))
    for row in filter(is_planted, out["rows"]):
        for part in [row, *row.get("passes", [])]:
            part["samples_ns"] = [t * factor for t in part["samples_ns"]]
            if part["value"] is not None:
                part["value"] *= (factor if part["unit"] in ("s", "ns")
                                  else 1 / factor)
    return out


def suites(clbench, folder, n, factor):
    files = []
    for i in range(n):
        files.append(os.path.join(folder, f"suite{i}.json"))
        code, text = call(clbench, "--json", files[-1])
        if code:
            sys.exit(f"suite: exit code {code}\n{text}")
        state = json.load(open(files[-1], encoding="utf-8"))["state"]["text"]
        print(f"  suite {i + 1}: {state}", flush=True)
    plants = [("one op", lambda r: r["op"] == "gemm"),
              ("all rows", lambda r: True),
              ("one row", lambda r: r["id"] == one)]
    named = dict.fromkeys([name for name, _ in plants], 0)
    rows = wrong = same = 0
    for a, b in zip(files, files[1:]):
        doc = json.load(open(b, encoding="utf-8"))
        one = next(r["id"] for r in doc["rows"] if r["op"] == "gemm")
        found = calls(call(clbench, "compare", a, b)[1])
        rows += len(found)
        wrong += sum(c in ("SLOWER", "FASTER") for _, _, c in found)
        same += sum(c == "SAME" for _, _, c in found)
        for name, is_planted in plants:
            path = os.path.join(folder, "planted.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(slowed(doc, factor, is_planted), file)
            named[name] += call(clbench, "compare", a, path, "--fail-on",
                                "slower:5%")[0] == 5
    print(f"suites: {rows} rows of equal runs, {same} SAME", flush=True)
    fine = judge("suites, rows not called different", rows - wrong, rows, 0.99)
    for name, count in named.items():
        fine &= judge(f"suites, {factor}x in {name}: the gate fails", count,
                      n - 1, RIGHT)
    return fine


def main():
    what = argparse.ArgumentParser()
    what.add_argument("clbench")
    what.add_argument("folder")
    what.add_argument("--trials", type=int, default=40)
    what.add_argument("--suites", type=int, default=9)
    what.add_argument("--neighbours", type=int, default=4)
    what.add_argument("--factor", type=float, default=3)
    args = what.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    with neighbours(args.neighbours):
        fine = args.trials == 0 or ab_trials(args.clbench, args.trials)
        if args.suites > 1:
            fine &= suites(args.clbench, args.folder, args.suites, args.factor)
    return 0 if fine else 1


sys.exit(main())
