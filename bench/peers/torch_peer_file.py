# SPDX-License-Identifier: Apache-2.0
"""What is written: clbench's own format, with every sample, for `clbench
compare`; and a short one to keep (vendor-notes/data)."""
import datetime
import json
import os
import platform
import statistics
import sys

from torch_peer_ours import VERSION


def row_of(case, variant, device, ns, worst, seed):
    median = statistics.median(ns)
    shape = ",".join("%s=%d" % item for item in case.shape.items())
    params = ",".join("%s=%s" % item for item in case.params.items()) or "-"
    row_id = "%s/%s/%s/%s/%s/hot" % (case.op, variant, shape, params,
                                     case.dtype)
    wrong = not variant.startswith("peer_") and not worst <= 1
    return {
        "id": row_id.replace("/-/", "/"), "device": device, "op": case.op,
        "variant": variant, "shape": case.shape,
        "params": dict(case.params, **({"case": case.name}
                                       if case.name else {})),
        "seed": seed, "dtype": case.dtype, "runs": len(ns),
        "samples_ns": ns, "median_ns": median,
        "mad_ns": statistics.median(abs(t - median) for t in ns),
        "cache": "hot", "clock": "wall", "value": case.amount / median * 1e9,
        "unit": case.unit, "flop": case.flop, "bytes": case.bytes,
        "roof": None, "verdict": "rejected" if wrong else "ok",
        "reason": "error %.3g of its tolerance" % worst if wrong else None,
        "warnings": []}


def now():
    date = datetime.datetime.now(datetime.timezone.utc)
    return date.strftime("%Y-%m-%dT%H:%M:%SZ")


def document(ours, torch, rows, pairs, args):
    device = {"index": ours.so.xl_device_index(ours.dev), "facts": []}
    for name in ("name", "platform", "vendor", "driver", "uuid", "pci"):
        device[name] = ours.fact(name)
    return {
        "schema": "clbench/1",
        "tool": {"name": "torch_peer", "version": VERSION,
                 "torch": torch.__version__, "cuda": torch.version.cuda,
                 "cudnn": torch.backends.cudnn.version()},
        "host": {"system": platform.platform(), "cpus": os.cpu_count()},
        "environment": {"date": now(),
                        "peer_device": torch.cuda.get_device_name(),
                        "arguments": sys.argv[1:], "rounds": args.rounds},
        "devices": [device], "rows": rows, "pairs": pairs}


def kept(ours, torch, results, method):
    """The short form: one line a comparison."""
    return {
        "schema": "crosslane-data/1", "device": ours.fact("name"),
        "driver": ours.fact("driver"), "date": now(),
        "libraries": {"crosslane": VERSION, "torch": torch.__version__,
                      "cuda": torch.version.cuda},
        "method": method, "rows": [short(r) for r in results]}


def short(result):
    digits = {"ours_us": 3, "theirs_us": 3, "ratio": 4, "min": 4, "max": 4}
    return {k: round(v, digits[k]) if k in digits else v
            for k, v in result.items()}


def write_text(path, text):
    """Whole or not at all."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".part", path)


def write(path, what):
    write_text(path, json.dumps(what, indent=1) + "\n")


def write_kept(path, what):
    """A row is a line, so that versions of a file can be compared."""
    head = json.dumps(dict(what, rows=[]), indent=1)
    rows = ",\n".join("  " + json.dumps(row) for row in what["rows"])
    write_text(path, head.replace('"rows": []', '"rows": [\n%s\n ]' % rows) +
               "\n")
