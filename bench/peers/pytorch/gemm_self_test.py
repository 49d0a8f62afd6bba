# SPDX-License-Identifier: Apache-2.0
"""torch_gemm.py --self-test: needs a device, but no PyTorch. Every type on a
small case is compared with plain Python, which shows that the structs in
crosslane_library.py are the library's; then the case is timed, with Python in
PyTorch's place, printed, and written to both files."""
import ctypes as ct
import math
import os
import random
import sys
import tempfile

from .attention_cases import CAP, SCORES, AttentionCase
from .conv_cases import ConvCase
from .crosslane_library import BYTES, CallFailed
from .gemm_case_sets import command_line_set
from .gemm_cases import GELU, GemmCase
from .gemm_errors import UNIT_ROUNDOFF
from .gemm_results import GemmResults, print_case, print_heading
from .number_formats import address_of, pack_numbers, unpack_numbers
from .result_rows import check_files
from .row_cases import EPS, KINDS, RowsCase
from .stand_in_torch import torch
from .timing_rounds import TimedCalls, measure_rounds


def gelu(x):
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def python_result(case, x):
    """The result in double, for cases with trans="tn": A is stored
    transposed."""
    if case.op == "conv":
        return python_conv(case, x)
    if case.op == "attention":
        return python_attention(case, x)
    if case.op == "gemm":
        y = [sum(x[0][(z * case.k + p) * case.m + i] *
                 x[1][(z * case.k + p) * case.n + j] for p in range(case.k))
             for z in range(case.batch or 1)
             for i in range(case.m) for j in range(case.n)]
        return ([gelu(v + x[2][i % case.n]) for i, v in enumerate(y)]
                if case.epilogue else y)
    return python_rows(case, x)


def python_rows(case, x):
    """The result in double."""
    y = []
    for i in range(0, len(x[0]), case.cols):
        row = x[0][i:i + case.cols]
        if case.op == "softmax":
            total = sum(math.exp(v) for v in row)
            y += [math.exp(v) / total if case.kind == "softmax" else
                  v - math.log(total) for v in row]
            continue
        mean = sum(row) / case.cols if case.kind == "layer" else 0
        square = sum((v - mean)**2 for v in row) / case.cols
        bias = x[2] if case.kind == "layer" else [0] * case.cols
        y += [(v - mean) / math.sqrt(square + EPS) * s + b
              for v, s, b in zip(row, x[1], bias)]
    return y


def python_conv(case, x):
    """The result in double, for one NHWC image without padding."""
    _, rows, cols, k = case.result
    channels = case.c // case.groups
    def element(p, q, f):
        first = f // (case.k // case.groups) * channels
        return sum(
            x[0][((p * case.stride + i) * case.w + q * case.stride + j) *
                 case.c + first + z] *
            x[1][((f * case.r + i) * case.s + j) * channels + z]
            for i in range(case.r) for j in range(case.s)
            for z in range(channels))
    return [element(p, q, f) for p in range(rows) for q in range(cols)
            for f in range(k)]


def python_score(name, x, head, key, vectors):
    """SCORES in double."""
    if name == "cap":
        return CAP * math.tanh(x / CAP)
    return x + vectors[0][head] * vectors[1][key] if name == "alibi" else x


