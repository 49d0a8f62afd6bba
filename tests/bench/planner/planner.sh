#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs `clbench plan` as a user: without any driver, and, with "measure",
# on the driver that the environment names.
#
#   planner.sh CLBENCH FOLDER PYTHON [measure]
set -u

clbench=$1
folder=$2
python=$3
mode=${4:-}
failed=0
count=0

# Relative paths: lines hold them, whatever the length of the folder's name.
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder" || exit 2
folder=.
out=$folder/out
COLUMNS=80
export COLUMNS

bad() {
    echo "FAILED: $what: $*"
    sed 's/^/    /' "$out"
    failed=1
}

# plan CODE WHAT ARGUMENT...: runs it and keeps its output.
plan() {
    expected=$1
    what=$2
    shift 2
    count=$((count + 1))
    "$clbench" plan "$@" >"$out" 2>&1 </dev/null
    got=$?
    [ "$got" -eq "$expected" ] || bad "exit code $got, not $expected"
    # Lines are filled: a text may be broken over two.
    tr -s ' \n' ' ' <"$out" >"$out.line"
}

says() {
    grep -q -- "$1" "$out.line" || bad "missing: $1"
}

fits() {
    long=$(LC_ALL=C awk 'length > 80 && !/^clbench: /' "$out")
    [ -z "$long" ] || bad "beyond 80 columns: $long"
    if LC_ALL=C grep -q "$(printf '\033')" "$out"; then
        bad "an escape sequence"
    fi
}

# holds FILE: a program on standard input finds no fault with it.
holds() {
    "$python" - "$1" >"$folder/why" 2>&1 || bad "$(cat "$folder/why")"
}

is_picture() {
    "$python" -c 'import sys, xml.dom.minidom as x
d = x.parse(sys.argv[1]).documentElement
assert d.tagName == "svg" and d.getElementsByTagName("text")' \
        "$1" >"$folder/why" 2>&1 || bad "$(cat "$folder/why")"
}

if [ "$mode" = measure ]; then
    plan 0 "measured here" --model llama-3.2-1b --json "$folder/here.json"
    # The higher of two measured rates; on a busy machine either.
    says "measured, \(read\|copy\)_bytes_per_s"
    says "measured, peak_"
    plan 0 "measured before" --model llama-3.2-1b --from "$folder/here.json" \
        --json "$folder/again.json"
    holds "$folder" <<'PYTHON'
import json, sys
a, b = (json.load(open(sys.argv[1] + name))["plan"]["devices"][0]
        for name in ("/here.json", "/again.json"))
assert a["device"] == 0 and b["device"] is None
assert a["decode"] == b["decode"] and a["decode"]["tokens_per_s"] > 0
assert a["curve"] == b["curve"]
PYTHON
    echo "$count plans"
    exit $failed
fi

# The numbers of the formula, worked out by hand.
plan 0 "a model by its numbers" --params 14e9 --layers 48 --kv-heads 8 \
    --head-dim 128 --weights int4 --context 32k --batch 8 \
    --bandwidth 1008GB/s --peak 165TFLOP/s --memory 80GB --link 31.5GB/s \
    --json "$folder/plan.json" --svg "$folder/plan.svg"
says "t = max((W + B KV) / bandwidth, 2 P B / peak)"
says "max((7 GB + 8 x 6.44 GB) / 1008 GB/s, 2 x 14e9 x 8 / 165 TFLOP/s)"
says "= 58.1 ms"
says "196608 B a token"
says "weights 7 6.52"
says "Load: 7 GB (6.52 GiB) / 31.5 GB/s = 222 ms"
says "What the bound means"
says " 8 58.1 ms 138 17.2 3.83 cache 58.7 yes"
says " 16 109 ms 147 9.16 4.07 cache 110 no"
says "set by kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
says "fits +++++------"
fits
is_picture "$folder/plan.svg"
grep -q "set by cache; does not fit<" "$folder/plan.svg" ||
    bad "the picture does not show what does not fit"
