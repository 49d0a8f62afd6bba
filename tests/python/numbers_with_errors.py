# SPDX-License-Identifier: Apache-2.0
"""Arrays of NumPy with the error that f32 arithmetic may have made in them.

A Number is what the language computes: bool, i32, or f32, whose exact value is
held in double with a bound e: the device's result lies in [x - e, x + e]. The
value of every operation is NumPy's. The bound is

    what the arguments' errors become + the operation's own rounding

as in Higham, Accuracy and Stability of Numerical Algorithms, 3.3. The first
term is the largest deviation at the corners of the arguments' box, or `slope`
times their errors where an operation is not monotonic; where a comparison or a
choice is not certain it is infinite. The second is the ulp of the operation
that include/crosslane/expr.h refers to (OpenCL C 3.0, section 7.4)."""

import itertools
import math

import numpy as np

U = 2.0**-24
LEAST = 2.0**-126  # what may be flushed to 0
MOST = float(np.finfo(np.float32).max)


class Number:
    __array_priority__ = 100

    def __init__(self, x, e=0.0):
        self.x = np.asarray(x)
        self.e = np.broadcast_to(np.asarray(e, np.float64), self.x.shape)

    is_float = property(lambda self: self.x.dtype == np.float64)
    shape = property(lambda self: self.x.shape)

    def int(self):
        return Number(self.x.astype(np.int32), self.e)

    def float(self):
        """As f32: integers beyond 2^24 are rounded."""
        if self.is_float:
            return self
        exact = self.x.astype(np.float64)
        rounded = exact.astype(np.float32).astype(np.float64)
        return Number(rounded, self.e + np.where(self.e > 0,
                                                 2 * U * abs(exact), 0))

    def __getitem__(self, key):
        return Number(self.x[key], self.e[key])


def lift(v):
    if isinstance(v, Number):
        return v
    if isinstance(v, (bool, np.bool_)):
        return Number(np.bool_(v))
    if isinstance(v, (int, np.integer)):
        return Number(np.int32(v))
    return Number(np.float64(np.float32(v)))


def finish(x, e):
    """The f32 result: its range ends, and subnormals may be flushed."""
    x, e = np.broadcast_arrays(x, e)
    e = np.where(np.isnan(e), np.inf, e)
    special = ~np.isfinite(x)
    e = np.where(special & (e > 0), np.inf, e)
    over = ~special & (abs(x) - e > MOST * (1 + U))
    near = ~special & ~over & (abs(x) + e > MOST * (1 - U))
    tiny = ~special & (abs(x) - e < LEAST) & ((x != 0) | (e > 0))
    x = np.where(over, np.copysign(np.inf, x), x)
    e = np.where(over, 0, np.where(near, np.inf, e + np.where(tiny, LEAST, 0)))
    return Number(x, e)


def distance(a, b):
    with np.errstate(all="ignore"):
        far = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, abs(a - b))
    return np.where(np.isnan(far), np.inf, far)


def corners(f, args):
    """The largest deviation from f at a corner of the arguments' box."""
    middle, far = f(*(a.x for a in args)), 0.0
    if all((a.e == 0).all() for a in args):
        return middle, np.zeros(np.shape(middle))
    for signs in itertools.product((-1, 1), repeat=len(args)):
        ends = (np.where(a.e > 0, a.x + s * a.e, a.x)
                for a, s in zip(args, signs))
        far = np.maximum(far, distance(f(*ends), middle))
    return middle, far


def of_floats(f, args, ulp, slope=0, of=None):
    """f of floats; ulp 0: rounded to nearest, None: exact. `of`: what the ulp
    is relative to, in place of the result."""
    args = [a.float() for a in args]
    with np.errstate(all="ignore"):
        x, e = corners(f, args)
        if slope:
            e = slope * sum(a.e for a in args)
        scale = abs(x) if of is None else np.maximum(abs(x), of(*args))
        own = 0 if ulp is None else (2 * ulp or 1) * U * scale
        own = np.where(np.isfinite(x), own, 0)
        return finish(x, e + own)


def by_element(f, ulp, slope=0, of=None):
    return lambda *args: of_floats(f, [lift(a) for a in args], ulp, slope, of)


def of_same(f, ulp, of_ints=None):
    """Integers stay integers and wrap, as NumPy's; floats are floats."""
    def call(*args):
        args = [lift(a) for a in args]
        if any(a.is_float for a in args):
            return of_floats(f, args, ulp)
        unsure = sum(a.e for a in args) > 0
        with np.errstate(all="ignore"):
            x = (of_ints or f)(*(a.x.astype(np.int32) for a in args))
        return Number(np.asarray(x).astype(np.int32),
                      np.where(unsure, np.inf, 0))
    return call


