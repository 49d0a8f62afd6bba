#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`clbench model` beside PyTorch on one GPU: the forward pass of a model of the
Llama family with weights of f16, as it is usually written in PyTorch, recorded
as CUDA graphs. Products are cuBLAS's, attention is cuDNN's or FlashAttention's
by `scaled_dot_product_attention`. Rounds alternate; the ratio is crosslane's
tokens a second over PyTorch's, above 1 crosslane is faster."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from pytorch.torch_setup import load_torch

MODELS = pathlib.Path(__file__).parents[1] / "planner" / "models.json"
BACKENDS = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"}
EPS = 1e-5


class Model:
    """Random weights, and a cache that is full up to `context`."""

    def __init__(self, torch, config, context):
        self.torch, self.context = torch, context
        self.heads = config["num_attention_heads"]
        self.kv_heads = config["num_key_value_heads"]
        self.d = config["head_dim"]
        hidden, inner = config["hidden_size"], config["intermediate_size"]
        q, kv = self.heads * self.d, self.kv_heads * self.d
        self.sizes = (q, kv, kv)
        cache = (1, self.kv_heads, context, self.d)
        self.layers = [{
            "qkv": self.matrix(q + 2 * kv, hidden),
            "out": self.matrix(hidden, q),
            "gate_up": self.matrix(2 * inner, hidden),
            "down": self.matrix(hidden, inner),
            "k": self.random(cache), "v": self.random(cache),
            "norms": (self.random(hidden), self.random(hidden)),
        } for _ in range(config["num_hidden_layers"])]
        self.norm = self.random(hidden)
        self.head = self.matrix(config["vocab_size"], hidden)
        self.embedding = self.matrix(config["vocab_size"], hidden)
        rate = config["rope_theta"]**(
            -torch.arange(0, self.d, 2, device="cuda").float() / self.d)
        angle = torch.arange(context, device="cuda").float()[:, None] * rate
        self.cos, self.sin = (torch.cat([x, x], 1).half()
                              for x in (angle.cos(), angle.sin()))

    def random(self, *shape):
        return self.torch.randn(*shape, device="cuda").half()

    def matrix(self, rows, cols):
        return self.random(rows, cols) * cols**-0.5

    def rotate(self, x, places):
        a, b = x.chunk(2, -1)
        return (x * self.cos[places] +
                self.torch.cat((-b, a), -1) * self.sin[places])

    def normed(self, x, gain):
        return self.torch.nn.functional.rms_norm(x, gain.shape, gain, EPS)

    def attend(self, q, k, v, layer):
        """Of one query all keys of the cache, of many their own."""
        attention = self.torch.nn.functional.scaled_dot_product_attention
        if q.shape[2] == 1:
            return attention(q, layer["k"], layer["v"], enable_gqa=True)
        return attention(q, k, v, is_causal=True, enable_gqa=True)

    def forward(self, ids, places):
        torch, n = self.torch, len(ids)
        x = self.embedding[ids]
        for layer in self.layers:
            of_all = self.normed(x, layer["norms"][0]) @ layer["qkv"].T
            q, k, v = (y.view(n, -1, self.d).transpose(0, 1)[None]
                       for y in of_all.split(self.sizes, 1))
            q, k = self.rotate(q, places), self.rotate(k, places)
            layer["k"].index_copy_(2, places, k)
            layer["v"].index_copy_(2, places, v)
            o = self.attend(q, k, v, layer)[0].transpose(0, 1).reshape(n, -1)
            x = torch.addmm(x, o, layer["out"].T)
            gate, up = (self.normed(x, layer["norms"][1]) @
                        layer["gate_up"].T).chunk(2, 1)
            x = torch.addmm(x, torch.nn.functional.silu(gate) * up,
                            layer["down"].T)
        return (self.normed(x[-1:], self.norm) @ self.head.T).argmax(-1)

    def record(self, n, backend):
        """The graph of the last n tokens of the context, or of a prompt of n,
        with what it reads."""
        from torch.nn.attention import SDPBackend, sdpa_kernel
        torch = self.torch
        ids = torch.zeros(n, dtype=torch.long, device="cuda")
        places = torch.arange(n, device="cuda")
        if n == 1:
            places += self.context - 1
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.no_grad(), sdpa_kernel(getattr(SDPBackend,
                                                  BACKENDS[backend])):
            with torch.cuda.stream(stream):
                self.forward(ids, places)
            torch.cuda.synchronize()
            with torch.cuda.graph(graph):
                self.forward(ids, places)
        return graph, ids, places


def seconds_of(torch, graph, least_s=0.3):
    """Of one replay, by the wall clock; several are begun together."""
    n, total = 1, 0
    while total < least_s:
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(n):
            graph.replay()
        torch.cuda.synchronize()
        total, count, n = time.perf_counter() - start, n, 2 * n
    return total / count


def clbench_rates(args, prompt):
    """Tokens a second of the prompt and of decoding."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.json"
        subprocess.run(
            [args.clbench, "model", args.model, "--device", args.device,
             "--weights", "f16", "--context", str(args.context), "--prompt",
             str(prompt), "--quiet", "--json", path], check=True,
            stdout=subprocess.DEVNULL)
        rows = json.loads(path.read_text())["rows"]
    rates = {row["op"]: row["value"] for row in rows
             if row["unit"] == "token/s"}
    return rates["model_prompt"], rates["model_decode"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("model", nargs="?", default="llama-3.1-8b",
        help="of the Llama family, as `clbench plan --list` names it")
    add("--clbench", default="build/clbench")
    add("--device", default="0", help="clbench's device")
    add("--context", type=int, default=4096)
    add("--prompt", type=int, action="append", help="tokens; repeatable")
    add("--rounds", type=int, default=3)
    args = parser.parse_args()
    config = json.loads(MODELS.read_text()).get(args.model)
    if not config or config["model_type"] != "llama":
        sys.exit("invalid value '%s' for model: must be one of the Llama "
                 "family in %s" % (args.model, MODELS))
    torch = load_torch()
    model = Model(torch, config, args.context)
    prompts = args.prompt or [512, args.context]
    graphs = {}
    for what in [1] + prompts:
        for backend in BACKENDS:
            try:
                graphs[what, backend] = model.record(what, backend)
            except RuntimeError as why:
                print("no %s for %d tokens: %.100s" % (backend, what, why))
    theirs, ours = {key: [] for key in graphs}, {n: [] for n in [1] + prompts}
    for _ in range(args.rounds):
        for key, recorded in graphs.items():
            theirs[key].append(key[0] / seconds_of(torch, recorded[0]))
        for n in prompts:
            prompt, decode = clbench_rates(args, n)
            ours[n].append(prompt)
            ours[1].append(decode)
    print("%-16s%-8s%12s%12s  ratio (min..max)" %
          (args.model, "peer", "crosslane", "PyTorch"))
    for (n, backend), rates in theirs.items():
        mine = ours[n]
        ratios = sorted(a / b for a, b in zip(mine, rates))
        print("%-16s%-8s%12.0f%12.0f  %.3f (%.3f..%.3f)" %
              ("decode" if n == 1 else "prompt %d" % n, backend,
               statistics.median(mine), statistics.median(rates),
               statistics.median(ratios), ratios[0], ratios[-1]))


if __name__ == "__main__":
    main()
