/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's side of a program: binaries out and in, and build logs. */
#include "runtime/binary.h"

#include <stdlib.h>

#include "base/alloc.h"

unsigned char *xl__binary_of(cl_program program, size_t *n)
{
    cl_uint n_devices = 0;
    *n = 0;
    if (clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof n_devices,
                         &n_devices, NULL) != CL_SUCCESS || n_devices != 1)
        return NULL;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof *n, n,
                         NULL) != CL_SUCCESS || *n == 0)
        return NULL;
    unsigned char *bytes = xl__calloc(*n, 1);
    if (bytes && clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes,
                                  &bytes, NULL) != CL_SUCCESS) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

char *xl__build_log(cl_program program, cl_device_id device)
{
    size_t n = 0;
    char *log = NULL;
    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL,
                              &n) == CL_SUCCESS && n > 0)
        log = xl__calloc(n + 1, 1);
    if (!log)
        return xl__strdup("");
    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, n, log,
                              NULL) != CL_SUCCESS)
        log[0] = '\0';
    return log;
}

cl_int xl__binary_build(struct xl__context *ctx, const void *bytes, size_t n,
                        const char *options, cl_program *out)
{
    cl_int code, binary_code = CL_SUCCESS;
    const cl_device_id device = ctx->device->id;
    const unsigned char *binary = bytes;
    *out = clCreateProgramWithBinary(ctx->cl, 1, &device, &n, &binary,
                                     &binary_code, &code);
    if (code != CL_SUCCESS)
        *out = NULL;
    else if (binary_code != CL_SUCCESS)
        code = binary_code;
    else
        code = clBuildProgram(*out, 1, &device, options, NULL, NULL);
    return code;
}
