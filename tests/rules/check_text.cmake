# SPDX-License-Identifier: Apache-2.0
# Left-overs that are refused, and the few marks every source file has.
#   cmake -DSOURCE_DIR=<tree> -P check_text.cmake
cmake_minimum_required(VERSION 3.22)

string(CONCAT leftover "T" "ODO|F" "IXME|X" "XX[^(]|#[ \t]*if 0")
set(failures 0)

file(GLOB_RECURSE files RELATIVE ${SOURCE_DIR}
    ${SOURCE_DIR}/include/* ${SOURCE_DIR}/lib/* ${SOURCE_DIR}/bench/*
    ${SOURCE_DIR}/cl/* ${SOURCE_DIR}/tests/*)
list(APPEND files CMakeLists.txt quickstart)
foreach(file IN LISTS files)
    if(NOT file MATCHES "\\.(c|h|hpp|cl|clh|cmake|in|txt|sh|cpp)$|quickstart$")
        continue()
    endif()
    file(STRINGS ${SOURCE_DIR}/${file} lines REGEX "${leftover}|[ \t]$|\t")
    foreach(line IN LISTS lines)
        message("${file}: left over, a tab, or blanks at the end: ${line}")
        math(EXPR failures "${failures} + 1")
    endforeach()
    if(file MATCHES "\\.(c|h|hpp|cl|clh|cmake|cpp)$")
        file(STRINGS ${SOURCE_DIR}/${file} first LIMIT_COUNT 1)
        if(NOT first MATCHES "SPDX-License-Identifier: Apache-2.0")
            message("${file}: no SPDX line")
            math(EXPR failures "${failures} + 1")
        endif()
    endif()
    if(file MATCHES "\\.(cl|clh|cpp|hpp)$" OR file MATCHES "/[^/]*\\.[ch]$")
        file(READ ${SOURCE_DIR}/${file} all)
        if(all MATCHES "\n\n\n")
            message("${file}: two empty lines in a row")
            math(EXPR failures "${failures} + 1")
        endif()
    endif()
endforeach()

if(failures)
    message(FATAL_ERROR "${failures} left-overs")
endif()
