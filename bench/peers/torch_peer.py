#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our GEMM and softmax beside PyTorch's (cuBLAS and its own softmax kernels)
on one GPU. The two take turns on the same random data in one run, timed the
same way: wall clock over a batch, then a wait for the device. Needs PyTorch
with CUDA and libcrosslane; ours is called through ctypes. `--self-test` runs
our side alone, on any OpenCL device, without PyTorch."""
import argparse
import ctypes as ct
import datetime
import json
import math
import os
import platform
import random
import re
import statistics
import struct
import sys
import time

VERSION = "0.1.0"
DTYPES = {"f32": 0, "f16": 1, "bf16": 2}
BYTES = {"f32": 4, "f16": 2, "bf16": 2}
ROUNDOFF = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
BATCH_S = 0.03


class Mem(ct.Structure):
    _fields_ = [("buf", ct.c_void_p), ("svm", ct.c_void_p)]


class Mat(ct.Structure):
    _fields_ = [("mem", Mem), ("offset", ct.c_size_t),
                ("row_stride", ct.c_size_t), ("col_stride", ct.c_size_t),
                ("dtype", ct.c_int)]


class Batch(ct.Structure):
    _fields_ = [("count", ct.c_size_t), ("a_step", ct.c_size_t),
                ("b_step", ct.c_size_t), ("c_step", ct.c_size_t),
                ("a_at", ct.c_void_p), ("b_at", ct.c_void_p),
                ("c_at", ct.c_void_p)]


class Epilogue(ct.Structure):
    _fields_ = [("expr", ct.c_char_p), ("bindings", ct.c_void_p),
                ("n_bindings", ct.c_uint)]


class Gemm(ct.Structure):
    _fields_ = [("m", ct.c_size_t), ("n", ct.c_size_t), ("k", ct.c_size_t),
                ("a", Mat), ("b", Mat), ("c", Mat), ("alpha", ct.c_double),
                ("beta", ct.c_double), ("workspace", Mem),
                ("variant", ct.c_char_p), ("batch", Batch),
                ("epilogue", Epilogue)]


class Choice(ct.Structure):
    _fields_ = [("variant", ct.c_char * 32), ("chosen", ct.c_bool),
                ("why", ct.c_char * 192), ("tunables", ct.c_char * 160),
                ("bound", ct.c_char * 32), ("repeats", ct.c_char * 96),
                ("est_ns", ct.c_double), ("flop", ct.c_double),
                ("bytes", ct.c_double), ("n_steps", ct.c_uint),
                ("wg", ct.c_size_t * 3), ("whole", ct.c_size_t * 3),
                ("local_mem_bytes", ct.c_size_t),
                ("scratch_bytes", ct.c_size_t)]


class Softmax(ct.Structure):
    _fields_ = [("rows", ct.c_size_t), ("cols", ct.c_size_t), ("src", Mat),
                ("dst", Mat), ("scale", ct.c_double), ("mask", Mat),
                ("workspace", Mem), ("variant", ct.c_char_p)]


class Fact(ct.Structure):
    _fields_ = [("kind", ct.c_int), ("value", ct.c_double),
                ("text", ct.c_char_p), ("list", ct.c_double * 8),
                ("n_list", ct.c_uint), ("unit", ct.c_char_p),
                ("source", ct.c_int), ("note", ct.c_char_p)]


# What the C compiler makes of them where pointers have 64 bits.
SIZES = {Mem: 16, Mat: 48, Gemm: 288, Softmax: 192, Choice: 616, Fact: 120}


def mat(mem, ld, dtype, turned=False):
    """A row-major view with leading dimension ld, or its transpose."""
    return Mat(Mem(mem, None), 0, 1 if turned else ld, ld if turned else 1,
               DTYPES[dtype])


class Ours:
    """libcrosslane with a queue of its own."""

    def __init__(self, path, device):
        for kind, size in SIZES.items():
            if ct.sizeof(kind) != size:
                sys.exit("torch_peer: %s is %d bytes here, not %d: this "
                         "script is for 64-bit systems" %
                         (kind.__name__, ct.sizeof(kind), size))
        self.so = ct.CDLL(path)
        self.declare()
        version = self.so.xl_version().decode()
        if version != VERSION:
            sys.exit("torch_peer: %s is version %s, this script is for %s" %
                     (path, version, VERSION))
        self.lib, self.dev, self.q = (ct.c_void_p() for _ in range(3))
        self.must(self.so.xl_open(None, ct.byref(self.lib)))
        self.must(self.so.xl_device_find(self.lib, device.encode(),
                                         ct.byref(self.dev)))
        self.must(self.so.xl_queue_create(self.lib, self.dev,
                                          ct.byref(self.q)))

    def declare(self):
        p, size, text = ct.c_void_p, ct.c_size_t, ct.c_char_p
        calls = {
            "xl_version": (text, []),
            "xl_open": (ct.c_int, [p, p]),
            "xl_lib_error": (text, [p]),
            "xl_error_detail": (text, [p]),
            "xl_status_name": (text, [ct.c_int]),
            "xl_device_find": (ct.c_int, [p, text, p]),
            "xl_device_index": (ct.c_uint, [p]),
            "xl_device_fact": (ct.c_int, [p, text, ct.c_int, p]),
            "xl_queue_create": (ct.c_int, [p, p, p]),
            "xl_queue_finish": (ct.c_int, [p]),
            "xl_buffer_create": (ct.c_int, [p, size, p]),
            "xl_buffer_write": (ct.c_int, [p, p, size, p, size]),
            "xl_buffer_read": (ct.c_int, [p, p, size, p, size]),
            "xl_gemm_run": (ct.c_int, [p, p, p]),
            "xl_softmax_run": (ct.c_int, [p, p, p]),
            "xl_gemm_explain": (ct.c_int, [p, p, p, ct.c_uint, p]),
            "xl_softmax_explain": (ct.c_int, [p, p, p, ct.c_uint, p]),
        }
        for name, (result, arguments) in calls.items():
            call = getattr(self.so, name)
            call.restype, call.argtypes = result, arguments

    def must(self, status):
        if status:
            story = (self.so.xl_error_detail(self.q) if getattr(
                self, "q", None) else self.so.xl_lib_error(self.lib))
            sys.exit("torch_peer: %s: %s" %
                     (self.so.xl_status_name(status).decode(),
                      (story or b"").decode(errors="replace")))

    def fact(self, name):
        fact = Fact()
        self.must(self.so.xl_device_fact(self.dev, name.encode(), 0,
                                         ct.byref(fact)))
        return fact.text.decode(errors="replace") if fact.text else None

    def buffer(self, nbytes, address=None):
        mem = ct.c_void_p()
        self.must(self.so.xl_buffer_create(self.q, nbytes, ct.byref(mem)))
        if address:
            self.must(self.so.xl_buffer_write(self.q, mem, 0, address,
                                              nbytes))
        return mem

    def release(self, mem):
        self.so.clReleaseMemObject(mem)

    def read(self, mem, address, nbytes):
        self.must(self.so.xl_buffer_read(self.q, mem, 0, address, nbytes))

    def run(self, op):
        call = (self.so.xl_gemm_run if isinstance(op, Gemm)
                else self.so.xl_softmax_run)
        self.must(call(self.q, ct.byref(op), None))

    def chosen(self, op):
        """The variant that runs it."""
        call = (self.so.xl_gemm_explain if isinstance(op, Gemm)
                else self.so.xl_softmax_explain)
        choices, n = (Choice * 32)(), ct.c_uint()
        self.must(call(self.q, ct.byref(op), choices, len(choices),
                       ct.byref(n)))
        return next(c.variant.decode() for c in choices if c.chosen)

    def finish(self):
        self.must(self.so.xl_queue_finish(self.q))


# -- one op of one shape, on both sides ---------------------------------------


class GemmCase:
    op, unit = "gemm", "flop/s"

    def __init__(self, shape, dtype, trans, batch=0, name=None):
        self.m, self.n, self.k = shape
        self.dtype, self.trans = dtype, trans
        self.name, self.batch = name, batch
        self.shape = {"m": self.m, "n": self.n, "k": self.k}
        if batch:
            self.shape["batch"] = batch
        self.params = {"trans": trans, "out": dtype, "alpha": 1, "beta": 0}
        count, size = batch or 1, BYTES[dtype]
        self.flop = 2 * self.m * self.n * self.k * count
        self.bytes = count * size * (self.m * self.k + self.k * self.n +
                                     self.m * self.n)
        self.amount = self.flop
        self.ta, self.tb = trans[0] == "t", trans[1] == "t"
        self.inputs = [
            (count, self.k, self.m) if self.ta else (count, self.m, self.k),
            (count, self.n, self.k) if self.tb else (count, self.k, self.n)]
        self.result = (count, self.m, self.n)

    def ours(self, mems, variant):
        a, b, c = mems
        steps = (self.m * self.k, self.k * self.n, self.m * self.n)
        return Gemm(self.m, self.n, self.k,
                    mat(a, self.inputs[0][2], self.dtype, self.ta),
                    mat(b, self.inputs[1][2], self.dtype, self.tb),
                    mat(c, self.n, self.dtype), 1, 0, Mem(), variant,
                    Batch(self.batch, *(steps if self.batch else (0, 0, 0))))

    def sides(self, x):
        return (x[0].mT if self.ta else x[0]), (x[1].mT if self.tb else x[1])

    def theirs(self, torch, x, out):
        a, b = self.sides(x)
        if self.batch:
            return lambda: torch.bmm(a, b, out=out)
        a, b, out = a[0], b[0], out[0]
        return lambda: torch.mm(a, b, out=out)

    def want(self, torch, x, rows):
        """The first rows in double, and how far off each may be: Higham 2002,
        3.5, then one rounding."""
        count = -(-rows // self.m)
        a, b = (s[:count].double() for s in self.sides(x))
        a = a[:, :rows]
        exact, ku = a @ b, self.k * ROUNDOFF["f32"]
        bound = ku / (1 - ku) * (a.abs() @ b.abs())
        off = (bound + (exact.abs() + bound) * rounding(self.dtype) +
               least(self.dtype))
        return exact.flatten(0, 1)[:rows], off.flatten(0, 1)[:rows]


class SoftmaxCase:
    op, unit = "softmax", "B/s"

    def __init__(self, shape, dtype, _trans):
        self.rows, self.cols = shape
        self.dtype, self.name = dtype, None
        self.shape = {"rows": self.rows, "cols": self.cols}
        self.params = {}
        self.flop = 5 * self.rows * self.cols
        self.bytes = 2 * self.rows * self.cols * BYTES[dtype]
        self.amount = self.bytes
        self.inputs = [shape]
        self.result = shape

    def ours(self, mems, variant):
        views = [mat(mem, self.cols, self.dtype) for mem in mems]
        return Softmax(self.rows, self.cols, *views, 0, Mat(), Mem(), variant)

    def theirs(self, torch, x, _out):
        return lambda: torch.softmax(x[0], 1)

    def want(self, torch, x, rows):
        """ops.h, Accuracy."""
        x = x[0][:rows].double()
        exact = torch.softmax(x, 1)
        below = x.max(1, keepdim=True).values - x
        rel = (below + 48 + 2 * math.log2(self.cols)) * ROUNDOFF["f32"]
        return exact, (exact * (rel + rounding(self.dtype)) +
                       least(self.dtype))


def rounding(dtype):
    return 0 if dtype == "f32" else ROUNDOFF[dtype]


def least(dtype):
    """Half the step of f16's subnormals; f32 and bf16 may flush theirs."""
    return 2.0**-25 if dtype == "f16" else 2.0**-126


