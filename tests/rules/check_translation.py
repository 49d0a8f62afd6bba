# SPDX-License-Identifier: Apache-2.0
"""README.zh-CN.md has what README.md has, section by section: headings, blocks
of code, rows of tables, names, links, and words with a digit. Only comments of
shell commands may differ. An edit of one file alone is found.

check_translation.py SOURCE
"""
import collections
import itertools
import pathlib
import re
import sys

COMPARED = {
    "heading": r"^#+(?= )",
    "block of code": r"^```\w+\n(?:.*\n)*?```$",
    "row of a table": r"^\|",
    "name": r"`[^`\n]+`",
    "link": r"\]\((?!README)[^)]+\)",  # the two link to each other
    "word with a digit": r"\w*\d\w*",
}
FLAGS = re.MULTILINE | re.ASCII


def sections(text):
    """What each section has of each kind, counted."""
    text = re.sub(r" +# .*", "", text)
    for section in re.split(r"^(?=#+ )", text, flags=FLAGS):
        yield collections.Counter(
            (kind, found) for kind, pattern in COMPARED.items()
            for found in re.findall(pattern, section, FLAGS))


def differences(text, translation):
    return [f"{kind} {what!r}: {a[kind, what]} in README.md, "
            f"{b[kind, what]} in README.zh-CN.md"
            for a, b in itertools.zip_longest(
                sections(text), sections(translation),
                fillvalue=collections.Counter())
            for kind, what in a.keys() | b.keys()
            if a[kind, what] != b[kind, what]]


def main(source):
    text, translation = (
        pathlib.Path(source, name).read_text(encoding="utf-8")
        for name in ("README.md", "README.zh-CN.md"))
    found = differences(text, translation)
    for edit in [("\n## ", "\n### "), ("quickstart test ", "quickstart tes "),
                 (".alpha = 1", ".alpha = 2"), ("\n| Qualcomm", "\nQualcomm"),
                 ("`gemm_cpu`", "gemm_cpu"), ("(CHANGELOG.md)", "(CHANGES.md)"),
                 ("sm_90", "sm_91")]:
        if not differences(text, translation.replace(*edit, 1)):
            found.append(f"the edit {edit} is not found")
    if found:
        sys.exit("FAILED: " + "\n".join(found))


main(sys.argv[1])
