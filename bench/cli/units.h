/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people: three digits, a prefix, a unit. An unknown number (NaN)
 * is "-". The decimal point is always a point. */
#ifndef CLBENCH_CLI_UNITS_H
#define CLBENCH_CLI_UNITS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum { UNITS_CAP = 32 }; /* room enough for any of these */

/* By unit: "flop/s" and "B/s" and "Hz" with decimal prefixes ("1.23 TFLOP/s",
 * "45.6 GB/s"), "B" with binary ones ("64 MiB"), "s" and "ns" as a time;
 * "1" or NULL is a plain number; anything else is appended as it is. */
void units_format(char *out, size_t cap, double value, const char *unit);
void units_bytes(char *out, size_t cap, double bytes);   /* as rates have
                                                            them: "1.6 GB" */
void units_time(char *out, size_t cap, double ns);       /* "456 us" */
void units_percent(char *out, size_t cap, double frac);  /* "87%", "0.4%" */
void units_number(char *out, size_t cap, double value);  /* "4096", "0.5" */

/* Numbers as people write them on a command line: "14e9", "32k", "22.5GiB",
 * "1008GB/s". */

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
