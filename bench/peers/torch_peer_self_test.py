# SPDX-License-Identifier: Apache-2.0
"""Our side alone: every type on a small case, against plain Python; shows
that the structs in torch_peer_ours.py are the library's."""
import ctypes as ct
import math
import random
import struct
import sys

from torch_peer_cases import GELU, GemmCase, SoftmaxCase
from torch_peer_judge import ROUNDOFF
from torch_peer_ours import BYTES, Refused
from torch_peer_rounds import Side, take_turns


def e4m3(byte):
    """The value of an OCP 8-bit float with 3 bits of fraction."""
    exponent, fraction = byte >> 3 & 15, byte & 7
    value = ((1 + fraction / 8) * 2.0**(exponent - 7) if exponent else
             fraction * 2.0**-9)
    return -value if byte >> 7 else value


PACK = {"f32": lambda x: struct.pack("<f", x),
        "f16": lambda x: struct.pack("<e", x),
        "bf16": lambda x: struct.pack("<f", x)[2:],
        "i8": lambda x: struct.pack("<b", round(40 * x)),
        "f8e4m3": lambda x: bytes([min(range(127), key=lambda b: abs(
            e4m3(b) - abs(x))) | (128 if x < 0 else 0)])}
UNPACK = {"f32": lambda b: struct.unpack("<f", b)[0],
          "f16": lambda b: struct.unpack("<e", b)[0],
          "bf16": lambda b: struct.unpack("<f", b"\0\0" + b)[0],
          "i8": lambda b: struct.unpack("<b", b)[0],
          "f8e4m3": lambda b: e4m3(b[0]),
          "i32": lambda b: struct.unpack("<i", b)[0]}


def numbers(raw, dtype):
    size = BYTES[dtype]
    return [UNPACK[dtype](raw[i:i + size]) for i in range(0, len(raw), size)]


def gelu(x):
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def plain(case, x):
    """The result in double: op(A) is stored transposed here."""
    if case.op == "gemm":
        y = [sum(x[0][(z * case.k + p) * case.m + i] *
                 x[1][(z * case.k + p) * case.n + j] for p in range(case.k))
             for z in range(case.batch or 1)
             for i in range(case.m) for j in range(case.n)]
        return ([gelu(v + x[2][i % case.n]) for i, v in enumerate(y)]
                if case.epilogue else y)
    rows = [x[0][i:i + case.cols] for i in range(0, len(x[0]), case.cols)]
    return [math.exp(v - max(row)) / sum(math.exp(u - max(row)) for u in row)
            for row in rows for v in row]


def cases():
    for dtype in ("f32", "f16", "bf16", "i8", "f8e4m3"):
        yield GemmCase((5, 7, 3), dtype, "tn")
        yield GemmCase((5, 7, 3), dtype, "tn", batch=4)
    for dtype in ("f32", "f16", "bf16"):
        yield GemmCase((5, 7, 3), dtype, "tn", epilogue=GELU)
        yield SoftmaxCase((4, 9), dtype)
    for accuracy in ("split", "fast"):
        yield GemmCase((5, 7, 3), "f32", "tn", accuracy=accuracy)


def address(raw):
    return ct.cast(ct.c_char_p(raw), ct.c_void_p)


def one(ours, case, rng):
    """The worst error of a case, in units of its type's roundoff."""
    sizes = case.inputs + ([(case.n,)] if case.epilogue else [])
    raw = [b"".join(PACK[case.dtype](rng.gauss(0, 1))
                    for _ in range(math.prod(size))) for size in sizes]
    x = [numbers(r, case.dtype) for r in raw]
    mems = [ours.buffer(len(r), address(r)) for r in raw]
    back = ct.create_string_buffer(math.prod(case.result) * BYTES[case.out])
    mems.insert(len(case.inputs), ours.buffer(len(back)))
    op = case.ours(mems)
    try:
        name = ours.chosen(op)
        sides = {"ours": Side(lambda n: ours.calls([op], n), ours.finish)}
        take_turns(sides, 1, least_s=0)
        ours.read(mems[len(case.inputs)], ct.cast(back, ct.c_void_p),
                  len(back))
    finally:
        for mem in mems:
            ours.release(mem)
    worst = max(abs(g - w) for g, w in
                zip(numbers(back.raw, case.out), plain(case, x)))
    u = (2.0**-11 if case.accuracy == "fast" else ROUNDOFF.get(case.out, 0))
    print("%-24s %-12s largest error %.2g" % (case.label(), name, worst))
    return worst <= 16 * u


def self_test(ours):
    rng = random.Random(1)
    if not all([one(ours, case, rng) for case in cases()]):
        sys.exit("torch_peer: wrong")
    try:
        ours.chosen(GemmCase((5, 7, 3), "f32").ours([None] * 3, "no_such"))
    except Refused as why:
        print("refused: %s" % why)
        return
    sys.exit("torch_peer: a variant that is not there was chosen")
