# SPDX-License-Identifier: Apache-2.0
"""The operations. Each one makes a descriptor of the library, a Call, which is
then run, or explained."""
from __future__ import annotations

import ctypes
import functools
import re
import weakref
from ctypes import addressof, byref, c_uint, c_void_p, cast
from typing import Any, Callable, NamedTuple, Optional, Sequence, TypeVar

import numpy as np

from .arrays import (Array, Queue, as_array, default_queue, dtype_name,
                     host_array, is_pyopencl, on_device)
from .library import DTYPES, Error, lib, new, structs

Result = Any  # an Array, a NumPy array, `out`, or a tuple of these


class Choice(NamedTuple):
    """A variant of an operation for a call: xl_choice of explain.h."""
    variant: str
    chosen: bool
    why: str
    tunables: str
    bound: str
    est_ns: float
    flop: float
    bytes: float
    n_steps: int


class Call:
    """A call on a queue: its operands in the device's memory, its descriptor,
    and where its results go."""

    def __init__(self, op: str, queue: Optional[Queue], *values: Any) -> None:
        self.op = op
        self.args: tuple[Any, ...] = ()
        self.kept: list[Any] = []  # what the descriptor points to
        self.results: list[Any] = []
        self.copied_back: list[tuple[Array, Any]] = []
        self.on_host = not any(map(on_device, values))
        arrays = [v for v in values if isinstance(v, Array)]
        if queue is None and not arrays and any(map(is_pyopencl, values)):
            raise TypeError("operands of PyOpenCL need queue=crosslane.Queue("
                            "a pyopencl.CommandQueue)")
        self.queue = queue or (arrays[0].queue if arrays else default_queue())

    def read(self, value: Any) -> Array:
        array = as_array(value, self.queue)
        self.kept.append(array)
        return array

    def write(self, out: Any, shape: Sequence[int], dtype: str = "f32",
              is_returned: bool = True) -> Array:
        """The memory of a result: `out`, or a new array."""
        if out is None:
            array = self.queue.empty(shape, dtype)
            self.results.append(array)
            return array
        array = self.read(out)
        if array.shape != tuple(shape):
            raise ValueError(f"out has the shape {array.shape}, the result "
                             f"{tuple(shape)}")
        if not on_device(out):
            self.copied_back.append((array, host_array(out)))
        if is_returned:
            self.results.append(out)
        return array

    def point(self, name: str, value: Any) -> c_void_p:
        """A pointer to a struct that lives as long as the call."""
        self.kept.append(value)
        return cast(addressof(value), c_void_p)

    def bind(self, names: dict[str, Any]) -> dict[str, Any]:
        """Members `bindings` and `n_bindings`."""
        bindings = (structs["xl_binding"] * len(names))()
        arrays = {name: self.read(value) for name, value in names.items()
                  if not isinstance(value, (int, float, np.number))}
        types = {array.dtype for array in arrays.values()}
        real = "f64" if "f64" in types else "f32"
        whole = "i64" if types & {"i64", "u32"} else "i32"
        for binding, (name, value) in zip(bindings, names.items()):
            binding.name = name.encode()
            if name not in arrays:
                value = value.item() if isinstance(value, np.number) else value
                binding.is_scalar, binding.scalar = True, value
                binding.tensor.dtype = DTYPES[
                    real if isinstance(value, float) else whole]
            else:
                binding.tensor = self.tensor(arrays[name])
        return {"bindings": self.point("bindings", bindings),
                "n_bindings": len(names)}

    def tensor(self, x: Array) -> Any:
        if x.ndim > 6:
            raise ValueError(f"{x.ndim} dimensions: at most 6")
        t = new("xl_tensor", mem=memory(x), offset=x.offset, n_dims=x.ndim,
                dtype=DTYPES[x.dtype])
        t.size[:x.ndim], t.stride[:x.ndim] = x.shape, x.strides
        return t

    def heads(self, x: Array) -> Any:
        if x.size > 1 and not any(x.strides):
            x = x.copy()  # strides of 0 would mean that x is dense
            self.kept.append(x)
        made = new("xl_heads", mem=memory(x), offset=x.offset,
                   dtype=DTYPES[x.dtype])
        made.stride[4 - x.ndim:] = x.strides
        return made

    def epilogue(self, text: Optional[str], names: dict[str, Any]) -> Any:
        if text is None and names:
            raise TypeError(f"unknown argument: {', '.join(names)}; without "
                            "an epilogue no names are bound")
        if text is None:
            return new("xl_epilogue")
        return new("xl_epilogue", expr=text.encode(), **self.bind(names))

    def describe(self, variant: Optional[str], **members: Any) -> Call:
        self.desc = new("xl_" + self.op, **members)
        self.desc.variant = variant.encode() if variant else None
        self.kept.append(self.desc)
        return self

    def run(self) -> Result:
        self.queue.call(f"xl_{self.op}_run", *self.args, byref(self.desc), None)
        for array, host in self.copied_back:
            host[...] = array.numpy()
        found = [r.numpy() if self.on_host and isinstance(r, Array) else r
                 for r in self.results]
        return found[0] if len(found) == 1 else tuple(found) or None

    def explain(self) -> list[Choice]:
        room = 32
        choices = (structs["xl_choice"] * room)()
        n = c_uint()
        self.queue.call(f"xl_{self.op}_explain", *self.args, byref(self.desc),
                        choices, c_uint(room), byref(n))
        return [Choice._make(v.decode() if isinstance(v, bytes) else v
                             for v in (getattr(c, f) for f in Choice._fields))
                for c in choices[:n.value]]


