#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clbench's commands that measure, on the driver that the environment names:
# exit codes, tables, JSON, traces, and what compare makes of the files.
#
# Most of the time is the driver's compiler, so commands share shapes and types
# where the check allows it, and a command checks several options.
# shellcheck source=tests/scripts/cli_support.sh
. "$(dirname "$0")/cli_support.sh"

# -- 0: the device ------------------------------------------------------------
expect 0 "devices" env COLUMNS=80 "$clbench" devices
fits
is_plain
expect 0 "devices, in a pipe" "$clbench" devices
says "$("$clbench" devices --json - | "$python" -c \
    'import json, sys; print(json.load(sys.stdin)["devices"][0]["name"])' |
    sed 's/[][().*]/./g')"
expect 0 "facts" "$clbench" devices --verbose
says "max_wg_size"
fits
expect 0 "doctor" "$clbench" doctor --patience 10m

# -- results ------------------------------------------------------------------
# --max-time only bounds what hangs: kernels may have to be built first.
expect 0 "gemm, table and file" "$clbench" gemm 33x17x9 --max-time 5000 \
    --json "$folder/a.json" --trace "$folder/g.json"
says "33x17x9"
is_trace "$folder/g.json"
fits
is_plain
is_json "$folder/a.json"
expect 0 "explain" "$clbench" gemm 33x17x9 --explain
says "gemm_ref"
fits
for command in list stats verify; do
    expect 0 "cache $command" "$clbench" cache "$command"
    [ "$command" != list ] ||
        grep -o ' [0-9]*-[0-9-]* [0-9:]* ' "$out" | sort -rc ||
        bad "the last used is not first"
done
expect 0 "all variants to stdout" "$clbench" gemm 40x23x17 --dtype f16 \
    --trans nt --variant all --max-time 5000 --json -
is_json "$out"
expect 0 "8-bit floats, colour off" env NO_COLOR=1 COLUMNS=60 "$clbench" gemm \
    40x23x17 --dtype f8e5m2 --accuracy fast --variant gemm_ref \
    --max-time 5000
says "f8e5m2"
says "accuracy=fast"
is_plain
expect 0 "runs, warm-up, cold caches" "$clbench" softmax 9x70 --runs 4 \
    --warmup 3 --cold --max-time 5000 --json "$folder/runs.json"
says "cold caches, 4 runs, 3 of warm-up"
is_json "$folder/runs.json"
"$python" - "$folder/runs.json" <<'PYTHON' || bad "not as asked"
import json, sys
[row] = json.load(open(sys.argv[1], encoding="utf-8"))["rows"]
assert (row["runs"], row["warmup"], row["batch"]) == (4, 3, 1), row
assert row["cache"] == "cold" and row["sampled_s"] > 0, row
PYTHON
printf 'small one: 33x17x9 f16 nt\n16 batch=3 heads=2 # f32\n' >"$folder/s.txt"
expect 0 "shapes of a file" "$clbench" gemm --shapes "$folder/s.txt" --quick \
    --variant gemm_ref --max-time 5000 --json "$folder/f.json"
says "small one"
says "16^3 x6"
fits
is_json "$folder/f.json"
expect 0 "a sweep" "$clbench" gemm --sweep n=60:68:4 --quick --max-time 5000 \
    --json "$folder/sweep.json"
says "68^3"
says "waves"
fits
is_json "$folder/sweep.json"
grep -q '"align_bytes": 16' "$folder/sweep.json" || bad "no alignment"
expect 0 "reads by tile" "$clbench" gemm 64 --reads --quick \
    --json "$folder/r.json"
says "128x128"
fits
is_json "$folder/r.json"
expect 0 "memory traffic of attention" "$clbench" attention 1x2x256x32 \
    --causal --reads --quick --json "$folder/t.json"
says "bound"
says "Reads by rows of Q in a block"
fits
is_json "$folder/t.json"
# The speed of a busy machine is not checked: 0, or 5 beyond the bound.
"$clbench" gemm --cliff 2 --seed 3 --quick --max-time 5000 \
    --json "$folder/c.json" >"$out" 2>"$err"
got=$?
what="random shapes"
[ "$got" -eq 0 ] || [ "$got" -eq 5 ] || bad "exit code $got"
fits
is_json "$folder/c.json"
expect 0 "softmax, quiet, every device" "$clbench" softmax 7x100 --quick \
    --quiet --all-devices --max-time 5000 --json "$folder/s.json"
is_json "$folder/s.json"
expect 0 "expr, table and file" "$clbench" expr 'sin(x)^2 + cos(x)^2' \
    --shape x=4001 --quick --max-time 5000 --json "$folder/e.json"
says " fused "
says " unfused "
fits
is_plain
is_json "$folder/e.json"
grep -q '"text": "sin(x)^2 + cos(x)^2"' "$folder/e.json" ||
    bad "the file lacks the text"
printf '# rows\nm = mean(x, axis=-1)\nv = var(x, axis=-1)' >"$folder/rows.txt"
expect 0 "expr from a file" "$clbench" expr "@$folder/rows.txt" \
    --shape x=33x129:f16 --range x=-1:3 --quick --max-time 5000 --json -
