# SPDX-License-Identifier: Apache-2.0
"""What torch_gemm.py times: one product of one shape, and the cases, of all
ops, that the command line or a file of shapes names."""
import os
import re
import sys

from .attention_cases import AttentionCase, parse_attention
from .attention_gradients import AttentionGradientCase
from .conv_cases import SETTINGS, ConvCase, is_conv_shape, parse_conv
from .conv_gradients import ConvGradientCase
from .crosslane_library import (ACCURACY, BYTES, DTYPES, Batch, Binding,
                                Epilogue, Gemm, Mem, bind_vector, matrix_view)
from .row_cases import RowsCase

TRANS = ("nn", "nt", "tn", "tt")
OUTPUT_DTYPE = {"i8": "i32", "f8e4m3": "bf16", "f8e5m2": "bf16"}
GELU = "gelu(y + bias)"


class GemmCase:
    """op(A) op(B), where op() transposes as `trans` states; `batch` products
    at once, 0: one. Attributes: see result_rows.py, and

        inputs, result  sizes of A, B and C in memory, with the batch in front
        ta, tb          is A, is B stored transposed?
        out             C's type"""
    op, unit = "gemm", "flop/s"

    def __init__(self, shape, dtype, trans="nn", batch=0, title=None,
                 accuracy="full", epilogue=None):
        self.m, self.n, self.k = shape
        self.dtype, self.trans, self.batch = dtype, trans, batch
        self.title, self.accuracy, self.epilogue = title, accuracy, epilogue
        self.out = OUTPUT_DTYPE.get(dtype, dtype)
        self.shape = {"m": self.m, "n": self.n, "k": self.k}
        if batch:
            self.shape["batch"] = batch
        self.params = {"trans": trans, "out": self.out, "alpha": 1, "beta": 0}
        if accuracy != "full":
            self.params["accuracy"] = accuracy
        if epilogue:
            self.params["epilogue"] = epilogue
        count = batch or 1
        self.flop = 2 * self.m * self.n * self.k * count
        self.bytes = count * (
            BYTES[dtype] * (self.m * self.k + self.k * self.n) +
            BYTES[self.out] * self.m * self.n)
        self.amount = self.flop
        self.ta, self.tb = trans[0] == "t", trans[1] == "t"
        self.inputs = [
            (count, self.k, self.m) if self.ta else (count, self.m, self.k),
            (count, self.n, self.k) if self.tb else (count, self.k, self.n)]
        self.result = (count, self.m, self.n)

    def label(self):
        sizes = ([self.m] if self.m == self.n == self.k else
                 [self.m, self.n, self.k])
        return " ".join(
            [self.dtype, self.trans, "x".join(str(s) for s in sizes)] +
            (["batch=%d" % self.batch] if self.batch else []) +
            ([self.accuracy] if self.accuracy != "full" else []) +
            (["fused"] if self.epilogue else []))

    def descriptor(self, mems, variant=None, has_epilogue=True):
        """crosslane's descriptor. mems: A, B, C and, for the epilogue, the
        bias; has_epilogue: False leaves the case's epilogue out."""
        a, b, c = mems[:3]
        strides = (self.m * self.k, self.k * self.n, self.m * self.n)
        op = Gemm(self.m, self.n, self.k,
                  matrix_view(a, self.inputs[0][2], self.dtype, self.ta),
                  matrix_view(b, self.inputs[1][2], self.dtype, self.tb),
                  matrix_view(c, self.n, self.out), 1, 0, Mem(),
                  variant.encode() if variant else None,
                  Batch(self.batch, *(strides if self.batch else (0, 0, 0))))
        op.accuracy = ACCURACY[self.accuracy]
        if self.epilogue and has_epilogue:
            names = (Binding * 1)(
                bind_vector("bias", mems[3], self.n, self.out))
            op.epilogue = Epilogue(self.epilogue.encode(), names, 1)
            op.names = names  # keep them as long as the descriptor
        return op

    def operands(self, x):
        """op(A) and op(B) as views of PyTorch's tensors."""
        return (x[0].mT if self.ta else x[0]), (x[1].mT if self.tb else x[1])


# -- from text ----------------------------------------------------------------