F = TypeVar("F", bound=Callable[..., Any])


def operation(describe: F) -> F:
    """The function that runs the call which `describe` makes."""
    @functools.wraps(describe)
    def run(*args: Any, **options: Any) -> Result:
        return describe(*args, **options).run()
    run.describe = describe  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]


def explain(op: Callable[..., Any], *args: Any, **options: Any
            ) -> list[Choice]:
    """The variants for a call, the best first, and why: explain(gemm, a, b).
    The chosen one is built and self-checked; nothing runs."""
    call: Call = op.describe(*args, **options)  # type: ignore[attr-defined]
    return call.explain()


def memory(x: Array) -> Any:
    return new("xl_mem", buf=x.int_ptr)


def matrix(x: Array, rows: Sequence[int], cols: int) -> Any:
    """xl_mat of x, broadcast to (*rows, cols), all rows at one stride."""
    x = x.broadcast_to((*rows, cols))
    stride, extent = 0, 1
    for n, step in reversed(list(zip(x.shape[:-1], x.strides[:-1]))):
        if n == 1:
            continue
        if extent == 1:
            stride = step
        elif step != stride * extent:
            raise ValueError(f"the rows of {x!r} are not at one stride: pass "
                             "its copy()")
        extent *= n
    return new("xl_mat", mem=memory(x), offset=x.offset, row_stride=stride,
               col_stride=x.strides[-1], dtype=DTYPES[x.dtype])


def one_of(what: str, value: str, values: str) -> int:
    if value not in values.split():
        raise ValueError(f"{what} is {value!r}: must be one of {values}")
    return values.split().index(value)


def pair(what: str, value: Any) -> tuple[Any, Any]:
    found = (value, value) if isinstance(value, int) else tuple(value)
    if len(found) != 2:
        raise ValueError(f"{what} is {value!r}: must be a number or a pair")
    return found


def sum_type(a: str, b: str) -> str:
    """The type of a product, where none is given."""
    if {a, b} <= {"i8", "u8"}:
        return "i32"
    return a if a == b and a in ("f16", "bf16", "f64") else "f32"


def accuracy_of(name: str) -> int:
    return one_of("accuracy", name, "full split fast")