is_json "$out"
says 'x=33x129:f16 m=33x1:f32 v=33x1:f32'
expect 0 "expr that overwrites its operand" "$clbench" expr 'y = a * x + y' \
    --shape x=5x7:f16:t:pad3,y=5x7:off1 --scalar a=2 --quick --max-time 5000
expect 0 "expr explained" "$clbench" expr 'relu(a * x + b)' \
    --shape x=100x90,b=90 --scalar a=3 --explain --json "$folder/x.json"
says "expr_unfused"
says "computes"
fits
is_json "$folder/x.json"
expect 0 "expr, its source" "$clbench" expr 'x + 1' --shape x=100 --source
says "__kernel"
refused 2 expr_magic expr_fused : expr 'x + 1' --shape x=100 \
    --variant expr_magic
expect 0 "pipeline" "$clbench" pipeline 4x64x32 --stages qk,softmax --quick \
    --mode pinned,overlapped --chunks 2 --json "$folder/p.json" \
    --trace "$folder/t.json"
says "overlapped"
says "ound by"
fits
is_plain
is_json "$folder/p.json"
is_trace "$folder/t.json"
grep -q '"of_slowest"' "$folder/p.json" || bad "the file lacks the verdict"

# -- what compare makes of the files ------------------------------------------
expect 0 "compare with itself" "$clbench" compare "$folder/a.json" \
    "$folder/a.json" --fail-on slower:50%,rejected,missing
says "1.000"
says "same"
says "slower:50%.* passed"
fits
expect 0 "compare repeats, as files" "$clbench" compare \
    "$folder/a.json,$folder/a.json" "$folder/a.json" --markdown "$folder/c.md"
says "1.000"
grep -q "^| gemm" "$folder/c.md" || bad "no row in Markdown"
expect 0 "other libraries in one table" "$clbench" compare \
    "$folder/a.json" "$folder/f.json" "$folder/a.json"
says "c/a"
says "geometric mean"
fits
expect 0 "portability" "$clbench" compare --portability "$folder/a.json" \
    "$folder/f.json"
says "PP"
says "roof"
fits
refused 2 --fail-on "'faster:5%'" slower : compare "$folder/a.json" \
    "$folder/a.json" --fail-on faster:5%

# -- 1: a wrong result --------------------------------------------------------
# A kernel that is wrong on purpose: the self-check must reject it.
cp -r "$source_dir/cl" "$folder/cl"
header=$folder/cl/gemm/gemm.clh
sed 's/ fma(x, y, sum)/ fma(x + x, y, sum)/; s/((x) \* (y) + (sum))/(2 * (x) * (y) + (sum))/' \
    "$header" >"$folder/gemm.clh"
mv "$folder/gemm.clh" "$header"
expect 1 "wrong kernels" env XL_CL_DIR="$folder/cl" XL_CACHE_DIR=off \
    "$clbench" gemm 20x30x40 --quick --variant gemm_ref --max-time 5000

# -- 4: files -----------------------------------------------------------------
expect 4 "full disk" "$clbench" probe timer --quick --json /dev/full
warns "/dev/full"
# What was found before is kept.
expect 4 "no space for the trace" "$clbench" pipeline 4x64x32 --quick \
    --stages qk --mode pinned --json "$folder/n.json" --trace /dev/full
warns "/dev/full"
says "irst call"
grep -q '"first_built"' "$folder/n.json" || bad "the first call is lost"

# -- 5: a gate ----------------------------------------------------------------
# Noise of a busy machine is left out, which may hide a factor of 3.
"$python" - "$folder/a.json" "$folder/fast.json" "$folder/slow.json" <<'PYTHON'
import json, sys

def write(path, times):
    doc = json.load(open(sys.argv[1], encoding="utf-8"))
    for row in doc["rows"]:
        at = row["median_ns"]
        if at is None:
            continue
        row["samples_ns"] = [times * at * (1 + i / 1e4)
                             for i in range(-5, 6)]
        row["runs"] = len(row["samples_ns"])
        row["median_ns"], row["mad_ns"] = times * at, times * at * 3e-4
        row["min_ns"] = row["lo_ns"] = row["samples_ns"][0]
        row["p95_ns"] = row["hi_ns"] = row["samples_ns"][-1]
        row["value"] /= times
        row["verdict"], row["reason"], row["warnings"] = "ok", None, []
    json.dump(doc, open(path, "w", encoding="utf-8"))

write(sys.argv[2], 1)
write(sys.argv[3], 3)
PYTHON
expect 5 "three times slower" "$clbench" compare "$folder/fast.json" \
    "$folder/slow.json" --fail-on slower:5%
says "SLOWER"
says "FAILED"

# -- 130: interrupted ---------------------------------------------------------
# Results until then are kept and printed.
interrupt=$(find "$source_dir/tests" -name interrupt.py)
expect 130 "interrupted" "$python" "$interrupt" "$folder/i.json" \
    probe_timer "$clbench" probe timer coalescing --full \
    --json "$folder/i.json"
is_json "$folder/i.json"
says "event_over_wall"
expect 130 "pipeline interrupted" "$python" "$interrupt" \
    "$folder/j.json" first_built "$clbench" pipeline 4x64x32 --full \
    --json "$folder/j.json" --trace "$folder/u.json"
is_json "$folder/j.json"
is_trace "$folder/u.json"
says "irst call"

finish