class BadShape(SystemExit):
    """A shape cannot be read; the text states where and what is expected."""

    def __init__(self, text):
        super().__init__(2)
        print(text, file=sys.stderr)


def parse_sizes(text, origin):
    """"64x32x16", or "64" for a cube: three sizes, of a product; "64x32":
    two, of rows. origin: where the text is from, for the message."""
    try:
        sizes = tuple(int(size) for size in text.split("x"))
    except ValueError:
        sizes = ()
    sizes = sizes * 3 if len(sizes) == 1 else sizes
    if len(sizes) not in (2, 3) or min(sizes) < 1:
        raise BadShape("%s: invalid shape '%s': must be MxNxK or N, or "
                       "ROWSxCOLS for rows" % (origin, text))
    return sizes


def read_shape_file(name):
    """Yields (origin, title, shape, settings) of each line of a file in the
    syntax of clbench (bench/cases/shape_file.h):

        title: 64x32x16 f16 nt batch=4      # comment

    A name without a dot and a slash is a file of bench/cases/shapes."""
    folder = os.path.dirname(os.path.abspath(__file__))
    path = name
    if "." not in name and "/" not in name:
        path = os.path.join(folder, "..", "..", "cases", "shapes", name + ".txt")
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            title, rest = re.match(r"(?:(.*?):(?=\s))?(.*)",
                                   line.split("#")[0].strip()).groups()
            words, settings = rest.split(), {}
            for word in words[1:]:
                key, equals, value = word.partition("=")
                if not equals:
                    key = "dtype" if word in DTYPES else "trans"
                    value = word
                settings[key] = value
            if words:
                yield "%s:%d" % (name, number), title, words[0], settings


def conv_of_line(origin, title, shape, settings, dtype, layout, which):
    sizes = parse_conv(shape)
    if not sizes or not set(settings) <= set(SETTINGS):
        raise BadShape("%s: invalid line: must be NxHxWxC:KxRxS, then a type, "
                       "%s" % (origin, ", ".join(s + "=N" for s in SETTINGS)))
    settings = {name: int(value) for name, value in settings.items()}
    if which == "forward":
        return ConvCase(sizes, dtype, layout, title, **settings)
    return ConvGradientCase(sizes, dtype, layout, title,
                            **dict(settings, **{"pass": which}))


def cases_of_file(file, dtypes=None, least_m=1, layout="nchw",
                  which="forward", **options):
    """GEMMs with at least least_m rows, or convolutions, of a file of shapes,
    their results or a gradient; dtypes: types to use instead of the file's."""
    for origin, title, shape, settings in read_shape_file(file):
        if is_conv_shape(shape):
            dtype = settings.pop("dtype", "f32")
            for d in dtypes or [dtype]:
                yield conv_of_line(origin, title, shape, settings, d, layout,
                                   which)
            continue
        sizes = parse_sizes(shape, origin)
        dtype = settings.pop("dtype", "f32")
        trans = settings.pop("trans", "nn")
        batch = int(settings.pop("batch", "0"))
        if settings or trans not in TRANS or len(sizes) != 3:
            raise BadShape("%s: invalid line: must be MxNxK, then a type, nn, "
                           "nt, tn or tt, batch=N" % origin)
        if sizes[0] >= least_m:
            for d in dtypes or [dtype]:
                yield GemmCase(sizes, d, trans, batch, title, **options)


def cases_of_shapes(shapes, dtypes, transes, attention=None, backward=False,
                    rows=("softmax",), **options):
    """Each shape with each type and transposition; two sizes are rows, of each
    kind in `rows`, four or five an attention, by the arguments `attention` of
    AttentionCase, or its gradients."""
    for shape in shapes:
        if parse_attention(shape):
            kind, given = AttentionGradientCase, dict(attention or {})
            if not backward:
                kind = AttentionCase
                given["accuracy"] = options.get("accuracy", "full")
            for dtype in dtypes:
                yield kind(parse_attention(shape), dtype, **given)
            continue
        sizes = parse_sizes(shape, "command line")
        for dtype in dtypes:
            if len(sizes) == 2:
                yield from (RowsCase(sizes, dtype, kind) for kind in rows)
                continue
            for trans in transes:
                yield GemmCase(sizes, dtype, trans, **options)
