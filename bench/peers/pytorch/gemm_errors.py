# SPDX-License-Identifier: Apache-2.0
"""Expected results of products and convolutions, in double on the GPU, and how
far a result may be from them; other cases have `expected`."""
import math

UNIT_ROUNDOFF = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
MOST_NORM_MULTIPLIES = 4096**3


def output_roundoff(dtype):
    """Relative error of rounding a sum in f32 to the output's type."""
    return UNIT_ROUNDOFF[dtype] if dtype in ("f16", "bf16") else 0


def smallest_error(dtype):
    """Half the step of f16's subnormals; f32 and bf16 may flush theirs."""
    return 2.0**-25 if dtype == "f16" else 2.0**-126


def sum_bound(case, a, b):
    """Bound of a sum's error before it is rounded to C's type, elementwise.
    With gamma = k u / (1 - k u), u = 2^-24 (Higham 2002, 3.5):

        full   gamma |A||B|
        split  the same + 2^-20 times the norms of row and column
        fast   f32: + 2^-9 |A||B|, from operands of 11 bits
               8-bit floats: + 2^-13 |A||B| for each 32 products, which are
               summed with 13 bits below the largest
        i8     0: exact"""
    ku = case.k * UNIT_ROUNDOFF["f32"]
    magnitude = a.abs() @ b.abs()
    bound = ku / (1 - ku) * magnitude
    if case.dtype == "i8":
        return 0 * magnitude
    if case.accuracy == "split":
        norms = a.norm(dim=-1, keepdim=True) * b.norm(dim=-2, keepdim=True)
        return bound + 2.0**-20 * norms
    if case.accuracy == "fast" and case.dtype == "f32":
        return bound + 2.0**-9 * magnitude
    if case.accuracy == "fast" and case.dtype.startswith("f8"):
        return bound + math.ceil(case.k / 32) * 2.0**-13 * magnitude
    return bound


def expected_gemm(torch, case, x, bias, n_rows):
    """The first n_rows rows of the product and their tolerances."""
    n_matrices = -(-n_rows // case.m)
    a, b = (t[:n_matrices].double() for t in case.operands(x))
    a = a[:, :n_rows]
    expected, bound = a @ b, sum_bound(case, a, b)
    if case.epilogue:
        # The slope of gelu is at most 1.13.
        expected = torch.nn.functional.gelu(expected + bias.double())
        bound = 1.13 * bound + 8 * UNIT_ROUNDOFF["f32"] * (1 + expected.abs())
    tolerance = (bound +
                 (expected.abs() + bound) * output_roundoff(case.out) +
                 smallest_error(case.out))
    return expected.flatten(0, 1)[:n_rows], tolerance.flatten(0, 1)[:n_rows]


def expected_conv(torch, case, x):
    """The first image's result and its tolerance: sum_bound()'s `full` with
    k = case.sums, then rounded to the output's type."""
    images, filters = x[0][:1].double(), x[1].double()
    expected = case.torch_result(torch, (images, filters))
    magnitude = case.torch_result(torch, (images.abs(), filters.abs()))
    ku = case.sums * UNIT_ROUNDOFF["f32"]
    bound = ku / (1 - ku) * magnitude
    tolerance = (bound +
                 (expected.abs() + bound) * output_roundoff(case.out) +
                 smallest_error(case.out))
    return expected.flatten(0, -2), tolerance.flatten(0, -2)


def expected_rows(torch, case, x, _, n_rows):
    return case.expected(torch, x, n_rows)


EXPECTED = {
    "gemm": expected_gemm,
    "softmax": expected_rows,
    "norm": expected_rows,
    "conv": lambda torch, case, x, *_: expected_conv(torch, case, x),
    "attention": lambda torch, case, x, *_: case.expected(torch, x),
    "attention_backward": lambda torch, case, x, *_: case.expected(torch, x),
    "conv_gradient": lambda torch, case, x, *_: case.expected(torch, x)}


def largest_errors(torch, case, x, bias, results, n_rows=256):
    """The largest error of the first rows of each result, in units of the
    tolerance: 1 is the most that is allowed."""
    expected, tolerance = EXPECTED[case.op](torch, case, x, bias, n_rows)
    return [((r.flatten(0, -2)[:len(expected)].to(expected.device).double() -
              expected).abs() / tolerance).max().item() for r in results]


def has_norm_errors(case):
    """Are errors by norm computed for this case? f32 only, of sizes where
    summing in order of k takes seconds."""
    return (case.op == "gemm" and case.dtype == "f32" and not case.batch and
            not case.epilogue and
            case.m * case.n * case.k <= MOST_NORM_MULTIPLIES)


def product_by_chain(torch, a, b):
    """A B by FMAs in f32 in order of k: what a plain loop gives."""
    c = torch.zeros(a.shape[0], b.shape[1], device=a.device)
    for p in range(a.shape[1]):
        torch.addcmul(c, a[:, p:p + 1], b[p:p + 1, :], out=c)
    return c


def norm_errors(torch, case, x, results):
    """||C - AB|| / ||AB|| (Frobenius) of each result, a dictionary by name,
    and of `chain`, product_by_chain()."""
    a, b = (t[0] for t in case.operands(x))
    expected = a.double() @ b.double()
    results = dict(results, chain=product_by_chain(torch, a, b))
    return {name: ((r.reshape(expected.shape).to(expected.device).double() -
                    expected).norm() / expected.norm()).item()
            for name, r in results.items()}
