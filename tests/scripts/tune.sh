#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `clbench tune` among candidates that crash, hang or compute wrongly, killed
# and interrupted: each loses itself and nothing else.
#
#   tune.sh CLBENCH FOLDER SOURCE_DIR PYTHON
#
# Candidates are planted in a copy of the kernels: for one value of a tunable
# the kernel writes through a null pointer, for one of another it never ends,
# for one of a third it leaves its result as it was. Which values a search comes
# by is seen in a run without any.
set -u

clbench=$1
folder=$2
source_dir=$3
python=$4
failed=0
count=0

rm -rf "$folder"
mkdir -p "$folder"
out=$folder/out
err=$folder/err
# Sets and journals of this test's own; the job's cache of kernels.
XL_TUNED_DIR=$folder/sets
export XL_TUNED_DIR
cache=$XL_CACHE_DIR
mkdir -p "$cache"
# All time goes to building: small kernels for a small shape. How long that
# takes on a busy machine says nothing here.
search="tune gemm 16x24x40 --variant gemm_tiled --budget 1h"
patient="--patience 10m"

bad() {
    echo "FAILED: $what: $*"
    sed 's/^/    out: /' "$out" | tail -n 30
    sed 's/^/    err: /' "$err" | tail -n 30
    failed=1
}
# expect CODE WHAT COMMAND...: runs it, keeps $out and $err.
expect() {
    want=$1
    what=$2
    shift 2
    count=$((count + 1))
    "$@" >"$out" 2>"$err" </dev/null
    got=$?
    [ "$got" -eq "$want" ] || bad "exit code $got, not $want"
}
says() { tr -s ' \n' ' ' <"$out" | grep -q -- "$1" ||
    bad "stdout does not say \"$1\""; }
warns() { tr -s ' \n' ' ' <"$err" | grep -q -- "$1" ||
    bad "stderr does not say \"$1\""; }
fits() {
    long=$(LC_ALL=C awk 'length > 80 && !/saved in|\//' "$out")
    [ -z "$long" ] || bad "beyond 80 columns: $long"
}
# python WHAT ARGUMENT...: a program on standard input that must succeed.
check() {
    what=$1
    shift
    count=$((count + 1))
    "$python" - "$@" >"$err" 2>&1 || bad "$(cat "$err")"
}
journals() { find "$cache" -name '*.journal'; }
tune() { "$clbench" $search $patient "$@"; }

# -- bad input ----------------------------------------------------------------
expect 2 "an unknown op" "$clbench" tune gem 512
warns "there are: gemm"
expect 2 "a bad shape" "$clbench" tune gemm 5x
expect 2 "a bad budget" "$clbench" tune gemm 512 --budget 5d
warns "--budget"
expect 2 "no such device" "$clbench" tune gemm 512 --device 99
expect 2 "no such variant" "$clbench" tune gemm 512 --variant gemm_none
warns "must be one of gemm_"
expect 4 "a folder that is not there" tune --output "$folder/no/x.json"
expect 4 "a full disk" tune --output /dev/full
expect 3 "no driver" env OCL_ICD_VENDORS="$folder" "$clbench" tune gemm 512

journals | xargs rm -f

# -- candidates, tried and listed ---------------------------------------------
expect 0 "a dry run" tune --dry-run
says "gemm_tiled TM="
fits
begun=$(date +%s)
expect 0 "a search" tune --tries 12 --json "$folder/plain.json"
all_took=$(($(date +%s) - begun))
says "saved in $folder/sets"
fits
expect 0 "what there is" "$clbench" tune --list
says "gemm_tiled TM="
fits
rm -rf "$folder/sets"
journals | xargs rm -f

# -- planted ------------------------------------------------------------------
check "planting" "$folder/plain.json" "$source_dir/cl" "$folder/cl" <<'PYTHON'
import collections, json, pathlib, shutil, sys

found, source, copy = sys.argv[1:]
doc = json.load(open(found, encoding="utf-8"))
trials = doc["tuned"][0]["trials"]
assert len(trials) == 12, "not as many as were asked for: %d" % len(trials)
assert all(t["end"] in ("right", "slow") for t in trials), trials
kernel = next(pathlib.Path(source).rglob("gemm/tiled.cl"))
lines = kernel.read_text(encoding="utf-8").split("\n")
defined = {words[1] for words in map(str.split, lines)
           if words and words[0] in ("#ifndef", "#define") and words[1:]}

def tunables(trial):
    return dict(pair.split("=") for pair in trial["tunables"].split())

# Values beside the model's, of those that are tried first: what follows them
# depends on times, and so on the run. The rarest hangs, since that takes
# patience.
model, seen = tunables(trials[0]), collections.Counter()
for trial in trials[1:]:
    for name, value in tunables(trial).items():
        if name in defined and value != model[name]:
            seen[name, value] += 1
plants = []
for name, value in seen: # in the order they were met
    if len(plants) < 3 and name not in (p[0] for p in plants):
        plants.append((name, value))
