/* SPDX-License-Identifier: Apache-2.0 */
/* The type of a vendor table: everything in the library that depends on the
 * vendor of a device. The tables are in lib/targets; other layers read them
 * through this type and contain no vendor's name. */
#ifndef XL_DEVICE_VENDOR_TABLE_H
#define XL_DEVICE_VENDOR_TABLE_H

#include "base/str.h"
#include "device/facts.h"

#include <crosslane/tune.h>

struct xl__variant; /* ops/path/op.h */

/* xl_op_kind, and the op that is not tuned. */
enum xl__op_id {
    XL__OP_GEMM = XL_OP_GEMM,
    XL__OP_SOFTMAX = XL_OP_SOFTMAX,
    XL__OP_CONV = XL_OP_CONV,
    XL__OP_CONV_DATA = XL_OP_CONV_DATA,
    XL__OP_CONV_FILTERS = XL_OP_CONV_FILTERS,
    XL__OP_ATTENTION = XL_OP_ATTENTION,
    XL__OP_NORM = XL_OP_NORM,
    XL__OP_SOFTMAX_BACKWARD = XL_OP_SOFTMAX_BACKWARD,
    XL__OP_NORM_BACKWARD = XL_OP_NORM_BACKWARD,
    XL__OP_ATTENTION_BACKWARD = XL_OP_ATTENTION_BACKWARD,
    XL__OP_QGEMM = XL_OP_QGEMM,
    XL__OP_ROTARY = XL_OP_ROTARY,
    XL__OP_QCONVERT = XL_OP_QCONVERT,
    XL__N_OPS = XL_N_OPS,   /* those whose variants a vendor table lists */
    XL__OP_EXPR = XL__N_OPS /* its variants are the same on every device */
};

/* How to build a program for a target (struct xl__step's `target`) that the
 * driver's compiler does not support from OpenCL C: the binary of a normal
 * build is modified and built again. */
struct xl__rebuild {
    /* Modify the driver's binary, also that of a failed build, for `target`.
     * Any status but XL_OK: not possible, with the reason in e. */
    xl_status (*retarget)(const char *binary, size_t n, const char *target,
                          struct xl__str *out, struct xl__error *e);
    const char *build_options; /* of the second build */
    const char *comment;       /* start of a comment line in a binary */
    /* The line of a build log because of which the program must not run; NULL:
     * none. */
    const char *(*fault)(const char *log);
};

/* What buffers above a size need, beyond the driver's own largest allocation:
 * a flag of clCreateBuffer, and a build option of each program that has one as
 * an argument. */
struct xl__large_buffers {
    size_t above_bytes; /* or above CL_DEVICE_MAX_MEM_ALLOC_SIZE, if less */
    cl_mem_flags flags;
    const char *build_option;
};

/* What a built kernel takes of the registers, NaN: not known; the units are
 * those of xl_choice. */
struct xl__kernel_use {
    double registers, spill_bytes;
};

/* Where a driver states a kernel's use of registers: it answers queries, its
 * compiler writes a log, or its binary has notes. Reports only. */
struct xl__use_source {
    /* Queries of clGetKernelWorkGroupInfo, a cl_uint and a cl_ulong; 0: none.
     */
    cl_kernel_work_group_info registers, spill_bytes;
    /* NULL: not of a build log. It has figures where it has `log_mark`. */
    void (*read_log)(const char *log, const char *kernel,
                     struct xl__kernel_use *out);
    const char *log_mark;
    /* NULL: not of a binary. */
    void (*read_binary)(const unsigned char *bytes, size_t n,
                        const char *kernel, struct xl__kernel_use *out);
};

struct xl__vendor {
    const char *name; /* "nvidia": also names cl/<name>/ and <name>.md */
    /* The first table that matches is used. Reads `queried` and texts only. */
    bool (*matches)(const struct xl__limits *);
    /* Corrects facts that the driver reports wrong; NULL: none. */
    void (*correct)(struct xl__limits *);
    const char *build_options; /* before a step's own; "" for none */
    /* How a work-item determines its lane: a -D for cl/common/subgroup.clh;
     * NULL: it cannot. */
    const char *lane_option;
    const struct xl__rebuild *rebuild; /* NULL: no targets */
    const struct xl__large_buffers *large_buffers; /* NULL: as any other */
    const struct xl__use_source *use; /* NULL: not stated */
    /* Variants per op, best first, the reference last; ends with NULL. */
    const struct xl__variant *const *variants[XL__N_OPS];
};

struct xl__telemetry_source; /* device/telemetry.h */

/* All vendor tables and telemetry sources; xl_open() passes them to the
 * devices. */
struct xl__targets {
    /* In the order of matching. The last one, before NULL, matches any device.
     */
    const struct xl__vendor *const *vendors;
    /* In the order of reading; ends with NULL. */
    const struct xl__telemetry_source *const *telemetry;
};

#endif
