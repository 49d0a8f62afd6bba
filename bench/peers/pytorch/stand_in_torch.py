# SPDX-License-Identifier: Apache-2.0
"""A stand-in for PyTorch in the self-tests: what the result files state of
it. The libraries that are timed in PyTorch's place are computed in Python."""
import types

torch = types.SimpleNamespace(
    __version__="0 (stand-in)",
    version=types.SimpleNamespace(cuda=None),
    backends=types.SimpleNamespace(
        cudnn=types.SimpleNamespace(version=lambda: None)),
    cuda=types.SimpleNamespace(get_device_name=lambda: "stand-in",
                               synchronize=lambda: None))
