#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clbench ab on the driver that the environment names: processes of two
# set-ups, their file, a side that fails, an interruption. The planted
# difference is 64 times the work, beyond any load.
# shellcheck source=tests/scripts/cli_support.sh
. "$(dirname "$0")/cli_support.sh"

run="softmax --quick --roofs theoretical"

# -- a difference, in the table and in the file -------------------------------
# shellcheck disable=SC2086 # words
expect 0 "64 times the work" "$clbench" ab --rounds 2 --json "$folder/ab.json" \
    -- 64x1024 4096x1024 $run
says "SLOWER"
says "b = '4096x1024'"
fits
is_plain
is_json "$folder/ab.json"
expect 0 "the file of both, compared" "$clbench" compare "$folder/ab.json"
says "SLOWER"
expect 5 "a gate on it" "$clbench" compare "$folder/ab.json" \
    --fail-on slower:5%
expect 0 "the file of both, reported" "$clbench" report "$folder/ab.json"
says "(a)"
says "(b)"

# -- equal sides, many words, variables ---------------------------------------
shapes="1x8 2x8 3x8 4x8 5x8 6x8 7x8 8x8 9x8 10x8 11x8 12x8 13x8 14x8 15x8"
# shellcheck disable=SC2086
expect 0 "equal sides" "$clbench" ab --rounds 1 --json "$folder/same.json" -- \
    'POCL_MAX_PTHREAD_COUNT=2 --seed 2' '' $run $shapes
says "few runs"
"$python" - "$folder/same.json" <<'PYTHON' >"$folder/why" 2>&1 || bad "$(cat "$folder/why")"
import json, sys
doc = json.load(open(sys.argv[1], encoding="utf-8"))
a, b = doc["sides"]
assert a["setup"] == "POCL_MAX_PTHREAD_COUNT=2 --seed 2" and b["setup"] == "", (a, b)
assert a["environment"]["variables"]["POCL_MAX_PTHREAD_COUNT"] == "2", a["environment"]
assert a["devices"] == b["devices"], (a["devices"], b["devices"])
assert len(doc["devices"]) == 2 and len(doc["rows"]) == 30, len(doc["rows"])
assert {r["seed"] for r in doc["rows"]} == {1, 2}
PYTHON

# -- sides that fail ----------------------------------------------------------
# shellcheck disable=SC2086
expect 3 "a side without a device" "$clbench" ab --json "$folder/none.json" -- \
    "OCL_ICD_VENDORS=$no_drivers" '' $run 8
warns "a ends with exit code 3"
[ ! -e "$folder/none.json" ] || bad "a file without a round"
expect 2 "a command that does not exist" "$clbench" ab -- '' '' gem
warns "gem"
refused 2 "ab" : ab 'only one'

# -- interrupted --------------------------------------------------------------
interrupt=$(find "$source_dir/tests" -name interrupt.py)
# shellcheck disable=SC2086
expect 130 "interrupted" "$python" "$interrupt" "$folder/i.json" \
    sides "$clbench" ab --rounds 50 --json "$folder/i.json" -- '' '' $run 8
is_json "$folder/i.json"
grep -q '"interrupted": true' "$folder/i.json" || bad "not marked"
says "softmax"
# One round, most likely, which is too few to decide.
"$clbench" compare "$folder/i.json" >"$out" 2>"$err" || warns "one round"
says "softmax"

finish
