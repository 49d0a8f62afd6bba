#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels with one planted fault each: `clbench report --bug` must find it,
and the host program that it writes must reproduce it alone: exit code 1 with
the kernel as it was written, 0 with the fault mended in the same folder.

  bug_folder.py CLBENCH FOLDER SOURCE_DIR CC everyday|slow|full
"""
import os
import shutil
import subprocess
import sys

clbench, folder, source, cc, which = sys.argv[1:]
MOST_LINES = 149
MOST_KERNEL_LINES = 700

# Which of the plants a run has. Each run looks for the text of all.
PARTS = {"everyday": slice(0, 2), "slow": slice(2, None, 8),
         "full": slice(2, None)}
# variant, file, text, fault
PLANTS = [
    ("gemm_tiled", "gemm/tiled.cl",
     "gb += depth * sk_b;", "gb += (depth - 1) * sk_b;"),
    ("softmax_online", "normalization/softmax_item.cl",
     "run += e;", "run += 1.01f * e;"),
    ("attention_ref", "attention/reference.cl",
     "(c) * at.o.col, sums[c] * share);",
     "(c) * at.o.col, sums[c] * ((c) == 3 ? 1.5f : 1.0f) * share);"),
    ("expr_fused", "expr/math.clh",
     "float##S w = min(fabs(x),", "float##S w = min(fabs(x) * 1.01f,"),
    ("gemm_ref", "gemm/reference.cl",
     "for (ulong l = 0; l < k; l++)", "for (ulong l = k > 8; l < k; l++)"),
    ("gemm_cpu", "gemm/cpu.cl",
     "MUL_ADD((vec)(A_AT(a, r, u)), line[v], sum[r][v]);",
     "MUL_ADD((vec)(A_AT(a, r == 1 ? 0 : r, u)), line[v], sum[r][v]);"),
    ("gemm_simt", "gemm/simt.cl",
     "from->a[j] += TK * A_STEP;", "from->a[j] += (TK - 1) * A_STEP;"),
    ("gemm_skinny", "gemm/skinny_thread.cl",
     "sum = MUL_ADD((vec)(w[r][u]), x[u], sum);",
     "sum = MUL_ADD((vec)(w[r][u ? u - 1 : 0]), x[u], sum);"),
    ("softmax_ref", "normalization/softmax_reference.cl",
     "#define ADD(j) add(&sum,", "#define ADD(j) if (j != 7) add(&sum,"),
    ("softmax_backward_ref", "normalization/backward_reference.cl",
     "add(&all[t], one.of[t]);",
     "add(&all[t], j == 5 ? 0.0f : one.of[t]);"),
    ("norm_ref", "normalization/norm_reference.cl",
     "LOAD(BT, b.bias, (j)*bias_step);",
     "LOAD(BT, b.bias, (j ? j - 1 : 0)*bias_step);"),
    ("norm_online", "normalization/norm_item.cl",
     "squares += d * d;", "squares += d * d * 1.01f;"),
    ("norm_backward_ref", "normalization/backward_reference.cl",
     "add(&all[t], one.of[t]);",
     "add(&all[t], j == 3 ? -one.of[t] : one.of[t]);"),
    ("norm_backward_online", "normalization/backward_item.cl",
     "G_OF(r, gain, j), center);", "G_OF(r, gain, j), center + 0.01f);"),
    ("conv_ref", "conv/reference.cl",
     "for (ulong j = 0; j < s; j++)", "for (ulong j = s > 2; j < s; j++)"),
    ("conv_cpu", "conv/cpu.cl",
     "MUL_ADD((vec)(PA(u, r)), vb[v], sum[r][v]);",
     "MUL_ADD((vec)(PA(u, r)), vb[v] * 1.01f, sum[r][v]);"),
    ("conv_data_ref", "conv/backward_reference.cl",
     "for (ulong k = 0; k < kg; k++)", "for (ulong k = kg > 3; k < kg; k++)"),
    ("conv_filters_ref", "conv/backward_reference.cl",
     "for (ulong col = 0; col < q; col++)",
     "for (ulong col = q > 4; col < q; col++)"),
    ("attention_flash", "attention/tile.clh",
     "mad(a.w, b.w, mad(a.z, b.z,", "mad(a.w, b.z, mad(a.z, b.z,"),
    ("attention_cpu", "attention/cpu.cl",
     "MUL_ADD((vec)(a[r * lda + l]), line[v], sum[r][v]);",
     "MUL_ADD((vec)(a[r * lda + (l == 5 ? 4 : l)]), line[v], sum[r][v]);"),
    ("expr_unfused", "expr/expr.clh",
     "return x < 0.0f ? (real##S)(0.0f) : x;",
     "return x < 0.5f ? (real##S)(0.0f) : x;"),
]
failed = 0


def bad(*what):
    global failed
    failed = 1
    print("FAILED:", *what, flush=True)


def replace(path, old, new):
    """Whether the text was there."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace(old, new))
    return old in text


