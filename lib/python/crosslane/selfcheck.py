# SPDX-License-Identifier: Apache-2.0
"""verify(): random cases of each operation beside NumPy in f64. The bounds are
those of the headers of crosslane, in their names."""
from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple, Optional

import numpy as np

from .arrays import Queue, default_queue
from .library import Error
from .operations import (attention, conv2d, expr, gemm, layer_norm, rms_norm,
                         softmax)

U = 2.0 ** -24
WRONG_RESULT = -7017
#: by element type: half the distance of two numbers at 1, and below normal ones
ROUNDING = {"float32": (U, 2.0 ** -126), "float16": (2.0 ** -11, 2.0 ** -25),
            "int32": (0, 0)}
Values = Any


class Case(NamedTuple):
    text: str
    found: Values
    expected: Values
    bound: Values  # of the error, before the result is rounded


def random(rng: np.random.Generator, dtype: Any, *shape: int) -> Values:
    if np.dtype(dtype).kind == "i":
        return rng.integers(-100, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def f64(x: Values) -> Values:
    return np.asarray(x, np.float64)


# Sizes are few, since new ones may need kernels that are not built yet; data,
# scalars and the kind of memory are random.
PRODUCTS = [(np.float32, (), 33, 47, 21), (np.float32, (2, 3), 5, 40, 64),
            (np.float32, (3,), 1, 60, 60), (np.float16, (), 24, 31, 50),
            (np.int8, (2,), 19, 23, 40)]


def gemm_case(rng: np.random.Generator, q: Queue) -> Case:
    dtype, batch, m, n, k = PRODUCTS[rng.integers(len(PRODUCTS))]
    a = random(rng, dtype, *batch, m, k)
    b = random(rng, dtype, k, n)
    at = a
    if rng.integers(2):  # the transposed view of what is transposed
        axes = (*range(len(batch)), len(batch) + 1, len(batch))
        at = q.array(a.transpose(axes)).transpose(*axes)
    exact = f64(a) @ f64(b)
    size = np.abs(f64(a)) @ np.abs(f64(b))
    text = f"gemm {a.dtype} {a.shape} {b.shape}"
    if dtype == np.int8:
        return Case(text, gemm(at, b, queue=q), exact, 0 * exact)
    bias = random(rng, np.float32, n)
    alpha = float(rng.integers(1, 4))
    found = gemm(at, b, alpha=alpha, epilogue="relu(y + bias)", bias=bias,
                 queue=q)
    y = alpha * exact + bias
    bound = alpha * size * k * 2 * U + 4 * U * (alpha * size + abs(bias))
    return Case(text, found, np.maximum(y, 0), bound)


#: layout; images, channels of a group, groups, rows, columns; filters of a
#: group, their rows and columns; stride, padding and dilation
CONVOLUTIONS = [("nchw", 2, 3, 1, 17, 19, 4, 3, 3, (1, 1), (1, 1), (1, 1)),
                ("nhwc", 2, 4, 1, 12, 15, 6, 1, 1, (1, 1), (0, 0), (1, 1)),
                ("nhwc", 1, 2, 3, 14, 11, 2, 3, 2, (2, 1), (1, 0), (1, 2)),
                ("nchw", 3, 1, 4, 13, 16, 1, 3, 3, (1, 1), (1, 1), (1, 1))]


def conv_case(rng: np.random.Generator, q: Queue) -> Case:
    (layout, n, c, groups, h, w, k, r, s, (sh, sw), (ph, pw), (dh, dw)
     ) = CONVOLUTIONS[rng.integers(len(CONVOLUTIONS))]
    x = random(rng, np.float32, n, c * groups, h, w)
    f = random(rng, np.float32, k * groups, c, r, s)
    to = (0, 2, 3, 1) if layout == "nhwc" else (0, 1, 2, 3)
    found = conv2d(x.transpose(to), f.transpose(to), stride=(sh, sw),
                   padding=(ph, pw), dilation=(dh, dw), groups=groups,
                   layout=layout, queue=q)
    padded = np.pad(f64(x), ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    p = (h + 2 * ph - dh * (r - 1) - 1) // sh + 1
    o = (w + 2 * pw - dw * (s - 1) - 1) // sw + 1

    def convolve(x: Values, f: Values) -> Values:
        y = np.zeros((n, groups, k, p, o))
        for i in range(r):
            for j in range(s):
                part = x[:, :, i * dh:i * dh + sh * p:sh,
                         j * dw:j * dw + sw * o:sw][:, :, :p, :o]
                y += np.einsum("ngchw,gkc->ngkhw",
                               part.reshape(n, groups, c, p, o),
                               f[:, :, i, j].reshape(groups, k, c))
        return y.reshape(n, groups * k, p, o).transpose(to)

    return Case(f"conv2d {layout} {x.shape} {f.shape} groups {groups}", found,
                convolve(padded, f64(f)),
                convolve(abs(padded), abs(f64(f))) * (r * s * c + 1) * U)


def softmax_case(rng: np.random.Generator, q: Queue) -> Case:
    rows, cols = rng.integers(1, 9), rng.integers(1, 2000)
    dtype = [np.float32, np.float16][rng.integers(2)]
    x = random(rng, dtype, 2, rows, cols)
    mask = random(rng, np.float32, cols)
    scale = 0.5
    at = q.array(x)[:, ::2] if rng.integers(2) and rows < 3 else x
    x = x[:, ::2] if at is not x else x
    score = scale * f64(x) + mask
    size = abs(scale * f64(x)) + abs(mask)
    shifted = score - score.max(-1, keepdims=True)
    y = np.exp(shifted)
    y /= y.sum(-1, keepdims=True)
    relative = abs(shifted) + 48 + 2 * math.log2(cols) + 4 * size.max()
    return Case(f"softmax {x.dtype} {x.shape}",
                softmax(at, scale=scale, mask=mask, queue=q), y,
                y * relative * U + 2.0 ** -126)


def norm_case(rng: np.random.Generator, q: Queue) -> Case:
    rows, cols = rng.integers(1, 9), rng.integers(2, 2000)
    x, residual = (random(rng, np.float32, rows, cols) for _ in range(2))
    scale, bias = (random(rng, np.float32, cols) for _ in range(2))
    eps = 1e-5
    total = f64((x + residual).astype(np.float32))
    is_layer = rng.integers(2)
    mean = total.mean(-1, keepdims=True) if is_layer else 0
    variance = ((total - mean) ** 2).mean(-1, keepdims=True)
    y = (total - mean) / np.sqrt(variance + eps)
    if is_layer:
        found = layer_norm(x, scale, bias, eps=eps, residual=residual, queue=q)
    else:
        found, bias = rms_norm(x, scale, eps=eps, residual=residual,
                               queue=q), 0 * bias
    k = 13 + 2 * math.log2(cols)
    # r of norm.h: its term for rows that a work-item or work-group holds
    size = abs(mean) + k * (abs(total[:, :1] - mean) + np.sqrt(variance))
    r = size * U / np.sqrt(variance + eps) if is_layer else 0
    error = (1 + r ** 2) * ((1.5 * k + 8) * abs(y) + k + 1) * U
    expected = y * scale + bias
    return Case(f"norm {['rms', 'layer'][is_layer]} {x.shape}", found, expected,
                error * abs(scale) + 2 * U * abs(y * scale) +
                U * abs(expected))


#: sequences, heads of a head of keys, these, queries, keys, d_head, causal
ATTENTIONS = [(2, 1, 3, 17, 17, 32, True), (1, 2, 2, 5, 33, 64, False),
              (2, 4, 1, 1, 40, 24, True)]


def attention_case(rng: np.random.Generator, q: Queue) -> Case:
    b, g, kv, n_q, n_kv, d, causal = ATTENTIONS[
        rng.integers(len(ATTENTIONS))]
    # Heads side by side in rows, seen as an axis of their own.
    qs, ks, vs = (random(rng, np.float32, b, n, h, d) for n, h in
                  ((n_q, g * kv), (n_kv, kv), (n_kv, kv)))
    found = attention(*(q.array(x).transpose(0, 2, 1, 3)
                        for x in (qs, ks, vs)), causal=causal, queue=q)
    qs, ks, vs = (f64(x).transpose(0, 2, 1, 3) for x in (qs, ks, vs))
    ks, vs = np.repeat(ks, g, 1), np.repeat(vs, g, 1)
    scale = 1 / math.sqrt(d)
    score = scale * qs @ ks.swapaxes(-1, -2)
    size = scale * abs(qs) @ abs(ks).swapaxes(-1, -2)
    seen = np.ones((n_q, n_kv), bool)
    if causal:
        seen = np.tril(seen, n_kv - n_q)
    off = U * ((d + 4) * size + 4 * abs(score)) * seen
    most = np.where(seen, score, -np.inf).max(-1, keepdims=True)
    least = np.where(seen, score, np.inf).min(-1, keepdims=True)
    p = np.where(seen, np.exp(score - most), 0)
    p /= p.sum(-1, keepdims=True)
    a = np.minimum(most - least, 104)
    bound = (np.expm1(2 * off.max(-1, keepdims=True)) +
             (2 * a + 2 * n_kv + 64) * U)
    return Case(f"attention {qs.shape} {ks.shape} causal {causal}", found,
                p @ vs, bound * (p @ abs(vs)) + 2.0 ** -126 * abs(vs).sum())


#: a text, the same in NumPy, and the bound of its error by these magnitudes
TEXTS: list[tuple[str, Callable[..., Values], Callable[..., Values]]] = [
    ("x * y + 2", lambda x, y: x * y + 2,
     lambda x, y: 2 * U * (abs(x * y) + 2)),
    ("sum(x * y, axis=-1)", lambda x, y: (x * y).sum(-1, keepdims=True),
     lambda x, y: 9 * U * abs(x * y).sum(-1, keepdims=True)),
    ("where(x > y, x, y / 4)", lambda x, y: np.where(x > y, x, y / 4),
     lambda x, y: 3 * U * abs(y)),
    ("max(x) - min(y)", lambda x, y: (x.max() - y.min()).reshape(1, 1),
     lambda x, y: np.full((1, 1), 2 * U * (abs(x).max() + abs(y).max()))),
    ("t = exp(-abs(x)); out = t * y[:1, :1]",
     lambda x, y: np.exp(-abs(x)) * y[:1, :1],
     lambda x, y: 8 * U * abs(y[0, 0]) * np.ones(x.shape)),
    ("sqrt(x^2 + y^2)", np.hypot, lambda x, y: 8 * U * np.hypot(x, y)),
]


def expr_case(rng: np.random.Generator, q: Queue) -> Case:
    text, exact, bound = TEXTS[rng.integers(len(TEXTS))]
    dtype = [np.float32, np.float16][rng.integers(2)]
    rows, cols = rng.integers(1, 60, 2)
    x = random(rng, dtype, rows, cols)
    y = random(rng, dtype, [1, rows][rng.integers(2)], cols)
    found = expr(text, x=x, y=y, queue=q)
    return Case(f"expr {text!r} {x.dtype} {x.shape} {y.shape}", found,
                exact(f64(x), f64(y)), bound(f64(x), f64(y)))


CASES = (gemm_case, conv_case, softmax_case, norm_case, attention_case,
         expr_case)


def judge(case: Case) -> None:
    found = np.asarray(case.found)
    expected, bound = np.broadcast_arrays(case.expected, case.bound)
    if found.shape != expected.shape:
        raise Error(WRONG_RESULT, f"{case.text}: the shape is {found.shape}, "
                                  f"not {expected.shape}")
    unit, least = ROUNDING[found.dtype.name]
    allowed = bound * (1 + unit) + unit * abs(expected) + least
    # Written so that NaN is wrong.
    wrong = ~(abs(f64(found) - expected) <= allowed)
    if wrong.any():
        at = tuple(map(int, np.argwhere(wrong)[0]))
        raise Error(WRONG_RESULT, f"{case.text}: {wrong.sum()} elements are "
                    f"wrong; at {at} is {found[at]}, not {expected[at]} +- "
                    f"{allowed[at]:.2g}")


def verify(queue: Optional[Queue] = None, cases: int = 30, seed: int = 0
           ) -> int:
    """Run random cases of each operation beside NumPy in f64. Error, with the
    case, where a result is not within the bound that crosslane's headers
    state; else the number of cases."""
    rng = np.random.default_rng(seed)
    queue = queue or default_queue()
    for i in range(cases):
        judge(CASES[i % len(CASES)](rng, queue))
    return cases
