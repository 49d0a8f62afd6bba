#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build a fuzz target with a compiler that has libFuzzer, and let it run for a
# while on a copy of its corpus.
#
#   run.sh CLANG SOURCE_DIR FOLDER
set -eu

clang=$1
source_dir=$2
folder=$3
seconds=${XL_FUZZ_SECONDS:-20}

mkdir -p "$folder"
echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' \
    >"$folder/probe.c"
if ! "$clang" -fsanitize=fuzzer "$folder/probe.c" -o "$folder/probe" \
        2>/dev/null; then
    echo "SKIPPED: $clang has no libFuzzer"
    exit 0
fi
rm -rf "$folder/corpus"
cp -r "$source_dir/tests/fuzz/corpus_store" "$folder/corpus"
"$clang" -std=c11 -g -O1 -fsanitize=fuzzer,address,undefined \
    -fno-sanitize-recover=undefined -D_POSIX_C_SOURCE=200809L \
    -I"$source_dir/lib" -I"$source_dir/include" \
    "$source_dir/tests/fuzz/fuzz_store.c" "$source_dir/lib/base/hash.c" \
    "$source_dir/lib/base/mem.c" "$source_dir/lib/runtime/entry.c" \
    -o "$folder/fuzz_store"
cd "$folder"
./fuzz_store -max_total_time="$seconds" -print_final_stats=1 corpus
