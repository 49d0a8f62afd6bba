# SPDX-License-Identifier: Apache-2.0
"""Sets of cases with the speed that crosslane should reach beside its peers,
and the summary that compares results with these targets."""
import math
import statistics

from .gemm_cases import GELU, TRANS, cases_of_file, cases_of_shapes

HALVES = ("f16", "bf16")
TIE_FRAC = 0.02


class Target:
    """A ratio, the peer's time over the library's, by the names of
    gemm_libraries.py. `each`: the least ratio of every case that takes the
    peer from_us or more; `mean`: the least geometric mean; None: no target,
    the ratio is only printed."""

    def __init__(self, library, peer, each=None, mean=None, from_us=0):
        self.library, self.peer = library, peer
        self.each, self.mean, self.from_us = each, mean, from_us

    def name(self):
        """The one of the two that is not crosslane's usual call."""
        return self.peer if self.library == "ours" else self.library


class CaseSet:
    """cases: a function that yields them; is_exact: errors must not exceed
    those of a chain of FMAs; variant: crosslane's, None: the library's
    choice."""

    def __init__(self, name, title, cases, targets, is_exact=False,
                 variant=None):
        self.name, self.title, self.targets = name, title, targets
        self.cases, self.is_exact, self.variant = cases, is_exact, variant

    def library_names(self):
        """All that are timed; "ours" is first."""
        names = [n for t in self.targets for n in (t.library, t.peer)]
        return list(dict.fromkeys(["ours"] + names))


def shapes(text, dtypes, transes=("nn",), **options):
    return lambda: cases_of_shapes(text.split(), dtypes, transes, **options)


LARGE = "2048 3072 4096 8192"
SETS = [
    CaseSet("half", "f16 and bf16", shapes(LARGE, HALVES),
            [Target("ours", "graph", each=1.0), Target("ours", "loop")]),
    CaseSet("small", "f16 and bf16, small", shapes("1024 1536", HALVES),
            [Target("ours", "graph", each=0.92),
             Target("ours", "loop", each=1.0),
             Target("two", "graph", each=1.05)]),
    CaseSet("odd", "f16 and bf16, sizes that no tile divides",
            shapes("1000 2049 4095", HALVES),
            [Target("ours", "graph", each=0.9)]),
    CaseSet("f32", "f32, TF32 off", shapes("2048 4096 8192", ["f32"]),
            [Target("ours", "graph", each=1.05),
             Target("ours", "clblast", each=1.6)]),
    CaseSet("split", "f32 split into terms, beside cuBLAS in f32",
            shapes("4096 8192", ["f32"], accuracy="split"),
            [Target("ours", "graph", each=3.5)], is_exact=True),
    CaseSet("split6", "the same with terms in bf16",
            shapes("4096 8192", ["f32"], accuracy="split"),
            [Target("ours", "graph", each=2.0)], is_exact=True,
            variant="gemm_split_bf16"),
    CaseSet("tf32", "f32 rounded to 11 bits, TF32 on",
            shapes("4096 8192", ["f32"], accuracy="fast"),
            [Target("ours", "graph")]),
    CaseSet("i8", "i8 into i32 beside _int_mm",
            shapes("4096 8192", ["i8"], ["nt"]),
            [Target("ours", "graph", each=0.95)]),
    CaseSet("f8", "e4m3 beside _scaled_mm, use_fast_accum off",
            shapes("4096 8192", ["f8e4m3"], ["nt"]),
            [Target("ours", "graph", each=0.95)]),
    CaseSet("f8fast", "e4m3 beside _scaled_mm, use_fast_accum on",
            shapes("4096 8192", ["f8e4m3"], ["nt"], accuracy="fast"),
            [Target("ours", "graph", each=0.95)]),
    CaseSet("fusion", "gelu(y + bias) fused: beside the plain product, and "
            "beside addmm, then gelu",
            shapes("4096", ["f16"], epilogue=GELU),
            [Target("ours", "plain", each=1 / 1.03),
             Target("ours", "graph")]),
    CaseSet("layout", "f16 and bf16, operands stored transposed",
            shapes(LARGE, HALVES, TRANS[1:]),
            [Target("ours", "graph", each=0.98)]),
    CaseSet("llm", "layers of language models, 16 rows and more",
            lambda: cases_of_file("gemm_llm", least_m=16),
            [Target("ours", "graph", each=0.9, mean=1.03, from_us=30)]),
]


def select_sets(names):
    """Sets by name, in the table's order; "all" selects every one."""
    return [s for s in SETS if s.name in names or "all" in names]


def command_line_set(cases, peers=("graph", "loop")):
    """The cases that the command line names, as a set without targets."""
    return CaseSet("own", "given", lambda: cases,
                   [Target("ours", peer) for peer in peers])


# -- summary ------------------------------------------------------------------


def compare_with_target(ratio, target):
    """"yes", "tie" (less than 2 % below), "no"; "-": there is no target."""
    if target is None:
        return "-"
    if ratio >= target:
        return "yes"
    return "tie" if ratio >= target - TIE_FRAC else "no"


def summarise_target(results, target):
    """The results that a target is about: their number, geometric mean and
    worst case, and whether they reach it. None: there are none."""
    own = [r for r in results
           if (r["ours"], r["theirs"]) == (target.library, target.peer)]
    if not own:
        return None
    mean = statistics.geometric_mean(r["ratio"] for r in own)
    long = [r for r in own if r["theirs_us"] >= target.from_us]
    worst = min(long or own, key=lambda r: r["ratio"])
    return {"n": len(own), "mean": mean, "worst": worst,
            "each_reached": (compare_with_target(worst["ratio"], target.each)
                             if long else "-"),
            "mean_reached": compare_with_target(mean, target.mean)}


def target_text(target, summary):
    """"mean 1.03 yes, each 0.90 tie"."""
    texts = []
    if target.mean:
        texts.append("mean %.2f %s" % (target.mean, summary["mean_reached"]))
    if target.each:
        texts.append("each %.2f %s" % (target.each, summary["each_reached"]))
    return ", ".join(texts)


def print_summary(results):
    """In 80 columns."""
    print("\nPeer's time over crosslane's, medians; tie: less than %.0f %% "
          "below the target" % (100 * TIE_FRAC))
    print("%-7s%-8s%3s %6s %6s %-19s%s" %
          ("set", "peer", "n", "mean", "worst", "case", "target"))
    for case_set in sets_of_results(results):
        own = [r for r in results if r["set"] == case_set.name]
        for target in case_set.targets:
            summary = summarise_target(own, target)
            if summary:
                print("%-7s%-8s%3d %6.3f %6.3f %-19.18s%s" %
                      (case_set.name, target.name(), summary["n"],
                       summary["mean"], summary["worst"]["ratio"],
                       summary["worst"]["case"],
                       target_text(target, summary)))
        print_norm_errors(own, case_set.is_exact)


def sets_of_results(results):
    names = dict.fromkeys(r["set"] for r in results)
    table = {s.name: s for s in SETS}
    return [table.get(n) or command_line_set([]) for n in names]


def print_norm_errors(results, is_exact):
    for r in results:
        error = r.get("error")
        if not error or r["theirs"] != "graph":
            continue
        reached = ""
        if is_exact:
            reached = (": reached yes" if error["ours"] <= error["chain"]
                       else ": reached no")
        print("       %s error %.2e, peer's %.2e, a chain's %.2e%s" %
              (r["case"], error["ours"], error.get("theirs", math.nan),
               error["chain"], reached))
