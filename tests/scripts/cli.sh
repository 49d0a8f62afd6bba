#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clbench as its user sees it: exit codes, output, JSON, on the driver that the
# environment names.
#
#   cli.sh CLBENCH FOLDER SOURCE_DIR PYTHON FOLDER_WITHOUT_DRIVERS
set -u

clbench=$1
folder=$2
source_dir=$3
python=$4
no_drivers=$5
failed=0
count=0

rm -rf "$folder"
mkdir -p "$folder"
out=$folder/out
err=$folder/err

# expect CODE WHAT COMMAND...: runs it, keeps $out and $err.
expect() {
    want=$1
    what=$2
    shift 2
    count=$((count + 1))
    "$@" >"$out" 2>"$err" </dev/null
    got=$?
    if [ "$got" -ne "$want" ]; then
        bad "exit code $got, not $want"
    fi
}

bad() {
    echo "FAILED: $what: $*"
    sed 's/^/    out: /' "$out" | tail -n 20
    sed 's/^/    err: /' "$err" | tail -n 20
    failed=1
}

says() { grep -q -- "$1" "$out" || bad "stdout does not say \"$1\""; }
warns() { grep -q -- "$1" "$err" || bad "stderr does not say \"$1\""; }
is_quiet() { [ ! -s "$1" ] || bad "$1 is not empty"; }
# No escape sequences, and no line beyond 80 columns.
is_plain() {
    if LC_ALL=C grep -q "$(printf '\033')" "$out" "$err"; then
        bad "escape sequences though not on a terminal"
    fi
}
# 80 columns; the heading that gives a device's whole name may be longer.
fits() {
    long=$(LC_ALL=C awk 'length > 80 && !/vendor table/' "$out")
    [ -z "$long" ] || bad "beyond 80 columns: $long"
}
is_json() {
    "$python" - "$1" <<'PYTHON' >"$folder/why" 2>&1 || bad "$(cat "$folder/why")"
import json, sys

def refuse(name):
    raise ValueError("not JSON: " + name)

def pairs(items):
    keys = [k for k, _ in items]
    assert len(keys) == len(set(keys)), "a key twice: %s" % keys
    return dict(items)

with open(sys.argv[1], encoding="utf-8") as f:
    doc = json.load(f, parse_constant=refuse, object_pairs_hook=pairs)
assert doc["schema"] == "clbench/1", doc["schema"]
assert {"tool", "host", "environment", "devices", "rows"} <= set(doc)
for device in doc["devices"]:
    assert {"index", "name", "platform", "vendor", "driver", "uuid", "pci",
            "facts"} <= set(device), device
    for fact in device["facts"]:
        assert {"name", "value", "unit", "source", "note"} <= set(fact), fact
        assert fact["source"] in ("queried", "measured", "known", "assumed",
                                  "unknown"), fact
        assert (fact["value"] is None) == (fact["source"] == "unknown"), fact
for row in doc["rows"]:
    assert {"id", "device", "op", "variant", "shape", "params", "seed",
            "dtype", "runs", "samples_ns", "median_ns", "mad_ns", "value",
            "unit", "flop", "bytes", "roof", "cache", "clock", "verdict",
            "reason", "warnings"} <= set(row), row
    assert row["verdict"] in ("ok", "suspicious", "rejected", "unsupported",
                              "error"), row
    assert row["cache"] in ("hot", "cold", None), row
    assert row["clock"] in ("event", "wall", None), row
    assert row["runs"] == len(row["samples_ns"]), row
    # What a probe concluded has no time of its own.
    if row["verdict"] == "ok" and row["clock"]:
        assert row["runs"] > 0, row
    assert row["clock"] or row["op"].startswith("probe_") or \
        row["verdict"] != "ok", row
PYTHON
}

