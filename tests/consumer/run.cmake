# SPDX-License-Identifier: Apache-2.0
# Install into a scratch prefix, build the application against it in both
# ways, and run it: find_package() and pkg-config. Then uninstall. With DEB, what
# is installed are the Debian packages, unpacked, and of the programs one in C
# and one in C++ are built.
#   cmake -DSOURCE_DIR=<tree> -DBUILD_DIR=<built> -DSCRATCH=<folder>
#         -DCC=<cc> -DCXX=<c++> -DLAUNCHER=<ccache or empty> [-DDEB=ON]
#         -P run.cmake
cmake_minimum_required(VERSION 3.22)

set(prefix ${SCRATCH}/prefix)
set(here ${SOURCE_DIR}/tests/consumer)
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})

# step(), check_needs(), and the lists `examples` and `examples_cpp`.
include(${here}/steps.cmake)

if(DEB)
    find_program(DPKG_DEB dpkg-deb)
    if(NOT DPKG_DEB)
        message(STATUS "SKIPPED: there is no dpkg-deb")
        return()
    endif()
    set(ENV{XL_BUILD} ${BUILD_DIR})
    file(GLOB packages ${BUILD_DIR}-deb/*.deb)
    file(REMOVE ${packages} "")
    # The options of the build that the launcher has seen.
    step("build packages" ${SOURCE_DIR}/quickstart deb -DXL_WERROR=ON
        -DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER})
    file(GLOB packages ${BUILD_DIR}-deb/*.deb)
    find_program(LINTIAN lintian)
    if(LINTIAN)
        step(lintian ${LINTIAN} --allow-root --fail-on error,warning
            ${packages})
    endif()
    foreach(package IN LISTS packages)
        step("unpack ${package}" ${DPKG_DEB} -x ${package} ${SCRATCH}/unpacked)
    endforeach()
    set(prefix ${SCRATCH}/unpacked/usr)
else()
    step(install ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
endif()
file(GLOB_RECURSE soname ${prefix}/libcrosslane.so.0.1)
if(NOT soname)
    message(FATAL_ERROR "no libcrosslane.so.0.1 is installed")
endif()
get_filename_component(libdir ${soname} DIRECTORY)
check_needs(${soname} ${library_needs})

step(configure ${CMAKE_COMMAND} -S ${here} -B ${SCRATCH}/cmake
    -DCMAKE_PREFIX_PATH=${prefix} -DEXAMPLES=${SCRATCH}/examples -DFEW=${DEB}
    -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX})
step(build ${CMAKE_COMMAND} --build ${SCRATCH}/cmake)
step("run, from C" ${SCRATCH}/cmake/consumer_c)
step("run, from C, with the archive" ${SCRATCH}/cmake/consumer_static)
step("run, from C++" ${SCRATCH}/cmake/consumer_cpp)
step("a probe, from C" ${SCRATCH}/cmake/consumer_probe)

# By pkg-config, with the prefix moved after it was configured and no flag for
# the new one.
find_program(PKG_CONFIG pkg-config REQUIRED)
set(ENV{PKG_CONFIG_PATH} ${libdir}/pkgconfig)
set(ENV{LD_LIBRARY_PATH} ${libdir})
foreach(package crosslane-measure crosslane-static crosslane)
    execute_process(COMMAND ${PKG_CONFIG} --cflags --libs ${package}
        OUTPUT_VARIABLE flags RESULT_VARIABLE result
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(result)
        message(FATAL_ERROR "pkg-config does not find ${package}")
    endif()
    separate_arguments(flags)
    set(flags_${package} ${flags})
endforeach()
# In C++ a warning of -Wextra is against what designators leave out.
set(warnings -Wall -Wextra -Werror -Wno-missing-field-initializers
    -DCL_TARGET_OPENCL_VERSION=120)
step("build by pkg-config, C" ${CC} -std=c11 ${warnings} ${here}/gemm.c
    ${examples} -o ${SCRATCH}/by_pc ${flags} -lm)
step("build with the archive by pkg-config" ${CC} -std=c11 ${warnings}
    ${here}/gemm.c ${examples} -o ${SCRATCH}/static_by_pc
    ${flags_crosslane-static})
step("build by pkg-config, C++" ${CXX} -std=c++17 ${warnings} ${here}/gemm.cpp
    -o ${SCRATCH}/by_pc_cpp ${flags})
step("build a probe by pkg-config, C" ${CC} -std=c11 ${warnings}
    ${here}/probe.c -o ${SCRATCH}/probe_by_pc ${flags_crosslane-measure})
step("run a probe, C" ${SCRATCH}/probe_by_pc)
step("run, C" ${SCRATCH}/by_pc)
step("run, with the archive" ${SCRATCH}/static_by_pc)
foreach(program cmake/consumer_static static_by_pc)
    check_needs(${SCRATCH}/${program} ${library_needs})
endforeach()
check_needs(${SCRATCH}/by_pc ${application_needs})
step("run, C++" ${SCRATCH}/by_pc_cpp)

step("installed clbench" ${prefix}/bin/clbench --version)
file(GLOB page ${prefix}/share/man/man1/clbench.1*)
find_program(MAN man)
if(MAN)
    execute_process(COMMAND ${MAN} -l ${page} OUTPUT_VARIABLE text
        RESULT_VARIABLE result)
    if(result OR NOT text MATCHES "measure OpenCL devices")
        message(FATAL_ERROR "man does not show ${page}")
    endif()
endif()
find_program(BASH bash)
if(BASH)
    step("completion" ${BASH} -c ". $0 && complete -p clbench"
        ${prefix}/share/bash-completion/completions/clbench)
endif()
foreach(page ${page} ${prefix}/share/zsh/site-functions/_clbench
        ${prefix}/share/fish/vendor_completions.d/clbench.fish)
    file(SIZE ${page} bytes)
    if(bytes EQUAL 0)
        message(FATAL_ERROR "${page} is empty")
    endif()
endforeach()
if(DEB)
    return()
endif()

# The other programs, and the examples in all standards.
step("an expression, from C" ${SCRATCH}/cmake/consumer_expr_c)
step("an expression, from C++" ${SCRATCH}/cmake/consumer_expr_cpp)
file(GLOB programs ${SCRATCH}/cmake/example_*
    ${SCRATCH}/cmake/consumer_classes_*
    ${SCRATCH}/cmake/consumer_khronos_*)
foreach(program IN LISTS programs)
    step("run ${program}" ${program})
endforeach()
foreach(example IN LISTS examples)
    get_filename_component(name ${example} NAME)
    step("${name} as C++20" ${CXX} -std=c++20 ${warnings}
        -x c++ -fsyntax-only ${example}
        ${flags})
endforeach()
set(strict -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
    -DCL_TARGET_OPENCL_VERSION=120)
foreach(standard 17 20)
    foreach(source IN LISTS examples_cpp ITEMS ${here}/classes.cpp)
        get_filename_component(name ${source} NAME)
        step("${name} as C++${standard}, strictly" ${CXX} -std=c++${standard}
            ${strict} -fsyntax-only ${source} ${flags})
    endforeach()
endforeach()
step("build an expression by pkg-config, C" ${CC} -std=c11 ${warnings}
    ${here}/expr.c -o ${SCRATCH}/expr_by_pc ${flags} -lm)
step("build an expression by pkg-config, C++" ${CXX} -std=c++17 ${warnings}
    ${here}/expr.cpp -o ${SCRATCH}/expr_by_pc_cpp ${flags})
step("run an expression, C" ${SCRATCH}/expr_by_pc)
step("run an expression, C++" ${SCRATCH}/expr_by_pc_cpp)

# `quickstart uninstall` removes each file, and refuses where nothing is, where
# the list is not of this prefix, and what is no command.
file(READ ${prefix}/share/crosslane/manifest.txt list)
file(APPEND ${prefix}/share/crosslane/manifest.txt "../kept\n")
file(WRITE ${SCRATCH}/kept "")
function(uninstall expected)
    execute_process(COMMAND ${SOURCE_DIR}/quickstart uninstall ${ARGN}
        WORKING_DIRECTORY ${SCRATCH} ERROR_VARIABLE said
        OUTPUT_VARIABLE said)
    if(NOT said MATCHES "${expected}")
        message(FATAL_ERROR "uninstall ${ARGN}: not ${expected}: ${said}")
    endif()
endfunction()
uninstall("outside" prefix)
file(WRITE ${prefix}/share/crosslane/manifest.txt "${list}")
uninstall("removing crosslane from ${prefix}" prefix)
file(GLOB_RECURSE left ${prefix}/*)
if(left OR EXISTS ${prefix}/share/crosslane OR NOT EXISTS ${SCRATCH}/kept)
    message(FATAL_ERROR "after uninstall: ${left}, or a folder, or too much")
endif()
uninstall("was not installed in ${prefix}" prefix)
uninstall("usage" --all)
uninstall("usage" prefix other)