def batch_of(call, finish):
    """Runs that fill a batch, by the second of two."""
    for _ in range(2):
        start = time.perf_counter()
        call()
        finish()
        took = time.perf_counter() - start
    return max(1, min(10000, math.ceil(BATCH_S / took)))


def timed(call, finish, n):
    """Nanoseconds of one of n runs, after one that is not counted."""
    call()
    finish()
    start = time.perf_counter_ns()
    for _ in range(n):
        call()
    finish()
    return (time.perf_counter_ns() - start) / n


def interval(ratios):
    """Median with its 95 % interval, by resampling with a fixed seed."""
    rng = random.Random(1993)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios)))
                     for _ in range(2000))
    return statistics.median(ratios), medians[50], medians[1949]


def duel(ours, torch, case, args):
    """Both sides in turns: our variant, the times and the worst errors of
    both, and the ratio theirs / ours."""
    dtype = {"f32": torch.float32, "f16": torch.float16,
             "bf16": torch.bfloat16}[case.dtype]
    torch.manual_seed(args.seed)
    host = [torch.randn(shape).to(dtype) for shape in case.inputs]
    x = [t.cuda() for t in host]
    out = torch.empty(case.result, dtype=dtype, device="cuda")
    back = torch.empty(case.result, dtype=dtype)
    mems = [ours.buffer(t.numel() * t.element_size(), t.data_ptr())
            for t in host]
    mems.append(ours.buffer(back.numel() * back.element_size()))
    op = case.ours(mems, args.variant.encode() if args.variant else None)
    name = ours.chosen(op)
    sides = [(lambda: ours.run(op), ours.finish),
             (case.theirs(torch, x, out), torch.cuda.synchronize)]
    batches = [batch_of(*side) for side in sides]
    times = [[], []]
    for i in range(args.rounds):
        for side in ((0, 1), (1, 0))[i % 2]:
            times[side].append(timed(*sides[side], batches[side]))
    ours.read(mems[-1], back.data_ptr(), back.numel() * back.element_size())
    want, tolerance = case.want(torch, x, 256)
    got = [g.flatten(0, -2)[:256].cuda().double()
           for g in (back, sides[1][0]())]
    worst = [((g - want).abs() / tolerance).max().item() for g in got]
    for mem in mems:
        ours.release(mem)
    pair = interval([b / a for a, b in zip(*times)])
    return name, times, worst, pair


