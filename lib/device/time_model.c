/* SPDX-License-Identifier: Apache-2.0 */
/* The time model:
 *
 *   t = overlap(max(flop / flop rate / fill, chain), bytes / memory rate)
 *       + serial bytes / memory rate + serial + launches * launch time
 *
 * with the rates that the device's facts state, and the shares of them that
 * its class reaches. */
#include "device/time_model.h"

#include <math.h>

static const double ns_per_s = 1e9;

double xl__overlap_ns(double a, double b, double exponent)
{
    if (exponent == 0)
        return fmax(a, b);
    return pow(pow(a, exponent) + pow(b, exponent), 1 / exponent);
}

double xl__launch_ns(const struct xl__limits *l)
{
    return xl__num_or(l, XL__F_launch_ns, xl__model(l, XL__M_launch_ns));
}

double xl__alone_ns(const struct xl__limits *l)
{
    const double usual = xl__model(l, XL__M_round_trip_ns);
    return usual > 0 ? fmax(0, xl__num_or(l, XL__F_round_trip_ns, usual) -
                                   xl__launch_ns(l))
                     : 0;
}

double xl__work_ns(const struct xl__limits *l, const struct xl__cost *w,
                   const char **bound)
{
    static const double least_fill = 1e-12; /* not 0 */
    const double fill = fmax(w->fill, least_fill);
    const double busy =
        w->busy_ns > 0
            ? w->busy_ns
            : w->flop / (xl__rate_fma(l) * w->flop_frac * fill) * ns_per_s;
    const double compute = fmax(busy, w->chain_ns);
    const double memory =
        w->bytes / (xl__rate_memory(l) * w->bytes_frac) * ns_per_s;
    const double launch = w->launches * xl__launch_ns(l);
    const double apart =
        w->serial_bytes / xl__rate_memory(l) * ns_per_s + w->serial_ns;
    const double work = xl__overlap_ns(compute, memory, w->overlap);
    *bound = launch > work      ? "launch"
             : compute < memory ? "memory"
             : w->busy_ns > 0   ? "matrix"
                                : "fma";
    return work + apart + launch;
}

bool xl__improves(const struct xl__limits *l, const struct xl__cost *w,
                  double equal, struct xl__best_cost *best)
{
    const char *bound;
    const double ns = xl__work_ns(l, w, &bound);
    const double rate = w->flop_frac * w->fill;
    if (ns > best->ns * (1 + equal) ||
        (ns > best->ns * (1 - equal) && rate <= best->rate))
        return false;
    *best = (struct xl__best_cost){ns, rate};
    return true;
}

double xl__resident_groups(const struct xl__limits *l, double registers,
                           const struct xl__group_needs *needs)
{
    static const double most_items = 2048;
    const double local = xl__num_or(l, XL__F_local_mem_bytes, 0);
    const double groups =
        fmin(most_items, registers / needs->item_registers) / needs->items;
    return fmax(1, floor(needs->local_bytes > 0
                             ? fmin(groups, local / needs->local_bytes)
                             : groups));
}

double xl__fill(const struct xl__limits *l, double groups)
{
    return fmin(1, groups / (double)xl__n_units(l));
}
