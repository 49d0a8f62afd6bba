#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fused expressions beside PyTorch, eager and through torch.compile, on one
GPU: four sides, ours fused and one kernel per operation, take turns on the
same random data in one run. Needs PyTorch with CUDA, libcrosslane (called
through ctypes by torch_peer_ours.py) and clbench, which tells the cases.
`--self-test` runs our side alone, on any OpenCL device, without PyTorch."""
import argparse
import array
import ctypes as ct
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import time

from torch_expr_cases import EXACT, MADE_UP, THEIRS, load_torch, parameters
from torch_peer_file import document, row_of as peer_row, write
from torch_peer_ours import (BYTES, DTYPES, STRUCTS, Binding, Mem, Ours,
                             Tensor)
from torch_peer_rounds import Side, interval, take_turns

SIDES = ("expr_fused", "expr_unfused", "peer_torch_eager",
         "peer_torch_compile")
# Largest error over |value| + its mean, beyond which a result is wrong.
CLOSE = {"f32": 5e-5, "f16": 2e-3, "bf16": 1.6e-2}


class Args(ct.Structure):
    _fields_ = [("bindings", ct.POINTER(Binding)), ("n_bindings", ct.c_uint),
                ("fast_math", ct.c_bool), ("variant", ct.c_char_p),
                ("workspace", Mem)]


class Kernel(ct.Structure):
    _fields_ = [("name", ct.c_char_p), ("computes", ct.c_char_p),
                ("why", ct.c_char_p), ("source", ct.c_char_p),
                ("flop", ct.c_double), ("bytes", ct.c_double),
                ("global_size", ct.c_size_t * 3), ("wg", ct.c_size_t * 3)]


EACH = ct.CFUNCTYPE(None, ct.POINTER(Kernel), ct.c_void_p)
STRUCTS.update({"expr_args": Args, "expr_kernel": Kernel})


class OursExpr(Ours):
    """libcrosslane with expressions."""

    def declare(self):
        super().declare()
        p = ct.c_void_p
        calls = {"xl_expr_compile": (ct.c_int, [p, ct.c_char_p, p, p]),
                 "xl_expr_run": (ct.c_int, [p, p, p, p]),
                 "xl_expr_kernels": (ct.c_int, [p, p, p, EACH, p]),
                 "xl_expr_destroy": (None, [p]),
                 "xl_peaks_measure": (ct.c_int, [p, ct.c_int])}
        for name, (result, arguments) in calls.items():
            call = getattr(self.so, name)
            call.restype, call.argtypes = result, arguments

    def measured(self, name):
        self.must(self.so.xl_peaks_measure(self.q, DTYPES["f32"]))
        return self.asked(name).value

    def compile(self, text, args):
        expr = ct.c_void_p()
        self.must(self.so.xl_expr_compile(self.q, text.encode(),
                                          ct.byref(args), ct.byref(expr)))
        return expr

    def launches(self, expr, args):
        names = []
        each = EACH(lambda k, _: names.append(k.contents.name.decode()))
        self.must(self.so.xl_expr_kernels(self.q, expr, ct.byref(args), each,
                                          None))
        return len(names)

    def evaluate(self, expr, args):
        self.must(self.so.xl_expr_run(self.q, expr, ct.byref(args), None))


# -- one expression ------------------------------------------------------------


class View:
    """What a name is bound to: "4096x64:f16" as clbench spells it. Layouts
    of small cases are clbench's own affair: here all are dense."""

    def __init__(self, spelled):
        size, *rest = spelled.split(":")
        self.size = [int(float(n)) for n in size.split("x")]
        self.dtype = next((r for r in rest if r in DTYPES), "f32")
        self.elems = math.prod(self.size)
        self.bytes = self.elems * BYTES[self.dtype]

    def tensor(self, mem):
        t = Tensor(mem=Mem(mem, None), n_dims=len(self.size),
                   dtype=DTYPES[self.dtype])
        step = 1
        for d in reversed(range(len(self.size))):
            t.size[d], t.stride[d] = self.size[d], step
            step *= self.size[d]
        return t


def pairs(spelled):
    """"x=1,y=2" as a dictionary."""
    return dict(item.split("=", 1) for item in (spelled or "").split(",")
                if item)


