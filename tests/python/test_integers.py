# SPDX-License-Identifier: Apache-2.0
"""Expressions in i64, u32 and u16, equal to NumPy's in i64 (of u16 alone in
i32), fused and unfused: fixed rows, and random ones."""
import re
import unittest

import numpy as np

import crosslane as xl

RNG = np.random.default_rng(64)
VALUES = {"x": RNG.integers(-2**63, 2**63, (7, 70)),
          "y": RNG.integers(-2**40, 2**40, (7, 70)) * 2 + 1,
          "u": RNG.integers(0, 2**32, (7, 70)).astype(np.uint32),
          "w": RNG.integers(0, 2**16, (7, 70)).astype(np.uint16),
          "i": RNG.integers(0, 7, (7, 70)).astype(np.int32),
          "a": RNG.uniform(size=(7, 70)) < 0.5,
          "f": RNG.uniform(-3e19, 3e19, (7, 70)).astype(np.float32),
          "g": RNG.uniform(-3e19, 3e19, (7, 70)),
          "d": RNG.integers(-2**40, 2**40, (3, 70000)), "s": np.int64(2**45 + 1),
          "k": np.int64(12345), "m": np.int64(-3)}


def keep(f):
    return lambda a, axis=None: np.asarray(f(a, axis=axis, keepdims=True))


def cast(a, dtype):
    a, range_of = np.asarray(a), np.iinfo(dtype)
    if a.dtype.kind == "f":
        a = np.array([int(min(max(v, -2.0**63), 2**63 - 1))
                      for v in a.ravel().astype(object)]).reshape(a.shape)
    return np.clip(a, range_of.min, range_of.max)


def argument(f):
    return lambda a, axis: np.expand_dims(f(a, axis), axis)


NUMPY = {"abs": np.abs, "sign": np.sign, "where": np.where,
         "maximum": np.maximum, "minimum": np.minimum, "clamp": np.clip,
         "relu": lambda a: np.maximum(a, 0), "xor": np.bitwise_xor,
         "cumsum": np.cumsum, "transpose": np.transpose,
         "concat": lambda *a, axis=0: np.concatenate(a, axis),
         "index": lambda axis: np.indices((7, 70))[axis],
         "argmax": argument(np.argmax), "argmin": argument(np.argmin),
         "cast": cast, "fmod": np.fmod, "mod": np.mod}
NUMPY |= {name: keep(getattr(np, name))
          for name in "sum prod min max any all".split()}
NUMPY |= {"i64": np.int64, "u32": np.uint32, "u16": np.uint16,
          "i32": np.int32, "i8": np.int8}

ROWS = """x + y; x - s; x * y; -x; ~x; abs(x); sign(x); x // y; x % y; mod(x, y)
fmod(x, y); x // 0 * 0; x // -1; x % -7; x ** 2; x ** 5; x << 7; x >> 40; y << i
u + u; u - u[0]; u * 3 >> 5; u // 3; w * w; w - 40000; w << 3; w // 7; w % 9
x & y; x | u; xor(x, u); x < y; x == y; u >= w; where(x > 0, x, u); where(a, x, 5)
a + x; clamp(x, -5, y); maximum(x, u); minimum(x, y); relu(x); 1 << 62 | x
x + 9007199254740991; x * 4294967297; (y * 4294967297) >> 33; index(1) * x
sum(x); sum(x, axis=0); sum(x, axis=1); sum(d, axis=1); prod(y); prod(x, axis=0)
max(x, axis=1); min(x, axis=0); max(d); argmax(x, axis=1); argmin(d, axis=1)
argmax(u, axis=0); any(x > y, axis=0); all(x != 0); sum(w); sum(w, axis=0); max(w)
argmin(w, axis=1); cumsum(x, axis=1); transpose(x)[::-1, 2]; x[:, ::-3]; w[1:, ::2]
x[i[0, 0]]; x[:, u[0, 0] % 70]; concat(x, u); sum(where(a, x, 2**52), axis=1)
cast(x, i32) + 1; cast(x, u32); cast(x, u16); cast(x, i8); cast(f, i64)
cast(g, i64); cast(i - 3, u32); cast(i - 3, u16) * 2; cast(w, i64) << 40
sum(x * 0 + 9007199254740991, axis=1); max(x) - min(x)"""


def refer(text, names):
    """NumPy in i64; in i32 where nothing is i64 or u32."""
    is_long = re.search(r"\b[xyuds]\b|i64|u32", text)
    whole = np.int64 if is_long else np.int32
    wide = {n: v.astype(whole) if hasattr(v, "dtype") and v.dtype.kind in "iu"
            else v for n, v in names.items()}
    with np.errstate(all="ignore"):
        want = eval(text, dict(NUMPY), wide)
    return want if want.dtype == bool else want.astype(whole)


def random_expression(depth):
    if depth == 0:
        return RNG.choice(["x", "y", "u", "w", "i", "k", "m", "s"])
    left, right = (random_expression(depth - 1) for _ in range(2))
    return RNG.choice([
        f"({left} + {right})", f"({left} - {right})", f"({left} * {right})",
        f"({left} // ({right} | 1))", f"({left} % ({right} | 1))",
        f"({left} & {right})", f"xor({left}, {right})", f"(-{left} | {right})",
        f"({left} << ({right} & 63))", f"({left} >> ({right} & 63))",
        f"where({left} < {right}, {left}, {right})", f"maximum({left}, {right})",
        f"cast({left}, u16)", f"cast({left}, u32)", f"abs({left})"])


class Integers(unittest.TestCase):
    def check(self, text, variant):
        names = {n: v for n, v in VALUES.items()
                 if re.search(rf"\b{n}\b(?!\()", text)}
        with self.subTest(text=text, variant=variant):
            want = refer(text, names)
            got = xl.expr(text, variant=variant, **names)
            self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
            np.testing.assert_array_equal(got, want)

    def test_rows(self):
        for place, text in enumerate(re.split(r"[;\n]", ROWS)):
            self.check(text.strip(), "expr_fused")
            if place % 4 == 0:
                self.check(text.strip(), "expr_unfused")

    def test_random(self):
        for i in range(30):
            self.check(f"x * 0 + {random_expression(1 + i % 3)}", None)

    def test_floats(self):
        x, u = VALUES["x"], VALUES["u"]
        np.testing.assert_array_equal(xl.expr("cast(x, f32)", x=x),
                                      x.astype(np.float32))
        np.testing.assert_array_equal(xl.expr("x * g", x=x, g=VALUES["g"]),
                                      x * VALUES["g"])
        np.testing.assert_array_equal(xl.expr("u / 2", u=u),
                                      u.astype(np.float32) / np.float32(2))

    def test_results(self):
        x = VALUES["x"]
        for dtype in (np.int64, np.int32, np.uint32, np.uint16, np.int8):
            out = np.zeros(x.shape, dtype)
            xl.expr("x + 0", x=x, out=out)
            np.testing.assert_array_equal(out, cast(x, dtype).astype(dtype))

    def test_refused(self):
        x = VALUES["x"]
        with self.assertRaisesRegex(xl.Error, "below 2\\^53"):
            xl.expr("x + 9007199254740993", x=x)
        with self.assertRaisesRegex(xl.Error, "between -2\\^53 and"):
            xl.expr("x + s", x=x, s=2**60)
        with self.assertRaisesRegex(xl.Error, "write cast"):
            xl.expr("x * 0.5", x=x, out=np.zeros(x.shape, np.int64))


if __name__ == "__main__":
    unittest.main()
