# SPDX-License-Identifier: Apache-2.0
"""What torch_gemm.py times of convolutions: one layer, as clbench's files of
shapes write it."""
import re

from .crosslane_library import (BYTES, DTYPES, Conv, Epilogue, Filters, Images,
                                Mem)

LAYOUTS = {"nchw": 0, "nhwc": 1}  # xl_layout, and xl_filter_layout beside it
SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)x(\d+):(\d+)x(\d+)x(\d+)$")
SETTINGS = ("stride", "pad", "dilation", "groups")


class ConvCase:
    """k filters of r x s over n images of c x h x w. Attributes: see
    result_rows.py, and

        inputs, result  sizes of images, filters and results in memory
        sums            products added for one element of the result"""
    op, unit = "conv", "flop/s"
    accuracy, epilogue, batch = "full", None, 0

    def __init__(self, sizes, dtype, layout="nchw", title=None, **settings):
        self.n, self.h, self.w, self.c, self.k, self.r, self.s = sizes
        self.dtype = self.out = dtype
        self.layout, self.title = layout, title
        self.settings = settings
        self.stride, self.pad, self.dilation, self.groups = (
            settings.get(name, default)
            for name, default in zip(SETTINGS, (1, 0, 1, 1)))
        self.shape = dict(zip("nhwckrs", sizes))
        self.params = dict({"layout": layout}, **settings)
        p, q = (self.length(self.h, self.r), self.length(self.w, self.s))
        channels = self.c // self.groups
        self.sums = self.r * self.s * channels
        self.flop = 2 * self.n * self.k * p * q * self.sums
        self.inputs = [self.in_memory(self.n, self.c, self.h, self.w),
                       self.in_memory(self.k, channels, self.r, self.s)]
        self.result = self.in_memory(self.n, self.k, p, q)
        n_elements = sum(a * b * c * d
                         for a, b, c, d in self.inputs + [self.result])
        self.bytes = BYTES[dtype] * n_elements
        self.amount = self.flop

    def length(self, image, filter_):
        """Rows or columns of the result."""
        return ((image + 2 * self.pad - self.dilation * (filter_ - 1) - 1) //
                self.stride + 1)

    def in_memory(self, n, c, h, w):
        return (n, c, h, w) if self.layout == "nchw" else (n, h, w, c)

    def label(self):
        size = "x".join(str(v) for v in (self.n, self.h, self.w, self.c))
        return "%s %s %s:%dx%dx%d%s%s" % (
            self.dtype, self.layout, size, self.k, self.r, self.s,
            "/%d" % self.stride if self.stride > 1 else "",
            " g%d" % self.groups if self.groups > 1 else "")

    def descriptor(self, mems, variant=None, has_epilogue=True):
        """crosslane's descriptor. mems: images, filters, results."""
        layout, dtype = LAYOUTS[self.layout], DTYPES[self.dtype]
        images, filters, out = (Mem(mem, None) for mem in mems[:3])
        return Conv(
            n=self.n, c=self.c, h=self.h, w=self.w, k=self.k, r=self.r,
            s=self.s, groups=self.groups, stride_h=self.stride,
            stride_w=self.stride, dilation_h=self.dilation,
            dilation_w=self.dilation, pad_top=self.pad, pad_bottom=self.pad,
            pad_left=self.pad, pad_right=self.pad,
            images=Images(mem=images, layout=layout, dtype=dtype),
            filters=Filters(mem=filters, layout=layout, dtype=dtype),
            out=Images(mem=out, layout=layout, dtype=dtype), alpha=1,
            variant=variant.encode() if variant else None,
            epilogue=Epilogue())

    def torch_result(self, torch, x):
        """PyTorch's result, in the order of `result`; `nhwc` is its
        channels_last."""
        is_nhwc = self.layout == "nhwc"
        images, filters = (t.permute(0, 3, 1, 2) if is_nhwc else t for t in x)
        y = torch.nn.functional.conv2d(
            images, filters, None, self.stride, self.pad, self.dilation,
            self.groups)
        return y.permute(0, 2, 3, 1) if is_nhwc else y


def is_conv_shape(text):
    return ":" in text


def parse_conv(text):
    """"NxHxWxC:KxRxS" as seven sizes, or None."""
    match = SHAPE.match(text)
    return tuple(int(size) for size in match.groups()) if match else None
