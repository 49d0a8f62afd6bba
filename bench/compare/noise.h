/* SPDX-License-Identifier: Apache-2.0 */
/* Is a difference more than runs of the same differ anyway? Pure arithmetic
 * on logarithms of times; compare.c brings it rows.
 *
 * The difference of a row between two sides has the variance
 *     within + noise * (1 / runs of a + 1 / runs of b).
 * `within` comes from the samples of each run. `noise` is the variance of the
 * difference of two runs of the same: clocks, placement and neighbours change
 * from one process to the next, which no sample of one process knows. Were
 * rows independent, half of it would do; but a run shifts many rows at once,
 * which a few repeats hardly see and the scatter of rows not at all, and that
 * shift is taken to be as large again. Source of the two levels: Kalibera and
 * Jones, "Rigorous benchmarking in reasonable time", ISMM 2013.
 *
 * Where the scatter of the rows is all that tells the noise, a row that is
 * wilder than most is not told from one that changed, so the differences are
 * taken to have the tails of Student's t with 4 degrees of freedom: in 56
 * pairs of equal runs on busy shared cores one row in a hundred was beyond 4
 * times what two thirds stay under, one in a thousand beyond 7 to 10 (t: 4.2
 * and 7.8; normal: 2.7 and 3.4). Repeats show each row's own noise. What the
 * samples of one run tell of their median stays normal: beside itself, slowed
 * by 20 %, a run is called as before. */
#ifndef CLBENCH_COMPARE_NOISE_H
#define CLBENCH_COMPARE_NOISE_H

#include <stdbool.h>
#include <stddef.h>

/* A row, or two runs of a row on one side. */
struct shift {
    double log_ratio; /* of the later time over the earlier */
    double within;    /* its variance by the samples alone */
    double runs;      /* 1 / runs of a + 1 / runs of b; 0: measured in turns,
                         which no noise between runs is in */
    double own;       /* noise of this row as its repeats show; 0: unknown */
    unsigned op;      /* rows of an op belong together */
    double lo, hi;    /* of log_ratio, by noise_intervals() */
};

enum noise_source { NOISE_OF_REPEATS, NOISE_OF_ROWS, NOISE_ASSUMED };
enum { NOISE_MOST_OPS = 128 };

struct noise {
    enum noise_source source;
    double all;                /* of all rows together */
    double op[NOISE_MOST_OPS]; /* of the rows of an op; 0: too few */
};

/* Variance of the logarithm of the median of samples; NaN: under two, or out
 * of memory. */
double noise_within(const double *ns, size_t n);
/* The noise that explains differences beyond `within`; they have no centre
 * but 0. NaN: out of memory. */
double noise_of(const struct shift *list, size_t n, enum noise_source source);

/* Two runs of one side: whatever they differ by is noise. Each: noise alone.
 * False: out of memory. */
bool noise_from_repeats(struct noise *noise, const struct shift *list,
                        size_t n);
/* From the rows themselves, most of which are taken to be the same. */
bool noise_from_rows(struct noise *noise, const struct shift *rows, size_t n);
/* Fewer rows than this tell nothing of it. */
enum { NOISE_FEWEST_ROWS = 8 };
/* Nothing is known: two runs are taken to differ by this. */
void noise_assume(struct noise *noise, double percent);

/* The intervals of all rows hold together with 95 %. */
void noise_intervals(const struct noise *noise, struct shift *rows, size_t n);
/* The geometric mean over the rows of an op, one of `n_ops` whose intervals
 * hold together; every row when n_ops is 0. NaN: none. */
struct shift noise_mean(const struct noise *noise, const struct shift *rows,
                        size_t n, unsigned op, unsigned n_ops);

/* The standard normal quantile, 0.5 <= p < 1, and that of Student's t with 4
 * degrees of freedom. */
double noise_quantile(double p);
double noise_heavy_quantile(double p);

#endif
