#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""crosslane's GEMM, convolution, attention, softmax and norms beside PyTorch's
(cuBLAS, cuDNN and its own kernels) on one GPU: the same random data, timed in
interleaved rounds by the wall clock. PyTorch is called in a loop, and replayed
as a CUDA graph. Needs PyTorch with CUDA and libcrosslane. `--self-test` needs
no PyTorch, and any OpenCL device."""
import argparse
import sys
import time

from pytorch.attention_cases import SCORES, parse_attention
from pytorch.conv_cases import LAYOUTS
from pytorch.conv_gradients import PASSES
from pytorch.crosslane_library import (ACCURACY, CALLS_LIBRARY, CallFailed,
                                       Crosslane)
from pytorch.gemm_case_sets import SETS, command_line_set, select_sets
from pytorch.gemm_cases import TRANS, cases_of_file, cases_of_shapes
from pytorch.gemm_libraries import GemmComparison
from pytorch.gemm_results import GemmResults, print_case, print_heading
from pytorch.gemm_self_test import self_test
from pytorch.row_cases import KINDS
from pytorch.timing_rounds import HangGuard, TimeBudget, measure_rounds
from pytorch.torch_setup import load_torch

USUAL_SHAPES = ["1024", "2048", "4096", "4096x4096", "16384x1024",
                "64x1000000"]
USUAL_DTYPES = ["f32", "f16", "bf16"]
# The types that an accuracy is of.
TRADED = {"full": USUAL_DTYPES, "split": ["f32"], "fast": ["f32", "f8e4m3"]}


def run_case(results, case_set, case, args, deadline):
    comparison = GemmComparison(results.crosslane, results.torch, case)
    try:
        comparison.prepare(args.seed, args.variant or case_set.variant)
        libraries = comparison.libraries(case_set.library_names())
        errors, norms = comparison.errors()
        times = measure_rounds(libraries, args.rounds, deadline, args.seed)
        results.add(case_set, case, comparison.chosen, times, errors[0],
                    norms)
        print_case(case_set, case, comparison.chosen, times, errors[0])
        for name, why in comparison.absent.items():
            print("  no %s: %.70s" % (name, why))
    finally:
        comparison.release()


def run_sets(results, sets, args, start):
    cases = [(s, case) for s in sets for case in s.cases()]
    budget = TimeBudget(args.seconds - (time.monotonic() - start), len(cases))
    guard = HangGuard(args.limit, results.finish)
    heading = None
    for case_set, case in cases:
        if budget.is_spent():
            print("\n%d cases left out: --seconds is spent" % budget.n_left)
            break
        if case_set is not heading:
            print_heading(case_set)
            heading = case_set
        with guard(case.label()):
            try:
                run_case(results, case_set, case, args,
                         budget.next_deadline())
            except (CallFailed, RuntimeError) as why:
                print("%-24s%.120s" % (case.label(), why), flush=True)
        results.write()


def sets_of_arguments(args):
    options = {"accuracy": args.accuracy, "epilogue": args.epilogue}
    sets = select_sets(args.set)
    cases = [case for file in args.shapes
             for case in cases_of_file(file, args.dtype, layout=args.layout,
                                       which=getattr(args, "pass"), **options)]
    usual = [] if sets or cases else USUAL_SHAPES
    usual_dtypes = [d for d in USUAL_DTYPES if d in TRADED[args.accuracy]]
    cases += cases_of_shapes(args.shape or usual, args.dtype or usual_dtypes,
                             args.trans or ["nn"],
                             {"causal": args.causal,
                              "kv_heads": args.kv_heads,
                              "score": args.score},
                             args.backward, args.rows or ["softmax"],
                             **options)
    if cases:
        sets.append(command_line_set(cases, args.mode or ("graph", "loop")))
    return sets


def find_contradiction(args):
    """What is wrong with options beside each other or the shapes, and what is
    allowed; None: nothing."""
    attention = [parse_attention(s) for s in args.shape if parse_attention(s)]
    has_rows = any(s.count("x") == 1 for s in args.shape or USUAL_SHAPES)
    which, accuracy = getattr(args, "pass"), args.accuracy
    traded = TRADED[accuracy]
    for option, is_wrong, needs in (
            ("score", args.score and args.backward,
             "gradients have no score; leave out --backward"),
            ("pass", which != "forward" and not args.shapes,
             "needs --shapes with convolutions, such as conv_resnet50"),
            ("rows", args.rows and not has_rows, "needs a shape ROWSxCOLS"),
            ("kv-heads", args.kv_heads is not None and any(
                args.kv_heads < 1 or sizes[1] % args.kv_heads
                for sizes in attention),
             "must divide the heads of each shape"),
            ("accuracy", accuracy != "full" and (
                args.backward or which != "forward"),
             "must be full for gradients"),
            ("accuracy", accuracy != "full" and
             not set(args.dtype or traded) <= set(traded),
             "%s is of --dtype %s" % (accuracy, " and ".join(traded)))):
        if is_wrong:
            return "argument --%s: %s" % (option, needs)
    for option in "causal", "backward", "kv_heads", "score":
        if getattr(args, option) and not attention:
            return ("argument --%s: needs a shape BATCHxHEADSxNxD of attention"
                    % option.replace("_", "-"))
    return None


def parse_arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("shape", nargs="*", help="MxNxK or N: GEMM; ROWSxCOLS: rows; "
        "BATCHxHEADSxNxD: attention")
    add("--set", action="append", default=[],
        choices=["all"] + [s.name for s in SETS],
        help="cases with the ratios that they should reach")
    add("--shapes", action="append", default=[],
        help="a file of shapes, or the name of one in bench/cases/shapes: "
             "gemm_llm, conv_resnet50")
    add("--library", default="libcrosslane.so.0.1",
        help="libcrosslane; %s is searched in its folder" % CALLS_LIBRARY)
    add("--device", default="0", help="crosslane's device")
    add("--variant", help="crosslane's variant; needs shapes of one op")
    add("--dtype", action="append",
        choices=["f32", "f16", "bf16", "i8", "f8e4m3"])
    add("--trans", action="append", choices=list(TRANS))
    add("--layout", default="nchw", choices=list(LAYOUTS),
        help="of a convolution's images and filters; nhwc: channels_last")
    add("--pass", default="forward", choices=["forward"] + list(PASSES),
        help="of a convolution: its result or a gradient")
    add("--causal", action="store_true", help="of attention")
    add("--backward", action="store_true",
        help="of attention: the gradients of q, k and v")
    add("--kv-heads", type=int, help="of attention; as those of queries")
    add("--score", choices=list(SCORES),
        help="of attention: an expression, beside flex_attention")
    add("--rows", action="append", choices=KINDS,
        help="the function of rows; softmax")
    add("--accuracy", default="full", choices=list(ACCURACY),
        help="crosslane's; fast: cuBLAS uses TF32, or use_fast_accum")
    add("--epilogue", help="crosslane's; PyTorch computes addmm, then gelu")
    add("--mode", action="append", choices=["graph", "loop", "clblast", "plain"],
        help="the peers of given shapes")
    add("--rounds", type=int, default=9)
    add("--seed", type=int, default=1)
    add("--seconds", type=float, default=3000,
        help="for the whole run, divided among the cases")
    add("--limit", type=float, default=60,
        help="seconds after which a case counts as a hang of the device")
    add("--json", help="write all samples to this file, as clbench/1")
    add("--output", help="write one row a comparison to this file")
    add("--self-test", action="store_true",
        help="check crosslane and the files without PyTorch")
    args = parser.parse_args(words)
    wrong = find_contradiction(args)
    if wrong:
        parser.error(wrong)
    return args


def main():
    start = time.monotonic()
    args = parse_arguments()
    crosslane = Crosslane(args.library, args.device)
    print("crosslane on %s, %s" % (crosslane.fact_text("name"),
                                   crosslane.fact_text("platform")))
    if not crosslane.helper:
        print("%s is not found: calls are made from Python, which adds to "
              "the time of small products" % CALLS_LIBRARY)
    if args.self_test:
        self_test(crosslane)
        return
    torch = load_torch()
    print("PyTorch %s on %s; ratio: PyTorch's time over crosslane's, above 1 "
          "crosslane is faster" %
          (torch.__version__, torch.cuda.get_device_name()))
    results = GemmResults(crosslane, torch, args.rounds, args.seed, args.json,
                          args.output)
    try:
        run_sets(results, sets_of_arguments(args), args, start)
    except KeyboardInterrupt:
        print("\nstopped")
    results.finish()
    sys.exit(results.is_wrong)


if __name__ == "__main__":
    main()
