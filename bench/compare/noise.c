/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates variances and the common change, and decides which rows differ.
 * noise.h has the model and its sources. */
#include "compare/noise.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/stats.h"

static const double confidence = 0.95;
static const double discovery_rate = 0.05;
/* The quantile from which variances are estimated. */
static const double share = 2.0 / 3;
enum {
    PRIOR = 8,      /* degrees of freedom of the variance of a class */
    SCATTER_DF = 4, /* and of what rows without passes scatter by */
    FEWEST_OF_CLASS = 4,
    MANY = 100 /* degrees of freedom of what is taken as known */
};

static double square(double x)
{
    return x * x;
}

/* -- Student's t ---------------------------------------------------------- */

/* With t = sqrt(df) tan(x) the density is proportional to cos(x)^(df - 1):
 * Simpson's rule from x to pi / 2 over the closed form of the whole. */
double noise_tail(double t, unsigned df)
{
    enum { STEPS = 64 };
    const double pi = acos(-1), from = atan(t / sqrt((double)df));
    const double width = (pi / 2 - from) / STEPS;
    const double whole =
        sqrt(pi) * exp(lgamma(df / 2.0) - lgamma((df + 1) / 2.0));
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        const double weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        sum += weight * pow(fmax(cos(from + width * i), 0), (double)df - 1);
    }
    return sum * width / 3 / whole;
}