# Every piece on a unit there is, in the launch's time.
split_holds() {
    "$python" - "$1" <<'PYTHON' >"$folder/why" 2>&1 || bad "$(cat "$folder/why")"
import json, sys
page = json.load(open(sys.argv[1], encoding="utf-8"))["split"][0]
tiling = page["tiling"]
n = tiling["whole"] + tiling["sharers"]
assert page["measured"] or page["not_measured"], page
for name in "model", "measured":
    r = page[name]
    if not r:
        continue
    assert len(r["unit"]) == len(r["start_ns"]) == len(r["end_ns"]) == n, name
    assert all(0 <= u < r["units"] for u in r["unit"]), name
    assert r["load"]["units_used"] == len(set(r["unit"])), name
    for start, end in zip(r["start_ns"], r["end_ns"]):
        if start is not None:
            assert 0 <= start <= end <= r["total_ns"] * 1.000001, name
if page["unit_is_thread"]:  # a thread does one group at a time
    assert page["measured"]["load"]["beside"] in (0, 1), page["measured"]
PYTHON
}
is_picture() {
    "$python" -c 'import sys, xml.dom.minidom as x
d = x.parse(sys.argv[1]).documentElement
assert d.tagName == "svg" and len(d.getElementsByTagName("rect")) > 9' \
        "$1" >"$folder/why" 2>&1 || bad "$(cat "$folder/why")"
}

# Fields, nesting, spans that end, and arrows from a call to what it set going.
is_trace() {
    "$python" - "$1" <<'PYTHON' >"$folder/why" 2>&1 || bad "$(cat "$folder/why")"
import json, sys

STEP = 1e-3  # a nanosecond

with open(sys.argv[1], encoding="utf-8") as f:
    events = json.load(f)["traceEvents"]
complete, spans, arrows = {}, {}, {}
for e in events:
    assert {"ph", "pid", "tid", "name"} <= set(e), e
    assert e["ph"] in "MXbesf", e
    if e["ph"] == "M":
        assert e["args"]["name"], e
        continue
    assert e["ts"] >= 0, e
    track = (e["pid"], e["tid"])
    if e["ph"] == "X":
        assert e["dur"] >= 0, e
        complete.setdefault(track, []).append(
            (e["ts"], e["ts"] + e["dur"], e["name"]))
    elif e["ph"] in "be":
        open_ = spans.setdefault((e["cat"], e["id"]), [])
        if e["ph"] == "b":
            open_.append(e)
        else:
            begin = open_.pop()
            assert begin["name"] == e["name"] and begin["ts"] <= e["ts"], e
    else:
        arrows.setdefault(e["id"], {})[e["ph"]] = (e["ts"], track)
assert not any(spans.values()), "spans that do not end"
for track, list_ in complete.items():
    around = []
    for begin, end, name in sorted(list_, key=lambda x: (x[0], -x[1])):
        while around and around[-1] <= begin + STEP:
            around.pop()
        assert not around or end <= around[-1] + STEP, (track, begin, name)
        around.append(end)
for id_, ends in arrows.items():
    assert set(ends) == {"s", "f"}, (id_, ends)
    assert ends["s"][0] <= ends["f"][0] + STEP, (id_, ends)
    for at, track in ends.values():
        assert any(b - STEP <= at <= e + STEP for b, e, _ in complete[track])
assert complete, "no calls"
PYTHON
}

# -- 0: fine ------------------------------------------------------------------
expect 0 "version" "$clbench" --version
says "0.1.0"
expect 0 "help" "$clbench" --help
says "usage"
fits
is_plain
for command in devices limits probe gemm softmax expr tune verify explain \
        split plan compare doctor cache completion; do
    expect 0 "help of $command" "$clbench" "$command" --help
    says "$command"
    fits
done
expect 0 "devices" "$clbench" devices
fits
is_plain
expect 0 "limits" "$clbench" limits
says "max_wg_size"
fits
for shell in bash zsh fish man; do
    expect 0 "completion $shell" "$clbench" completion "$shell"
    says "gemm"
    is_quiet "$err"
