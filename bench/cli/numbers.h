/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people write them on a command line: "14e9", "32k", "22.5GiB",
 * "1008GB/s". */
#ifndef CLBENCH_PLAN_QUANTITY_H
#define CLBENCH_PLAN_QUANTITY_H

#include <stdbool.h>

#include "base/str.h"

enum plan_scale {
    PLAN_WHOLE,
    PLAN_WEIGHTS, /* B is 1e9 */
    PLAN_TOKENS,  /* k is 1024 */
    PLAN_BYTES,
    PLAN_BYTES_PER_S,
    PLAN_FLOP_PER_S
};

struct plan_quantity {
    const char *option; /* its name, for messages */
    enum plan_scale scale;
    double least, most;
};

/* False: *why says what to give. */
bool plan_quantity_read(const char *text, const struct plan_quantity *q,
                        double *out, struct xl__str *why);
/* A plain decimal number, neither "inf" nor hexadecimal; the text behind it,
 * or NULL. */
const char *plan_number(const char *text, double *out);

#endif
