/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of comparisons: is a difference larger than the differences
 * between repeated runs? Pure arithmetic on logarithms of times.
 *
 * The difference of a row between baseline and candidate has the variance
 *
 *     within + noise * (1 / runs of a + 1 / runs of b)
 *
 * within  comes from the samples of each run.
 * noise   is the variance of the difference of two runs of the same program.
 *         Clocks, memory placement and other processes change from one process
 *         to the next, which the samples of one process do not show. For
 *         independent rows half of it would suffice; but a run shifts many
 *         rows together, which few repeats hardly show and the scatter of rows
 *         does not show at all. This shift is taken to be as large again.
 *
 * Source of the two levels: Kalibera and Jones, "Rigorous benchmarking in
 * reasonable time", ISMM 2013.
 *
 * If the noise is estimated from the scatter of the rows, a row with more
 * noise than most cannot be distinguished from a row that changed. The
 * differences then are taken to have the tails of Student's t with 4 degrees
 * of freedom: in 56 pairs of equal runs on busy shared cores one row in a
 * hundred was beyond 4 times the two-thirds quantile, one in a thousand beyond
 * 7 to 10 (t: 4.2 and 7.8; normal: 2.7 and 3.4). Repeats show the noise of
 * each row. The estimate of the median of one run remains normal. */
#ifndef CLBENCH_COMPARE_NOISE_H
#define CLBENCH_COMPARE_NOISE_H

#include <stdbool.h>
#include <stddef.h>

/* The difference of a row between a and b, or between two runs of one result
 * set. */
struct shift {
    double log_ratio; /* of the later time over the earlier */
    double within;    /* variance of log_ratio from the samples */
    double runs;      /* 1 / runs of a + 1 / runs of b; 0: both were measured
                         interleaved, without noise between runs */
    double own;       /* noise of this row from its repeats; 0: unknown */
    unsigned op;      /* index of the row's op */
    double lo, hi;    /* of log_ratio, by noise_intervals() */
};

enum noise_source { NOISE_FROM_REPEATS, NOISE_FROM_ROWS, NOISE_ASSUMED };
enum { NOISE_MOST_OPS = 128 };

struct noise {
    enum noise_source source;
    double all;                /* of all rows */
    double op[NOISE_MOST_OPS]; /* of the rows of an op; 0: too few */
};

/* Variance of the logarithm of the median of n samples; NaN: n < 2, or out of
 * memory. */
double noise_within(const double *ns, size_t n);
/* The noise that explains the differences beyond `within`. The
 * differences have mean 0. NaN: out of memory. */
double noise_estimate(const struct shift *list, size_t n,
                      enum noise_source source);

/* Estimates the noise from differences between runs of the same result set,
 * which are noise only. False: out of memory. */
bool noise_from_repeats(struct noise *noise, const struct shift *list,
                        size_t n);
/* Estimates it from the rows themselves, most of which are taken to be equal.
 * Needs at least NOISE_FEWEST_ROWS. */
bool noise_from_rows(struct noise *noise, const struct shift *rows, size_t n);
enum { NOISE_FEWEST_ROWS = 8 };
/* Sets the noise to an assumed difference between two runs. */
void noise_assume(struct noise *noise, double percent);

/* Sets lo and hi of all rows; they hold simultaneously with 95 %. */
void noise_intervals(const struct noise *noise, struct shift *rows, size_t n);
/* The geometric mean over the rows of an op, one of `n_ops` ops whose
 * intervals hold simultaneously; over all rows if n_ops is 0. NaN: no rows. */
struct shift noise_mean(const struct noise *noise, const struct shift *rows,
                        size_t n, unsigned op, unsigned n_ops);

/* Quantiles, 0.5 <= p < 1, of the standard normal distribution and of
 * Student's t with 4 degrees of freedom. */
double noise_normal_quantile(double p);
double noise_student_quantile(double p);

#endif
