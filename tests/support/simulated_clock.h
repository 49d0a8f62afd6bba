/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated clock, independent of the machine's load. A program with
 * simulated_clock.c among its sources uses it in place of base/os/clock.h:
 * time advances in sleeps, and a little with every read of the clock. The stub
 * driver's device uses it where its model says so. */
#ifndef XL_TESTS_SIMULATED_CLOCK_H
#define XL_TESTS_SIMULATED_CLOCK_H

#include "stub/control.h"

extern const struct xl_clock simulated_clock;

/* Another takes the processor for `pause_ns`, once in `looks` looks at the
 * clock. 0, as at first: the machine is ours. */
void simulated_clock_others(unsigned looks, unsigned long long pause_ns);

#endif
