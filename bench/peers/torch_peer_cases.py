# SPDX-License-Identifier: Apache-2.0
"""One op of one shape: its sizes, its descriptor on our side."""
import os
import re

from torch_peer_ours import (ACCURACY, BYTES, DTYPES, Batch, Binding,
                             Epilogue, Gemm, Mat, Mem, Softmax, mat,
                             row_vector)

TRANS = ("nn", "nt", "tn", "tt")
OUT = {"i8": "i32", "f8e4m3": "bf16", "f8e5m2": "bf16"}
GELU = "gelu(y + bias)"


class GemmCase:
    op, unit = "gemm", "flop/s"

    def __init__(self, shape, dtype, trans="nn", batch=0, name=None,
                 accuracy="full", epilogue=None):
        self.m, self.n, self.k = shape
        self.dtype, self.trans, self.batch = dtype, trans, batch
        self.name, self.accuracy, self.epilogue = name, accuracy, epilogue
        self.out = OUT.get(dtype, dtype)
        self.shape = {"m": self.m, "n": self.n, "k": self.k}
        if batch:
            self.shape["batch"] = batch
        self.params = {"trans": trans, "out": self.out, "alpha": 1, "beta": 0}
        if accuracy != "full":
            self.params["accuracy"] = accuracy
        if epilogue:
            self.params["epilogue"] = epilogue
        count = batch or 1
        self.flop = 2 * self.m * self.n * self.k * count
        self.bytes = count * (
            BYTES[dtype] * (self.m * self.k + self.k * self.n) +
            BYTES[self.out] * self.m * self.n)
        self.amount = self.flop
        self.ta, self.tb = trans[0] == "t", trans[1] == "t"
        self.inputs = [
            (count, self.k, self.m) if self.ta else (count, self.m, self.k),
            (count, self.n, self.k) if self.tb else (count, self.k, self.n)]
        self.result = (count, self.m, self.n)

    def label(self):
        sizes = ([self.m] if self.m == self.n == self.k else
                 [self.m, self.n, self.k])
        return " ".join(
            [self.dtype, self.trans, "x".join(str(s) for s in sizes)] +
            (["batch=%d" % self.batch] if self.batch else []) +
            ([self.accuracy] if self.accuracy != "full" else []) +
            (["fused"] if self.epilogue else []))

    def ours(self, mems, variant=None, plain=False):
        """The descriptor over A, B, C and, with an epilogue, the bias. plain:
        without the epilogue."""
        a, b, c = mems[:3]
        steps = (self.m * self.k, self.k * self.n, self.m * self.n)
        op = Gemm(self.m, self.n, self.k,
                  mat(a, self.inputs[0][2], self.dtype, self.ta),
                  mat(b, self.inputs[1][2], self.dtype, self.tb),
                  mat(c, self.n, self.out), 1, 0, Mem(),
                  variant.encode() if variant else None,
                  Batch(self.batch, *(steps if self.batch else (0, 0, 0))))
        op.accuracy = ACCURACY[self.accuracy]
        if self.epilogue and not plain:
            names = (Binding * 1)(row_vector("bias", mems[3], self.n,
                                             self.out))
            op.epilogue = Epilogue(self.epilogue.encode(), names, 1)
            op.names = names  # lives as long as the descriptor
        return op

    def sides(self, x):
        """op(A) and op(B) of PyTorch's tensors."""
        return (x[0].mT if self.ta else x[0]), (x[1].mT if self.tb else x[1])


class SoftmaxCase:
    op, unit = "softmax", "B/s"
    accuracy, epilogue, batch = "full", None, 0

    def __init__(self, shape, dtype):
        self.rows, self.cols = shape
        self.dtype = self.out = dtype
        self.name = None
        self.shape = {"rows": self.rows, "cols": self.cols}
        self.params = {}
        self.flop = 5 * self.rows * self.cols
        self.bytes = 2 * self.rows * self.cols * BYTES[dtype]
        self.amount = self.bytes
        self.inputs = [shape]
        self.result = shape

    def label(self):
        return "%s softmax %dx%d" % (self.dtype, self.rows, self.cols)

    def ours(self, mems, variant=None, plain=False):
        views = [mat(mem, self.cols, self.dtype) for mem in mems[:2]]
        return Softmax(self.rows, self.cols, *views, 0, Mat(), Mem(),
                       variant.encode() if variant else None)


# -- from words ---------------------------------------------------------------


class BadShape(SystemExit):
    pass


def sizes_of(word, place):
    try:
        sizes = tuple(int(part) for part in word.split("x"))
    except ValueError:
        sizes = ()
    sizes = sizes * 3 if len(sizes) == 1 else sizes
    if len(sizes) not in (2, 3) or min(sizes) < 1:
        raise BadShape("torch_peer: %s: '%s' is no shape; give MxNxK or N, or "
                       "ROWSxCOLS of a softmax" % (place, word))
    return sizes


def shape_lines(name):
    """The lines of a file as clbench reads them (bench/shape_file.h): place,
    name, shape, and what else they say."""
    here = os.path.dirname(os.path.abspath(__file__))
    path = name
    if "." not in name and "/" not in name:
        path = os.path.join(here, "..", "shapes", name + ".txt")
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            title, words = re.match(r"(?:(.*?):(?=\s))?(.*)",
                                    line.split("#")[0].strip()).groups()
            words, said = words.split(), {}
            for word in words[1:]:
                key, equals, value = word.partition("=")
                if not equals:
                    key = "dtype" if word in DTYPES else "trans"
                    value = word
                said[key] = value
            if words:
                yield "%s:%d" % (name, number), title, words[0], said


def cases_of_file(file, dtypes=None, least_m=1, **settings):
    """GEMMs of a shape file; dtypes: of these types instead of the file's."""
    for place, name, word, said in shape_lines(file):
        shape = sizes_of(word, place)
        dtype = said.pop("dtype", "f32")
        trans = said.pop("trans", "nn")
        batch = int(said.pop("batch", "0"))
        if said or trans not in TRANS or len(shape) != 3:
            raise BadShape("torch_peer: %s: give MxNxK, a type, nn, nt, tn or "
                           "tt, batch=N" % place)
        if shape[0] >= least_m:
            for d in dtypes or [dtype]:
                yield GemmCase(shape, d, trans, batch, name, **settings)


def cases_of_words(words, dtypes, transes, **settings):
    """Each shape with each type and layout; two sizes are a softmax."""
    for word in words:
        sizes = sizes_of(word, "given")
        for dtype in dtypes:
            if len(sizes) == 2:
                yield SoftmaxCase(sizes, dtype)
                continue
            for trans in transes:
                yield GemmCase(sizes, dtype, trans, **settings)
