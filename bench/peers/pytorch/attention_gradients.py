# SPDX-License-Identifier: Apache-2.0
"""What torch_gemm.py times of attention's gradients (`--backward`)."""
import ctypes as ct

from .attention_cases import AttentionCase
from .crosslane_library import BYTES, DTYPES, Heads, Mem

O, LSE, GRAD_K, GRAD_V = range(4)  # of what follows grad_q


class AttentionGradientCase(AttentionCase):
    """Gradients of q, k and v of an AttentionCase, of which grad_q is
    compared. `before` has the call that makes o and lse."""
    op = "attention_backward"

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.inputs = self.inputs + [self.result]  # q, k, v, grad_o
        self.params["backward"] = 1
        self.flop = self.amount = self.flop * 10 // 4
        rows = self.batch * self.heads * self.n_q
        keys = self.batch * self.kv_heads * self.n_kv * self.d
        self.bytes = BYTES[self.dtype] * 4 * (rows * self.d + keys) + 4 * rows
        self.more_bytes = [BYTES[self.dtype] * rows * self.d, 4 * rows] + \
            [BYTES[self.dtype] * keys] * 2

    def label(self):
        return super().label() + " backward"

    def before(self, mems):
        """The call of attention; mems: inputs, grad_q, more_bytes."""
        op = super().descriptor(mems[:4] + [mems[5 + O]])
        op.lse = self.view(mems[5 + LSE], "f32")
        return op

    @staticmethod
    def view(mem, dtype):
        return ct.pointer(Heads(mem=Mem(mem, None), dtype=DTYPES[dtype]))

    def descriptor(self, mems, variant=None, has_epilogue=True):
        op = self.before(mems)
        op.is_backward = True
        op.variant = variant.encode() if variant else None
        for name, mem in (("grad_o", mems[3]), ("grad_q", mems[4]),
                          ("grad_k", mems[5 + GRAD_K]),
                          ("grad_v", mems[5 + GRAD_V])):
            setattr(op, name, self.view(mem, self.dtype))
        return op

    def torch_function(self, torch, x):
        """PyTorch's call: gradients of one forward pass, which is kept."""
        inputs = [t.detach().clone().requires_grad_() for t in x[:3]]
        out = self.torch_result(torch, inputs)
        return lambda: torch.autograd.grad(out, inputs, x[3],
                                           retain_graph=True)[0]

    def expected(self, torch, x):
        """grad_q of the first sequence's first head in double, and the most
        that an element may be off: attention.h, Accuracy, and an o that is
        rounded twice."""
        q, k, v, g = (t[0, 0].double() for t in x)
        u, scale = 2.0**-24, self.d**-0.5
        w = {"f32": 0, "f16": 2.0**-11, "bf16": 2.0**-8}[self.dtype]
        z = 2.0**-25 if self.dtype == "f16" else 2.0**-126
        scores = scale * q @ k.T
        if self.causal:
            i = torch.arange(self.n_q, device=q.device)[:, None]
            j = torch.arange(self.n_kv, device=q.device)[None, :]
            scores = scores.masked_fill(j > i + self.n_kv - self.n_q,
                                        float("-inf"))
        p = torch.softmax(scores, 1).nan_to_num(0)
        o = p @ v
        s = p * (g @ v.T - (g * o).sum(1, keepdim=True))
        m = g.abs() @ v.abs().T + (g.abs() * o.abs()).sum(1, keepdim=True)
        seen = torch.where(p > 0, scores, 0).abs()
        d = u * ((self.d + 4) * scale * q.abs() @ k.abs().T + 4 * seen)
        y = torch.where(p > 0, p.log().abs(), 0)
        f = torch.expm1(2 * d + (y + self.d + 64) * u)
        relative = f + (self.n_kv + 4) * u + 3 * w
        bound = scale * ((p * m * relative) @ k.abs() +
                         (z * (1 + m)) @ (1 + k.abs()))
        expected = scale * s @ k
        return expected, bound + (expected.abs() + bound) * w + 2.0**-25