done
expect 0 "explain" "$clbench" explain gemm 100x90x80
says "gemm_ref"
fits
expect 0 "doctor" "$clbench" doctor --patience 10m
expect 0 "cache list" "$clbench" cache list
expect 0 "cache stats" "$clbench" cache stats
expect 0 "cache verify" "$clbench" cache verify

# -- results ------------------------------------------------------------------
# --max-time only bounds what hangs: kernels may have to be built first.
expect 0 "gemm, table and file" "$clbench" gemm 33x17x9 --max-time 5000 \
    --json "$folder/a.json" --trace "$folder/g.json"
says "33x17x9"
is_trace "$folder/g.json"
fits
is_plain
is_json "$folder/a.json"
expect 0 "all variants to stdout" "$clbench" gemm 40x23x17 --dtype f16 \
    --trans nt --variant all --max-time 5000 --json -
is_json "$out"
expect 0 "8-bit floats" "$clbench" gemm 40x23x17 --dtype f8e5m2 \
    --accuracy fast --variant gemm_ref --max-time 5000
says "f8e5m2"
says "accuracy=fast"
expect 0 "shapes that come with it" "$clbench" gemm --list
says "gemm_llm"
fits
printf 'small one: 33x17x9 f16 nt\n16 batch=3 # f32\n' >"$folder/s.txt"
expect 0 "shapes of a file" "$clbench" gemm --shapes "$folder/s.txt" --quick \
    --max-time 5000 --json "$folder/f.json"
says "small one"
says "16^3 x3"
fits
is_json "$folder/f.json"
expect 0 "a sweep" "$clbench" gemm --sweep n=60:68:4 --max-time 5000 \
    --json "$folder/sweep.json"
says "68^3"
says "waves"
fits
is_json "$folder/sweep.json"
grep -q '"align_bytes": 16' "$folder/sweep.json" || bad "no alignment"
expect 0 "reads by tile" "$clbench" gemm 64 --reads --json "$folder/r.json"
says "128x128"
fits
is_json "$folder/r.json"
# How fast a busy machine is says nothing here: 0, or 5 beyond the bound.
"$clbench" gemm --cliff 2 --seed 3 --max-time 5000 --json "$folder/c.json" \
    >"$out" 2>"$err"
got=$?
what="random shapes"
[ "$got" -eq 0 ] || [ "$got" -eq 5 ] || bad "exit code $got"
fits
is_json "$folder/c.json"
expect 0 "softmax" "$clbench" softmax 7x100 --max-time 5000 \
    --json "$folder/s.json"
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
expect 0 "expr in place" "$clbench" expr 'y = a * x + y' \
    --shape x=5x7:f16:t:pad3,y=5x7:off1 --scalar a=2 --quick --max-time 5000
expect 0 "expr explained" "$clbench" expr 'relu(a * x + b)' \
    --shape x=100x90,b=90 --scalar a=3 --explain --json "$folder/x.json"
says "expr_unfused"
says "computes"
fits
is_json "$folder/x.json"
expect 0 "expr, its source" "$clbench" expr 'x + 1' --shape x=100 --source
says "__kernel"
expect 0 "quiet" "$clbench" gemm 16 --quiet --max-time 5000 \
    --json "$folder/q.json"
is_json "$folder/q.json"
expect 0 "colour off" env NO_COLOR=1 COLUMNS=60 "$clbench" gemm 16 \
    --max-time 5000
is_plain
expect 0 "compare with itself" "$clbench" compare "$folder/a.json" \
    "$folder/a.json" --fail-on slower:50%,rejected,missing
says "1.000"
says "The same device, driver"
says "gate slower:50%: passed"
fits
expect 0 "compare repeats, as files" "$clbench" compare \
    "$folder/a.json,$folder/a.json" "$folder/a.json" --html "$folder/c.html" \
    --csv "$folder/c.csv" --markdown "$folder/c.md"
