# SPDX-License-Identifier: Apache-2.0
# Embeds text files in a program as byte arrays. Included, it defines
#
#   xl_embed(target out.c HEADER header ARRAY declarator [ROOT folder]
#            FILES file...)
#
# which adds to the target a generated C file with one array of {name, text,
# length}, the last {NULL, NULL, 0}, as the header declares it. A name is the
# file's path below ROOT, or its base name without ROOT. As a script
# (cmake -P), the file writes that C file.
if(NOT CMAKE_SCRIPT_MODE_FILE)
    set(XL_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
    function(xl_embed target out)
        cmake_parse_arguments(arg "" "HEADER;ARRAY;ROOT" "FILES" ${ARGN})
        set(path ${CMAKE_CURRENT_BINARY_DIR}/${out})
        add_custom_command(OUTPUT ${path}
            COMMAND ${CMAKE_COMMAND} -DOUT=${path} "-DFILES=${arg_FILES}"
                    "-DROOT=${arg_ROOT}" -DHEADER=${arg_HEADER}
                    "-DARRAY=${arg_ARRAY}" -P ${XL_EMBED_SCRIPT}
            DEPENDS ${arg_FILES} ${XL_EMBED_SCRIPT}
            COMMENT "Embedding ${out}" VERBATIM)
        target_sources(${target} PRIVATE ${path})
    endfunction()
    return()
endif()

set(arrays "")
set(entries "")
foreach(file IN LISTS FILES)
    if(ROOT)
        file(RELATIVE_PATH name "${ROOT}" "${file}")
    else()
        get_filename_component(name "${file}" NAME)
    endif()
    string(MAKE_C_IDENTIFIER "text_${name}" id)
    file(READ "${file}" hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE
        "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)"
        "    \\1\n" bytes "${bytes}")
    string(APPEND arrays
        "static const unsigned char ${id}[] = {\n${bytes}0};\n")
    string(APPEND entries
        "    {\"${name}\", ${id}, sizeof ${id} - 1},\n")
endforeach()
file(WRITE "${OUT}"
"/* Made by cl/embed.cmake. */
#include \"${HEADER}\"
${arrays}
const ${ARRAY}[] = {
${entries}    {NULL, NULL, 0},
};
")
