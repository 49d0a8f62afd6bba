# SPDX-License-Identifier: Apache-2.0
"""Loads libcrosslane. Its structs are made from its own list of their members,
and ctypes' sizes and offsets are compared with that list when this is imported.
"""
from __future__ import annotations

import ctypes
import os
import sys
from ctypes import c_char_p, c_double, c_int, c_size_t, c_uint, c_void_p
from typing import Any, Iterable

RELEASE = "0.1"  # the one that this module is for
NAMES = {"darwin": f"libcrosslane.{RELEASE}.dylib", "win32": "crosslane.dll"}
NAME = NAMES.get(sys.platform, f"libcrosslane.so.{RELEASE}")


class Error(Exception):
    """A call of the library failed."""

    def __init__(self, status: int, detail: str = "") -> None:
        self.status = status  #: a number of crosslane/status.h, or OpenCL's
        self.name = lib.xl_status_name(status).decode()  #: "XL_BAD_SHAPE"
        #: the message; of an expression with the line and a caret below it
        self.detail = detail or lib.xl_status_text(status).decode()
        super().__init__(f"{self.name}: {self.detail}")


def _load() -> ctypes.CDLL:
    path = os.environ.get("XL_LIBRARY") or NAME
    try:
        return ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(
            f"{path} cannot be loaded ({e}): install crosslane, or set "
            f"XL_LIBRARY to the path of {NAME}") from None


class Member(ctypes.Structure):
    """xl_member of crosslane/sized.h."""
    _fields_ = [("struct", c_char_p), ("struct_bytes", c_size_t),
                ("name", c_char_p), ("type", c_char_p), ("offset", c_size_t),
                ("bytes", c_size_t)]


_TYPES = {"bool": ctypes.c_bool, "char": ctypes.c_char, "double": c_double,
          "unsigned": c_uint, "size_t": c_size_t, "const char *": c_char_p}


def make_structs(members: Iterable[Any], *names: str) -> dict[str, Any]:
    """ctypes structures of the names and of what they contain. ImportError
    where ctypes lays one out in another way than the library's compiler."""
    rows: dict[str, list[Any]] = {}
    for m in members:
        rows.setdefault(m.struct.decode(), []).append(m)
    made: dict[str, Any] = {}

    def make(name: str) -> Any:
        if name in made:
            return made[name]
        if name not in rows:
            raise ImportError(f"the library has no struct {name}: it is not "
                              f"of release {RELEASE}")
        fields = []
        for m in rows[name]:
            kind = m.type.decode()
            ctype: Any = (make(kind) if kind in rows else _TYPES.get(kind) or
                          (c_void_p if m.bytes == ctypes.sizeof(c_void_p) else
                           c_int))  # a pointer; an enum
            n = m.bytes // ctypes.sizeof(ctype)
            fields.append((m.name.decode(), ctype if n == 1 else ctype * n))
        made[name] = type(name, (ctypes.Structure,),
                          {"_fields_": fields, "__slots__": ()})
        compare(made[name], rows[name])
        return made[name]

    def compare(struct: Any, members: list[Any]) -> None:
        found = [("its size", ctypes.sizeof(struct), members[0].struct_bytes)]
        for m in members:
            field = getattr(struct, m.name.decode())
            found.append((m.name.decode(), field.offset, m.offset))
        for what, here, there in found:
            if here != there:
                raise ImportError(f"{struct.__name__}, {what}: {here} in this "
                                  f"module, {there} in the library")

    for name in names:
        make(name)
    return made


lib = _load()
try:
    lib.xl_version.restype = c_char_p
    version = lib.xl_version().decode()
    lib.xl_member_at.restype = ctypes.POINTER(Member)
except AttributeError as e:
    raise ImportError(f"{lib._name} is not crosslane {RELEASE}: {e}") from None
if not version.startswith(RELEASE + "."):
    raise ImportError(f"{lib._name} is crosslane {version}, this module is for "
                      f"{RELEASE}")
for _names, _type in (
        ("xl_status_name xl_status_text xl_lib_error xl_error_detail "
         "xl_dtype_name", c_char_p),
        ("xl_device_at xl_queue_cl xl_queue_device", c_void_p),
        ("xl_dtype_bytes", c_size_t), ("xl_queue_destroy xl_expr_destroy", None)
):
    for _name in _names.split():
        getattr(lib, _name).restype = _type


def _members() -> Iterable[Member]:
    i = 0
    while member := lib.xl_member_at(i):
        yield member.contents
        i += 1


structs = make_structs(
    _members(), "xl_gemm", "xl_conv", "xl_softmax", "xl_norm", "xl_attention",
    "xl_rotary", "xl_qconvert", "xl_qbytes", "xl_qlayout", "xl_expr_args", "xl_binding", "xl_choice", "xl_fact")


def new(name: str, **members: Any) -> Any:
    """A struct with these members; a descriptor begins with its size."""
    made = structs[name](**members)
    if hasattr(made, "size") and isinstance(made.size, int):
        made.size = ctypes.sizeof(made)
    return made


def check(status: int, error: Any, handle: c_void_p) -> None:
    """Error unless the call was successful; `error` returns its message."""
    if status != 0:
        raise Error(status, (error(handle) or b"").decode())


#: by the names of the library: "f32", ...
DTYPES: dict[str, int] = {}
while (_name := lib.xl_dtype_name(len(DTYPES)).decode()) != "?":
    DTYPES[_name] = len(DTYPES)
