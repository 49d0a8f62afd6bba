/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of every form: the time model, and freeing a schedule. */
#include "expr/graph/group.h"

#include <math.h>
#include <stdlib.h>

#include "device/peak_rates.h"

double xl__launch_ns(const struct xl__limits *l)
{
    static const double guess_ns = 8e3;
    return xl__num_or(l, XL__F_launch_ns, guess_ns);
}

void xl__group_estimate(const struct xl__limits *l, double fill,
                        unsigned launches, struct xl__group *group)
{
    static const double least_fill = 1e-3, ns_per_s = 1e9;
    const double fraction = fmax(fill, least_fill);
    const double fma = group->flop / (xl__rate_fma(l) * fraction) * ns_per_s;
    const double memory =
        group->bytes / (xl__rate_memory(l) * fraction) * ns_per_s;
    const double launch = launches * xl__launch_ns(l);
    const double busy = fmax(fma, memory);
    group->est_ns = busy + launch;
    group->bound = launch > busy ? "launch" : fma >= memory ? "fma" : "memory";
}

void xl__schedule_clear(struct xl__schedule *s)
{
    for (unsigned i = 0; i < s->n_groups; i++) {
        free(s->group[i].value);
        xl__str_clear(&s->group[i].why);
    }
    free(s->group);
    free(s->temp);
    *s = (struct xl__schedule){0};
}