double noise_quantile(double tail, unsigned df)
{
    enum { STEPS = 40 };
    double lo = 0, hi = 1;
    while (noise_tail(hi, df) > tail && hi < 1e9)
        hi *= 2;
    for (int i = 0; i < STEPS; i++) {
        const double mid = (lo + hi) / 2;
        if (noise_tail(mid, df) > tail)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

/* -- values of a row ------------------------------------------------------ */

/* The order statistics lo..hi contain the median with 95 %, and minimum and
 * maximum of n < 6 samples contain it with 1 - 2^(1-n). The width divided by
 * as many normal deviations is a standard deviation that is robust against
 * outliers. Samples of one process share its disturbances: they count as at
 * most MAX_INDEPENDENT independent samples. */
double noise_within(const double *ns, size_t n)
{
    enum { FEW = 6, MAX_INDEPENDENT = 8 };
    if (n < 2)
        return (double)NAN;
    const struct xl__summary s = xl__summarise(ns, n);
    /* Normal quantiles of 2^-n, and of 95 %. */
    static const double deviates[FEW + 1] = {0,      0,      0.6745, 1.1503,
                                             1.5341, 1.8627, 1.9600};
    const double shared =
        n > MAX_INDEPENDENT ? (double)n / MAX_INDEPENDENT : 1;
    return square(log(s.hi / s.lo) / 2 / deviates[n < FEW ? n : FEW]) * shared;
}

static double spread_about_mean(const double *x, size_t n)
{
    double mean = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        sum += square(x[i] - mean);
    return sum;
}

void noise_difference(const double *a, size_t n_a, const double *b, size_t n_b,
                      double *scratch, struct shift *out)
{
    for (size_t i = 0; i < n_a; i++)
        for (size_t j = 0; j < n_b; j++)
            scratch[i * n_b + j] = b[j] - a[i];
    out->log_ratio = xl__median(scratch, n_a * n_b);
    out->runs = 1 / (double)n_a + 1 / (double)n_b;
    out->square = spread_about_mean(a, n_a) + spread_about_mean(b, n_b);
    out->df = (unsigned)(n_a + n_b - 2);
}

/* A difference has the variance of two values, so the square is halved and
 * n differences count as n values a side. */
void noise_paired_difference(const double *a, const double *b, size_t n,
                             double *scratch, struct shift *out)
{
    double *by = scratch, *means = scratch + n;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        by[i] = b[i] - a[i];
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            means[k++] = (by[i] + by[j]) / 2;
    out->log_ratio = xl__median(means, k);
    out->runs = 2 / (double)n;
    out->square = spread_about_mean(by, n) / 2;
    out->df = (unsigned)(n - 1);
}

/* -- variances ------------------------------------------------------------ */

/* Rows that count as of one class with a row, from near to far. */
enum kinship { SAME_RANGE, SAME_OP, ANY_ROW, N_KINSHIPS };

static bool is_kin(const struct shift *a, const struct shift *b,
                   enum kinship how)
{
    return (how == ANY_ROW || a->op == b->op) &&
           (how != SAME_RANGE || a->range == b->range);
}

/* The median of the differences of an op's rows; of those of all ops from
 * NOISE_MOST_OPS. *k: how many. */
static double op_centre(const struct shift *rows, size_t n, unsigned op,
                        double *scratch, size_t *k)
{
    *k = 0;
    for (size_t i = 0; i < n; i++)
        if (op == NOISE_MOST_OPS || rows[i].op == op)
            scratch[(*k)++] = rows[i].log_ratio;
    return *k > 0 ? xl__median(scratch, *k) : (double)NAN;
}

/* The squared distance of a row from the median of its op, per run, corrected
 * for the freedom that the median takes. An op with one row has none: the
 * distance from the median of all. */
static double scatter_of(const struct shift *rows, size_t n, size_t i,
                         double *scratch)
{
    size_t k = 0;
    double centre = op_centre(rows, n, rows[i].op, scratch, &k);
    if (k < 2)
        centre = op_centre(rows, n, NOISE_MOST_OPS, scratch, &k);
    const double freedom = k > 1 ? (double)k / (double)(k - 1) : 1;
    return square(rows[i].log_ratio - centre) * freedom / rows[i].runs;
}

/* The variance of one value of row i by its class: the `share` quantile of
 * the variances of its rows by passes, or of their squared distances where
 * they have none. NaN: unknown. `own` has a figure for each row. */
static double class_variance(const struct shift *rows, const double *own,
                             size_t n, size_t i, double *scratch)
{
    const bool has_passes = rows[i].df > 0;
    for (int how = 0; how < N_KINSHIPS; how++) {
        const size_t fewest = has_passes       ? FEWEST_OF_CLASS
                              : how == ANY_ROW ? NOISE_FEWEST_ROWS
                                               : FEWEST_OF_CLASS + 1;
        size_t k = 0;
        for (size_t j = 0; j < n; j++)
            if (!rows[j].is_equal && rows[j].runs > 0 &&
                (rows[j].df > 0) == has_passes &&
                is_kin(&rows[i], &rows[j], (enum kinship)how))
                scratch[k++] = own[j];
        if (k >= fewest || (has_passes && how == ANY_ROW && k > 0))
            return xl__quantile(scratch, k, share);
    }
    return (double)NAN;
}

/* Quantiles of the squares of t with as many degrees of freedom: what the
 * `share` quantile of equal rows is. */
static double expected_square(unsigned df)
{
    return square(noise_quantile((1 - share) / 2, df));
}

static unsigned row_df(const struct noise_input *in, const struct shift *row)
{
    if (row->runs <= 0 || in->is_given)
        return MANY;
    return row->df > 0 ? PRIOR + row->df : in->is_alike ? SCATTER_DF : MANY;
}

/* Sets the variance of each row; `own` and `scratch` have room for n. */
static void estimate_variances(struct shift *rows, size_t n,
                               const struct noise_input *in, double *own,
                               double *scratch)
{
    for (size_t i = 0; i < n; i++)
        own[i] = rows[i].df > 0     ? rows[i].square / rows[i].df
                 : rows[i].runs > 0 ? scatter_of(rows, n, i, scratch)
                                    : 0;
    for (size_t i = 0; i < n; i++) {
        struct shift *row = &rows[i];
        double one = class_variance(rows, own, n, i, scratch);
        row->variance = row->within + row->runs * in->assumed;
        if (row->is_equal)
            row->variance = 0;
        else if (in->is_given || row->runs <= 0 || isnan(one))
            continue;
        else if (row->df > 0)
            row->variance = row->runs * (PRIOR * one + row->square) /
                            (double)(PRIOR + row->df);
        else if (in->is_alike)
            row->variance =
                fmax(isnan(row->within) ? 0 : row->within,
                     row->runs * one / expected_square(SCATTER_DF));
    }
}

/* Multiplies the variances by passes where rows scatter by more. */
static void add_excess(struct noise *noise, struct shift *rows, size_t n,
                       const struct noise_input *in, double *own,
                       double *scratch)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (rows[i].df > 0 && rows[i].runs > 0 && !rows[i].is_equal)
            own[k++] = scatter_of(rows, n, i, scratch) * rows[i].runs /
                       rows[i].variance;
    if (in->is_given || !in->is_alike || k < NOISE_FEWEST_ROWS)
        return;
    noise->excess = fmax(1, xl__quantile(own, k, share) /
                                expected_square(PRIOR + SCATTER_DF));
    for (size_t i = 0; i < n; i++)
        if (rows[i].df > 0)
            rows[i].variance *= noise->excess;
}

/* The variances that are reported: between two values. */
static void describe_noise(struct noise *noise, const struct shift *rows,
                           size_t n, double *scratch)
{
    for (unsigned op = 0; op <= NOISE_MOST_OPS; op++) {
        size_t k = 0;
        for (size_t i = 0; i < n; i++)
            if (rows[i].runs > 0 && !rows[i].is_equal &&
                (op == NOISE_MOST_OPS || rows[i].op == op))
                scratch[k++] = 2 * rows[i].variance / rows[i].runs;
        const double typical = k > 0 ? xl__median(scratch, k) : 0;
        *(op == NOISE_MOST_OPS ? &noise->all : &noise->op[op]) = typical;
    }
}

/* -- the change of all ---------------------------------------------------- */

static double t_half(double variance, double tail, unsigned df)
{
    return variance > 0 ? noise_quantile(tail, df) * sqrt(variance) : 0;
}

/* Estimates the common change from the medians of the ops. `centres` and
 * `scratch` have room for n. */
static void estimate_common(struct noise *noise, const struct shift *rows,
                            size_t n, const struct noise_input *in,
                            double *centres, double *scratch)
{
    static const double of_median = 1.57, of_mad = 1.4826; /* normal */
    struct shift *c = &noise->common;
    size_t n_ops = 0, k = 0;
    double typical = 0, runs = 0;
    for (unsigned op = 0; op < NOISE_MOST_OPS; op++) {
        const double centre = op_centre(rows, n, op, scratch, &k);
        if (k > 0)
            centres[n_ops++] = centre;
    }
    noise->has_common =
        in->is_alike && n >= NOISE_FEWEST_ROWS && n_ops >= NOISE_FEWEST_OPS;
    if (!noise->has_common)
        return;
    c->log_ratio = xl__median(centres, n_ops);
    for (size_t i = 0; i < n; i++)
        runs = fmax(runs, rows[i].runs);
    for (size_t i = 0; i < n; i++)
        scratch[i] = rows[i].variance;
    typical = xl__median(scratch, n);
    for (size_t i = 0; i < n_ops; i++)
        centres[i] = fabs(centres[i] - c->log_ratio);
    const double scatter = square(of_mad * xl__median(centres, n_ops));
    const double drift = isnan(in->drift) ? runs * in->assumed : in->drift;
    c->variance = of_median * fmax(scatter, typical) / (double)n_ops + drift;
    const unsigned df =
        isnan(in->drift) || in->drift_df == 0 ? MANY : PRIOR + in->drift_df;
    const double half = t_half(c->variance, (1 - confidence) / 2, df);
    c->lo = c->log_ratio - half;
    c->hi = c->log_ratio + half;
    c->is_found = (c->lo > 0 || c->hi < 0) && fabs(c->log_ratio) > in->margin;
}

/* -- decisions ------------------------------------------------------------ */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The largest p that is a discovery, by Benjamini and Hochberg; `p` has the
 * probabilities of n rows, and is sorted. */
static double largest_discovery(double *p, size_t n)
{
    qsort(p, n, sizeof *p, compare_doubles);
    for (size_t k = n; k > 0; k--)
        if (p[k - 1] <= discovery_rate * (double)k / (double)n)
            return discovery_rate * (double)k / (double)n;
    return 0;
}

static void decide(const struct noise *noise, struct shift *rows, size_t n,
                   const struct noise_input *in, double *scratch)
{
    const bool is_common = noise->has_common && noise->common.is_found;
    /* A common change that is not certain is not called a row's. */
    const double doubt =
        noise->has_common && !is_common ? noise->common.log_ratio : 0;
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        struct shift *row = &rows[i];
        row->beyond = is_common ? noise->common.log_ratio : 0;
        row->p = 1;
        if (row->is_equal)
            continue;
        const double by = fmin(fabs(row->log_ratio - row->beyond),
                               fabs(row->log_ratio - row->beyond - doubt));
        row->p = row->variance > 0 ? 2 * noise_tail(by / sqrt(row->variance),
                                                    row_df(in, row))
                 : by > 0          ? 0
                                   : 1;
        scratch[k++] = row->p;
    }
    const double most = largest_discovery(scratch, k);
    double last_tail = 0, last_t = 0; /* most rows have the same */
    unsigned last_df = 0;
    for (size_t i = 0; i < n; i++) {
        struct shift *row = &rows[i];
        row->is_found = !row->is_equal && row->p <= most;
        const double tail = (row->is_found ? most : 1 - confidence) / 2;
        const unsigned df = row_df(in, row);
        if (df != last_df || tail < last_tail || tail > last_tail)
            last_t = noise_quantile(tail, df);
        last_tail = tail;
        last_df = df;
        const double half = last_t * sqrt(row->variance);
        row->lo = row->log_ratio - half;
        row->hi = row->log_ratio + half;
    }
}

