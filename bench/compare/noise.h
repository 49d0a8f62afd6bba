/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of comparisons: is a difference larger than the differences
 * between equal measurements? Pure arithmetic on logarithms of times.
 *
 *     values of a row, one a pass of a run     v_ak, v_bk
 *     difference     median of all v_bk - v_ak (Hodges and Lehmann, Annals of
 *                    Mathematical Statistics 34(2), 1963): one disturbed pass
 *                    does not move it
 *                    Of pairs: median of all means of two differences, the
 *                    same estimate for one sample
 *     variance       s^2 (1 / n_a + 1 / n_b), s^2 from the passes of the row
 *                    and from rows of its class, as a prior with PRIOR degrees
 *                    of freedom (Smyth, "Linear models and empirical Bayes
 *                    methods", Stat. Appl. Genet. Mol. Biol. 3(1), 2004)
 *                    What all rows of a pass have in common, the speed of
 *                    the machine at that time, is taken out before, where
 *                    there are rows enough to see it
 *     decision       p of Student's t, then a false-discovery rate of 5 % over
 *                    all rows (Benjamini and Hochberg, J. R. Stat. Soc. B
 *                    57(1), 1995); the intervals of the rows that it finds are
 *                    those of Benjamini and Yekutieli (JASA 100(469), 2005),
 *                    of the others 95 % each
 *
 * A class is an op and a range of durations; where it has too few rows, the
 * op, or all rows.
 *
 * What passes of one process do not show is the difference between processes:
 * the scatter of the rows of an op about their median. If the rows scatter by
 * more than the passes explain, all variances are multiplied (Birge, Physical
 * Review 40, 1932). Rows without passes have their variance from this scatter
 * alone. A third of the rows may have changed without effect on it, and so may
 * a whole op.
 *
 * The change of the whole machine is the median over the ops of the median of
 * their rows. Its variance is the scatter of the ops, and the variance of
 * whole passes. If it is certain, rows are judged by what is beyond it; if
 * not, a row is found only if it differs both from 1 and from it. */
#ifndef CLBENCH_COMPARE_NOISE_H
#define CLBENCH_COMPARE_NOISE_H

#include <stdbool.h>
#include <stddef.h>

/* The difference of a row between a and b. */
struct shift {
    double log_ratio; /* of the time in b over that in a */
    double within;    /* variance of log_ratio from the samples */
    double runs;      /* 1 / n_a + 1 / n_b, n: passes of all runs; 0: measured
                         interleaved, without noise between runs */
    double square;    /* sum of the squares of the values about the means of
                         their sets */
    unsigned df;      /* n_a + n_b - 2; 0: one value each */
    unsigned op;      /* index of the row's op */
    unsigned range;   /* of durations */
    bool is_equal;    /* the very same measurement */
    /* By noise_judge(): */
    double variance, p, lo, hi; /* lo and hi of log_ratio */
    double beyond;              /* the change of all, which is not this row's;
                                   0: none is certain */
    bool is_found;              /* it differs, by the false-discovery rate */
};

enum noise_source {
    NOISE_FROM_REPEATS, /* passes or several runs */
    NOISE_FROM_ROWS,    /* the scatter of the rows */
    NOISE_ASSUMED
};
enum { NOISE_MOST_OPS = 128, NOISE_FEWEST_ROWS = 8, NOISE_FEWEST_OPS = 3 };

struct noise {
    enum noise_source source;
    double all;                /* variance between two equal passes; median */
    double op[NOISE_MOST_OPS]; /* the same of an op's rows; 0: none */
    double in_common;    /* share of a variance that an op's rows share */
    double excess;       /* variances are multiplied by this, >= 1 */
    bool has_common;     /* `common` is known */
    struct shift common; /* the change of all rows */
};

struct noise_input {
    bool is_alike;  /* most rows are expected to be equal */
    double assumed; /* variance between two runs, if nothing shows it */
    bool is_given;  /* use `assumed` in any case */
    double drift;   /* variance of whole passes; NaN: unknown */
    unsigned drift_df;
    double common; /* share of its variance that a row has in common with
                      the rows of its op; NaN: unknown */
    double margin; /* of log_ratio, that is ignored */
};

/* Variance of the logarithm of the median of n samples; NaN: n < 2, or out of
 * memory. */
double noise_within(const double *ns, size_t n);
/* Sets log_ratio, runs, square and df from the values of both sides. `scratch`
 * has room for n_a n_b. */
void noise_difference(const double *a, size_t n_a, const double *b, size_t n_b,
                      double *scratch, struct shift *out);
/* The same of n pairs of values that were taken side by side: what both of a
 * pair have in common is in no difference. `scratch` has room for n (n + 1). */
void noise_paired_difference(const double *a, const double *b, size_t n,
                             double *scratch, struct shift *out);
/* Estimates the noise and the common change, and sets the results of all
 * rows. False: out of memory. */
bool noise_judge(struct noise *noise, struct shift *rows, size_t n,
                 const struct noise_input *in);
/* The geometric mean over the rows of an op, one of `n_ops` ops whose
 * intervals hold simultaneously; over all rows if n_ops is 0. NaN: no rows. */
struct shift noise_mean(const struct noise *noise, const struct shift *rows,
                        size_t n, unsigned op, unsigned n_ops);
/* How many more values each side needs until its row is decided; infinite: it
 * is too near the margin. */
double noise_missing(const struct shift *row, double margin);

/* Student's t: P(T > t) for t >= 0, and the t of a probability below 1/2. */
double noise_tail(double t, unsigned df);
double noise_quantile(double tail, unsigned df);

#endif
