# SPDX-License-Identifier: Apache-2.0
# Debian packages by CPack: libcrosslane0.1, libcrosslane-dev, clbench and
# python3-crosslane, the components of lib/install.cmake. `./quickstart deb`
# configures with CMAKE_INSTALL_PREFIX=/usr, where Debian's paths hold, and makes
# them.
# deb_files.cmake adds what Debian's policy wants of each package.

set(name "$ENV{DEBFULLNAME}")
set(address "$ENV{DEBEMAIL}")
if(NOT name OR NOT address)
    set(name "crosslane maintainers")
    set(address "maintainers@crosslane.example.org")
endif()
set(XL_MAINTAINER "${name} <${address}>" CACHE STRING
    "Maintainer of the Debian packages; by default DEBFULLNAME <DEBEMAIL>")

set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL library dev tool)
if(XL_PYTHON)
    list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE
    OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each component has its own
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/deb_files.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 0local1) # older than Debian's own first one
set(CPACK_DEBIAN_PACKAGE_SOURCE crosslane)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${XL_MAINTAINER}")
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libcrosslane${soversion})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
    ${CMAKE_CURRENT_LIST_DIR}/triggers)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION
"OpenCL compute library: shared libraries
Matrix products, convolutions, softmax, attention and fused expressions on
OpenCL devices of any vendor, in the queues and buffers of the application.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libcrosslane-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEV_DEPENDS library)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "ocl-icd-opencl-dev | opencl-dev, opencl-c-headers, libjansson-dev")
set(CPACK_DEBIAN_DEV_DESCRIPTION
"OpenCL compute library: headers for C and C++
What programs that use libcrosslane are built with: headers, an archive, and
the files of pkg-config and CMake.")

set(CPACK_DEBIAN_TOOL_PACKAGE_NAME clbench)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_TOOL_DEPENDS library)
set(CPACK_DEBIAN_TOOL_PACKAGE_RECOMMENDS "pocl-opencl-icd | opencl-icd")
set(CPACK_DEBIAN_TOOL_DESCRIPTION
"measure OpenCL devices
Medians with their spread, the share of the device's own measured peak and a
verdict, for the kernels of libcrosslane and for the hardware below them.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-crosslane)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_COMPONENT_PYTHON_DEPENDS library)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.9), python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS python3-pyopencl)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION
"OpenCL compute library: Python module
Matrix products, convolutions, softmax, norms, attention and fused expressions
on NumPy's and PyOpenCL's arrays, by libcrosslane.")

foreach(component LIBRARY DEV TOOL PYTHON)
    set(CPACK_COMPONENT_${component}_DESCRIPTION
        "${CPACK_DEBIAN_${component}_DESCRIPTION}")
endforeach()
include(CPack)
