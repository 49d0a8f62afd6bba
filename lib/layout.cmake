# SPDX-License-Identifier: Apache-2.0
# Writes the C file of xl_member_at(): names and types from layout.txt, sizes
# and offsets from the compiler.
#
#   cmake -DOUT=out.c -DLAYOUT=layout.txt -P layout.cmake
set(rows "")
file(STRINGS "${LAYOUT}" lines)
foreach(line IN LISTS lines)
    if(line MATCHES "^(xl_[a-z0-9_]+) [0-9]+$")
        set(in ${CMAKE_MATCH_1})
    elseif(line MATCHES "^    ([a-z0-9_]+) [0-9]+ [0-9]+ (.+)$")
        string(APPEND rows "    MEMBER(${in}, ${CMAKE_MATCH_1}, "
            "\"${CMAKE_MATCH_2}\"),\n")
    endif()
endforeach()
file(WRITE "${OUT}"
"/* Made by lib/layout.cmake. */
#include <crosslane/crosslane.h>
#include <crosslane/measure.h>

#define MEMBER(in, name, type)                                                \\
    {#in, sizeof(struct in), #name, type, offsetof(struct in, name),          \\
     sizeof((struct in *)0)->name}

static const xl_member members[] = {
${rows}};

const xl_member *xl_member_at(unsigned i)
{
    return i < sizeof members / sizeof *members ? &members[i] : NULL;
}
")
