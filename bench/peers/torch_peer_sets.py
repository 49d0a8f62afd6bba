# SPDX-License-Identifier: Apache-2.0
"""Sets of cases that belong together, and what each should reach."""
import math
import statistics

from torch_peer_cases import GELU, TRANS, cases_of_file, cases_of_words

HALVES = ("f16", "bf16")
TIE = 0.02


class Bar:
    """Theirs over ours, by the names of torch_peer_sides.py: of each case
    where theirs takes from_us, and the geometric mean; None: no bar."""

    def __init__(self, ours, theirs, each=None, mean=None, from_us=0):
        self.ours, self.theirs = ours, theirs
        self.each, self.mean, self.from_us = each, mean, from_us

    def name(self):
        """The side that is not the usual one."""
        return self.theirs if self.ours == "ours" else self.ours


class Set:
    """cases: a function that yields them; is_exact: errors must be no larger
    than a chain's; variant: of ours, None: the library's choice."""

    def __init__(self, name, title, cases, bars, is_exact=False,
                 variant=None):
        self.name, self.title, self.bars = name, title, bars
        self.cases, self.is_exact, self.variant = cases, is_exact, variant

    def sides(self):
        names = [n for bar in self.bars for n in (bar.ours, bar.theirs)]
        return list(dict.fromkeys(["ours"] + names))


def words(shapes, dtypes, transes=("nn",), **settings):
    return lambda: cases_of_words(shapes.split(), dtypes, transes, **settings)


LARGE = "2048 3072 4096 8192"
SETS = [
    Set("half", "f16 and bf16", words(LARGE, HALVES),
        [Bar("ours", "graph", each=1.0), Bar("ours", "loop")]),
    Set("small", "f16 and bf16, small",
        words("1024 1536", HALVES),
        [Bar("ours", "graph", each=0.92), Bar("ours", "loop", each=1.0),
         Bar("two", "graph", each=1.05)]),
    Set("odd", "f16 and bf16, sizes that fit nothing",
        words("1000 2049 4095", HALVES), [Bar("ours", "graph", each=0.9)]),
    Set("f32", "f32, TF32 off", words("2048 4096 8192", ["f32"]),
        [Bar("ours", "graph", each=1.05), Bar("ours", "clblast", each=1.6)]),
    Set("split", "f32 by parts beside cuBLAS in f32",
        words("4096 8192", ["f32"], accuracy="split"),
        [Bar("ours", "graph", each=3.5)], is_exact=True),
    Set("split6", "the same by parts in bf16",
        words("4096 8192", ["f32"], accuracy="split"),
        [Bar("ours", "graph", each=2.0)], is_exact=True,
        variant="gemm_split_bf16"),
    Set("tf32", "f32 rounded to 11 bits, TF32 on",
        words("4096 8192", ["f32"], accuracy="fast"),
        [Bar("ours", "graph")]),
    Set("i8", "i8 into i32 beside _int_mm",
        words("4096 8192", ["i8"], ["nt"]), [Bar("ours", "graph", each=0.95)]),
    Set("f8", "e4m3 beside _scaled_mm, use_fast_accum off",
        words("4096 8192", ["f8e4m3"], ["nt"]),
        [Bar("ours", "graph", each=0.95)]),
    Set("f8fast", "e4m3 beside _scaled_mm, use_fast_accum on",
        words("4096 8192", ["f8e4m3"], ["nt"], accuracy="fast"),
        [Bar("ours", "graph", each=0.95)]),
    Set("fusion", "gelu(y + bias) fused: beside the plain product, and "
        "beside addmm, then gelu", words("4096", ["f16"], epilogue=GELU),
        [Bar("ours", "plain", each=1 / 1.03), Bar("ours", "graph")]),
    Set("layout", "f16 and bf16, operands stored transposed",
        words(LARGE, HALVES, TRANS[1:]), [Bar("ours", "graph", each=0.98)]),
    Set("llm", "layers of language models, 16 rows and more",
        lambda: cases_of_file("gemm_llm", least_m=16),
        [Bar("ours", "graph", each=0.9, mean=1.03, from_us=30)]),
]


def chosen(names):
    """Sets by name, in the table's order; "all"."""
    return [s for s in SETS if s.name in names or "all" in names]


# -- what they came to --------------------------------------------------------


def standing(got, bar):
    """"yes", "tie" (within 2 % below), "no"; "-": there is no bar."""
    if bar is None:
        return "-"
    return "yes" if got >= bar else "tie" if got >= bar - TIE else "no"


def verdict_of(results, bar):
    """Of the results of one set that are this bar's: their number, geometric
    mean and worst, and how they stand against it."""
    mine = [r for r in results
            if (r["ours"], r["theirs"]) == (bar.ours, bar.theirs)]
    if not mine:
        return None
    mean = statistics.geometric_mean(r["ratio"] for r in mine)
    held = [r for r in mine if r["theirs_us"] >= bar.from_us]
    worst = min(held or mine, key=lambda r: r["ratio"])
    return {"n": len(mine), "mean": mean, "worst": worst,
            "each_met": standing(worst["ratio"], bar.each) if held else "-",
            "mean_met": standing(mean, bar.mean)}


def met_text(bar, v):
    """"mean 1.03 yes, each 0.90 tie"."""
    return ", ".join(
        (["mean %.2f %s" % (bar.mean, v["mean_met"])] if bar.mean else []) +
        (["each %.2f %s" % (bar.each, v["each_met"])] if bar.each else []))


def print_summary(results):
    """In 80 columns."""
    print("\nTheirs over ours, medians; a tie is less than %.0f %% below" %
          (100 * TIE))
    print("%-7s%-8s%3s %6s %6s %-19s%s" %
          ("set", "side", "n", "mean", "worst", "at", "bar"))
    for group in by_set(results):
        for bar in group.bars:
            v = verdict_of(results_of(results, group), bar)
            if v:
                print("%-7s%-8s%3d %6.3f %6.3f %-19.18s%s" %
                      (group.name, bar.name(), v["n"], v["mean"],
                       v["worst"]["ratio"], v["worst"]["case"],
                       met_text(bar, v)))
        print_errors(results_of(results, group), group)


def results_of(results, group):
    return [r for r in results if r["set"] == group.name]


def by_set(results):
    names = list(dict.fromkeys(r["set"] for r in results))
    table = {s.name: s for s in SETS}
    return [table.get(n) or own_set([]) for n in names]


def print_errors(results, group):
    for r in results:
        e = r.get("error")
        if e and r["theirs"] == "graph":
            met = ("" if not group.is_exact else ": met " +
                   ("yes" if e["ours"] <= e["chain"] else "no"))
            print("       %s error %.2e, theirs %.2e, a chain's %.2e%s" %
                  (r["case"], e["ours"], e.get("theirs", math.nan),
                   e["chain"], met))


def own_set(cases, modes=("graph", "loop")):
    """What the command line names."""
    return Set("own", "given", lambda: cases,
               [Bar("ours", mode) for mode in modes])