def of_bits(f):
    def call(*args):
        args = [lift(a) for a in args]
        assert not any(a.is_float for a in args)
        return Number(f(*(a.x for a in args)),
                      np.where(sum(a.e for a in args) > 0, np.inf, 0))
    return call


def of_ints(f):
    def call(*args):
        return of_bits(f)(*(lift(a).int() for a in args))
    return call


def comparison(f):
    def call(a, b):
        a, b = lift(a), lift(b)
        if a.is_float or b.is_float:
            a, b = a.float(), b.float()
        with np.errstate(all="ignore"):
            apart = abs(np.subtract(a.x, b.x, dtype=np.float64))
            sure = (a.e + b.e == 0) | (apart > a.e + b.e)
            return Number(f(a.x, b.x), np.where(sure, 0, np.inf))
    return call


def quotient(f, is_rest):
    """x // y and what is left: certain where the whole quotient is."""
    def call(a, b):
        a, b = lift(a).float(), lift(b).float()
        whole = np.trunc if f is np.fmod else np.floor
        with np.errstate(all="ignore"):
            x = f(a.x, b.x)
            n, far = corners(lambda p, q: whole(p / q), (a, b))
            e = a.e + abs(n) * b.e if is_rest else 0.0
            exact = (a.e == 0) & (b.e == 0)
            e = np.where(exact, 0, np.where(far > 0, np.inf, e))
            own = (0 if f is np.fmod else 1 if is_rest else 16) * U * abs(x)
            return finish(x, e + np.where(np.isfinite(x), own, 0))
    def same(a, b):
        a, b = lift(a), lift(b)
        if a.is_float or b.is_float:
            return call(a, b)
        return of_ints(f)(a, b)
    return same


def power(a, b):
    """Whole powers of integers are integers; the others floats."""
    plain = not isinstance(b, Number)
    a, b = lift(a), lift(b)
    if plain and not a.is_float and not b.is_float and b.x >= 0:
        return of_ints(np.power)(a, b)
    return of_floats(np.power, [a, b], 16)


def where(c, a, b):
    c, a, b = lift(c), lift(a), lift(b)
    if a.is_float or b.is_float:
        a, b = a.float(), b.float()
    elif a.x.dtype != np.bool_ or b.x.dtype != np.bool_:
        a, b = a.int(), b.int()
    e = np.where(c.x, a.e, b.e)
    return Number(np.where(c.x, a.x, b.x), np.where(c.e > 0, np.inf, e))


# -- over axes ---------------------------------------------------------------

def flat(a, axis):
    """The reduced axes as one, the last; and the shape of the result."""
    a = lift(a)
    axes = range(a.x.ndim) if axis is None else np.atleast_1d(axis)
    axes = sorted(int(d) % a.x.ndim for d in axes)
    kept = [d for d in range(a.x.ndim) if d not in axes]
    shape = [1 if d in axes else n for d, n in enumerate(a.shape)]
    order = kept + axes
    size = [a.shape[d] for d in kept] + [-1]
    return (Number(a.x.transpose(order).reshape(size),
                   a.e.transpose(order).reshape(size)), shape)


def sums(a):
    with np.errstate(all="ignore"):
        size = (abs(a.x) + a.e).sum(-1)
        e = a.e.sum(-1) + 8 * U * size
        x = a.x.sum(-1)
        return x, np.where(np.isfinite(x) & (size > MOST), np.inf,
                           np.where(np.isfinite(x), e, a.e.sum(-1)))


def reduction(f, to_float):
    def call(a, axis=None):
        a, shape = flat(a, axis)
        a = a.float() if to_float else a
        x, e = f(a)
        x, e = np.asarray(x).reshape(shape), np.asarray(e).reshape(shape)
        return finish(x, e) if x.dtype == np.float64 else Number(x, e)
    return call


def unsure(a):
    return np.where((a.e > 0).any(-1), np.inf, 0)


def sum_of(a):
    if a.is_float:
        return sums(a)
    return a.int().x.sum(-1, dtype=np.int32), unsure(a)


def prod_of(a):
    if not a.is_float:
        return a.int().x.prod(-1, dtype=np.int32), unsure(a)
    n, x = a.x.shape[-1], a.x.prod(-1)
    wide = (1 + np.where(a.e > 0, a.e / abs(a.x), 0)).prod(-1)
    return x, abs(x) * (wide * (1 + 2 * n * U) - 1)


def mean_of(a):
    x, e = sums(a)
    n = a.x.shape[-1]
    return x / n, e / n + 10 * U * abs(x / n)


