#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build a fuzz target with a compiler that has libFuzzer, and run it on a copy
# of its corpus: the same inputs each time, so that a test that passed fails by
# a change alone; or, to search further, new ones for a while.
#
#   run.sh TARGET CLANG SOURCE_DIR FOLDER      TARGET: store, expr, tune
#                                              or gguf
#   XL_FUZZ_SECONDS=3600                       new inputs, for so long
#   XL_FUZZ_RUNS=1000000                       so many inputs of gguf
set -eu

target=$1
clang=$2
source_dir=$3
folder=$4

cd "$source_dir"
case $target in
store)
    sources="lib/base/hash.c lib/base/alloc.c lib/runtime/store/entry.c"
    options=
    runs=1000000
    ;;
expr) # all of the compiler that needs no device
    # What functions that the fuzzer does not reach need may be undefined.
    sources="$(ls lib/expr/*/*.c lib/base/*.c lib/base/os/lock.c)
        lib/device/cl_info.c lib/device/facts.c lib/device/identify.c
        lib/device/listing.c lib/device/model.c lib/device/peak_rates.c
        lib/device/time_model.c lib/runtime/plan.c
        -ffunction-sections -Wl,--gc-sections -lOpenCL"
    options="-dict=$source_dir/tests/fuzz/expr.dict -max_len=1024 -timeout=60"
    runs=100000
    ;;
tune)
    sources="lib/base/error.c lib/base/alloc.c lib/base/str.c
        lib/runtime/tuned/tuned_file.c -ljansson"
    options="-max_len=4096"
    runs=100000
    ;;
gguf) # likewise; reading a model needs no device
    sources="bench/planner/gguf/config.c bench/planner/gguf/container.c
        bench/planner/gguf/file.c bench/planner/gguf/tensor_types.c
        bench/planner/forward/architecture.c
        bench/planner/forward/file_tensors.c bench/planner/models.c
        bench/results/json.c
        bench/cli/console.c bench/cli/table.c bench/host/host_info.c
        lib/base/alloc.c lib/base/dtype.c lib/base/half.c lib/base/numbers.c
        lib/base/str.c lib/ops/quantised/formats.c -Ibench -ljansson
        lib/base/os/files.c lib/base/os/clock.c"
    options="-max_len=20000"
    runs=${XL_FUZZ_RUNS:-50000}
    ;;
*)
    echo "no target '$target': store, expr, tune or gguf" >&2
    exit 2
    ;;
esac

mkdir -p "$folder"
echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' \
    >"$folder/probe.c"
if ! "$clang" -fsanitize=fuzzer "$folder/probe.c" -o "$folder/probe" \
        2>/dev/null; then
    echo "SKIPPED: $clang has no libFuzzer"
    exit 0
fi
corpus=corpus
rm -rf "$folder/corpus"
cp -r "tests/fuzz/corpus_$target" "$folder/corpus"
# shellcheck disable=SC2086 # lists of words
"$clang" -std=c11 -g -O1 -fsanitize=fuzzer,address,undefined \
    -fno-sanitize-recover=undefined -D_POSIX_C_SOURCE=200809L \
    -DCL_TARGET_OPENCL_VERSION=300 -Itests -Ilib -Iinclude \
    "tests/fuzz/fuzz_$target.c" $sources -lm -o "$folder/fuzz_$target"
if [ -n "${XL_FUZZ_SECONDS:-}" ]; then
    options="$options -max_total_time=$XL_FUZZ_SECONDS"
else # not by addresses that are compared, nor by the order of a folder
    options="$options -seed=1 -use_cmp=0 -runs=$runs"
    options="$options -seed_inputs=$(cd "$folder" && ls corpus/* | paste -s -d ,)"
    rm -rf "$folder/found"
    mkdir "$folder/found"
    corpus=found
fi
cd "$folder"
# shellcheck disable=SC2086
"./fuzz_$target" -print_final_stats=1 $options $corpus
