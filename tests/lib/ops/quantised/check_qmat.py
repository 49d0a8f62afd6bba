# SPDX-License-Identifier: Apache-2.0
"""The formats of quantised matrices, bit for bit, against definitions that are
written here a second time, element by element, from the public documents: the
layouts of ggml's blocks, OCP Microscaling Formats 1.0, ONNX Runtime's
MatMulNBits, the OCP 8-bit Floating Point Specification. Where the package gguf is installed, also against that.

    check_qmat.py QMAT_HOST
"""
import bisect
import math
import random
import struct
import subprocess
import sys

ROWS, SEED = 5, 17
IQ4 = (-127, -104, -83, -65, -49, -35, -22, -10,
       1, 13, 25, 38, 53, 69, 89, 113)
E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def f32(x):
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def half(b, at=0):
    return struct.unpack_from("<e", b, at)[0]


def nib(q, i):
    return (q[i % 16] >> (4 if i >= 16 else 0)) & 15


def signed(x):
    return x - 256 if x > 127 else x


def q4_0(b, i):
    return half(b) * (nib(b[2:], i) - 8)


def q4_1(b, i):
    return half(b) * nib(b[4:], i) + half(b, 2)


def q5_0(b, i):
    high = struct.unpack_from("<I", b, 2)[0] >> i & 1
    return half(b) * ((nib(b[6:], i) | high << 4) - 16)


def q8_0(b, i):
    return half(b) * signed(b[2 + i])


def q4_k(b, i):
    j, pair, sc = i // 32, i // 64, b[4:16]
    if j < 4:
        s, t = sc[j] % 64, sc[j + 4] % 64
    else:
        s = sc[j + 4] % 16 + sc[j - 4] // 64 * 16
        t = sc[j + 4] // 16 + sc[j] // 64 * 16
    q = b[16 + 32 * pair + i % 32]
    q = q // 16 if j % 2 else q % 16
    return half(b) * s * q - half(b, 2) * t


