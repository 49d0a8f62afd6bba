/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a run. The counters are those of the device where it has some,
 * as the host's cores have; a device without counters has only the load of the
 * host, which does not make it busy. */
#include "host/run_state.h"

#include <math.h>

#include "base/os/clock.h"
#include "host/host_info.h"

/* As lib/measure/verdict.c: the share of others above which no row is ok. */
static const double busy_others = 0.20;
/* Counters step every 10 ms: a look of this length is exact to 2 % on two
 * cores. */
enum { LOOK_NS = 250000000 };

static double share_of_others(const xl_reading *a, const xl_reading *b)
{
    const double all = (double)(b->ns - a->ns) * b->units;
    const double used = (b->idle_ns - a->idle_ns + b->own_ns - a->own_ns) / all;
    return fmax(0, fmin(1, 1 - used));
}

static bool has_counters(const xl_reading *r)
{
    return !isnan(r->idle_ns) && !isnan(r->own_ns);
}

void run_state_begin(struct run_state *r, xl_device *const *devices,
                     unsigned n)
{
    struct xl__host host;
    xl__host_read(&host);
    *r = (struct run_state){.load = host.load, .n_cores = host.n_cores,
                            .others = NAN, .is_known = true};
    for (unsigned i = 0; i < n && !r->sensors; i++) {
        if (xl_telemetry_open(devices[i], &r->sensors) != XL_OK)
            return;
        xl_telemetry_read(r->sensors, &r->first);
        if (!has_counters(&r->first))
            run_state_end(r);
    }
    if (!r->sensors)
        return;
    xl__sleep_ns(LOOK_NS);
    run_state_update(r);
}

void run_state_update(struct run_state *r)
{
    xl_reading now;
    if (!r->sensors)
        return;
    xl_telemetry_read(r->sensors, &now);
    r->others = share_of_others(&r->first, &now);
    r->is_busy = r->others > busy_others;
}

void run_state_format(const struct run_state *r, struct xl__str *out)
{
    xl__str_add(out, r->is_busy ? "BUSY (" : "QUIET (");
    if (r->load >= 0)
        xl__str_printf(out, "load %.1f on %u cores, ", r->load, r->n_cores);
    if (isnan(r->others))
        xl__str_add(out, "others not counted on this device)");
    else
        xl__str_printf(out, "others %.0f %%)", 100 * r->others);
}

void run_state_end(struct run_state *r)
{
    xl_telemetry_close(r->sensors);
    r->sensors = NULL;
}
