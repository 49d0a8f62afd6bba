# SPDX-License-Identifier: Apache-2.0
"""Devices, queues, and arrays in a device's memory."""
from __future__ import annotations

import math
import threading
import weakref
from ctypes import byref, c_size_t, c_uint, c_void_p
from typing import Any, Optional, Sequence, Union

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .library import DTYPES, check, lib, new

#: The host's type of each element type. Those that NumPy lacks are integers of
#: as many bits there.
HOST = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16,
        "f64": np.float64, "i64": np.int64, "i32": np.int32, "i8": np.int8,
        "u32": np.uint32, "u16": np.uint16, "u8": np.uint8, "bool": np.bool_,
        "f8e4m3": np.uint8, "f8e5m2": np.uint8}
#: DLPack's kDLCPU, kDLCUDAHost and kDLROCMHost
HOST_MEMORY = (1, 3, 11)
_NAMES = {np.dtype(HOST[name]): name
          for name in ("f32", "f16", "f64", "i64", "i32", "i8", "u32", "u16",
                       "u8", "bool")}


def dtype_name(dtype: Any) -> str:
    """ "f32" of "f32", np.float32 and the like."""
    if isinstance(dtype, str) and dtype in DTYPES:
        return dtype
    name = _NAMES.get(np.dtype(dtype))
    if name is None:
        raise TypeError(f"no element type for {np.dtype(dtype)}: convert to "
                        f"one of {', '.join(map(str, _NAMES))}")
    return name


_lock = threading.RLock()
_opened: Optional[c_void_p] = None
_default: Optional[Queue] = None


def opened() -> c_void_p:
    """The library, opened once in a process."""
    global _opened
    with _lock:
        if _opened is None:
            handle = c_void_p()
            check(lib.xl_open(None, byref(handle)), lib.xl_lib_error, handle)
            _opened = handle
        return _opened


