/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people: three digits, a prefix, a unit. An unknown number (NaN)
 * is "-". The decimal point is always a point. */
#ifndef CLBENCH_UNITS_H
#define CLBENCH_UNITS_H

#include <stddef.h>

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

#endif
