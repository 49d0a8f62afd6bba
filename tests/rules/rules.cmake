# SPDX-License-Identifier: Apache-2.0
# The rules, each a test of its own.

# xl_rule(name script -DVAR=value...)
function(xl_rule name script)
    add_test(NAME rules.${name} COMMAND ${CMAKE_COMMAND}
        -DSOURCE_DIR=${PROJECT_SOURCE_DIR} ${ARGN}
        -P ${XL_TESTS}/rules/${script}.cmake)
    set_tests_properties(rules.${name} PROPERTIES LABELS rules
        SKIP_REGULAR_EXPRESSION "SKIPPED:")
    xl_timeout(rules.${name})
endfunction()

# xl_python_rule(name argument...): likewise, rules/check_<name>.py.
function(xl_python_rule name)
    if(XL_PYTHON)
        add_test(NAME rules.${name} COMMAND ${XL_PYTHON}
            ${XL_TESTS}/rules/check_${name}.py ${PROJECT_SOURCE_DIR} ${ARGN})
        set_tests_properties(rules.${name} PROPERTIES LABELS rules)
        xl_timeout(rules.${name})
    endif()
endfunction()

xl_python_rule(layers ${CMAKE_BINARY_DIR})
xl_python_rule(tree)
xl_python_rule(constants)
xl_python_rule(figures)
xl_python_rule(recipes)
xl_python_rule(translation)
if(CMAKE_SIZEOF_VOID_P EQUAL 8 AND NOT WIN32) # what layout.txt is for
    xl_python_rule(layout ${CMAKE_C_COMPILER})
endif()
xl_rule(names check_names -DSYMBOLS=${CMAKE_NM}
    -DLIBRARY=$<TARGET_FILE:crosslane>
    -DMEASURE=$<TARGET_FILE:crosslane_measure>)
xl_rule(notes check_notes)
xl_rule(text check_text)
xl_rule(doc_links check_doc_links)
xl_rule(headers check_headers -DCC=${CMAKE_C_COMPILER} -DCXX=${XL_CXX})

# Offline compilers: no device is needed, only the tool. A job keeps all cores
# busy, so ctest runs nothing beside it.
find_program(XL_CLANG_CL NAMES clang-19 clang-18 clang-17 clang-16)
find_program(XL_CLANG_AMD NAMES clang-19)
# For what that does not know: without it the job is skipped.
find_program(XL_CLANG_NEWER NAMES clang-22 clang-21 clang-20)
find_program(XL_OCLOC NAMES ocloc)
get_filename_component(XL_LIBCLC_FOLDER "${XL_LIBCLC}" DIRECTORY)
set(XL_LIBCLC_PTX ${XL_LIBCLC_FOLDER}/nvptx64--nvidiacl.bc)
# The assembler is in no package of Debian's: without it the job is skipped.
find_program(XL_PTXAS NAMES ptxas HINTS /usr/local/cuda/bin)
cmake_host_system_information(RESULT n_cores QUERY NUMBER_OF_LOGICAL_CORES)
set(writers --writer $<TARGET_FILE:test_expr_emit>
    --writer $<TARGET_FILE:test_expr_tiles>
    --writer $<TARGET_FILE:test_expr_reductions>
    --writer $<TARGET_FILE:test_epilogue_text>)

# xl_kernel_rule(job target label argument...)
function(xl_kernel_rule job target label)
    set(required)
    if(XL_REQUIRE_TOOLS AND NOT "XL_PTXAS-NOTFOUND" IN_LIST ARGN
            AND NOT "XL_CLANG_NEWER-NOTFOUND" IN_LIST ARGN)
        set(required --required)
    endif()
    set(command ${XL_PYTHON}
        ${XL_TESTS}/rules/check_kernels.py ${target}
        --stamps ${SCRATCH}/kernels ${required} ${ARGN})
    if(NOT XL_PYTHON AND NOT XL_REQUIRE_TOOLS)
        set(command ${CMAKE_COMMAND} -E echo "SKIPPED: python3 not found")
    endif()
    add_test(NAME ${job} COMMAND ${command})
    set_tests_properties(${job} PROPERTIES
        LABELS "rules;${label}" SKIP_REGULAR_EXPRESSION "SKIPPED:"
        PROCESSORS ${n_cores})
    xl_timeout(${job} ${label})
endfunction()

xl_kernel_rule(rules.kernels_portable portable "" --compiler ${XL_CLANG_CL}
    ${writers})
# Each option set that names no target is compiled for one of AMD's, and a fourth
# of them for Intel; of each list of tile sets a fourth or more. All of them, for
# each target, are `full`.
set(parts_gfx90a --sets 0/4 --tiles 1/4 ${writers})
set(parts_gfx942 --sets none --tiles 0/4)
set(parts_gfx950 --sets none --tiles 3/4)
set(parts_gfx1030 --sets 3/4 --tiles 0/2)
set(parts_gfx1100 --sets 1/4 --tiles 0/4)
set(parts_gfx1201 --sets 2/4 --tiles 1/4)
set(parts_dg2 --sets 0/8 --tiles 0/2 ${writers})
set(parts_pvc --sets 1/8 --tiles 1/2)
foreach(target gfx90a gfx942 gfx950 gfx1030 gfx1100 gfx1151 gfx1201 dg2 pvc)
    set(tools --compiler ${XL_CLANG_AMD} --libclc ${XL_LIBCLC})
    if(target STREQUAL "gfx950")
        set(tools --compiler ${XL_CLANG_NEWER} --libclc ${XL_LIBCLC})
    elseif(target MATCHES "^(dg2|pvc)$")
        set(tools --compiler ${XL_OCLOC})
    endif()
    if(parts_${target})
        xl_kernel_rule(rules.kernels_${target} ${target} slow ${tools}
            ${parts_${target}})
    endif()
    xl_kernel_rule(full.kernels_${target} ${target} full ${tools} ${writers})
endforeach()
xl_kernel_rule(rules.kernels_sm_90a sm_90a slow --compiler ${XL_CLANG_AMD}
    --libclc ${XL_LIBCLC_PTX} --assembler ${XL_PTXAS})
