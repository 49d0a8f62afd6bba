# SPDX-License-Identifier: Apache-2.0
"""Filters an image by an expression, which becomes one kernel:

    python3 image_filter.py [EXPRESSION [IN.ppm OUT.ppm]]

Names: x, the pixels, 0 to 1, of (rows, columns, 3); n s w e, those north, south,
west and east of them. Without files it compares an image with NumPy.
"""
import re
import sys

import crosslane as xl
import numpy as np
SHARPEN = "clamp(x + 0.8 * (x - (n + s + w + e) / 4), 0, 1)"


def read(path):
    with open(path, "rb") as file:
        head = b"".join(file.readline() for _ in range(3)).split()
        assert head[0] == b"P6", f"{path}: no binary PPM"
        pixels = np.frombuffer(file.read(), np.uint8)
    return pixels.reshape(int(head[2]), int(head[1]), 3) / np.float32(255)


def write(path, image):
    with open(path, "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (image.shape[1], image.shape[0]))
        file.write((255 * image + 0.5).astype(np.uint8).tobytes())


def neighbours(p):
    """Views of an image with a margin of one pixel."""
    return dict(x=p[1:-1, 1:-1], n=p[:-2, 1:-1], s=p[2:, 1:-1],
                w=p[1:-1, :-2], e=p[1:-1, 2:])


def filtered(image, text):
    margin = np.pad(image, ((1, 1), (1, 1), (0, 0)), "edge")
    names = neighbours(xl.default_queue().array(margin))
    return xl.expr(text, **{name: view for name, view in names.items()
                            if re.search(rf"\b{name}\b", text)})


def main(text=SHARPEN, source=None, target=None):
    if source:
        return write(target, filtered(read(source), text).numpy())
    rows, cols = np.mgrid[:240, :320]
    image = np.float32(np.dstack([rows / 240, cols / 320, rows // 8 % 2]))
    found = filtered(image, text).numpy()
    p = neighbours(np.pad(image, ((1, 1), (1, 1), (0, 0)), "edge"))
    around = (p["n"] + p["s"] + p["w"] + p["e"]) / 4
    sharp = np.clip(p["x"] + np.float32(0.8) * (p["x"] - around), 0, 1)
    error = abs(found - sharp).max()
    print("differs from NumPy by at most", error)
    return int(text == SHARPEN and error > 1e-6)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
