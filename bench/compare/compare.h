/* SPDX-License-Identifier: Apache-2.0 */
/* Two sides of a comparison, each one run or several of the same: which rows
 * belong together, and what can be said of each. Ratios are of b's time over
 * a's: above 1, b is slower. */
#ifndef CLBENCH_COMPARE_COMPARE_H
#define CLBENCH_COMPARE_COMPARE_H

#include "compare/noise.h"
#include "results/result_file.h"

struct side {
    const struct result_file *files; /* runs of the same; the first says which
                                        rows there are */
    size_t n_files;
    const char *device; /* of its rows; NULL: each row by its own device */
    const char *other;  /* another library's variant; NULL: our own rows */
};

/* What is said of a row, what matters most first. */
enum call {
    CALL_SLOWER,    /* the interval lies above 1, the ratio beyond the margin */
    CALL_FASTER,
    CALL_AMBIGUOUS, /* the runs cannot tell */
    CALL_SAME,      /* the whole interval lies within the margin */
    CALL_FEW_RUNS,  /* no interval: a single sample */
    CALL_UNLIKE,    /* another unit or clock: not the same measure */
    CALL_UNTIMED,   /* one of them has no time that can be quoted */
    CALL_MISSING,   /* in a alone */
    CALL_NEW,       /* in b alone */
    N_CALLS
};
const char *call_name(enum call call); /* "SLOWER" */
bool call_has_interval(enum call call);

struct ratio {
    double ratio, lo, hi; /* lo and hi NaN: no interval */
    enum call call;
};

struct pair {
    const struct result_row *a, *b; /* of the first runs; NULL: none */
    struct shift shift;
    struct ratio ratio;
    double a_value, b_value; /* what was compared, over all runs of a side */
    const char *unit;
    bool is_gated;
    char *label;             /* "gemm_cpu 1024^3 f32" */
};

/* Rows of an op together. */
struct op_mean {
    const char *op;
    struct ratio mean; /* the geometric mean */
    size_t n_call[N_CALLS];
    bool is_gated;
};

struct comparison {
    struct side a, b;
    struct pair *pairs; /* what matters most first */
    size_t n, cap;
    size_t n_compared;  /* have an interval */
    struct op_mean *ops;
    size_t n_ops, ops_cap;
    struct op_mean all; /* op NULL */
    struct noise noise;
    bool is_alike;      /* noise may come from the rows themselves */
};

struct compare_options {
    bool by_case;   /* the fastest of a case, whatever the variant */
    double margin;  /* percent that are nothing */
    double assumed; /* noise in percent; NaN: find out */
};
enum { COMPARE_MARGIN = 2, COMPARE_NOISE = 5 }; /* percent, not given */

/* False: out of memory. To be cleared either way. */
bool compare_make(struct comparison *c, const struct side *a,
                  const struct side *b, const struct compare_options *how);
void compare_clear(struct comparison *c);

/* -- rows ----------------------------------------------------------------- */

/* The match of row `i` of `a`: same id and device, or the same id alone when
 * each file has one device. NULL: none. */
const struct result_row *results_match(const struct result_file *a, size_t i,
                                       const struct result_file *b);
/* The fastest timed row of the case of `row` in a run of a side. */
const struct result_row *side_fastest(const struct side *side, size_t i_file,
                                      const struct result_row *row);
/* Two runs of a row, measured in turns with a peer: as ratio, lo and hi of
 * theirs over ours; false: they were not. */
bool result_turns(const struct result_file *file,
                  const struct result_row *theirs, struct ratio *out);
/* What is compared of a row: the logarithm of its time, and what to show. A
 * probe's figure where it is a rate or a time, since probes choose how much
 * they run; else the median. */
double result_figure(const struct result_row *row, double *value,
                     const char **unit);
/* Interval and margin, as one of the first four calls. */
struct ratio ratio_of(const struct shift *shift, double margin_percent);
/* b was quotable in a, and is rejected or an error now. */
bool pair_is_rejected(const struct pair *pair);
bool pair_is_variant_changed(const struct pair *pair);

#endif