# -- the file --------------------------------------------------------------


def row_of(case, variant, device, ns, worst, seed):
    median = statistics.median(ns)
    shape = ",".join("%s=%d" % item for item in case.shape.items())
    params = ",".join("%s=%s" % item for item in case.params.items()) or "-"
    row_id = "%s/%s/%s/%s/%s/hot" % (case.op, variant, shape, params,
                                     case.dtype)
    wrong = variant != "peer_torch" and not worst <= 1
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


def document(ours, torch, rows, pairs, args):
    device = {"index": ours.so.xl_device_index(ours.dev), "facts": []}
    for name in ("name", "platform", "vendor", "driver", "uuid", "pci"):
        device[name] = ours.fact(name)
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "schema": "clbench/1",
        "tool": {"name": "torch_peer", "version": VERSION,
                 "torch": torch.__version__, "cuda": torch.version.cuda,
                 "cudnn": torch.backends.cudnn.version()},
        "host": {"system": platform.platform(), "cpus": os.cpu_count()},
        "environment": {"date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
                        "peer_device": torch.cuda.get_device_name(),
                        "arguments": sys.argv[1:], "rounds": args.rounds},
        "devices": [device], "rows": rows, "pairs": pairs}


def write(path, what):
    """Whole or not at all."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(what, file, indent=1)
        file.write("\n")
    os.replace(path + ".part", path)


# -- the run ---------------------------------------------------------------


def self_test(ours):
    """Our side alone: every dtype of both ops on a small case, against plain
    Python; shows that the structs above are the library's."""
    rng = random.Random(1)
    pack = {"f32": lambda x: struct.pack("<f", x),
            "f16": lambda x: struct.pack("<e", x),
            "bf16": lambda x: struct.pack("<f", x)[2:]}
    unpack = {"f32": lambda b: struct.unpack("<f", b)[0],
              "f16": lambda b: struct.unpack("<e", b)[0],
              "bf16": lambda b: struct.unpack("<f", b"\0\0" + b)[0]}
    for dtype in DTYPES:
        for case in (GemmCase((5, 7, 3), dtype, "tn"),
                     GemmCase((5, 7, 3), dtype, "tn", batch=4),
                     SoftmaxCase((4, 9), dtype, "nn")):
            size = BYTES[dtype]

            def read(raw):
                return [unpack[dtype](raw[i:i + size])
                        for i in range(0, len(raw), size)]
            raw = [b"".join(pack[dtype](rng.gauss(0, 1))
                            for _ in range(math.prod(sizes)))
                   for sizes in case.inputs]
            x = [read(r) for r in raw]
            mems = [ours.buffer(len(r), ct.cast(ct.c_char_p(r), ct.c_void_p))
                    for r in raw]
            back = ct.create_string_buffer(
                math.prod(case.result) * size)
            mems.append(ours.buffer(len(back)))
            ours.run(case.ours(mems, None))
            ours.read(mems[-1], ct.cast(back, ct.c_void_p), len(back))
            worst = max(abs(g - w) for g, w in
                        zip(read(back.raw), plain(case, x)))
            print("%-8s %-5s largest error %.2g" % (case.op, dtype, worst))
            if not worst <= 16 * ROUNDOFF[dtype]:
                sys.exit("torch_peer: wrong")
            for mem in mems:
                ours.release(mem)


