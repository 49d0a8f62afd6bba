# SPDX-License-Identifier: Apache-2.0
"""The parts of torch_gemm.py and torch_expr.py, which time crosslane beside
PyTorch on one GPU. No module here is called torch: PyTorch's own is."""
