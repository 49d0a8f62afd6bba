/* SPDX-License-Identifier: Apache-2.0 */
/* Typed getters that tell "absent" from 0, and the macro that turns an OpenCL
 * code into a recorded status. */
#ifndef XL_DEVICE_CL_INFO_H
#define XL_DEVICE_CL_INFO_H

#include <crosslane/cl.h>

#include "base/error.h"

/* Record call text, name of the code and place, unless something is recorded
 * already; XL_OK for CL_SUCCESS, else the code itself. */
xl_status xl__cl_check(struct xl__error *e, cl_int code, const char *call,
                       const char *file, int line);
#define CL_TRY(e, call)                                                       \
    TRY(xl__cl_check((e), (call), #call, __FILE__, __LINE__))

/* The code's name: "CL_OUT_OF_RESOURCES"; NULL when it is no OpenCL code. */
const char *xl__cl_name(cl_int code);

/* The raw answer: how many bytes of `out` it filled, 0 when the query failed
 * or wants more than `cap`. */
size_t xl__device_bytes(cl_device_id d, cl_device_info q, void *out,
                        size_t cap);
/* false: the query failed, or answered with another size. */
bool xl__device_u32(cl_device_id d, cl_device_info q, cl_uint *out);
bool xl__device_u64(cl_device_id d, cl_device_info q, cl_ulong *out);
bool xl__device_size(cl_device_id d, cl_device_info q, size_t *out);
/* At most `cap` values; *n how many. */
bool xl__device_sizes(cl_device_id d, cl_device_info q, size_t *out,
                      unsigned cap, unsigned *n);
/* Heap strings, trailing blanks removed, always ended, bytes that are not
 * printable ASCII or valid UTF-8 escaped as \xNN; NULL when absent. */
char *xl__device_text(cl_device_id d, cl_device_info q);
char *xl__platform_text(cl_platform_id p, cl_platform_info q);

#endif
