# SPDX-License-Identifier: Apache-2.0
# A vendor is data: its words may stand only in the files named here. Comments
# may say what they like; code may not. With SYMBOLS=<nm>, LIBRARY=<so> and
# MEASURE=<so>, what both export has a symbol version: xl_ that of the release
# and xl__ the private one.
#   cmake -DSOURCE_DIR=<tree> -P check_names.cmake
cmake_minimum_required(VERSION 3.22)

set(allowed
    "^lib/targets/|^lib/device/identify\\.c$|^bench/cli/hints\\.c$"
    "|^cl/quantised/line_copy\\.clh$"
    "|^cl/common/(async_copy|block_read|subgroup|dot|exp2|matrix|compute_unit|device_fence)"
    "\\.clh$"
    "|^cl/probe/matrix_engine\\.cl$"
    "|^cl/[a-z]+/(nvidia|amd|intel)/")
string(CONCAT allowed ${allowed})
set(words
    "nvidia|amd|amdgcn|rocm|intel|qualcomm|adreno|mali|apple|radeon|geforce"
    "|tesla|cuda|ptx|pocl|rusticl|mesa|llvmpipe|oneapi")
string(CONCAT words ${words})

set(failures 0)

file(GLOB_RECURSE files RELATIVE ${SOURCE_DIR}
    ${SOURCE_DIR}/include/*.h ${SOURCE_DIR}/include/*.hpp
    ${SOURCE_DIR}/lib/*.[ch]
    ${SOURCE_DIR}/bench/*.[ch] ${SOURCE_DIR}/cl/*.cl ${SOURCE_DIR}/cl/*.clh)
foreach(file IN LISTS files)
    if(file MATCHES "${allowed}" OR file MATCHES "^bench/peers/")
        continue()
    endif()
    file(READ ${SOURCE_DIR}/${file} text)
    string(TOLOWER "${text}" text)
    string(REGEX REPLACE "/\\*[^*]*\\*+([^/*][^*]*\\*+)*/" "" text "${text}")
    string(REGEX REPLACE "//[^\n]*" "" text "${text}")
    # A kernel's path names the folder of its vendor.
    string(REGEX REPLACE "\"[a-z0-9_/]+\\.clh?\"" "" text "${text}")
    # The compiler's name for an operating system.
    string(REPLACE "__apple__" "" text "${text}")
    string(REGEX MATCHALL "(^|[^a-z])(${words})([^a-z])" hits "${text}")
    if(hits)
        list(REMOVE_DUPLICATES hits)
        message("${file}: a vendor's word: ${hits}")
        math(EXPR failures "${failures} + 1")
    endif()
endforeach()

# check_symbols(library version name-that-it-must-not-have...)
function(check_symbols library version)
    execute_process(COMMAND ${SYMBOLS} -D --defined-only ${library}
        OUTPUT_VARIABLE table RESULT_VARIABLE result)
    if(result)
        message(FATAL_ERROR "cannot list symbols of ${library}")
    endif()
    string(REGEX MATCHALL "[^\n]+" lines "${table}")
    set(exported 0)
    foreach(line IN LISTS lines)
        string(REGEX REPLACE ".* " "" symbol "${line}")
        string(REGEX REPLACE "@.*" "" name "${symbol}")
        if(name IN_LIST ARGN)
            message("belongs to libcrosslane-measure: ${symbol}")
            math(EXPR failures "${failures} + 1")
        elseif(symbol MATCHES "^xl_[a-z0-9_]+@@${version}$")
            math(EXPR exported "${exported} + 1")
        elseif(NOT symbol MATCHES "^CROSSLANE_|^xl__.*@@CROSSLANE_PRIVATE$")
            message("${library}: exported by mistake, or with another version "
                "than ${version}: ${symbol}")
            math(EXPR failures "${failures} + 1")
        endif()
    endforeach()
    if(exported EQUAL 0)
        message(FATAL_ERROR "${library} exports nothing as ${version}")
    endif()
    set(failures ${failures} PARENT_SCOPE)
endfunction()

if(SYMBOLS)
    # Functions of libcrosslane-measure, which libcrosslane must not have.
    set(of_measure "")
    file(GLOB headers ${SOURCE_DIR}/include/crosslane/measure/*.h)
    foreach(header IN LISTS headers)
        file(READ ${header} text)
        string(REGEX MATCHALL "XL_API [^(;]*\\(" declared "${text}")
        list(TRANSFORM declared REPLACE ".*[ *](xl_[a-z_]+)\\(" "\\1")
        list(APPEND of_measure ${declared})
    endforeach()
    check_symbols(${LIBRARY} "CROSSLANE_0\\.1" ${of_measure})
    check_symbols(${MEASURE} "CROSSLANE_0\\.1")
endif()

if(failures)
    message(FATAL_ERROR "${failures} names in the wrong place")
endif()
