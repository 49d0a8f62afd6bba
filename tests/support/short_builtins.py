# SPDX-License-Identifier: Apache-2.0
"""Write PoCL's built-in functions without those that no kernel calls.

short_builtins.py LIBRARY SHARE OUTPUT FOLDER...

SHARE, PoCL's folder of data, has Clang's opencl-c.h, 15000 declarations, which
PoCL reads twice for each program, and of each kind of CPU the functions' code,
9 MB, which it reads for each context: most of the time of a job that builds
kernels without optimisation. That code is written for AVX2 and AVX-512 alone. Left out below OUTPUT are functions whose name is
in no text below the FOLDERs, and overloads with vectors of three. A kernel that
calls another one does not build. LIBRARY is PoCL's, whose LLVM reads its code.
"""
import ctypes
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
# `_Z7_cl_fmaDv4_fS_S_`: the length of the name, the name, its operands.
MANGLED = re.compile(r"_Z(\d+)(\w+)")
EXTERNAL, INTERNAL = 0, 8  # LLVMLinkage


def names_called(folders):
    called = set()
    for folder in folders:
        for file in folder.rglob("*.[ch]*"):
            text = OTHER.sub(" ", file.read_text(encoding="utf-8"))
            if file.suffix in (".c", ".h"):
                text = " ".join(STRING.findall(text))
            called.update(re.findall(r"\w+", WIDTH.sub("", text)))
    return called


def is_called(called, name, has_three):
    name = WIDTH.sub("", name)
    if has_three and not re.match("v(load|store)", name):
        return False
    return name in called or bool(CONVERSION.fullmatch(name))


def write_header(called, source, target):
    text = OTHER.sub("", source.read_text(encoding="utf-8").replace("\\\n", " "))
    target.write_text(DECLARATION.sub(
        lambda d: d[0] if is_called(called, d[1], OF_THREE.search(d[0])) else "",
        text), encoding="utf-8")


def is_kept(called, symbol):
    mangled = MANGLED.fullmatch(symbol)
    if not mangled:
        return True
    name = mangled[2][:int(mangled[1])]
    return is_called(called, name.replace("_cl_", "", 1), "Dv3_" in symbol)


def load_llvm(library):
    llvm = ctypes.CDLL(str(library))
    pointer = ctypes.c_void_p
    for name, n in (("GetGlobalContext", 0), ("CreatePassBuilderOptions", 0),
                    ("GetFirstFunction", 1), ("GetNextFunction", 1),
                    ("GetValueName", 1), ("RunPasses", 4)):
        function = getattr(llvm, "LLVM" + name)
        function.restype, function.argtypes = pointer, [pointer] * n
    llvm.LLVMParseIRInContext.argtypes = [pointer] * 4
    llvm.LLVMIsDeclaration.argtypes = llvm.LLVMGetLinkage.argtypes = [pointer]
    llvm.LLVMSetLinkage.argtypes = [pointer, ctypes.c_int]
    llvm.LLVMWriteBitcodeToFile.argtypes = [pointer, ctypes.c_char_p]
    return llvm


def functions(llvm, module):
    function = llvm.LLVMGetFirstFunction(module)
    while function:
        if not llvm.LLVMIsDeclaration(function):
            name = ctypes.string_at(llvm.LLVMGetValueName(function))
            yield function, name.decode()
        function = llvm.LLVMGetNextFunction(function)


def write_code(llvm, called, source, target):
    """Functions that are not kept, nor called by one that is, are removed as a
    compiler removes static ones."""
    buffer, module = ctypes.c_void_p(), ctypes.c_void_p()
    said = ctypes.c_char_p()
    if llvm.LLVMCreateMemoryBufferWithContentsOfFile(
            str(source).encode(), ctypes.byref(buffer), ctypes.byref(said)) or \
            llvm.LLVMParseIRInContext(llvm.LLVMGetGlobalContext(), buffer,
                                      ctypes.byref(module), ctypes.byref(said)):
        sys.exit(f"{source}: {said.value}")
    linkage = {}
    for function, name in functions(llvm, module):
        linkage[name] = llvm.LLVMGetLinkage(function)
        llvm.LLVMSetLinkage(
            function, EXTERNAL if is_kept(called, name) else INTERNAL)
    if llvm.LLVMRunPasses(module, b"globaldce", None,
                          llvm.LLVMCreatePassBuilderOptions()):
        sys.exit(f"{source}: functions cannot be removed")
    for function, name in functions(llvm, module):
        llvm.LLVMSetLinkage(function, linkage[name])
    if llvm.LLVMWriteBitcodeToFile(module, str(target).encode()):
        sys.exit(f"{target} cannot be written")


def main():
    library, share, output, *folders = map(pathlib.Path, sys.argv[1:])
    called = names_called(folders)
    (output / "include").mkdir(parents=True, exist_ok=True)
    header = pathlib.Path("include", "opencl-c.h")
    write_header(called, share / header, output / header)
    # Code is written where the names have changed: that takes seconds.
    names = output / "names"
    listed = "\n".join(sorted(called))
    if names.exists() and names.read_text(encoding="utf-8") == listed:
        return
    llvm = load_llvm(library)
    for file in share.glob("*avx[25]*.bc"):
        (output / file.name).unlink(missing_ok=True)  # may be a link to it
        write_code(llvm, called, file, output / file.name)
    names.write_text(listed, encoding="utf-8")


if __name__ == "__main__":
    main()
