#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clbench's command line where nothing is measured: help, completion, wrong
# arguments, files that cannot be read or written, and tiles that are computed.
# The stub driver is enough.
# shellcheck source=tests/scripts/cli_support.sh
. "$(dirname "$0")/cli_support.sh"

# -- 0: help and tables -------------------------------------------------------
expect 0 "version" "$clbench" --version
says "0.1.0"
expect 0 "help" "$clbench" --help
says "usage"
fits
is_plain
for command in devices limits probe gemm softmax expr tune verify explain \
        split plan model compare site doctor cache completion; do
    expect 0 "help of $command" "$clbench" "$command" --help
    says "$command"
    fits
done
for shell in bash zsh fish man; do
    expect 0 "completion $shell" "$clbench" completion "$shell"
    says "gemm"
    is_quiet "$err"
done
# shellcheck disable=SC2016
expect 0 "only types of operations" sh -c \
    '"$0" completion bash | grep "f64 i8 u8 f8e4m3" | grep -qvw "i32\|bool"' "$clbench"
expect 0 "bash completes names" bash -c '. <("$0" completion bash)
    COMP_WORDS=(clbench compare a.json --with "") COMP_CWORD=4
    _clbench && printf "%s\n" "${COMPREPLY[@]}"' "$clbench"
says "pocl-2core"
expect 0 "bash completes the types of a command" bash -c '
    . <("$0" completion bash)
    COMP_WORDS=(clbench conv --dtype "") COMP_CWORD=3
    _clbench && echo "conv: ${COMPREPLY[*]}"
    COMP_WORDS=(clbench gemm --dtype "") COMP_CWORD=3
    _clbench && echo "gemm: ${COMPREPLY[*]}"' "$clbench"
