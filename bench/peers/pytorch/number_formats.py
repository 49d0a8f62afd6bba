# SPDX-License-Identifier: Apache-2.0
"""Numbers of crosslane's types as bytes in memory, in plain Python: for the
self-tests, which run without PyTorch and NumPy."""
import ctypes as ct
import struct

from .crosslane_library import BYTES


def e4m3_value(byte):
    """The value of an OCP 8-bit float with 3 bits of fraction."""
    exponent, fraction = byte >> 3 & 15, byte & 7
    value = ((1 + fraction / 8) * 2.0**(exponent - 7) if exponent else
             fraction * 2.0**-9)
    return -value if byte >> 7 else value


def e4m3_byte(x):
    """The nearest e4m3 number; 127 is not a number."""
    nearest = min(range(127), key=lambda byte: abs(e4m3_value(byte) - abs(x)))
    return nearest | (128 if x < 0 else 0)


PACK = {"f32": lambda x: struct.pack("<f", x),
        "f16": lambda x: struct.pack("<e", x),
        "bf16": lambda x: struct.pack("<f", x)[2:],
        "i32": lambda x: struct.pack("<i", int(x)),
        "i8": lambda x: struct.pack("<b", int(x)),
        "u8": lambda x: struct.pack("<B", int(x)),
        "bool": lambda x: struct.pack("<B", int(x)),
        "f8e4m3": lambda x: bytes([e4m3_byte(x)])}
UNPACK = {"f32": lambda b: struct.unpack("<f", b)[0],
          "f16": lambda b: struct.unpack("<e", b)[0],
          "bf16": lambda b: struct.unpack("<f", b"\0\0" + b)[0],
          "i32": lambda b: struct.unpack("<i", b)[0],
          "i8": lambda b: struct.unpack("<b", b)[0],
          "u8": lambda b: b[0], "bool": lambda b: b[0],
          "f8e4m3": lambda b: e4m3_value(b[0])}


def pack_numbers(numbers, dtype):
    return b"".join(map(PACK[dtype], numbers))


def unpack_numbers(raw, dtype):
    size = BYTES[dtype]
    return [UNPACK[dtype](raw[i:i + size]) for i in range(0, len(raw), size)]


def address_of(raw):
    """The address of bytes or of a ctypes buffer."""
    if isinstance(raw, bytes):
        raw = ct.c_char_p(raw)
    return ct.cast(raw, ct.c_void_p)
