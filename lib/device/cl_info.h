/* SPDX-License-Identifier: Apache-2.0 */
/* Typed queries of devices and platforms that distinguish "absent" from 0,
 * names of OpenCL codes, and the macro that records a failed OpenCL call. */
#ifndef XL_DEVICE_CL_INFO_H
#define XL_DEVICE_CL_INFO_H

#include <crosslane/cl.h>

#include "base/error.h"
#include "device/private_api.h"

/* Returns XL_OK for CL_SUCCESS, else the code. Then the call's text, the name
 * of the code and the source position are recorded, unless an error is
 * recorded already. CL_TRY() is TRY() for OpenCL calls. */
XL__PRIVATE_API xl_status xl__cl_check(struct xl__error *e, cl_int code,
                                       const char *call, const char *file,
                                       int line);
#define CL_TRY(e, call)                                                       \
    TRY(xl__cl_check((e), (call), #call, __FILE__, __LINE__))

/* Name of a code: "CL_OUT_OF_RESOURCES"; NULL when it is not an OpenCL code.
 */
const char *xl__cl_name(cl_int code);

struct xl__listed; /* device/listing.h */

/* What answers queries: a driver's device, or one of a listing. */
struct xl__asked {
    cl_device_id id; /* NULL: `listed` */
    const struct xl__listed *listed;
};

/* The raw result of a query. Returns its bytes, 0 when the query failed or the
 * result exceeds `cap`. */
size_t xl__device_bytes(const struct xl__asked *d, cl_device_info q, void *out,
                        size_t cap);
/* false: the query failed, or its result has another size. */
XL__PRIVATE_API bool xl__device_u32(const struct xl__asked *d,
                                    cl_device_info q, cl_uint *out);
bool xl__device_u64(const struct xl__asked *d, cl_device_info q,
                    cl_ulong *out);
XL__PRIVATE_API bool xl__device_size(const struct xl__asked *d,
                                     cl_device_info q, size_t *out);
/* A list of *n values, at most `cap`. */
bool xl__device_sizes(const struct xl__asked *d, cl_device_info q, size_t *out,
                      unsigned cap, unsigned *n);
/* Heap strings without leading and trailing blanks. Bytes that are not
 * printable ASCII or valid UTF-8 are escaped as \xNN. NULL when absent. */
char *xl__device_text(const struct xl__asked *d, cl_device_info q);
char *xl__platform_text(cl_platform_id p, cl_platform_info q);
/* Of the device's platform. */
char *xl__device_platform_text(const struct xl__asked *d, cl_platform_info q);

#endif