says "conv: f32 f16 bf16 f64 i8$"
says "gemm: f32 f16 bf16 f64 i8 u8 f8e4m3 f8e5m2$"
for run in "$source_dir"/bench/reference_runs/*.json; do
    expect 0 "a reference run beside itself" "$clbench" compare "$run" \
        --with "$(basename "$run" .json)"
    says " 0 SLOWER, 0 FASTER, 0 AMBIGUOUS, [1-9]"
    fits
done
expect 0 "findings have columns" "$clbench" report \
    "$source_dir/bench/reference_runs/h100.json"
says "value  *overlap  *roof  *verdict"
says "both_ways  *700 us .* 95.8 GB/s  *89%  *-  *ok"
expect 0 "charts of a CPU" "$clbench" report \
    "$source_dir/bench/reference_runs/pocl-2core.json" --svg "$folder/charts"
grep -q ">Copies within one memory: " "$folder/charts/transfer.svg" ||
    bad "copies of a CPU have no name"
expect 0 "a model that does not fit" "$clbench" plan --model llama-3.1-70b \
    --from "$source_dir/bench/reference_runs/h100.json"
says "^  Does not fit NVIDIA H100 80GB HBM3: needs 144 GB, has 85 GB$"
fits
expect 0 "a model that fits" "$clbench" plan --model llama-3.1-8b \
    --from "$source_dir/bench/reference_runs/h100.json"
says "^  Fits NVIDIA H100 80GB HBM3: needs "
says "^  NVIDIA H100 80GB HBM3 .* >131072 "
expect 0 "shapes that come with clbench" "$clbench" gemm --list
says "gemm_llm"
fits
expect 0 "limits, with matrix instructions" "$clbench" limits --max-time 5 \
    --json "$folder/l.json"
says "wgmma  *f16 -> f32  *64 x 8\.\.256 x 16  *128  *4096 .*NV-26"
fits
is_json "$folder/l.json"

# A language model: refused before anything is allocated.
expect 2 "a model that does not fit" "$clbench" model llama-3.1-405b
warns "not enough memory: weights 81[0-9] GB, cache [0-9.]* GB, activations"
warns "this fits: .*--layers [1-9]"
expect 2 "a model that is not known" "$clbench" model lama-3.1-8b
warns "did you mean 'llama-3.1-8b'"
expect 2 "experts" "$clbench" model mixtral-8x7b
warns "model_type 'mixtral' is not supported: must be one of llama"
expect 2 "a type of weights" "$clbench" model gpt2 --weights q9
warns "invalid value 'q9' for --weights: must be f32, f16, bf16, q4_0"
expect 2 "products of narrow terms" "$clbench" model gpt2 --accuracy split
warns "invalid value 'split' for --accuracy: must be full|fast"
expect 2 "blocks that do not divide a row" "$clbench" model qwen2.5-7b \
    --weights int4/96
warns "the rows of a matrix of this model are not whole blocks"
expect 2 "a context beyond the positions" "$clbench" model gpt2 --context 2k
warns "invalid value '2k' for --context"
expect 2 "a prompt beyond the context" "$clbench" model gpt2 --context 64 \
    --prompt 65
warns "invalid value '65' for --prompt: must be from 2 to the 64 tokens"
expect 2 "more steps than the context" "$clbench" model gpt2 --context 64 \
    --tokens 64
warns "invalid value '64' for --tokens: must be below the 64 tokens"

# A file of ggml; ids behind a prompt.
gguf=$source_dir/tests/fuzz/corpus_gguf/llama.gguf
expect 2 "no model" "$clbench" model
warns "a NAME of 'clbench plan --list', its config.json, or --gguf FILE"
expect 2 "two models" "$clbench" model gpt2 --gguf "$gguf"
warns "and one of them"
expect 2 "a file that is not there" "$clbench" model --gguf nowhere.gguf
warns "'nowhere.gguf' cannot be read: No such file"
expect 2 "another file" "$clbench" model --gguf "$source_dir/README.md"
warns "README.md', byte 0: the file does not begin with 'GGUF'"
head -c 5000 "$gguf" >"$folder/half.gguf"
expect 2 "half a file" "$clbench" model --gguf "$folder/half.gguf"
warns "half.gguf', byte [0-9]*: the data of tensor '.*exceeds the file's 5000"
expect 2 "formats of a file" "$clbench" model --gguf "$gguf" --weights q8_0
warns "--weights cannot be used with --gguf"
expect 2 "an id beyond the vocabulary" "$clbench" model --gguf "$gguf" \
    --ids 1,24
warns "invalid value '1,24' for --ids: must be whole numbers below the 24"
expect 2 "ids with a gap" "$clbench" model --gguf "$gguf" --ids 1,,2
warns "invalid value '1,,2' for --ids"
expect 2 "ids of two sequences" "$clbench" model --gguf "$gguf" --ids 1,2 \
    --batch 2
warns "--batch cannot be used with --ids"
expect 2 "more ids than positions" "$clbench" model --gguf "$gguf" --ids 1 \
    --tokens 500
warns "1 ids and 500 tokens behind them exceed the 128 tokens"

# Devices that are not here; nothing is built, no driver is needed.
expect 0 "devices that come with clbench" "$clbench" devices --list
says "arc-a770  *Intel  *Arc A770.*assembled"
says "mali-g610: github.com/"
fits
is_plain
for name in $(awk '/captured$|assembled$/ { print $1 }' "$out"); do
    expect 0 "explain --as $name" env OCL_ICD_VENDORS="$no_drivers" \
        "$clbench" gemm 1000x1023x517 --explain --as "$name"
    says "<- chosen"
    says "work-group  *[1-9]"
    says "expected .*(from peak rates), limited by"
    says "Nothing was built or run"
    is_quiet "$err"
    fits
    is_plain
    expect 0 "limits --as $name" env OCL_ICD_VENDORS="$no_drivers" \
        "$clbench" devices -v --as "$name"
    says "address_bits  *[36][24]  *queried"
    fits
    is_plain
done
# ResNet-50's layers of 3x3 and 7x7 on Intel's matrix engine.
for name in arc-a770 arc-b580 max-1550; do
    for layer in "32x56x56x64:64x3x3 --pad 1" "32x7x7x512:512x3x3 --pad 1" \
        "32x224x224x3:64x7x7 --pad 3 --stride 2" \
        "32x56x56x64:64x3x3 --pad 1 --layout nchw"; do
        # shellcheck disable=SC2086 # options of a layer
        expect 0 "$layer on $name" env OCL_ICD_VENDORS="$no_drivers" \
            "$clbench" conv --layout nhwc $layer --dtype f16 --explain \
            --as "$name"
        says "1. conv_dpas  <- chosen"
        # shellcheck disable=SC2086
        expect 0 "its filters' gradient on $name" \
            env OCL_ICD_VENDORS="$no_drivers" "$clbench" conv --layout nhwc \
            $layer --dtype f16 --pass backward-filters --explain --as "$name"
        says "1. conv_filters_dpas  <- chosen"
    done
done
# Few rows beside quantised weights, which the matrix engine decodes; many rows
# of a prompt, beside weights that are rounded; those of devices without one,
# as f32.
while read -r name variant product; do
    # shellcheck disable=SC2086 # options of a product
    expect 0 "qgemm $product on $name" env OCL_ICD_VENDORS="$no_drivers" \
        "$clbench" qgemm $product --dtype f16 --explain --as "$name"
    says "1. $variant  <- chosen"
done <<END
h200 qgemm_skinny 1x14336x4096
h200 qgemm_skinny 8x14336x4096 --format int4
h200 qgemm_mma 16x4096x14336 --format int4
h200 qgemm_wgmma 64x8192x28672 --format int4
h200 qgemm_wgmma 64x8192x28672 --format q4_0
h200 qgemm_wgmma 512x14336x4096 --format q4_0
h200 qgemm_skinny 1x8192x28672 --format int4
h200 qgemm_skinny 1x8192x28672 --format mxfp4
h200 qgemm_gemv 1x14336x4096 --format q4_k
h200 qgemm_gemm_wgmma 512x14336x4096 --format q4_0 --accuracy fast
pocl-epyc qgemm_cpu 16x4096x4096
pocl-epyc qgemm_gemm_cpu 512x4096x4096
m4-pro qgemm_gemm_tiled 512x4096x4096
mi300x qgemm_gemm_tiled 512x4096x4096 --format q4_k
END
expect 0 "expr --as" env OCL_ICD_VENDORS="$no_drivers" "$clbench" expr \
    'softmax(x) + 1' --shape x=100x1000 --as m4-pro --json "$folder/a.json"
says "expr_fused  <- chosen"
says "Nothing was built or run"
fits
is_json "$folder/a.json"
{
    cat "$source_dir/vendor-notes/devices/mi300x.txt"
    echo "subgroup_width 1"
    echo "copy_bytes_per_s 4e12"
} >"$folder/own.txt"
expect 0 "facts, a contradiction" "$clbench" devices -v --as "$folder/own.txt"
is_quiet "$err"
says "subgroup_width  *64  *queried"
says "measured 1, a contradiction that is not used (GE-32)"
expect 0 "an old name" "$clbench" limits --as "$folder/own.txt"
warns "devices --verbose"
expect 0 "another" "$clbench" explain gemm 16 --as "$folder/own.txt"
warns "OP SHAPE --explain"
expect 0 "explain, a contradiction" "$clbench" softmax 64x64 --explain \
    --as "$folder/own.txt"
says "measured 1 contradicts it and is not used (GE-32)"
says "copy_bytes_per_s  *4.*measured"

# Tiles of 256 x 128, computed by hand; nothing runs.
expect 0 "split, what if" "$clbench" split gemm 2049 --tile 256x128 \
    --units 132 --sweep nm=1780:2060 --svg "$folder/" --json "$folder/w.json"
says "153 .*83\.7%"
says "132 .*21 .*58%"
says " 2048  *128  *1  *97\.0%  *100\.0%  *97\.0%"
fits
is_plain
is_json "$folder/w.json"
is_picture "$folder/split-gemm-2049.svg"
expect 0 "split, without a driver" env OCL_ICD_VENDORS="$no_drivers" \
    "$clbench" split gemm 128 --tile 8x8 --units 4
says "256 "

# -- 2: usage -----------------------------------------------------------------
refused 2 "'nonsense'" : nonsense
refused 2 "'--nonsense'" : gemm --nonsense
refused 2 "'bandwith'" "'bandwidth'" timer : probe bandwith
refused 2 99 : --device 99
refused 2 abacus : devices --device abacus
refused 2 "'12x'" : gemm 12x
refused 2 "'0x4x4'" : gemm 0x4x4
refused 2 "'99999999999999999999'" : gemm 99999999999999999999
refused 2 --dtype "'f13'" f8e5m2 : gemm --dtype f13 16
refused 2 --dtype "'u8'" "f32|f16|bf16|f64|i8" : conv 1x8x8x3:4x3x3 --dtype u8
refused 2 --dtype "'double'" "f32|f16|bf16" : softmax 8 --dtype double
refused 2 --accuracy "'quick'" "full|split|fast" : attention --accuracy quick
refused 2 "'split'" --accuracy "full for f16" : gemm 16 --accuracy split --dtype f16
refused 2 "full|fast for f8e5m2" : gemm 16 --accuracy split --dtype f8e5m2
refused 2 "full for operands of two types" : gemm 16 --accuracy fast \
    --dtype f16 --dtype-b i8
refused 2 "full for i8" : conv 1x8x8x3:4x3x3 --accuracy fast --dtype i8
refused 2 "full for gradients" : conv 1x8x8x3:4x3x3 --accuracy fast \
    --pass backward-data
refused 2 "full for f32" : qgemm 1x64x64 --accuracy fast
refused 2 "full|fast for bf16" : qgemm 1x64x64 --accuracy split --dtype bf16
refused 2 "full for f8e4m3" : attention 1x1x8x8 --accuracy fast --dtype f8e4m3
refused 2 "full for gradients" : attention 1x1x8x8 --accuracy split --backward
refused 2 --pass "'sideways'" "backward-data|backward-filters" : \
    conv 1x8x8x3:4x3x3 --pass sideways
refused 2 --seed "'x'" : gemm --seed x 16
refused 2 --batch "'0'" : gemm 16 --batch 0
refused 2 --heads "'0'" : gemm 16 --heads 0
refused 2 "'gemm_magic'" gemm_ref : gemm 16 --variant gemm_magic
refused 2 "q=1:2" : gemm --sweep q=1:2
refused 2 "ld=60:70" 64x64x64 : gemm 64 --sweep ld=60:70 # too short
refused 2 --max-time : gemm 24 --max-time 0.001
refused 2 "'gemm_magic'" gemm_ref : gemm 16 --same-kernel gemm_magic
expect 1 "two devices" env \
    XL_STUB_DEVICE="$source_dir/tests/stub/devices/h200.txt,$source_dir/tests/stub/devices/liar.txt" \
    "$clbench" gemm 64 --all-devices --roofs theoretical --runs 3 --max-time 60
says "A = 0: "
says "B = 1: "
says "case  *kernel  *A  *B  *x A"
fits
refused 2 --explain SHAPE : gemm --explain
expect 0 "types by other names" "$clbench" gemm 64 --dtype half --explain \
    --as m4-pro
expect 0 "values for a shell" "$clbench" completion variants
says "gemm_tiled"
refused 4 --json "'/proc/x.json'" : gemm 16 --json /proc/x.json
refused 2 --runs "'0'" : gemm 16 --runs 0
refused 2 --runs "'1025'" 1024 : gemm 16 --runs 1025
refused 2 --warmup "'-1'" : softmax 16 --warmup -1
refused 2 --warmup "'1025'" 1024 : conv --warmup 1025
refused 2 --min-time "'soon'" : expr x --min-time soon
refused 2 --runs --min-time : probe launch --runs 3 --min-time 1
refused 2 compare : compare
refused 2 "'--devic'" "'--device'" : --devic 1
refused 2 "'devices'" : list
refused 2 "'--version'" : version
refused 2 bash zsh fish : completion tcsh
refused 2 "run.json" : site "$folder/pages"

# Positions in a text: line, column and a mark below the place.
refused 2 "1:6: " "^  sin(x" "^       ^" : expr 'sin(x' --shape x=10
refused 2 "2:11: " "'foo'" : expr "a = x
  y = a + foo(x)" --shape x=3
refused 2 "'x'" "--shape x=" : expr 'x + y'
refused 2 "1:3: " "(4,)" "(5,)" : expr 'x + y' --shape x=4,y=5
refused 2 "1:1: " "'out'" --shape : expr 'x + 1' --shape x=4,out=5
refused 2 "'zz'" : expr 'x + 1' --shape x=4,zz=4
refused 2 --shape "'x=4y4'" : expr 'x + 1' --shape x=4y4
refused 2 "'y'" "--shape y=" : expr 'y[:2] = x' --shape x=2
refused 2 expr : expr --explain

refused 2 split : split gemm
refused 2 "'abacus'" gemm conv softmax : split abacus 16
refused 2 "'0x4x4'" : split gemm 0x4x4
refused 2 --tile 256x128 100x100 : split gemm 100 --tile 256x128
refused 2 "'8y8'" : split gemm 100 --tile 8y8
refused 2 1000000 1048576 : split gemm 1000000 --tile 1x1 --units 4
refused 2 99999999999x99999999999x1 : split gemm \
    99999999999x99999999999x1 --tile 1x1 --units 4
refused 2 --units 65536 : split gemm 64 --tile 8x8 --units 9999999
refused 2 --units "'0'" : split gemm 64 --tile 8x8 --units 0
refused 2 --tile conv : split conv 1x8x9x9:8x3x3 --tile 8x8
refused 2 --sweep nm : split gemm 64 --sweep k=1:9

refused 2 "'overlaped'" "'overlapped'" : pipeline --mode pinned,overlaped
refused 2 "'sofmax'" "'softmax'" : pipeline --stages qk,sofmax
refused 2 "'0x512x128'" : pipeline 0x512x128
refused 2 "'4000000000x4000000000x1'" : pipeline 4000000000x4000000000x1
refused 2 --chunks "'0'" : pipeline --chunks 0
refused 2 --chunks 64 : pipeline --chunks 65

# -- 3: no usable device ------------------------------------------------------
expect 3 "no driver" env OCL_ICD_VENDORS="$no_drivers" "$clbench"
warns "driver"
is_quiet "$out"
expect 3 "no driver, devices" env OCL_ICD_VENDORS="$no_drivers" "$clbench" \
    devices

# -- 4: files -----------------------------------------------------------------
refused 4 --json "none/x.json" : gemm 16 --json "$folder/none/x.json"
for option in json csv markdown html; do
    refused 4 "--$option" "Is a directory" : gemm 16 --$option "$folder"
done
expect 4 "unwritable picture" "$clbench" split gemm 64 --tile 8x8 --units 4 \
    --svg "$folder/none/x.svg"
warns "none/x.svg"
refused 4 --trace "none/t.json" : pipeline 4x64x32 --quick \
    --trace "$folder/none/t.json"
# xl_job sets XL_TUNED_DIR=off.
refused 4 XL_TUNED_DIR "'off'" : tune gemm 16 --budget 1h
printf '{"schema": "clbench/1", "rows": [' >"$folder/broken.json"
expect 4 "no folder below a file" env \
    XL_TUNED_DIR="$folder/broken.json/sets" "$clbench" tune gemm 16 --budget 1h
warns "broken.json/sets"
is_quiet "$out"
refused 4 none.txt : expr "@$folder/none.txt"
refused 4 "'gemm_nothing'" gemm_square : gemm --shapes gemm_nothing
printf '\n8 f17\n' >"$folder/bad.txt"
refused 4 "bad.txt:2:3: " "'f17'" : gemm --shapes "$folder/bad.txt"
refused 4 "'nothing'" "devices --list" : explain gemm 16 --as nothing
refused 4 none.txt : explain gemm 16 --as "$folder/none.txt"
printf '\nDevice Name  Some GPU\n' >"$folder/human.txt"
refused 4 "human.txt: line 2: Device" "clinfo --raw" : \
    limits --as "$folder/human.txt"
printf 'a\n\0b\n' >"$folder/binary.txt"
refused 4 binary.txt "line 2" : devices --as "$folder/binary.txt"
: >"$folder/empty.txt"
refused 4 empty.txt CL_DEVICE_NAME : explain gemm 16 --as "$folder/empty.txt"
refused 4 none.json : compare "$folder/none.json" "$folder/w.json"
refused 4 broken.json : compare "$folder/broken.json" "$folder/w.json"
refused 4 "'nothing'" h100 : compare "$folder/w.json" --with nothing
refused 4 none.json : site "$folder/pages" "$folder/none.json"
refused 4 broken.json/pages : site "$folder/broken.json/pages" "$folder/w.json"

finish
