/* SPDX-License-Identifier: Apache-2.0 */
/* The time model:
 *
 *   t = max(flop / flop rate, bytes / memory rate) / fill
 *       + serial bytes / memory rate + launches * launch time
 *
 * with the rates that the device's facts state. */
#include "ops/path/cost.h"

#include <math.h>

#include "base/alloc.h"

double xl__work_ns(const struct xl__limits *l, const struct xl__cost *w,
                   const char **bound)
{
    static const double least_fill = 1e-3, ns_per_s = 1e9;
    const double fill = fmax(w->fill, least_fill);
    const double fma =
        w->flop / (xl__rate_fma(l) * w->flop_frac * fill) * ns_per_s;
    const double memory =
        w->bytes / (xl__rate_memory(l) * w->bytes_frac) * ns_per_s;
    const double launch =
        w->launches *
        xl__num_or(l, XL__F_launch_ns, xl__model(l, XL__M_launch_ns));
    const double apart = w->serial_bytes / xl__rate_memory(l) * ns_per_s;
    const double work = fmax(fma, memory);
    *bound = launch > work ? "launch" : fma >= memory ? "fma" : "memory";
    return work + apart + launch;
}

void xl__estimate(const struct xl__limits *l, const struct xl__cost *w,
                  struct xl__plan *plan)
{
    plan->est_ns = xl__work_ns(l, w, &plan->bound);
}

const char *xl__iterations_refused(const struct xl__limits *l, double iterations)
{
    /* Also false where no bound is known. */
    if (iterations > xl__num(l, XL__F_max_loop_turns))
        return "the device ends loops before this many iterations; use a "
               "smaller size";
    return NULL;
}

size_t xl__most_items(const struct xl__limits *l, size_t most)
{
    const struct xl__answer *sizes = &l->used[XL__F_max_wi_sizes];
    most = xl__min_size(most, xl__size_or(l, XL__F_max_wg_size, 1));
    if (sizes->n_list > 0 && sizes->list[0] >= 1 &&
        sizes->list[0] < (double)most)
        most = (size_t)sizes->list[0];
    return xl__max_size(most, 1);
}

double xl__reference_fill(const struct xl__limits *l, double rows, double cols)
{
    static const double busy_items = 1024;
    const double units = fmax(1, xl__num_or(l, XL__F_compute_units, 1));
    return xl__device_class(l) == XL__CPU
               ? fmin(1, rows / units)
               : fmin(1, rows * cols / (units * busy_items));
}
