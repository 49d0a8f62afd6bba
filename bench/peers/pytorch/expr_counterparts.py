# SPDX-License-Identifier: Apache-2.0
"""clbench's expressions as they are usually written in PyTorch, by name. The
parameters of a function are the names that the expression reads; it returns
what the expression assigns, in the same order. On doubles it computes the
expected result. use_torch() sets the module before a function is called."""
import inspect
import math

torch = None
F = None


def use_torch(module):
    global torch, F
    torch, F = module, module.nn.functional


def parameters(name):
    """The bindings that a case reads."""
    return list(inspect.signature(COUNTERPARTS[name]).parameters)


def wide(x):
    """As f32, to be summed or exponentiated; doubles stay doubles."""
    return x if x.dtype == torch.float64 else x.float()


def softmax(x, m, s):
    return torch.softmax(torch.where(m, x * s, -math.inf), -1)


def rms_norm(x, r, g):
    h = wide(x + r)
    return h * torch.rsqrt((h * h).mean(-1, keepdim=True) + 1e-6) * g


def layer_norm_residual(x, r, g, b):
    h = x + r
    return h, F.layer_norm(h, h.shape[-1:], g, b, 1e-5)


def momentum(p, v, g, mu, lr):
    v = mu * v + g
    return v, p - lr * v


def adam(p, m, v, g, lr, b1, b2, c1, c2, eps):
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g * g
    return m, v, p - lr * (m / c1) / (torch.sqrt(v / c2) + eps)


def mean_and_var(x, axes):
    var, mean = torch.var_mean(x, axes, correction=0, keepdim=True)
    return mean, var


def geglu(x):
    half = x.shape[-1] // 2
    return F.gelu(x[:, :half]) * x[:, half:]


def distance(x, y):
    return torch.sqrt((x[:, 0:1] - y[0:1, :]) ** 2 +
                      (x[:, 1:2] - y[1:2, :]) ** 2)


def min_max(x):
    low, high = torch.aminmax(x, dim=-1, keepdim=True)
    return (x - low) / (high - low)


def cross_entropy(x, i, t):
    return F.cross_entropy(x, t[:, 0].long(), reduction="none")[:, None]


def horner(x):
    return ((((((((((0.1 * x - 0.2) * x + 0.3) * x - 0.4) * x + 0.5) * x -
                  0.6) * x + 0.7) * x - 0.8) * x + 0.9) * x - 1) * x + 1.1)


def rope(x, c, s):
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * c - odd * s, even * s + odd * c),
                       -1).flatten(-2)


def gru(xr, hr, xz, hz, xn, hn, h):
    r = torch.sigmoid(xr + hr)
    z = torch.sigmoid(xz + hz)
    n = torch.tanh(xn + r * hn)
    return (1 - z) * n + z * h


def lstm(z, c):
    i, f, g, o = z.chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return c, torch.sigmoid(o) * torch.tanh(c)


def black_scholes(s, k, t, r, w):
    d1 = (torch.log(s / k) + (r + 0.5 * w ** 2) * t) / (w * torch.sqrt(t))
    d2 = d1 - w * torch.sqrt(t)
    n1 = 0.5 + 0.5 * torch.erf(d1 * 0.70710678)
    n2 = 0.5 + 0.5 * torch.erf(d2 * 0.70710678)
    call = s * n1 - k * torch.exp(-r * t) * n2
    return call, call - s + k * torch.exp(-r * t)


def first_argmax(x, axis):
    """argmax returns any index of the largest; this returns the first."""
    n = x.shape[axis]
    size = [n if d == axis % x.dim() else 1 for d in range(x.dim())]
    indices = torch.arange(n, device=x.device).reshape(size)
    return torch.where(x == x.amax(axis, keepdim=True), indices,
                       n).amin(axis, keepdim=True)