@operation
def gemm(a: Any, b: Any, *, alpha: float = 1, beta: float = 0, out: Any = None,
         dtype: Any = None, accuracy: str = "full",
         epilogue: Optional[str] = None, variant: Optional[str] = None,
         queue: Optional[Queue] = None, **names: Any) -> Result:
    """out = epilogue(alpha a @ b + beta out): gemm.h.

    a of (..., m, k) and b of (..., k, n), any strides, with at most two
    further axes, which broadcast. The epilogue is an expression over y and the
    names: epilogue="relu(y + bias)", bias=bias. accuracy: "full", "split" or
    "fast"."""
    call = Call("gemm", queue, a, b, out, *names.values())
    a, b = call.read(a), call.read(b)
    if min(a.ndim, b.ndim) < 2 or a.shape[-1] != b.shape[-2]:
        raise ValueError(f"a of {a.shape} and b of {b.shape} are no factors: "
                         "(..., m, k) and (..., k, n) are expected")
    (m, k), n = a.shape[-2:], b.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    c = call.write(out, (*batch, m, n),
                   dtype_name(dtype) if dtype else sum_type(a.dtype, b.dtype))

    def view(x: Array) -> Any:
        return new("xl_mat", mem=memory(x), offset=x.offset,
                   row_stride=x.strides[-2], col_stride=x.strides[-1],
                   dtype=DTYPES[x.dtype])

    members = {}
    axes = [i for i, size in enumerate(batch) if size > 1]
    if len(axes) > 2:
        raise ValueError(f"a batch of {batch}: at most two axes")
    if axes:
        steps = {name: x.broadcast_to((*batch, *x.shape[-2:])).strides
                 for name, x in (("a", a), ("b", b), ("c", c))}
        members["batch"] = new(
            "xl_batch", count=int(np.prod(batch)),
            **{f"{x}_step": steps[x][axes[0]] for x in steps})
        if len(axes) == 2:
            members["batch"].inner = batch[axes[1]]
            for x in steps:
                setattr(members["batch"], f"{x}_inner", steps[x][axes[1]])
    return call.describe(variant, m=m, n=n, k=k, a=view(a), b=view(b),
                         c=view(c), alpha=alpha, beta=beta,
                         accuracy=accuracy_of(accuracy),
                         epilogue=call.epilogue(epilogue, names), **members)


@operation
def conv2d(x: Any, filters: Any, *, stride: Any = 1, padding: Any = 0,
           dilation: Any = 1, groups: int = 1, layout: str = "nchw",
           alpha: float = 1, beta: float = 0, out: Any = None,
           dtype: Any = None, accuracy: str = "full",
           epilogue: Optional[str] = None, variant: Optional[str] = None,
           queue: Optional[Queue] = None, **names: Any) -> Result:
    """out = epilogue(alpha convolution + beta out): conv.h.

    layout "nchw": x of (n, c, h, w), filters of (k, c / groups, r, s); "nhwc":
    x of (n, h, w, c), filters of (k, r, s, c / groups). stride, padding and
    dilation: a number or one each for rows and columns; of padding each may
    be a pair, before and after. Names of the epilogue broadcast to n x k x
    (p q), or n x (p q) x k: a bias is of (k, 1), or of (k,)."""
    is_nhwc = one_of("layout", layout, "nchw nhwc")
    order = (0, 3, 1, 2) if is_nhwc else (0, 1, 2, 3)
    call = Call("conv", queue, x, filters, out, *names.values())
    x, filters = call.read(x), call.read(filters)
    if x.ndim != 4 or filters.ndim != 4 or not filters.is_dense:
        raise ValueError(f"x of {x.shape} and filters of {filters.shape}: 4 "
                         "dimensions are expected, and filters without gaps")
    n, c, h, w = (x.shape[i] for i in order)
    k, _, r, s = (filters.shape[i] for i in order)
    pads = [pair("padding", p) for p in pair("padding", padding)]
    members = dict(
        n=n, c=c, h=h, w=w, k=k, r=r, s=s, groups=groups,
        pad_top=pads[0][0], pad_bottom=pads[0][1],
        pad_left=pads[1][0], pad_right=pads[1][1])
    for name, value in (("stride", stride), ("dilation", dilation)):
        members[name + "_h"], members[name + "_w"] = pair(name, value)
    if filters.shape[order[1]] * groups != c:
        raise ValueError(f"filters of {filters.shape} in {groups} groups do "
                         f"not fit {c} channels")
    p, q = ctypes.c_size_t(), ctypes.c_size_t()
    status = lib.xl_conv_out_size(byref(new("xl_conv", **members)), byref(p),
                                  byref(q))
    if status != 0:
        raise Error(status)
    size = (n, k, p.value, q.value)
    shape = (n, p.value, q.value, k) if is_nhwc else size
    y = call.write(out, shape,
                   dtype_name(dtype) if dtype
                   else sum_type(x.dtype, filters.dtype))

    def images(x: Array) -> Any:
        made = new("xl_images", mem=memory(x), offset=x.offset,
                   layout=is_nhwc, dtype=DTYPES[x.dtype])
        made.stride[:] = [x.strides[i] for i in order]
        return made

    return call.describe(
        variant, **members, out=images(y), alpha=alpha, beta=beta,
        filters=new("xl_filters", mem=memory(filters), offset=filters.offset,
                    layout=is_nhwc, dtype=DTYPES[filters.dtype]),
        accuracy=accuracy_of(accuracy),
        epilogue=call.epilogue(epilogue, names), **{"in": images(x)})


