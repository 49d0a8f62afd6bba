# SPDX-License-Identifier: Apache-2.0
# Kernels compile alone, with the options that kernel_options.txt lists:
#   KIND=portable   as plain OpenCL C 1.2 with every extension off
#   KIND=amd        for each of CPUS, optimised, with no register spilled
#   KIND=intel      for each of CPUS by ocloc
#   KIND=nvidia     those in a folder nvidia, by clang and ASSEMBLER for each of
#                   CPUS, with no register spilled and nothing serialized
# With WRITER=<test_expr_emit> it is the kernels which that program writes.
#   cmake -DSOURCE_DIR=<tree> -DKIND=... -DCOMPILER=... [-DLIBCLC=<bc>]
#         [-DCPUS=a,b] [-DREQUIRED=ON] [-DWRITER=<program>]
#         [-DASSEMBLER=<program>]
#         -DSCRATCH=<folder> -P check_kernels.cmake
cmake_minimum_required(VERSION 3.22)

string(REPLACE "," ";" CPUS "${CPUS}")

if(NOT EXISTS "${COMPILER}" OR (LIBCLC AND NOT EXISTS "${LIBCLC}") OR
        (DEFINED ASSEMBLER AND NOT EXISTS "${ASSEMBLER}"))
    if(REQUIRED)
        message(FATAL_ERROR "${COMPILER} ${LIBCLC} ${ASSEMBLER} is not here")
    endif()
    message("SKIPPED: ${COMPILER} ${LIBCLC} ${ASSEMBLER} is not here")
    return()
endif()
file(MAKE_DIRECTORY ${SCRATCH})
set(folder ${SOURCE_DIR}/cl)
set(spills_like "gpr_spill_count: +[1-9]")
if(WRITER)
    # A dozen unrelated operands have more pointers than scalar registers hold.
    set(spills_like "vgpr_spill_count: +[1-9]")
    set(folder ${SCRATCH}/written)
    file(REMOVE_RECURSE ${folder})
    file(MAKE_DIRECTORY ${folder})
    execute_process(COMMAND ${WRITER} write ${folder}
        COMMAND_ERROR_IS_FATAL ANY)
endif()
find_program(TIMEOUT timeout)
set(limit)
if(TIMEOUT)
    set(limit ${TIMEOUT} 600) # a compiler that hangs
endif()

# A table's line: file, then options; "+name" turns an extension on.
function(split_line line file_out options_out extensions_out)
    string(REGEX REPLACE "[ \t]+" ";" words "${line}")
    list(POP_FRONT words file)
    set(options ${words})
    set(extensions ${words})
    list(FILTER options INCLUDE REGEX "^-")
    list(FILTER extensions INCLUDE REGEX "^\\+")
    set(${file_out} ${file} PARENT_SCOPE)
    set(${options_out} ${options} PARENT_SCOPE)
    string(REPLACE ";" "," extensions "${extensions}")
    set(${extensions_out} "${extensions}" PARENT_SCOPE)
endfunction()

function(report name cpu result said)
    string(REPLACE ";" " " name "${name} ${cpu}")
    if(result)
        message("${name}: ${said}")
        set_property(GLOBAL APPEND PROPERTY failed "${name}")
    endif()
    set_property(GLOBAL APPEND PROPERTY compiled "${name}")
endfunction()

set(common -x cl -cl-std=CL1.2 -I${SOURCE_DIR}/cl)

function(compile_portable file options extensions)
    set(ext "-all")
    if(NOT "${extensions}" STREQUAL "")
        set(ext "-all,${extensions}")
    endif()
    execute_process(COMMAND ${limit} ${COMPILER} --target=spir64 ${common}
        -Xclang -cl-ext=${ext} -Wall -Wextra -Wno-unused-function
        -Wno-unused-parameter -Wno-unused-variable -Werror
        -fsyntax-only ${options} ${folder}/${file}
        RESULT_VARIABLE result ERROR_VARIABLE said)
    report("${file} ${options}" "" "${result}" "${said}")
endfunction()

function(compile_amd file options extensions)
    foreach(cpu IN LISTS CPUS)
        set(assembly ${SCRATCH}/${cpu}.s)
        execute_process(COMMAND ${limit} ${COMPILER}
            --target=amdgcn-amd-amdhsa -mcpu=${cpu} -nogpulib ${common}
            -Xclang -mlink-builtin-bitcode -Xclang ${LIBCLC} -O3
            ${options} -S -o ${assembly} ${folder}/${file}
            RESULT_VARIABLE result ERROR_VARIABLE said)
        if(NOT result)
            file(STRINGS ${assembly} spills REGEX "${spills_like}")
            if(spills)
                set(result 1)
                set(said "registers are spilled: ${spills}")
            endif()
        endif()
        report("${file} ${options}" ${cpu} "${result}" "${said}")
    endforeach()
