# SPDX-License-Identifier: Apache-2.0
# The C and C++ examples of the documents, one file each in FOLDER:
#
#   ```c ... ```            in README.md and bench/README.md
#   ```cpp ... ```          likewise: C++
#   @code ... @endcode      in the comments of include/crosslane/*.h and *.hpp
#
# An example is a translation unit: functions, with their #include. Those of
# headers get <crosslane/crosslane.h>, or crosslane.hpp. Each of C must compile
# as C11 and as C++20, each of C++ as C++17 and as C++20.

cmake_minimum_required(VERSION 3.22)

# write_examples(text begin end prefix stem suffix list): writes each part of
# `text` between `begin` and `end` as FOLDER/<stem>_<n>.<suffix> after `prefix`,
# and appends the paths to `list`.
function(write_examples text begin end prefix stem suffix list)
    set(files ${${list}})
    string(LENGTH "${begin}" begin_length)
    set(n 0)
    while(TRUE)
        string(FIND "${text}" "${begin}" at)
        if(at EQUAL -1)
            break()
        endif()
        math(EXPR at "${at} + ${begin_length}")
        string(SUBSTRING "${text}" ${at} -1 text)
        string(FIND "${text}" "${end}" at)
        if(at EQUAL -1)
            message(FATAL_ERROR "${stem}: an example has no end")
        endif()
        string(SUBSTRING "${text}" 0 ${at} example)
        if(prefix) # a comment: each line begins with " *"
            string(REGEX REPLACE "\n \\* ?" "\n" example "${example}")
        endif()
        math(EXPR n "${n} + 1")
        file(WRITE ${FOLDER}/${stem}_${n}.${suffix} "${prefix}${example}\n")
        list(APPEND files ${FOLDER}/${stem}_${n}.${suffix})
    endwhile()
    set(${list} ${files} PARENT_SCOPE)
endfunction()

set(examples)
set(examples_cpp)
foreach(document README bench/README)
    file(READ ${SOURCE_DIR}/${document}.md text)
    string(MAKE_C_IDENTIFIER ${document} stem)
    write_examples("${text}" "\n```c\n" "```" "" ${stem} c examples)
    write_examples("${text}" "\n```cpp\n" "```" "" ${stem} cpp examples_cpp)
    if(document STREQUAL "README" AND NOT (examples AND examples_cpp))
        message(FATAL_ERROR "README.md lacks an example of C or of C++")
    endif()
endforeach()
file(GLOB headers ${SOURCE_DIR}/include/crosslane/*.h
    ${SOURCE_DIR}/include/crosslane/*/*.h)
foreach(header IN LISTS headers)
    get_filename_component(stem ${header} NAME_WE)
    file(READ ${header} text)
    write_examples("${text}" "@code" "@endcode"
        "#include <crosslane/crosslane.h>\n" header_${stem} c examples)
endforeach()
file(READ ${SOURCE_DIR}/include/crosslane/crosslane.hpp text)
write_examples("${text}" "@code" "@endcode"
    "#include <crosslane/crosslane.hpp>\n" header_hpp cpp examples_cpp)