COUNTERPARTS = {
    "sum": lambda x: torch.sum(x, dtype=wide(x).dtype),
    "gelu": lambda x: F.gelu(x),
    "silu": lambda x: F.silu(x),
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "log softmax": lambda x: F.log_softmax(wide(x), -1),
    "axpy": lambda y, x, a: a * x + y,
    "dequantise": lambda q, z, s: (q.to(s.dtype) - z.to(s.dtype)) * s,
    "transposed": lambda x, y: x + y.t(),
    "swiglu": lambda a, b: F.silu(a) * b,
    "linear relu": lambda a, b, c: F.relu(a * b + c),
    "hypotenuse": lambda x, y: torch.sqrt(x ** 2 + y ** 2),
    "bias gelu": lambda x, b, r: F.gelu(x + b) + r,
    "softmax": softmax,
    "argmax rows": lambda x: torch.argmax(x, -1, keepdim=True),
    "sin2 cos2": lambda x: torch.sin(x) ** 2 + torch.cos(x) ** 2,
    "momentum": momentum,
    "clip norm": lambda x, c: x * torch.clamp(
        c / torch.linalg.vector_norm(x), max=1.0),
    "dropout": lambda x, p: torch.where(torch.rand_like(x) < p, 0.0,
                                        x / (1 - p)),
    "rms norm": rms_norm,
    "layer norm": lambda x, g, b: F.layer_norm(x, x.shape[-1:], g, b, 1e-5),
    "quantise": lambda x, s: torch.clamp(torch.round(x / s), -128, 127),
    "layer norm residual": layer_norm_residual,
    "column stats": lambda x: mean_and_var(x, 0),
    "channel stats": lambda x: mean_and_var(x, (0, 2)),
    "geglu": geglu,
    "huber": lambda x, y: F.huber_loss(x, y).reshape(1),
    "distance": distance,
    "norm relu": lambda x, mu, v, g, b: F.relu(
        (x - mu) * torch.rsqrt(v + 1e-5) * g + b),
    "min max": min_max,
    "cross entropy": cross_entropy,
    "adam": adam,
    "horner": horner,
    "rope": rope,
    "gru": gru,
    "lstm": lstm,
    "black-scholes": black_scholes,
}
COUNTERPARTS["sum 1e8"] = COUNTERPARTS["sum"]
COUNTERPARTS["sin2 cos2 1e8"] = COUNTERPARTS["sin2 cos2"]

# Where the expected result is not the counterpart on doubles.
EXPECTED = {"argmax rows": lambda x: first_argmax(x, -1)}

# -- long reductions: to one value, along rows, along columns -----------------

REDUCTIONS = {
    "sum": lambda x, axis: torch.sum(x, axis, keepdim=True),
    "var": lambda x, axis: torch.var(x, axis, correction=0, keepdim=True),
    "max": lambda x, axis: torch.amax(x, axis, keepdim=True),
    "argmax": lambda x, axis: torch.argmax(x, axis, keepdim=True),
    "norm2": lambda x, axis: torch.linalg.vector_norm(x, dim=axis,
                                                      keepdim=True),
}
REDUCTION_SHAPES = (  # name, axis, sizes to time, small sizes
    ("all", 0, "x=1e8,out=1", "x=1013,out=1"),
    ("rows", 1, "x=10000x10000,out=10000x1", "x=31x33,out=31x1"),
    ("columns", 0, "x=10000x10000,out=1x10000", "x=31x33,out=1x33"),
)
# As `clbench expr --list` has its cases.
REDUCTION_CASES = []


def add_reduction(function, shape, axis, timed, small):
    name = "%s, %s" % (function, shape)
    call = REDUCTIONS[function]
    COUNTERPARTS[name] = lambda x: call(x, axis)
    suffix = ""
    if function == "argmax":
        EXPECTED[name] = lambda x: first_argmax(x, axis)
        suffix = ":i32"
    REDUCTION_CASES.append({
        "name": name, "text": "%s(x, axis=%d)" % (function, axis),
        "ranges": "x=-1:1", "timed": timed + suffix, "small": small + suffix})


for _function in REDUCTIONS:
    for _shape in REDUCTION_SHAPES:
        add_reduction(_function, *_shape)
