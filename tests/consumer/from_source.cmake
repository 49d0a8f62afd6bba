# SPDX-License-Identifier: Apache-2.0
# An application that builds crosslane as a part of itself, then what it
# installs where BUILD_SHARED_LIBS is OFF. The second configuration finds the
# first one's objects, so the library is compiled once.
#   cmake -DSOURCE_DIR=<tree> -DSCRATCH=<folder> -DCC=<cc> -DCXX=<c++>
#         -DLAUNCHER=<ccache or empty> -P from_source.cmake
cmake_minimum_required(VERSION 3.22)

set(prefix ${SCRATCH}/prefix)
set(here ${SOURCE_DIR}/tests/consumer)
set(built ${SCRATCH}/cmake)
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
include(${here}/steps.cmake)

find_program(NINJA ninja)
set(configure ${CMAKE_COMMAND} -S ${here} -DEXAMPLES=${SCRATCH}/examples
    -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX})
if(NINJA)
    list(APPEND configure -G Ninja)
endif()
cmake_host_system_information(RESULT n_cores QUERY NUMBER_OF_LOGICAL_CORES)
set(targets --parallel ${n_cores}
    --target consumer_c consumer_static consumer_probe)

step("configure, add_subdirectory" ${configure} -B ${built}
    -DSOURCE=${SOURCE_DIR} -DCMAKE_BUILD_TYPE=Release -DXL_INSTALL=ON
    -DXL_WERROR=ON -DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER})
step("build" ${CMAKE_COMMAND} --build ${built} ${targets})
step("run, shared" ${built}/consumer_c)
step("run, archive" ${built}/consumer_static)
step("run, a probe" ${built}/consumer_probe)
check_needs(${built}/consumer_c ${application_needs})
check_needs(${built}/consumer_static ${library_needs})
# The libraries alone, and no setting of theirs in the application's.
file(STRINGS ${built}/CMakeCache.txt cache
    REGEX "^(BUILD_TESTING|BUILD_SHARED_LIBS)")
file(GLOB_RECURSE programs ${built}/clbench ${built}/test_*)
if(cache OR programs)
    message(FATAL_ERROR "crosslane adds to the application: ${cache};${programs}")
endif()

step("configure, FetchContent, archives" ${configure} -B ${built} -DFETCH=ON
    -DBUILD_SHARED_LIBS=OFF)
file(GLOB shared ${built}/_deps/crosslane-build/*.so*)
file(REMOVE ${shared} ${built}/consumer_c ${built}/consumer_probe)
step("build" ${CMAKE_COMMAND} --build ${built} ${targets})
foreach(program c static probe)
    step("run, FetchContent, ${program}" ${built}/consumer_${program})
    check_needs(${built}/consumer_${program} ${library_needs})
endforeach()

# What it installs: archives, found in both ways.
step("build all" ${CMAKE_COMMAND} --build ${built} --parallel ${n_cores})
step(install ${CMAKE_COMMAND} --install ${built} --prefix ${prefix})
file(GLOB_RECURSE shared ${prefix}/*.so*)
file(GLOB_RECURSE archive ${prefix}/libcrosslane.a)
if(shared OR NOT archive)
    message(FATAL_ERROR "installed: ${shared}, ${archive}")
endif()
get_filename_component(libdir ${archive} DIRECTORY)
step("configure, installed archives" ${configure} -B ${SCRATCH}/installed
    -DCMAKE_PREFIX_PATH=${prefix} -DFEW=ON)
step("build" ${CMAKE_COMMAND} --build ${SCRATCH}/installed)
foreach(program c static probe)
    step("run, installed archives" ${SCRATCH}/installed/consumer_${program})
    check_needs(${SCRATCH}/installed/consumer_${program} ${library_needs})
endforeach()
find_program(PKG_CONFIG pkg-config REQUIRED)
set(ENV{PKG_CONFIG_PATH} ${libdir}/pkgconfig)
execute_process(COMMAND ${PKG_CONFIG} --static --cflags --libs crosslane
    OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY
    OUTPUT_STRIP_TRAILING_WHITESPACE)
separate_arguments(flags)
step("build by pkg-config --static" ${CC} -std=c11
    -DCL_TARGET_OPENCL_VERSION=120 ${here}/gemm.c ${examples}
    -o ${SCRATCH}/by_pc ${flags})
step("run, pkg-config --static" ${SCRATCH}/by_pc)
check_needs(${SCRATCH}/by_pc ${library_needs})
