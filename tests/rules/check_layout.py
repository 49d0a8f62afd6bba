# SPDX-License-Identifier: Apache-2.0
"""Checks the layout of every public struct against layout.txt.

The structs are read from include/crosslane; a program that the compiler builds
prints the size of each one, and the offset, size and type of each member.
layout.txt is that of a 64-bit Linux; xl_member_at() is made from its names and
types. What may change in which release: crosslane.h.

    check_layout.py TREE CC            compare
    check_layout.py TREE CC --write    replace layout.txt
"""
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

tree, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
stored = tree / "lib/layout.txt"


def split(text, separator):
    """The parts of `text` between separators outside of all brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "({[") - (c in ")}]")
        if c == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


def members(body):
    """The name and the type of each of a struct's members; of an array the
    type of an element."""
    for declaration in split(body, ";"):
        if m := re.fullmatch(r"(?:struct|union)\s*\{(.*)\}", declaration, re.S):
            yield from members(m[1])  # without a name: its members are the
            continue                  # struct's own
        declaration = re.sub(r"\{.*\}", " ", declaration, flags=re.S)
        base = None
        for part in split(declaration, ","):
            name = (re.search(r"\(\s*\*\s*(\w+)", part) or
                    re.search(r"(\w+)\s*(?:\[[^]]*\]\s*)*$", part))
            before = part[:name.start(1)]
            base = base or " ".join(re.sub(r"[(*]", " ", before).split())
            yield name[1], ("(*)" if "(" in before else
                            base + " *" * before.count("*"))


headers = sorted((tree / "include").rglob("*.h"))
prints = {}  # by struct: what prints it
for header in headers:
    text = re.sub(r"/\*.*?\*/|//[^\n]*|^\s*#[^\n]*", " ", header.read_text(),
                  flags=re.S | re.M)
    for m in re.finditer(r"\bstruct\s+(\w+)\s*\{", text):
        name, body = m[1], split(text[m.end() - 1:], ";")[0]
        body = body[1:body.rindex("}")]
        prints[name] = [f'printf("{name} %zu\\n", sizeof(struct {name}));']
        for x, kind in members(body):
            prints[name].append(f'printf("    {x} %zu %zu {kind}\\n", '
                                f"offsetof(struct {name}, {x}), "
                                f"sizeof ((struct {name} *)0)->{x});")
if not prints:
    sys.exit(f"no struct in {tree}/include")
includes = [f"#include <{h.relative_to(tree / 'include')}>" for h in headers]
with tempfile.TemporaryDirectory() as folder:
    source, program = pathlib.Path(folder, "layout.c"), folder + "/layout"
    source.write_text("\n".join(
        ["#include <stddef.h>", "#include <stdio.h>", *includes,
         "int main(void) {", *sum((prints[s] for s in sorted(prints)), []),
         "return 0; }"]))
    subprocess.run([compiler, "-std=c11", f"-I{tree}/include", source, "-o",
                    program], check=True)
    found = subprocess.run([program], check=True, stdout=subprocess.PIPE,
                           text=True).stdout
head = ("# struct: its bytes; member: its offset, bytes and type. Written by "
        "check_layout.py.\n")
if "--write" in sys.argv[3:]:
    stored.write_text(head + found)
    sys.exit()
changes = list(difflib.unified_diff(
    stored.read_text().splitlines(), (head + found).splitlines(),
    "lib/layout.txt", "the headers", lineterm="", n=3))
if changes:
    sys.exit("\n".join(changes) + "\nThe layout of a public struct changed: "
             "see include/crosslane/crosslane.h. Where it may, write the new "
             "one with"
             f"\n    python3 {sys.argv[0]} {tree} {compiler} --write")
