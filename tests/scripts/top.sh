#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clbench top as its user sees it, with a stand-in for a vendor's library; and
# what it reports in the rows of a benchmark.
#
#   top.sh CLBENCH FOLDER PYTHON FOLDER_OF_THE_LIBRARY ICD_OF_A_CPU
set -u

clbench=$1
folder=$2
python=$3
library=$4
cpu_icd=$5
failed=0

rm -rf "$folder"
mkdir -p "$folder"
out=$folder/out
err=$folder/err
LD_LIBRARY_PATH=$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
XL_FAKE_NVML=$folder/answers
export LD_LIBRARY_PATH XL_FAKE_NVML

bad() {
    echo "FAILED: $what: $*"
    sed 's/^/    out: /' "$out" | tail -n 20
    sed 's/^/    err: /' "$err" | tail -n 20
    failed=1
}
expect() {
    want=$1
    what=$2
    shift 2
    "$@" >"$out" 2>"$err" </dev/null
    got=$?
    [ "$got" -eq "$want" ] || bad "exit code $got, not $want"
}
says() { grep -q -- "$1" "$out" || bad "stdout does not say \"$1\""; }
warns() { grep -q -- "$1" "$err" || bad "stderr does not say \"$1\""; }

cat >"$XL_FAKE_NVML" <<'ANSWERS'
clock_sm 1410
max_clock_sm 1980
temperature 61
power_mw 698500
power_limit_mw 700000
busy 100
memory_busy 45
memory_total 150754820096
memory_used 13207024435
reasons 4
ANSWERS

expect 0 "once into a pipe" "$clbench" top
says '100%'
says '12.3/140 GiB'
says '1410 MHz'
says '61 C'
says '698/700 W\|699/700 W'
says 'power limit'
if LC_ALL=C grep -q "$(printf '\033')" "$out"; then
    bad "escape sequences though not on a terminal"
fi
[ "$(wc -l <"$out")" -eq 4 ] || bad "not one table"
long=$(LC_ALL=C awk 'length > 80' "$out")
[ -z "$long" ] || bad "beyond 80 columns: $long"

expect 0 "several times" "$clbench" top --interval 0.1s --count 3
[ "$(grep -c '1410 MHz' "$out")" -eq 3 ] || bad "not three tables"

expect 0 "sources" "$clbench" top --list
says 'power_w *698 W  *nvmlDeviceGetPowerUsage\|power_w *699 W'
says 'nvmlDeviceGetPowerUsage'
says 'memory_temperature_c *-  *-'

expect 2 "too often" "$clbench" top --interval 0.01s
warns 'at least 0.1s'
expect 4 "a file that cannot be" "$clbench" top --json "$folder/no/where"
warns 'cannot be written'

if [ -w /dev/full ]; then
    expect 4 "a full disk" "$clbench" top -i 0.1s --json /dev/full
    warns 'cannot be written: No space left'
    [ "$(wc -l <"$err")" -eq 1 ] || bad "reported more than once"
fi

expect 0 "a log" "$clbench" top -i 0.1s -c 2 --json "$folder/log"
"$python" - "$folder/log" <<'PYTHON' >"$folder/why" 2>&1 || bad "$(cat "$folder/why")"
import json, sys

lines = [json.loads(line) for line in open(sys.argv[1])]
head, readings = lines[0], lines[1:]
assert head["schema"] == "clbench-top/1", head
assert head["devices"][0]["pci"] == "0000:00:06.0"
sources = head["devices"][0]["sources"]
assert sources["power_w"] == "nvmlDeviceGetPowerUsage", sources
assert len(readings) == 2, len(readings)
for r in readings:
    assert r["device"] == 0 and r["clock_hz"] == 1410e6, r
    assert r["throttle"] == ["power limit"], r
    assert "memory_temperature_c" not in r, r
assert readings[1]["t_s"] - readings[0]["t_s"] > 0.09
PYTHON
expect 0 "a log to standard output" "$clbench" top -i 0.1s -c 1 --json -
[ "$(wc -l <"$out")" -eq 2 ] || bad "not two lines"

# On a terminal it goes on; Ctrl-C ends it well, and leaves the last table.
what="Ctrl-C on a terminal"
"$python" - "$clbench" >"$out" 2>"$err" <<'PYTHON' || bad "$(cat "$err")"
import os, pty, signal, sys

pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[1], [sys.argv[1], "top", "-i", "0.1s"])
seen = b""
while seen.count(b"1410 MHz") < 3:  # the job's timeout ends what hangs
    seen += os.read(fd, 4096)
os.kill(pid, signal.SIGINT)
try:
    while True:
        more = os.read(fd, 4096)
        if not more:
            break
        seen += more
except OSError:
    pass
_, status = os.waitpid(pid, 0)
text = seen.decode()
assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, status
assert "Ctrl-C ends" in text, text
assert "\x1b[3A\r\x1b[J" in text, repr(text)
assert "\x1b[?" not in text, "a mode of the terminal is left changed"
assert "interrupted" not in text, text
PYTHON

# A CPU is read from the system's files, whatever library is there.
expect 0 "a CPU" env OCL_ICD_VENDORS="$cpu_icd" "$clbench" top --json "$folder/cpu" -c 1
"$python" - "$folder/cpu" <<'PYTHON' >"$folder/why" 2>&1 || bad "$(cat "$folder/why")"
import json, sys

lines = [json.loads(line) for line in open(sys.argv[1])]
reading = lines[1]
assert 0 <= reading["others"] <= reading["busy"] <= 1, reading
assert 0 < reading["memory_used_bytes"] < reading["memory_total_bytes"]
assert lines[0]["devices"][0]["sources"]["busy"] == "/proc/stat"
assert "power_limit_w" not in reading or reading["power_limit_w"] != 700
PYTHON

# What rows say of it.
expect 0 "rows of a CPU" env OCL_ICD_VENDORS="$cpu_icd" "$clbench" probe tile --quick --json "$folder/rows"
"$python" - "$folder/rows" <<'PYTHON' >"$folder/why" 2>&1 || bad "$(cat "$folder/why")"
import json, sys

rows = json.load(open(sys.argv[1]))["rows"]
looked = [r["conditions"] for r in rows if r["conditions"]]
assert looked, "no row was looked at"
for c in looked:
    assert c["readings"] >= 1 and c["span_ns"] >= 0, c
    assert c["others"] is None or 0 <= c["others"] <= 1, c
    assert c["memory_used_bytes"] > 0, c
PYTHON

[ "$failed" -eq 0 ] && echo "all as it should be"
exit "$failed"
