/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/noise.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/stats.h"

static const double confidence = 0.95;

double noise_quantile(double p)
{
    enum { STEPS = 60 };
    double lo = 0, hi = 40;
    for (int i = 0; i < STEPS; i++) {
        const double mid = (lo + hi) / 2;
        if (erfc(mid / sqrt(2)) / 2 > 1 - p)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Source: Shaw, "Sampling Student's T distribution", Journal of Computational
 * Finance 9(4), 2006: for 4 degrees it is a formula. */
double noise_heavy_quantile(double p)
{
    const double a = sqrt(4 * p * (1 - p));
    return a < 1 ? 2 * sqrt(cos(acos(a) / 3) / a - 1) : 0;
}

static double square(double x)
{
    return x * x;
}

static double quantile(enum noise_source source, double p)
{
    return source == NOISE_OF_ROWS ? noise_heavy_quantile(p)
                                   : noise_quantile(p);
}

/* What an interval reaches to either side which holds with `confidence` for
 * each of `n` at once. What samples tell of themselves is normal, whatever the
 * noise between runs is. Source: Bonferroni's inequality. */
static double reach(enum noise_source source, size_t n, double within,
                    double between)
{
    const double p = 1 - (1 - confidence) / 2 / (double)(n ? n : 1);
    return sqrt(square(noise_quantile(p)) * within +
                square(quantile(source, p)) * between);
}

/* -- inside a run --------------------------------------------------------- */

/* The order statistics around the median hold it with 95 %, and smallest and
 * largest of few samples with 1 - 2^(1-n); the width over that many normal
 * deviates is a deviation that outliers do not move. Samples of one process
 * share what disturbs it: they count as no more than MOST_ALONE. */
double noise_within(const double *ns, size_t n)
{
    enum { FEW = 6, MOST_ALONE = 8 };
    if (n < 2)
        return (double)NAN;
    const struct xl__summary s = xl__summarise(ns, n);
    const double deviates =
        n < FEW ? noise_quantile(1 - ldexp(1, -(int)n))
                : noise_quantile((1 + confidence) / 2);
    const double shared = n > MOST_ALONE ? (double)n / MOST_ALONE : 1;
    return square(log(s.hi / s.lo) / 2 / deviates) * shared;
}

/* -- between runs --------------------------------------------------------- */

/* Of the differences this many are looked at, from the least. One third of the
 * rows may have really changed, or be wild, without moving it. */
static const double share = 2.0 / 3;

/* The share's quantile of the squares over what is foreseen. */
static double standing(const struct shift *list, size_t n, double noise,
                       double *scratch)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = square(list[i].log_ratio) / (list[i].within + noise);
    return xl__quantile(scratch, n, share);
}

/* As Paule and Mandel solve for the variance between laboratories (J. Res.
 * NBS 87(5), 1982), with a quantile in place of the sum. */
double noise_of(const struct shift *list, size_t n, enum noise_source source)
{
    enum { STEPS = 60 };
    static const double least = 1e-12, most = 1e4;
    const double target = square(quantile(source, (1 + share) / 2));
    double lo = least, hi = most;
    double *scratch = n ? xl__calloc(n, sizeof *scratch) : NULL;
    if (!scratch)
        return n ? (double)NAN : 0;
    if (standing(list, n, least, scratch) <= target)
        hi = lo = 0;
    for (int i = 0; i < STEPS && hi > 0; i++) {
        const double mid = sqrt(lo * hi);
        if (standing(list, n, mid, scratch) > target)
            lo = mid;
        else
            hi = mid;
    }
    free(scratch);
    return hi;
}

/* The rows of one op; NOISE_MOST_OPS: all. `copy` has room for n. */
static size_t pick(const struct shift *list, size_t n, unsigned op,
                   struct shift *copy)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (list[i].runs > 0 && (op == NOISE_MOST_OPS || list[i].op == op))
            copy[k++] = list[i];
    return k;
}

static bool centre(struct shift *list, size_t n)
{
    double *scratch = n ? xl__calloc(n, sizeof *scratch) : NULL;
    for (size_t i = 0; scratch && i < n; i++)
        scratch[i] = list[i].log_ratio;
    const double middle = scratch ? xl__median(scratch, n) : 0;
    for (size_t i = 0; i < n; i++)
        list[i].log_ratio -= middle;
    const bool fine = scratch || n == 0;
    free(scratch);
    return fine;
}

/* Of all rows, and of the rows of each op that has enough of them: transfers
 * may be wild where products stand still. */
static bool noise_by_op(struct noise *noise, const struct shift *list,
                        size_t n)
{
    enum { FEWEST_OF_OP = 5 };
    struct shift *copy = xl__calloc(n ? n : 1, sizeof *copy);
    bool fine = copy != NULL;
    for (unsigned op = 0; op <= NOISE_MOST_OPS && fine; op++) {
        const bool is_all = op == NOISE_MOST_OPS;
        const size_t k = pick(list, n, op, copy);
        double found = 0;
        if (k >= (is_all ? 1 : FEWEST_OF_OP)) {
            fine = noise->source == NOISE_OF_REPEATS || centre(copy, k);
            found = noise_of(copy, k, noise->source);
        }
        fine = fine && !isnan(found);
        *(is_all ? &noise->all : &noise->op[op]) = found;
    }
    free(copy);
    return fine;
}

bool noise_from_repeats(struct noise *noise, const struct shift *list,
                        size_t n)
{
    *noise = (struct noise){.source = NOISE_OF_REPEATS};
    return noise_by_op(noise, list, n);
}

/* The scatter about the middle of all rows, and of each op's rows about their
 * own middle: a change of a whole op is no noise. The idea of taking the null
 * from the bulk: Efron, JASA 99(465), 2004. */
bool noise_from_rows(struct noise *noise, const struct shift *rows, size_t n)
{
    *noise = (struct noise){.source = NOISE_OF_ROWS};
    return noise_by_op(noise, rows, n);
}

void noise_assume(struct noise *noise, double percent)
{
    *noise = (struct noise){.source = NOISE_ASSUMED,
                            .all = square(log1p(percent / 100))};
}

/* -- intervals ------------------------------------------------------------ */

static double noise_at(const struct noise *noise, const struct shift *row)
{
    return fmax(noise->all, noise->op[row->op]);
}

void noise_intervals(const struct noise *noise, struct shift *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct shift *row = &rows[i];
        const double between = fmax(noise_at(noise, row), row->own);
        const double half =
            reach(noise->source, n, row->within, row->runs * between);
        row->lo = row->log_ratio - half;
        row->hi = row->log_ratio + half;
    }
}

/* Half of the noise is each row's own and averages out; half is common to the
 * op and does not. */
struct shift noise_mean(const struct noise *noise, const struct shift *rows,
                        size_t n, unsigned op, unsigned n_ops)
{
    struct shift mean = {.op = op};
    double within = 0, apart = 0, common = 0, k = 0;
    for (size_t i = 0; i < n; i++) {
        if (n_ops > 0 && rows[i].op != op)
            continue;
        const double at = noise_at(noise, &rows[i]);
        mean.log_ratio += rows[i].log_ratio;
        within += rows[i].within;
        apart += rows[i].runs * fmax(at, rows[i].own) / 2;
        common += rows[i].runs * (n_ops > 0 ? at : noise->all) / 2;
        k++;
    }
    mean.log_ratio /= k;
    const double between = apart / (k * k) + common / k;
    mean.within = within / (k * k) + between;
    const double half =
        reach(noise->source, n_ops, within / (k * k), between);
    mean.lo = mean.log_ratio - half;
    mean.hi = mean.log_ratio + half;
    return mean;
}
