# SPDX-License-Identifier: Apache-2.0
"""What torch_gemm.py times of a convolution's gradients (`--pass`)."""
from .conv_cases import ConvCase
from .gemm_errors import UNIT_ROUNDOFF, output_roundoff, smallest_error

PASSES = {"backward-data": 1, "backward-filters": 2}  # xl_conv_pass


class ConvGradientCase(ConvCase):
    """The gradient of images, or of filters, from out's."""
    op = "conv_gradient"

    def __init__(self, sizes, dtype, layout="nchw", title=None, **settings):
        self.which = settings.pop("pass")
        super().__init__(sizes, dtype, layout, title, **settings)
        self.settings = dict(settings, **{"pass": self.which})
        self.params["pass"] = self.which
        (images, filters), out = self.inputs, self.result
        self.is_data = self.which == "backward-data"
        self.inputs = [filters if self.is_data else images, out]
        self.result = images if self.is_data else filters
        pixels = out[1:3] if self.layout == "nhwc" else out[2:4]
        self.sums = (self.k // self.groups * self.r * self.s if self.is_data
                     else self.n * pixels[0] * pixels[1])

    def label(self):
        return "%s %s" % (super().label(), self.which)

    def descriptor(self, mems, variant=None, has_epilogue=True):
        other, out, result = mems[:3]
        op = super().descriptor([result, other, out] if self.is_data
                                else [other, result, out], variant)
        op.pass_ = PASSES[self.which]
        return op

    def gradient(self, torch, other, out):
        """PyTorch's, in the order of `result`."""
        is_nhwc = self.layout == "nhwc"
        result = torch.empty(out.shape[:1] + tuple(self.result[1:])
                             if self.is_data else self.result,
                             dtype=out.dtype, device=out.device)
        x = [result, other, out] if self.is_data else [other, result, out]
        images, filters, g = (t.permute(0, 3, 1, 2) if is_nhwc else t
                              for t in x)
        y = torch.ops.aten.convolution_backward(
            g, images, filters, None, [self.stride] * 2, [self.pad] * 2,
            [self.dilation] * 2, False, [0, 0], self.groups,
            [self.is_data, not self.is_data, False])[not self.is_data]
        return y.permute(0, 2, 3, 1) if is_nhwc else y

    def torch_function(self, torch, x):
        return lambda: self.gradient(torch, *x)

    def expected(self, torch, x):
        """In double, of the first image or of all filters, and its tolerance:
        conv.h, Accuracy, as sum_bound()'s `full`."""
        n = 1 if self.is_data else self.n
        other, out = x[0].double(), x[1][:n].double()
        expected = self.gradient(torch, other, out)
        magnitude = self.gradient(torch, other.abs(), out.abs())
        ku = self.sums * UNIT_ROUNDOFF["f32"]
        bound = ku / (1 - ku) * magnitude
        tolerance = (bound +
                     (expected.abs() + bound) * output_roundoff(self.out) +
                     smallest_error(self.out))
        return expected.flatten(0, -2), tolerance.flatten(0, -2)
