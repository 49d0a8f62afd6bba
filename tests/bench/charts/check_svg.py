# SPDX-License-Identifier: Apache-2.0
"""Checks SVG figures: well-formed, with a text alternative, without ids, no
text too small, outside of the figure or over another text.

check_svg.py FOLDER PROGRAM [FILTER] runs the program, which writes figures into
the folder; check_svg.py FOLDER checks those that are there."""
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"
NARROW = 0.5  # of the size: hardly a typeface has narrower letters
NUMBERS = ("x", "y", "x1", "y1", "x2", "y2", "width", "height")


def box_of(text):
    """The least box of a text; None: it is rotated."""
    if text.get("transform"):
        return None
    size, x, y = (float(text.get(n)) for n in ("font-size", "x", "y"))
    width = NARROW * size * len(text.text or "")
    x -= {"middle": width / 2, "end": width}.get(text.get("text-anchor"), 0)
    return x, y - 0.7 * size, x + width, y


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def find_faults(root):
    _, _, width, height = (float(v) for v in root.get("viewBox").split())
    texts = list(root.iter(SVG + "text"))
    boxes = [(t, box_of(t)) for t in texts]
    if root.get("role") != "img" or not root.get("aria-label"):
        yield "no role or no label"
    if not root.findtext(SVG + "title") or not root.findtext(SVG + "desc"):
        yield "no title or no description"
    if width != 560:
        yield "not 560 wide"
    for e in root.iter():
        if e.get("id"):
            yield "an id, which another figure may have too"
        for name in NUMBERS:
            if e.get(name) and not math.isfinite(float(e.get(name))):
                yield f"{name} is {e.get(name)}"
        for name in ("x", "x1", "x2"):
            if not -0.5 <= float(e.get(name, 0)) <= width + 0.5:
                yield f"{name} is outside of the figure: {e.get(name)}"
        for name in ("d", "points"):
            if re.search("nan|inf", e.get(name, "")):
                yield f"{name} has a value that is not a number"
    for text, box in boxes:
        if float(text.get("font-size")) < 11:
            yield f"too small: {text.text}"
        if (text.text or "").endswith(".."):
            yield f"cut: {text.text}"
        if box and not (box[0] >= 0 and box[1] >= 0 and box[2] <= width and
                        box[3] <= height):
            yield f"outside of the figure: {text.text}"
    for i, (a, box_a) in enumerate(boxes):
        for b, box_b in boxes[:i]:
            if box_a and box_b and overlap(box_a, box_b):
                yield f"overlapping: {a.text} / {b.text}"


def main():
    folder, program = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    if program:
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        subprocess.run(program, check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "XL_TEST_FIGURES": folder})
    names = sorted(n for n in os.listdir(folder) if n.endswith(".svg"))
    bad = not names
    for name in names:
        root = ET.parse(os.path.join(folder, name)).getroot()
        for fault in find_faults(root):
            print(f"{name}: {fault}")
            bad = True
    print(f"{len(names)} figures checked")
    return 1 if bad else 0


sys.exit(main())
