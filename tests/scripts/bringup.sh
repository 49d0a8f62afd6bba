#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A new device: everything that clbench can measure of it, each
# command in a process of its own with a limit, so that one that hangs or loses
# the device costs no more than itself. What each printed and the rows it
# measured go to a folder, with a line a command in summary.txt.
#
#   bringup.sh [-c CLBENCH] [-d DEVICE] [-s SECONDS] FOLDER [PART...]
#
# CLBENCH   the program; build/clbench if not given
# SECONDS   the limit of a command; 60 if not given
# PART      facts, verify, probes, suite, gemm, views; all if none is given.
#           verify=NAME and probes=NAME: of one variant, one probe
set -u

usage() {
    sed -n 's/^#   //p' "$0" >&2
    exit 2
}

clbench=build/clbench
device=0
seconds=60
while getopts c:d:s: option; do
    case $option in
    c) clbench=$OPTARG ;;
    d) device=$OPTARG ;;
    s) seconds=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || usage
folder=$1
shift
[ $# -gt 0 ] || set -- facts verify probes suite gemm views
mkdir -p "$folder" || exit 1
failed=0

# run NAME ARGUMENT...: NAME.txt is what it printed.
run() {
    name=$1
    shift
    start=$(date +%s)
    timeout -k 5 "$seconds" "$clbench" "$@" \
        >"$folder/$name.txt" 2>&1 </dev/null
    code=$?
    printf '%-28s %3d  %4d s  clbench %s\n' "$name" "$code" \
        "$(($(date +%s) - start))" "$*" | tee -a "$folder/summary.txt"
    [ "$code" -eq 0 ] || failed=1
}

# Of the device; NAME.json has the rows.
measure() {
    run "$@" --device "$device" --json "$folder/$1.json"
}

variants() {
    for what in "gemm 64" "conv 1x8x8x8:8x3x3" "softmax 64"; do
        # shellcheck disable=SC2086 # an op and its shape
        "$clbench" $what --explain --device "$device" 2>/dev/null </dev/null
    done | awk '$1 ~ /^[0-9]+[.]$/ { print $2 }' | sort -u
}

probes() {
    "$clbench" probe --list | awk '/^[a-z]/ { print $1 }'
}

part() {
    case $1 in
    facts)
        measure facts limits
        run doctor doctor
        ;;
    verify)
        for v in $(variants); do
            part "verify=$v"
        done
        ;;
    verify=*) measure "verify_${1#*=}" verify --variant "${1#*=}" ;;
    probes)
        for p in $(probes); do
            part "probes=$p"
        done
        ;;
    probes=*) measure "probe_${1#*=}" probe "${1#*=}" --quick ;;
    suite) # twice: do two runs agree?
        measure suite_1
        measure suite_2
        run agree compare "$folder/suite_1.json" "$folder/suite_2.json"
        ;;
    gemm)
        for t in f32 f16 bf16 i8 f8e4m3; do
            measure "gemm_$t" gemm 1024 2048 4096 --dtype "$t"
        done
        ;;
    views)
        measure roofline roofline
        measure pipeline pipeline --trace "$folder/pipeline.trace.json"
        measure split split gemm 2049
        ;;
    *)
        echo "bringup.sh: no part '$1'" >&2
        usage
        ;;
    esac
}

for p in "$@"; do
    part "$p"
done
exit "$failed"
