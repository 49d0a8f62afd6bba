# SPDX-License-Identifier: Apache-2.0
# Who may include whom: the table of lib/README.md, enforced. Each #include,
# quoted or angled, of each file is held against its folder's row.
#   cmake -DSOURCE_DIR=<tree> -P check_layers.cmake
cmake_minimum_required(VERSION 3.22)

# Quoted includes that a folder may use, as a pattern. Headers of OpenCL come
# through crosslane/cl.h alone; `cl` says who may have them.
set(base_may "base/")
set(device_may "base/|device/")
set(runtime_may "base/|device/|runtime/")
set(ops_may "base/|device/|runtime/|ops/")
set(expr_may "base/|device/|runtime/|expr/")
set(measure_may "base/|device/|runtime/|measure/")
set(tune_may "base/|device/|runtime/|ops/|measure/|tune/")
set(vendor_may "base/|device/|ops/|expr/|vendor/")

set(failures 0)

function(complain file text)
    message("${file}: ${text}")
    math(EXPR n "${failures} + 1")
    set(failures ${n} PARENT_SCOPE)
endfunction()

# The file's includes, as "quoted:path" and "angled:path".
function(includes_of file out)
    file(STRINGS ${file} lines REGEX "^[ \t]*#[ \t]*include")
    set(found)
    foreach(line IN LISTS lines)
        if(line MATCHES "\"([^\"]+)\"")
            list(APPEND found "quoted:${CMAKE_MATCH_1}")
        elseif(line MATCHES "<([^>]+)>")
            list(APPEND found "angled:${CMAKE_MATCH_1}")
        endif()
    endforeach()
    set(${out} ${found} PARENT_SCOPE)
endfunction()

foreach(layer base device runtime ops expr measure tune vendor)
    file(GLOB files RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/lib/${layer}/*.[ch])
    foreach(file IN LISTS files)
        includes_of(${SOURCE_DIR}/${file} includes)
        foreach(include IN LISTS includes)
            if(include MATCHES "^quoted:(.*)"
               AND NOT include MATCHES "^quoted:(${${layer}_may})")
                complain(${file} "${layer} may not include ${include}")
            elseif(include MATCHES "^angled:(CL|OpenCL)/")
                complain(${file} "OpenCL comes through crosslane/cl.h")
            elseif(layer STREQUAL "base" AND
                   include MATCHES "^angled:crosslane/" AND
                   NOT include STREQUAL "angled:crosslane/status.h")
                complain(${file} "base knows no OpenCL: ${include}")
            endif()
        endforeach()
    endforeach()
endforeach()

file(GLOB files RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/bench/*.[ch])
foreach(file IN LISTS files)
    includes_of(${SOURCE_DIR}/${file} includes)
    foreach(include IN LISTS includes)
        if(include MATCHES "^quoted:.*/" AND
           NOT include MATCHES "^quoted:base/")
            complain(${file} "bench may not include ${include}")
        elseif(include MATCHES "^angled:(CL|OpenCL)/")
            complain(${file} "OpenCL comes through crosslane/cl.h")
        endif()
    endforeach()
endforeach()

file(GLOB files RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/include/crosslane/*.h)
foreach(file IN LISTS files)
    includes_of(${SOURCE_DIR}/${file} includes)
    foreach(include IN LISTS includes)
        if(include MATCHES "^quoted:")
            complain(${file} "public headers include with <>")
        elseif(include MATCHES "^angled:(CL|OpenCL)/" AND
               NOT file MATCHES "/cl\\.h$")
            complain(${file} "OpenCL comes through crosslane/cl.h")
        endif()
    endforeach()
endforeach()

# Ops and expressions plan; they do not call the driver. check.c asks about
# memory.
file(GLOB files RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/lib/ops/*.[ch]
    ${SOURCE_DIR}/lib/expr/*.[ch])
foreach(file IN LISTS files)
    file(STRINGS ${SOURCE_DIR}/${file} lines
        REGEX "(^|[^A-Za-z0-9_\"])cl(Enqueue|Create|Build|Release|Set)[A-Z]?[A-Za-z]*\\(")
    foreach(line IN LISTS lines)
        complain(${file} "an op calls the driver: ${line}")
    endforeach()
endforeach()

if(failures)
    message(FATAL_ERROR "${failures} includes or calls break the layers")
endif()
