/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of every form: the time model, and freeing a schedule. */
#include "expr/graph/group.h"

#include <math.h>
#include <stdlib.h>

#include "device/time_model.h"

double xl__group_rate(const struct xl__limits *l)
{
    return xl__rate_fma(l) * xl__model(l, XL__M_expr_frac);
}

void xl__group_estimate(const struct xl__limits *l, double fill,
                        unsigned launches, struct xl__group *group)
{
    static const double least_fill = 1e-3;
    const struct xl__cost work = {.flop = group->flop,
                                  .flop_frac = xl__model(l, XL__M_expr_frac),
                                  .fill = fill,
                                  .bytes = group->bytes,
                                  .bytes_frac = fmax(fill, least_fill),
                                  .launches = launches};
    group->est_ns = xl__work_ns(l, &work, &group->bound);
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