def plain(case, x):
    """The result in double: op(A) is stored transposed here."""
    if case.op == "gemm":
        return [sum(x[0][(z * case.k + p) * case.m + i] *
                    x[1][(z * case.k + p) * case.n + j]
                    for p in range(case.k))
                for z in range(case.batch or 1)
                for i in range(case.m) for j in range(case.n)]
    rows = [x[0][i:i + case.cols] for i in range(0, len(x[0]), case.cols)]
    return [math.exp(v - max(row)) / sum(math.exp(u - max(row)) for u in row)
            for row in rows for v in row]


def load_torch():
    try:
        import torch
    except ImportError:
        sys.exit("torch_peer: this Python has no PyTorch; install it with "
                 "CUDA, or give --self-test to run our side alone")
    if not torch.cuda.is_available():
        sys.exit("torch_peer: PyTorch sees no CUDA device; --self-test runs "
                 "our side alone")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    return torch


def shape_lines(name):
    """The lines of a file as clbench reads them (bench/shape_file.h): place,
    name, shape, and what else they say."""
    here = os.path.dirname(os.path.abspath(__file__))
    path = name
    if "." not in name and "/" not in name:
        path = os.path.join(here, "..", "shapes", name + ".txt")
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            title, words = re.match(r"(?:(.*?):(?=\s))?(.*)",
                                    line.split("#")[0].strip()).groups()
            words, said = words.split(), {}
            for word in words[1:]:
                key, equals, value = word.partition("=")
                if not equals:
                    key, value = ("dtype" if word in BYTES else "trans"), word
                said[key] = value
            if words:
                yield "%s:%d" % (name, number), title, words[0], said


