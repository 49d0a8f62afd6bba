# SPDX-License-Identifier: Apache-2.0
"""What torch_gemm.py times of rows: softmax, log-softmax, layer norm and RMS
norm of one shape."""
import math

from .crosslane_library import BYTES, Mat, Mem, Norm, Softmax, matrix_view

KINDS = ("softmax", "log-softmax", "layer", "rms")
NORM_KINDS = {"layer": 0, "rms": 1}  # xl_norm_kind
EPS = 1e-5
U = 2.0**-24


class RowsCase:
    """A function of each row; of norms with a scale, of a layer norm with a
    bias too. Attributes as GemmCase has them."""
    unit = "B/s"
    accuracy, epilogue, batch = "full", None, 0

    def __init__(self, shape, dtype, kind="softmax"):
        self.rows, self.cols = shape
        self.kind, self.dtype, self.out = kind, dtype, dtype
        self.op = "norm" if kind in NORM_KINDS else "softmax"
        self.title = None
        self.shape = {"rows": self.rows, "cols": self.cols}
        self.params = {} if kind == "softmax" else {"kind": kind}
        self.flop = (8 if self.op == "norm" else 5) * self.rows * self.cols
        n_vectors = {"layer": 2, "rms": 1}.get(kind, 0)
        self.bytes = self.amount = BYTES[dtype] * self.cols * (
            2 * self.rows + n_vectors)
        self.inputs = [shape] + n_vectors * [(self.cols,)]
        self.result = shape

    def label(self):
        return "%s %s %dx%d" % (self.dtype, self.kind, self.rows, self.cols)

    def descriptor(self, mems, variant=None, has_epilogue=True):
        """crosslane's descriptor. mems: inputs, result."""
        variant = variant.encode() if variant else None
        views = [matrix_view(mem, self.cols, self.dtype)
                 for mem in mems[:len(self.inputs) + 1]]
        src, dst, vectors = views[0], views[-1], views[1:-1]
        if self.op == "softmax":
            return Softmax(self.rows, self.cols, src, dst, 0, Mat(), Mem(),
                           variant, is_log=self.kind == "log-softmax")
        return Norm(self.rows, self.cols, src, dst, NORM_KINDS[self.kind],
                    EPS, variant=variant,
                    **dict(zip(("scale", "bias"), vectors)))

    def torch_result(self, torch, x):
        f = torch.nn.functional
        if self.op == "softmax":
            return (torch.softmax if self.kind == "softmax" else
                    torch.log_softmax)(x[0], 1)
        if self.kind == "rms":
            return f.rms_norm(x[0], (self.cols,), x[1], EPS)
        return f.layer_norm(x[0], (self.cols,), *x[1:], EPS)

    def expected(self, torch, x, n_rows):
        """The first n_rows rows in double, and the most that an element may
        be off: softmax.h and norm.h, Accuracy."""
        x = [x[0][:n_rows].double()] + [v.double() for v in x[1:]]
        expected = self.torch_result(torch, x)
        bound = (self.norm_bound(torch, expected, *x)
                 if self.op == "norm" else self.softmax_bound(expected, x[0]))
        w = {"f32": 0, "f16": 2.0**-11, "bf16": 2.0**-8}[self.dtype]
        least = 2.0**-25 if self.dtype == "f16" else 2.0**-126
        return expected, bound + (expected.abs() + bound) * w + least

    def softmax_bound(self, expected, x):
        below_max = x.max(1, keepdim=True).values - x
        log2_cols = math.log2(self.cols)
        if self.kind == "softmax":
            return expected * (below_max + 48 + 2 * log2_cols) * U
        return (2 * expected.abs() + 76 + 7 * log2_cols) * U

    def norm_bound(self, torch, expected, x, scale, bias=0):
        k, r = 13 + 2 * math.log2(self.cols), 0
        mean = x.mean(1, keepdim=True) if self.kind == "layer" else 0
        sd = ((x - mean).square().mean(1, keepdim=True) + EPS).sqrt()
        y = (x - mean) / sd
        if self.kind == "layer":
            r = (math.sqrt(self.cols / 256) if self.cols > 16384 else
                 (mean.abs() + k * ((x[:, :1] - mean).abs() + sd)) * U / sd)
        of_y = (1 + r * r) * ((1.5 * k + 8) * y.abs() + k + 1) * U
        return of_y * scale.abs() + (2 * (y * scale).abs() +
                                     expected.abs()) * U
