# SPDX-License-Identifier: Apache-2.0
"""libcrosslane's expressions through ctypes."""
import ctypes as ct

from .crosslane_library import (DTYPES, STRUCTS, Binding, Crosslane,
                                Descriptor, Mem)


class ExprArgs(Descriptor):
    _fields_ = [("bindings", ct.POINTER(Binding)), ("n_bindings", ct.c_uint),
                ("fast_math", ct.c_bool), ("variant", ct.c_char_p),
                ("workspace", Mem)]


class ExprKernel(ct.Structure):
    _fields_ = [("name", ct.c_char_p), ("computes", ct.c_char_p),
                ("why", ct.c_char_p), ("source", ct.c_char_p),
                ("flop", ct.c_double), ("bytes", ct.c_double),
                ("global_size", ct.c_size_t * 3), ("wg", ct.c_size_t * 3)]


KernelCallback = ct.CFUNCTYPE(None, ct.POINTER(ExprKernel), ct.c_void_p)
STRUCTS.update({"expr_args": ExprArgs, "expr_kernel": ExprKernel})


class CrosslaneExpr(Crosslane):
    """The library with its calls for expressions."""

    def declare(self):
        super().declare()
        p = ct.c_void_p
        calls = {
            "xl_expr_compile": (ct.c_int, [p, ct.c_char_p, p, p]),
            "xl_expr_run": (ct.c_int, [p, p, p, p]),
            "xl_expr_kernels": (ct.c_int, [p, p, p, KernelCallback, p]),
            "xl_expr_destroy": (None, [p])}
        for name, (result, arguments) in calls.items():
            call = getattr(self.so, name)
            call.restype, call.argtypes = result, arguments
        self.measure = ct.CDLL(self.path.replace(
            "libcrosslane", "libcrosslane-measure"))
        self.measure.xl_peaks_measure.argtypes = [p, ct.c_int]

    def measured_fact(self, name):
        """A fact that is measured first, such as "copy_bytes_per_s"."""
        self.check_status(self.measure.xl_peaks_measure(self.q, DTYPES["f32"]))
        return self.device_fact(name).value

    def compile_expr(self, text, args):
        expr = ct.c_void_p()
        self.check_status(self.so.xl_expr_compile(
            self.q, text.encode(), ct.byref(args), ct.byref(expr)))
        return expr

    def run_expr(self, expr, args):
        self.check_status(self.so.xl_expr_run(self.q, expr, ct.byref(args),
                                              None))

    def destroy_expr(self, expr):
        self.so.xl_expr_destroy(expr)

    def n_kernels(self, expr, args):
        """The number of kernels that one evaluation launches."""
        names = []
        callback = KernelCallback(
            lambda kernel, _: names.append(kernel.contents.name))
        self.check_status(self.so.xl_expr_kernels(
            self.q, expr, ct.byref(args), callback, None))
        return len(names)