@operation
def softmax(x: Any, *, scale: float = 1, mask: Any = None, log: bool = False,
            out: Any = None, variant: Optional[str] = None,
            queue: Optional[Queue] = None) -> Result:
    """Softmax of scale x + mask over the last axis, or its logarithm:
    softmax.h. The mask broadcasts to x."""
    call = Call("softmax", queue, x, mask, out)
    x = call.read(x)
    *rows, cols = x.shape
    y = call.write(out, x.shape, x.dtype)
    members = {}
    if mask is not None:
        members["mask"] = matrix(call.read(mask), rows, cols)
    return call.describe(
        variant, rows=x.size // cols, cols=cols, src=matrix(x, rows, cols),
        dst=matrix(y, rows, cols), scale=scale, is_log=log, **members)


def norm(kind: int, x: Any, scale: Any, bias: Any, eps: float, residual: Any,
         sum: Any, out: Any, variant: Optional[str], queue: Optional[Queue]
         ) -> Call:
    call = Call("norm", queue, x, scale, bias, residual, sum, out)
    x = call.read(x)
    *rows, cols = x.shape
    y = call.write(out, x.shape, x.dtype)
    members = {"residual": residual, "scale": scale, "bias": bias}
    members = {name: matrix(call.read(value), rows, cols)
               for name, value in members.items() if value is not None}
    if sum is not None:
        total = call.write(sum, x.shape, is_returned=False)
        members["sum"] = matrix(total, rows, cols)
    return call.describe(
        variant, kind=kind, rows=x.size // cols, cols=cols, eps=eps,
        src=matrix(x, rows, cols), dst=matrix(y, rows, cols), **members)


@operation
def layer_norm(x: Any, scale: Any = None, bias: Any = None, *,
               eps: float = 1e-5, residual: Any = None, sum: Any = None,
               out: Any = None, variant: Optional[str] = None,
               queue: Optional[Queue] = None) -> Result:
    """(x - mean) / sqrt(variance + eps) * scale + bias over the last axis:
    norm.h. residual is added to x first; `sum` is memory for that sum."""
    return norm(0, x, scale, bias, eps, residual, sum, out, variant, queue)


@operation
def rms_norm(x: Any, scale: Any = None, *, eps: float = 1e-5,
             residual: Any = None, sum: Any = None, out: Any = None,
             variant: Optional[str] = None, queue: Optional[Queue] = None
             ) -> Result:
    """x / sqrt(mean of x^2 + eps) * scale, likewise."""
    return norm(1, x, scale, None, eps, residual, sum, out, variant, queue)


