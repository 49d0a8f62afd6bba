# SPDX-License-Identifier: Apache-2.0
# What the scripts of this folder have in common. Needs SOURCE_DIR and SCRATCH.

# step(what command...): stops where the command fails.
function(step what)
    message("-- ${what}")
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result
        WORKING_DIRECTORY ${SCRATCH})
    if(result)
        message(FATAL_ERROR "${what} failed: ${result}")
    endif()
endfunction()

# check_needs(file library...): the shared libraries that a program or a library
# names are just these. The C library's are given without their versions.
function(check_needs file)
    execute_process(COMMAND readelf -d ${file} OUTPUT_VARIABLE text
        COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*" lines "${text}")
    set(found)
    foreach(line IN LISTS lines)
        string(REGEX REPLACE ".*\\[(.*)\\].*" "\\1" name "${line}")
        string(REGEX REPLACE "^(libc|libm)\\.so\\.[0-9]+$" "\\1" name ${name})
        # The loader itself, and what sanitizers add.
        if(NOT name MATCHES "^(ld-|lib(asan|ubsan|tsan|gcc_s)\\.)")
            list(APPEND found ${name})
        endif()
    endforeach()
    list(SORT found)
    set(expected ${ARGN})
    list(SORT expected)
    if(NOT found STREQUAL expected)
        message(FATAL_ERROR "${file} needs ${found}, not ${expected}")
    endif()
endfunction()

# What README.md says: `library_needs` are libcrosslane's and those of a program
# with the archive, `application_needs` those of tests/consumer/gemm.c.
file(READ ${SOURCE_DIR}/README.md text)
if(NOT text MATCHES "At run time `libcrosslane.so` needs ([^;]*)\\. Optional")
    message(FATAL_ERROR "README.md does not state what libcrosslane.so needs")
endif()
string(REGEX MATCHALL "lib[a-zA-Z]+(\\.so\\.[0-9]+)?" library_needs
    "${CMAKE_MATCH_1}")
set(application_needs libcrosslane.so.0.1 libOpenCL.so.1 libm libc)

# The examples of the documents: the lists `examples` and `examples_cpp`.
set(FOLDER ${SCRATCH}/examples)
include(${CMAKE_CURRENT_LIST_DIR}/examples.cmake)
