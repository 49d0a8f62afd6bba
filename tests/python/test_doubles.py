# SPDX-License-Identifier: Apache-2.0
"""Expressions in f64, compared with NumPy, fused and unfused.

The bound of a row is its number times u = 2^-53, relative to what is added up:
the largest |expected|, or the third column. Of a function of n ulp by OpenCL C
7.4 it is 2 n, and 2 for NumPy's own; of a sum 8, and n for NumPy's pairwise
one (below 32 here); of a formula the sum over its operations, times the
conditions of the arguments, which are from -3 to 3."""
import re
import unittest

import numpy as np

import crosslane as xl

U = 2.0 ** -53
RNG = np.random.default_rng(64)
VALUES = {"x": RNG.uniform(-3, 3, (7, 70)), "y": RNG.uniform(-3, 3, (7, 70)),
          "f": RNG.uniform(-3, 3, (7, 70)).astype(np.float32),
          "i": RNG.integers(-9, 9, (7, 70)).astype(np.int32),
          "h": RNG.uniform(-3, 3, (7, 70)).astype(np.float16),
          "d": RNG.uniform(-1, 1, (3, 70000)), "s": 0.1}


def keep(f):
    return lambda a, axis=None: f(a, axis=axis, keepdims=True)


def cast(a, dtype):
    return np.asarray(a).astype(dtype).astype(np.float64)


NUMPY = {name: getattr(np, name) for name in
         "exp log1p sqrt sin tanh where abs log2 hypot".split()}
NUMPY |= {name: keep(getattr(np, name)) for name in
          "sum mean var max min prod std".split()}
NUMPY |= {"f32": np.float32, "f64": np.float64, "cast": cast,
          "transpose": np.transpose, "cumsum": np.cumsum,
          "concat": lambda *a, axis=0: np.concatenate(a, axis),
          "norm2": lambda a, axis=None: np.abs(a).max() * np.sqrt(
              ((a / np.abs(a).max()) ** 2).sum(axis, keepdims=True)),
          "logsumexp": lambda a, axis=None: np.log(
              np.exp(a).sum(axis, keepdims=True)),
          "softmax": lambda a: np.exp(a) / np.exp(a).sum(-1, keepdims=True),
          "argmax": lambda a, axis: np.expand_dims(
              a.argmax(axis), axis).astype(np.int32)}

ROWS = [
    ("x + y", 0, None), ("x - 0.1", 0, None), ("x * y", 0, None),
    ("x / 3", 5, None), ("s * x + f", 2, "6"), ("x * 0.1 + i", 2, "10"),
    ("h - x", 0, None), ("x ** 3", 4, None), ("x // y", 0, None),
    ("abs(x) ** y", 34, None), ("cast(f, f64) * 0.1", 0, None),
    ("cast(x, f32)", 0, None), ("cast(x, f32) + 1e-12", 0, None),
    ("where(x > y, x, 2.7)", 0, None), ("transpose(x)[::-1, 2] * y[2]", 0, "9"),
    ("sqrt(abs(x))", 8, None), ("exp(x)", 8, None), ("log1p(abs(x))", 6, None),
    ("sin(x)", 10, None), ("tanh(x)", 12, None), ("log2(abs(x) + 1)", 12, None),
    ("hypot(x, y)", 10, None), ("x * 1e300", 0, None), ("max(x, axis=1)", 0, None),
    ("argmax(x, axis=1)", 0, None), ("min(x, axis=0)", 0, None),
    ("sum(x)", 40, "490 * 3"), ("sum(x, axis=0)", 40, "7 * 3"),
    ("sum(x, axis=1)", 40, "70 * 3"), ("sum(d, axis=1)", 40, "70000"),
    ("mean(x, axis=1)", 50, "3"), ("var(x, axis=1)", 60, "9"),
    ("var(d, axis=1)", 60, "1"), ("std(x, axis=0)", 60, "3"),
    ("prod(x[:, :9], axis=1)", 36, None), ("norm2(x * 1e200)", 60, None),
    ("norm2(d, axis=1)", 60, None), ("logsumexp(x, axis=1)", 200, "6"),
    ("softmax(x)", 80, None), ("cumsum(x, axis=1)", 60, "70 * 3"),
    ("concat(x, f)", 0, None), ("x[i[0]]", 0, None),
]


class Doubles(unittest.TestCase):
    def test_against_numpy(self):
        for text, bound, scale in ROWS:
            used = {n: v for n, v in VALUES.items()
                    if re.search(rf"\b{n}\b(?!\()", text)}
            if "[i" in text:
                used["i"] = abs(VALUES["i"]) % 7
            wide = {n: v.astype(np.float64) if getattr(v, "dtype", None) in
                    (np.float16, np.float32) else v for n, v in used.items()}
            want = eval(text, dict(NUMPY), wide)
            most = eval(scale) if scale else np.abs(want).max()
            for variant in ("expr_fused", "expr_unfused"):
                with self.subTest(text=text, variant=variant):
                    got = xl.expr(text, variant=variant, **used)
                    self.assertEqual((got.dtype, got.shape),
                                     (want.dtype, want.shape))
                    self.assertLessEqual(np.abs(got - want).max(),
                                         bound * U * most)

    def test_results(self):
        x = VALUES["x"]
        for dtype in (np.float32, np.float16, np.float64):
            out = np.zeros(x.shape, dtype)
            xl.expr("x * 1", x=x, out=out)
            np.testing.assert_array_equal(
                out, x.astype(np.float32).astype(dtype)
                if dtype == np.float16 else x.astype(dtype))
        with self.assertRaisesRegex(xl.Error, "write cast"):
            xl.expr("x", x=x, out=np.zeros(x.shape, np.int32))


if __name__ == "__main__":
    unittest.main()
