#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""crosslane's fused expressions beside PyTorch, eager and through
torch.compile, on one GPU: the same random data, timed in interleaved rounds.
Needs PyTorch with CUDA, libcrosslane, and clbench, which lists the cases.
`--self-test` needs no PyTorch, and any OpenCL device."""
import argparse
import sys
import time

from pytorch.crosslane_expr import CrosslaneExpr
from pytorch.expr_cases import read_cases
from pytorch.expr_counterparts import use_torch
from pytorch.expr_libraries import ExprComparison
from pytorch.expr_results import HEADING, ExprResults
from pytorch.expr_self_test import self_test
from pytorch.timing_rounds import measure_rounds
from pytorch.torch_setup import load_torch


def run_case(results, case, args):
    results.torch.manual_seed(args.seed)
    comparison = ExprComparison(results.crosslane, results.torch, case)
    try:
        libraries = comparison.libraries()
        errors = comparison.errors(libraries)
        n_kernels = comparison.n_kernels()
        times = measure_rounds(libraries, args.rounds,
                               time.monotonic() + args.case_time, args.seed)
    finally:
        comparison.release()
    results.add(case, times, errors, n_kernels)


def run_cases(crosslane, cases, args):
    torch = load_torch()
    use_torch(torch)
    start = time.monotonic()
    bandwidth = {kind: crosslane.measured_fact(kind + "_bytes_per_s")
                 for kind in ("copy", "read")}
    print("PyTorch %s on %s; copy %.0f GB/s, read %.0f GB/s" %
          (torch.__version__, torch.cuda.get_device_name(),
           bandwidth["copy"] / 1e9, bandwidth["read"] / 1e9))
    print(HEADING, flush=True)
    results = ExprResults(crosslane, torch, args.rounds, args.seed, bandwidth,
                          args.json)
    for i, case in enumerate(cases):
        if time.monotonic() - start > args.max_time:
            print("%d cases left out: --max-time is over" % (len(cases) - i))
            break
        run_case(results, case, args)
    return results.is_wrong


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("case", nargs="*", help="names of cases; without any, all")
    add("--library", default="libcrosslane.so.0.1")
    add("--clbench", default="clbench",
        help="the program that lists the cases: 'clbench expr --list'")
    add("--device", default="0", help="crosslane's device")
    add("--rounds", type=int, default=11)
    add("--case-time", type=float, default=5,
        help="seconds for the rounds of one case")
    add("--max-time", type=float, default=450,
        help="seconds after which no further case starts")
    add("--seed", type=int, default=1)
    add("--json", help="write the results to this file, as clbench/1")
    add("--self-test", action="store_true",
        help="check crosslane and the file without PyTorch")
    return parser.parse_args()


def main():
    args = parse_arguments()
    crosslane = CrosslaneExpr(args.library, args.device)
    print("crosslane on %s, %s" % (crosslane.fact_text("name"),
                                   crosslane.fact_text("platform")))
    cases = read_cases(args.clbench, args.case, args.self_test)
    if args.self_test:
        self_test(crosslane, cases)
        return
    sys.exit(run_cases(crosslane, cases, args))


if __name__ == "__main__":
    main()
