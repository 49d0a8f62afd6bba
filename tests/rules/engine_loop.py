# SPDX-License-Identifier: Apache-2.0
"""Instructions of the inner loop of a kernel on AMD's matrix instructions,
counted in a binary: how much of the time that they need is the matrix engine's,
by the rates that AMD documents (vendor-notes AM-18, AM-19). Nothing here was
measured on a device.

engine_loop.py TARGET FILE.s...     prints a line for each assembly

Counted is the way around the innermost loop that has most engine instructions,
then most loads of 16 bytes, and is the shortest of those: a slice that lies
inside the matrix. `engine` are cycles of a SIMD
in which its engine works for one sub-group; `vector` cycles in which its vector
unit does, which on gfx9 other sub-groups' (or independent) engine instructions
overlap with, on gfx11 and gfx12 none; `fill` is engine / (engine + vector), as
if they never overlapped; `local` is the share of engine's cycles in which the
local memory of the compute unit serves all of its SIMDs.
"""
import collections
import re
import sys

# Cycles of an engine instruction, by the start of its name; of a vector
# instruction; SIMDs of a compute unit; bytes of local memory per cycle.
Rates = collections.namedtuple("Rates", "engine vector simds local lanes")
GFX90A = Rates({"v_mfma_f32_32x32x8": 64, "v_mfma_f32_32x32x8bf16": 64,
                "v_mfma_i32_32x32x8": 64}, 4, 4, 128, 64)
GFX942 = GFX90A._replace(engine={"v_mfma_f32_32x32x8": 32,
                                 "v_mfma_i32_32x32x16": 32})
GFX950 = GFX90A._replace(local=256, engine={"v_mfma_f32_32x32x16": 32,
                                            "v_mfma_i32_32x32x32": 32})
GFX11 = Rates({"v_wmma_": 32}, 1, 2, 128, 32)
GFX12 = Rates({"v_wmma_f32_16x16x16_f16": 16,
               "v_wmma_f32_16x16x16_bf16": 16,
               "v_wmma_f32_16x16x16_fp8": 8, "v_wmma_f32_16x16x16_bf8": 8,
               "v_wmma_i32": 8}, 1, 2, 128, 32)
RATES = {"gfx90a": GFX90A, "gfx942": GFX942, "gfx950": GFX950,
         "gfx1100": GFX11, "gfx1151": GFX11, "gfx1201": GFX12}

BYTES = {"b8": 1, "u8": 1, "u16": 2, "b16": 2, "b32": 4, "b64": 8, "b96": 12,
         "b128": 16}


def read_blocks(text):
    """The kernel's blocks: name -> (instructions, successors), in order."""
    kernel = re.search(r"\.amdhsa_kernel (\w+)", text).group(1)
    body = text[text.index(f"\n{kernel}:"):]
    body = body[:body.index("s_endpgm") + len("s_endpgm")]
    blocks, name, code = {}, "entry", []
    for line in body.split("\n")[2:] + ["end:"]:
        line = line.split(";")[0].strip()
        label = re.fullmatch(r"(\.?\w+):", line)
        if label:
            blocks[name] = code
            name, code = label.group(1), []
        elif line and line[0] != ".":
            code.append(line)
            if re.match(r"s_c?branch", line):
                blocks[name] = code
                name, code = f"{name}+", []
    graph = {}
    names = list(blocks)
    for i, name in enumerate(names):
        jumps = [re.split(r"\s+", c) for c in blocks[name]
                 if re.match(r"s_c?branch", c)]
        to = [j[1] for j in jumps]
        if i + 1 < len(names) and not any(j[0] == "s_branch" for j in jumps):
            to.append(names[i + 1])
        graph[name] = [t for t in to if t in blocks]
    return blocks, graph


def is_engine(instruction):
    return instruction.startswith(("v_mfma_", "v_wmma_", "dpas"))


def worth(code):
    """What is preferred of two ways."""
    return (sum(map(is_engine, code)),
            sum("_load_" in c and ("x4" in c or "b128" in c) for c in code),
            -len(code))


def find_way(blocks, graph):
    """Instructions of the way around the innermost loop."""
    order = {name: i for i, name in enumerate(blocks)}
    best = []
    for latch, successors in graph.items():
        for head in successors:
            if order[head] > order[latch]:
                continue
            ways = {head: blocks[head]}
            for name in list(blocks)[order[head]:order[latch]]:
                for to in graph[name] if name in ways else ():
                    way = ways[name] + blocks[to]
                    if order[to] > order[name] and (
                            to not in ways or worth(way) > worth(ways[to])):
                        ways[to] = way
            way = ways.get(latch, [])
            if worth(way) > worth(best):
                best = way
    return best


def count(target, text):
    """The figures of an assembly."""
    rates = RATES[target]
    found = collections.Counter()
    for line in find_way(*read_blocks(text)):
        word = line.split()[0]
        if is_engine(word):
            cycles = max((c for name, c in rates.engine.items()
                          if word.startswith(name)), default=None)
            if cycles is None:
                raise ValueError(f"{word}: no rate is known on {target}")
            found["engine instructions"] += 1
            found["engine"] += cycles
        elif word.startswith("ds_"):
            found["local reads" if "read" in word or "load" in word
                  else "local writes"] += 1
            size = next(b for name, b in sorted(BYTES.items(), reverse=True)
                        if f"_{name}" in word)
            n = 2 if re.search("(read|write|load|store)_?2", word) else 1
            found["local bytes"] += n * size * rates.lanes
        elif word.startswith(("global_", "buffer_", "flat_")):
            found["loads"] += 1
        elif word.startswith("s_wait"):
            found["waits"] += 1
        elif word.startswith("s_barrier"):
            found["barriers"] += 1
        elif word.startswith("v_"):
            found["vector instructions"] += 1
            found["vector"] += rates.vector
        else:
            found["scalar instructions"] += 1
    found["fill"] = found["engine"] / max(1, found["engine"] + found["vector"])
    found["local"] = found["local bytes"] * rates.simds / rates.local / max(
        1, found["engine"])
    return found


def describe(found):
    parts = [f"{found[name]} {name}" for name in
             ("engine instructions", "vector instructions", "local reads",
              "local writes", "loads", "waits", "barriers",
              "scalar instructions")]
    return (f"{', '.join(parts)}; engine {found['engine']} cycles, vector "
            f"{found['vector']}, fill {found['fill']:.3f}, local "
            f"{found['local']:.2f}")


if __name__ == "__main__":
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            print(f"{path}: {describe(count(sys.argv[1], file.read()))}")