class Device:
    """A device, by its place in the list of all."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.handle = c_void_p(lib.xl_device_at(opened(), c_uint(index)))

    def fact(self, name: str) -> Union[None, bool, float, str, list[float]]:
        """A property, "compute_units", as `clbench devices -v` lists them; None
        where it is not known."""
        fact = new("xl_fact")
        status = lib.xl_device_fact(self.handle, name.encode(), 0, byref(fact))
        check(status, lib.xl_lib_error, opened())
        if fact.kind == 2:
            return fact.text.decode() if fact.text else None
        if fact.kind == 3:
            return list(fact.list[:fact.n_list])
        if math.isnan(fact.value):
            return None
        return bool(fact.value) if fact.kind == 1 else fact.value

    @property
    def name(self) -> str:
        return str(self.fact("name"))

    def __repr__(self) -> str:
        return f"<Device {self.index}: {self.name}, {self.fact('platform')}>"


def devices() -> list[Device]:
    """All devices, the best first."""
    n = c_uint()
    check(lib.xl_device_count(opened(), byref(n)), lib.xl_lib_error, opened())
    return [Device(i) for i in range(n.value)]


def _find(text: str) -> c_void_p:
    handle = c_void_p()
    check(lib.xl_device_find(opened(), text.encode(), byref(handle)),
          lib.xl_lib_error, opened())
    return handle


class Queue:
    """A command queue.

    on: None for the best device; a Device; its number, a part of its name, its
    UUID or PCI address; a pyopencl.CommandQueue, which is used, not copied."""

    def __init__(self, on: Any = None) -> None:
        handle = c_void_p()
        if hasattr(on, "int_ptr"):
            status = lib.xl_queue_wrap(opened(), c_void_p(on.int_ptr),
                                       byref(handle))
        else:
            device = (on.handle if isinstance(on, Device) else
                      _find("0" if on is None else str(on)))
            status = lib.xl_queue_create(opened(), device, byref(handle))
        check(status, lib.xl_lib_error, opened())
        self.handle = handle
        self.lock = threading.RLock()  # the library: one thread at a time
        self.expressions: dict[Any, Any] = {}  # compiled ones
        self.bytes_copied = 0  #: between the host and the device, so far
        # At the end of a process drivers may have ended before.
        weakref.finalize(self, lib.xl_queue_destroy, handle).atexit = False

    def call(self, function: str, *args: Any) -> None:
        """A function of the library on this queue; Error where it fails."""
        with self.lock:
            check(getattr(lib, function)(self.handle, *args),
                  lib.xl_error_detail, self.handle)

    def finish(self) -> None:
        """Wait for all that is enqueued."""
        self.call("xl_queue_finish")

    def empty(self, shape: Sequence[int], dtype: Any = "f32") -> Array:
        """New memory, with any content."""
        return Array(self, None, shape, dtype)

    def array(self, values: Any, dtype: Any = None) -> Array:
        """A copy of an array of the host, or its conversion to `dtype`. The
        bytes of an 8-bit float are np.uint8."""
        values = host_array(values)
        name = dtype_name(values.dtype if dtype is None else dtype)
        if not name.startswith("f8"):
            values = values.astype("f4" if name == "bf16" else HOST[name],
                                   copy=False)
        host = np.ascontiguousarray(values)
        made = self.empty(values.shape, host.dtype)
        with self.lock:
            if host.size > 0:
                self.call("xl_buffer_write", c_void_p(made.int_ptr),
                          c_size_t(0), host.ctypes.data_as(c_void_p),
                          c_size_t(host.nbytes))
            self.bytes_copied += host.nbytes
        if name == "bf16":
            return made.astype(name)
        return made if name == made.dtype else made.view(name)

    def view(self, buffer: Any, shape: Sequence[int], dtype: Any = "f32",
             offset: int = 0, strides: Optional[Sequence[int]] = None) -> Array:
        """Memory of PyOpenCL, or of another with `int_ptr`, which is not
        copied. Offset and strides are in elements."""
        return Array(self, buffer, shape, dtype, offset, strides)


def default_queue() -> Queue:
    """That of calls whose operands have none: on the best device."""
    global _default
    with _lock:
        _default = _default or Queue()
        return _default


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    strides = [1]
    for n in reversed(shape[1:]):
        strides.append(strides[-1] * n)
    return tuple(reversed(strides)) if shape else ()


class Array:
    """Elements in a device's memory, or a view of those of another array."""

    def __init__(self, queue: Queue, owner: Any, shape: Sequence[int],
                 dtype: Any = "f32", offset: int = 0,
                 strides: Optional[Sequence[int]] = None) -> None:
        self.queue = queue
        self.shape = tuple(map(int, shape))
        self.dtype = dtype_name(dtype)  #: "f32", "bf16", ...
        self.offset = int(offset)       #: of the first, in elements
        self.strides = (dense_strides(self.shape) if strides is None else
                        tuple(map(int, strides)))  #: in elements
        self.owner = owner              #: what keeps the memory
        if owner is None:
            mem = c_void_p()
            queue.call("xl_buffer_create", c_size_t(max(1, self.nbytes)),
                       byref(mem))
            self.int_ptr = mem.value    #: the cl_mem
            weakref.finalize(self, lib.clReleaseMemObject,
                             mem).atexit = False
        else:
            self.int_ptr = owner.int_ptr

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * np.dtype(HOST[self.dtype]).itemsize

    def _geometry(self) -> Any:
        """An array of the host with this shape, whose strides in bytes are
        this one's in elements. Its elements do not exist."""
        return as_strided(np.empty(1, np.int8), self.shape, self.strides)

    def _view(self, whole: Any, part: Any) -> Array:
        """What `part` is of `whole`, the geometry, this is of the elements."""
        at, start = (x.__array_interface__["data"][0] for x in (part, whole))
        return self._alike(part.shape, self.dtype, self.offset + at - start,
                           part.strides)

    def _alike(self, shape: Sequence[int], dtype: str, offset: int,
               strides: Optional[Sequence[int]]) -> Array:
        owner = self if self.owner is None else self.owner
        return Array(self.queue, owner, shape, dtype, offset, strides)

    def __getitem__(self, index: Any) -> Array:
        """A view: integers, slices with positive steps, None and ... ."""
        parts = index if isinstance(index, tuple) else (index,)
        for part in parts:
            if not (part is None or part is Ellipsis or
                    isinstance(part, (int, np.integer)) or
                    isinstance(part, slice) and (part.step or 1) > 0):
                raise IndexError(f"{part!r}: an index is an integer, a slice "
                                 "with a positive step, None or ...")
        whole = self._geometry()
        if Ellipsis not in parts:
            parts = (*parts, Ellipsis)
        return self._view(whole, whole[parts])

    def transpose(self, *axes: int) -> Array:
        """A view with the axes in this order; without one, reversed."""
        whole = self._geometry()
        return self._view(whole, whole.transpose(*axes))

    @property
    def T(self) -> Array:
        return self.transpose()

    def broadcast_to(self, shape: Sequence[int]) -> Array:
        """A view that repeats what has the size 1."""
        whole = self._geometry()
        return self._view(whole, np.broadcast_to(whole, shape))

    def reshape(self, *shape: int) -> Array:
        """A view of an array without gaps. One size may be -1."""
        sizes = list(shape)
        if -1 in sizes:
            sizes[sizes.index(-1)] = self.size // max(1, -math.prod(sizes))
        if math.prod(sizes) != self.size or not self.is_dense:
            raise ValueError(f"an array of {self.shape} with the strides "
                             f"{self.strides} is no view of {shape}")
        return self._alike(sizes, self.dtype, self.offset, None)

    @property
    def is_dense(self) -> bool:
        return all(n == 1 or have == dense for n, have, dense in
                   zip(self.shape, self.strides, dense_strides(self.shape)))

    def view(self, dtype: Any) -> Array:
        """The same bytes as elements of another type of as many bytes."""
        name = dtype_name(dtype)
        if np.dtype(HOST[name]).itemsize != np.dtype(HOST[self.dtype]).itemsize:
            raise ValueError(f"{name} and {self.dtype} have other sizes")
        return self._alike(self.shape, name, self.offset, self.strides)

    def astype(self, dtype: Any) -> Array:
        """A copy without gaps, with elements of another type."""
        from .operations import expr
        name = dtype_name(dtype)
        out = self.queue.empty(self.shape, name)
        text = "x" if name == self.dtype else f"cast(x, {name})"
        copied: Array = expr(text, x=self, out=out)
        return copied

    def copy(self) -> Array:
        """A copy without gaps."""
        return self.astype(self.dtype)

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy in the host's memory, after all that is enqueued. bf16 becomes
        f32; 8-bit floats stay bytes."""
        kind = np.dtype(HOST[self.dtype])
        if self.size == 0:
            return np.empty(self.shape, "f4" if self.dtype == "bf16" else kind)
        extent = 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides))
        flat = np.empty(extent, kind)
        with self.queue.lock:
            self.queue.call(
                "xl_buffer_read", c_void_p(self.int_ptr),
                c_size_t(self.offset * kind.itemsize),
                flat.ctypes.data_as(c_void_p), c_size_t(flat.nbytes))
            self.queue.bytes_copied += flat.nbytes
        strides = [s * kind.itemsize for s in self.strides]
        found = np.ascontiguousarray(as_strided(flat, self.shape, strides))
        found = found.reshape(self.shape)
        if self.dtype == "bf16":
            found = (found.astype(np.uint32) << 16).view(np.float32)
        return found

    def __array__(self, dtype: Any = None,
                  copy: Optional[bool] = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.numpy(), dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<Array {self.dtype} {self.shape}, strides {self.strides}>"


def is_pyopencl(value: Any) -> bool:
    return hasattr(value, "base_data") and hasattr(value.base_data, "int_ptr")


def on_device(value: Any) -> bool:
    return isinstance(value, Array) or is_pyopencl(value)


def host_array(value: Any) -> np.ndarray[Any, Any]:
    """An array of the host without a copy: NumPy's, or by DLPack."""
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        device = value.__dlpack_device__()
        if device[0] not in HOST_MEMORY:
            raise TypeError(f"DLPack, device {tuple(map(int, device))}: copy "
                            "it to the host's memory first")
        return np.from_dlpack(value)
    raise TypeError(f"{type(value).__name__} is no array: NumPy's, one with "
                    "DLPack, PyOpenCL's or an Array is expected")


def as_array(value: Any, queue: Queue) -> Array:
    """An operand on the queue. Only what is in the host's memory is copied."""
    if isinstance(value, Array):
        if value.queue is not queue:
            value.queue.finish()
        return value
    if is_pyopencl(value):
        bytes_each = value.dtype.itemsize
        return queue.view(value.base_data, value.shape, value.dtype,
                          value.offset // bytes_each,
                          [s // bytes_each for s in value.strides])
    return queue.array(value)
