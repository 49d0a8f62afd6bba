#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our GEMM and softmax beside PyTorch's (cuBLAS and its own softmax kernels)
on one GPU. All sides take turns on the same random data in one run, in an
order drawn anew each round, timed the same way: wall clock over a batch, then
a wait for the device. cuBLAS is called in a loop, and replayed as a CUDA
graph. Needs PyTorch with CUDA and libcrosslane; ours is called through
ctypes. `--self-test` runs our side alone, on any OpenCL device, without
PyTorch."""
import argparse
import statistics
import sys
import time

from torch_peer_cases import TRANS, cases_of_file, cases_of_words
from torch_peer_file import document, kept, row_of, write, write_kept
from torch_peer_ours import ACCURACY, CALLS, Ours, Refused
from torch_peer_rounds import (BATCH_S, Budget, Watch, interval, ratios_of,
                               take_turns)
from torch_peer_self_test import self_test
from torch_peer_sets import SETS, chosen, own_set, print_summary
from torch_peer_sides import Duel, load_torch

PEERS = {"loop": "peer_torch", "graph": "peer_torch_graph",
         "clblast": "gemm_clblast"}


class Run:
    """Results as they come; written after every case."""

    def __init__(self, ours, torch, args):
        self.ours, self.torch, self.args = ours, torch, args
        self.index = ours.so.xl_device_index(ours.dev)
        self.rows, self.pairs, self.results = [], [], []
        self.is_wrong = False

    def add(self, group, case, duel, times, worst, norms):
        made = {}
        for side, ns in times.items():
            # Two queues and no epilogue are other cases of ours.
            if side in PEERS or side == "ours":
                made[side] = row_of(case, PEERS.get(side, duel.name),
                                    self.index, ns, worst[0], self.args.seed)
        self.rows += made.values()
        self.is_wrong = self.is_wrong or not worst[0] <= 1
        for bar in group.bars:
            if bar.ours in times and bar.theirs in times:
                self.compare(group, case, duel, times, bar, norms)
            if bar.theirs in made and bar.ours == "ours":
                ratio, lo, hi = interval(ratios_of(times, "ours", bar.theirs))
                self.pairs.append({
                    "ours": made["ours"]["id"], "theirs":
                    made[bar.theirs]["id"], "ratio": ratio, "lo": lo,
                    "hi": hi})

    def compare(self, group, case, duel, times, bar, norms):
        ratios = ratios_of(times, bar.ours, bar.theirs)
        result = {"set": group.name, "case": case.label(),
                  "variant": duel.name, "ours": bar.ours,
                  "theirs": bar.theirs,
                  "ours_us": statistics.median(times[bar.ours]) / 1e3,
                  "theirs_us": statistics.median(times[bar.theirs]) / 1e3,
                  "ratio": statistics.median(ratios), "min": min(ratios),
                  "max": max(ratios), "rounds": len(ratios)}
        if case.name:
            result["name"] = case.name
        if norms:
            result["error"] = norms
        self.results.append(result)

    def write(self):
        if self.args.json:
            write(self.args.json, document(self.ours, self.torch, self.rows,
                                           self.pairs, self.args))
        if self.args.output:
            write_kept(self.args.output, kept(self.ours, self.torch,
                                              self.results, method(self.args)))

    def finish(self):
        self.write()
        if self.results:
            print_summary(self.results)


def method(args):
    return ("one run, sides in random order each round, at most %d rounds of "
            "batches of %.0f ms, wall clock, random normal data; ratio: their "
            "time over ours, median, least and most of the rounds; graph: "
            "products replayed as a CUDA graph; loop: called in a loop; two: "
            "independent products on two queues" %
            (args.rounds, 1e3 * BATCH_S))


def heading(group):
    labels = [bar.name() for bar in group.bars]
    labels[0] += " (min..max)"
    print("\n%s: %s\n%-32s%9s %7s %s" %
          (group.name, group.title, "", "us", "T/s", "  ".join(labels)))


def line(case, group, duel, times, worst):
    us = statistics.median(times["ours"]) / 1e3
    name = duel.name.partition("_")[2] or duel.name
    words = []
    for bar in group.bars:
        if bar.ours not in times or bar.theirs not in times:
            words.append("-")
            continue
        ratios = ratios_of(times, bar.ours, bar.theirs)
        words.append("%.3f" % statistics.median(ratios) +
                     (" (%.2f..%.2f)" % (min(ratios), max(ratios))
                      if not words else ""))
    print("%-24s%-8.7s%9.2f %7.1f %s%s" %
          (case.label(), name, us, case.amount / us / 1e6, " ".join(words),
           "" if worst[0] <= 1 else "  WRONG"), flush=True)


def one_case(run, group, case, until):
    args = run.args
    duel = Duel(run.ours, run.torch, case)
    try:
        duel.prepare(args.seed, args.variant or group.variant)
        sides = duel.sides(group.sides())
        worst, norms = duel.check()
        times = take_turns(sides, args.rounds, until, args.seed)
        run.add(group, case, duel, times, worst, norms)
        line(case, group, duel, times, worst)
        for name, why in duel.absent.items():
            print("  no %s: %.70s" % (name, why))
    finally:
        duel.close()


def run_sets(run, sets):
    work = [(s, case) for s in sets for case in s.cases()]
    budget = Budget(run.args.seconds - (time.monotonic() - run.args.begun),
                    len(work))
    watch = Watch(run.args.limit, run.finish)
    said = None
    for group, case in work:
        if budget.is_spent():
            print("\n%d cases left out: over --seconds" % (budget.left))
            break
        if group is not said:
            heading(group)
            said = group
        with watch(case.label()):
            try:
                one_case(run, group, case, budget.until())
            except (Refused, RuntimeError) as why:
                print("%-24s%.120s" % (case.label(), why), flush=True)
        run.write()


def sets_of(args):
    settings = {"accuracy": args.accuracy, "epilogue": args.epilogue}
    sets = chosen(args.set)
    cases = [c for file in args.shapes
             for c in cases_of_file(file, args.dtype, **settings)]
    usual = [] if sets or cases else ["1024", "2048", "4096", "4096x4096",
                                      "16384x1024", "64x1000000"]
    cases += cases_of_words(args.shape or usual,
                            args.dtype or ["f32", "f16", "bf16"],
                            args.trans or ["nn"], **settings)
    return sets + ([own_set(cases, args.mode or ("graph", "loop"))]
                   if cases else [])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("shape", nargs="*", help="MxNxK or N: GEMM; ROWSxCOLS: softmax")
    add("--set", action="append", default=[],
        choices=["all"] + [s.name for s in SETS],
        help="cases that belong together, with what they should reach")
    add("--shapes", action="append", default=[],
        help="a file of GEMM shapes, or one of bench/shapes by its name: "
             "gemm_llm")
    add("--library", default="libcrosslane.so.0",
        help="ours; %s is looked for beside it" % CALLS)
    add("--device", default="0", help="of ours")
    add("--variant", help="of ours; needs shapes of one op")
    add("--dtype", action="append",
        choices=["f32", "f16", "bf16", "i8", "f8e4m3"])
    add("--trans", action="append", choices=list(TRANS))
    add("--accuracy", default="full", choices=list(ACCURACY),
        help="of ours; fast: cuBLAS takes TF32, or use_fast_accum")
    add("--epilogue", help="of ours; PyTorch's is addmm, then gelu")
    add("--mode", action="append", choices=["graph", "loop", "clblast"],
        help="the other sides")
    add("--rounds", type=int, default=9)
    add("--seed", type=int, default=1)
    add("--seconds", type=float, default=3000,
        help="for all of it: spread over the cases, so that late ones have "
             "their rounds too")
    add("--limit", type=float, default=60,
        help="seconds of one case after which the device is taken to hang")
    add("--json", help="file for all samples, clbench/1")
    add("--output", help="file to keep: a line a comparison")
    add("--self-test", action="store_true")
    return parser.parse_args()


def main():
    begun = time.monotonic()
    args = arguments()
    args.begun = begun
    ours = Ours(args.library, args.device)
    print("ours on %s, %s%s" %
          (ours.fact("name"), ours.fact("platform"), "" if ours.helper else
           "; no %s: calls come from Python, which adds to small ones" %
           CALLS))
    if args.self_test:
        self_test(ours)
        return
    torch = load_torch()
    print("PyTorch %s on %s; ratio: PyTorch's time over ours, above 1 ours is "
          "the faster" % (torch.__version__, torch.cuda.get_device_name()))
    run = Run(ours, torch, args)
    try:
        run_sets(run, sets_of(args))
    except KeyboardInterrupt:
        print("\nstopped")
    run.finish()
    sys.exit(run.is_wrong)


if __name__ == "__main__":
    main()
