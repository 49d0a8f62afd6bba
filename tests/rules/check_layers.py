# SPDX-License-Identifier: Apache-2.0
"""Checks the layers of lib and bench against layers.txt.

A file may use its own folder and the folders that its row names. Uses are
read twice: from the #include lines, and from the symbols of the compiled
objects, since a header of a low layer can declare what a high layer defines.

    check_layers.py TREE BUILD
"""
import fnmatch
import json
import pathlib
import re
import shlex
import subprocess
import sys

tree, build = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
table = {}
for line in (tree / "tests/rules/layers.txt").read_text().splitlines():
    if not line.startswith("#"):
        folder, allowed = line.split(":")
        table[folder] = allowed.split()
failures = []


def is_allowed(user, used):
    """Whether files of folder `user` may use folder `used`."""
    return user == used or any(
        used == a.removesuffix("/*") or fnmatch.fnmatch(used, a)
        for a in table.get(user, []))


def check_use(user, used, what):
    if not is_allowed(str(pathlib.PurePath(user).parent),
                      str(pathlib.PurePath(used).parent)):
        failures.append(f"{user} uses {used}: {what}")


sources = [p.relative_to(tree) for top in ("lib", "bench")
           for p in sorted((tree / top).rglob("*.[ch]"))
           if "peers" not in p.parts]
drivers_call = re.compile(
    r"(?<![A-Za-z0-9_\"])cl(Enqueue|Create|Build|Release|Set)\w*\(")
for path in sources:
    for line in (tree / path).read_text().splitlines():
        if m := re.match(r'\s*#\s*include "(.+)"', line):
            for top in ("lib", "bench"):
                if (tree / top / m[1]).exists():
                    check_use(path, f"{top}/{m[1]}", "#include")
        elif re.match(r"\s*#\s*include <(CL|OpenCL)/", line):
            failures.append(f"{path}: OpenCL is included by crosslane/cl.h")
        elif path.is_relative_to("lib/base") and (
                m := re.match(r"\s*#\s*include <crosslane/(.+)>", line)):
            if m[1] not in ("status.h", "dtype.h"):
                failures.append(f"{path}: base includes no OpenCL: {m[1]}")
        # Operations and expressions plan; they do not call the driver.
        if str(path).startswith(("lib/ops", "lib/expr")) and \
                drivers_call.search(line):
            failures.append(f"{path} calls the driver: {line.strip()}")

for path in sorted((tree / "include").rglob("*.h")):
    for line in path.read_text().splitlines():
        if re.match(r'\s*#\s*include "', line):
            failures.append(f"{path}: public headers include with <>")
        elif re.match(r"\s*#\s*include <(CL|OpenCL)/", line) and \
                path.name != "cl.h":
            failures.append(f"{path}: OpenCL is included by crosslane/cl.h")

objects = {}
for entry in json.loads((build / "compile_commands.json").read_text()):
    source = pathlib.Path(entry["file"])
    words = shlex.split(entry["command"])
    if source.is_relative_to(tree / "lib") or \
            source.is_relative_to(tree / "bench"):
        if "peers" not in source.parts:
            output = words[words.index("-o") + 1]
            objects[str(pathlib.Path(entry["directory"]) / output)] = \
                source.relative_to(tree)
defined, uses = {}, set()
symbols = subprocess.run(["nm", "-o", *objects], capture_output=True,
                         text=True, check=True).stdout
for line in symbols.splitlines():
    file, _, rest = line.rpartition(":")
    fields = rest.split()
    if len(fields) == 3 and fields[1] in "TDRBC":
        defined.setdefault(fields[2], objects[file])
    elif len(fields) == 2 and fields[0] == "U":
        uses.add((objects[file], fields[1]))
for source, name in sorted(uses):
    # Those outside the library call its public functions.
    is_outside = source.is_relative_to("bench") or \
        source.is_relative_to("lib/clblast")
    if name in defined and not (is_outside and
                                name.startswith("xl_") and
                                not name.startswith("xl__")):
        check_use(source, defined[name], name)

print("\n".join(failures))
print(f"{len(uses)} uses of symbols checked, {len(failures)} failures")
sys.exit(bool(failures) or not uses)
