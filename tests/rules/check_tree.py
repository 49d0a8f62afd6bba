# SPDX-License-Identifier: Apache-2.0
"""Checks folders and names, so that a reader finds the room for a thing.

- The top level has what is listed here, no more, of the files that git tracks.
- A folder has at most 25 entries, except that of the public headers, one a
  subject, whose paths are part of the API.
- No file and no function has a bare generic word as its name.
- A struct tag is defined once in lib.
- No internal xl__x differs by one underscore from a public xl_x.
- No text has a phrase that plain technical English does without.

    check_tree.py TREE
"""
import collections
import pathlib
import re
import subprocess
import sys

MAX_ENTRIES = 25
GENERIC = set("""part whole where ready small rows bars words terms spell trial
    turn walk side story work place look tell take put one make do run""".split())

PHRASES = re.compile(
    r"\b(told|tells|whoever|reckon(s|ed|ing)?|held against|will not do"
    r"|in turns|the story|at hand|meanwhile|nobody|somebody|stands for)\b",
    re.IGNORECASE)

tree = pathlib.Path(sys.argv[1]).resolve()
failures = []
tops = ("lib", "cl", "include", "bench", "tests")
BESIDE = set(""".ci .clang-format .editorconfig .gitignore CHANGELOG.md
    CMakeLists.txt CMakePresets.json LICENSE README.md README.zh-CN.md
    quickstart vendor-notes""".split())


def files(*suffixes, tops=tops):
    for top in tops:
        for path in sorted((tree / top).rglob("*")):
            if path.suffix in suffixes and "__pycache__" not in path.parts:
                yield path


if (tree / ".git").exists():
    tracked = subprocess.run(["git", "-C", tree, "ls-files"], text=True,
                             stdout=subprocess.PIPE, check=True).stdout
    first = {line.split("/")[0] for line in tracked.splitlines()}
    failures += [f"{name}: not an entry of the top level"
                 for name in sorted(first - BESIDE - set(tops))]

for top in tops:
    for folder in [tree / top, *(tree / top).rglob("*")]:
        # A corpus of a fuzzer is data: one input a file.
        if not folder.is_dir() or folder.name.startswith("corpus") or \
                folder.name == "__pycache__" or \
                folder == tree / "include/crosslane":
            continue
        n = sum(entry.name != "__pycache__" for entry in folder.iterdir())
        if n > MAX_ENTRIES:
            failures.append(f"{folder.relative_to(tree)}: {n} entries")

# A definition begins at the start of a line, and its body too.
function = re.compile(
    r"^(?!typedef|return|else|#)[A-Za-z_][\w \t*\n,()]*?\b(\w+)"
    r"\((?:[^(){};]|\([^(){};]*\))*\)\s*\n\{", re.MULTILINE)
for path in files(".c", ".h", ".cl", ".clh", ".py", ".sh", ".cmake"):
    name = path.relative_to(tree)
    if path.stem in GENERIC and path.name != "run.sh" and \
            path.name != "run.cmake":
        failures.append(f"{name}: a generic word as a file's name")
    if path.suffix in (".c", ".h"):
        for m in function.finditer(path.read_text()):
            if m[1].removeprefix("xl__").removeprefix("xl_") in GENERIC:
                failures.append(f"{name}: a generic word as the name of a "
                                f"function: {m[1]}")

tags = collections.defaultdict(list)
internal = set()
for path in files(".c", ".h", tops=("lib",)):
    text = path.read_text()
    for m in re.finditer(r"^(?:static const )?struct (\w+) \{", text,
                         re.MULTILINE):
        if path.suffix == ".h" or m[1].startswith("xl_"):
            tags[m[1]].append(str(path.relative_to(tree)))
    internal |= set(re.findall(r"\bxl__(\w+)", text))
for tag, places in tags.items():
    if len(places) > 1:
        failures.append(f"struct {tag} is defined in {', '.join(places)}")
public = set()
for path in files(".h", tops=("include",)):
    public |= set(re.findall(r"\bxl_([a-z]\w+)", path.read_text()))
for name in sorted(internal & public):
    failures.append(f"xl__{name} and xl_{name} differ by one underscore")

documents = [tree / "README.md", tree / "quickstart",
             *(tree / "vendor-notes").glob("*.md")]
for path in [*files(".c", ".h", ".hpp", ".cpp", ".cl", ".clh", ".py", ".sh",
                    ".cmake", ".md", ".txt"), *documents]:
    if path.name == pathlib.Path(__file__).name or "corpus" in str(path):
        continue
    for n, line in enumerate(path.read_text().splitlines(), 1):
        if m := PHRASES.search(line):
            failures.append(f"{path.relative_to(tree)}:{n}: '{m[0]}'")

print("\n".join(failures))
print(f"{len(failures)} failures")
sys.exit(bool(failures))
