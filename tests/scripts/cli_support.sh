# SPDX-License-Identifier: Apache-2.0
# What the scripts cli_*.sh share: to run clbench and check its exit code, its
# output and its files. A script sources this file with its own arguments:
#
#   cli_*.sh CLBENCH FOLDER SOURCE_DIR PYTHON FOLDER_WITHOUT_DRIVERS
#
# A check of a message matches the exit status, the name and the value at fault
# and their position, not the sentence around them.
# shellcheck shell=sh
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

# expect CODE WHAT COMMAND...: run it, keep its output as $out and $err.
expect() {
    status=$1
    what=$2
    shift 2
    count=$((count + 1))
    "$@" >"$out" 2>"$err" </dev/null
    got=$?
    if [ "$got" -ne "$status" ]; then
        bad "exit code $got, not $status"
    fi
}

bad() {
    echo "FAILED: $what: $*"
    sed 's/^/    out: /' "$out" | tail -n 20
    sed 's/^/    err: /' "$err" | tail -n 20
    failed=1
}

says() { grep -q -- "$1" "$out" || bad "stdout lacks \"$1\""; }
warns() { grep -q -- "$1" "$err" || bad "stderr lacks \"$1\""; }
is_quiet() { [ ! -s "$1" ] || bad "$1 is not empty"; }
# refused CODE TEXT... : ARGUMENT...: clbench ends with CODE and prints nothing
# but a message, which has every TEXT.
refused() {
    code=$1
    shift
    texts=
    while [ "$1" != : ]; do
        texts="$texts
$1"
        shift
    done
    shift
    expect "$code" "clbench $*" "$clbench" "$@"
    is_quiet "$out"
    warns .
    while IFS= read -r text; do
        [ -z "$text" ] || warns "$text"
    done <<TEXTS
$texts
TEXTS
}

# No escape sequences.
is_plain() {
    if LC_ALL=C grep -q "$(printf '\033')" "$out" "$err"; then
        bad "escape sequences though not on a terminal"
    fi
}
# 80 columns; lines with a device's whole name or a path may be longer.
fits() {
    long=$(LC_ALL=C awk 'length > 80 && !/vendor table/' "$out" |
        grep -vF "$folder")
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
state = doc["state"]  # null: not observed
if state:
    assert state["text"].split()[0] == ("BUSY" if state["is_busy"]
                                        else "QUIET"), state
    assert not state["is_busy"] or state["others"] > 0.2, state
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

# Every tile is on a unit of the device and in the time of the launch.
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

# Fields, nesting, spans that end, and arrows from a call to what it starts.
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

finish() {
    echo "$count commands"
    [ "$failed" -eq 0 ] && echo "all as expected"
    exit "$failed"
}