@operation
def attention(q: Any, k: Any, v: Any, *, causal: bool = False,
              scale: Optional[float] = None, window: int = 0,
              soft_cap: float = 0, mask: Any = None, slopes: Any = None,
              sinks: Any = None, lse: Any = None, out: Any = None,
              accuracy: str = "full", variant: Optional[str] = None,
              queue: Optional[Queue] = None) -> Result:
    """softmax(scale q k^T + mask) v for each head: attention.h.

    q of (batch, heads, n_q, d), k and v of (batch, kv_heads, n_kv, d), any
    strides, or all without the batch. kv_heads divides heads. The mask
    broadcasts to (batch, heads, n_q, n_kv), slopes and sinks to (batch,
    heads). `lse` is memory of (batch, heads, n_q) in f32 for the logarithm of
    each row's sum. accuracy: "full", "split" or "fast", of f32."""
    call = Call("attention", queue, q, k, v, mask, slopes, sinks, lse, out)
    q, k, v = call.read(q), call.read(k), call.read(v)
    if q.ndim not in (3, 4) or {k.ndim, v.ndim} != {q.ndim}:
        raise ValueError(f"q, k and v have {q.ndim}, {k.ndim} and {v.ndim} "
                         "dimensions: 3 or 4 are expected")
    *batch, n_heads, n_q, d_head = q.shape
    n_kv_heads, n_kv = k.shape[-3:-1]
    if not k.shape == v.shape == (*batch, n_kv_heads, n_kv, d_head):
        raise ValueError(f"k of {k.shape} and v of {v.shape} do not fit q of "
                         f"{q.shape}")
    o = call.write(out, q.shape, q.dtype)

    def heads(x: Array, *shape: int) -> Any:
        return call.heads(x.broadcast_to((*batch, *shape)))

    members = {}
    if mask is not None:
        members["mask"] = heads(call.read(mask), n_heads, n_q, n_kv)
    for name, value in (("slopes", slopes), ("sinks", sinks)):
        if value is not None:
            members[name] = heads(call.read(value)[..., None, None], n_heads,
                                  1, 1)
    if lse is not None:
        rows = call.write(lse, (*batch, n_heads, n_q), is_returned=False)
        members["lse"] = heads(rows[..., None], n_heads, n_q, 1)
    return call.describe(
        variant, n_batch=batch[0] if batch else 1, n_heads=n_heads,
        n_kv_heads=n_kv_heads, n_q=n_q, n_kv=n_kv, d_head=d_head,
        q=heads(q, n_heads, n_q, d_head), o=heads(o, n_heads, n_q, d_head),
        k=heads(k, n_kv_heads, n_kv, d_head),
        v=heads(v, n_kv_heads, n_kv, d_head), scale=scale or 0,
        is_causal=causal, window=window, soft_cap=soft_cap,
        accuracy=accuracy_of(accuracy),
        **{name: call.point(name, value) for name, value in members.items()})


@operation
def rotary(q: Any, k: Any, k_cache: Any, n_kv: int, v: Any = None,
           v_cache: Any = None, *, pairs: str = "halves", d_rotary: int = 0,
           base: float = 10000, scale: float = 1, magnitude: float = 1,
           q_norm: Any = None, k_norm: Any = None, norm_eps: float = 1e-5,
           out: Any = None, variant: Optional[str] = None,
           queue: Optional[Queue] = None) -> Result:
    """q rotated by its positions; k, rotated, and v are stored in the caches:
    rotary.h.

    q of (batch, heads, n_q, d), k and v of (batch, kv_heads, n_q, d), caches
    of (batch, kv_heads, rows, d), any strides, or all without the batch. Of the
    first n_kv rows of the caches the last n_q are written. pairs: "halves",
    "interleaved" or "none". q_norm and k_norm: gains of RMS norms of rows."""
    call = Call("rotary", queue, q, k, k_cache, v, v_cache, q_norm, k_norm,
                out)
    q, k = call.read(q), call.read(k)
    if q.ndim not in (3, 4) or k.ndim != q.ndim:
        raise ValueError(f"q and k have {q.ndim} and {k.ndim} dimensions: 3 "
                         "or 4 are expected")
    *batch, n_heads, n_q, d_head = q.shape
    n_kv_heads = k.shape[-3]
    rows = (*batch, n_kv_heads, n_q, d_head)
    o = call.write(out, q.shape, q.dtype)

    def cache(name: str, value: Any) -> Any:
        room = as_array(value, call.queue).shape[-2]
        if room < n_kv:
            raise ValueError(f"{name} has {room} rows, n_kv is {n_kv}")
        return call.heads(call.write(
            value, (*batch, n_kv_heads, room, d_head), is_returned=False))

    if k.shape != rows:
        raise ValueError(f"k of {k.shape} does not fit q of {q.shape}")
    members = {"k_cache": cache("k_cache", k_cache)}
    if v is not None:
        v = call.read(v)
        if v.shape != rows or v_cache is None:
            raise ValueError(f"v of {v.shape} needs a v_cache and the shape of "
                             f"k, {k.shape}")
        members["v"] = call.point("v", call.heads(v))
        members["v_cache"] = call.point("v_cache", cache("v_cache", v_cache))
    for name, value in (("q_norm", q_norm), ("k_norm", k_norm)):
        if value is not None:
            gains = call.read(value).broadcast_to((1, 1, 1, d_head))
            members[name] = call.point(name, call.heads(gains))
    return call.describe(
        variant, n_batch=batch[0] if batch else 1, n_heads=n_heads,
        n_kv_heads=n_kv_heads, n_q=n_q, n_kv=n_kv, d_head=d_head,
        q=call.heads(q), k=call.heads(k), q_out=call.heads(o),
        pairs=one_of("pairs", pairs, "halves interleaved none"),
        d_rotary=d_rotary, base=base, scale=scale, magnitude=magnitude,
        norm_eps=norm_eps, **members)