bool noise_judge(struct noise *noise, struct shift *rows, size_t n,
                 const struct noise_input *in)
{
    double *own = xl__calloc(n + NOISE_MOST_OPS, sizeof *own);
    double *scratch = xl__calloc(n + NOISE_MOST_OPS, sizeof *scratch);
    const bool fine = own && scratch;
    /* Passes of one process do not show all that an op's rows share. */
    static const double half_shared = 0.5, least_shared = 0.25;
    size_t n_repeated = 0;
    for (size_t i = 0; i < n; i++)
        n_repeated += rows[i].df > 0;
    *noise = (struct noise){
        .source = in->is_given                             ? NOISE_ASSUMED
                  : n_repeated > 0                         ? NOISE_FROM_REPEATS
                  : in->is_alike && n >= NOISE_FEWEST_ROWS ? NOISE_FROM_ROWS
                                                           : NOISE_ASSUMED,
        .in_common = isnan(in->common)
                         ? half_shared
                         : fmin(fmax(in->common, least_shared), 1),
        .excess = 1};
    if (fine) {
        estimate_variances(rows, n, in, own, scratch);
        add_excess(noise, rows, n, in, own, scratch);
        describe_noise(noise, rows, n, scratch);
        estimate_common(noise, rows, n, in, own, scratch);
        decide(noise, rows, n, in, scratch);
    }
    free(own);
    free(scratch);
    return fine;
}

