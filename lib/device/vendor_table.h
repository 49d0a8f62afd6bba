/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor table's TYPE. Tables are in lib/vendor; every layer reads them
 * through this, so none needs a vendor's name. */
#ifndef XL_DEVICE_VENDOR_H
#define XL_DEVICE_VENDOR_H

#include "base/str.h"
#include "device/facts.h"

struct xl__variant; /* ops/path/op.h */

enum xl__op_id { XL__OP_GEMM, XL__OP_SOFTMAX, XL__OP_CONV, XL__N_OPS };

/* How a program is made for a machine (struct xl__step's `target`) that the
 * driver's compiler stops short of: the binary of its build is changed and
 * handed back. */
struct xl__rebuild {
    /* The driver's binary, also of a build that failed, for `target`. Anything
     * but XL_OK: it cannot be, and e tells why. */
    xl_status (*retarget)(const char *binary, size_t n, const char *target,
                          struct xl__str *out, struct xl__error *e);
    const char *build_options; /* of the second build */
    const char *comment; /* begins one, to the end of the line, in a binary */
    /* The line of a build log that makes its program one not to run; NULL:
     * none does. */
    const char *(*fault)(const char *log);
};

struct xl__vendor {
    const char *name; /* "nvidia": also names cl/<name>/ and <name>.md */
    /* First match in xl__vendors[] wins. Reads `queried` and texts only. */
    bool (*matches)(const struct xl__limits *);
    /* NULL allowed. Corrects what the driver misreports. */
    void (*correct)(struct xl__limits *);
    const char *build_options; /* before a step's own; "" for none */
    /* How a work-item learns its lane: a -D for cl/common/subgroup.clh, or
     * NULL when it cannot. */
    const char *lane_option;
    const struct xl__rebuild *rebuild; /* NULL: no targets */
    /* Per op: best first, ends with NULL, the entry before it is the
     * reference. */
    const struct xl__variant *const *variants[XL__N_OPS];
};

/* Names of the ways to run an expression, ends with NULL; the same on every
 * device. Of expr/plan.c. */
extern const char *const xl__expr_variants[];

struct xl__telemetry_source; /* device/telemetry.h */

/* Everything that depends on a vendor; xl_open() hands it to the devices. */
struct xl__targets {
    /* In the order they are asked. The last one, before NULL, matches any
     * device. */
    const struct xl__vendor *const *vendors;
    /* In the order they are asked; ends with NULL. */
    const struct xl__telemetry_source *const *telemetry;
};

#endif
