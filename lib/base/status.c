/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts of status codes: the library's from XL_STATUS_MAP, OpenCL's
 * from the list below, which follows cl.h, cl_ext.h and the OpenCL 3.0
 * specification, appendix "Error Codes". The codes are literals because
 * lib/base includes no OpenCL header. */
#include <crosslane/status.h>

#include <stddef.h>

struct code {
    xl_status value;
    const char *name, *text;
};

#define OURS(name, value, text) {value, "XL_" #name, text},

/* clang-format off */
static const struct code codes[] = {
    XL_STATUS_MAP(OURS)
    /* code  name                                text */
    {   -1, "CL_DEVICE_NOT_FOUND",               "no device of that type"},
    {   -2, "CL_DEVICE_NOT_AVAILABLE",           "the device is not available now"},
    {   -3, "CL_COMPILER_NOT_AVAILABLE",         "the driver has no compiler"},
    {   -4, "CL_MEM_OBJECT_ALLOCATION_FAILURE",  "no device memory for a buffer"},
    {   -5, "CL_OUT_OF_RESOURCES",               "the device ran out of resources, or a kernel failed"},
    {   -6, "CL_OUT_OF_HOST_MEMORY",             "the driver ran out of host memory"},
    {   -7, "CL_PROFILING_INFO_NOT_AVAILABLE",   "no times: the queue does not profile, or the work has not ended"},
    {   -8, "CL_MEM_COPY_OVERLAP",               "source and destination of a copy overlap"},
    {   -9, "CL_IMAGE_FORMAT_MISMATCH",          "the images' formats differ"},
    {  -10, "CL_IMAGE_FORMAT_NOT_SUPPORTED",     "the image format is not supported"},
    {  -11, "CL_BUILD_PROGRAM_FAILURE",          "a program did not build"},
    {  -12, "CL_MAP_FAILURE",                    "memory could not be mapped"},
    {  -13, "CL_MISALIGNED_SUB_BUFFER_OFFSET",   "a sub-buffer's offset is not aligned for the device"},
    {  -14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", "work that was waited for has failed"},
    {  -15, "CL_COMPILE_PROGRAM_FAILURE",        "a program did not compile"},
    {  -16, "CL_LINKER_NOT_AVAILABLE",           "the driver has no linker"},
    {  -17, "CL_LINK_PROGRAM_FAILURE",           "a program did not link"},
    {  -18, "CL_DEVICE_PARTITION_FAILED",        "the device could not be partitioned"},
    {  -19, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE",  "no information about a kernel's arguments"},
    {  -30, "CL_INVALID_VALUE",                  "an argument of an OpenCL call is not valid"},
    {  -31, "CL_INVALID_DEVICE_TYPE",            "not a device type"},
    {  -32, "CL_INVALID_PLATFORM",               "not a platform"},
    {  -33, "CL_INVALID_DEVICE",                 "not a device of that context"},
    {  -34, "CL_INVALID_CONTEXT",                "not a context, or objects of different contexts"},
    {  -35, "CL_INVALID_QUEUE_PROPERTIES",       "the device has no queue with such properties"},
    {  -36, "CL_INVALID_COMMAND_QUEUE",          "not a command queue, or the device is lost"},
    {  -37, "CL_INVALID_HOST_PTR",               "the host pointer does not go with the flags"},
    {  -38, "CL_INVALID_MEM_OBJECT",             "not a memory object"},
    {  -39, "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR", "not an image format"},
    {  -40, "CL_INVALID_IMAGE_SIZE",             "the image's size is not supported"},
    {  -41, "CL_INVALID_SAMPLER",                "not a sampler"},
    {  -42, "CL_INVALID_BINARY",                 "the driver refused a compiled program"},
    {  -43, "CL_INVALID_BUILD_OPTIONS",          "the compiler refused the build options"},
    {  -44, "CL_INVALID_PROGRAM",                "not a program"},
    {  -45, "CL_INVALID_PROGRAM_EXECUTABLE",     "the program was not built for that device"},
    {  -46, "CL_INVALID_KERNEL_NAME",            "the program has no kernel of that name"},
    {  -47, "CL_INVALID_KERNEL_DEFINITION",      "the kernel differs between devices"},
    {  -48, "CL_INVALID_KERNEL",                 "not a kernel"},
    {  -49, "CL_INVALID_ARG_INDEX",              "the kernel has no argument of that index"},
    {  -50, "CL_INVALID_ARG_VALUE",              "a kernel argument's value is not valid"},
    {  -51, "CL_INVALID_ARG_SIZE",               "a kernel argument's size is wrong"},
    {  -52, "CL_INVALID_KERNEL_ARGS",            "a kernel argument was not set"},
    {  -53, "CL_INVALID_WORK_DIMENSION",         "not a number of dimensions"},
    {  -54, "CL_INVALID_WORK_GROUP_SIZE",        "the work-group's size does not suit kernel or device"},
    {  -55, "CL_INVALID_WORK_ITEM_SIZE",         "the work-group is too large in one dimension"},
    {  -56, "CL_INVALID_GLOBAL_OFFSET",          "the global offset is not supported"},
    {  -57, "CL_INVALID_EVENT_WAIT_LIST",        "the wait list is not valid"},
    {  -58, "CL_INVALID_EVENT",                  "not an event"},
    {  -59, "CL_INVALID_OPERATION",              "that operation is not allowed here"},
    {  -60, "CL_INVALID_GL_OBJECT",              "not an OpenGL object"},
    {  -61, "CL_INVALID_BUFFER_SIZE",            "a buffer's size is 0 or more than the device allows"},
    {  -62, "CL_INVALID_MIP_LEVEL",              "not a mip level"},
    {  -63, "CL_INVALID_GLOBAL_WORK_SIZE",       "the global size is 0 or too large"},
    {  -64, "CL_INVALID_PROPERTY",               "not a property"},
    {  -65, "CL_INVALID_IMAGE_DESCRIPTOR",       "not an image descriptor"},
    {  -66, "CL_INVALID_COMPILER_OPTIONS",       "the compiler refused its options"},
    {  -67, "CL_INVALID_LINKER_OPTIONS",         "the linker refused its options"},
    {  -68, "CL_INVALID_DEVICE_PARTITION_COUNT", "not a number of sub-devices"},
    {  -69, "CL_INVALID_PIPE_SIZE",              "the pipe's size is not supported"},
    {  -70, "CL_INVALID_DEVICE_QUEUE",           "not a device queue"},
    {  -71, "CL_INVALID_SPEC_ID",                "the program has no such specialisation constant"},
    {  -72, "CL_MAX_SIZE_RESTRICTION_EXCEEDED",  "a size is over the driver's limit"},
    {-1000, "CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR", "not an OpenGL share group"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR",         "the OpenCL loader found no driver"},
};
/* clang-format on */

static const struct code *find_code(xl_status status)
{
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i].value == status)
            return &codes[i];
    return NULL;
}

const char *xl_status_name(xl_status status)
{
    const struct code *code = find_code(status);
    return code != NULL ? code->name : "unknown status";
}

const char *xl_status_text(xl_status status)
{
    const struct code *code = find_code(status);
    return code != NULL ? code->text : "a code that is not in the list";
}