holds "$folder/plan.json" <<'PYTHON'
import json, sys
doc = json.load(open(sys.argv[1]))
assert doc["schema"] == "clbench/1" and doc["devices"] == []
plan = doc["plan"]
dev = plan["devices"][0]
cache = 2 * 48 * 8 * 128 * 2 * 32768
assert plan["memory"]["cache_bytes"] == 8 * cache
for step in dev["curve"]:
    b = step["batch"]
    t = max((7e9 + b * cache) / 1008e9, 2 * 14e9 * b / 165e12)
    assert abs(step["s"] - t) < 1e-9 * t, step
    assert step["fits"] == (step["total_bytes"] <= 80e9), step
assert [s["batch"] for s in dev["curve"]] == list(range(1, 129))
most = int(dev["most_batch"])
assert dev["curve"][most - 1]["fits"] and not dev["curve"][most]["fits"]
PYTHON
plan 0 "into a folder" --model phi-4 --bandwidth 1TB/s --svg "$folder/" \
    --quiet
is_picture "$folder/plan.svg"
says "give --peak"
says "give --link"
fits
plan 0 "models" --list
says "mixtral-8x7b 46.7e9 12.75e9 32 8 x 128"
fits
plan 0 "training" --model llama-3.1-8b --bandwidth 1TB/s --training \
    --memory 80GB
says "training, instead 128"
says "on 2"
fits
plan 0 "experts" --params 46.7e9 --active 12.9e9 --experts 2/8 --layers 32 \
    --kv-heads 8 --head-dim 128 --bandwidth 1TB/s
says "2 of 8 experts a layer"
says "Of experts W has those"
fits

# Devices of a file, one of them with a name that no terminal should see.
cat >"$folder/run.json" <<'JSON'
{"schema": "clbench/1", "rows": [], "devices": [
 {"index": 0, "name": "one \u001b[31m<b>&", "facts": [
  {"name": "read_bytes_per_s", "value": 1e12, "source": "measured"},
  {"name": "copy_bytes_per_s", "value": 2e12, "source": "measured"},
  {"name": "peak_f32_flop_per_s", "value": 50e12, "source": "measured"},
  {"name": "peak_matrix_f16_flop_per_s", "value": 400e12,
   "source": "measured"},
  {"name": "global_mem_bytes", "value": 80000000000, "source": "queried"}]},
 {"index": 1, "name": "never measured", "facts": []}]}
JSON
plan 0 "of a file" --model llama-3.1-8b --from "$folder/run.json" \
    --bandwidth 500GB/s --svg "$folder/both.svg" --batch 4
says "2000 GB/s measured, copy_bytes_per_s"
says "400 TFLOP/s measured, peak_matrix_f16_flop_per_s"
says "left out"
says "500 GB/s --bandwidth"
fits
is_picture "$folder/both.svg"
plan 0 "of a file, in f32" --model llama-3.1-8b --from "$folder/run.json" \
    --weights f32
says "50 TFLOP/s measured, peak_f32_flop_per_s"

# A config.json, and invalid ones.
cat >"$folder/config.json" <<'JSON'
{"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
 "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256}
JSON
plan 0 "a config.json" --model "$folder/config.json" --bandwidth 1TB/s
says "8.03e9 parameters"
says "32 layers, 8 key/value heads of 128"
echo '{' >"$folder/broken.json"
plan 2 "a broken config.json" --model "$folder/broken.json"
says "is not JSON"
plan 2 "no model"
says "missing: --params, --layers, --kv-heads, --head-dim"
plan 2 "an unknown model" --model lama-3.1-8b
says "did you mean 'llama-3.1-8b'"
plan 2 "no unit" --model phi-4 --bandwidth 500
says "such as 1008GB/s"
plan 2 "a negative context" --model phi-4 --context -5
says "such as 32768 or 32k"
plan 2 "a batch of none" --model phi-4 --batch 0
says "'0' for --batch"
plan 4 "no result file" --model phi-4 --from "$folder/config.json"
says "clbench/1"
echo '{"schema": "clbench/1", "rows": [], "devices": []}' >"$folder/none.json"
plan 2 "no device in it" --model phi-4 --from "$folder/none.json"
says "clbench roofline --json"
plan 4 "no file" --model phi-4 --from "$folder/absent.json"
says "cannot be read"
plan 4 "no folder" --model phi-4 --bandwidth 1TB/s --svg "$folder/a/b.svg"
says "cannot be written"
plan 3 "no driver" --model phi-4
says "give --bandwidth"
echo "$count plans"
exit $failed
