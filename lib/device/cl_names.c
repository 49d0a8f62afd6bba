/* SPDX-License-Identifier: Apache-2.0 */
/* cl_int -> name, and -> status. The codes are written as numbers, since no
 * vendor's header has them all. Source: OpenCL 3.0 specification, appendix of
 * error codes; cl_khr_icd for -1001. */
#include "device/cl_info.h"

#define CODES(XX)                                                             \
    XX(0, SUCCESS)                                                            \
    XX(-1, DEVICE_NOT_FOUND)                                                  \
    XX(-2, DEVICE_NOT_AVAILABLE)                                              \
    XX(-3, COMPILER_NOT_AVAILABLE)                                            \
    XX(-4, MEM_OBJECT_ALLOCATION_FAILURE)                                     \
    XX(-5, OUT_OF_RESOURCES)                                                  \
    XX(-6, OUT_OF_HOST_MEMORY)                                                \
    XX(-7, PROFILING_INFO_NOT_AVAILABLE)                                      \
    XX(-8, MEM_COPY_OVERLAP)                                                  \
    XX(-9, IMAGE_FORMAT_MISMATCH)                                             \
    XX(-10, IMAGE_FORMAT_NOT_SUPPORTED)                                       \
    XX(-11, BUILD_PROGRAM_FAILURE)                                            \
    XX(-12, MAP_FAILURE)                                                      \
    XX(-13, MISALIGNED_SUB_BUFFER_OFFSET)                                     \
    XX(-14, EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)                        \
    XX(-15, COMPILE_PROGRAM_FAILURE)                                          \
    XX(-16, LINKER_NOT_AVAILABLE)                                             \
    XX(-17, LINK_PROGRAM_FAILURE)                                             \
    XX(-18, DEVICE_PARTITION_FAILED)                                          \
    XX(-19, KERNEL_ARG_INFO_NOT_AVAILABLE)                                    \
    XX(-30, INVALID_VALUE)                                                    \
    XX(-31, INVALID_DEVICE_TYPE)                                              \
    XX(-32, INVALID_PLATFORM)                                                 \
    XX(-33, INVALID_DEVICE)                                                   \
    XX(-34, INVALID_CONTEXT)                                                  \
    XX(-35, INVALID_QUEUE_PROPERTIES)                                         \
    XX(-36, INVALID_COMMAND_QUEUE)                                            \
    XX(-37, INVALID_HOST_PTR)                                                 \
    XX(-38, INVALID_MEM_OBJECT)                                               \
    XX(-39, INVALID_IMAGE_FORMAT_DESCRIPTOR)                                  \
    XX(-40, INVALID_IMAGE_SIZE)                                               \
    XX(-41, INVALID_SAMPLER)                                                  \
    XX(-42, INVALID_BINARY)                                                   \
    XX(-43, INVALID_BUILD_OPTIONS)                                            \
    XX(-44, INVALID_PROGRAM)                                                  \
    XX(-45, INVALID_PROGRAM_EXECUTABLE)                                       \
    XX(-46, INVALID_KERNEL_NAME)                                              \
    XX(-47, INVALID_KERNEL_DEFINITION)                                        \
    XX(-48, INVALID_KERNEL)                                                   \
    XX(-49, INVALID_ARG_INDEX)                                                \
    XX(-50, INVALID_ARG_VALUE)                                                \
    XX(-51, INVALID_ARG_SIZE)                                                 \
    XX(-52, INVALID_KERNEL_ARGS)                                              \
    XX(-53, INVALID_WORK_DIMENSION)                                           \
    XX(-54, INVALID_WORK_GROUP_SIZE)                                          \
    XX(-55, INVALID_WORK_ITEM_SIZE)                                           \
    XX(-56, INVALID_GLOBAL_OFFSET)                                            \
    XX(-57, INVALID_EVENT_WAIT_LIST)                                          \
    XX(-58, INVALID_EVENT)                                                    \
    XX(-59, INVALID_OPERATION)                                                \
    XX(-60, INVALID_GL_OBJECT)                                                \
    XX(-61, INVALID_BUFFER_SIZE)                                              \
    XX(-62, INVALID_MIP_LEVEL)                                                \
    XX(-63, INVALID_GLOBAL_WORK_SIZE)                                         \
    XX(-64, INVALID_PROPERTY)                                                 \
    XX(-65, INVALID_IMAGE_DESCRIPTOR)                                         \
    XX(-66, INVALID_COMPILER_OPTIONS)                                         \
    XX(-67, INVALID_LINKER_OPTIONS)                                           \
    XX(-68, INVALID_DEVICE_PARTITION_COUNT)                                   \
    XX(-69, INVALID_PIPE_SIZE)                                                \
    XX(-70, INVALID_DEVICE_QUEUE)                                             \
    XX(-71, INVALID_SPEC_ID)                                                  \
    XX(-72, MAX_SIZE_RESTRICTION_EXCEEDED)                                    \
    XX(-1001, PLATFORM_NOT_FOUND_KHR)

const char *xl__cl_name(cl_int code)
{
#define NAME(value, name)                                                     \
    case value:                                                               \
        return "CL_" #name;
    switch (code) {
        CODES(NAME)
    default:
        return NULL;
    }
#undef NAME
}

xl_status xl__cl_check(struct xl__error *e, cl_int code, const char *call,
                       const char *file, int line)
{
    const char *name;

    if (code == CL_SUCCESS)
        return XL_OK;
    name = xl__cl_name(code);
    return xl__error_set(e, code, "%s (%d) from %s at %s:%d",
                         name ? name : "unknown code", code, call, file, line);
}
