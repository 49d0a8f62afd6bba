# SPDX-License-Identifier: Apache-2.0
"""libcrosslane through ctypes: its structs as Python declares them, its
calls, and queues to time on."""
import ctypes as ct
import os
import sys

VERSION = "0.1.0"
DTYPES = {"f32": 0, "f16": 1, "bf16": 2, "i32": 4, "i8": 5, "u8": 6,
          "bool": 7, "f8e4m3": 8, "f8e5m2": 9}
BYTES = {"f32": 4, "f16": 2, "bf16": 2, "i32": 4, "i8": 1, "u8": 1,
         "bool": 1, "f8e4m3": 1, "f8e5m2": 1}
ACCURACY = {"full": 0, "split": 1, "fast": 2}
MAX_DIMS = 6
CALLS_LIBRARY = "libclbench-calls.so"


class Descriptor(ct.Structure):
    """A struct whose first member is its size: crosslane/sized.h."""
    _fields_ = [("size", ct.c_size_t)]

    def __init__(self, *members, **named):
        super().__init__(ct.sizeof(self), *members, **named)


class Mem(ct.Structure):
    _fields_ = [("buf", ct.c_void_p), ("svm", ct.c_void_p),
                ("bytes", ct.c_size_t)]


class Mat(ct.Structure):
    _fields_ = [("mem", Mem), ("offset", ct.c_size_t),
                ("row_stride", ct.c_size_t), ("col_stride", ct.c_size_t),
                ("dtype", ct.c_int)]


class Tensor(ct.Structure):
    _fields_ = [("mem", Mem), ("offset", ct.c_size_t), ("n_dims", ct.c_uint),
                ("size", ct.c_size_t * MAX_DIMS),
                ("stride", ct.c_size_t * MAX_DIMS), ("dtype", ct.c_int)]


class Binding(ct.Structure):
    _fields_ = [("name", ct.c_char_p), ("tensor", Tensor),
                ("is_scalar", ct.c_bool), ("scalar", ct.c_double)]


class Batch(ct.Structure):
    _fields_ = [("count", ct.c_size_t), ("a_step", ct.c_size_t),
                ("b_step", ct.c_size_t), ("c_step", ct.c_size_t),
                ("a_at", ct.c_void_p), ("b_at", ct.c_void_p),
                ("c_at", ct.c_void_p)] + [
                (name, ct.c_size_t) for name in
                ("inner", "a_inner", "b_inner", "c_inner", "a_share",
                 "b_share")] + [("rows", ct.c_void_p), ("at", ct.c_void_p)]


class Epilogue(ct.Structure):
    _fields_ = [("expr", ct.c_char_p), ("bindings", ct.POINTER(Binding)),
                ("n_bindings", ct.c_uint)]


class Scales(ct.Structure):
    _fields_ = [("scale", ct.POINTER(Mat)), ("zero", ct.POINTER(Mat))] + [
                (name, ct.c_size_t) for name in
                ("group_rows", "group_cols", "scale_step", "zero_step",
                 "scale_inner", "zero_inner")]


class Gemm(Descriptor):
    call = "gemm"
    _fields_ = [("m", ct.c_size_t), ("n", ct.c_size_t), ("k", ct.c_size_t),
                ("a", Mat), ("b", Mat), ("c", Mat), ("alpha", ct.c_double),
                ("beta", ct.c_double), ("workspace", Mem),
                ("variant", ct.c_char_p), ("batch", Batch),
                ("epilogue", Epilogue), ("accuracy", ct.c_int),
                ("a_scales", Scales), ("b_scales", Scales)]


class Flop(ct.Structure):
    _fields_ = [("engine", ct.c_int), ("dtype", ct.c_int),
                ("terms", ct.c_uint), ("count", ct.c_double),
                ("is_product", ct.c_bool), ("why", ct.c_char_p)]


class Tiling(ct.Structure):
    _fields_ = [(name, ct.c_size_t) for name in
                ("rows", "cols", "m", "n", "tiles_m", "tiles_n", "count",
                 "band")] + [
                ("is_swapped", ct.c_bool), ("is_even", ct.c_bool)] + [
                (name, ct.c_size_t) for name in
                ("whole", "sharers", "groups", "wg_items",
                 "local_mem_bytes")]