def quantised(format: str, rows: int, cols: int, group: int,
              group_rows: int) -> Any:
    """The xl_qmat of these sizes, and its xl_qbytes."""
    kind = lib.xl_qformat_find(format.encode())
    shape = new("xl_qshape", format=kind, rows=rows, cols=cols, group=group,
                group_rows=group_rows)
    size = new("xl_qbytes")
    status = lib.xl_qshape_bytes(byref(shape), byref(size))
    if status:
        raise Error(status, f"{rows} x {cols} elements of {format!r}, groups "
                    f"of {group}: see qmat.h")
    return new("xl_qmat", shape=shape), size


def quantised_layout(format: str) -> Any:
    """What the format is, or None."""
    lib.xl_qformat_layout.restype = ctypes.POINTER(structs["xl_qlayout"])
    found = lib.xl_qformat_layout(lib.xl_qformat_find(format.encode()))
    return found.contents if found else None


def scales_dtype(format: str) -> str:
    of_layout = quantised_layout(format).scale_dtype
    return next(n for n, i in DTYPES.items() if i == of_layout)


def packed(call: Call, value: Any) -> Array:
    """Rows without gaps."""
    x = call.read(value)
    if x.ndim != 2 or x.strides != (x.shape[1], 1):
        x = x.copy()
        call.kept.append(x)
    return x


