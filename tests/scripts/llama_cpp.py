# SPDX-License-Identifier: Apache-2.0
"""Compares `clbench model --gguf FILE --ids` with llama.cpp: small models of
random weights, written by ggml's own writer, in each architecture and format.
Both choose 32 ids behind the same prompt, each the most likely one, and these
must be equal.

llama.cpp rounds the vectors that it multiplies with quantised weights to 8
bits, so its logits are not exact. Of some prompts, the one is used behind which
its two largest logits are farthest apart in all places. Where they are nearer
than MARGIN, both ids are right; the comparison then goes on behind llama.cpp's.

Needs PyPI's gguf (with numpy) and xllamacpp (llama.cpp, compiled for CPUs).

    llama_cpp.py CLBENCH FOLDER [MODEL...]
"""
import json
import math
import pathlib
import subprocess
import sys

try:
    import gguf
    import numpy
    import xllamacpp
except ImportError as missing:
    print(f"SKIPPED: {missing}; PyPI's gguf, numpy and xllamacpp are needed")
    sys.exit(0)

IDS, PROMPT, PROMPTS, MARGIN, DIFFERENT = 32, 7, 40, 0.05, 6
VOCAB, HIDDEN, HEADS, KV_HEADS, INNER, LAYERS = 384, 256, 4, 2, 512, 2
D_HEAD = HIDDEN // HEADS

# Bytes of a block of 32 or 256 weights, and where its f16 scales are, with
# what makes the weights about as large as 1 / sqrt(HIDDEN).
BLOCKS = {"q4_0": (32, 18, {0: 0.0135}), "q4_1": (32, 20, {0: 0.0135, 2: -0.1}),
          "q5_0": (32, 22, {0: 0.0068}), "q8_0": (32, 34, {0: 0.00085}),
          "q4_k": (256, 144, {0: 0.00022, 2: 0.00165}),
          "q6_k": (256, 210, {208: 0.000046}), "iq4_nl": (32, 18, {0: 0.0009}),
          "mxfp4": (32, 17, {})}


