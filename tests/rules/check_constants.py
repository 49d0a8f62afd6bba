# SPDX-License-Identifier: Apache-2.0
"""Checks that no op and no expression has a constant of a device: no number in
lib/ops and lib/expr cites a note. Numbers that were measured, and facts of
vendors, are in lib/device/model.h and the tables of lib/targets. A comment
that explains a rule or a defect may cite one.

A number cites a note if the comment with the note's id follows it on its line,
or precedes the declaration of a constant.

    check_constants.py TREE
"""
import pathlib
import re
import sys

NOTE = re.compile(r"\b(?:NV|AM|IN|CP|GE)-\d\d\b")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# Not 0, 1 and 2, which need no name, nor digits of a name or a text.
NUMBER = re.compile(r"(?<![\w.\"])(?![012]\b(?!\.))\d[\w.]*")
CONSTANT = re.compile(r"\s*(?:(?:static )?const\b|enum\b|#define\b)[^;]*;?")

tree = pathlib.Path(sys.argv[1]).resolve()
failures = []
for top in ("lib/ops", "lib/expr"):
    for path in sorted((tree / top).rglob("*.[ch]")):
        text = path.read_text()
        for m in COMMENT.finditer(text):
            note = NOTE.search(m[0])
            if not note:
                continue
            before = text[text.rfind("\n", 0, m.start()) + 1:m.start()]
            after = CONSTANT.match(text, m.end())
            if NUMBER.search(before) or not before.strip() and after and \
                    NUMBER.search(COMMENT.sub("", after[0])):
                line = text.count("\n", 0, m.start()) + 1
                failures.append(f"{path.relative_to(tree)}:{line}: a constant "
                                f"cites {note[0]}")

if failures:
    sys.exit("\n".join(failures) + "\nmove it to lib/device/model.h or a "
             "table of lib/targets")
