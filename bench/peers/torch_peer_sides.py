# SPDX-License-Identifier: Apache-2.0
"""One case on all sides, with the same data: ours on a queue (`ours`), two
products at once on two queues (`two`), without the epilogue (`plain`), by
CLBlast (`clblast`); PyTorch's call in a loop (`loop`), and replayed as a CUDA
graph (`graph`), which costs the host next to nothing."""
import sys

from torch_peer_judge import frobenius, is_studied, worst_of
from torch_peer_ours import Refused
from torch_peer_rounds import Side

TORCH = {"f32": "float32", "f16": "float16", "bf16": "bfloat16",
         "i8": "int8", "i32": "int32", "f8e4m3": "float8_e4m3fn",
         "f8e5m2": "float8_e5m2"}
GRAPH_S = 0.01
MOST_NODES = 4000


def load_torch():
    try:
        import torch
    except ImportError:
        sys.exit("torch_peer: this Python has no PyTorch; install it with "
                 "CUDA, or give --self-test to run our side alone")
    if not torch.cuda.is_available():
        sys.exit("torch_peer: PyTorch sees no CUDA device; --self-test runs "
                 "our side alone")
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    return torch


def draw(torch, shape, dtype):
    """Normal; of bytes, whole numbers of deviation 40."""
    x = torch.randn(shape, device="cuda")
    if dtype == "i8":
        x = (x * 40).round().clamp(-127, 127)
    return x.to(getattr(torch, TORCH[dtype]))


def call_of(torch, case, x, bias, out):
    """PyTorch's call for a case. The operands of bytes and 8-bit floats must
    lie as nt has them."""
    if case.op == "softmax":
        return lambda: torch.softmax(x[0], 1)
    a, b = case.sides(x)
    if case.batch:
        return lambda: torch.bmm(a, b, out=out)
    a, b, out = a[0], b[0], out[0]
    if case.dtype == "i8":
        return lambda: torch._int_mm(a, b, out=out)
    if case.dtype.startswith("f8"):
        one = torch.ones((), device="cuda")
        fast, dtype = case.accuracy == "fast", out.dtype
        return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one,
                                        out_dtype=dtype, use_fast_accum=fast)
    if case.epilogue:
        gelu = torch.nn.functional.gelu
        return lambda: gelu(torch.addmm(bias, a, b))
    return lambda: torch.mm(a, b, out=out)


def graph_side(torch, call, loop):
    """A graph of as many products as take a while, so that the start of one
    hides behind the one before."""
    each_s = loop.seconds(4) / 4
    n = max(1, min(MOST_NODES, int(GRAPH_S / each_s)))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(n):
            call()
    return Side(lambda times: [graph.replay() for _ in range(times)] and None,
                torch.cuda.synchronize, n)


class Duel:
    def __init__(self, ours, torch, case):
        self.ours, self.torch, self.case = ours, torch, case
        self.mems, self.absent = [], {}

    def prepare(self, seed, variant=None):
        torch, case, ours = self.torch, self.case, self.ours
        self.variant = variant
        is_fast = case.accuracy == "fast" and case.dtype == "f32"
        torch.backends.cuda.matmul.allow_tf32 = is_fast
        torch.manual_seed(seed)
        self.x = [draw(torch, shape, case.dtype) for shape in case.inputs]
        self.bias = (draw(torch, (case.n,), case.out) if case.epilogue
                     else None)
        dtype = getattr(torch, TORCH[case.out])
        self.out = torch.empty(case.result, dtype=dtype, device="cuda")
        self.back = torch.empty(case.result, dtype=dtype)
        self.bytes = self.back.numel() * self.back.element_size()
        for t in self.x:
            self.upload(t)
        self.mems.append(ours.buffer(self.bytes))
        if case.epilogue:
            self.upload(self.bias)
        self.op = case.ours(self.mems, variant)
        self.name = ours.chosen(self.op)
        self.call = call_of(torch, case, self.x, self.bias, self.out)

    def upload(self, tensor):
        host = tensor.cpu()
        self.mems.append(self.ours.buffer(
            host.numel() * host.element_size(), host.data_ptr()))

    def close(self):
        for mem in self.mems:
            self.ours.release(mem)
        self.mems = []

    def of_ours(self, *ops):
        return Side(lambda n: self.ours.calls(ops, n), self.ours.finish,
                    len(ops))

    def side(self, name):
        torch, mems = self.torch, self.mems
        if name == "ours":
            return self.of_ours(self.op)
        if name == "two":
            self.mems.append(self.ours.buffer(self.bytes))
            other = mems[:2] + mems[-1:] + mems[3:]
            return self.of_ours(self.op, self.case.ours(other, self.variant))
        if name == "plain":
            return self.of_ours(self.case.ours(mems, self.variant, True))
        if name == "clblast":
            op = self.case.ours(mems, "gemm_clblast")
            self.ours.chosen(op)
            return self.of_ours(op)
        loop = Side.of_call(self.call, torch.cuda.synchronize)
        loop.seconds(2)
        return loop if name == "loop" else graph_side(torch, self.call, loop)

    def sides(self, names):
        """Those that there are; `absent` says why others are not."""
        made = {}
        for name in names:
            try:
                made[name] = self.side(name)
            except (Refused, RuntimeError, TypeError) as why:
                self.absent[name] = str(why).split("\n")[0]
        return made

    def results(self):
        """Ours, as the last call of its side left it or anew, and theirs."""
        self.ours.calls([self.op], 1)
        self.ours.finish()
        self.ours.read(self.mems[len(self.x)], self.back.data_ptr(),
                       self.bytes)
        try:
            theirs = self.call().reshape(self.back.shape)
        except (RuntimeError, TypeError):
            theirs = None
        return [r for r in (self.back, theirs) if r is not None]

    def check(self):
        """Worst errors in tolerances, and errors by norm where they are
        studied."""
        got = self.results()
        worst = worst_of(self.torch, self.case, self.x, self.bias, got)
        norms = (frobenius(self.torch, self.case, self.x,
                           dict(zip(("ours", "theirs"), got)))
                 if is_studied(self.case) else None)
        return worst, norms
