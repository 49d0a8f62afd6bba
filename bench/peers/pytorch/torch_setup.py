# SPDX-License-Identifier: Apache-2.0
"""PyTorch as the comparisons need it: imported late, since the self-tests run
without it, and set to compute in full precision."""
import sys

# crosslane's types by PyTorch's names.
TORCH_NAMES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16",
               "i32": "int32", "i8": "int8", "u8": "uint8", "bool": "bool",
               "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}


def load_torch():
    try:
        import torch
    except ImportError:
        sys.exit("PyTorch is not installed for this Python: install it with "
                 "CUDA, or give --self-test to check crosslane only")
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no CUDA device; --self-test checks crosslane "
                 "only")
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    return torch


def torch_dtype(torch, dtype):
    return getattr(torch, TORCH_NAMES[dtype])
