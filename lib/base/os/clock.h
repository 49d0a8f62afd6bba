/* SPDX-License-Identifier: Apache-2.0 */
/* Time: a monotonic clock, CPU time of a thread, sleep, the date. */
#ifndef XL_BASE_CLOCK_H
#define XL_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

uint64_t xl__now_ns(void);        /* monotonic wall clock */
uint64_t xl__thread_cpu_ns(void); /* CPU time of this thread; 0: not known */
void xl__sleep_ns(uint64_t ns);
/* Now, ISO 8601, UTC: "2026-11-21T23:03:23Z"; "" if it is not known. */
void xl__write_date(char *out, size_t cap);

#endif