says "1.000"
grep -q "<svg" "$folder/c.html" || bad "no picture in the page"
grep -q "^| gemm" "$folder/c.md" || bad "no row in Markdown"
grep -q "time_b_over_a" "$folder/c.csv" || bad "no header in CSV"
expect 0 "other libraries in one table" "$clbench" compare \
    "$folder/a.json" "$folder/f.json" "$folder/a.json"
says "c/a"
says "geometric mean"
fits
expect 0 "portability" "$clbench" compare --portability "$folder/a.json" \
    "$folder/f.json"
says "PP roof"
fits
expect 0 "pipeline" "$clbench" pipeline 4x64x32 --stages qk,softmax --quick \
    --json "$folder/p.json" --trace "$folder/t.json"
says "overlapped"
says "Bound by"
fits
is_plain
is_json "$folder/p.json"
is_trace "$folder/t.json"
grep -q '"of_slowest"' "$folder/p.json" || bad "the file lacks the verdict"
expect 0 "every device" "$clbench" gemm 16 --all-devices --max-time 5000

# -- 1: a wrong result --------------------------------------------------------
# A kernel that is wrong on purpose; the self-check must strike it.
cp -r "$source_dir/cl" "$folder/cl"
sed 's/ fma(x, y, sum)/ fma(x + x, y, sum)/' "$source_dir/cl/common/gemm.clh" \
    >"$folder/cl/common/gemm.clh"
expect 1 "wrong kernels" env XL_CL_DIR="$folder/cl" XL_CACHE_DIR=off \
    "$clbench" gemm 20x30x40 --variant gemm_ref --max-time 5000

# Tiles of 256 x 128, worked out by hand; nothing runs.
expect 0 "split, what if" "$clbench" split gemm 2049 --tile 256x128 \
    --units 132 --sweep nm=1780:2060 --svg "$folder/" --json "$folder/w.json"
says "153 in all; useful area 83.7%"
says "2 on 132 units; the last fills 21 of 132 slots; fill 58%"
says " 2048    128      1  97.0%  100.0%        97.0%"
fits
is_plain
is_json "$folder/w.json"
is_picture "$folder/split-gemm-2049.svg"
expect 0 "split, without a driver" env OCL_ICD_VENDORS="$no_drivers" \
    "$clbench" split gemm 128 --tile 8x8 --units 4
says "256 in all"
expect 0 "split, on the device" "$clbench" split gemm 100x90x80 \
    --svg "$folder/split.svg" --json "$folder/p.json"
says "Which unit ran which"
says "Imbalance"
fits
is_plain
is_json "$folder/p.json"
is_picture "$folder/split.svg"
split_holds "$folder/p.json"
expect 0 "split, of a variant" "$clbench" split gemm 100x90x80 \
    --variant gemm_tiled --json "$folder/p.json"
says "The sawtooth"
fits
split_holds "$folder/p.json"
expect 0 "split, sizes timed" "$clbench" split gemm 24 --variant gemm_simt \
    --sweep nm=16:32:8 --json "$folder/p.json"
says "Measured: 3 sizes"
says " 24 .*FLOP/s"
fits
grep -q '"size": 32' "$folder/p.json" || bad "no rate of 32"
expect 2 "gemm, without time" "$clbench" gemm 24 --max-time 0.001
warns "ended it before all"
expect 0 "split, without time" "$clbench" split gemm 24 --max-time 0.001
says "max-time ended"
fits
expect 0 "split of rows" "$clbench" split softmax 300x100 --units 3
says "on 3 units"
fits
expect 0 "split of a convolution" "$clbench" split conv 1x8x9x9:8x3x3
fits