def matrix(random, kind, rows, cols, factor):
    """Random bytes are weights in any of the formats."""
    if kind in ("f32", "f16"):
        return (random.standard_normal((rows, cols)) *
                factor / math.sqrt(HIDDEN)
                ).astype("float32" if kind == "f32" else "float16")
    block, size, scales = BLOCKS[kind]
    data = random.integers(0, 256, (rows, cols // block, size), "uint8")
    spread = factor * (1 + random.random((*data.shape[:2], 1)) / 4)
    for at, scale in scales.items():
        data[:, :, at:at + 2] = (scale * spread).astype("float16").view("uint8")
    if kind == "mxfp4":
        data[:, :, 0] = 127 - 6 + int(math.log2(factor))  # an exponent
    return data.reshape(rows, -1)


class Writer:
    def __init__(self, path, arch, kinds):
        self.out = gguf.GGUFWriter(path, arch)
        self.random = numpy.random.default_rng(0)
        self.kinds = kinds

    def weight(self, name, rows, cols, factor=1):
        kind = self.kinds.get(name.split(".")[-1], self.kinds["default"])
        data = matrix(self.random, kind, rows, cols, factor)
        quantised = gguf.GGMLQuantizationType[kind.upper()] \
            if kind in BLOCKS else None
        self.out.add_tensor(name + ".weight", data, raw_dtype=quantised)

    def vector(self, name, n, center):
        data = center + self.random.standard_normal(n) / 8
        self.out.add_tensor(name, data.astype("float32"))

    def vocabulary(self):
        # Plain texts: llama.cpp's answer has no place for a part of a letter.
        tokens = ["<unk>", "<s>", "</s>"] + [f"t{i}" for i in range(3, VOCAB)]
        self.out.add_tokenizer_model("llama")
        self.out.add_token_list(tokens)
        self.out.add_token_scores([0.0] * VOCAB)
        self.out.add_token_types([2, 3, 3] + [1] * (VOCAB - 3))

    def finish(self):
        self.out.write_header_to_file()
        self.out.write_kv_data_to_file()
        self.out.write_tensors_to_file()
        self.out.close()


def write(path, arch, kinds, options):
    w = Writer(path, arch, kinds)
    gpt2, gemma2 = arch == "gpt2", arch in ("gemma2", "gemma3")
    kv_heads = HEADS if gpt2 else KV_HEADS
    keys = kv_heads * D_HEAD
    w.out.add_context_length(128)
    w.out.add_embedding_length(HIDDEN)
    layers = 6 if arch == "gemma3" else LAYERS  # of which the last sees all
    w.out.add_block_count(layers)
    w.out.add_feed_forward_length(INNER)
    w.out.add_head_count(HEADS)
    w.out.add_head_count_kv(kv_heads)
    if gpt2:
        w.out.add_layer_norm_eps(1e-5)
    else:
        w.out.add_layer_norm_rms_eps(1e-5)
        w.out.add_key_length(D_HEAD)
        w.out.add_value_length(D_HEAD)
        w.out.add_rope_dimension_count(D_HEAD)
        w.out.add_rope_freq_base(5000.0)
    if "linear" in options:
        w.out.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        w.out.add_rope_scaling_factor(4.0)
    if "divisors" in options:
        w.out.add_tensor("rope_freqs.weight", numpy.linspace(
            1, 8, D_HEAD // 2).astype("float32"))
    if gemma2:
        w.out.add_sliding_window(16)
    if arch == "gemma2":
        w.out.add_attn_logit_softcapping(5.0)
        w.out.add_final_logit_softcapping(30.0)
    if arch == "phi3":
        w.out.add_rope_scaling_orig_ctx_len(128)
    w.vocabulary()
    # as large as what a layer adds, so that ids differ from place to place
    w.weight("token_embd", VOCAB, HIDDEN, 16 if "tied" not in options else
             1 / 4 if "gemma" in arch else 1)
    if gpt2:
        w.weight("position_embd", 128, HIDDEN)
    if "tied" not in options:
        w.weight("output", VOCAB, HIDDEN)
    w.vector("output_norm.weight", HIDDEN, 1)
    if gpt2:
        w.vector("output_norm.bias", HIDDEN, 0)
    for layer in range(layers):
        b = f"blk.{layer}."
        for norm in ("attn_norm", "ffn_norm") + (
                ("post_attention_norm", "post_ffw_norm") if gemma2 else ()):
            w.vector(b + norm + ".weight", HIDDEN, 1)
        if arch in ("gpt2", "phi3"):
            w.weight(b + "attn_qkv", HIDDEN + 2 * keys, HIDDEN)
        else:
            for name, rows in (("q", HIDDEN), ("k", keys), ("v", keys)):
                w.weight(b + "attn_" + name, rows, HIDDEN)
                if arch == "qwen2":
                    w.vector(b + f"attn_{name}.bias", rows, 0)
        if arch in ("qwen3", "gemma3"):
            w.vector(b + "attn_q_norm.weight", D_HEAD, 1)
            w.vector(b + "attn_k_norm.weight", D_HEAD, 1)
        w.weight(b + "attn_output", HIDDEN, HIDDEN)
        w.weight(b + "ffn_up", 2 * INNER if arch == "phi3" else INNER, HIDDEN)
        if arch not in ("gpt2", "phi3"):
            w.weight(b + "ffn_gate", INNER, HIDDEN)
        w.weight(b + "ffn_down", HIDDEN, INNER)
        if gpt2:
            for name, n in (("attn_norm", HIDDEN), ("ffn_norm", HIDDEN),
                            ("attn_qkv", 3 * HIDDEN), ("attn_output", HIDDEN),
                            ("ffn_up", INNER), ("ffn_down", HIDDEN)):
                w.vector(b + name + ".bias", n, 0)
    w.finish()


def ask_llama_cpp(path, random):
    """A prompt, the ids behind it, and by how much the two largest logits
    differ in each place."""
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = 128
    params.verbosity = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    params.flash_attn_type = \
        xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    server = xllamacpp.Server(params)
    best = None
    for _ in range(PROMPTS):
        prompt = [int(i) for i in random.integers(3, VOCAB, PROMPT)]
        answer = server.handle_completions({
            "prompt": prompt, "max_tokens": IDS, "temperature": -1,
            "logprobs": 2, "cache_prompt": False})
        places = answer["choices"][0]["logprobs"]["content"]
        ids = [place["id"] for place in places]
        gaps = [place["top_logprobs"][0]["logprob"] -
                place["top_logprobs"][1]["logprob"] for place in places]
        rank = len(ids), min(len(set(ids)), DIFFERENT), min(gaps, default=0)
        if not best or rank > best[0]:
            best = rank, prompt, ids, gaps
    return best[1:]


def ask_clbench(clbench, path, prompt, tokens):
    out = path.with_suffix(".json")
    run = subprocess.run(
        [clbench, "model", "--gguf", path, "--dtype", "f32", "--ids",
         ",".join(map(str, prompt)), "--tokens", str(tokens), "--json", out],
        capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise SystemExit(f"FAILED: {path}: {run.stderr}{run.stdout}")
    return json.loads(out.read_text())["generated"][0]["ids"]


def compare(clbench, path, prompt, expected, gaps):
    """The number of places where both ids are right; None: one is wrong."""
    near = at = 0
    while at < len(expected):
        got = ask_clbench(clbench, path, prompt + expected[:at],
                          len(expected) - at)
        while at < len(expected) and got[at - len(expected)] == expected[at]:
            at += 1
        if at < len(expected):
            if gaps[at] >= MARGIN:
                print(f"place {at}: {got[at - len(expected)]}, llama.cpp "
                      f"{expected[at]} by {gaps[at]:.3f}, behind {prompt}, "
                      f"{expected}")
                return None
            near, at = near + 1, at + 1
    return near


def plain(kind):
    return {"default": kind}


MODELS = {
    **{f"llama {kind}": ("llama", plain(kind), ())
       for kind in ("f32", "f16", *BLOCKS)},
    "llama q4_k_m, tied": ("llama", {
        "default": "q4_k", "attn_v": "q6_k", "ffn_down": "q6_k",
        "token_embd": "q6_k"}, ("tied",)),
    "llama divisors": ("llama", plain("f16"), ("divisors",)),
    "llama linear": ("llama", plain("q8_0"), ("linear",)),
    **{arch: (arch, plain("q8_0"), ("tied",) if "gemma" in arch else ())
       for arch in ("qwen2", "qwen3", "gemma", "gemma2", "gemma3", "phi3",
                    "gpt2")},
}


def main():
    clbench, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    failures = 0
    for name, (arch, kinds, options) in MODELS.items():
        if len(sys.argv) > 3 and name not in sys.argv[3:]:
            continue
        path = folder / (name.replace(" ", "_").replace(",", "") + ".gguf")
        write(path, arch, kinds, options)
        prompt, ids, gaps = ask_llama_cpp(path, numpy.random.default_rng(1))
        near = compare(clbench, path, prompt, ids, gaps)
        if near is None or len(ids) < IDS:
            print(f"FAILED: {name}: {len(ids)} ids of llama.cpp")
            failures += 1
            continue
        print(f"{name}: equal, {len(set(ids))} different ids, margin "
              f"{min(gaps):.3f}, {near} places within {MARGIN}", flush=True)
    sys.exit(1 if failures else 0)


main()