class Choice(ct.Structure):
    _fields_ = [("variant", ct.c_char * 32), ("chosen", ct.c_bool),
                ("why", ct.c_char * 512), ("tunables", ct.c_char * 512),
                ("bound", ct.c_char * 32), ("repeats", ct.c_char * 96),
                ("est_ns", ct.c_double), ("flop", ct.c_double),
                ("bytes", ct.c_double), ("n_steps", ct.c_uint),
                ("wg", ct.c_size_t * 3), ("whole", ct.c_size_t * 3),
                ("local_mem_bytes", ct.c_size_t),
                ("scratch_bytes", ct.c_size_t),
                ("private_bytes", ct.c_size_t), ("registers", ct.c_double),
                ("spill_bytes", ct.c_double), ("on", Flop),
                ("tiling", Tiling)]


class Softmax(Descriptor):
    call = "softmax"
    _fields_ = [("rows", ct.c_size_t), ("cols", ct.c_size_t), ("src", Mat),
                ("dst", Mat), ("scale", ct.c_double), ("mask", Mat),
                ("workspace", Mem), ("variant", ct.c_char_p),
                ("prologue", Epilogue), ("epilogue", Epilogue),
                ("is_log", ct.c_bool), ("grad", Mat),
                ("is_backward", ct.c_bool)]


class Norm(Descriptor):
    call = "norm"
    _fields_ = [("rows", ct.c_size_t), ("cols", ct.c_size_t), ("src", Mat),
                ("dst", Mat), ("kind", ct.c_int), ("eps", ct.c_double)] + [
                (name, Mat) for name in ("residual", "sum", "scale", "bias")
                ] + [("workspace", Mem), ("variant", ct.c_char_p),
                     ("is_backward", ct.c_bool)] + [
                (name, Mat) for name in ("grad", "grad_scale", "grad_bias")]


class Images(ct.Structure):
    _fields_ = [("mem", Mem), ("offset", ct.c_size_t), ("layout", ct.c_int),
                ("stride", ct.c_size_t * 4), ("dtype", ct.c_int)]


class Filters(ct.Structure):
    _fields_ = [("mem", Mem), ("offset", ct.c_size_t), ("layout", ct.c_int),
                ("dtype", ct.c_int)]


class Conv(Descriptor):
    call = "conv"
    _fields_ = [(name, ct.c_size_t) for name in
                ("n", "c", "h", "w", "k", "r", "s", "groups", "stride_h",
                 "stride_w", "dilation_h", "dilation_w", "pad_top",
                 "pad_bottom", "pad_left", "pad_right")] + [
                # `in` and `pass` are keywords here.
                ("images", Images), ("filters", Filters), ("out", Images),
                ("alpha", ct.c_double), ("beta", ct.c_double),
                ("workspace", Mem), ("variant", ct.c_char_p),
                ("epilogue", Epilogue), ("pass_", ct.c_int),
                ("accuracy", ct.c_int)]


class Heads(ct.Structure):
    _fields_ = [("mem", Mem), ("offset", ct.c_size_t),
                ("stride", ct.c_size_t * 4), ("dtype", ct.c_int)]


class Attention(Descriptor):
    call = "attention"
    _fields_ = [(name, ct.c_size_t) for name in
                ("n_batch", "n_heads", "n_kv_heads", "n_q", "n_kv",
                 "d_head")] + [
                (name, Heads) for name in ("q", "k", "v", "o")] + [
                ("scale", ct.c_double), ("is_causal", ct.c_bool),
                ("window", ct.c_size_t), ("soft_cap", ct.c_double)] + [
                (name, ct.POINTER(Heads)) for name in
                ("mask", "slopes", "sinks", "lse")] + [
                ("workspace", Mem), ("variant", ct.c_char_p),
                ("prologue", Epilogue)] + [
                (name, ct.POINTER(Heads)) for name in
                ("grad_o", "grad_q", "grad_k", "grad_v")] + [
                ("is_backward", ct.c_bool), ("q_rows", ct.c_void_p),
                ("kv_rows", ct.c_void_p)] + [
                (name, ct.POINTER(Heads)) for name in
                ("k_scales", "v_scales")] + [("accuracy", ct.c_int)]