# -- 2: usage -----------------------------------------------------------------
expect 2 "unknown command" "$clbench" nonsense
warns "nonsense"
is_quiet "$out"
expect 2 "unknown option" "$clbench" gemm --nonsense
warns "nonsense"
expect 2 "unknown probe" "$clbench" probe bandwith
warns "'bandwith'; did you mean 'bandwidth'? there are: timer,"
expect 2 "unknown device" "$clbench" --device 99
warns "99"
is_quiet "$out"
expect 2 "unknown device name" "$clbench" devices --device abacus
expect 2 "bad shape" "$clbench" gemm 12x
warns "12x"
expect 2 "zero size" "$clbench" gemm 0x4x4
expect 2 "overflowing size" "$clbench" gemm 99999999999999999999
expect 2 "bad dtype" "$clbench" gemm --dtype f13 16
expect 2 "bad seed" "$clbench" gemm --seed x 16
expect 2 "missing argument" "$clbench" compare
expect 2 "no such gate" "$clbench" compare "$folder/a.json" \
    "$folder/a.json" --fail-on faster:5%
warns "slower:P%"
expect 2 "unknown shell" "$clbench" completion tcsh
expect 2 "wrong expression" "$clbench" expr 'sin(x' --shape x=10
warns "1:6: "
warns "^  sin(x"
warns "^       ^"
is_quiet "$out"
expect 2 "wrong in line 2" "$clbench" expr "a = x
  y = a + foo(x)" --shape x=3
warns "2:11: "
expect 2 "expr without shapes" "$clbench" expr 'x + y'
warns "--shape x="
expect 2 "expr of shapes that do not fit" "$clbench" expr 'x + y' \
    --shape x=4,y=5
warns "do not broadcast"
expect 2 "output that does not fit" "$clbench" expr 'x + 1' --shape x=4,out=5
warns "without its --shape"
expect 2 "name that is not used" "$clbench" expr 'x + 1' --shape x=4,zz=4
warns "zz"
expect 2 "bad size" "$clbench" expr 'x + 1' --shape x=4y4
warns "x=4y4"
expect 2 "parts of nothing" "$clbench" expr 'y[:2] = x' --shape x=2
warns "--shape y="
expect 2 "options without a text" "$clbench" expr --explain
expect 2 "unknown variant of expr" "$clbench" expr 'x + 1' --shape x=4 \
    --variant expr_magic
warns "expr_fused"
expect 2 "no such sweep" "$clbench" gemm --sweep q=1:2
warns "WHAT=FROM:TO"
expect 2 "lines that are too short" "$clbench" gemm 64 --sweep ld=60:70
warns "less than a row"
expect 2 "split of nothing" "$clbench" split gemm
expect 2 "split of no op" "$clbench" split abacus 16
warns "gemm, conv, softmax"
expect 2 "split of size 0" "$clbench" split gemm 0x4x4
warns "a size is 0"
expect 2 "tile beyond the result" "$clbench" split gemm 100 --tile 256x128
warns "larger than the result"
expect 2 "no tile" "$clbench" split gemm 100 --tile 8y8
warns "8y8"
expect 2 "more tiles than can be shown" "$clbench" split gemm 1000000 \
    --tile 1x1 --units 4
warns "more than"
expect 2 "more than fits" "$clbench" split gemm 99999999999x99999999999x1 \
    --tile 1x1 --units 4
expect 2 "too many units" "$clbench" split gemm 64 --tile 8x8 --units 9999999
warns "at most"
expect 2 "no units" "$clbench" split gemm 64 --tile 8x8 --units 0
expect 2 "tiles of a convolution" "$clbench" split conv 1x8x9x9:8x3x3 \
    --tile 8x8
