/* SPDX-License-Identifier: Apache-2.0 */
/* Time: a monotonic clock, CPU time of a thread, sleep. */
#ifndef XL_BASE_CLOCK_H
#define XL_BASE_CLOCK_H

#include <stdint.h>

uint64_t xl__now_ns(void);        /* monotonic wall clock */
uint64_t xl__thread_cpu_ns(void); /* CPU time of this thread; 0: not known */
void xl__sleep_ns(uint64_t ns);

#endif
