# SPDX-License-Identifier: Apache-2.0
"""One case of torch_expr.py on every library, with the same data, by the
variants of result files:

    expr_fused          crosslane: as few kernels as possible
    expr_unfused        crosslane: one kernel an operation
    peer_torch_eager    PyTorch's calls
    peer_torch_compile  the same through torch.compile"""
from .expr_errors import (counterpart_function, expected_results,
                          largest_error)
from .timing_rounds import TimedCalls
from .torch_setup import torch_dtype

FUSED, UNFUSED = "expr_fused", "expr_unfused"
EAGER, COMPILED = "peer_torch_eager", "peer_torch_compile"
CROSSLANE_VARIANTS = (FUSED, UNFUSED)
VARIANTS = (FUSED, UNFUSED, EAGER, COMPILED)


def random_input(torch, case, name):
    """Random values on the host, as they are in memory."""
    shape, limits = case.tensors[name], case.input_range(name)
    dtype = torch_dtype(torch, shape.dtype)
    if limits == "index":
        row = torch.arange(shape.size[-1], dtype=dtype)
        return row.expand(shape.size).contiguous()
    if shape.dtype == "bool":
        return torch.rand(shape.size) < 0.5
    if shape.dtype in ("i32", "i8", "u8"):
        low, high = limits or (0, 100)
        return torch.randint(int(low), int(high) + 1, shape.size, dtype=dtype)
    if limits:
        low, high = limits
        return (torch.rand(shape.size) * (high - low) + low).to(dtype)
    return torch.randn(shape.size).to(dtype)


class ExprComparison:
    """One case with its memory in both libraries."""

    def __init__(self, crosslane, torch, case):
        self.crosslane, self.torch, self.case = crosslane, torch, case
        self.host = {n: random_input(torch, case, n) for n in case.inputs}
        self.x = [self.host[n].cuda() for n in case.inputs]
        self.mems, self.args, self.expr = {}, {}, {}
        for name, shape in case.tensors.items():
            data = self.host[name].data_ptr() if name in self.host else None
            self.mems[name] = crosslane.create_buffer(shape.bytes, data)
        for variant in CROSSLANE_VARIANTS:
            self.args[variant] = case.args(self.mems, variant)
            self.expr[variant] = crosslane.compile_expr(case.text,
                                                        self.args[variant])

    def release(self):
        for expr in self.expr.values():
            self.crosslane.destroy_expr(expr)
        for mem in self.mems.values():
            self.crosslane.release_buffer(mem)
        self.x = None
        self.torch.cuda.empty_cache()

    def evaluate(self, variant):
        self.crosslane.run_expr(self.expr[variant], self.args[variant])

    def n_kernels(self):
        return {v: self.crosslane.n_kernels(self.expr[v], self.args[v])
                for v in CROSSLANE_VARIANTS}

    def crosslane_results(self, variant):
        """Computed once more: an output that is also an input is first
        written again, since earlier calls changed it."""
        case, crosslane = self.case, self.crosslane
        for name in case.outputs:
            if name in self.host:
                crosslane.write_buffer(self.mems[name],
                                       self.host[name].data_ptr(),
                                       case.tensors[name].bytes)
        self.evaluate(variant)
        results = []
        for name in case.outputs:
            shape = case.tensors[name]
            result = self.torch.empty(
                shape.size, dtype=torch_dtype(self.torch, shape.dtype))
            crosslane.read_buffer(self.mems[name], result.data_ptr(),
                                  shape.bytes)
            results.append(result.cuda())
        return results

    def libraries(self):
        """TimedCalls by variant. What torch.compile cannot compile is left
        out, with a line that states why."""
        torch, finish = self.torch, self.crosslane.finish
        eager = counterpart_function(torch, self.case)
        libraries = {v: TimedCalls.of_function(
            lambda variant=v: self.evaluate(variant), finish)
            for v in CROSSLANE_VARIANTS}
        libraries[EAGER] = TimedCalls.of_function(
            lambda: eager(*self.x), torch.cuda.synchronize)
        try:
            torch._dynamo.reset()
            compiled = torch.compile(eager, dynamic=False)
            for _ in range(2):
                compiled(*self.x)
            libraries[COMPILED] = TimedCalls.of_function(
                lambda: compiled(*self.x), torch.cuda.synchronize)
        except Exception as why:  # the compiler raises exceptions of any type
            print("  torch.compile: %s: %.100s" %
                  (type(why).__name__, str(why).split("\n")[0]))
        return libraries

    def errors(self, libraries):
        """The largest error by variant, in units of the tolerance."""
        expected = expected_results(self.case, self.x)
        errors = {}
        for name, calls in libraries.items():
            results = (self.crosslane_results(name)
                       if name in CROSSLANE_VARIANTS else calls.function())
            errors[name] = largest_error(self.torch, self.case, results,
                                         expected)
        return errors