warns "gemm or softmax"
expect 2 "sawtooth of k" "$clbench" split gemm 64 --sweep k=1:9
warns "nm=1780:2060"
expect 2 "no products" "$clbench" gemm 16 --batch 0
expect 2 "unknown mode" "$clbench" pipeline --mode pinned,overlaped
warns "did you mean 'overlapped'"
is_quiet "$out"
expect 2 "unknown stage" "$clbench" pipeline --stages qk,sofmax
warns "did you mean 'softmax'"
expect 2 "pipeline of nothing" "$clbench" pipeline 0x512x128
warns "a size is 0"
expect 2 "pipeline that overflows" "$clbench" pipeline 4000000000x4000000000x1
warns "64 bits"
expect 2 "no chunks" "$clbench" pipeline --chunks 0
expect 2 "too many chunks" "$clbench" pipeline --chunks 65
warns "at most 64"
expect 2 "unknown variant" "$clbench" gemm 16 --variant gemm_magic

# -- 3: no usable device ------------------------------------------------------
expect 3 "no driver" env OCL_ICD_VENDORS="$no_drivers" "$clbench"
warns "driver"
is_quiet "$out"
expect 3 "no driver, devices" env OCL_ICD_VENDORS="$no_drivers" "$clbench" \
    devices

# -- 4: files -----------------------------------------------------------------
expect 4 "unwritable file" "$clbench" gemm 16 --max-time 5000 \
    --json "$folder/none/x.json"
warns "none/x.json"
for option in json csv markdown html; do
    expect 4 "a folder for a file" "$clbench" gemm 16 --$option "$folder"
    warns "Is a directory"
    is_quiet "$out"
done
expect 4 "unwritable picture" "$clbench" split gemm 64 --tile 8x8 --units 4 \
    --svg "$folder/none/x.svg"
warns "none/x.svg"
expect 4 "full disk" "$clbench" gemm 16 --max-time 5000 --json /dev/full
expect 4 "unwritable trace" "$clbench" pipeline 4x64x32 --quick \
    --trace "$folder/none/t.json"
warns "none/t.json"
is_quiet "$out"
# What was found before is kept.
expect 4 "no space for the trace" "$clbench" pipeline 4x64x32 --quick \
    --stages qk --mode pinned --json "$folder/n.json" --trace /dev/full
warns "/dev/full"
says "First call"
grep -q '"first_built"' "$folder/n.json" || bad "the first call is lost"
expect 4 "no folder for what is found" env XL_TUNED_DIR=off "$clbench" \
    tune gemm 16 --budget 1h
warns "XL_TUNED_DIR is 'off'"
is_quiet "$out"
expect 4 "no place for what is found" env XL_TUNED_DIR="$folder/a.json/sets" \
    "$clbench" tune gemm 16 --budget 1h
warns "a.json/sets: "
is_quiet "$out"
expect 4 "no such text" "$clbench" expr "@$folder/none.txt"
expect 4 "no such file" "$clbench" compare "$folder/none.json" \
    "$folder/a.json"
printf '{"schema": "clbench/1", "rows": [' >"$folder/broken.json"
expect 4 "no such shapes" "$clbench" gemm --shapes gemm_nothing
warns "gemm_square"
printf '\n8 f17\n' >"$folder/bad.txt"
expect 4 "wrong shapes" "$clbench" gemm --shapes "$folder/bad.txt"
warns "bad.txt:2:3: 'f17'"
expect 4 "broken file" "$clbench" compare "$folder/broken.json" \
    "$folder/a.json"

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
says "SLOWER, gate"
says "FAILED"

# -- 130: interrupted ---------------------------------------------------------
# What there is is kept and printed.
expect 130 "interrupted" "$python" "$source_dir/tests/interrupt.py" "$folder/i.json" \
    probe_timer "$clbench" probe timer coalescing --full \
    --json "$folder/i.json"
is_json "$folder/i.json"
says "event_over_wall"
expect 130 "pipeline interrupted" "$python" "$source_dir/tests/interrupt.py" \
    "$folder/j.json" first_built "$clbench" pipeline 4x64x32 --full \
    --json "$folder/j.json" --trace "$folder/u.json"
is_json "$folder/j.json"
is_trace "$folder/u.json"
says "First call"

echo "$count commands"
[ "$failed" -eq 0 ] && echo "all as expected"
exit "$failed"
