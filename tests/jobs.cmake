# SPDX-License-Identifier: Apache-2.0
# Every test program and the jobs it runs in.

# -- unit: no driver at all --------------------------------------------------
foreach(name base store plans ref cli measure)
    set(file unit/test_${name}.c)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
        xl_program(test_${name} ${file} LIBS clbench_static)
        xl_job(unit.${name} LABELS unit DRIVER none TIMEOUT 120
            COMMAND test_${name})
    endif()
endforeach()

# -- stub: the real loader, our driver ---------------------------------------
foreach(name limits vendors identify errors)
    set(file unit/test_${name}.c)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
        xl_program(test_${name} ${file} LIBS clbench_static)
        xl_job(stub.${name} LABELS stub DRIVER stub TIMEOUT 120
            COMMAND test_${name})
    endif()
endforeach()
