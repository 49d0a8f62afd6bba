/* SPDX-License-Identifier: Apache-2.0 */
/* What variants of ops share of their estimates. */
#include "ops/path/cost.h"

#include "base/alloc.h"

void xl__estimate(const struct xl__limits *l, const struct xl__cost *w,
                  struct xl__plan *plan)
{
    plan->est_ns = xl__work_ns(l, w, &plan->bound);
}

const char *xl__iterations_refused(const struct xl__limits *l,
                                   double iterations)
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
    return xl__fill(
        l, xl__device_class(l) == XL__CPU ? rows : rows * cols / busy_items);
}
