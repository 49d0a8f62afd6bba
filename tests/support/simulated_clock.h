/* SPDX-License-Identifier: Apache-2.0 */
/* A clock that the machine cannot disturb. A program with simulated_clock.c
 * among its sources has it in place of the library's (base/os/clock.h): time goes
 * by in sleeps, and a little with every look at the clock, as a call takes.
 * The stub driver's device goes by it where its model says so. */
#ifndef XL_TESTS_SIMULATED_CLOCK_H
#define XL_TESTS_SIMULATED_CLOCK_H

#include "stub/control.h"

extern const struct xl_clock simulated_clock;

/* Another takes the processor for `pause_ns`, once in `looks` looks at the
 * clock. 0, as at first: the machine is ours. */
void simulated_clock_others(unsigned looks, unsigned long long pause_ns);

#endif
