# SPDX-License-Identifier: Apache-2.0
"""One case of torch_gemm.py on every library, with the same data:

    ours     crosslane on one queue
    two      two independent products on two queues
    plain    crosslane without the case's epilogue or score
    clblast  crosslane's call, computed by CLBlast
    loop     PyTorch's call in a loop
    graph    PyTorch's call recorded as a CUDA graph of many products and
             replayed, which costs the host next to nothing"""
from .crosslane_library import CallFailed
from .gemm_errors import has_norm_errors, largest_errors, norm_errors
from .timing_rounds import TimedCalls
from .torch_setup import torch_dtype

GRAPH_S = 0.01
MOST_GRAPH_NODES = 4000
# Their variants in result files.
PEER_VARIANTS = {"loop": "peer_torch", "graph": "peer_torch_graph",
                 "clblast": "gemm_clblast"}


def random_tensor(torch, shape, dtype):
    """Normal values; of bytes, integers of deviation 40."""
    x = torch.randn(shape, device="cuda")
    if dtype == "i8":
        x = (x * 40).round().clamp(-127, 127)
    return x.to(torch_dtype(torch, dtype))


def torch_function(torch, case, x, bias, out):
    """PyTorch's call for a case. It accepts bytes and 8-bit floats only as
    `nt`: B stored transposed."""
    if hasattr(case, "torch_function"):
        return case.torch_function(torch, x)
    if case.op != "gemm":
        return lambda: case.torch_result(torch, x)
    a, b = case.operands(x)
    if case.batch:
        return lambda: torch.bmm(a, b, out=out)
    a, b, out = a[0], b[0], out[0]
    if case.dtype == "i8":
        return lambda: torch._int_mm(a, b, out=out)
    if case.dtype.startswith("f8"):
        one = torch.ones((), device="cuda")
        is_fast, dtype = case.accuracy == "fast", out.dtype
        return lambda: torch._scaled_mm(
            a, b, scale_a=one, scale_b=one, out_dtype=dtype,
            use_fast_accum=is_fast)
    if case.epilogue:
        gelu = torch.nn.functional.gelu
        return lambda: gelu(torch.addmm(bias, a, b))
    return lambda: torch.mm(a, b, out=out)


def record_graph(torch, function, loop):
    """A CUDA graph of as many products as take GRAPH_S, so that the start of
    one graph overlaps the one before it. loop: TimedCalls of the function."""
    product_s = loop.seconds(4) / 4
    n = max(1, min(MOST_GRAPH_NODES, int(GRAPH_S / product_s)))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(n):
            function()

    def replay(n_replays):
        for _ in range(n_replays):
            graph.replay()
    return TimedCalls(replay, torch.cuda.synchronize, n)


class GemmComparison:
    """One case with its memory in both libraries."""

    def __init__(self, crosslane, torch, case):
        self.crosslane, self.torch, self.case = crosslane, torch, case
        self.mems, self.absent = [], {}

    def prepare(self, seed, variant=None):
        """Make the data; the library may refuse (CallFailed)."""
        torch, case, crosslane = self.torch, self.case, self.crosslane
        self.variant = variant
        is_fast = case.accuracy == "fast" and case.dtype == "f32"
        torch.backends.cuda.matmul.allow_tf32 = is_fast
        torch.backends.cudnn.allow_tf32 = is_fast
        torch.backends.cudnn.benchmark = True  # the fastest of its kernels
        torch.manual_seed(seed)
        self.x = [random_tensor(torch, shape, case.dtype)
                  for shape in case.inputs]
        self.bias = (random_tensor(torch, (case.n,), case.out)
                     if case.epilogue else None)
        dtype = torch_dtype(torch, case.out)
        self.out = torch.empty(case.result, dtype=dtype, device="cuda")
        self.host_result = torch.empty(case.result, dtype=dtype)
        self.result_bytes = (self.host_result.numel() *
                             self.host_result.element_size())
        for tensor in self.x:
            self.upload(tensor)
        self.mems.append(crosslane.create_buffer(self.result_bytes))
        if case.epilogue:
            self.upload(self.bias)
        if case.op == "attention_backward":
            self.mems += [crosslane.create_buffer(n) for n in case.more_bytes]
            crosslane.enqueue_calls([case.before(self.mems)], 1)
            crosslane.finish()
        self.op = case.descriptor(self.mems, variant)
        self.chosen = crosslane.chosen_variant(self.op)
        self.function = torch_function(torch, case, self.x, self.bias,
                                       self.out)

    def upload(self, tensor):
        host = tensor.cpu()
        self.mems.append(self.crosslane.create_buffer(
            host.numel() * host.element_size(), host.data_ptr()))

    def release(self):
        for mem in self.mems:
            self.crosslane.release_buffer(mem)
        self.mems = []

    def time_ops(self, *ops):
        return TimedCalls(lambda n: self.crosslane.enqueue_calls(ops, n),
                          self.crosslane.finish, len(ops))

    def timed_calls(self, name):
        torch, case, mems = self.torch, self.case, self.mems
        if name == "ours":
            return self.time_ops(self.op)
        if name == "two":
            self.mems.append(self.crosslane.create_buffer(self.result_bytes))
            other = mems[:2] + mems[-1:] + mems[3:]
            return self.time_ops(self.op,
                                 case.descriptor(other, self.variant))
        if name == "plain":
            return self.time_ops(case.descriptor(mems, self.variant, False))
        if name == "clblast":
            op = case.descriptor(mems, "gemm_clblast")
            self.crosslane.chosen_variant(op)
            return self.time_ops(op)
        loop = TimedCalls.of_function(self.function, torch.cuda.synchronize)
        loop.seconds(2)
        return (loop if name == "loop" else
                record_graph(torch, self.function, loop))

    def libraries(self, names):
        """TimedCalls by name; `absent` has the reasons why others are not
        among them."""
        libraries = {}
        for name in names:
            try:
                libraries[name] = self.timed_calls(name)
            except (CallFailed, RuntimeError, TypeError) as why:
                self.absent[name] = str(why).split("\n")[0]
        return libraries

    def results(self):
        """crosslane's result, computed once more, then PyTorch's."""
        self.crosslane.enqueue_calls([self.op], 1)
        self.crosslane.finish()
        self.crosslane.read_buffer(self.mems[len(self.x)],
                                   self.host_result.data_ptr(),
                                   self.result_bytes)
        try:
            peer = self.function().reshape(self.host_result.shape)
        except (RuntimeError, TypeError):
            return [self.host_result]
        return [self.host_result, peer]

    def errors(self):
        """The largest error of each result in units of its tolerance, and
        errors by norm or None."""
        results = self.results()
        largest = largest_errors(self.torch, self.case, self.x, self.bias,
                                 results)
        norms = (norm_errors(self.torch, self.case, self.x,
                             dict(zip(("ours", "theirs"), results)))
                 if has_norm_errors(self.case) else None)
        return largest, norms