@operation
def quantise(x: Any, format: str = "q4_0", *, group: int = 128,
             group_rows: int = 128, zeros: bool = True, variant: Optional[str] = None,
             queue: Optional[Queue] = None) -> Result:
    """Rows x cols as blocks of a format: qconvert.h, qmat.h.

    The blocks, u8 of (rows, bytes); of int4 and int8 a tuple with the scales,
    f16 of (rows, groups), and of int4 the zeros, u8, unless zeros=False; of
    fp8 a tuple with the scales, f32 of (blocks of group_rows rows, groups);
    there 0 is all rows, or all columns."""
    call = Call("qconvert", queue, x)
    x = call.read(x)
    rows, cols = x.shape
    w, size = quantised(format, rows, cols, group, group_rows)
    w.blocks = memory(call.write(None, (rows, size.blocks // rows), "u8"))
    if size.scales:
        kind = scales_dtype(format)
        shared = (group_rows or rows) if kind == "f32" else 1
        n = -(-rows // shared)
        item = 4 if kind == "f32" else 2
        w.scales = memory(call.write(None, (n, size.scales // n // item),
                                     kind))
    if size.zeros and zeros:
        w.zeros = memory(call.write(None, (rows, size.zeros // rows), "u8"))
        w.has_zeros = True
    return call.describe(variant, x=matrix(x, [rows], cols), w=w)


@operation
def dequantise(blocks: Any, format: str = "q4_0", scales: Any = None,
               zeros: Any = None, *, group: int = 128, group_rows: int = 128,
               dtype: Any = "f32",
               out: Any = None, variant: Optional[str] = None,
               queue: Optional[Queue] = None) -> Result:
    """The values of what quantise() returns: qconvert.h."""
    call = Call("qconvert", queue, blocks, scales, zeros, out)
    blocks = packed(call, blocks)
    rows, size = blocks.shape
    layout = quantised_layout(format)
    if not layout or size % layout.block_bytes:
        raise ValueError(f"{size} bytes of a row are no blocks of {format!r}")
    cols = size // layout.block_bytes * layout.block
    w, sizes = quantised(format, rows, cols, group, group_rows)
    w.blocks, w.offset = memory(blocks), blocks.offset
    for name, value, expected, dtype_of in (
            ("scales", scales, sizes.scales, scales_dtype(format)),
            ("zeros", zeros, sizes.zeros, "u8")):
        if value is None:
            continue
        part = packed(call, value)
        item = {"f32": 4, "f16": 2, "u8": 1}[dtype_of]
        if part.dtype != dtype_of or part.size * item != expected:
            raise ValueError(f"{name} of {part.size} {part.dtype}: "
                             f"{expected // item} {dtype_of} are expected")
        setattr(w, name, memory(part))
        setattr(w, name + "_offset", part.offset)
        w.has_zeros = w.has_zeros or name == "zeros"
    x = call.write(out, (rows, cols), dtype_name(dtype))
    return call.describe(variant, direction=1, x=matrix(x, [rows], cols), w=w)


class Expression:
    """A compiled expression."""

    def __init__(self, queue: Queue, text: str, args: Any) -> None:
        self.handle = c_void_p()
        queue.call("xl_expr_compile", text.encode(), byref(args),
                   byref(self.handle))
        weakref.finalize(self, lib.xl_expr_destroy,
                         self.handle).atexit = False


MAX_EXPRESSIONS = 256  # that a queue keeps
_ASSIGNED = re.compile(
    r"(?:^|[;\n])\s*([A-Za-z_]\w*)\s*(?:\[[^\]]*\])?\s*=(?!=)")


@operation
def expr(text: str, *, dtype: Any = None, fast_math: bool = False,
         variant: Optional[str] = None, queue: Optional[Queue] = None,
         **names: Any) -> Result:
    """A fused expression over the names, arrays and numbers: expr.h.

    The result is what the text assigns to `out`, or its last line, in a new
    array of f32, f64, i32, i64 or bool, or of `dtype`; memory that is bound as `out`
    takes it instead. An array that the text assigns is changed in place."""
    call = Call("expr", queue, *names.values())
    queue = call.queue
    assigned = set(_ASSIGNED.findall(text))
    for name in assigned & names.keys() - {"out"}:
        if not on_device(names[name]):
            array = call.read(names[name])
            call.copied_back.append((array, host_array(names[name])))
            names[name] = array
    args = new("xl_expr_args", fast_math=fast_math)

    def bind() -> None:
        for member, value in call.bind(names).items():
            setattr(args, member, value)

    if "out" in names:
        names["out"] = call.write(names["out"], names["out"].shape)
    else:
        names = {name: value if isinstance(value, (int, float, np.number))
                 else call.read(value) for name, value in names.items()}
        bind()
        shape = new("xl_tensor")
        # A text that assigns no `out` has no result; its other faults are
        # found below.
        if has_result(queue, text, args, shape):
            found = next(n for n, i in DTYPES.items() if i == shape.dtype)
            names["out"] = call.write(None, shape.size[:shape.n_dims],
                                      dtype_name(dtype or found))
    bind()
    key = (text, fast_math, *sorted(
        (n, isinstance(v, Array)) for n, v in names.items()))
    with queue.lock:
        if key not in queue.expressions:
            if len(queue.expressions) == MAX_EXPRESSIONS:
                del queue.expressions[next(iter(queue.expressions))]
            queue.expressions[key] = Expression(queue, text, args)
        compiled = queue.expressions[key]
    call.kept.append(compiled)
    call.args = (compiled.handle,)
    call.desc = args
    args.variant = variant.encode() if variant else None
    return call


def has_result(queue: Queue, text: str, args: Any, out: Any) -> bool:
    try:
        queue.call("xl_expr_result", text.encode(), byref(args), b"out",
                   byref(out))
    except Error:
        return False
    return True
