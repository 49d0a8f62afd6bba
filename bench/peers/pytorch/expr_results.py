# SPDX-License-Identifier: Apache-2.0
"""The results of torch_expr.py: a printed line a case, and its file."""
import statistics

from .expr_libraries import FUSED, UNFUSED, VARIANTS
from .result_rows import make_document, make_pair, make_row, write_document
from .timing_rounds import median_interval, round_ratios

HEADING = """\
ms of fused, unfused (crosslane), eager, compiled (PyTorch); GB/s of fused, and
percent of copy bandwidth (of read bandwidth, where little is written); time
over fused of unfused, eager, compiled: above 1 fused is faster; kernels of
fused, unfused"""


class ExprResults:
    """Collects results and writes the file after every case. bandwidth: bytes
    per second of "copy" and "read"; path: a file, or None."""

    def __init__(self, crosslane, torch, n_rounds, seed, bandwidth,
                 path=None):
        self.crosslane, self.torch = crosslane, torch
        self.n_rounds, self.seed = n_rounds, seed
        self.bandwidth, self.path = bandwidth, path
        self.rows, self.pairs = [], []
        self.is_wrong = False

    def add(self, case, times, errors, n_kernels):
        """One case: nanoseconds by variant and round, errors in units of the
        tolerance by variant, kernels of crosslane's variants."""
        rows = {v: make_row(case, v, self.crosslane.device_index(), ns,
                            errors[v], self.seed, n_kernels.get(v))
                for v, ns in times.items()}
        intervals = {v: median_interval(round_ratios(times, FUSED, v))
                     for v in times if v != FUSED}
        self.rows += rows.values()
        self.pairs += [make_pair(rows[FUSED], rows[v], interval)
                       for v, interval in intervals.items()]
        self.is_wrong = (self.is_wrong or
                         any(r["verdict"] != "ok" for r in rows.values()))
        self.print_case(case, rows, intervals, n_kernels)
        if self.path:
            write_document(self.path, make_document(
                self.crosslane, self.torch, self.rows, self.pairs,
                self.n_rounds))

    def print_case(self, case, rows, intervals, n_kernels):
        ms = ["%9.3f" % (statistics.median(rows[v]["samples_ns"]) / 1e6)
              if v in rows else "        -" for v in VARIANTS]
        ratios = ["%6.2f" % intervals[v][0] if v in intervals else "     -"
                  for v in VARIANTS[1:]]
        rate = rows[FUSED]["value"]
        most = self.bandwidth["read" if case.is_read_bound else "copy"]
        wrong = [v for v in rows if rows[v]["verdict"] != "ok"]
        print("%-20s %s %8.0f %4.0f%%  %s  %2d %3d%s" %
              (case.name, " ".join(ms), rate / 1e9, 100 * rate / most,
               " ".join(ratios), n_kernels[FUSED], n_kernels[UNFUSED],
               "  WRONG: " + ", ".join(wrong) if wrong else ""), flush=True)