class Fact(ct.Structure):
    _fields_ = [("kind", ct.c_int), ("value", ct.c_double),
                ("text", ct.c_char_p), ("list", ct.c_double * 8),
                ("n_list", ct.c_uint), ("unit", ct.c_char_p),
                ("source", ct.c_int), ("note", ct.c_char_p)]


# Their sizes are compared with the C compiler's, which batched_calls.c has.
STRUCTS = {"mat": Mat, "tensor": Tensor, "binding": Binding, "gemm": Gemm,
           "softmax": Softmax, "norm": Norm, "conv": Conv, "heads": Heads,
           "attention": Attention, "choice": Choice, "fact": Fact}


class CallFailed(SystemExit):
    """A call of libcrosslane failed; the text is its error detail."""


def matrix_view(mem, ld, dtype, is_transposed=False):
    """A row-major matrix with leading dimension ld, or its transpose."""
    strides = (1, ld) if is_transposed else (ld, 1)
    return Mat(Mem(mem, None), 0, *strides, DTYPES[dtype])


def bind_vector(name, mem, n, dtype, n_dims=1):
    """A binding of n contiguous values: one a column, or, of more dimensions,
    along the first."""
    sizes = (ct.c_size_t * MAX_DIMS)(n, *[1] * (n_dims - 1))
    strides = (ct.c_size_t * MAX_DIMS)(*[1] * n_dims)
    return Binding(name.encode(), Tensor(Mem(mem, None), 0, n_dims, sizes,
                                         strides, DTYPES[dtype]))