class Case:
    op, unit = "expr", "B/s"

    def __init__(self, row, shapes):
        self.name, self.text = row["name"], row["text"]
        self.views = {k: View(v) for k, v in pairs(shapes).items()}
        self.scalars = {k: float(v.split(":")[0])
                        for k, v in pairs(row.get("scalars")).items()}
        self.ranges = pairs(row.get("ranges"))
        assigned = re.findall(r"(?:^|;)\s*(\w+)(?:\[[^]]*\])?\s*=(?!=)",
                              self.text) or ["out"]
        last = self.text.split(";")[-1]
        if not re.match(r"\s*\w+(?:\[[^]]*\])?\s*=(?!=)", last):
            assigned.append("out")
        self.outputs = [n for n in dict.fromkeys(assigned) if n in self.views]
        self.takes = [n for n in parameters(self.name) if n in self.views]
        self.dtype = self.views[self.outputs[0]].dtype
        self.bytes = (sum(self.views[n].bytes for n in self.takes) +
                      sum(self.views[n].bytes for n in self.outputs))
        self.reads_most = (sum(self.views[n].bytes for n in self.outputs) *
                           100 < self.bytes)

    def args(self, mems, variant):
        names = list(self.views) + list(self.scalars)
        b = (Binding * len(names))()
        for i, name in enumerate(names):
            b[i].name = name.encode()
            if name in self.views:
                b[i].tensor = self.views[name].tensor(mems[name])
            else:
                b[i].is_scalar, b[i].scalar = True, self.scalars[name]
        args = Args(bindings=b, n_bindings=len(names),
                    variant=variant.encode())
        args.keep = b
        return args

    def limits(self, name):
        """(low, high) of a uniform input, "index", or None: by its type."""
        spelled = self.ranges.get(name)
        if spelled in (None, "index"):
            return spelled
        low, high = spelled.split(":")
        return float(low), float(high)


