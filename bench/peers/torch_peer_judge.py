# SPDX-License-Identifier: Apache-2.0
"""What a result should be, in double on the GPU, and how far off it may be."""
import math

ROUNDOFF = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
STUDIED = 4096**3


def rounding(dtype):
    return ROUNDOFF[dtype] if dtype in ("f16", "bf16") else 0


def least(dtype):
    """Half the step of f16's subnormals; f32 and bf16 may flush theirs."""
    return 2.0**-25 if dtype == "f16" else 2.0**-126


def bound_of(case, a, b):
    """Of a sum, before it is rounded to C's type. Full: Higham 2002, 3.5.
    Split: by the norms of row and column. Fast: operands of 11 bits; of 8-bit
    floats, each 32 products summed with 13 bits below the largest."""
    ku = case.k * ROUNDOFF["f32"]
    magnitude = a.abs() @ b.abs()
    chain = ku / (1 - ku) * magnitude
    if case.dtype == "i8":
        return 0 * magnitude
    if case.accuracy == "split":
        norms = a.norm(dim=-1, keepdim=True) * b.norm(dim=-2, keepdim=True)
        return chain + 2.0**-20 * norms
    if case.accuracy == "fast" and case.dtype == "f32":
        return chain + 2.0**-9 * magnitude
    if case.accuracy == "fast" and case.dtype.startswith("f8"):
        return chain + math.ceil(case.k / 32) * 2.0**-13 * magnitude
    return chain


def want_gemm(torch, case, x, bias, rows):
    count = -(-rows // case.m)
    a, b = (s[:count].double() for s in case.sides(x))
    a = a[:, :rows]
    exact, bound = a @ b, bound_of(case, a, b)
    if case.epilogue:
        # gelu nowhere rises faster than 1.13.
        exact = torch.nn.functional.gelu(exact + bias.double())
        bound = 1.13 * bound + 8 * ROUNDOFF["f32"] * (1 + exact.abs())
    off = (bound + (exact.abs() + bound) * rounding(case.out) +
           least(case.out))
    return exact.flatten(0, 1)[:rows], off.flatten(0, 1)[:rows]


def want_softmax(torch, case, x, rows):
    """ops.h, Accuracy."""
    x = x[0][:rows].double()
    exact = torch.softmax(x, 1)
    below = x.max(1, keepdim=True).values - x
    rel = (below + 48 + 2 * math.log2(case.cols)) * ROUNDOFF["f32"]
    return exact, (exact * (rel + rounding(case.dtype)) + least(case.dtype))


def worst_of(torch, case, x, bias, got, rows=256):
    """The largest error of the first rows, in tolerances, of each result."""
    want, tolerance = (want_gemm(torch, case, x, bias, rows)
                       if case.op == "gemm" else
                       want_softmax(torch, case, x, rows))
    return [((g.flatten(0, -2)[:rows].to(want.device).double() - want).abs() /
             tolerance).max().item() for g in got]


def is_studied(case):
    """Is its error a figure, not only a condition?"""
    return (case.op == "gemm" and case.dtype == "f32" and not case.batch and
            not case.epilogue and case.m * case.n * case.k <= STUDIED)


def chain_of(torch, a, b):
    """A sum in order of k, of FMAs in f32."""
    c = torch.zeros(a.shape[0], b.shape[1], device=a.device)
    for p in range(a.shape[1]):
        torch.addcmul(c, a[:, p:p + 1], b[p:p + 1, :], out=c)
    return c


def frobenius(torch, case, x, got):
    """Relative error by the Frobenius norm of each result, and of a chain."""
    a, b = (s[0] for s in case.sides(x))
    exact = a.double() @ b.double()
    results = dict(got, chain=chain_of(torch, a, b))
    return {name: ((r.reshape(exact.shape).to(exact.device).double() -
                    exact).norm() / exact.norm()).item()
            for name, r in results.items()}
