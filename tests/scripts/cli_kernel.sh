#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clbench kernel on the driver that the environment names: kernels of a user
# that are timed, compared and faulty. The first ones are the manual's.
# shellcheck source=tests/scripts/cli_support.sh
. "$(dirname "$0")/cli_support.sh"

cd "$folder" || exit 1
awk '/^```/ { on = 0 } on { print } /^```opencl/ { on = 1 }' \
    "$source_dir/bench/README.md" >transpose.cl
cat >faults.cl <<'CL'
kernel void right(global const float *in, global float *out, int n)
{
    const int i = get_global_id(0);
    if (i < n)
        out[i] = 2 * in[i];
}
kernel void wrong(global const float *in, global float *out, int n)
{
    const int i = get_global_id(0);
    if (i < n)
        out[i] = i == 777 ? 2.001f * in[i] : 2 * in[i];
}
kernel void near_enough(global const float *in, global float *out, int n)
{
    const int i = get_global_id(0);
    if (i < n)
        out[i] = 2.000001f * in[i];
}
kernel void not_a_number(global const float *in, global float *out, int n)
{
    const int i = get_global_id(0);
    if (i < n)
        out[i] = i == 42 ? NAN : 2 * in[i];
}
kernel void behind(global const float *in, global float *out, int n)
{
    out[get_global_id(0)] = 2;
}
kernel void before(global const float *in, global float *out, int n)
{
    const int i = get_global_id(0);
    if (i < n)
        out[i] = 2;
    if (i == 3)
        out[-2] = 0;
}
kernel void input(global float *in, global float *out, int n)
{
    const int i = get_global_id(0);
    if (i < n)
        out[i] = 2;
    if (i == 3)
        in[5] = 0;
}
kernel void unwritten(global const float *in, global float *out, int n)
{
    const int i = get_global_id(0);
    if (i < n && i != 99)
        out[i] = 2 * in[i];
}
CL
cat >counts.cl <<'CL'
#if WIDTH == 3
#error no such width
#endif
kernel void count(global const uchar *data, global uint *bins, local uint *own)
{
    const size_t l = get_local_id(0);
    for (size_t i = l; i < BINS; i += get_local_size(0))
        own[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < WIDTH; k++)
        atomic_inc(&own[data[get_global_id(0) * WIDTH + k]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t i = l; i < BINS; i += get_local_size(0))
        atomic_add(&bins[i], own[i]);
}
kernel void one_by_one(global const uchar *data, global uint *bins,
                       local uint *own)
{
    atomic_inc(&bins[data[get_global_id(0)]]);
}
CL
# Short, since each row is a check of all that follows it.
brief="--quick --roofs theoretical --max-time 60"

# row_is VERDICT WORD...: the only row's verdict, and words of its reason.
row_is() {
    "$python" - "$@" <<'PYTHON' >why 2>&1 || bad "$(cat why)"
import json, sys
row, = json.load(open("r.json", encoding="utf-8"))["rows"]
assert row["verdict"] == sys.argv[1], row["verdict"]
for word in sys.argv[2:]:
    assert word in row["reason"], (word, row["reason"])
PYTHON
}

# -- the manual's example -----------------------------------------------------
square="--arg in:float:N*N --arg out:float:N*N --arg int=N --bytes 8*N*N"
expect 0 "kernels of a file" "$clbench" kernel transpose.cl --list
says "plain"
says "--arg in:float:LENGTH --arg inout:float:LENGTH --arg int=VALUE"
fits
# shellcheck disable=SC2086 # words
expect 0 "an axis of -D and sizes" "$clbench" kernel transpose.cl:tiled \
    --size N=50,101 -D TILE=4,8 $square $brief --local TILE,TILE --global \
    'round_up(N, TILE),round_up(N, TILE)' --check transpose.cl:plain@N,N \
    --json axes.json --csv axes.csv --html axes.html --markdown axes.md
says "N=50 TILE=4 .*B/s"
says "N=101 TILE=8"
says "1\.00x"
fits
is_plain
is_json axes.json
"$python" - <<'PYTHON' >why 2>&1 || bad "$(cat why)"
import json
doc = json.load(open("axes.json", encoding="utf-8"))
rows = doc["rows"]
assert [(r["shape"]["N"], r["params"]["TILE"]) for r in rows] == [
    (50, 4), (50, 8), (101, 4), (101, 8)], rows
for r in rows:
    n = r["shape"]["N"]
    assert r["op"] == "kernel" and r["variant"] == "tiled", r
    assert r["bytes"] == 8 * n * n and r["flop"] in (0, None), r
    assert r["unit"] == "B/s" and r["runs"] > 0 and r["clock"] == "event", r
    groups = -(-n // r["params"]["TILE"])
    assert r["launch"]["groups"] == groups * groups, r["launch"]
    assert r["params"]["of_best"] >= 1, r["params"]
assert "tile[TILE]" in doc["kernel"]["tested"]["text"]
PYTHON
expect 0 "its file, reported" "$clbench" report axes.json
says "N=101 TILE=8"
expect 0 "its file, compared" "$clbench" compare axes.json axes.json
says "kernel tiled N=50"
# shellcheck disable=SC2086
expect 0 "two kernels" "$clbench" kernel transpose.cl:plain --size N=64 \
    --against transpose.cl:tiled@N,N@16,16 --global N,N $square $brief
says "plain against .*tiled"
says "results are not compared: give --check"
says "^  N=64 *plain .*x "
says "^  N=64 *tiled .*x "

# Names that take too much room are in the note.
# shellcheck disable=SC2086
expect 0 "long names" "$clbench" kernel transpose.cl:plain --size N=8 $square \
    --global N,N -D A_LONG_NAME_OF_A_MACRO=1,20 -D AND_ANOTHER=4,5 $brief
says "N=8; a case is A_LONG_NAME_OF_A_MACRO, AND_ANOTHER"
says "^  20 4 "
fits

# -- results ------------------------------------------------------------------
line="--size N=1001 --arg in:float:N --arg out:float:N --arg int=N"
# shellcheck disable=SC2086
check() {
    expect "$1" "$2" "$clbench" kernel "faults.cl:$2" $line $brief --global N \
        --check faults.cl:right --json r.json
    fits
}
check 0 right
check 0 near_enough
check 1 wrong
row_is rejected "element 777 of argument 2 ('out:float:N')" "expected" \
    "tolerance 1.5e-05" "1 of 1001 differ"
check 1 not_a_number
row_is rejected "element 42 of argument 2" "is nan, expected"
check 1 unwritten
row_is rejected "element 99 of argument 2" "is nan, expected"
# shellcheck disable=SC2086
expect 0 "a wide tolerance" "$clbench" kernel faults.cl:wrong $line $brief \
    --global N --check faults.cl:right --tolerance 0.01
# shellcheck disable=SC2086
fault() {
    expect 1 "$1" "$clbench" kernel "faults.cl:$1" $line $brief \
        --global 'round_up(N, 64)' --local 64 --json r.json
}
fault behind
row_is rejected "outside of argument 2" "element 1001, where 1000 is the last"
fault before
row_is rejected "outside of argument 2" "element -2, where 1000 is the last"
fault input
row_is rejected "wrote to argument 1, 'in:float:N'; give it as inout"
fault unwritten
row_is rejected "element 99 of the result was not written"
# What one variant destroys, the next one has again.
# shellcheck disable=SC2086
expect 1 "a fault beside a right kernel" "$clbench" kernel faults.cl:input \
    --against faults.cl:right --check faults.cl:right $line $brief --global N
says "input .*rejected"
says "right .*[1-9]"

# -- integers, local memory, a variant that cannot be built -------------------
refused 2 "BINS is both a --size and a -D" : \
    kernel counts.cl:count --size N=1,BINS=2 -D BINS=256 --global N
# shellcheck disable=SC2086
expect 1 "integers" "$clbench" kernel counts.cl:count --size N=12288 \
    -D BINS=256 -D WIDTH=1,3,4 --arg in:uchar:N:below=256 \
    --arg inout:uint:256:zeros --arg local:uint:BINS --global N/WIDTH \
    --local 64 --check counts.cl:one_by_one@N@64 $brief --json i.json
says "WIDTH=1 .*us"
says "WIDTH=3 .*error"
says "WIDTH=4 .*us"
says "no such width"
warns "build log of BINS=256 WIDTH=3"
warns "no such width"
"$python" - <<'PYTHON' >why 2>&1 || bad "$(cat why)"
import json
doc = json.load(open("i.json", encoding="utf-8"))
logs = doc["kernel"]["build_logs"]
assert len(logs) == 1 and "no such width" in logs[0]["log"], logs
rows = {r["params"]["WIDTH"]: r for r in doc["rows"]}
assert rows[4]["unit"] == "s" and not rows[4]["roof"], rows[4]
assert abs(rows[4]["value"] * 1e9 / rows[4]["median_ns"] - 1) < 1e-6, rows[4]
assert rows[4]["launch"]["local_bytes"] >= 1024, rows[4]["launch"]
PYTHON

# -- mistakes -----------------------------------------------------------------
refused 2 "none.cl" "No such file" : kernel none.cl --global 1
refused 2 "missing --global" : kernel faults.cl:right
refused 2 "more than one kernel" "right, wrong" : kernel faults.cl --global 1
refused 2 "no kernel 'nope'" "right, wrong" : kernel faults.cl:nope --global 1
refused 2 "has 3 arguments, 0 --arg given" "in:float:LENGTH" : \
    kernel faults.cl:right --global 1
args() {
    what="kernel faults.cl:right --global 8"
    refused 2 "$1" "$2" : kernel faults.cl:right --global 8 --arg "$3" \
        --arg "$4" --arg "$5"
}
args "argument 1 of" "needs --arg in:float" in:int:8 out:float:8 int=8
args "argument 1 of" "needs --arg in:float" out:float:8 out:float:8 int=8
args "argument 3 of" "needs --arg int=VALUE" in:float:8 out:float:8 uint=8
args "argument 3 of" "needs --arg int=VALUE" in:float:8 out:float:8 in:int:8
args "'8/0'" "division by 0" in:float:8/0 out:float:8 int=8
args "'int=nan'" "column 1" in:float:8 out:float:8 int=nan
args "largest allocation" "smaller --size" in:float:1e13 out:float:8 int=8
refused 2 "does not divide" "round_up(100, 64)" : \
    kernel faults.cl:right --global 100 --local 64
refused 2 "--tolerance" : kernel faults.cl:right --global 8 --tolerance nan
expect 0 "too large a group" "$clbench" kernel faults.cl:right --size N=1e5 \
    --arg in:float:N --arg out:float:N --arg int=N --global N --local N \
    --quick --json r.json
row_is unsupported "work-group of 100000 items"

finish
