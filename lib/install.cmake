# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: headers, libraries, clbench with its manual
# and completions, and the two ways to find the library: pkg-config and
# find_package(crosslane). Components: `library` for programs that run, `dev` for
# programs that are built, `tool` for clbench, `python` for the module.

install(TARGETS ${XL_LIBRARIES} EXPORT crosslaneTargets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
        NAMELINK_COMPONENT dev
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
if(TARGET crosslane_clblast)
    install(TARGETS crosslane_clblast
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
            NAMELINK_COMPONENT dev)
endif()
install(DIRECTORY include/crosslane
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING
    PATTERN "*.h" PATTERN "*.hpp")

# clbench and libcrosslane-clblast find the library where both were installed, wherever that is. The
# loader searches some folders by itself.
if(XL_PROGRAMS AND NOT APPLE AND NOT WIN32 AND NOT CMAKE_INSTALL_FULL_LIBDIR IN_LIST
        CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    file(RELATIVE_PATH XL_RPATH ${CMAKE_INSTALL_FULL_BINDIR}
        ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(clbench PROPERTIES
        INSTALL_RPATH "$ORIGIN/${XL_RPATH}")
    if(TARGET crosslane_clblast)
        set_target_properties(crosslane_clblast PROPERTIES
            INSTALL_RPATH "$ORIGIN")
    endif()
endif()
if(XL_PROGRAMS)
    install(TARGETS clbench
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
    # clbench has them in itself; these are to be read, and for the peers.
    install(DIRECTORY bench/cases/shapes
        DESTINATION ${CMAKE_INSTALL_DATADIR}/crosslane COMPONENT tool)
endif()

# -- manual and completions, from the program's own option table --------------
if(XL_PROGRAMS AND NOT CMAKE_CROSSCOMPILING AND NOT WIN32)
    set(XL_PAGES ${CMAKE_CURRENT_BINARY_DIR}/pages)
    add_custom_command(OUTPUT ${XL_PAGES}/clbench.1 ${XL_PAGES}/clbench
        ${XL_PAGES}/_clbench ${XL_PAGES}/clbench.fish
        COMMAND ${CMAKE_COMMAND} -E make_directory ${XL_PAGES}
        COMMAND clbench completion man > ${XL_PAGES}/clbench.1
        COMMAND clbench completion bash > ${XL_PAGES}/clbench
        COMMAND clbench completion zsh > ${XL_PAGES}/_clbench
        COMMAND clbench completion fish > ${XL_PAGES}/clbench.fish
        DEPENDS clbench COMMENT "Writing the manual and completions")
    add_custom_target(pages ALL DEPENDS ${XL_PAGES}/clbench.1)
    install(FILES ${XL_PAGES}/clbench.1
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
        COMPONENT tool)
    install(FILES ${XL_PAGES}/clbench
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        COMPONENT tool)
    install(FILES ${XL_PAGES}/_clbench
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
        COMPONENT tool)
    install(FILES ${XL_PAGES}/clbench.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        COMPONENT tool)
endif()

# -- the Python module -------------------------------------------------------
# A wheel for pip; below /usr, where Debian's Python searches, the module itself.
find_program(XL_PYTHON NAMES python3)
if(XL_PROGRAMS AND XL_PYTHON)
    set(wheel ${CMAKE_CURRENT_BINARY_DIR}/python)
    set(name crosslane-${PROJECT_VERSION}-py3-none-any.whl)
    file(GLOB sources CONFIGURE_DEPENDS lib/python/*.* lib/python/crosslane/*.*)
    add_custom_command(OUTPUT ${wheel}/${name}
        COMMAND ${XL_PYTHON} ${PROJECT_SOURCE_DIR}/lib/python/wheel.py
            ${PROJECT_VERSION} ${wheel}/module
        DEPENDS ${sources} COMMENT "Making the Python wheel" VERBATIM)
    add_custom_target(wheel ALL DEPENDS ${wheel}/${name})
    if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
        install(DIRECTORY ${wheel}/module/
            DESTINATION lib/python3/dist-packages COMPONENT python
            PATTERN LICENSE EXCLUDE) # Debian has one of its own
    else()
        install(FILES ${wheel}/${name}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/crosslane COMPONENT python)
    endif()
endif()

# -- how others find it ------------------------------------------------------
set(XL_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/crosslane)
install(EXPORT crosslaneTargets NAMESPACE crosslane::
    DESTINATION ${XL_CMAKE_DIR} COMPONENT dev)
configure_package_config_file(lib/crosslaneConfig.cmake.in
    ${CMAKE_CURRENT_BINARY_DIR}/crosslaneConfig.cmake
    INSTALL_DESTINATION ${XL_CMAKE_DIR})
write_basic_package_version_file(
    ${CMAKE_CURRENT_BINARY_DIR}/crosslaneConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/crosslaneConfig.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/crosslaneConfigVersion.cmake
    DESTINATION ${XL_CMAKE_DIR} COMPONENT dev)

# Below ${prefix}, which is relative to the file itself: `cmake --install
# --prefix` and a moved tree are found. A library outside has no such place.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(PC_PREFIX "\${pcfiledir}/${up}")
endif()
foreach(dir LIB INCLUDE)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}DIR}")
        set(PC_${dir}DIR "${CMAKE_INSTALL_${dir}DIR}")
    else()
        set(PC_${dir}DIR "\${prefix}/${CMAKE_INSTALL_${dir}DIR}")
    endif()
endforeach()
foreach(name crosslane crosslane-static crosslane-measure)
    configure_file(lib/${name}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
        @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()

if(NOT PROJECT_IS_TOP_LEVEL)
    return()
endif()
# What a whole installation put there, for ./quickstart uninstall: a path below
# the prefix a line, the last that of the list itself.
install(CODE [[
    set(manifest ${CMAKE_INSTALL_PREFIX}/share/crosslane/manifest.txt)
    set(text)
    foreach(file IN LISTS CMAKE_INSTALL_MANIFEST_FILES ITEMS ${manifest})
        file(RELATIVE_PATH file ${CMAKE_INSTALL_PREFIX} ${file})
        string(APPEND text "${file}\n")
    endforeach()
    file(WRITE $ENV{DESTDIR}${manifest} "${text}")
]])
