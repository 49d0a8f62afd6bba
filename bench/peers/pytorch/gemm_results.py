# SPDX-License-Identifier: Apache-2.0
"""The results of torch_gemm.py: what is printed of each case, and the rows of
its two files."""
import statistics

from .gemm_case_sets import print_summary
from .gemm_libraries import PEER_VARIANTS
from .result_rows import (make_document, make_pair, make_row,
                          make_short_document, write_document,
                          write_short_document)
from .timing_rounds import BATCH_S, median_interval, round_ratios


class GemmResults:
    """Collects results; write() is called after every case, so that a run
    that ends early leaves its files. json_path, short_path: files, or None."""

    def __init__(self, crosslane, torch, n_rounds, seed, json_path=None,
                 short_path=None):
        self.crosslane, self.torch = crosslane, torch
        self.n_rounds, self.seed = n_rounds, seed
        self.json_path, self.short_path = json_path, short_path
        self.rows, self.pairs, self.results = [], [], []
        self.is_wrong = False

    def add(self, case_set, case, variant, times, error, norms=None):
        """One case. times: nanoseconds by library and round; error: of
        crosslane's result in units of its tolerance."""
        rows = {}
        for name, ns in times.items():
            # `two` and `plain` are other cases than their row's would be.
            if name in PEER_VARIANTS or name == "ours":
                is_peer = name in ("loop", "graph")
                rows[name] = make_row(
                    case, PEER_VARIANTS.get(name, variant),
                    self.crosslane.device_index(), ns,
                    None if is_peer else error, self.seed)
        self.rows += rows.values()
        self.is_wrong = self.is_wrong or not error <= 1
        for target in case_set.targets:
            library, peer = target.library, target.peer
            if library in times and peer in times:
                self.results.append(make_result(case_set, case, variant,
                                                times, target, norms))
            if library == "ours" and peer in rows:
                self.pairs.append(make_pair(
                    rows["ours"], rows[peer],
                    median_interval(round_ratios(times, "ours", peer))))

    def write(self):
        if self.json_path:
            write_document(self.json_path, make_document(
                self.crosslane, self.torch, self.rows, self.pairs,
                self.n_rounds))
        if self.short_path:
            write_short_document(self.short_path, make_short_document(
                self.crosslane, self.torch, self.results,
                method_text(self.n_rounds)))

    def finish(self):
        self.write()
        if self.results:
            print_summary(self.results)


def make_result(case_set, case, variant, times, target, norms):
    """A row of the short file: vendor-notes/README.md, Data."""
    ratios = round_ratios(times, target.library, target.peer)
    result = {"set": case_set.name, "case": case.label(),
              "variant": variant, "ours": target.library,
              "theirs": target.peer,
              "ours_us": statistics.median(times[target.library]) / 1e3,
              "theirs_us": statistics.median(times[target.peer]) / 1e3,
              "ratio": statistics.median(ratios), "min": min(ratios),
              "max": max(ratios), "rounds": len(ratios)}
    if case.title:
        result["name"] = case.title
    if norms:
        result["error"] = norms
    return result


def method_text(n_rounds):
    return ("one run, libraries in random order each round, at most %d rounds "
            "of batches of %.0f ms, wall clock, random normal data; ratio: "
            "their time over ours, median, least and most of the rounds; "
            "graph: products replayed as a CUDA graph; loop: called in a "
            "loop; two: independent products on two queues" %
            (n_rounds, 1e3 * BATCH_S))


def print_heading(case_set):
    names = [target.name() for target in case_set.targets]
    names[0] += " (min..max)"
    print("\n%s: %s\n%-32s%9s %7s %s" %
          (case_set.name, case_set.title, "", "us", "T/s", "  ".join(names)))


def print_case(case_set, case, variant, times, error):
    us = statistics.median(times["ours"]) / 1e3
    family = variant.partition("_")[2] or variant
    cells = []
    for target in case_set.targets:
        if target.library not in times or target.peer not in times:
            cells.append("-")
            continue
        ratios = round_ratios(times, target.library, target.peer)
        cells.append("%.3f" % statistics.median(ratios) +
                     (" (%.2f..%.2f)" % (min(ratios), max(ratios))
                      if not cells else ""))
    print("%-24s%-8.7s%9.2f %7.1f %s%s" %
          (case.label(), family, us, case.amount / us / 1e6, " ".join(cells),
           "" if error <= 1 else "  WRONG"), flush=True)