class Crosslane:
    """The library with one queue of its own, and plain queues to time on:
    without profiling, as an application creates them."""

    def __init__(self, path, device):
        self.path = path
        self.so = ct.CDLL(path, ct.RTLD_GLOBAL)
        self.declare()
        version = self.so.xl_version().decode()
        if version != VERSION:
            sys.exit("%s is version %s, but this script needs %s" %
                     (path, version, VERSION))
        self.lib, self.dev, self.q = (ct.c_void_p() for _ in range(3))
        self.plain_queues = []
        self.check_status(self.so.xl_open(None, ct.byref(self.lib)))
        self.check_status(self.so.xl_device_find(self.lib, device.encode(),
                                                 ct.byref(self.dev)))
        self.check_status(self.so.xl_queue_create(self.lib, self.dev,
                                                  ct.byref(self.q)))
        self.helper = self.find_helper(os.path.dirname(path))

    def declare(self):
        p, size, text = ct.c_void_p, ct.c_size_t, ct.c_char_p
        calls = {
            "xl_version": (text, []),
            "xl_open": (ct.c_int, [p, p]),
            "xl_lib_error": (text, [p]),
            "xl_error_detail": (text, [p]),
            "xl_status_name": (text, [ct.c_int]),
            "xl_device_find": (ct.c_int, [p, text, p]),
            "xl_device_index": (ct.c_uint, [p]),
            "xl_device_fact": (ct.c_int, [p, text, ct.c_int, p]),
            "xl_queue_create": (ct.c_int, [p, p, p]),
            "xl_queue_wrap": (ct.c_int, [p, p, p]),
            "xl_queue_context": (p, [p]),
            "xl_queue_cl": (p, [p]),
            "xl_queue_finish": (ct.c_int, [p]),
            "xl_buffer_create": (ct.c_int, [p, size, p]),
            "xl_buffer_write": (ct.c_int, [p, p, size, p, size]),
            "xl_buffer_read": (ct.c_int, [p, p, size, p, size]),
            "clReleaseMemObject": (ct.c_int, [p]),
            "clCreateCommandQueue": (p, [p, p, ct.c_ulong, p]),
            "clGetCommandQueueInfo": (ct.c_int, [p, ct.c_uint, size, p, p]),
        }
        for op in (Gemm, Softmax, Norm, Conv, Attention):
            calls["xl_%s_run" % op.call] = ct.c_int, [p, p, p]
            calls["xl_%s_explain" % op.call] = (ct.c_int,
                                                [p, p, p, ct.c_uint, p])
        for name, (result, arguments) in calls.items():
            call = getattr(self.so, name)
            call.restype, call.argtypes = result, arguments

    @staticmethod
    def find_helper(folder):
        """batched_calls.c's library, in the folder of libcrosslane or where
        the loader searches; None: calls are made from Python."""
        for path in (os.path.join(folder, CALLS_LIBRARY),
                     os.path.join(folder, "bench", "peers", CALLS_LIBRARY),
                     CALLS_LIBRARY):
            try:
                helper = ct.CDLL(path)
            except OSError:
                continue
            helper.peer_size_of.restype = ct.c_size_t
            for name, kind in STRUCTS.items():
                size = helper.peer_size_of(name.encode())
                if ct.sizeof(kind) != size:
                    sys.exit("xl_%s has %d bytes in Python, %d in C" %
                             (name, ct.sizeof(kind), size))
            return helper
        return None

    def check_status(self, status, q=None):
        if status:
            q = q or getattr(self, "q", None)
            detail = (self.so.xl_error_detail(q) if q else
                      self.so.xl_lib_error(self.lib))
            raise CallFailed("%s: %s" %
                             (self.so.xl_status_name(status).decode(),
                              (detail or b"").decode(errors="replace")))

    def device_index(self):
        return self.so.xl_device_index(self.dev)

    def device_fact(self, name):
        fact = Fact()
        self.check_status(self.so.xl_device_fact(self.dev, name.encode(), 0,
                                                 ct.byref(fact)))
        return fact

    def fact_text(self, name):
        """A fact that is a text, or None."""
        text = self.device_fact(name).text
        return text.decode(errors="replace") if text else None

    def create_buffer(self, nbytes, address=None):
        """A buffer, with the bytes at an address of the host's memory."""
        mem = ct.c_void_p()
        self.check_status(self.so.xl_buffer_create(
            self.q, nbytes, ct.byref(mem)))
        if address:
            self.write_buffer(mem, address, nbytes)
        return mem

    def write_buffer(self, mem, address, nbytes):
        self.check_status(self.so.xl_buffer_write(self.q, mem, 0, address,
                                                  nbytes))

    def release_buffer(self, mem):
        self.so.clReleaseMemObject(mem)

    def read_buffer(self, mem, address, nbytes):
        self.check_status(self.so.xl_buffer_read(
            self.q, mem, 0, address, nbytes))

    def plain_queue(self, i):
        """The i-th plain queue, in the context of the library's queue."""
        QUEUE_DEVICE = 0x1091
        while len(self.plain_queues) <= i:
            device, code, q = ct.c_void_p(), ct.c_int(), ct.c_void_p()
            self.so.clGetCommandQueueInfo(self.so.xl_queue_cl(self.q),
                                          QUEUE_DEVICE, 8, ct.byref(device),
                                          None)
            native = self.so.clCreateCommandQueue(
                self.so.xl_queue_context(self.q), device, 0, ct.byref(code))
            self.check_status(code.value)
            self.check_status(self.so.xl_queue_wrap(
                self.lib, native, ct.byref(q)))
            self.plain_queues.append(q)
        return self.plain_queues[i]

    def enqueue_calls(self, ops, n):
        """n calls of each of the ops, each op on a plain queue of its own."""
        queues = [self.plain_queue(i) for i in range(len(ops))]
        if self.helper:
            call = getattr(self.helper, "peer_calls_" + ops[0].call)
            pointers = ct.c_void_p * len(ops)
            self.check_status(
                call(pointers(*queues),
                     pointers(*(ct.addressof(op) for op in ops)),
                     ct.c_size_t(len(ops)), ct.c_size_t(n)), queues[0])
            return
        call = getattr(self.so, "xl_%s_run" % ops[0].call)
        pairs = [(q, ct.byref(op)) for q, op in zip(queues, ops)]
        for _ in range(n):
            for q, op in pairs:
                self.check_status(call(q, op, None), q)

    def finish(self):
        for q in self.plain_queues:
            self.check_status(self.so.xl_queue_finish(q), q)
        self.check_status(self.so.xl_queue_finish(self.q))

    def chosen_variant(self, op):
        """The name of the variant that the library runs an op with."""
        call = getattr(self.so, "xl_%s_explain" % op.call)
        choices, n = (Choice * 32)(), ct.c_uint()
        self.check_status(call(self.q, ct.byref(op), choices, len(choices),
                               ct.byref(n)))
        for c in choices:
            if c.chosen:
                return c.variant.decode()
        reasons = [c.why.decode(errors="replace") for c in choices
                   if op.variant and c.variant == op.variant]
        raise CallFailed(reasons[0] if reasons else
                         "no variant can run this op")
