# SPDX-License-Identifier: Apache-2.0
# The C examples of the documents, one file each in FOLDER:
#
#   ```c ... ```            in README.md and bench/README.md
#   @code ... @endcode      in the comments of include/crosslane/*.h
#
# An example is a translation unit: functions, with their #include. Those of
# headers get <crosslane/crosslane.h>. Each must compile as C11 and as C++17.

cmake_minimum_required(VERSION 3.22)

# write_examples(text begin end prefix stem list): writes each part of `text`
# between `begin` and `end` as FOLDER/<stem>_<n>.c after `prefix`, and appends
# the paths to `list`.
function(write_examples text begin end prefix stem list)
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
        file(WRITE ${FOLDER}/${stem}_${n}.c "${prefix}${example}\n")
        list(APPEND files ${FOLDER}/${stem}_${n}.c)
    endwhile()
    set(${list} ${files} PARENT_SCOPE)
endfunction()

set(examples)
file(READ ${SOURCE_DIR}/README.md text)
write_examples("${text}" "\n```c\n" "```" "" readme examples)
if(NOT examples)
    message(FATAL_ERROR "README.md has no C example")
endif()
file(READ ${SOURCE_DIR}/bench/README.md text)
write_examples("${text}" "\n```c\n" "```" "" manual examples)
file(GLOB headers ${SOURCE_DIR}/include/crosslane/*.h
    ${SOURCE_DIR}/include/crosslane/*/*.h)
foreach(header IN LISTS headers)
    get_filename_component(stem ${header} NAME_WE)
    file(READ ${header} text)
    write_examples("${text}" "@code" "@endcode"
        "#include <crosslane/crosslane.h>\n" header_${stem} examples)
endforeach()