def read_cases(args):
    """clbench has the table; what is here besides are long reductions."""
    done = subprocess.run([args.clbench, "expr", "--list", "--json", "-"],
                          stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit("torch_expr: %s does not list its cases" % args.clbench)
    rows = json.loads(done.stdout)["cases"]
    shapes = "small" if args.self_test else "timed"
    rows = [r for r in rows if r.get(shapes)]
    rows += MADE_UP[shapes]
    unknown = [r["name"] for r in rows if r["name"] not in THEIRS]
    if unknown:
        print("no counterpart: " + ", ".join(unknown))
    return [Case(r, r[shapes]) for r in rows if r["name"] in THEIRS and
            (not args.case or r["name"] in args.case)]


# -- beside PyTorch ------------------------------------------------------------


def make_input(torch, case, name):
    """Random values on the host, as they are in memory."""
    view, limits = case.views[name], case.limits(name)
    dtype = theirs_of(torch, view.dtype)
    if limits == "index":
        row = torch.arange(view.size[-1], dtype=dtype)
        return row.expand(view.size).contiguous()
    if view.dtype == "bool":
        return torch.rand(view.size) < 0.5
    if view.dtype in ("i32", "i8", "u8"):
        low, high = limits or (0, 100)
        return torch.randint(int(low), int(high) + 1, view.size, dtype=dtype)
    if limits:
        low, high = limits
        return (torch.rand(view.size) * (high - low) + low).to(dtype)
    return torch.randn(view.size).to(dtype)


def theirs_of(torch, dtype):
    return {"f32": torch.float32, "f16": torch.float16,
            "bf16": torch.bfloat16, "i32": torch.int32, "i8": torch.int8,
            "u8": torch.uint8, "bool": torch.bool}[dtype]


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def counterpart(torch, case):
    """The case in PyTorch, its results of our types and shapes."""
    types = [theirs_of(torch, case.views[n].dtype) for n in case.outputs]
    scalars = {n: v for n, v in case.scalars.items()
               if n in parameters(case.name)}
    function = THEIRS[case.name]

    def call(*tensors):
        results = as_tuple(function(*tensors, **scalars))
        return tuple(r.to(t) for r, t in zip(results, types))
    return call


def exact(torch, case, tensors):
    """In double, of the values that are in memory."""
    function = EXACT.get(case.name, THEIRS[case.name])
    scalars = {n: v for n, v in case.scalars.items()
               if n in parameters(case.name)}
    wide = [t.double() if t.is_floating_point() else t for t in tensors]
    return as_tuple(function(*wide, **scalars))


def error(torch, case, got, want):
    """Largest error of one result over what is allowed: 1 is the limit."""
    if got.dtype in (torch.int8, torch.uint8, torch.int32, torch.bool):
        # Rounding may fall either way where the value is a tie, but for it.
        off = (got.long() - want.long()).abs()
        far = off.max().item() > 1 and case.name not in EXACT
        return 2.0 if far else 1e3 * (off > 0).double().mean().item()
    got, want = got.double().reshape(want.shape), want.double()
    both = torch.isnan(got) == torch.isnan(want)
    if not bool(both.all()):
        return math.inf
    size = want.abs() + want.abs().nanmean()
    off = torch.where(got == want, 0, (got - want).abs() / size)
    close = CLOSE[{torch.float32: "f32", torch.float16: "f16",
                   torch.bfloat16: "bf16"}[out_dtype(torch, case)]]
    return torch.nan_to_num(off, nan=0.0).max().item() / close


def out_dtype(torch, case):
    """The narrowest float among what is written: what eager rounds to."""
    names = [case.views[n].dtype for n in case.outputs + case.takes]
    for dtype in ("bf16", "f16", "f32"):
        if dtype in names:
            return theirs_of(torch, dtype)
    return torch.float32


def judge(torch, case, got, want):
    """Random numbers differ between libraries: what is told of a dropout is
    that as many are kept, and that those are scaled."""
    if case.name != "dropout":
        return max(error(torch, case, g, w) for g, w in zip(got, want))
    kept = (got[0] != 0).double().mean().item()
    p = case.scalars["p"]
    n = got[0].numel()
    return abs(kept - (1 - p)) / (6 * math.sqrt(p * (1 - p) / n))


class Duel:
    """One case with its memory on all sides."""

    def __init__(self, ours, torch, case):
        self.ours, self.torch, self.case = ours, torch, case
        host = {n: make_input(torch, case, n) for n in case.takes}
        self.x = [host[n].cuda() for n in case.takes]
        self.mems = {}
        for name, view in case.views.items():
            at = host[name].data_ptr() if name in host else None
            self.mems[name] = ours.buffer(view.bytes, at)
        self.args, self.expr = {}, {}
        for side in SIDES[:2]:
            self.args[side] = case.args(self.mems, side)
            self.expr[side] = ours.compile(case.text, self.args[side])
        self.host = host

    def close(self):
        for expr in self.expr.values():
            self.ours.so.xl_expr_destroy(expr)
        for mem in self.mems.values():
            self.ours.release(mem)
        self.x = None
        self.torch.cuda.empty_cache()

    def results(self, side):
        """Ours, from inputs that are as they were."""
        torch, case, ours = self.torch, self.case, self.ours
        for name in case.outputs:
            if name in self.host:
                t = self.host[name]
                ours.must(ours.so.xl_buffer_write(
                    ours.q, self.mems[name], 0, t.data_ptr(),
                    case.views[name].bytes))
        ours.evaluate(self.expr[side], self.args[side])
        out = []
        for name in case.outputs:
            view = case.views[name]
            back = torch.empty(view.size, dtype=theirs_of(torch, view.dtype))
            ours.read(self.mems[name], back.data_ptr(), view.bytes)
            out.append(back.cuda())
        return out

    def calls(self):
        """What runs on each side; a side that PyTorch lacks is left out."""
        torch, ours = self.torch, self.ours
        eager = counterpart(torch, self.case)
        sides = {side: Side.of_call(
            lambda s=side: ours.evaluate(self.expr[s], self.args[s]),
            ours.finish) for side in SIDES[:2]}
        sides[SIDES[2]] = Side.of_call(lambda: eager(*self.x),
                                       torch.cuda.synchronize)
        try:
            torch._dynamo.reset()
            made = torch.compile(eager, dynamic=False)
            made(*self.x)
            made(*self.x)
            sides[SIDES[3]] = Side.of_call(lambda: made(*self.x),
                                           torch.cuda.synchronize)
        except Exception as why:  # what a compiler throws is its own affair
            print("  torch.compile: %s: %.100s" %
                  (type(why).__name__, str(why).split("\n")[0]))
        return sides

    def check(self, sides):
        want = exact(self.torch, self.case, self.x)
        worst = {s: judge(self.torch, self.case, self.results(s), want)
                 for s in SIDES[:2]}
        for side in SIDES[2:]:
            if side in sides:
                worst[side] = judge(self.torch, self.case,
                                    sides[side].call(), want)
        return worst


def row_of(case, side, index, ns, worst, seed, launches):
    row = peer_row(Row(case), side, index, ns, worst, seed)
    row["verdict"] = "ok" if worst <= 1 else "rejected"
    row["reason"] = (None if worst <= 1 else
                     "error %.3g of its tolerance" % worst)
    if launches is not None:
        row["launches"] = launches
    return row


class Row:
    """A case as rows want it."""

    def __init__(self, case):
        self.op, self.unit = case.op, case.unit
        self.shape = {n: v.elems for n, v in case.views.items()}
        self.params = {"case": case.name}
        self.dtype, self.flop = case.dtype, 0
        self.bytes = self.amount = case.bytes


def show(case, times, ratios, worst, launches, ceiling):
    ms = ["%9.3f" % (sorted(times[s])[len(times[s]) // 2] / 1e6)
          if s in times else "        -" for s in SIDES]
    rate = case.bytes / (sorted(times[SIDES[0]])[len(times[SIDES[0]]) // 2])
    beside = ["%6.2f" % ratios[s][0] if s in ratios else "     -"
              for s in SIDES[1:]]
    wrong = [s for s in worst if not worst[s] <= 1]
    print("%-20s %s %8.0f %4.0f%%  %s  %2d %3d%s" %
          (case.name, " ".join(ms), rate, 100 * rate / ceiling * 1e9,
           " ".join(beside), launches[SIDES[0]], launches[SIDES[1]],
           "  WRONG: " + ", ".join(wrong) if wrong else ""), flush=True)


def one_case(ours, torch, case, args, ceilings):
    torch.manual_seed(args.seed)
    duel = Duel(ours, torch, case)
    try:
        sides = duel.calls()
        worst = duel.check(sides)
        launches = {s: ours.launches(duel.expr[s], duel.args[s])
                    for s in SIDES[:2]}
        times = take_turns(sides, args.rounds,
                           time.monotonic() + args.case_time, args.seed)
    finally:
        duel.close()
    ratios = {s: interval([b / a for a, b in zip(times[SIDES[0]], times[s])])
              for s in times if s != SIDES[0]}
    show(case, times, ratios, worst, launches,
         ceilings["read" if case.reads_most else "copy"])
    index = ours.so.xl_device_index(ours.dev)
    rows = {s: row_of(case, s, index, times[s], worst[s], args.seed,
                      launches.get(s)) for s in times}
    pairs_made = [{"ours": rows[SIDES[0]]["id"], "theirs": rows[s]["id"],
                   "ratio": r, "lo": lo, "hi": hi}
                  for s, (r, lo, hi) in ratios.items()]
    return list(rows.values()), pairs_made


def beside_torch(ours, cases, args):
    torch = load_torch()
    begun = time.monotonic()
    ceilings = {"copy": ours.measured("copy_bytes_per_s"),
                "read": ours.measured("read_bytes_per_s")}
    print("PyTorch %s on %s; copy %.0f GB/s, read %.0f GB/s" %
          (torch.__version__, torch.cuda.get_device_name(),
           ceilings["copy"] / 1e9, ceilings["read"] / 1e9))
    print("ms of ours fused, unfused, eager, compiled; GB/s of fused and "
          "percent of copy (of read, where little is written);\n"
          "time over fused of unfused, eager, compiled: above 1 ours is the "
          "faster; kernels fused, unfused", flush=True)
    rows, made = [], []
    for case in cases:
        if time.monotonic() - begun > args.max_time:
            print("out of time before %s" % case.name)
            break
        more, more_pairs = one_case(ours, torch, case, args, ceilings)
        rows, made = rows + more, made + more_pairs
        if args.json:
            write(args.json, document(ours, torch, rows, made, args))
    return any(r["verdict"] != "ok" for r in rows)


# -- our side alone ------------------------------------------------------------


PACK = {"f32": lambda x: struct.pack("<f", x),
        "f16": lambda x: struct.pack("<e", x),
        "bf16": lambda x: struct.pack("<f", x)[2:],
        "i32": lambda x: struct.pack("<i", int(x)),
        "i8": lambda x: struct.pack("<b", int(x)),
        "u8": lambda x: struct.pack("<B", int(x)),
        "bool": lambda x: struct.pack("<B", int(x))}
CODES = {"f32": "f", "i32": "i", "i8": "b", "u8": "B", "bool": "B"}


def unpack(raw, dtype):
    if dtype == "f16":
        return [v[0] for v in struct.iter_unpack("<e", raw)]
    if dtype == "bf16":
        return [struct.unpack("<f", b"\0\0" + raw[i:i + 2])[0]
                for i in range(0, len(raw), 2)]
    return list(array.array(CODES[dtype], raw))


def plain_input(rng, case, name):
    view, limits = case.views[name], case.limits(name)
    pack = PACK[view.dtype]
    if limits == "index":
        values = [i % view.size[-1] for i in range(view.elems)]
    elif limits:
        values = [rng.uniform(*limits) for _ in range(view.elems)]
    elif view.dtype in ("f32", "f16", "bf16"):
        values = [rng.gauss(0, 1) for _ in range(view.elems)]
    else:
        values = [rng.randrange(2 if view.dtype == "bool" else 100)
                  for _ in range(view.elems)]
    return b"".join(map(pack, values))


def alone(ours, case, rng):
    """Both variants on the same data: the largest difference, beside the
    values' size."""
    raw = {n: plain_input(rng, case, n) for n in case.views}
    results, launches = [], []
    for side in SIDES[:2]:
        mems = {n: ours.buffer(len(r), ct.cast(ct.c_char_p(r), ct.c_void_p))
                for n, r in raw.items()}
        args = case.args(mems, side)
        expr = ours.compile(case.text, args)
        ours.evaluate(expr, args)
        launches.append(ours.launches(expr, args))
        got = []
        for name in case.outputs:
            back = ct.create_string_buffer(case.views[name].bytes)
            ours.read(mems[name], ct.cast(back, ct.c_void_p), len(back))
            got += unpack(back.raw, case.views[name].dtype)
        results.append(got)
        ours.so.xl_expr_destroy(expr)
        for mem in mems.values():
            ours.release(mem)
    mean = sum(abs(v) for v in results[0] if v == v and abs(v) < math.inf)
    mean = mean / len(results[0]) or 1
    worst = max((abs(a - b) / (abs(a) + mean)
                 for a, b in zip(*results) if a != b and (a == a or b == b)),
                default=0)
    return worst, launches


def self_test(ours, cases):
    """Shows that the structs above are the library's, and that every case is
    understood."""
    rng = random.Random(1)
    wrong = False
    for case in cases:
        worst, launches = alone(ours, case, rng)
        close = max(CLOSE.get(v.dtype, 0) for v in case.views.values())
        good = worst <= 2 * close
        wrong = wrong or not good
        print("%-20s %2d and %2d kernels, difference %.2g%s" %
              (case.name, *launches, worst, "" if good else "  WRONG"),
              flush=True)
    print("%d cases" % len(cases))
    return wrong or not cases


# -- the run -------------------------------------------------------------------


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="*", help="names; all when not given")
    parser.add_argument("--library", default="libcrosslane.so.0")
    parser.add_argument("--clbench", default="clbench",
                        help="tells the cases: 'clbench expr --list'")
    parser.add_argument("--device", default="0", help="of ours")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--case-time", type=float, default=5,
                        help="seconds for the rounds of one case")
    parser.add_argument("--max-time", type=float, default=450,
                        help="no case is begun after so many seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="file for the results, clbench/1")
    parser.add_argument("--self-test", action="store_true")
    return parser.parse_args()


def main():
    args = arguments()
    ours = OursExpr(args.library, args.device)
    print("ours on %s, %s" % (ours.fact("name"), ours.fact("platform")))
    cases = read_cases(args)
    if args.self_test:
        sys.exit(self_test(ours, cases))
    sys.exit(beside_torch(ours, cases, args))


if __name__ == "__main__":
    main()
