#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Run a command on an OpenCL runtime that pip fetches, kept below a folder:
#
#   runtimes.sh intel|pocl FOLDER command...
#
# intel: Intel's CPU runtime (intel-opencl-rt, and intel-cmplr-lib-rt, which it
# needs and does not name). pocl: PoCL as built for pyopencl. What cannot be
# fetched, or has no compiler for this machine's processor, is said on a line
# that starts with SKIPPED.
set -eu

skip() { echo "SKIPPED: $*"; exit 0; }

name=$1
folder=$2/$name
shift 2

case $name in
intel)
    packages="intel-opencl-rt intel-cmplr-lib-rt"
    library=libintelocl.so
    platform="Intel(R) OpenCL"
    ;;
pocl)
    packages=pocl-binary-distribution
    library='libpocl-*.so'
    platform="Portable Computing Language"
    ;;
*)
    echo "runtimes.sh: no runtime \"$name\"" >&2
    exit 2
    ;;
esac

if [ ! -e "$folder/icd/$name.icd" ]; then
    python3 -m pip --version >/dev/null 2>&1 || skip "pip is not here"
    rm -rf "$folder"
    mkdir -p "$folder/wheels" "$folder/icd"
    # shellcheck disable=SC2086
    python3 -m pip download -q --only-binary :all: -d "$folder/wheels" \
        $packages || skip "pip could not fetch $packages"
    for wheel in "$folder"/wheels/*.whl; do
        python3 -m zipfile -e "$wheel" "$folder"
    done
    rm -rf "$folder/wheels"
    # What wheels would put into one lib folder, so that libraries find each
    # other; the loader stays the system's.
    mkdir -p "$folder/lib"
    for data in "$folder"/*.data/data/lib; do
        [ ! -d "$data" ] || mv "$data"/* "$folder/lib/"
    done
    rm -f "$folder"/lib/libOpenCL.so*
    find "$folder" -name "$library" >"$folder/icd/$name.icd"
fi
[ -s "$folder/icd/$name.icd" ] || skip "$packages holds no $library"

export OCL_ICD_VENDORS="$folder/icd"
export XL_TEST_PLATFORM="$platform"
# A runtime may abort while it is unloaded, after the last test: the result of
# the tests counts then.
log="$folder/output"
status=0
"$@" >"$log" 2>&1 || status=$?
if grep -q "error: unknown target CPU" "$log"; then
    skip "its compiler does not know this processor:" \
        "$(grep -m 1 "error: unknown target CPU" "$log")"
fi
cat "$log"
if [ "$status" -eq 134 ] && grep -q "can't release LLVM context" "$log" &&
    grep -q '\[  PASSED  \]' "$log" && ! grep -q '\[  FAILED' "$log"; then
    echo "runtimes.sh: the runtime aborted after the last test"
    status=0
fi
exit "$status"
