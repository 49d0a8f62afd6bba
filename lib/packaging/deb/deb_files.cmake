# SPDX-License-Identifier: Apache-2.0
# Run by CPack between installing and packing: the files of Debian's policy that
# no other installation has. Manual pages are compressed; each package has its
# copyright, its changelogs and, where it needs them, answers to lintian.

function(compress from to)
    execute_process(COMMAND gzip -9nc ${from} OUTPUT_FILE ${to}
        COMMAND_ERROR_IS_FATAL ANY)
endfunction()

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(entry ${CPACK_TEMPORARY_DIRECTORY}/changelog.Debian)
file(WRITE ${entry} "${CPACK_DEBIAN_PACKAGE_SOURCE} (${version}) unstable; \
urgency=medium

  * Packages made by CPack; changelog.gz has what is new in crosslane.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER ${component} upper)
    set(name ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
    set(share ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share)
    set(doc ${share}/doc/${name})
    configure_file(${CMAKE_CURRENT_LIST_DIR}/copyright ${doc}/copyright
        COPYONLY)
    compress(${CMAKE_CURRENT_LIST_DIR}/../../../CHANGELOG.md ${doc}/changelog.gz)
    compress(${entry} ${doc}/changelog.Debian.gz)
    set(answers ${CMAKE_CURRENT_LIST_DIR}/lintian_${component})
    if(EXISTS ${answers})
        configure_file(${answers} ${share}/lintian/overrides/${name} COPYONLY)
    endif()
    file(GLOB pages ${share}/man/man*/*.[1-9])
    foreach(page IN LISTS pages)
        compress(${page} ${page}.gz)
        file(REMOVE ${page})
    endforeach()
endforeach()
