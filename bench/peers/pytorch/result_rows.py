# SPDX-License-Identifier: Apache-2.0
"""The result files of both scripts: clbench's own format with every sample
(`clbench/1`, for `clbench compare`), and a short one to keep
(`crosslane-data/1`, see vendor-notes/README.md).

A case that rows are made of has these attributes; GemmCase, RowsCase and
ExprCase have them:

    op, unit       "gemm", "flop/s": the unit of the row's value
    shape, params  dictionaries in the order of the row's id
    title          the case's name in a file of shapes, or None
    dtype          "f32" ...
    flop, bytes    of one product or evaluation
    amount         flop or bytes: value = amount / time"""
import datetime
import json
import os
import platform
import statistics
import sys

from .crosslane_library import VERSION


def make_row(case, variant, i_device, ns, error=None, seed=1, n_launches=None):
    """A row of clbench/1. ns: samples in nanoseconds; error: of the result, 1
    is the most that is allowed, None: not checked."""
    median_ns = statistics.median(ns)
    shape = ",".join("%s=%d" % item for item in case.shape.items())
    params = ",".join("%s=%s" % item for item in case.params.items())
    parts = [case.op, variant, shape, params, case.dtype, "hot"]
    is_wrong = error is not None and not error <= 1
    row = {
        "id": "/".join(part for part in parts if part),
        "device": i_device, "op": case.op,
        "variant": variant, "shape": case.shape,
        "params": dict(case.params, **({"case": case.title}
                                       if case.title else {})),
        "seed": seed, "dtype": case.dtype, "runs": len(ns),
        "samples_ns": ns, "median_ns": median_ns,
        "mad_ns": statistics.median(abs(t - median_ns) for t in ns),
        "cache": "hot", "clock": "wall",
        "value": case.amount / median_ns * 1e9,
        "unit": case.unit, "flop": case.flop, "bytes": case.bytes,
        "roof": None, "verdict": "rejected" if is_wrong else "ok",
        "reason": "error %.3g of its tolerance" % error if is_wrong else None,
        "warnings": []}
    if n_launches is not None:
        row["launches"] = n_launches
    return row


def make_pair(row, peer_row, interval):
    """The ratio of two rows' times, as (median, low, high)."""
    ratio, low, high = interval
    return {"ours": row["id"], "theirs": peer_row["id"], "ratio": ratio,
            "lo": low, "hi": high}


def date_now():
    date = datetime.datetime.now(datetime.timezone.utc)
    return date.strftime("%Y-%m-%dT%H:%M:%SZ")


def make_document(crosslane, torch, rows, pairs, n_rounds):
    """A file of clbench/1."""
    device = {"index": crosslane.device_index(), "facts": []}
    for name in ("name", "platform", "vendor", "driver", "uuid", "pci"):
        device[name] = crosslane.fact_text(name)
    return {
        "schema": "clbench/1",
        "tool": {"name": "torch_peer", "version": VERSION,
                 "torch": torch.__version__, "cuda": torch.version.cuda,
                 "cudnn": torch.backends.cudnn.version()},
        "host": {"system": platform.platform(), "cpus": os.cpu_count()},
        "environment": {"date": date_now(),
                        "peer_device": torch.cuda.get_device_name(),
                        "arguments": sys.argv[1:], "rounds": n_rounds},
        "devices": [device], "rows": rows, "pairs": pairs}


def make_short_document(crosslane, torch, results, method):
    """A file of crosslane-data/1: one row a comparison."""
    return {
        "schema": "crosslane-data/1", "device": crosslane.fact_text("name"),
        "driver": crosslane.fact_text("driver"), "date": date_now(),
        "libraries": {"crosslane": VERSION, "torch": torch.__version__,
                      "cuda": torch.version.cuda},
        "method": method, "rows": [round_result(r) for r in results]}


def round_result(result):
    digits = {"ours_us": 3, "theirs_us": 3, "ratio": 4, "min": 4, "max": 4}
    return {k: round(v, digits[k]) if k in digits else v
            for k, v in result.items()}


def write_text(path, text):
    """Replaces the file as a whole: a reader never finds half of it."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".part", path)


def write_document(path, document):
    write_text(path, json.dumps(document, indent=1) + "\n")


def write_short_document(path, document):
    """One line a row, so that versions of a file compare by line."""
    head = json.dumps(dict(document, rows=[]), indent=1)
    rows = ",\n".join("  " + json.dumps(row) for row in document["rows"])
    write_text(path, head.replace('"rows": []', '"rows": [\n%s\n ]' % rows) +
               "\n")


def check_files(path, short_path=None):
    """For the self-tests: read the files again and compare what must agree.
    Returns (number of rows, number of pairs)."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    rows, pairs = document["rows"], document["pairs"]
    ids = [row["id"] for row in rows]
    checks = {
        "there are no rows": rows and pairs,
        "a row id occurs twice": len(set(ids)) == len(ids),
        "a pair names a row that does not exist":
            all({p["ours"], p["theirs"]} <= set(ids) for p in pairs),
        "a pair has no ratio":
            all(0 < p["lo"] <= p["ratio"] <= p["hi"] for p in pairs),
        "a row has no value":
            all(row["value"] > 0 and row["runs"] for row in rows),
        "a row is rejected": all(row["verdict"] == "ok" for row in rows)}
    if short_path:
        with open(short_path, encoding="utf-8") as file:
            short = json.load(file)
        checks["the short file has no rows"] = short["rows"]
    for problem, is_fine in checks.items():
        if not is_fine:
            sys.exit("result file: %s" % problem)
    return len(rows), len(pairs)
