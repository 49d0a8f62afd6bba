# SPDX-License-Identifier: Apache-2.0
"""Instructions of the inner loop of a kernel on Intel's systolic engine, counted
in a binary: how much of the time that a thread issues them is the engine's, by
the rates of vendor-notes IN-16. Nothing here was measured on a device.

Counted is the way around a loop that engine_loop.py chooses. `engine` are cycles
in which the engine works for one thread; `others` cycles in which a unit begins
the thread's loads and other instructions; `fill` is engine / (engine + others),
as if they never overlapped; `all` the same where each wait takes a cycle, too.
"""
import collections
import ctypes
import ctypes.util
import re
import struct

import engine_loop

# Cycles of an instruction of 8 rows; bytes that a unit writes in a cycle; the
# disassembler's number of the instruction set (iga.h).
Rates = collections.namedtuple("Rates", "rows_8 port number")
RATES = {"dg2": Rates(16, 32, 1 << 24 | 2), "pvc": Rates(8, 64, 1 << 24 | 4)}
LEAST_FILL = 0.85  # of the largest tile of a product, in f16
BYTES = {"b": 1, "ub": 1, "w": 2, "uw": 2, "hf": 2, "bf": 2, "q": 8, "uq": 8,
         "df": 8}  # others: 4
JUMPS = ("jmpi", "goto", "while", "if", "else", "break", "cont", "brd", "brc")

LIBRARY = ctypes.util.find_library("iga64")  # comes with the compiler


class Context(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_size_t), ("number", ctypes.c_uint32)]


class Options(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint32)] + [
        (name, ctypes.c_uint32) for name in ("a", "b", "c", "d", "e")]


def codes_of(binary):
    """The code of each kernel of an ELF file."""
    table, = struct.unpack_from("<Q", binary, 40)
    n, names = struct.unpack_from("<HH", binary, 60)
    sections = [struct.unpack_from("<IIQQQQ", binary, table + 64 * i)
                for i in range(n)]
    for name, _, _, _, begin, size in sections:
        if binary[sections[names][4] + name:].startswith(b".text.") and size:
            yield binary[begin:begin + size]


def disassemble(target, code):
    """The assembly of a kernel's code."""
    library, context, text = ctypes.CDLL(LIBRARY), ctypes.c_void_p(), \
        ctypes.c_char_p()
    of = Context(ctypes.sizeof(Context), RATES[target].number)
    options = Options(ctypes.sizeof(Options))
    if library.iga_context_create(ctypes.byref(of), ctypes.byref(context)):
        raise OSError(f"{LIBRARY} does not know {target}")
    failed = library.iga_context_disassemble(
        context, ctypes.byref(options), code, len(code), None, None,
        ctypes.byref(text))
    lines = (text.value or b"").decode()
    library.iga_context_release(context)
    if failed:
        raise ValueError(f"{LIBRARY} cannot read the code for {target}")
    return lines


def read_blocks(text):
    """Blocks as engine_loop.find_way() reads them: an instruction begins with
    its name."""
    blocks, graph, name = {"entry": []}, {"entry": []}, "entry"
    falls = True  # into the block that follows
    for line in text.split("\n"):
        label = re.fullmatch(r"(L\d+):", line.strip())
        found = re.match(r"(\([^)|]*\))? *([a-z]\w*.*)", line.strip())
        if label or not falls:
            new = label.group(1) if label else f"{name}+"
            graph[name] += [new] * falls
            name, falls = new, True
            blocks[name], graph[name] = [], []
        if not label and found:
            predicate, instruction = found.groups()
            blocks[name].append(instruction)
            if instruction.startswith(JUMPS):
                graph[name] += re.findall(r"\bL\d+\b", instruction)
                falls = "f" in (predicate or "")
                if falls:
                    graph[name].append(f"{name}+")
                    name, falls = f"{name}+", True
                    blocks[name], graph[name] = [], []
    for name, to in graph.items():
        graph[name] = [t for t in dict.fromkeys(to) if t in blocks]
    return blocks, graph


def cycles_of(rates, instruction):
    """Cycles in which a unit writes what an instruction computes."""
    lanes = re.search(r"\((\d+)\|", instruction)
    kind = re.search(r":([a-z]+)\b", instruction)
    written = int(lanes.group(1)) * BYTES.get(kind.group(1), 4) \
        if lanes and kind else 0
    return max(1, written // rates.port)


def count(target, binary):
    """The figures of a binary's largest loop; none without the engine."""
    rates, found = RATES[target], collections.Counter()
    ways = [engine_loop.find_way(*read_blocks(disassemble(target, code)))
            for code in codes_of(binary)]
    for instruction in max(ways, key=engine_loop.worth, default=[]):
        word = instruction.split()[0]
        if word.startswith("dpas"):
            rows = int(re.match(r"dpasw?\.8x(\d)", word).group(1))
            found["engine instructions"] += 1
            found["engine"] += rates.rows_8 * rows // 8
        elif word.startswith("sync"):
            found["waits"] += 1
        else:
            found["loads" if word.startswith("send") else
                  "other instructions"] += 1
            found["others"] += 1 if word.startswith("send") else \
                cycles_of(rates, instruction)
    if found["engine"]:
        found["fill"] = found["engine"] / (found["engine"] + found["others"])
        found["all"] = found["engine"] / (
            found["engine"] + found["others"] + found["waits"])
    return found


def describe(found):
    parts = [f"{found[name]} {name}" for name in
             ("engine instructions", "loads", "other instructions", "waits")]
    return (f"{', '.join(parts)}; engine {found['engine']} cycles, others "
            f"{found['others']}, fill {found['fill']:.3f}, all "
            f"{found['all']:.3f}")
