# SPDX-License-Identifier: Apache-2.0
"""Expected results of expressions, computed by PyTorch in double from the
values in memory, and how far a result may be from them."""
import math

from .expr_counterparts import COUNTERPARTS, EXPECTED, parameters
from .torch_setup import torch_dtype

# The most that |result - expected| / (|expected| + its mean) may be, by the
# narrowest type that is read or written.
RELATIVE_TOLERANCE = {"f32": 5e-5, "f16": 2e-3, "bf16": 1.6e-2}


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def scalar_arguments(case):
    return {name: value for name, value in case.scalars.items()
            if name in parameters(case.name)}


def counterpart_function(torch, case):
    """The case in PyTorch; its results have crosslane's types."""
    types = [torch_dtype(torch, case.tensors[n].dtype) for n in case.outputs]
    scalars, function = scalar_arguments(case), COUNTERPARTS[case.name]

    def call(*tensors):
        results = as_tuple(function(*tensors, **scalars))
        return tuple(r.to(t) for r, t in zip(results, types))
    return call


def expected_results(case, tensors):
    function = EXPECTED.get(case.name, COUNTERPARTS[case.name])
    tensors = [t.double() if t.is_floating_point() else t for t in tensors]
    return as_tuple(function(*tensors, **scalar_arguments(case)))


def result_tolerance(case):
    dtypes = [case.tensors[n].dtype for n in case.outputs + case.inputs]
    for dtype in ("bf16", "f16"):
        if dtype in dtypes:
            return RELATIVE_TOLERANCE[dtype]
    return RELATIVE_TOLERANCE["f32"]


def integer_error(case, result, expected):
    """Where a value lies between two integers either may be the result, but
    only in one element of 1000. Indices must be equal."""
    distance = (result.long() - expected.long()).abs()
    if distance.max().item() > 1 and case.name not in EXPECTED:
        return 2.0
    return 1e3 * (distance > 0).double().mean().item()


def result_error(torch, case, result, expected):
    """The largest error of one result in units of its tolerance."""
    if not result.dtype.is_floating_point:
        return integer_error(case, result, expected)
    result = result.double().reshape(expected.shape)
    expected = expected.double()
    if not bool((torch.isnan(result) == torch.isnan(expected)).all()):
        return math.inf
    magnitude = expected.abs() + expected.abs().nanmean()
    error = torch.where(result == expected, 0,
                        (result - expected).abs() / magnitude)
    return (torch.nan_to_num(error, nan=0.0).max().item() /
            result_tolerance(case))


def dropout_error(case, result):
    """Random numbers differ between libraries: only the share of elements
    that are kept is compared, with 6 standard deviations."""
    kept_frac = (result != 0).double().mean().item()
    p = case.scalars["p"]
    deviation = math.sqrt(p * (1 - p) / result.numel())
    return abs(kept_frac - (1 - p)) / (6 * deviation)


def largest_error(torch, case, results, expected):
    """Of all results of a case, in units of the tolerance: 1 is the most that
    is allowed."""
    if case.name == "dropout":
        return dropout_error(case, results[0])
    return max(result_error(torch, case, r, e)
               for r, e in zip(results, expected))
