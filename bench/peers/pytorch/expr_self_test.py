# SPDX-License-Identifier: Apache-2.0
"""torch_expr.py --self-test: needs a device, but no PyTorch. Every case with
small sizes runs fused and unfused on the same data, which must agree: that
shows that the structs in crosslane_expr.py are the library's. Then it is timed
with Python in PyTorch's place, printed, and written to the file."""
import ctypes as ct
import math
import os
import random
import sys
import tempfile

from .expr_errors import RELATIVE_TOLERANCE
from .expr_libraries import (COMPILED, CROSSLANE_VARIANTS, EAGER, FUSED,
                             UNFUSED)
from .expr_results import HEADING, ExprResults
from .number_formats import address_of, pack_numbers, unpack_numbers
from .result_rows import check_files
from .stand_in_torch import torch
from .timing_rounds import TimedCalls, measure_rounds


def random_numbers(rng, case, name):
    shape, limits = case.tensors[name], case.input_range(name)
    if limits == "index":
        return [i % shape.size[-1] for i in range(shape.elems)]
    if limits:
        return [rng.uniform(*limits) for _ in range(shape.elems)]
    if shape.dtype in ("f32", "f16", "bf16"):
        return [rng.gauss(0, 1) for _ in range(shape.elems)]
    end = 2 if shape.dtype == "bool" else 100
    return [rng.randrange(end) for _ in range(shape.elems)]


class VariantRun:
    """One variant of a case in buffers of its own."""

    def __init__(self, crosslane, case, variant, data):
        self.crosslane, self.case = crosslane, case
        self.mems = {name: crosslane.create_buffer(len(raw), address_of(raw))
                     for name, raw in data.items()}
        self.args = case.args(self.mems, variant)
        self.expr = crosslane.compile_expr(case.text, self.args)
        self.n_kernels = crosslane.n_kernels(self.expr, self.args)

    def evaluate(self):
        self.crosslane.run_expr(self.expr, self.args)

    def results(self):
        """The numbers of all outputs in one list."""
        self.evaluate()
        numbers = []
        for name in self.case.outputs:
            shape = self.case.tensors[name]
            raw = ct.create_string_buffer(shape.bytes)
            self.crosslane.read_buffer(self.mems[name], address_of(raw),
                                       len(raw))
            numbers += unpack_numbers(raw.raw, shape.dtype)
        return numbers

    def release(self):
        self.crosslane.destroy_expr(self.expr)
        for mem in self.mems.values():
            self.crosslane.release_buffer(mem)


def largest_difference(case, a, b):
    """In units of twice the tolerance of the case's widest type: the variants
    round at different points."""
    finite = [abs(x) for x in a if math.isfinite(x)]
    mean = sum(finite) / len(a) or 1

    def relative_difference(x, y):
        if x == y or math.isnan(x) and math.isnan(y):
            return 0.0
        difference = abs(x - y) / (abs(x) + mean)
        return math.inf if math.isnan(difference) else difference
    tolerance = max(RELATIVE_TOLERANCE.get(t.dtype, 0)
                    for t in case.tensors.values())
    return max(map(relative_difference, a, b)) / (2 * tolerance)


def test_case(crosslane, case, rng, results):
    data = {name: pack_numbers(random_numbers(rng, case, name), shape.dtype)
            for name, shape in case.tensors.items()}
    runs = {v: VariantRun(crosslane, case, v, data)
            for v in CROSSLANE_VARIANTS}
    try:
        error = largest_difference(case, runs[FUSED].results(),
                                   runs[UNFUSED].results())
        libraries = {v: TimedCalls.of_function(run.evaluate, crosslane.finish)
                     for v, run in runs.items()}
        for name in (EAGER, COMPILED):
            libraries[name] = TimedCalls.of_function(
                lambda: math.fsum(range(1000)), lambda: None)
        times = measure_rounds(libraries, results.n_rounds, least_s=0)
    finally:
        for run in runs.values():
            run.release()
    errors = dict.fromkeys(CROSSLANE_VARIANTS, error)
    results.add(case, times, dict(errors, **{EAGER: 0.0, COMPILED: 0.0}),
                {v: run.n_kernels for v, run in runs.items()})


def self_test(crosslane, cases):
    rng = random.Random(1)
    print(HEADING)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "expr.json")
        results = ExprResults(crosslane, torch, 2, 1,
                              {"copy": math.inf, "read": math.inf}, path)
        for case in cases:
            test_case(crosslane, case, rng, results)
        if results.is_wrong or not cases:
            sys.exit("self-test: wrong results" if cases else
                     "self-test: there are no cases")
        n_rows, n_pairs = check_files(path)
    if (n_rows, n_pairs) != (4 * len(cases), 3 * len(cases)):
        sys.exit("self-test: %d rows and %d pairs of %d cases" %
                 (n_rows, n_pairs, len(cases)))
    print("%d cases, %d rows and %d pairs written and read" %
          (len(cases), n_rows, n_pairs))
