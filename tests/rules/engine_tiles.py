# SPDX-License-Identifier: Apache-2.0
"""Tiles of gemm_mma on AMD's matrix instructions (lib/targets/amd_matrix.c):
their rows, the options with which the kernel is built for them, and what the
offline compiler's figures mean for a compute unit. The formulas: vendor-notes
AM-18."""
import collections
import re

import engine_loop
import tile_sets

SOURCE = tile_sets.TARGETS / "amd_matrix.c"
LEAST_FILL = 0.85  # of the largest tile, in f16

# The list of a target, its fragments, and their rows.
TARGETS = {"gfx90a": ("mfma", "MFMA_32X32", 32),
           "gfx942": ("mfma", "MFMA_32X32", 32),
           "gfx950": ("mfma", "MFMA_32X32", 32),
           "gfx1100": ("wmma_gfx11", "WMMA_GFX11", 16),
           "gfx1151": ("wmma_gfx11", "WMMA_GFX11", 16),
           "gfx1201": ("wmma_gfx12", "WMMA_GFX12", 16)}

HAVE_F8 = ("gfx950", "gfx1201")

# kernel: the key of tile_sets.KERNELS.
Tile = collections.namedtuple(
    "Tile", "kernel tm tn bytes sm sn sk st registers")


def read_tiles(target):
    """The rows of a target's list; none where it has no engine."""
    if target not in TARGETS:
        return []
    text = SOURCE.read_text(encoding="utf-8")
    rows = re.search(rf"xl__mma_tile {TARGETS[target][0]}_tiles\[\] = "
                     r"\{(.*?)\n\};", text, flags=re.S).group(1)
    return [Tile("mma", *map(int, row.split(",")))
            for row in re.findall(r"^ *\{ *([1-9].*?)\},", rows, flags=re.M)]


def options(target, s):
    """Of each tile six builds: f16 as it is stored best, first; 16-bit floats
    with both operands across and tiles cut by k; f16 with A, with B, then with
    B^T gathered from images; i8 with an operand that is copied by elements; of
    those that have 8-bit floats, these."""
    def build(dtype, text):
        size = 1 if dtype in (5, 8) else 2
        return (f"-DXL_MMA_AMDGCN=1 -DMMA_FRAGMENTS_{TARGETS[target][1]}=1 "
                f"-DTM={s.tm} -DTN={s.tn} -DTK={s.bytes // size} -DSM={s.sm} "
                f"-DSN={s.sn} -DSK={s.sk} -DST={s.st} -DGR=8 -DSTEP=1 "
                f"-DTA={dtype} {text}")

    return [build(1, "-DUA=0 -DUB=0 -DVA=16 -DVB=16 -DVC=4 -DCUT=0 -DTC=1 "
                     "-DTY=0 -DBATCH=0"),
            build(2, "-DUA=1 -DUB=1 -DVA=16 -DVB=16 -DVC=4 -DCUT=1 -DTC=0 "
                     "-DTY=0 -DBATCH=1"),
            build(1, "-DUA=0 -DUB=0 -DVA=16 -DVB=16 -DVC=4 -DCUT=1 -DTC=1 "
                     "-DTY=0 -DBATCH=1 -DWINDOWS=1"),
            build(1, "-DUA=0 -DUB=0 -DVA=16 -DVB=16 -DVC=1 -DCUT=0 -DTC=1 "
                     "-DTY=0 -DBATCH=1 -DWINDOWS=2"),
            build(1, "-DUA=1 -DUB=1 -DVA=16 -DVB=16 -DVC=4 -DCUT=1 -DTC=1 "
                     "-DTY=0 -DBATCH=0 -DWINDOWS=3"),
            build(5, "-DUA=0 -DUB=1 -DVA=16 -DVB=0 -DVC=2 -DCUT=0 -DTC=4 "
                     "-DTY=4 -DBATCH=0"),
            *[build(8, "-DUA=0 -DUB=0 -DVA=16 -DVB=16 -DVC=4 -DCUT=1 -DTC=2 "
                       "-DTY=0 -DBATCH=0 -DTB=8")] * (target in HAVE_F8)]


def read(target, text):
    """The figures of an assembly, and its inner loop's."""
    loop = engine_loop.count(target, text)
    # Scalar registers that go to lanes of a vector register take no memory.
    spilled = sum(int(n) for n in re.findall(
        r"\.(?:vgpr_spill_count|private_segment_fixed_size): +(\d+)", text))
    return {**tile_sets.read_amd(text), "spilled": spilled,
            "fill": loop["fill"], "loop": engine_loop.describe(loop)}


def waves_of(s):
    return s.sm * s.sn * s.sk


def occupancy(unit, s, f):
    """Sub-groups of a SIMD, and what limits them."""
    each = -(-f["registers"] // unit.granule) * unit.granule
    limits = {"waves": unit.waves, "registers": unit.file // each,
              "local memory": unit.local // f["local"] * waves_of(s) /
              unit.simds}
    limit = min(limits, key=limits.get)
    return limits[limit], limit


def local_bytes(target, s):
    """What the library asks for: xl__mma_local_bytes()."""
    sums = s.sk * s.sm * TARGETS[target][2] * s.tn * 4
    return max(s.st * s.bytes * (s.tm + s.tn), sums)


def judge(target, s, i_build, f):
    """What is wrong with the figures of a build; empty if nothing is."""
    is_plain, is_16_bit = i_build == 0, i_build < 5
    unit = tile_sets.UNITS[target]
    if f["spilled"]:
        return f"{f['spilled']} bytes or registers are spilled"
    if is_16_bit and f["registers"] > s.registers:
        return f"{f['registers']} registers, the table has {s.registers}"
    if f["width"] != unit.width:
        return f"sub-groups of {f['width']}, not {unit.width}"
    if f["local"] != local_bytes(target, s):
        return f"{f['local']} bytes of local memory, planned are " \
            f"{local_bytes(target, s)}"
    if occupancy(unit, s, f)[0] < waves_of(s) / unit.simds:
        return "no group fits"
    if is_plain and s == read_tiles(target)[0] and f["fill"] < LEAST_FILL:
        return f"the engine fills {f['fill']:.3f} of the inner loop: {f['loop']}"
    return ""


def table(target, rows):
    """rows: (Tile, figures) of each build, the f16 one first. One line a tile,
    and one for its inner loop."""
    unit = tile_sets.UNITS[target]
    lines = [f"{target}: tile in bytes along k, sub-groups, slices; most "
             "registers, scalars, spilled, local memory, sub-groups of a SIMD; "
             "the inner loop in f16"]
    for s in dict(rows):
        builds = [f for of, f in rows if of == s]
        most = {k: max(f[k] for f in builds)
                for k in ("registers", "scalars", "spilled", "local")}
        waves, limit = occupancy(unit, s, most)
        lines.append(
            f"  {s.tm:3}x{s.tn:<3}x{s.bytes:<3} {s.sm}x{s.sn}x{s.sk} {s.st}  "
            f"{most['registers']:3} {most['scalars']:4} {most['spilled']:2} "
            f"{most['local']:6}  {waves:4.2f} ({limit})\n    "
            f"{builds[0]['loop']}")
    return "\n".join(lines)
