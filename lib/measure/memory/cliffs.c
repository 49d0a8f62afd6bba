/* SPDX-License-Identifier: Apache-2.0 */
/* From cliffs of residency to the pool that groups share.
 *
 * r groups of at most L each are resident: r * (L + reserved) is in the pool,
 * r * (L + reserved + 1 step) is not, if nothing but the pool limits r. Not
 * all cliffs are of that kind: a pool may be parted among schedulers, and then
 * some numbers of groups never fit exactly. So the reserve that explains the
 * most cliffs is taken, and the largest sum that was seen is the pool. */
#include "measure/memory/onchip.h"

#include <math.h>

#include "base/error.h"

struct search {
    const struct xl__residency *r;
    struct xl__cliff *cliffs;
    unsigned *n;
};

/* Between two sizes; what is resident at both is known. */
static xl_status between(const struct search *s, unsigned low, unsigned high,
                         unsigned at_low, unsigned at_high)
{
    xl_status status = XL_OK;
    const unsigned step = s->r->step;
    const unsigned middle = low + (high - low) / step / 2 * step;
    unsigned at_middle;
    if (at_low == at_high || *s->n == XL__MOST_CLIFFS)
        return XL_OK;
    if (high - low <= step) {
        s->cliffs[(*s->n)++] = (struct xl__cliff){low, at_low};
        return XL_OK;
    }
    TRY(s->r->ask(s->r->arg, middle, &at_middle));
    TRY(between(s, low, middle, at_low, at_middle));
    TRY(between(s, middle, high, at_middle, at_high));
fail:
    return status;
}

xl_status xl__cliffs_find(const struct xl__residency *r,
                          struct xl__cliff cliffs[XL__MOST_CLIFFS],
                          unsigned *n)
{
    xl_status status = XL_OK;
    const struct search s = {r, cliffs, n};
    const unsigned high = r->least + (r->most - r->least) / r->step * r->step;
    unsigned at_low, at_high;
    *n = 0;
    TRY(r->ask(r->arg, r->least, &at_low));
    TRY(r->ask(r->arg, high, &at_high));
    TRY(between(&s, r->least, high, at_low, at_high));
fail:
    return status;
}

/* With so much reserved for each group; *misfit: what is left over by the
 * cliffs that are explained, a group. */
static struct xl__pool explain(const struct xl__cliff *cliffs, unsigned n,
                               unsigned step, double reserved, double *misfit)
{
    struct xl__pool pool = {0, reserved, 0};
    *misfit = 0;
    for (unsigned i = 0; i < n; i++)
        pool.total =
            fmax(pool.total, cliffs[i].resident * (cliffs[i].most + reserved));
    for (unsigned i = 0; i < n; i++) {
        const double left =
            pool.total / cliffs[i].resident - (cliffs[i].most + reserved);
        if (left >= step)
            continue;
        pool.explained++;
        *misfit += left;
    }
    return pool;
}

bool xl__pool_find(const struct xl__cliff *cliffs, unsigned n, unsigned step,
                   unsigned most_reserved, unsigned grain,
                   struct xl__pool *out)
{
    double least = INFINITY, misfit;
    *out = (struct xl__pool){NAN, NAN, 0};
    for (unsigned c = 0; n > 0 && c <= most_reserved; c += grain) {
        const struct xl__pool pool = explain(cliffs, n, step, c, &misfit);
        if (pool.explained < out->explained ||
            (pool.explained == out->explained && misfit >= least))
            continue;
        *out = pool;
        least = misfit;
    }
    return n > 0;
}

/* Compilers take more registers than they need where that costs no residents,
 * and fewer pieces than there are may be given out (NV-48): what is seen comes
 * out low. */
double xl__register_file(double seen)
{
    static const double low = 0.85, high = 1.05;
    for (double power = 1; seen > 0 && power <= 2 * seen; power *= 2) {
        for (double size = power; size <= 1.5 * power; size += power / 2) {
            if (seen >= low * size && seen <= high * size)
                return size;
        }
    }
    return NAN;
}
