# SPDX-License-Identifier: Apache-2.0
"""Views of expressions, compared with NumPy: the same text is evaluated by
both, fused and with a kernel for each operation. Arithmetic is on values that
f32 holds exactly, except exp, which is within 3 ulp."""
import re
import unittest

import numpy as np

import crosslane as xl

RNG = np.random.default_rng(19)
NAMES = {"x": (7, 9), "b": (9,), "z": (3, 4, 5), "w": (31,)}
VALUES = {name: RNG.integers(-8, 9, shape).astype(np.float32)
          for name, shape in NAMES.items()}
VALUES.update(i=RNG.integers(-4, 4, 11).astype(np.int32),
              j=RNG.integers(-7, 7, (5, 6)).astype(np.int8), k=3)


def order_of(numbers):
    return numbers[0] if isinstance(numbers[0], tuple) else numbers


NUMPY = {
    "transpose": np.transpose,
    "permute": lambda a, *order: np.transpose(a, order_of(order)),
    "reshape": lambda a, *sizes: np.reshape(a, order_of(sizes)),
    "gather": np.take,
    "exp": np.exp,
    "sum": lambda a, axis=None: np.sum(a, axis=axis, keepdims=True),
    "max": lambda a, axis=None: np.max(a, axis=axis, keepdims=True),
}

VIEWS = [
    # inputs
    "x[::-1]", "x[::-2, 1::3]", "x[5:1:-1, -1]", "w[20:3:-4]", "w[-9:99]",
    "w[99:-99:-7]", "x[:, None, :] * b[None, ::-1]", "w[..., None] - w[None]",
    "permute(z, (2, 0, 1))[::-1, 1:, None]", "transpose(z)[1][::-1, 2]",
    "reshape(x[::-1], 21, 3)", "reshape(transpose(x), -1)[::5]",
    "reshape(z, 12, 5)[:, ::-1]",
    # computed values
    "exp(x)[1:] - exp(x)[:-1]", "transpose(exp(x) + b)[::-1, 1:]",
    "(w[1:] - w[:-1])[::-1][::3]", "(2 * w)[None, :, None]",
    "reshape(exp(x), 3, 21)[1]", "reshape(x + b, (9, 7))",
    "reshape(w[:30] * 2, 5, -1) + reshape(w[1:], (5, 6))",
    # and reductions
    "sum(x, axis=1)[::-1]", "max(z, axis=(0, 2))[0, 1:3, 0]",
    "transpose(reshape(sum(z, axis=2), 3, 4))",
    "exp(x - max(x, axis=1))[::-1, 2:]", "sum(x[:, ::-1] * x, axis=0)",
    "sum(sum(z, axis=2)[::-1] * z, axis=1)",
    # indices known at run time
    "x[i]", "x[::-1, j]", "gather(z, i, axis=1)", "z[..., i, 1:]", "w[j][i]",
    "x[k:k + 2]", "z[..., k - 1:k + 1, ::2]", "exp(x)[:, k - 2:4 + k]",
    "exp(x)[i] + b", "x[k]", "transpose(x)[:, k - 1]", "sum(x[i], axis=1)",
]


def used(text):
    return {name: value for name, value in VALUES.items()
            if re.search(rf"\b{name}\b(?!\()", text)}


class Views(unittest.TestCase):
    def compare(self, text, variant):
        names = used(text)
        wide = {name: value if name in "ijk" else value.astype(np.float64)
                for name, value in names.items()}
        expected = eval(text, dict(NUMPY), wide)
        found = xl.expr(text, variant=variant, **names)
        self.assertEqual(found.shape, expected.shape, text)
        # A value is 2 terms of exp at most, each below exp(8): 3 ulp of each,
        # and the rounding of their sum.
        bound = 0
        if "exp" in text:
            bound = 16 * 2.0 ** -24 * max(np.exp(8.0), np.abs(expected).max(initial=0))
        self.assertLessEqual(np.abs(found - expected).max(initial=0), bound,
                             text)

    def test_against_numpy(self):
        for text in VIEWS:
            for variant in ("expr_fused", "expr_unfused"):
                with self.subTest(text=text, variant=variant):
                    self.compare(text, variant)

    def test_without_elements(self):
        x, i = VALUES["x"], VALUES["i"]
        for text in ("x[3:3]", "x[k:k] + 1", "exp(x)[:, 5:2]", "x[::-1, 9:]",
                     "reshape(x[:0], 9, -1)", "x[:, i[:0]]", "x[i][:0]",
                     "sum(x[:0], axis=0)", "sum(x[:, :0], axis=0)"):
            for variant in ("expr_fused", "expr_unfused"):
                with self.subTest(text=text, variant=variant):
                    self.compare(text, variant)
        self.assertEqual(xl.expr("sum(y)", y=x[:0]), 0)
        self.assertEqual(xl.expr("x + y", x=x[:0], y=x[:1]).shape, (0, 9))
        kept = x.copy()
        xl.expr("x[3:3] = 1; x[5] = 2", x=kept)
        self.assertTrue((kept[5] == 2).all() and (kept[:5] == x[:5]).all())
        event = xl.expr("i[:0]", i=i)
        self.assertEqual((event.dtype, event.shape), (np.int32, (0,)))

    def test_out_of_range(self):
        i = np.array([-8, -7, 6, 7, 2 ** 31 - 1, -2 ** 31], np.int32)
        for x in (VALUES["x"], np.ones((7, 9), np.int32),
                  np.ones((7, 9), np.bool_)):
            missing = np.nan if x.dtype == np.float32 else 0
            for text in ("x[i]", "transpose(x)[:, i]"):
                with self.subTest(text=text, dtype=x.dtype):
                    found = xl.expr(text, x=x, i=i)
                    rows = found if text == "x[i]" else found.T
                    np.testing.assert_array_equal(rows[1:3], x[[0, 6]])
                    np.testing.assert_array_equal(
                        rows[[0, 3, 4, 5]], np.full((4, 9), missing))

    def test_mistakes(self):
        for text, message in (
                ("x[9]", "index 9 is outside of axis 0, whose size is 7"),
                ("max(x[3:3])", "max of no elements has no value"),
                ("x + 1[0]", "the slice names 1 axes and the tensor has 0"),
                ("reshape(x, 8, -1)", "63 elements, of shape (7, 9)")):
            with self.subTest(text=text), self.assertRaises(xl.Error) as e:
                xl.expr(text, x=VALUES["x"])
            self.assertIn(message, str(e.exception))
            self.assertIn("^", str(e.exception))


if __name__ == "__main__":
    unittest.main()