def var_of(a):
    n, middle = a.x.shape[-1], a.x.mean(-1, keepdims=True)
    x = a.x.var(-1)
    moved = (2 * abs(a.x - middle) * a.e + a.e**2).sum(-1) / n
    return x, moved + LEAST + 16 * U * (x + U * middle[..., 0] ** 2)


def extreme_of(f):
    def call(a):
        x = f(a.x, -1)
        if not a.is_float:
            return f(a.int().x, -1), unsure(a)
        return x, np.maximum(distance(f(a.x - a.e, -1), x),
                             distance(f(a.x + a.e, -1), x))
    return call


def place_of(f, sign):
    def call(a):
        at = f(a.x, -1)
        far = sign * (np.take_along_axis(a.x, at[..., None], -1) - a.x)
        close = (a.e + a.e.max(-1, keepdims=True) > far) & (a.e > 0)
        return at.astype(np.int32), np.where(close.sum(-1) > 1, np.inf, 0)
    return call


def truth_of(f):
    return lambda a: (f(a.x, -1), unsure(a))


def norm_of(a):
    x = np.sqrt((a.x**2).sum(-1))
    own = 10.5 * U * x + math.sqrt(a.x.shape[-1]) * LEAST
    return x, np.sqrt((a.e**2).sum(-1)) + np.where(np.isfinite(x), own, 0)


def logsumexp_of(a):
    top = a.x.max(-1, keepdims=True)
    p = np.exp(a.x - top)
    total = p.sum(-1)
    x = top[..., 0] + np.log(total)
    own = (64 + 2 * (p * (top - a.x)).sum(-1) / total + 6 * np.log(total)
           + abs(top[..., 0]) + abs(x))
    return x, a.e.max(-1) + own * U


sum_all = reduction(sum_of, False)
max_all = reduction(extreme_of(np.max), False)
min_all = reduction(extreme_of(np.min), False)


def softmax(a, axis=-1):
    e = NAMES["exp"](a - max_all(a, axis=axis))
    return e / sum_all(e, axis=axis)


def log_softmax(a, axis=-1):
    below = a - max_all(a, axis=axis)
    return below - NAMES["log"](sum_all(NAMES["exp"](below), axis=axis))


# -- pieces ------------------------------------------------------------------

def concat(*values, axis=0):
    values = [lift(v) for v in values]
    kinds = {"f" if v.is_float else v.x.dtype.kind for v in values}
    if "f" in kinds:
        values = [v.float() for v in values]
    elif len(kinds) > 1:
        values = [v.int() for v in values]
    return Number(np.concatenate([v.x for v in values], axis),
                  np.concatenate([v.e for v in values], axis))


def pad(a, before, after, value=0, axis=None):
    a = lift(a)
    axes = range(a.x.ndim) if axis is None else np.atleast_1d(axis)
    if isinstance(value, float):
        a = a.float()
    width = np.zeros((a.x.ndim, 2), int)
    width[list(axes)] = before, after
    return Number(np.pad(a.x, width, constant_values=value),
                  np.pad(a.e, width))


