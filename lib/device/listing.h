/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that are not here: the output of `clinfo --raw` as the answers of
 * their drivers. A line is a property, its value after blanks, perhaps after
 * "[PLATFORM/NUMBER]":
 *
 *   # a comment
 *   CL_PLATFORM_NAME               Intel(R) OpenCL Graphics
 *   [INTEL/0] CL_DEVICE_NAME       Intel(R) Arc(TM) A770 Graphics
 *   [INTEL/0] CL_DEVICE_TYPE       CL_DEVICE_TYPE_GPU
 *   copy_bytes_per_s               4.4e11
 *
 * CL_DEVICE_NAME begins a device, on the platform named last. The other
 * properties are those that the library queries, by the names of the OpenCL
 * registry; further CL_ names are ignored. A property without a value, or with
 * the "<...>" of a query that failed, is not answered. The name of a fact
 * gives its measured value, which selects nothing. */
#ifndef XL_DEVICE_LISTING_H
#define XL_DEVICE_LISTING_H

#include "device/facts.h"

enum { XL__LISTING_BYTES = 1 << 20 }; /* of a text, at most */

struct xl__listed; /* a device of a listing */

/* Read a listing of n bytes. XL_CORRUPT, with the line and what is wrong; a
 * device needs the properties without which nothing can be planned.
 * xl__listing_destroy() frees the list. */
xl_status xl__listing_read(const char *text, size_t n, struct xl__listed **out,
                           struct xl__error *e);
void xl__listing_destroy(struct xl__listed *first);
/* The next device of the listing; NULL: none. */
const struct xl__listed *xl__listing_next(const struct xl__listed *d);

/* The answer to a query of the device or of its platform, by the rules of
 * clGetDeviceInfo. */
cl_int xl__listed_answer(const struct xl__listed *d, cl_uint query, size_t cap,
                         void *out, size_t *n);
/* Set the measured facts of the device. */
void xl__listed_measure(const struct xl__listed *d, struct xl__limits *l);

#endif