endfunction()

function(compile_intel file options extensions)
    string(REPLACE ";" " " flat "${options}")
    foreach(cpu IN LISTS CPUS)
        execute_process(COMMAND ${limit} ${COMPILER} compile -q
            -file ${folder}/${file} -device ${cpu} -out_dir ${SCRATCH}
            -options "-cl-std=CL1.2 -I${SOURCE_DIR}/cl ${flat}"
            RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE more)
        report("${file} ${options}" ${cpu} "${result}" "${said}${more}")
    endforeach()
endfunction()

# A text that is assembled wants the group's size and, where registers move
# between warps, that one group is enough for a compute unit.
function(compile_nvidia file options extensions items)
    set(text ${SCRATCH}/kernel.ptx)
    foreach(cpu IN LISTS CPUS)
        execute_process(COMMAND ${limit} ${COMPILER}
            --target=nvptx64-nvidia-nvcl -march=${cpu} -nogpulib ${common}
            -Xclang -mlink-builtin-bitcode
            -Xclang ${LIBCLC} -O3 ${options} -S -o ${text} ${folder}/${file}
            RESULT_VARIABLE result ERROR_VARIABLE said)
        if(NOT result)
            file(READ ${text} all)
            string(REGEX REPLACE "\n\\)[ \t]*\n"
                "\n)\n.minnctapersm 1\n.reqntid ${items}, 1, 1\n" all "${all}")
            file(WRITE ${text} "${all}")
            execute_process(COMMAND ${limit} ${ASSEMBLER} -arch=${cpu} -v
                ${text} -o ${SCRATCH}/kernel.bin RESULT_VARIABLE result
                OUTPUT_VARIABLE said ERROR_VARIABLE more)
            string(APPEND said "${more}")
            if(said MATCHES "serialized|C7[56][0-9][0-9]|[1-9][0-9]* bytes spill")
                set(result 1)
            endif()
        endif()
        report("${file} ${options}" ${cpu} "${result}" "${said}")
    endforeach()
endfunction()

function(compile line)
    if(line MATCHES " @portable" AND NOT KIND STREQUAL "portable")
        return()
    endif()
    if(line MATCHES "/nvidia/")
        if(KIND STREQUAL "nvidia")
            split_line("${line}" file options extensions)
            string(REGEX MATCH "@([0-9]+)" items "${line}")
            compile_nvidia("${file}" "${options}" "${extensions}"
                ${CMAKE_MATCH_1})
        endif()
        return()
    endif()
    split_line("${line}" file options extensions)
    if(KIND STREQUAL "portable")
        compile_portable("${file}" "${options}" "${extensions}")
    elseif(KIND STREQUAL "amd")
        compile_amd("${file}" "${options}" "${extensions}")
    else()
        compile_intel("${file}" "${options}" "${extensions}")
    endif()
endfunction()

if(WRITER)
    # CPUs' kernels are for no GPU's compiler.
    set(which gpu_)
    if(KIND STREQUAL "portable")
        set(which)
    endif()
    file(GLOB lines RELATIVE ${folder} ${folder}/${which}*.cl)
    set(table)
else()
    # Every file by itself, then the table.
    file(GLOB lines RELATIVE ${folder} ${folder}/common/*.clh
        ${folder}/expr/*.clh ${folder}/*/*.cl)
    list(FILTER lines EXCLUDE REGEX "/(cpu|skinny_thread)\\.cl$")
    if(KIND STREQUAL "nvidia")
        set(lines)
    endif()
    if(NOT KIND STREQUAL "portable")
        list(FILTER lines INCLUDE REGEX "\\.cl$")
    endif()
    file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/kernel_options.txt table
        REGEX "^[a-z]")
    if(KIND STREQUAL "nvidia")
        list(FILTER table INCLUDE REGEX "/nvidia/")
    endif()
endif()
foreach(line IN LISTS lines table)
    compile("${line}")
endforeach()

get_property(compiled GLOBAL PROPERTY compiled)
get_property(failed GLOBAL PROPERTY failed)
list(LENGTH compiled n_compiled)
list(LENGTH failed n_failed)
message("${n_compiled} compiled, ${n_failed} failed")
if(n_failed OR NOT n_compiled)
    message(FATAL_ERROR "${n_failed} kernels do not compile for ${KIND}")
endif()
