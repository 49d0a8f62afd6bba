#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures of documents, from the files in vendor-notes/data.

figures.py check            is each figure in the documents that of its data?
figures.py write            write the figures into the documents
figures.py keep RUN NAME    keep the rows of a result file of clbench as
                            data/NAME.json
figures.py ship RUN NAME    the whole file as bench/reference_runs/NAME.json,
                            without the identity of a card, variables, paths

A document has its figures between <!-- figures: BLOCK --> and
<!-- end of figures -->; BLOCKS has how each is made. A run is measured anew by
the command in "method" of its data.
"""
import json
import math
import os
import re
import shlex
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
RUNS = os.path.join(HERE, os.pardir, "bench", "reference_runs")
DOCUMENTS = [os.path.join(HERE, os.pardir, "README.md"),
             os.path.join(HERE, os.pardir, "README.zh-CN.md"),
             os.path.join(HERE, "measured.md")]
MARK = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(<!-- end of figures -->)",
                  re.DOTALL)


def rows_of(name):
    with open(os.path.join(DATA, name + ".json"), encoding="utf-8") as file:
        return json.load(file)["rows"]


# -- numbers ------------------------------------------------------------------

def scaled(value, units, step=1e3):
    """Three digits, with the unit that leaves less than a step."""
    for unit in units[:-1]:
        if value < step - 0.5:
            break
        value /= step
    else:
        unit = units[-1]
    digits = max(0, 2 - int(math.floor(math.log10(value)))) if value > 0 else 0
    return f"{value:.{min(digits, 2)}f} {unit}"


def time(ns):
    return scaled(ns, ["ns", "us", "ms", "s"])


def value(row):
    unit = row["unit"]
    if unit == "s":
        return time(1e9 * row["value"])
    if unit == "1":
        return f"{row['value']:.3g}"
    name = "FLOP/s" if unit == "flop/s" else unit
    return scaled(row["value"], [unit, "k" + name, "M" + name, "G" + name,
                                 "T" + name])


def size(count, units=("B", "kB", "MB", "GB"), step=1e3):
    return scaled(count, list(units), step).replace(".0 ", " ")


def percent(share, digits=0):
    return "-" if share is None else f"{100 * share:.{digits}f} %"


# -- tables -------------------------------------------------------------------

def markdown(titles, align, lines):
    """A table; `align`: one of l and r for each column."""
    head = "|" + "|".join(f" {title} " if title else " "
                          for title in titles) + "|"
    rule = "|" + "|".join("---" if a == "l" else "--:" for a in align) + "|"
    return "\n".join([head, rule] +
                     ["| " + " | ".join(line).rstrip() + " |"
                      for line in lines]) + "\n"


def terminal(titles, align, lines):
    """A table as clbench prints it."""
    cells = [titles] + lines
    widths = [max(len(line[i]) for line in cells) for i in range(len(titles))]
    text = "\n".join(
        ("  " + "  ".join(f"{cell:{'<' if a == 'l' else '>'}{width}}"
                          for cell, a, width in zip(line, align, widths))
         ).rstrip() for line in cells)
    return f"```text\n{text}\n```\n"


def verdict(row):
    return ", ".join([row["verdict"]] + [f"`{w}`" for w in row["warnings"]])


# Columns of Markdown: alignment and cell.
COLUMNS = {
    "op": ("l", lambda row: "GEMM" if row["op"] == "gemm" else row["op"]),
    "probe": ("l", lambda row: row["op"].removeprefix("probe_")),
    "case": ("l", lambda row: row["case"]),
    "variant": ("l", lambda row: f"`{row['variant']}`"),
    "kernels": ("r", lambda row: str(row["kernels"])),
    "bytes moved": ("r", lambda row: size(row["bytes"])),
    "median": ("r", lambda row: time(row["median_ns"])),
    "MAD / median": ("r", lambda row: percent(row["mad"], 1)),
    "value": ("r", value),
    "rate": ("r", value),
    "share of the roof": ("r", lambda row: percent(row["roof"])),
    "speedup": ("r", lambda row: f"{row['gain']:.2f}" if row.get("gain")
                else ""),
    "limit": ("l", lambda row: row["limit"] or "-"),
    "verdict": ("l", verdict),
}


def rows_table(columns, *names, where=lambda row: True):
    """A block: the rows of the files, or those that `where` takes."""
    return lambda: markdown(
        columns, [COLUMNS[column][0] for column in columns],
        [[COLUMNS[column][1](row) for column in columns]
         for name in names for row in rows_of(name) if where(row)])


def is_of(*ops):
    return lambda row: row["op"] in ops


def readme_suite():
    return terminal(
        ["case", "variant", "median", "+-", "value", "roof", "limit",
         "verdict"], "llrrrrll",
        [[row["case"], row["variant"], time(row["median_ns"]),
          percent(row["mad"], 1).replace(" ", ""), value(row),
          percent(row["roof"]).replace(" ", ""), row["limit"], row["verdict"]]
         for row in rows_of("pocl-suite") if is_of("gemm")(row)])


# -- ratios to other libraries ------------------------------------------------

def each(values):
    return ", ".join(dict.fromkeys(f"{v:.2f}" for v in values))


def span(values):
    ends = dict.fromkeys(f"{v:.2f}" for v in (min(values), max(values)))
    return " to ".join(ends)


def mean(values):
    return f"{math.exp(sum(map(math.log, values)) / len(values)):.2f}"


def least(values):
    return f"{min(values):.2f}"


def tenths(values):
    return ", ".join(dict.fromkeys(f"{v:.1f}" for v in values))


def halves(kind, sizes):
    return [f"{dtype} {kind} {size}" for size in sizes
            for dtype in ("f16", "bf16")]


LLM = "f16 nt "  # how each case of the set begins
# Types, case and library as text; set, side, cases (None: all), and how.
RATIOS = [
    ("f16, bf16", "nn 2048", "cuBLAS, graph", "half", "graph",
     halves("nn", [2048]), each),
    ("f16, bf16", "nn 3072", "cuBLAS, graph", "half", "graph",
     halves("nn", [3072]), each),
    ("f16, bf16", "nn 4096", "cuBLAS, graph", "half", "graph",
     halves("nn", [4096]), each),
    ("f16, bf16", "nn 8192", "cuBLAS, graph", "half", "graph",
     halves("nn", [8192]), each),
    ("f16, bf16", "nn 2048, 3072, 4096, 8192", "cuBLAS, loop", "half", "loop",
     None, span),
    ("f16, bf16", "nt, tn, tt, 2048 to 8192", "cuBLAS, graph", "layout",
     "graph", None, span),
    ("f16, bf16", "nn 1024", "cuBLAS, graph", "small", "graph",
     halves("nn", [1024]), span),
    ("f16, bf16", "nn 1536", "cuBLAS, graph", "small", "graph",
     halves("nn", [1536]), span),
    ("f16, bf16", "nn 1024", "cuBLAS, loop", "small", "loop",
     halves("nn", [1024]), tenths),
    ("f16, bf16", "nn 1536", "cuBLAS, loop", "small", "loop",
     halves("nn", [1536]), tenths),
    ("f16, bf16", "nn 1000", "cuBLAS, graph", "odd", "graph",
     halves("nn", [1000]), span),
    ("f16, bf16", "nn 2049", "cuBLAS, graph", "odd", "graph",
     halves("nn", [2049]), tenths),
    ("f16, bf16", "nn 4095", "cuBLAS, graph", "odd", "graph",
     halves("nn", [4095]), tenths),
    ("f16", "nt, {n} layers of language models, 16 to 8192 rows, geometric "
     "mean", "cuBLAS, graph", "llm", "graph", None, mean),
    ("f16", "the worst of these layers ({worst})", "cuBLAS, graph", "llm",
     "graph", None, least),
    ("f16", "the worst of these layers where cuBLAS takes 30 us or more",
     "cuBLAS, graph", "llm", "graph", lambda row: row["theirs_us"] >= 30,
     least),
    ("f32", "nn 2048, 4096, 8192 on the FMA units", "cuBLAS, graph", "f32",
     "graph", None, lambda v: ", ".join(f"{x:.2f}" for x in v)),
    ("f32", "nn 2048, 4096, 8192 on the FMA units", "CLBlast", "f32",
     "clblast", None, tenths),
    ("f32 as two f16 terms, three products", "nn 4096, 8192",
     "cuBLAS in f32, graph", "split", "graph", None, tenths),
    ("f32 as three bf16 terms, six products", "nn 4096, 8192",
     "cuBLAS in f32, graph", "split6", "graph", None, tenths),
    ("f32 rounded to 11 bits", "nn 4096, 8192", "cuBLAS in TF32, graph",
     "tf32", "graph", None, each),
    ("i8", "nt 4096, 8192", "`torch._int_mm`, graph", "i8", "graph", None,
     tenths),
    ("f8e4m3", "nt 4096, 8192", "`torch._scaled_mm`, graph", "f8", "graph",
     None, each),
    ("f8e4m3, the engine's own sums", "nt 4096, 8192",
     "`torch._scaled_mm` with `use_fast_accum`, graph", "f8fast", "graph",
     None, each),
]


def h200_ratios():
    rows = rows_of("h200-gemm")
    lines = []
    for types, case, library, name, theirs, cases, how in RATIOS:
        found = [row for row in rows if row["set"] == name and
                 row["ours"] == "ours" and row["theirs"] == theirs and
                 (cases is None or (cases(row) if callable(cases)
                                    else row["case"] in cases))]
        worst = min(found, key=lambda row: row["ratio"])
        lines.append([types,
                      case.format(n=len(found),
                                  worst=worst["case"].removeprefix(LLM)),
                      library, how([row["ratio"] for row in found])])
    return markdown(["types", "case", "other library", "ratio"], "lllr", lines)


TIMED = ["case", "variant", "median", "MAD / median", "rate",
         "share of the roof"]
JUDGED = [*TIMED, "limit", "verdict"]
EXPRESSION = ["variant", "kernels", "bytes moved", "median", "rate",
              "share of the roof", "speedup"]
BLOCKS = {
    "readme-suite": readme_suite,
    "pocl-suite": rows_table(["op", *TIMED], "pocl-suite",
                             where=is_of("gemm", "softmax")),
    "pocl-expression": rows_table(EXPRESSION, "pocl-expression"),
    "h200-suite": rows_table(JUDGED, "h200-suite", where=is_of("gemm")),
    "h200-ratios": h200_ratios,
    "h100-probes": rows_table(
        ["probe", "case", "variant", "value", "verdict"], "h100-probes",
        where=is_of(*("probe_" + name for name in (
            "bandwidth", "cache", "flops", "ints", "matrix", "special", "dot",
            "launch", "sync", "switch", "build")))),
    "h100-softmax": rows_table(JUDGED, "h100-softmax"),
    "h100-norm": rows_table(JUDGED, "h100-norm"),
    "h100-attention": rows_table(JUDGED, "h100-attention"),
    "h100-expressions": rows_table(["case", *EXPRESSION], "h100-expressions"),
    "h100-convolution": rows_table(JUDGED, "h100-convolution"),
    "h100-pipeline": rows_table(["case", "variant", "median", "MAD / median",
                                 "verdict"], "h100-pipeline"),
}


# -- commands -----------------------------------------------------------------

def filled(text):
    return MARK.sub(lambda m: m[1] + BLOCKS[m[2]]() + m[3], text)


def documents(is_written):
    used, wrong = set(), 0
    for path in DOCUMENTS:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        used |= {m[2] for m in MARK.finditer(text)}
        made = filled(text)
        if made == text:
            continue
        wrong += 1
        if is_written:
            with open(path, "w", encoding="utf-8") as file:
                file.write(made)
            continue
        for old, new in zip(text.splitlines(), made.splitlines()):
            if old != new:
                print(f"{os.path.relpath(path)}: is\n  {old}\nby its data\n"
                      f"  {new}")
                break
    for name in BLOCKS.keys() - used:
        print(f"no document has the figures {name}")
    return 0 if is_written else wrong + len(BLOCKS.keys() - used)


def settings(row):
    """What was set, without what the run found."""
    return {name: x for name, x in row["params"].items()
            if name not in row["found"]}


def label(row, shared):
    """Sizes, settings but those of `shared`, and type of a row."""
    sizes, own = dict(row["shape"]), settings(row)
    batch = sizes.pop("batch") if [*sizes][-1:] == ["batch"] else 1
    text = "x".join(f"{x:.0f}" for x in sizes.values())
    if len(sizes) == 3 and len(set(sizes.values())) == 1:
        text = text.split("x", 1)[0] + "^3"
    if [*sizes] == ["bytes"]:
        text = size(sizes["bytes"], ("B", "KiB", "MiB", "GiB"), 1024)
    words = [own.pop("case", None), text, f"x{batch:.0f}" if batch > 1 else "",
             *(f"{name}={x}" for name, x in own.items()
               if (name, x) not in shared),
             row["dtype"], "cold" if row["cache"] == "cold" else ""]
    return " ".join(filter(None, words)) or "-"


# Options that change no result, and values that mean as much.
NO_CONDITIONS = {"device", "json", "csv", "markdown", "html", "svg", "trace"}
DEFAULTS = (("seed", 1), ("roofs", "kept"), ("accuracy", "full"))


def command(doc):
    """The command line that measures the file anew."""
    words = ["clbench", doc["tool"]["command"].replace("suite", ""),
             *doc["environment"]["arguments"]]
    for name, given in doc["environment"]["options"].items():
        if given and name not in NO_CONDITIONS and \
                (name, given) not in DEFAULTS:
            for x in given if isinstance(given, list) else [given]:
                words += ["--" + name] + [str(x)] * (x is not True)
    return shlex.join(filter(None, words))


def keep(run, name):
    with open(run, encoding="utf-8") as file:
        doc = json.load(file)
    device = doc["devices"][0]
    out = {"schema": "crosslane-data/1", "device": device["name"],
           "driver": device["driver"], "date": doc["environment"]["date"],
           "libraries": {"crosslane": doc["tool"]["library"]},
           "method": f"{command(doc)}; {doc['state']['text']}"}
    shared = {}  # the settings that all rows of an op have
    for row in doc["rows"]:
        own = set(settings(row).items())
        shared[row["op"]] = shared.get(row["op"], own) & own
    rows = [{"op": row["op"], "case": label(row, shared[row["op"]]),
             "variant": row["variant"], "median_ns": row["median_ns"],
             "mad": row["median_ns"] and row["mad_ns"] / row["median_ns"],
             "value": row["value"], "unit": row["unit"],
             "bytes": row["bytes"],
             **{name: row["params"][name] for name in row["found"]},
             "roof": (row["roof"] or {}).get("frac"),
             "limit": (row["diagnosis"] or {}).get("limiter"),
             "verdict": row["verdict"], "warnings": row["warnings"]}
            for row in doc["rows"]
            if row["value"] is not None and "curve" not in row["params"]]
    write(os.path.join(DATA, name + ".json"), out, rows)
    return 0


def ship(run, name):
    with open(run, encoding="utf-8") as file:
        doc = json.load(file)
    for device in doc["devices"]:
        device.update(uuid=None, pci=None)
        device["facts"] = [fact for fact in device["facts"]
                           if fact["name"] not in ("uuid", "pci")]
    doc["environment"]["variables"] = {}
    doc["environment"]["options"].update(
        dict.fromkeys(NO_CONDITIONS & doc["environment"]["options"].keys()))
    doc["host"]["kernel"] = None
    write(os.path.join(RUNS, name + ".json"), doc, doc.pop("rows"))
    return 0


def write(path, head, rows):
    """One row a line."""
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    text = json.dumps({**head, "rows": 0}, indent=1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace('"rows": 0', f'"rows": [\n{lines}\n ]') + "\n")


def main(words):
    if words in (["check"], ["write"]):
        return min(1, documents(words == ["write"]))
    if len(words) == 3 and words[0] in ("keep", "ship"):
        return {"keep": keep, "ship": ship}[words[0]](*words[1:])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