def cases_of_files(args):
    for file in args.shapes:
        for place, name, shape, said in shape_lines(file):
            dtype = said.pop("dtype", "f32")
            trans = said.pop("trans", "nn")
            batch = int(said.pop("batch", "0"))
            try:
                sizes = tuple(int(part) for part in shape.split("x"))
                m, n, k = sizes * 3 if len(sizes) == 1 else sizes
            except ValueError:
                sys.exit("torch_peer: %s: '%s' is no shape; give MxNxK or N" %
                         (place, shape))
            if said or trans not in ("nn", "nt", "tn", "tt"):
                sys.exit("torch_peer: %s: give a type, nn, nt, tn or tt, "
                         "batch=N behind a shape" % place)
            for d in args.dtype or [dtype]:
                yield GemmCase((m, n, k), d, trans, batch, name)


def cases_of(args):
    if args.shapes:
        yield from cases_of_files(args)
        if not args.shape:
            return
    usual = ["1024", "2048", "4096", "4096x4096", "16384x1024", "64x1000000"]
    for text in args.shape or usual:
        sizes = tuple(int(part) for part in text.split("x"))
        sizes = sizes * 3 if len(sizes) == 1 else sizes
        kind = {2: SoftmaxCase, 3: GemmCase}[len(sizes)]
        for dtype in args.dtype or DTYPES:
            yield kind(sizes, dtype, args.trans)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shape", nargs="*",
                        help="MxNxK or N: GEMM; ROWSxCOLS: softmax")
    parser.add_argument("--shapes", action="append", default=[],
                        help="a file of GEMM shapes, or one of bench/shapes "
                             "by its name: gemm_llm")
    parser.add_argument("--library", default="libcrosslane.so.0")
    parser.add_argument("--device", default="0", help="of ours")
    parser.add_argument("--variant", help="of ours; needs shapes of one op")
    parser.add_argument("--dtype", action="append", choices=list(DTYPES))
    parser.add_argument("--trans", default="nn",
                        choices=["nn", "nt", "tn", "tt"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="file for the results, clbench/1")
    parser.add_argument("--max-time", type=float, default=3000,
                        help="seconds after which no case is begun")
    parser.add_argument("--self-test", action="store_true")
    return parser.parse_args()


def main():
    args = arguments()
    ours = Ours(args.library, args.device)
    print("ours on %s, %s" % (ours.fact("name"), ours.fact("platform")))
    if args.self_test:
        self_test(ours)
        return
    torch = load_torch()
    print("PyTorch %s on %s; f32 without TF32; ratio: PyTorch's time over "
          "ours, above 1 ours is the faster" %
          (torch.__version__, torch.cuda.get_device_name()))
    rows, pairs, begun = [], [], time.monotonic()
    for case in cases_of(args):
        if time.monotonic() > args.max_time + begun:
            print("over --max-time: the rest is left out")
            break
        name, times, worst, (ratio, lo, hi) = duel(ours, torch, case, args)
        index = ours.so.xl_device_index(ours.dev)
        both = [row_of(case, variant, index, ns, w, args.seed)
                for variant, ns, w in zip((name, "peer_torch"), times, worst)]
        rows += both
        pairs.append({"ours": both[0]["id"], "theirs": both[1]["id"],
                      "ratio": ratio, "lo": lo, "hi": hi})
        print("%-8s %-18s %-5s %10.1f %10.1f G%s  %.3f (%.3f .. %.3f)%s" %
              (case.op, "x".join(str(v) for v in case.shape.values()),
               case.dtype, both[0]["value"] / 1e9, both[1]["value"] / 1e9,
               case.unit, ratio, lo, hi,
               "" if both[0]["verdict"] == "ok" else "  WRONG"), flush=True)
        if args.json:
            write(args.json, document(ours, torch, rows, pairs, args))
    sys.exit(any(row["verdict"] != "ok" for row in rows))


if __name__ == "__main__":
    main()
