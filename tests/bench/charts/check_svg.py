# SPDX-License-Identifier: Apache-2.0
"""Pictures as a browser reads them: check_svg.py FOLDER PROGRAM [FILTER] lets
the program write pictures into the folder, check_svg.py FOLDER looks at those
that are there. Well-formed, told to those who do not see, without ids, no text
too small, beside the picture or over another one."""
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
    """What a text takes at least; None: it is turned."""
    if text.get("transform"):
        return None
    size, x, y = (float(text.get(n)) for n in ("font-size", "x", "y"))
    width = NARROW * size * len(text.text or "")
    x -= {"middle": width / 2, "end": width}.get(text.get("text-anchor"), 0)
    return x, y - 0.7 * size, x + width, y


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def complaints(root):
    _, _, width, height = (float(v) for v in root.get("viewBox").split())
    texts = list(root.iter(SVG + "text"))
    boxes = [(t, box_of(t)) for t in texts]
    if root.get("role") != "img" or not root.get("aria-label"):
        yield "no role or no label"
    if not root.findtext(SVG + "title") or not root.findtext(SVG + "desc"):
        yield "no title or no description"
    if width != 720:
        yield "not 720 wide"
    for e in root.iter():
        if e.get("id"):
            yield "an id, which another picture may have too"
        for name in NUMBERS:
            if e.get(name) and not math.isfinite(float(e.get(name))):
                yield f"{name} is {e.get(name)}"
        for name in ("d", "points"):
            if re.search("nan|inf", e.get(name, "")):
                yield f"{name} has what is no number"
    for text, box in boxes:
        if float(text.get("font-size")) < 11:
            yield f"too small: {text.text}"
        if box and not (box[0] >= 0 and box[1] >= 0 and box[2] <= width and
                        box[3] <= height):
            yield f"beside the picture: {text.text}"
    for i, (a, box_a) in enumerate(boxes):
        for b, box_b in boxes[:i]:
            if box_a and box_b and overlap(box_a, box_b):
                yield f"one over the other: {a.text} / {b.text}"


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
        for complaint in complaints(root):
            print(f"{name}: {complaint}")
            bad = True
    print(f"{len(names)} pictures looked at")
    return 1 if bad else 0


sys.exit(main())
