#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clbench split on the driver that the environment names: which unit ran which
# tile, and sizes that are timed.
# shellcheck source=tests/scripts/cli_support.sh
. "$(dirname "$0")/cli_support.sh"

expect 0 "split, on the device" "$clbench" split gemm 100x90x80 \
    --svg "$folder/split.svg" --json "$folder/p.json"
says "unit ran"
says "mbalance"
fits
is_plain
is_json "$folder/p.json"
is_picture "$folder/split.svg"
split_holds "$folder/p.json"
expect 0 "split, of a variant" "$clbench" split gemm 100x90x80 \
    --variant gemm_tiled --json "$folder/p.json"
says "sawtooth"
fits
split_holds "$folder/p.json"
expect 0 "split, sizes timed" "$clbench" split gemm 24 --variant gemm_simt \
    --sweep nm=16:32:8 --json "$folder/p.json"
says "easured.* 3 sizes"
says " 24 .*FLOP/s"
fits
grep -q '"size": 32' "$folder/p.json" || bad "no rate of 32"
expect 0 "split, without time" "$clbench" split gemm 24 --max-time 0.001
says "max-time"
fits
expect 0 "split of rows" "$clbench" split softmax 300x100 --units 3
says " 3 units"
fits
expect 0 "split of a convolution" "$clbench" split conv 1x8x9x9:8x3x3
fits
expect 0 "split of a causal mask" "$clbench" split attention 1x2x96x64 \
    --causal --units 3 --variant attention_flash --json "$folder/p.json"
says "1x2x96x64 f32, causal"
says "the longest group"
fits
split_holds "$folder/p.json"

finish
