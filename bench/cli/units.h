/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities as text: printed with three digits, a prefix and a unit, and read
 * from the command line. An unknown number (NaN) is printed as "-". The
 * decimal separator is always a point. */
#ifndef CLBENCH_CLI_UNITS_H
#define CLBENCH_CLI_UNITS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* -- printing --------------------------------------------------------------
 */

enum { UNITS_CAP = 32 }; /* large enough for any of these */

/* By unit: "flop/s" and "B/s" and "Hz" with decimal prefixes ("1.23 TFLOP/s",
 * "45.6 GB/s"), "B" with binary ones ("64 MiB"), "s" and "ns" as a time;
 * "1" or NULL: a plain number; any other unit is appended unchanged. */
void units_format(char *out, size_t cap, double value, const char *unit);
void units_bytes(char *out, size_t cap, double bytes);   /* with a decimal
                                                            prefix: "1.6 GB" */
void units_time(char *out, size_t cap, double ns);       /* "456 us" */
void units_percent(char *out, size_t cap, double frac);  /* "87%", "0.4%" */
void units_number(char *out, size_t cap, double value);  /* "4096", "0.5" */

/* -- reading: "14e9", "32k", "22.5GiB", "1008GB/s" --------------------------
 */

enum quantity_scale {
    QUANTITY_COUNT,   /* no prefix */
    QUANTITY_WEIGHTS, /* k M B T, B is 1e9 */
    QUANTITY_TOKENS,  /* k M, k is 1024 */
    QUANTITY_BYTES,
    QUANTITY_BYTES_PER_S,
    QUANTITY_FLOP_PER_S
};

struct quantity_range {
    const char *option; /* its name, for messages */
    enum quantity_scale scale;
    double least, most;
};

/* Read a quantity; false: *why is the message. */
bool quantity_read(const char *text, const struct quantity_range *q,
                   double *out, struct xl__str *why);
/* Read a plain decimal number, neither "inf" nor hexadecimal. Returns the text
 * behind it, or NULL when there is no number. */
const char *number_read(const char *text, double *out);

#endif