plants.sort(key=seen.get)
assert len(plants) >= 3, seen
acts = [("hung", "for (volatile int spin = 1; spin;) {}"),
        ("crashed", "*(volatile __global float *)0 = 1.0f;"),
        ("wrong", "return;")]
text, bad = [], []
for (name, value), (end, act) in zip(plants, acts):
    text += ["#%s %s == %s" % ("elif" if text else "if", name, value), act]
    bad.append((name, value, end))
shutil.copytree(source, copy)
# Into the body of the kernel.
at = next(i for i, line in enumerate(lines) if line.startswith("gemm_tiled("))
at += lines[at:].index("{") + 1
lines[at:at] = text + ["#endif"]
kernel = next(pathlib.Path(copy).rglob("gemm/tiled.cl"))
kernel.write_text("\n".join(lines), encoding="utf-8")
json.dump(bad, open(copy + ".json", "w", encoding="utf-8"))
PYTHON
# One that builds is done long before all of those were.
patience=$((all_took > 5 ? all_took : 5))s
expect 0 "a search among planted ones" env XL_CL_DIR="$folder/cl" \
    "$clbench" $search --patience "$patience" --tries 20 \
    --json "$folder/planted.json"
warns "lost, crashed"
warns "SIGSEGV\\|ABORTING"
warns "lost, hung: .* no output for [0-9]* s"
warns "lost, wrong"
says "[1-9][0-9]* computed wrongly; [1-9][0-9]* crashed; [1-9][0-9]* hung"
fits
check "what was lost" "$folder/cl.json" "$folder/planted.json" <<'PYTHON'
import json, sys

bad, doc = (json.load(open(p, encoding="utf-8")) for p in sys.argv[1:])
got = doc["tuned"][0]

def end_of(candidate):
    values = dict(p.split("=") for p in candidate["tunables"].split())
    return next((e for n, v, e in bad if values[n] == v), None)

lost = [t for t in got["trials"] if end_of(t)]
for trial in got["trials"]:
    wanted = end_of(trial)
    assert trial["end"] in ([wanted] if wanted else ["right", "slow"]), trial
assert {t["end"] for t in lost} == {"hung", "crashed", "wrong"}, lost
assert got["lost"] == len(lost), got["lost"]
assert got["status"] == "XL_OK" and not end_of(got["winner"]), got["winner"]
assert len(doc["rows"]) == 2, doc["rows"]
PYTHON
rm -rf "$folder/sets"
journals | xargs rm -f

# -- killed, interrupted ------------------------------------------------------
what="killed in the middle"
"$clbench" $search $patient >"$out" 2>"$err" </dev/null &
pid=$!
n=0
while [ "$n" -lt 3 ] && kill -0 $pid 2>/dev/null; do
    sleep 0.2
    n=$(journals | xargs cat 2>/dev/null | grep -c '"right"')
done
# Its child too, though that hears and does nothing, as one in a driver.
child=$(cut -d ' ' -f 1 "/proc/$pid/task/$pid/children" 2>/dev/null)
[ -z "$child" ] || kill -STOP "$child"
kill -9 $pid
wait $pid 2>/dev/null
tries=0
while [ -n "$child" ] && [ "$tries" -lt 100 ] &&
    grep -q '^State:[[:space:]]*[^ZX]' "/proc/$child/status" 2>/dev/null; do
    sleep 0.1
    tries=$((tries + 1))
done
[ "$tries" -lt 100 ] || bad "its child lives on"
[ "$n" -ge 3 ] || bad "no three candidates in the journal"
n=$(journals | xargs cat | grep -c -v '"begun"')
expect 130 "goes on, and is interrupted" "$python" \
    "$source_dir/tests/scripts/interrupt.py" "$err" " of " \
    "$clbench" $search $patient --json "$folder/resumed.json"
warns "interrupted"
says "known from before"
says "candidates were tried: run it again to go on"
check "nothing was tried twice" "$folder/resumed.json" "$n" <<'PYTHON'
import json, sys

got = json.load(open(sys.argv[1], encoding="utf-8"))["tuned"][0]
n = int(sys.argv[2])
assert got["resumed"] == n, (got["resumed"], n)
assert not got["complete"]
PYTHON
[ -n "$(journals)" ] || bad "the journal is gone before it is done"

# -- complete -----------------------------------------------------------------
journals | xargs rm -f
expect 0 "all there is" "$clbench" tune gemm 8x9x10 --variant gemm_ref \
    --budget 1h $patient --output "$folder/own.json"
says "saved in $folder/own.json"
[ -z "$(journals)" ] || bad "a journal of what is done"
[ -s "$folder/own.json" ] || bad "nothing was saved"
cp "$folder/own.json" "$folder/before.json"
printf 'no json' >"$folder/own.json"
expect 4 "a file that is not ours" "$clbench" tune gemm 8x9x10 \
    --variant gemm_ref --output "$folder/own.json"
[ "$(cat "$folder/own.json")" = "no json" ] || bad "it was overwritten"

echo "$count steps"
[ "$failed" -eq 0 ] && echo "all as expected"
exit "$failed"
