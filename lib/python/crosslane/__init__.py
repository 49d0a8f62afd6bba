# SPDX-License-Identifier: Apache-2.0
"""crosslane: an OpenCL compute library for every vendor's device.

    import numpy as np, crosslane as xl

    c = xl.gemm(a, b)                                   # NumPy in, NumPy out
    y = xl.expr("gelu(x * w + b)", x=x, w=w, b=b)

    q = xl.Queue()                                      # the best device
    d = q.array(a)                                      # copied to it
    e = xl.softmax(xl.gemm(d, d))                       # stays there
    e.numpy()                                           # copied back

An operand is a NumPy array or an object with DLPack in the host's memory, both
copied; an Array; or an array of PyOpenCL, which is not copied and needs
`queue`. The result is a NumPy array where all operands are in the host's
memory, and otherwise an Array, whose command is enqueued, not finished. `out`
takes the result instead, in memory of any of these kinds.

Threads: any thread may call at any time; calls on one queue wait for each
other. A failure is an Error, with the library's status and message.
"""
from .arrays import Array, Device, Queue, default_queue, devices
from .library import Error
from .operations import (Choice, attention, conv2d, dequantise, explain, expr,
                         gemm, layer_norm, quantise, rms_norm, rotary, softmax)
from .selfcheck import verify

__version__ = "0.1.0"
__all__ = ["Array", "Choice", "Device", "Error", "Queue", "attention", "conv2d",
           "default_queue", "dequantise", "devices", "explain", "expr", "gemm",
           "layer_norm", "quantise", "rms_norm", "rotary", "softmax", "verify"]
