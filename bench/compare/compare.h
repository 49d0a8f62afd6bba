/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two result sets row by row: the baseline a and the candidate b.
 * Each is one run, or several runs of the same program on the same device.
 * Ratios are times of b over times of a: above 1, b is slower. */
#ifndef CLBENCH_COMPARE_H
#define CLBENCH_COMPARE_H

#include "compare/noise.h"
#include "results/result_file.h"

struct result_set {
    const struct result_file *files; /* repeated runs; the first one determines
                                        which rows exist */
    size_t n_files;
    const char *device; /* of its rows; NULL: each row has its own */
    const char *other; /* variant of another library; NULL: crosslane's rows */
};

/* Classification of a pair, or of the mean of an op, in order of importance.
 * Those up to CALL_AS_ALL have an interval. */
enum call {
    CALL_SLOWER,    /* found to differ, and the ratio is beyond the margin */
    CALL_FASTER,    /* likewise below 1 */
    CALL_AMBIGUOUS, /* none of these */
    CALL_SAME,      /* the whole interval is within the margin */
    CALL_AS_ALL,    /* likewise about the change of all rows */
    CALL_FEW_RUNS,  /* no interval: a single sample */
    CALL_UNLIKE,    /* another unit or clock: not comparable */
    CALL_UNTIMED,   /* one of the rows has no valid time */
    CALL_MISSING,   /* only in a */
    CALL_NEW,       /* only in b */
    N_CALLS
};
const char *call_name(enum call call); /* "SLOWER" */
bool call_has_interval(enum call call);

struct ratio {
    double ratio, lo, hi; /* lo and hi NaN: no interval */
    enum call call;
    bool is_found; /* real by the false-discovery rate, whatever the margin */
};

struct pair {
    const struct result_row *a, *b; /* of the first runs; NULL: no such row */
    struct shift shift;
    struct ratio ratio;
    double a_value, b_value; /* the compared quantity, mean over the runs */
    const char *unit;
    double *log_time[2]; /* of a and of b: one of each pass of each run */
    size_t n_values[2];
    size_t n_points;         /* of a probe's curve that is one row; 0: none */
    bool is_gated;           /* a condition of --fail-on applies */
    char *label;             /* "gemm_cpu 1024^3 f32" */
};

/* All rows of one op. */
struct op_mean {
    const char *op;
    struct ratio mean; /* the geometric mean */
    size_t n_call[N_CALLS];
    bool is_gated;
};

struct comparison {
    struct result_set a, b;
    struct pair *pairs; /* in order of importance */
    size_t n, cap;
    size_t n_compared; /* with an interval; these come first */
    struct op_mean *ops;
    size_t n_ops, ops_cap;
    struct op_mean all; /* op NULL */
    struct noise noise;
    double drift; /* sum of the squares by which whole passes differ, and */
    unsigned drift_df; /* their degrees of freedom */
    double margin; /* percent */
    bool is_paired; /* pass k of b was taken beside pass k of a */
    bool is_alike; /* same chip and platform: most rows are expected to be
                      equal, and their scatter shows the noise */
};

struct compare_options {
    bool by_case;   /* compare the fastest variant of each case */
    double margin;  /* percent of difference that is ignored */
    double assumed; /* noise in percent; NaN: estimate it */
    bool is_paired; /* two set-ups that ran alternately: the passes of both
                       are pairs, and no change is the machine's */
};
enum { COMPARE_MARGIN = 5, COMPARE_NOISE = 5 }; /* defaults, percent */

/* False: out of memory. Call compare_clear() in either case. The result sets
 * must outlive the comparison. */
bool compare_make(struct comparison *c, const struct result_set *a,
                  const struct result_set *b,
                  const struct compare_options *how);
void compare_clear(struct comparison *c);

/* -- rows ----------------------------------------------------------------- */

/* The row of `b` that matches row `i` of `a`: same id and device, or same id
 * if each file has one device. Among equal ids the order decides. NULL: none.
 */
const struct result_row *results_match(const struct result_file *a, size_t i,
                                       const struct result_file *b);
/* Does a row belong to the device and library of a result set? */
bool result_set_has(const struct result_set *set,
                    const struct result_row *row);
/* The fastest timed row of the same case as `row` in run `i_file` of a result
 * set; NULL: none. */
const struct result_row *result_set_fastest(const struct result_set *set,
                                            size_t i_file,
                                            const struct result_row *row);
/* The ratio of a row of a peer library and the row it was timed with in
 * interleaved order; *out has ratio, lo and hi of theirs over ours. False: it
 * was not timed like that. */
bool result_interleaved(const struct result_file *file,
                        const struct result_row *theirs, struct ratio *out);
/* The logarithm of the compared time of a row; *value and *unit are for
 * display. For a probe whose value is a rate or a time: that value, since
 * probes choose how much they execute; else the median of the samples. */
double result_metric(const struct result_row *row, double *value,
                     const char **unit);
/* Classifies an interval: one of the calls with an interval. */
struct ratio ratio_of(const struct shift *shift, double margin_percent);
/* The change of all rows, with its call; NaN: unknown. */
struct ratio compare_common(const struct comparison *c);
/* Sets the shift of a pair from its times. False: out of memory. */
bool pair_set_shift(const struct comparison *c, struct pair *p);
/* Value k of a side, as a logarithm of a time. Of pairs of passes there is one
 * side: their differences, with the variance of one value. */
size_t pair_n_values(const struct comparison *c, const struct pair *p,
                     int side);
double pair_value(const struct comparison *c, const struct pair *p, int side,
                  size_t k);
/* How many more passes each side needs until an ambiguous row is decided;
 * infinite: it is too near the margin. */
double pair_missing_passes(const struct comparison *c, const struct pair *p);
/* The row has a valid time in a, and is rejected or an error in b. */
bool pair_is_rejected(const struct pair *pair);
bool pair_is_variant_changed(const struct pair *pair);

#endif