/* -- means ---------------------------------------------------------------- */

/* What the rows of an op share of their variance does not average out. */
struct shift noise_mean(const struct noise *noise, const struct shift *rows,
                        size_t n, unsigned op, unsigned n_ops)
{
    struct shift mean = {.op = op};
    double sum = 0, k = 0, exact = 1;
    for (size_t i = 0; i < n; i++) {
        if (n_ops > 0 && rows[i].op != op)
            continue;
        mean.log_ratio += rows[i].log_ratio;
        mean.beyond = n_ops > 0 ? rows[i].beyond : 0;
        sum += rows[i].variance;
        exact = exact > 0 && rows[i].is_equal;
        k++;
    }
    mean.is_equal = exact > 0;
    mean.log_ratio /= k;
    mean.variance = sum / k * (noise->in_common + (1 - noise->in_common) / k);
    const double tail = (1 - confidence) / 2 / (n_ops > 0 ? n_ops : 1);
    const unsigned df =
        noise->source == NOISE_ASSUMED ? MANY : PRIOR + SCATTER_DF;
    const double half = t_half(mean.variance, tail, df);
    mean.lo = mean.log_ratio - half;
    mean.hi = mean.log_ratio + half;
    mean.is_found = mean.lo > mean.beyond || mean.hi < mean.beyond;
    return mean;
}

/* The half width falls as the root of the number of values. A difference
 * within the margin is decided when the interval fits in it, another when the
 * interval excludes 1. */
double noise_missing(const struct shift *row, double margin)
{
    static const double nearest = 0.1; /* of the margin */
    const double by = fabs(row->log_ratio - row->beyond);
    const double half = row->hi - row->log_ratio;
    const double enough = by < margin ? margin - by : by;
    const double now = row->runs > 0 ? 2 / row->runs : 1;
    if (!(half > 0) || (by < margin && enough < nearest * margin))
        return INFINITY;
    return fmax(1, ceil(now * (square(half / enough) - 1)));
}
