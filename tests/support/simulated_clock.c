/* SPDX-License-Identifier: Apache-2.0 */
/* See simulated_clock.h. Defines all functions of base/os/clock.c, so that the
 * linker does not take that file from the archive. */
#include "support/simulated_clock.h"

#include <stdio.h>

#include "base/os/clock.h"

enum { LOOK_NS = 500 }; /* between two looks at a clock, about a call */

static _Atomic(unsigned long long) at_ns = 1000000000;
static _Atomic(unsigned) n_looks;
static unsigned others_looks;
static unsigned long long others_ns;

static unsigned long long now(void)
{
    n_looks++;
    at_ns += LOOK_NS;
    if (others_looks > 0 && n_looks % others_looks == 0)
        at_ns += others_ns;
    return at_ns;
}

static void sleep_for(unsigned long long ns) { at_ns += ns; }

const struct xl_clock simulated_clock = {now, sleep_for};

void simulated_clock_others(unsigned looks, unsigned long long pause_ns)
{
    others_looks = looks;
    others_ns = pause_ns;
}

uint64_t xl__now_ns(void) { return now(); }
uint64_t xl__thread_cpu_ns(void) { return now(); }
void xl__sleep_ns(uint64_t ns) { sleep_for(ns); }
void xl__write_date(char *out, size_t cap)
{
    snprintf(out, cap, "2026-11-23T12:00:00Z");
}
