# SPDX-License-Identifier: Apache-2.0
# Each header compiles alone: all of them as C11, the public ones as C++17 too.
# crosslane.hpp also as C++20.
#   cmake -DSOURCE_DIR=<tree> -DCC=<cc> [-DCXX=<c++>] -P check_headers.cmake
cmake_minimum_required(VERSION 3.22)

set(warnings -Wall -Wextra -Wpedantic -Wundef -Werror -fsyntax-only)
set(defines -DCL_TARGET_OPENCL_VERSION=300 -D_POSIX_C_SOURCE=200809L)
set(paths -I${SOURCE_DIR}/include -I${SOURCE_DIR}/lib -I${SOURCE_DIR}/bench
    -I${SOURCE_DIR}/tests)
set(failures 0)

function(try_header header)
    execute_process(COMMAND ${ARGN} ${warnings} ${defines} ${paths}
        -include ${SOURCE_DIR}/${header} -x ${language} /dev/null
        RESULT_VARIABLE result ERROR_VARIABLE said)
    if(result)
        message("${header} does not compile alone: ${said}")
        math(EXPR n "${failures} + 1")
        set(failures ${n} PARENT_SCOPE)
    endif()
endfunction()

file(GLOB_RECURSE all RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/include/*.h
    ${SOURCE_DIR}/lib/*.h ${SOURCE_DIR}/bench/*.h)
set(language c)
foreach(header IN LISTS all)
    try_header(${header} ${CC} -std=c11 -Wstrict-prototypes -Wconversion)
endforeach()

if(CXX)
    file(GLOB public RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/include/crosslane/*.h
        ${SOURCE_DIR}/include/crosslane/measure/*.h)
    set(language c++)
    foreach(header IN LISTS public)
        try_header(${header} ${CXX} -std=c++17)
    endforeach()
    foreach(standard 17 20)
        try_header(include/crosslane/crosslane.hpp ${CXX} -std=c++${standard}
            -Wconversion -Wshadow)
    endforeach()
else()
    message("SKIPPED: no C++ compiler")
endif()

if(failures)
    message(FATAL_ERROR "${failures} headers do not stand alone")
endif()
