# SPDX-License-Identifier: Apache-2.0
# Every note id that code cites exists in vendor-notes, once; every entry is
# cited by code, a kernel or a test.
#   cmake -DSOURCE_DIR=<tree> -P check_notes.cmake
cmake_minimum_required(VERSION 3.22)

set(id "(NV|AM|IN|CP|GE)-[0-9][0-9]")
set(failures 0)

set(entries)
file(GLOB notes ${SOURCE_DIR}/vendor-notes/*.md)
foreach(note IN LISTS notes)
    file(STRINGS ${note} lines REGEX "^### ${id}")
    foreach(line IN LISTS lines)
        string(REGEX MATCH "${id}" entry "${line}")
        if(entry IN_LIST entries)
            message("${entry} is there twice")
            math(EXPR failures "${failures} + 1")
        endif()
        list(APPEND entries ${entry})
    endforeach()
endforeach()
if(NOT entries)
    message(FATAL_ERROR "vendor-notes has no entries")
endif()

set(cited)
file(GLOB_RECURSE files RELATIVE ${SOURCE_DIR}
    ${SOURCE_DIR}/include/*.h ${SOURCE_DIR}/lib/*.[ch]
    ${SOURCE_DIR}/bench/*.[ch] ${SOURCE_DIR}/cl/*.cl ${SOURCE_DIR}/cl/*.clh
    ${SOURCE_DIR}/tests/*.[ch] ${SOURCE_DIR}/tests/*.txt)
foreach(file IN LISTS files)
    file(STRINGS ${SOURCE_DIR}/${file} lines REGEX "${id}")
    foreach(line IN LISTS lines)
        string(REGEX MATCHALL "${id}" found "${line}")
        foreach(one IN LISTS found)
            list(APPEND cited ${one})
            if(NOT one IN_LIST entries)
                message("${file}: ${one} is not in vendor-notes")
                math(EXPR failures "${failures} + 1")
            endif()
        endforeach()
    endforeach()
endforeach()

foreach(entry IN LISTS entries)
    if(NOT entry IN_LIST cited)
        message("${entry} is cited nowhere")
        math(EXPR failures "${failures} + 1")
    endif()
endforeach()

if(failures)
    message(FATAL_ERROR "${failures} note ids are wrong")
endif()
