#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wrong kernels on a real driver: each is made from ours by one change that
# the comparison of the self-check's results does not detect, and clbench must
# report which fault it was.
#
#   wrong_kernels.sh CLBENCH FOLDER SOURCE_DIR PYTHON
set -u

clbench=$1
folder=$2
source_dir=$3
python=$4
failed=0

rm -rf "$folder"
mkdir -p "$folder/cl"
cp -R "$source_dir"/cl/. "$folder/cl/" || exit 1

bad() {
    echo "FAILED: $*"
    sed 's/^/    /' "$folder/out"
    failed=1
}

# change FILE FROM TO: in the copy of a kernel; FROM is there.
change() {
    grep -qF "$2" "$folder/cl/$1" || bad "$1 has no: $2"
    "$python" - "$folder/cl/$1" "$2" "$3" <<'PYTHON'
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
open(path, "w").write(text.replace(old, new))
PYTHON
}

# run ARGUMENT...: clbench with the changed kernels.
run() {
    env XL_CL_DIR="$folder/cl" "$clbench" "$@" --quick \
        --json "$folder/rows.json" >"$folder/out" 2>&1
}

# row ID REASON: a row whose id begins so is rejected, for this reason.
row() {
    "$python" - "$folder/rows.json" "$1" "$2" <<'PYTHON' || bad "$1: not \"$2\""
import json, sys
path, begin, reason = sys.argv[1:]
rows = [r for r in json.load(open(path))["rows"] if r["id"].startswith(begin)]
sys.exit(not rows or any(r["verdict"] != "rejected" or
                         reason not in r["reason"] for r in rows))
PYTHON
}

# One element that is wrong, and one that is left as it was, among a hundred
# thousand: samples of them miss both.
change gemm/reference.cl "const ulong at = off_c" \
    "if (i == 300 && j == 277 && n == 320) sum += 50;
    if (i == 300 && j == 277 && n == 352) return;
    const ulong at = off_c"
run gemm 320x320x64 352x352x64 --variant gemm_ref
[ $? -eq 1 ] || bad "wrong results and another exit code"
row gemm/gemm_ref/m=320 "wrong result: C[300][277] is"
row gemm/gemm_ref/m=352 "element 105877 of the result was not written"

change normalization/softmax_reference.cl "result_of_x(at(r, j, src_step XL_PROLOGUE_ARGS), shift, share)" \
    "result_of_x(at(r, j, src_step XL_PROLOGUE_ARGS), shift, share) + HALF_IF(get_global_id(0), j)"
change normalization/softmax_reference.cl "#define RAISE(j)" \
    "#define HALF_IF(i, j) ((i) == 1000 && (j) == 77 ? 0.5f : 0.0f)
#define RAISE(j)"
run softmax 2000x300 --variant softmax_ref
row softmax/softmax_ref "wrong result: row 1000 adds up to 1.5"

# Memory that holds one word again and again.
change probe/bandwidth.cl "dst[at] = MIX(x);" "dst[at] = (words)(7);"
run probe bandwidth
row probe_bandwidth/copy "data that compress move faster"
row probe_bandwidth/read "data that compress move faster"

# A workspace that is read before it is written, to no effect where it is 0.
change quantised/widen.cl "        vstore8(LOAD_8(from + l), 0, to + row + l);" \
    "        vstore8(LOAD_8(from + l) + 0 * vload8(0, to + row + l), 0, to + row + l);"
run qgemm 4x512x512 --dtype f16 --variant qgemm_cpu
grep -q "qgemm_cpu: .* is -*nan, not" "$folder/out" ||
    bad "a workspace that is read before it is written"

# A store that is in no operand.
change quantised/widen.cl \
    "        vstore8(LOAD_8(from + l) + 0 * vload8(0, to + row + l), 0, to + row + l);" \
    "        vstore8(LOAD_8(from + l), 0, to + row + l);
    if (end == k && i + 1 == get_num_groups(1))
        to[row + k] = 1;"
run qgemm 4x512x512 --dtype f16 --variant qgemm_cpu
grep -qF "memory behind the workspace was written: byte 0" "$folder/out" ||
    bad "a store behind the workspace"

[ "$failed" -eq 0 ] && echo "all faults are caught"
exit "$failed"