def cumsum(a, axis=None):
    """A sum, and two roundings, for each time that the axis is cut."""
    a = lift(a)
    if not a.is_float:
        return Number(np.cumsum(a.x, axis, np.int32))
    n, cuts = (a.x.size if axis is None else a.x.shape[axis]), 1
    while n > 64:
        n, cuts = -(-n // 32), cuts + 1
    size = np.cumsum(abs(a.x) + a.e, axis)
    return finish(np.cumsum(a.x, axis),
                  np.cumsum(a.e, axis) + 10 * cuts * U * size)


def either(of_two, of_axes):
    return lambda a, b=None, axis=None: (
        of_axes(a, axis=axis) if b is None else of_two(a, b))


def cast_i32(a):
    a = lift(a)
    if not a.is_float:
        return a.int()
    with np.errstate(all="ignore"):
        x, far = corners(np.trunc, (a,))
        x = np.clip(np.nan_to_num(x), -2.0**31, 2.0**31 - 1)
    return Number(x.astype(np.int64).astype(np.int32),
                  np.where(far > 0, np.inf, 0))


def cast(a, to):
    return to(a)


def triangle(f):
    return lambda a, k=0: Number(f(a.x, k), f(a.e, k))


erf = np.vectorize(math.erf, otypes=[np.float64])
sigmoid = lambda x: 1 / (1 + np.exp(-x))
argument = lambda a: abs(a.x)

mul, sub = of_same(np.multiply, 0), of_same(np.subtract, 0)
minimum, maximum = of_same(np.minimum, None), of_same(np.maximum, None)
bits = {"and": of_bits(np.bitwise_and), "or": of_bits(np.bitwise_or),
        "xor": of_bits(np.bitwise_xor), "invert": of_bits(np.invert),
        "lshift": of_ints(np.left_shift), "rshift": of_ints(np.right_shift)}

NAMES = {
    "abs": of_same(np.abs, None), "sign": of_same(np.sign, None),
    "ceil": of_same(np.ceil, None, np.positive),
    "floor": of_same(np.floor, None, np.positive),
    "round": of_same(np.rint, None, np.positive),
    "trunc": of_same(np.trunc, None, np.positive),
    "sqrt": by_element(np.sqrt, 3), "exp": by_element(np.exp, 3),
    "exp2": by_element(np.exp2, 3), "expm1": by_element(np.expm1, 3),
    "log": by_element(np.log, 3), "log2": by_element(np.log2, 3),
    "log10": by_element(np.log10, 3), "log1p": by_element(np.log1p, 2),
    "sin": by_element(np.sin, 4, 1), "cos": by_element(np.cos, 4, 1),
    "tan": by_element(np.tan, 5), "asin": by_element(np.arcsin, 4),
    "acos": by_element(np.arccos, 4), "atan": by_element(np.arctan, 5),
    "sinh": by_element(np.sinh, 4), "cosh": by_element(np.cosh, 4),
    "tanh": by_element(np.tanh, 5), "asinh": by_element(np.arcsinh, 4),
    "acosh": by_element(np.arccosh, 4), "atanh": by_element(np.arctanh, 5),
    "erf": by_element(erf, 16), "sigmoid": by_element(sigmoid, 8),
    "relu": of_same(lambda x: np.maximum(x, 0), None),
    "silu": by_element(lambda x: x * sigmoid(x), 10, 1.1, argument),
    "gelu": by_element(lambda x: 0.5 * x * (1 + erf(x * math.sqrt(0.5))),
                       10, 1.13, argument),
    "softplus": by_element(lambda x: np.logaddexp(x, 0), 8),
    "atan2": by_element(np.arctan2, 6), "hypot": by_element(np.hypot, 4, 1),
    "copysign": by_element(np.copysign, None),
    "mod": quotient(np.mod, True), "fmod": quotient(np.fmod, True),
    "xor": bits["xor"], "where": where, "cast": cast,
    "i32": cast_i32, "f32": lambda a: lift(a).float(),
    "minimum": minimum, "maximum": maximum,
    "min": either(minimum, min_all), "max": either(maximum, max_all),
    "clamp": lambda x, low, high: minimum(maximum(x, low), high),
    "isnan": lambda a: Number(np.isnan(lift(a).x), np.where(
        np.isinf(lift(a).e), np.inf, 0)),
    "isinf": lambda a: Number(np.isinf(lift(a).x), np.where(
        np.isinf(lift(a).e), np.inf, 0)),
    "isfinite": lambda a: Number(np.isfinite(lift(a).x), np.where(
        np.isinf(lift(a).e), np.inf, 0)),
    "sum": sum_all, "prod": reduction(prod_of, False),
    "mean": reduction(mean_of, True), "var": reduction(var_of, True),
    "std": lambda a, axis=None: NAMES["sqrt"](
        reduction(var_of, True)(a, axis)),
    "argmax": reduction(place_of(np.argmax, 1), False),
    "argmin": reduction(place_of(np.argmin, -1), False),
    "any": reduction(truth_of(np.any), False),
    "all": reduction(truth_of(np.all), False),
    "norm2": reduction(norm_of, True),
    "logsumexp": reduction(logsumexp_of, True),
    "softmax": softmax, "log_softmax": log_softmax,
    "concat": concat, "pad": pad, "cumsum": cumsum,
    "tril": triangle(np.tril), "triu": triangle(np.triu),
    "index": lambda a, axis: Number(
        np.indices(a.shape)[axis].astype(np.int32)),
    "pi": lift(math.pi), "inf": math.inf, "nan": math.nan,
    "true": True, "false": False,
}

OPERATORS = {
    "add": of_same(np.add, 0), "sub": sub, "mul": mul,
    "truediv": by_element(np.divide, 2.5),
    "floordiv": quotient(np.floor_divide, False), "mod": NAMES["mod"],
    "pow": power, **bits,
    "lt": comparison(np.less), "le": comparison(np.less_equal),
    "gt": comparison(np.greater), "ge": comparison(np.greater_equal),
    "eq": comparison(np.equal), "ne": comparison(np.not_equal),
}
for name, f in OPERATORS.items():
    setattr(Number, f"__{name}__", lambda *args, f=f: f(*args))
    setattr(Number, f"__r{name}__", lambda a, b, f=f: f(b, a))
Number.__neg__ = lambda a: sub(0, a) if not a.is_float else Number(-a.x, a.e)
