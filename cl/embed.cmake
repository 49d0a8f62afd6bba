# SPDX-License-Identifier: Apache-2.0
# Turn text files into one C file of byte arrays: {name, text, length}, the
# last {NULL, NULL, 0}, as HEADER declares it.
#   cmake -DOUT=embedded.c "-DFILES=a.cl;b.clh" -DHEADER=runtime/sources.h
#         "-DARRAY=struct xl__embedded xl__embedded" -P embed.cmake
set(arrays "")
set(rows "")
foreach(file IN LISTS FILES)
    get_filename_component(name "${file}" NAME)
    string(MAKE_C_IDENTIFIER "${name}" id)
    file(READ "${file}" hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE
        "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)"
        "    \\1\n" bytes "${bytes}")
    string(APPEND arrays
        "static const unsigned char ${id}[] = {\n${bytes}0};\n")
    string(APPEND rows
        "    {\"${name}\", ${id}, sizeof ${id} - 1},\n")
endforeach()
file(WRITE "${OUT}"
"/* Made by cl/embed.cmake. */
#include \"${HEADER}\"
${arrays}
const ${ARRAY}[] = {
${rows}    {NULL, NULL, 0},
};
")
