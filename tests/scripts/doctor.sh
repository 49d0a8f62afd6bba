#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `clbench doctor` among bad drivers: each is named, none is suffered.
#
#   doctor.sh CLBENCH FOLDER CC PYTHON FOLDER_OF_POCL FOLDER_OF_RUSTICL
#       FOLDER_OF_STUB DEVICE_OF_STUB
set -u

clbench=$1
folder=$2
cc=$3
python=$4
pocl=$5
rusticl=$6
stub=$7
XL_STUB_DEVICE=$8
export XL_STUB_DEVICE
failed=0
count=0

rm -rf "$folder"
mkdir -p "$folder"
out=$folder/out

# A driver out of C code: a folder of its own, with its .icd file.
driver() {
    mkdir -p "$folder/$1"
    printf '%s\n' "$2" >"$folder/$1.c"
    "$cc" -shared -fPIC -o "$folder/$1.so" "$folder/$1.c" || exit 1
    echo "$folder/$1.so" >"$folder/$1/$1.icd"
}

# doctor CODE FOLDER TEXT...: runs it with the drivers of FOLDER; says TEXT.
# Only what hangs on purpose is not waited for.
patience=10m
doctor() {
    want=$1
    vendors=$2
    shift 2
    count=$((count + 1))
    env OCL_ICD_VENDORS="$vendors" "$clbench" doctor \
        --patience "$patience" >"$out" 2>&1 </dev/null
    got=$?
    [ "$got" -eq "$want" ] || bad "$vendors" "exit code $got, not $want"
    # Lines are filled: a text may be broken over two.
    tr -s ' \n' ' ' <"$out" >"$out.line"
    for text in "$@"; do
        grep -q -- "$text" "$out.line" || bad "$vendors" "not said: $text"
    done
    long=$(LC_ALL=C awk 'length > 80 && NF > 2' "$out")
    [ -z "$long" ] || bad "$vendors" "beyond 80 columns: $long"
}

bad() {
    echo "FAILED: $*"
    sed 's/^/    /' "$out"
    failed=1
}

driver constructor '#include <signal.h>
__attribute__((constructor)) static void die(void) { raise(SIGSEGV); }'
driver address '#include <stdlib.h>
void *clGetExtensionFunctionAddress(const char *name)
{ (void)name; abort(); }'
driver leaves '#include <stdio.h>
#include <unistd.h>
void *clGetExtensionFunctionAddress(const char *name)
{ (void)name; fprintf(stderr, "no licence\033[31m\n"); _exit(7); }'
driver sleeps '#include <unistd.h>
void *clGetExtensionFunctionAddress(const char *name)
{ (void)name; for (;;) pause(); }'
driver empty 'int nothing;'
mkdir -p "$folder/missing" "$folder/blank" "$folder/none" "$folder/company"
echo "libno-such-driver.so.1" >"$folder/missing/missing.icd"
: >"$folder/blank/blank.icd"
cp "$pocl"/*.icd "$folder/address/address.icd" "$folder/company"

doctor 0 "$pocl" "1 device can be used" "device 0"
doctor 3 "$folder/none" "0 .icd files" "no device can be used"
doctor 3 "$folder/absent" "cannot be read"
doctor 3 "$folder/missing" "libno-such-driver.so.1, which does not load"
doctor 3 "$folder/blank" "blank.icd cannot be read, or is empty"
doctor 3 "$folder/empty" "gives no platform"
doctor 3 "$folder/constructor" "crashed (SIGSEGV) while being loaded"
doctor 3 "$folder/address" "crashed (SIGABRT) while being started"
doctor 3 "$folder/leaves" "exit code 7" "last line of its output: no licence.x1B"
patience=5s
doctor 3 "$folder/sleeps" "sleeps.so hung: killed after [0-9]* s"
patience=10m
doctor 3 "$folder/company" "address.icd: driver" "works when its driver is" \
    "can be used while address.icd is installed"
RUSTICL_ENABLE='' doctor 3 "$rusticl" "RUSTICL_ENABLE must name"
RUSTICL_ENABLE=llvmpipe doctor 0 "$rusticl" "1 device can be used"
# Each maker's advice on installing is for who sees no device at all.
doctor 3 "$folder/none" "By maker:" "PoCL works"
doctor 3 "$stub" "does not run a kernel" "above, each with what helps"
! grep -q "PoCL works" "$out" || bad "stub" "a driver that is there is advised"

# The document, and a place where it cannot be written.
env OCL_ICD_VENDORS="$pocl" "$clbench" doctor --patience "$patience" \
    --json - >"$out" 2>&1
"$python" - "$out" <<'PYTHON' || bad "the document"
import json, sys
doc = json.load(open(sys.argv[1], encoding="utf-8"))
assert doc["schema"] == "clbench-doctor/1"
assert doc["usable"] == 1 and doc["devices"][0]["works"] is True
assert doc["drivers"][0]["status"] == "ok", doc["drivers"]
for finding in doc["findings"]:
    assert finding["level"] in ("ok", "note", "problem"), finding
PYTHON
env OCL_ICD_VENDORS="$folder/constructor" "$clbench" doctor \
    --json "$folder/bad.json" >/dev/null 2>&1
grep -q '"status": "crashed"' "$folder/bad.json" || bad "status in JSON"
env OCL_ICD_VENDORS="$folder/none" "$clbench" doctor \
    --json "$folder/no/x.json" >"$out" 2>&1
[ $? -eq 4 ] || bad "an unwritable file"
env OCL_ICD_VENDORS="$pocl" "$clbench" doctor --patience "$patience" \
    --json /dev/full >"$out" 2>&1
[ $? -eq 4 ] || bad "a full disk"

echo "$count examinations"
[ "$failed" -eq 0 ] && echo "all as expected"
exit "$failed"