def python_attention(case, x):
    """The result in double."""
    def vectors(values):
        return [values[i:i + case.d] for i in range(0, len(values), case.d)]
    q, k, v = map(vectors, x[:3])
    share = case.heads // case.kv_heads
    y = []
    for row, query in enumerate(q):
        z, i = divmod(row, case.n_q)
        first = ((z // case.heads * case.kv_heads + z % case.heads // share) *
                 case.n_kv)
        last = (max(0, i + 1 + case.n_kv - case.n_q) if case.causal else
                case.n_kv)
        seen = range(first, first + last)
        p = [math.exp(python_score(
            case.score, sum(a * b for a, b in zip(query, k[j])) /
            math.sqrt(case.d), z % case.heads, j - first, x[3:])) for j in seen]
        y += [sum(w * v[j][c] for w, j in zip(p, seen)) / sum(p)
              for c in range(case.d)]
    return y


def small_cases():
    for dtype in ("f32", "f16", "bf16", "i8", "f8e4m3"):
        yield GemmCase((5, 7, 3), dtype, "tn")
        yield GemmCase((5, 7, 3), dtype, "tn", batch=4)
    for dtype in ("f32", "f16", "bf16"):
        yield GemmCase((5, 7, 3), dtype, "tn", epilogue=GELU)
        yield from (RowsCase((4, 9), dtype, kind) for kind in KINDS)
        yield ConvCase((1, 5, 6, 4, 6, 3, 2), dtype, "nhwc", stride=2,
                       groups=2)
        yield AttentionCase((2, 4, 3, 5, 8), dtype, causal=True, kv_heads=2)
        yield from (AttentionCase((2, 4, 3, 5, 8), dtype, score=score)
                    for score in SCORES)
    for accuracy in ("split", "fast"):
        yield GemmCase((5, 7, 3), "f32", "tn", accuracy=accuracy)
        yield AttentionCase((2, 4, 3, 5, 8), "f32", accuracy=accuracy)


def random_numbers(case, n, rng):
    if case.dtype == "i8":
        return [round(40 * rng.gauss(0, 1)) for _ in range(n)]
    return [rng.gauss(0, 1) for _ in range(n)]


def largest_error(case, result, expected):
    """In units of 16 times the roundoff of the case's output."""
    worst = max(abs(r - e) for r, e in zip(result, expected))
    u = (2.0**-11 if case.accuracy == "fast" else
         UNIT_ROUNDOFF.get(case.out, 0))
    return worst / (16 * u) if u else (2.0 if worst else 0.0)


def test_case(crosslane, case, rng, case_set, results):
    sizes = case.inputs + ([(case.n,)] if case.epilogue else [])
    raw = [pack_numbers(random_numbers(case, math.prod(size), rng),
                        case.dtype) for size in sizes]
    x = [unpack_numbers(r, case.dtype) for r in raw]
    mems = [crosslane.create_buffer(len(r), address_of(r)) for r in raw]
    out = ct.create_string_buffer(math.prod(case.result) * BYTES[case.out])
    mems.insert(len(case.inputs), crosslane.create_buffer(len(out)))
    op = case.descriptor(mems)
    python = TimedCalls.of_function(lambda: python_result(case, x),
                                    lambda: None)
    try:
        variant = crosslane.chosen_variant(op)
        libraries = {
            "ours": TimedCalls(lambda n: crosslane.enqueue_calls([op], n),
                               crosslane.finish),
            "loop": python, "graph": python}
        times = measure_rounds(libraries, results.n_rounds, least_s=0)
        crosslane.read_buffer(mems[len(case.inputs)], address_of(out),
                              len(out))
    finally:
        for mem in mems:
            crosslane.release_buffer(mem)
    error = largest_error(case, unpack_numbers(out.raw, case.out),
                          python_result(case, x))
    norms = {"ours": 0.0, "chain": 0.0} if case.dtype == "f32" else None
    results.add(case_set, case, variant, times, error, norms)
    results.write()
    print_case(case_set, case, variant, times, error)


def self_test(crosslane):
    rng, cases = random.Random(1), list(small_cases())
    case_set = command_line_set(cases)
    print_heading(case_set)
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name)
                 for name in ("all.json", "short.json")]
        results = GemmResults(crosslane, torch, 2, 1, *paths)
        for case in cases:
            test_case(crosslane, case, rng, case_set, results)
        results.finish()
        if results.is_wrong:
            sys.exit("self-test: wrong results")
        n_rows, n_pairs = check_files(*paths)
    if (n_rows, n_pairs) != (3 * len(cases), 2 * len(cases)):
        sys.exit("self-test: %d rows and %d pairs of %d cases" %
                 (n_rows, n_pairs, len(cases)))
    print("%d cases, %d rows and %d pairs written and read" %
          (len(cases), n_rows, n_pairs))
    try:
        crosslane.chosen_variant(GemmCase((5, 7, 3), "f32").descriptor(
            [None] * 3, "no_such"))
    except CallFailed as why:
        print("refused as expected: %s" % why)
        return
    sys.exit("self-test: a variant that does not exist was chosen")
