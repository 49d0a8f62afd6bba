# SPDX-License-Identifier: Apache-2.0
# The rules, each a test of its own.

# xl_rule(name script -DVAR=value...); `label` is added to its own.
set(label)
function(xl_rule name script)
    add_test(NAME rules.${name} COMMAND ${CMAKE_COMMAND}
        -DSOURCE_DIR=${PROJECT_SOURCE_DIR} ${ARGN}
        -P ${XL_TESTS}/rules/${script}.cmake)
    set_tests_properties(rules.${name} PROPERTIES LABELS "rules;${label}"
        SKIP_REGULAR_EXPRESSION "SKIPPED:")
    xl_timeout(rules.${name} ${label})
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
xl_rule(names check_names -DSYMBOLS=${CMAKE_NM}
    -DLIBRARY=$<TARGET_FILE:crosslane>)
xl_rule(notes check_notes)
xl_rule(text check_text)
xl_rule(headers check_headers -DCC=${CMAKE_C_COMPILER} -DCXX=${XL_CXX})

# Offline compilers: no device is needed, only the tool.
find_program(XL_CLANG_CL NAMES clang-19 clang-18 clang-17 clang-16)
find_program(XL_CLANG_AMD NAMES clang-19)
find_program(XL_OCLOC NAMES ocloc)
xl_rule(kernels_portable check_kernels -DKIND=portable
    -DCOMPILER=${XL_CLANG_CL} -DREQUIRED=${XL_REQUIRE_TOOLS}
    -DSCRATCH=${SCRATCH}/portable)
# Those that are generated: every operation by itself.
set(written -DWRITER=$<TARGET_FILE:test_expr_emit>)
xl_rule(written_portable check_kernels -DKIND=portable ${written}
    -DCOMPILER=${XL_CLANG_CL} -DREQUIRED=${XL_REQUIRE_TOOLS}
    -DSCRATCH=${SCRATCH}/written_portable)
set(tiles -DWRITER=$<TARGET_FILE:test_expr_tiles>)
xl_rule(tiles_portable check_kernels -DKIND=portable ${tiles}
    -DCOMPILER=${XL_CLANG_CL} -DREQUIRED=${XL_REQUIRE_TOOLS}
    -DSCRATCH=${SCRATCH}/tiles_portable)
set(epilogues -DWRITER=$<TARGET_FILE:test_epilogue_text>)
xl_rule(epilogues_portable check_kernels -DKIND=portable ${epilogues}
    -DCOMPILER=${XL_CLANG_CL} -DREQUIRED=${XL_REQUIRE_TOOLS}
    -DSCRATCH=${SCRATCH}/epilogues_portable)
set(label slow)
xl_rule(epilogues_dg2 check_kernels -DKIND=intel -DCPUS=dg2 ${epilogues}
    -DCOMPILER=${XL_OCLOC} -DREQUIRED=${XL_REQUIRE_TOOLS}
    -DSCRATCH=${SCRATCH}/epilogues_dg2)
foreach(cpu gfx90a gfx1100)
    xl_rule(epilogues_${cpu} check_kernels -DKIND=amd -DCPUS=${cpu}
        ${epilogues} -DCOMPILER=${XL_CLANG_AMD} -DLIBCLC=${XL_LIBCLC}
        -DREQUIRED=${XL_REQUIRE_TOOLS} -DSCRATCH=${SCRATCH}/epilogues_${cpu})
    xl_rule(tiles_${cpu} check_kernels -DKIND=amd -DCPUS=${cpu} ${tiles}
        -DCOMPILER=${XL_CLANG_AMD} -DLIBCLC=${XL_LIBCLC}
        -DREQUIRED=${XL_REQUIRE_TOOLS} -DSCRATCH=${SCRATCH}/tiles_${cpu})
    xl_rule(written_${cpu} check_kernels -DKIND=amd -DCPUS=${cpu} ${written}
        -DCOMPILER=${XL_CLANG_AMD} -DLIBCLC=${XL_LIBCLC}
        -DREQUIRED=${XL_REQUIRE_TOOLS} -DSCRATCH=${SCRATCH}/written_${cpu})
endforeach()
xl_rule(written_dg2 check_kernels -DKIND=intel -DCPUS=dg2 ${written}
    -DCOMPILER=${XL_OCLOC} -DREQUIRED=${XL_REQUIRE_TOOLS}
    -DSCRATCH=${SCRATCH}/written_dg2)
foreach(cpu gfx90a gfx942 gfx1030 gfx1100 gfx1201)
    xl_rule(kernels_${cpu} check_kernels -DKIND=amd -DCPUS=${cpu}
        -DCOMPILER=${XL_CLANG_AMD} -DLIBCLC=${XL_LIBCLC}
        -DREQUIRED=${XL_REQUIRE_TOOLS} -DSCRATCH=${SCRATCH}/amd)
endforeach()
get_filename_component(XL_LIBCLC_FOLDER "${XL_LIBCLC}" DIRECTORY)
find_file(XL_LIBCLC_PTX nvptx64--nvidiacl.bc
    PATHS ${XL_LIBCLC_FOLDER} /usr/lib/clc NO_DEFAULT_PATH)
# Its assembler is in no package of Debian's: without it the job is skipped.
find_program(XL_PTXAS NAMES ptxas HINTS /usr/local/cuda/bin)
set(XL_REQUIRE_PTX ${XL_REQUIRE_TOOLS})
if(NOT XL_PTXAS)
    set(XL_REQUIRE_PTX OFF)
endif()
xl_rule(kernels_sm_90a check_kernels -DKIND=nvidia -DCPUS=sm_90a
    -DCOMPILER=${XL_CLANG_AMD} -DLIBCLC=${XL_LIBCLC_PTX}
    -DASSEMBLER=${XL_PTXAS} -DREQUIRED=${XL_REQUIRE_PTX}
    -DSCRATCH=${SCRATCH}/sm_90a)
foreach(cpu dg2 pvc)
    xl_rule(kernels_${cpu} check_kernels -DKIND=intel -DCPUS=${cpu}
        -DCOMPILER=${XL_OCLOC} -DREQUIRED=${XL_REQUIRE_TOOLS}
        -DSCRATCH=${SCRATCH}/intel_${cpu})
endforeach()