def q6_k(b, i):
    a, r, c = i // 128, i // 32 % 4, i % 32
    low = b[64 * a + 32 * (r % 2) + c]
    low = low % 16 if r < 2 else low // 16
    high = b[128 + 32 * a + c] // 4 ** r % 4
    return half(b, 208) * signed(b[192 + i // 16]) * (low + 16 * high - 32)


def iq4_nl(b, i):
    return half(b) * IQ4[nib(b[2:], i)]


def mxfp4(b, i):
    code = nib(b[1:], i)
    size = math.ldexp(E2M1[code & 7], b[0] - 127)
    return math.nan if b[0] == 255 else -size if code > 8 else size


# Name: block, its bytes, offsets of f16s, the value of element i.
BLOCKS = {"q4_0": (32, 18, (0,), q4_0), "q4_1": (32, 20, (0, 2), q4_1),
          "q5_0": (32, 22, (0,), q5_0), "q8_0": (32, 34, (0,), q8_0),
          "q4_k": (256, 144, (0, 2), q4_k), "q6_k": (256, 210, (208,), q6_k),
          "iq4_nl": (32, 18, (0,), iq4_nl), "mxfp4": (32, 17, (), mxfp4)}

program, failures, n_checks = sys.argv[1], [], 0
rng = random.Random(SEED)


def call(what, name, rows, cols, data, group=0, zeros=0,
         group_rows=0):
    return subprocess.run([program, what, name, str(rows), str(cols),
                           str(group), str(zeros), str(group_rows)], input=data, check=True,
                          stdout=subprocess.PIPE).stdout


def check(what, got, want):
    global n_checks
    n_checks += 1
    if got != want:
        at = next(i for i, (a, b) in enumerate(zip(got, want)) if a != b) \
            if len(got) == len(want) else -1
        failures.append(f"{what}: the first difference is at byte {at}")


def random_half():
    return struct.pack("<e", rng.uniform(-2, 2))


def packed(values):
    """As f32, with one NaN."""
    return b"".join(b"\0\0\xc0\x7f" if math.isnan(v) else
                    struct.pack("<f", f32(v)) for v in values)


def one_nan(data):
    return b"".join(b"\0\0\xc0\x7f" if math.isnan(struct.unpack("<f", w)[0])
                    else w for w in (data[i:i + 4]
                                     for i in range(0, len(data), 4)))


def random_block(size, halves):
    b = bytearray(rng.randbytes(size))
    for at in halves:
        b[at:at + 2] = random_half()
    return bytes(b)


for name, (block, size, halves, value) in BLOCKS.items():
    cols = 3 * block
    blocks = [random_block(size, halves) for _ in range(3 * ROWS)]
    if name == "mxfp4":  # every exponent
        blocks = [bytes([e]) + rng.randbytes(16) for e in range(256)]
        cols = block
    rows = len(blocks) * block // cols
    got = call("dequantise", name, rows, cols, b"".join(blocks))
    check(f"{name}: dequantise", one_nan(got),
          packed(value(b, i) for b in blocks for i in range(block)))

for group, zeros in ((32, 0), (32, 1), (96, 1)):
    cols, n = 288, 288 // group
    q = rng.randbytes(ROWS * cols // 2)
    scales = [random_half() for _ in range(ROWS * n)]
    z = rng.randbytes(ROWS * ((n + 1) // 2))
    want = []
    for r in range(ROWS):
        for c in range(cols):
            code = q[(r * cols + c) // 2] >> 4 * (c % 2) & 15
            at = c // group
            zero = z[r * ((n + 1) // 2) + at // 2] >> 4 * (at % 2) & 15 \
                if zeros else 8
            want.append(half(scales[r * n + at]) * (code - zero))
    check(f"int4/{group} zeros {zeros}: dequantise",
          call("dequantise", "int4", ROWS, cols,
               q + b"".join(scales) + (z if zeros else b""), group, zeros),
          packed(want))

q = rng.randbytes(ROWS * 64)
scales = [random_half() for _ in range(ROWS)]
check("int8: dequantise",
      call("dequantise", "int8", ROWS, 64, q + b"".join(scales)),
      packed(half(scales[i // 64]) * signed(b) for i, b in enumerate(q)))


def e4m3(code):
    sign, e, m = -1.0 if code > 127 else 1.0, code // 8 % 16, code % 8
    size = math.nan if code % 128 == 127 else \
        m / 512 if e == 0 else (8 + m) * 2.0 ** (e - 10)
    return sign * size


E4M3 = [e4m3(c) for c in range(127)]


def to_e4m3(x):
    """To nearest, of two the one whose code is even."""
    size = min(abs(x), 448.0)
    at = bisect.bisect_left(E4M3, size)
    return min((c for c in (at - 1, at) if c >= 0),
               key=lambda c: (abs(E4M3[c] - size), c % 2)) + \
        (128 if math.copysign(1, x) < 0 else 0)


for group, shared in ((0, 1), (0, 0), (32, 2), (96, 3), (0, 3)):
    rows, cols = 7, 288
    n, m = cols // (group or cols), -(-rows // (shared or rows))
    q = bytes(range(256)) * 8
    q = q[3:rows * cols + 3]
    scales = [f32(rng.uniform(-2, 2) * 2.0 ** rng.randrange(-60, 60))
              for _ in range(n * m)]

    def block_of(i):
        return i // cols // (shared or rows) * n + i % cols // (group or cols)
    check(f"fp8/{group}x{shared}: dequantise",
          one_nan(call("dequantise", "fp8", rows, cols,
                       q + struct.pack(f"<{n * m}f", *scales), group, 0,
                       shared)),
          packed(scales[block_of(i)] * e4m3(b) for i, b in enumerate(q)))
    # Of a power of two, whose ends are 448, ties are exact.
    most = [448 * 2.0 ** rng.randrange(-20, 20) if i % 2 else
            f32(rng.uniform(0, 1e-3)) for i in range(n * m)]
    x = [f32(most[block_of(i)] / 448 * rng.choice((
        e4m3(c := rng.randrange(126)), -(e4m3(c) + e4m3(c + 1)) / 2,
        (e4m3(c) + e4m3(c + 1)) / 2, rng.uniform(-2, 2), 448)))
        for i in range(rows * cols)]
    top = [max(abs(v) for i, v in enumerate(x) if block_of(i) == k)
           for k in range(n * m)]
    scales = [f32(t / 448) for t in top]
    check(f"fp8/{group}x{shared}: quantise",
          call("quantise", "fp8", rows, cols, struct.pack(f"<{len(x)}f", *x),
               group, 0, shared),
          bytes(to_e4m3(f32(v * f32(1 / scales[block_of(i)])))
                for i, v in enumerate(x)) +
          struct.pack(f"<{n * m}f", *scales))

try:
    import numpy
    from gguf import GGMLQuantizationType, quants
except ImportError:
    print("gguf is not installed: the definitions of this file alone")
else:
    for name, (block, size, halves, value) in BLOCKS.items():
        kind = GGMLQuantizationType[name.upper()]
        data = b"".join(random_block(size, halves) for _ in range(64))
        if name == "mxfp4":  # a scale of 255 is a number there
            data = b"".join(bytes([e % 255]) + rng.randbytes(16)
                            for e in range(64 * 4))
        rows = len(data) // size
        want = quants.dequantize(
            numpy.frombuffer(data, numpy.uint8).reshape(rows, size), kind)
        check(f"{name}: gguf's dequantise",
              call("dequantise", name, rows, block, data),
              want.astype("<f4").tobytes())
        x = numpy.random.default_rng(SEED).standard_normal(
            (64, 4 * block), numpy.float32)
        try:
            want = quants.quantize(x, kind)
        except NotImplementedError:
            continue
        check(f"{name}: gguf's quantise",
              call("quantise", name, 64, 4 * block, x.tobytes()),
              want.tobytes())

print(f"{n_checks} checks, {len(failures)} failures", *failures, sep="\n")
sys.exit(1 if failures or n_checks == 0 else 0)
