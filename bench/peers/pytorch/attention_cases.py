# SPDX-License-Identifier: Apache-2.0
"""What torch_gemm.py times of attention: one shape, as `clbench attention`
writes it."""
from .crosslane_library import (ACCURACY, BYTES, DTYPES, Attention, Binding,
                                Epilogue, Heads, Mem, bind_vector)

CAP = 20
# A user's score: crosslane's text, and PyTorch's of a score, head and key, with
# the vectors `slope`, of a head each, and `at`, of a key each.
SCORES = {
    "cap": ("%d * tanh(x / %d)" % (CAP, CAP),
            lambda torch, x, *_: CAP * torch.tanh(x / CAP)),
    "alibi": ("x + slope * at",
              lambda torch, x, h, j, slope, at: x + slope[h] * at[j])}

# What products of f32 on a matrix engine lose, of a column of d and of a block
# of keys besides: attention.h, Accuracy.
LOSSES = {"full": (0, 0, 0), "split": (5 * 2.0**-22, 2.0**-23, 2.0**-16),
          "fast": (2.0**-9, 2.0**-23, 2.0**-16)}


class AttentionCase:
    """softmax(Q K^T / sqrt(d)) V of `batch` sequences with `heads` heads, n_q
    queries and n_kv keys each. Attributes: see result_rows.py and ConvCase."""
    op, unit = "attention", "flop/s"
    epilogue = None

    def __init__(self, sizes, dtype, causal=False, kv_heads=None, score=None,
                 title=None, accuracy="full"):
        self.batch, self.heads, self.n_q, self.n_kv, self.d = sizes
        self.kv_heads, self.score = kv_heads or self.heads, score
        self.dtype = self.out = dtype
        self.causal, self.title = causal, title
        self.accuracy = accuracy
        self.shape = {"batch": self.batch, "heads": self.heads,
                      "n_q": self.n_q, "n_kv": self.n_kv, "d": self.d}
        self.params = {"kv_heads": self.kv_heads, "causal": int(causal)}
        if self.accuracy != "full":
            self.params["accuracy"] = self.accuracy
        self.inputs = [(self.batch, self.heads, self.n_q, self.d)] + 2 * [
            (self.batch, self.kv_heads, self.n_kv, self.d)]
        self.result = self.inputs[0]
        if score:
            self.params["score"] = score
        if score == "alibi":
            self.inputs += [(self.heads,), (self.n_kv,)]
        # Query i sees the keys up to i + n_kv - n_q.
        before = max(0, self.n_q - self.n_kv)
        seen = (sum(i + 1 + self.n_kv - self.n_q
                    for i in range(before, self.n_q)) if causal else
                self.n_q * self.n_kv)
        self.flop = 4 * self.batch * self.heads * seen * self.d
        self.bytes = BYTES[dtype] * 2 * self.d * self.batch * (
            self.heads * self.n_q + self.kv_heads * self.n_kv)
        self.amount = self.flop

    def label(self):
        return "%s%s %s%s%s%s" % (
            self.dtype,
            "" if self.accuracy == "full" else " " + self.accuracy,
            "x".join(str(v) for v in self.shape.values()),
            "" if self.kv_heads == self.heads else " kv%d" % self.kv_heads,
            " causal" if self.causal else "",
            " " + self.score if self.score else "")

    def descriptor(self, mems, variant=None, has_epilogue=True):
        """crosslane's descriptor. mems: inputs, o."""
        views = [Heads(mem=Mem(mem, None), dtype=DTYPES[self.dtype])
                 for mem in mems[:3] + [mems[len(self.inputs)]]]
        prologue = Epilogue()
        if self.score and has_epilogue:
            prologue = Epilogue(SCORES[self.score][0].encode())
        if prologue.expr and self.score == "alibi":
            prologue.n_bindings = 2
            prologue.bindings = (Binding * 2)(
                bind_vector("slope", mems[3], self.heads, self.dtype, 3),
                bind_vector("at", mems[4], self.n_kv, self.dtype))
        return Attention(
            n_batch=self.batch, n_heads=self.heads, n_kv_heads=self.kv_heads,
            n_q=self.n_q, n_kv=self.n_kv, d_head=self.d, q=views[0],
            k=views[1], v=views[2], o=views[3], is_causal=self.causal,
            variant=variant.encode() if variant else None,
            prologue=prologue, accuracy=ACCURACY[self.accuracy])

    def torch_function(self, torch, x):
        """PyTorch's call: of a user's score flex_attention, compiled."""
        if not self.score:
            return lambda: self.torch_result(torch, x)
        from torch.nn.attention import flex_attention as flex
        call = torch.compile(flex.flex_attention, dynamic=False)
        text, vectors = SCORES[self.score][1], x[3:]
        mask = flex.create_block_mask(
            lambda b, h, i, j: j <= i + self.n_kv - self.n_q, None, None,
            self.n_q, self.n_kv) if self.causal else None
        return lambda: call(
            *x[:3], block_mask=mask,
            score_mod=lambda y, b, h, i, j: text(torch, y, h, j, *vectors),
            enable_gqa=self.kv_heads != self.heads)

    def torch_result(self, torch, x):
        """PyTorch's result, by cuDNN where it has a kernel for the type."""
        from torch.nn.attention import SDPBackend, sdpa_kernel
        with sdpa_kernel([SDPBackend.CUDNN_ATTENTION,
                          SDPBackend.EFFICIENT_ATTENTION,
                          SDPBackend.MATH], set_priority=True):
            return torch.nn.functional.scaled_dot_product_attention(
                *x, is_causal=self.causal,
                enable_gqa=self.kv_heads != self.heads)

    def expected(self, torch, x):
        """The first sequence's first head in double, and the most that an
        element may be off: attention.h, xl_attention_run(), Accuracy."""
        q, k, v = (t[0, 0].double() for t in x[:3])
        u, scale = 2.0**-24, self.d**-0.5
        scores = scale * q @ k.T
        of_score = 0
        if self.score == "cap":
            of_score = 16 * CAP
            scores = CAP * torch.tanh(scores / CAP)
        elif self.score == "alibi":
            added = x[3][0].double() * x[4].double()
            of_score = 4 * added.abs()
            scores = scores + added
        if self.causal:
            i = torch.arange(self.n_q, device=q.device)[:, None]
            j = torch.arange(self.n_kv, device=q.device)[None, :]
            scores = scores.masked_fill(j > i + self.n_kv - self.n_q,
                                        float("-inf"))
        p = torch.softmax(scores, 1)
        seen = torch.where(p > 0, scores, 0)
        product, column, block = LOSSES[self.accuracy]
        d = (((self.d + 4) * u + product + self.d * column) * scale *
             q.abs() @ k.abs().T + u * of_score +
             4 * u * seen.abs()).max(1, keepdim=True).values
        spread = (2 * seen.abs().max(1, keepdim=True).values).clamp(max=104)
        w = 0 if self.dtype == "f32" else {"f16": 2.0**-11,
                                           "bf16": 2.0**-8}[self.dtype]
        bound = (torch.expm1(2 * d) + (2 * spread + 2 * self.n_kv + 64) * u +
                 w + product + block) * (p @ v.abs())
        expected = p @ v
        return expected, bound + (expected.abs() + bound) * w + 2.0**-25


def parse_attention(text):
    """"BATCHxHEADSxNxD", or with queries and keys apart, as five sizes; None:
    something else."""
    sizes = text.split("x")
    if len(sizes) not in (4, 5) or not all(s.isdigit() for s in sizes):
        return None
    sizes = [int(s) for s in sizes]
    return sizes if len(sizes) == 5 else sizes[:3] + sizes[2:]
