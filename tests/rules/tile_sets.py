# SPDX-License-Identifier: Apache-2.0
"""Tile sets of vendor tables: their rows, the options with which kernels are
built for them, and what the offline compilers' figures mean for a compute
unit. The formulas: vendor-notes AM-15, IN-10."""
import collections
import pathlib
import re
import struct

TARGETS = pathlib.Path(__file__).resolve().parents[2] / "lib" / "targets"

# What a work-group runs on. `file`: registers of a lane on a SIMD, given out
# by `granule`; `waves` of a SIMD at most; FMAs of an `issue` slot of a lane;
# `lanes` that issue in a clock, banks and bytes of local memory of a unit;
# whether tiles may be `cut` by k.
Unit = collections.namedtuple(
    "Unit", "sets width file granule waves simds issue lanes banks local cut")
KIB = 1024
CDNA = Unit("cdna", 64, 512, 8, 8, 4, 2, 64, 32, 64 * KIB, 1)
RDNA2 = Unit("rdna2", 32, 1024, 8, 16, 2, 1, 64, 32, 64 * KIB, 1)
RDNA3 = Unit("rdna3", 32, 1536, 24, 16, 2, 2, 64, 32, 64 * KIB, 1)
XE_HPG = Unit("narrow", 8, 1024, 128, 8, 16, 1, 128, 32, 64 * KIB, 0)
XE_HPC = Unit("wide", 16, 1024, 128, 8, 8, 1, 128, 32, 128 * KIB, 0)
UNITS = {"gfx90a": CDNA, "gfx942": CDNA,
         "gfx950": CDNA._replace(local=160 * KIB), "gfx1030": RDNA2,
         "gfx1100": RDNA3, "gfx1151": RDNA3, "gfx1201": RDNA3,
         "tgllp": XE_HPG, "dg2": XE_HPG, "pvc": XE_HPC}

KERNELS = {"gemm": "gemm/tiled.cl", "ahead": "gemm/simt.cl",
           "conv": "conv/tiled.cl", "mma": "gemm/mma.cl",
           "block": "gemm/intel/block_read.cl"}
ONE_DEPTH = ("tgllp", "dg2", "pvc")  # struct xl__tile_sets
# The share of the bound that tiles reach where it was measured.
MEASURED = {"gemm": 0.75, "ahead": 0.67, "conv": 0.75, "block": 0.75}

Set = collections.namedtuple("Set", "kernel tm tn tk rm rn st frac registers")


def items_of(s):
    return s.tm // s.rm * (s.tn // s.rn)


def read_sets(target):
    """The rows of all of an architecture's lists."""
    found = []
    for path in sorted(TARGETS.glob("*_tiles.c")):
        lists = re.findall(r"xl__tile_set (\w+)_(\w+)\[\] = \{(.*?)\n\};",
                           path.read_text(encoding="utf-8"), flags=re.S)
        for name, kernel, rows in lists:
            if name != UNITS[target].sets:
                continue
            for row in re.findall(r"^ *\{ *([1-9].*?)\},", rows, flags=re.M):
                *sizes, frac, registers = row.split(",")
                found.append(Set(kernel, *map(int, sizes), float(frac),
                                 int(registers)))
    return found


def options(target, s):
    """Of each set two builds: f32 by the plainest path, whose registers the
    table has, and f16 by a longer one."""
    def load(side):
        return max(v for v in (1, 2, 4)
                   if side * s.tk % (v * items_of(s)) == 0)

    unit = UNITS[target]
    common = (f"-DTM={s.tm} -DTN={s.tn} -DTK={s.tk} -DRM={s.rm} -DRN={s.rn} "
              f"-DST={s.st} -DGR=8 -DVC={min(4, s.rn)} -DTY=0 "
              f"-DXL_WIDTH={unit.width}")
    if s.kernel == "block":
        return [f"{common} -DXL_BLOCKS_INTEL=1 -DBATCH=0 -DUA=0 -DTA=0 -DTC=0",
                f"{common} -DXL_BLOCKS_INTEL=1 -DBATCH=0 -DUA=1 -DTA=1 -DTC=1"]
    if s.kernel == "conv":
        common += f" -DAHEAD={int(target not in ONE_DEPTH)} -DXL_WIDE=0"
        return [f"{common} -DFIRST=1 -DLAST=1 -DMIX=0 -DVP=1 -DVF=1 -DTA=0 "
                "-DTC=0",
                f"{common} -DFIRST=0 -DLAST=0 -DMIX=0 -DVP=1 -DVF=1 -DTA=1 "
                "-DTC=1"]
    gemm = (f"{common} -DSTEP=1 -DBATCH=0 -DUB=1 -DVA={load(s.tm)} "
            f"-DVB={load(s.tn)}" + " -DCOPY=1" * (s.kernel == "ahead"))
    return [f"{gemm} -DUA=0 -DCUT=0 -DTA=0 -DTC=0",
            f"{gemm} -DUA=1 -DCUT={unit.cut} -DTA=1 -DTC=1"]


def read_amd(text):
    """The figures of an assembly's metadata."""
    def number(name):
        return int(re.search(rf"\.{name}: +(\d+)", text).group(1))

    return {"registers": number("vgpr_count"), "scalars": number("sgpr_count"),
            "spilled": number("vgpr_spill_count") +
            number("sgpr_spill_count") +
            number("private_segment_fixed_size"),
            "local": number("group_segment_fixed_size"),
            "width": number("wavefront_size"),
            "barriers": len(re.findall(r"\ts_barrier\b", text))}


