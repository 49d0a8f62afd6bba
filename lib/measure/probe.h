/* SPDX-License-Identifier: Apache-2.0 */
/* What a probe is. Adding one: a .c, a .cl, a line in probes.c. */
#ifndef XL_MEASURE_PROBE_H
#define XL_MEASURE_PROBE_H

#include <crosslane/measure.h>

#include "runtime/launch.h"

struct xl__probing {
    xl_queue *q;
    const xl_probing *how;
    void (*each)(const xl_row *row, void *arg);
    void *arg;
};

struct xl__probe {
    xl_probe_info info;
    xl_status (*run)(struct xl__probing *p);
};

extern const struct xl__probe *const xl__probes[]; /* NULL-terminated */
extern const struct xl__probe xl__probe_timer, xl__probe_subgroup,
    xl__probe_bandwidth, xl__probe_coalescing, xl__probe_flops,
    xl__probe_launch, xl__probe_build;

/* Has the user asked to stop? */
static inline bool xl__probe_stopped(const struct xl__probing *p)
{
    return p->how->stop && p->how->stop(p->how->stop_arg);
}
/* Sample a plan until steady, fill row->samples, row->value = amount / median
 * with amount in flop or bytes, judge it, hand it out. */
xl_status xl__probe_plan(struct xl__probing *p, xl_row *row,
                         const struct xl__plan *plan,
                         const struct xl__call *call, double amount);
/* A buffer of random, incompressible words, at most `bytes`, less when the
 * device cannot hold it; *got its size. */
xl_status xl__probe_buffer(struct xl__probing *p, size_t bytes, cl_mem *out,
                           size_t *got);
/* A working set well beyond the last-level cache, as big as is sensible. */
size_t xl__probe_far_bytes(const struct xl__limits *l, bool quick);

/* timer.c: can the event clock be believed? Tested once per device; becomes
 * the facts timer_ok and timer_step_ns. */
xl_status xl__timer_check(xl_queue *q);

#endif
