# SPDX-License-Identifier: Apache-2.0
"""Write PoCL's header of built-in functions without those that no kernel calls.

short_header.py HEADER OUTPUT FOLDER...

HEADER is Clang's opencl-c.h, 15000 declarations, which PoCL reads twice for
each program: half of the time of a build without optimisation. Left out are
functions whose name is in no text below the FOLDERs, and overloads with vectors
of three. A kernel that calls another one does not build.
"""
import pathlib
import re
import sys

# What is left out of texts: comments, and names of included files.
OTHER = re.compile(r"/\*.*?\*/|//[^\n]*|#include[^\n]*", re.S)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
# `float4 __ovld __cnfn fma(float4 a, float4 b, float4 c);`
DECLARATION = re.compile(r"^(?:[\w*]+\s+)+\*?(\w+)\s*\([^;#{]*;", re.M)
# Names are compared without widths: kernels paste them in, and types of
# conversions too: `convert_int##S##_sat_rtz`, XL_CAT(convert_, T).
WIDTH = re.compile(r"##\w+##|\d+")
CONVERSION = re.compile(r"convert_[a-z]+")
OF_THREE = re.compile(r"(char|short|int|long|float|double|half)3\b")

header, output, *folders = map(pathlib.Path, sys.argv[1:])
called = set()
for folder in folders:
    for file in folder.rglob("*.[ch]*"):
        text = OTHER.sub(" ", file.read_text(encoding="utf-8"))
        if file.suffix in (".c", ".h"):
            text = " ".join(STRING.findall(text))
        called.update(re.findall(r"\w+", WIDTH.sub("", text)))


def is_kept(declaration):
    name = WIDTH.sub("", declaration[1])
    if OF_THREE.search(declaration[0]) and not re.match("v(load|store)", name):
        return False
    return name in called or CONVERSION.fullmatch(name)


text = OTHER.sub("", header.read_text(encoding="utf-8").replace("\\\n", " "))
text = DECLARATION.sub(lambda d: d[0] if is_kept(d) else "", text)
output.write_text(text, encoding="utf-8")