def read_loop(binary):
    """What the loop with most multiply-adds executes at a time: instructions,
    multiply-adds, messages to memory. An instruction is 16 bytes, 8 with bit
    29; its first 7 bits are the opcode; jmpi has its distance in the last 4
    bytes (Intel's programmer's reference, Gen12)."""
    compact, mad, send, jump = 1 << 29, 0x5b, (0x31, 0x32), 0x20
    table, = struct.unpack_from("<Q", binary, 40)
    n, names = struct.unpack_from("<HH", binary, 60)
    sections = [struct.unpack_from("<IIQQQQ", binary, table + 64 * i)
                for i in range(n)]
    best = {"loop": 0, "fmas": 0, "sends": 0}
    for name, _, _, _, begin, size in sections:
        at = sections[names][4] + name
        if not binary[at:].startswith(b".text.") or size < 16:
            continue
        code, listed, at = binary[begin:begin + size] + bytes(16), [], 0
        while at < size:
            word, = struct.unpack_from("<Q", code, at)
            listed.append((at, word & 0x7f))
            back, = struct.unpack_from("<i", code, at + 12)
            if listed[-1][1] == jump and not word & compact and back < 0:
                body = [op for i, op in listed if i >= at + back]
                if body.count(mad) >= best["fmas"]:
                    best = {"loop": len(body), "fmas": body.count(mad),
                            "sends": sum(map(body.count, send))}
            at += 8 if word & compact else 16
    return best


def read_intel(binary):
    """The figures of a binary's .ze_info: all registers of a thread are its
    kernel's."""
    at = binary.find(b"version:   ")  # -1: no kernel in it
    text = binary[at:].decode(errors="replace") if at >= 0 else ""
    text = text[:text.find("\n...")]

    def number(name):
        found = re.search(rf"\b{name}: +(\d+)", text)
        return int(found.group(1)) if found else 0

    return {"registers": number("grf_count"), "scalars": 0,
            "spilled": sum(map(int, re.findall(
                r"type: +(?:scratch|global)\n +usage: .*\n +size: +(\d+)",
                text))),
            "local": number("slm_size"), "width": number("simd_size"),
            "barriers": number("barrier_count"), **read_loop(binary)}


def common_option(target):
    """The option of all programs of Intel's architecture: in its table."""
    arch = {"dg2": "xe-hpg", "pvc": "xe-hpc"}[target]
    row = re.search(rf'\{{"{arch}",.*?(?:"(-D.*?)")?, &',
                    (TARGETS / "intel.c").read_text(encoding="utf-8"))
    return [row.group(1)] if row.group(1) else []


def occupancy(unit, s, f):
    """Waves of a SIMD, and what limits them."""
    each = -(-f["registers"] // unit.granule) * unit.granule
    waves = -(-items_of(s) // unit.width)
    groups = unit.local // max(f["local"], 1)
    limits = {"waves": unit.waves, "registers": unit.file // each,
              "local memory": groups * waves / unit.simds}
    limit = min(limits, key=limits.get)
    return limits[limit], limit


def bound(unit, s):
    """The share of the unit's multiply-adds that issue and local memory leave
    to a set, times what tiles reach of that."""
    staged = (s.tm + s.tn) / items_of(s)
    fma = s.rm * s.rn / unit.issue
    if s.kernel == "block":  # of a depth: reads and their addresses
        return MEASURED["block"] * fma / (fma + 2 * (1 + s.rm / unit.width))
    issue = fma + (s.rm + s.rn) / 4 + 2 * staged
    local = (s.rm + s.rn + staged) * unit.lanes / unit.banks
    return MEASURED[s.kernel] * fma / max(issue, local)


def judge(target, s, is_plain, f):
    """What is wrong with the figures of a build; empty if nothing is."""
    unit = UNITS[target]
    if f["spilled"]:
        return f"{f['spilled']} bytes or registers are spilled"
    if is_plain and f["registers"] > s.registers:
        return f"{f['registers']} registers, the table has {s.registers}"
    if f["width"] != unit.width:
        return f"sub-groups of {f['width']}, not {unit.width}"
    if f["barriers"] and items_of(s) <= unit.width:
        return "a barrier within one sub-group"
    if s.kernel == "block":
        if f["barriers"] or f["local"]:
            return "a barrier or local memory"
        if (f["fmas"], f["sends"]) != (s.rm * s.rn * unit.width,
                                       s.rm + unit.width):
            return (f"{f['fmas']} multiply-adds and {f['sends']} reads in the "
                    "loop: not one read for each row of A and B")
    if occupancy(unit, s, f)[0] < 1 / unit.simds:
        return "no group fits"
    if abs(bound(unit, s) - s.frac) > 0.006:
        return f"the model's share is {bound(unit, s):.3f}, not {s.frac}"
    return ""


def table(target, rows):
    """rows: (Set, figures) of each build, the plain one first. One line a
    set."""
    unit = UNITS[target]
    lines = [f"{target}: kernel, tile, items' tile, slices; registers of the "
             "plain and the longer build, scalars, spilled, local memory, "
             "waves of a SIMD, share of the f32 rate"]
    for s in dict(rows):
        plain, *longer = [f for of, f in rows if of == s]
        most = {k: max(f[k] for f in [plain, *longer]) for k in plain}
        waves, limit = occupancy(unit, s, plain)
        lines.append(
            f"  {s.kernel:5} {s.tm:3}x{s.tn:<3}x{s.tk:<2} {s.rm:2}x{s.rn:<2} "
            f"{s.st}  {plain['registers']:4} {most['registers']:4} "
            f"{most['scalars']:4} {most['spilled']:2} {most['local']:6}  "
            f"{waves:5.2f} ({limit})  {s.frac}" + (
                f"  loop: {plain['fmas']} multiply-adds of {plain['loop']}, "
                f"{plain['sends']} block reads" if s.kernel == "block" else ""))
    return "\n".join(lines)
