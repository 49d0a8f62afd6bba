# SPDX-License-Identifier: Apache-2.0
"""What torch_expr.py times: clbench's expressions (`clbench expr --list`), and
long reductions."""
import json
import math
import re
import subprocess
import sys

from .crosslane_library import BYTES, DTYPES, Binding, Mem, Tensor
from .crosslane_expr import ExprArgs
from .expr_counterparts import COUNTERPARTS, REDUCTION_CASES, parameters

ASSIGNMENT = r"\s*(\w+)(?:\[[^]]*\])?\s*=(?!=)"


class TensorShape:
    """What a name is bound to, as clbench writes it: "4096x64:f16". clbench
    also gives small cases strides; here all tensors are dense."""

    def __init__(self, text):
        size, *rest = text.split(":")
        self.size = [int(float(n)) for n in size.split("x")]
        self.dtype = next((r for r in rest if r in DTYPES), "f32")
        self.elems = math.prod(self.size)
        self.bytes = self.elems * BYTES[self.dtype]

    def tensor(self, mem):
        """crosslane's descriptor over a buffer."""
        t = Tensor(mem=Mem(mem, None), n_dims=len(self.size),
                   dtype=DTYPES[self.dtype])
        stride = 1
        for d in reversed(range(len(self.size))):
            t.size[d], t.stride[d] = self.size[d], stride
            stride *= self.size[d]
        return t


def parse_pairs(text):
    """"x=1,y=2" as a dictionary."""
    return dict(item.split("=", 1) for item in (text or "").split(",")
                if item)


def assigned_names(text):
    """The names that an expression assigns, in order. A last statement
    without an assignment assigns `out`."""
    names = re.findall("(?:^|;)" + ASSIGNMENT, text)
    if not re.match(ASSIGNMENT, text.split(";")[-1]):
        names.append("out")
    return list(dict.fromkeys(names))


class ExprCase:
    """One expression. Attributes: see result_rows.py, and

        tensors          TensorShape by name, of inputs and outputs
        scalars          values by name
        inputs, outputs  names of tensors; a tensor may be both"""
    op, unit, title, flop = "expr", "B/s", None, 0

    def __init__(self, row, tensors):
        """row: as `clbench expr --list` has it; tensors: "x=4096x64:f16,...",
        the row's small or timed sizes."""
        self.name, self.text = row["name"], row["text"]
        self.tensors = {name: TensorShape(text)
                        for name, text in parse_pairs(tensors).items()}
        self.scalars = {name: float(text.split(":")[0])
                        for name, text in
                        parse_pairs(row.get("scalars")).items()}
        self.ranges = parse_pairs(row.get("ranges"))
        self.outputs = [n for n in assigned_names(self.text)
                        if n in self.tensors]
        self.inputs = [n for n in parameters(self.name) if n in self.tensors]
        self.dtype = self.tensors[self.outputs[0]].dtype
        written = sum(self.tensors[n].bytes for n in self.outputs)
        self.bytes = written + sum(self.tensors[n].bytes for n in self.inputs)
        self.amount = self.bytes
        self.is_read_bound = 100 * written < self.bytes
        self.shape = {n: t.elems for n, t in self.tensors.items()}
        self.params = {"case": self.name}

    def args(self, mems, variant):
        """crosslane's arguments; mems: buffers by name."""
        names = list(self.tensors) + list(self.scalars)
        b = (Binding * len(names))()
        for i, name in enumerate(names):
            b[i].name = name.encode()
            if name in self.tensors:
                b[i].tensor = self.tensors[name].tensor(mems[name])
            else:
                b[i].is_scalar, b[i].scalar = True, self.scalars[name]
        args = ExprArgs(bindings=b, n_bindings=len(names),
                        variant=variant.encode())
        args.bindings_array = b  # keep it as long as the arguments
        return args

    def input_range(self, name):
        """(low, high) of a uniform input, "index": each element is its
        column, or None: the usual values of its type."""
        text = self.ranges.get(name)
        if text in (None, "index"):
            return text
        low, high = text.split(":")
        return float(low), float(high)


def read_cases(clbench, names, is_small):
    """The named cases, or all; with their small or their timed sizes."""
    done = subprocess.run([clbench, "expr", "--list", "--json", "-"],
                          stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit("%s expr --list failed with exit code %d" %
                 (clbench, done.returncode))
    sizes = "small" if is_small else "timed"
    rows = [r for r in json.loads(done.stdout)["cases"] if r.get(sizes)]
    rows += [r for r in REDUCTION_CASES if r.get(sizes)]
    known = {r["name"] for r in rows}
    for name in names:
        if name not in known:
            sys.exit("unknown case '%s': must be one of %s" %
                     (name, ", ".join(sorted(known))))
    missing = sorted(known - set(COUNTERPARTS))
    if missing:
        print("no counterpart in PyTorch: " + ", ".join(missing))
    return [ExprCase(r, r[sizes]) for r in rows if r["name"] in COUNTERPARTS
            and (not names or r["name"] in names)]
