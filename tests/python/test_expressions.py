#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The expressions of expressions.txt, computed by the library and by NumPy.

    test_expressions.py [EVERY [TOPIC]]   every EVERY-th row (1: all), of the
                                          topics that begin so; all refusals

Each element must be within the bound that numbers.py derives; at least half of
a row's elements must have one. Prints each row that is wrong, how many are
right, and the largest error as a share of its bound."""

import os
import re
import sys
import zlib

import numpy as np

import crosslane
from numbers_with_errors import NAMES, Number

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {"f32": np.float32, "f16": np.float16, "i32": np.int32,
         "i8": np.int8, "u8": np.uint8, "bool": np.bool_}
SPECIALS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -0.5, 2.5, -3.5,
            1e30, -1e30, 1e-30, 7, -1e5]


def make_array(name, dtype, sizes, values):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    shape = tuple(map(int, sizes.split(",")))
    if values == "special":
        return rng.choice(np.array(SPECIALS, np.float32), shape)
    low, high = map(float, values.split(":"))
    if dtype[0] == "f":
        return rng.uniform(low, high, shape).astype(TYPES[dtype])
    return rng.integers(int(low), int(high), shape, np.int64,
                        endpoint=True).astype(TYPES[dtype])


def read_table(path):
    """Arrays by name, and (line, topic, expression, second column)."""
    arrays, rows, topic = {}, [], ""
    for number, line in enumerate(open(path), 1):
        line = line.rstrip("\n")
        if line.startswith("@"):
            name, *rest = line[1:].split()
            arrays[name] = make_array(name, *rest)
        elif line.startswith("["):
            topic = line.strip("[]")
        elif line and not line.startswith("#"):
            cells = line.split(" :: ")
            rows.append((number, topic, cells[0], cells[-1]))
    return arrays, rows


def as_number(a):
    if a.dtype == np.bool_:
        return Number(a)
    return Number(a.astype(np.int32 if a.dtype.kind in "iu" else np.float64))


def names_in(text, arrays):
    return {n: arrays[n] for n in re.findall(r"\b[a-z]\b(?!\()", text)
            if n in arrays}


def ask_numpy(text, arrays):
    names = {n: as_number(a) for n, a in arrays.items()}
    with np.errstate(all="ignore"):
        return eval(text, {"__builtins__": {}}, {**NAMES, **names})


def compare(got, want):
    """What is wrong, or None; the largest share of a bound."""
    if not isinstance(want, Number):
        return f"NumPy gives {type(want).__name__}", 0
    kind = {np.float64: np.float32}.get(want.x.dtype.type, want.x.dtype.type)
    if got.dtype != kind or got.shape != want.shape:
        return f"{got.dtype} {got.shape}, not {np.dtype(kind)} {want.shape}", 0
    x, e = want.x.astype(np.float64), want.e
    known = np.isfinite(e)
    if 2 * np.count_nonzero(known) < known.size:
        return f"{np.count_nonzero(known)} of {known.size} have a bound", 0
    with np.errstate(all="ignore"):
        far = abs(got - x)
        same = (got == x) | (np.isnan(got) & np.isnan(x))
        wrong = known & ~same & ~(far <= e)
        share = np.where(known & ~same & (e > 0), far / e, 0)
    if wrong.any():
        at = tuple(int(d) for d in np.argwhere(wrong)[0])
        return (f"{np.count_nonzero(wrong)} wrong, first at {at}: {got[at]!r},"
                f" not {x[at]!r} +- {e[at]:.3g}"), 0
    return None, float(np.nanmax(share, initial=0))


def run_row(text, second, arrays):
    used = names_in(text, arrays)
    got = crosslane.expr(text, **used)
    return compare(got, ask_numpy(second, arrays))


def run_refusal(text, message, arrays):
    try:
        crosslane.expr(text, **names_in(text, arrays))
    except crosslane.Error as error:
        return None if message in str(error) else f"refused with: {error}"
    return "not refused"


def main():
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    arrays, rows = read_table(os.path.join(HERE, "expressions.txt"))
    rows = [row for row in rows if row[1].startswith(only)]
    counts, wrong, worst = {"equal": 0, "refused": 0}, 0, (0, "")
    for place, (number, topic, text, second) in enumerate(rows):
        refused = topic.startswith("refused")
        if not refused and place % every:
            continue
        share = 0
        try:
            if refused:
                fault = run_refusal(text, second, arrays)
            else:
                fault, share = run_row(text, second, arrays)
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        worst = max(worst, (share, text))
        if fault:
            wrong += 1
            print(f"expressions.txt:{number}: {text}\n    {fault}")
        else:
            counts["refused" if refused else "equal"] += 1
    print(f"{counts['equal']} equal to NumPy, {counts['refused']} refused, "
          f"{wrong} wrong; largest error {worst[0]:.2f} of its bound: "
          f"{worst[1]}")
    sys.exit(wrong > 0)


main()