def run(command, where=None, **variables):
    return subprocess.run(command, cwd=where, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT,
                          env={**os.environ, **variables}, check=False)


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return sum(1 for _ in f)


def mend(out, fault, text):
    kernels = [os.path.join(out, k) for k in os.listdir(out)
               if k.endswith(".cl")]
    return any([replace(k, fault, text) for k in kernels])


def check_kernels(name, out):
    """Their sources are small: no conditional, no comment."""
    for path in sorted(os.listdir(out)):
        if not path.endswith(".cl"):
            continue
        with open(os.path.join(out, path), encoding="utf-8") as f:
            text = f.read()
        n = text.count("\n")
        print(f"  {path}: {n} lines", flush=True)
        left = [w for w in ("#if", "#el", "#endif", "/*", "//") if w in text]
        if left or n > MOST_KERNEL_LINES:
            bad(name, path, n, "lines, with", left)


def reproduce(name, out, fault, text):
    """The folder alone: no variable of crosslane, no other file."""
    if lines_of(os.path.join(out, "repro.c")) > MOST_LINES:
        bad(name, "host program of", lines_of(os.path.join(out, "repro.c")),
            "lines")
    built = run([cc, "-Wall", "-Wextra", "-Werror", "repro.c", "-lOpenCL",
                 "-o", "repro"], out)
    if built.returncode:
        return bad(name, "does not build:", built.stdout)
    wrong = run(["./repro"], out)
    if wrong.returncode != 1 or "WRONG" not in wrong.stdout:
        bad(name, "is not reproduced:", wrong.stdout)
    if not mend(out, fault, text):
        return bad(name, "has no kernel with the fault")
    right = run(["./repro"], out)
    if right.returncode != 0:
        bad(name, "without the fault:", right.stdout)
    return None


def plant(variant, path, text, fault):
    cl = os.path.join(folder, "cl")
    out = os.path.join(folder, f"bug-{variant}")
    kernel = os.path.join(cl, path)
    if not replace(kernel, text, fault):
        return bad(path, "has no:", text)
    found = run([clbench, "report", "--bug", variant, "--dtype", "f32",
                 "--output", out], XL_CL_DIR=cl)
    replace(kernel, fault, text)
    if found.returncode != 1 or not os.path.isdir(out):
        return bad(variant, "exit code", found.returncode, found.stdout)
    print(next(line.strip() for line in found.stdout.splitlines()
               if line.startswith("  ")),
          lines_of(os.path.join(out, "repro.c")), flush=True)
    check_kernels(variant, out)
    for name in ("README.txt", "device.txt", "inputs.bin"):
        if not os.path.exists(os.path.join(out, name)):
            bad(variant, "no", name)
    return reproduce(variant, out, fault, text)


def check_no_fault():
    """A right variant, a folder that exists, a variant that does not."""
    out = os.path.join(folder, "bug-right")
    right = run([clbench, "report", "--bug", "gemm_ref", "3x5x7", "--dtype",
                 "f64", "--output", out])
    if right.returncode or os.path.exists(out) or \
            "no wrong element in" not in right.stdout:
        bad("a right variant:", right.returncode, right.stdout)
    unknown = run([clbench, "report", "--bug", "gemm_tile"])
    if unknown.returncode != 2 or "did you mean gemm_tiled" not in \
            unknown.stdout:
        bad("an unknown variant:", unknown.returncode, unknown.stdout)


def check_shape():
    """A fault at one size is found only where the size is given, and a folder
    that exists is left alone."""
    cl = os.path.join(folder, "cl")
    out = os.path.join(folder, "bug-shape")
    kernel = os.path.join(cl, "gemm/reference.cl")
    text, fault = "SUM sum = 0;", "SUM sum = n == 77 && j == 76 ? 50 : 0;"
    replace(kernel, text, fault)
    command = [clbench, "report", "--bug", "gemm_ref", "33x77x20", "--dtype",
               "f32", "--output", out]
    found = run(command, XL_CL_DIR=cl)
    if found.returncode != 1 or " 1x77x1 f32" not in found.stdout:
        bad("a shape:", found.returncode, found.stdout)
    again = run(command, XL_CL_DIR=cl)
    if again.returncode != 4:
        bad("a folder that exists:", again.returncode, again.stdout)
    replace(kernel, fault, text)
    reproduce("a shape", out, fault, text)


shutil.rmtree(folder, ignore_errors=True)
shutil.copytree(os.path.join(source, "cl"), os.path.join(folder, "cl"))
for _, file, old, _ in PLANTS:
    with open(os.path.join(folder, "cl", file), encoding="utf-8") as kernel_file:
        if old not in kernel_file.read():
            bad(file, "has no:", old)
for row in PLANTS[PARTS[which]]:
    plant(*row)
if which == "everyday":
    check_no_fault()
    check_shape()
print("all faults were reproduced" if not failed else "failed")
sys.exit(failed)
