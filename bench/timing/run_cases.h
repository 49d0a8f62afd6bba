/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that times an op: for each case, device and variant a row that is
 * checked and has a verdict.
 *
 *     for each case                  bench_data: random inputs, the same for
 * all for each device              upload for each variant           open,
 * explain, run once, check time them interleaved      repetition i runs each
 * variant once for each variant           check again, value, roof, verdict
 *
 * An op is a struct of functions: bench_gemm is in gemm.c, and so on. */
#ifndef CLBENCH_TIMING_RUN_CASES_H
#define CLBENCH_TIMING_RUN_CASES_H

#include "cases/gemm_cases.h"
#include "cases/shape_file.h"
#include "timing/buffers.h"
#include "cli/session.h"

enum { BENCH_MAX_WORDS = 64, BENCH_MAX_CHOICES = 64 };

/* One run: a case in its buffers, with one variant. */
struct case_run {
    const void *c;
    const struct bench_data *data;
    const char *variant; /* NULL: the library's choice */
    void *state;         /* of the op's own, made by open() */
    char why[512];       /* of a failure in open(), where the op knows it; "":
                            xl_error_detail() */
};

/* A bandwidth as a roof: its fact (NULL: no roof), and its name in the report.
 * If it is not a bound, a row above it is not rejected. */
struct bench_roof {
    const char *fact, *name;
    bool is_bound;
};

struct bench_op {
    const char *name;  /* "gemm" */
    const char *title; /* "GEMM" */
    const char *note;  /* what its value counts */
    enum rows_kind kind; /* of its rows */
    size_t case_bytes; /* of one case: struct gemm_case, ... */
    const char *const *variants; /* NULL-terminated; NULL: the device's own
                                    list, xl_variant_name() */
    bool runs_all;               /* without --variant all variants run */
    /* Parse a SHAPE of the command line, with --dtype and the like, as a case;
     * false: *why is the message. */
    bool (*parse)(const struct settings *set, const char *word, void *c,
                  char *why, size_t why_cap);
    /* Copy row i of the case table to c; false past the last; *is_selected:
     * does it belong to this run? */
    bool (*table)(const struct session *s, unsigned i, void *c,
                  bool *is_selected);
    void (*layout)(const void *c, struct bench_buffer *buffers);
    /* Fill input i; NULL: near-normal numbers. */
    void (*fill)(const void *c, unsigned i, void *host, struct xl__rng *rng);
    /* Shape, parameters, dtype, flop and bytes; the row's unit. */
    void (*describe)(const void *c, xl_row *row);
    /* Add what depends on the variant that is asked for; NULL: nothing. */
    void (*describe_variant)(const struct case_run *w, xl_row *row);
    /* Prepare w->state for the runs of a variant. Both NULL: not required. */
    xl_status (*open)(xl_queue *q, struct case_run *w);
    void (*close)(struct case_run *w);
    xl_status (*run)(xl_queue *q, const struct case_run *w);
    xl_status (*explain)(xl_queue *q, const struct case_run *w, xl_choice *out,
                         unsigned *n);
    /* Add to the row what depends on the variant; NULL: nothing. */
    void (*chosen)(const void *c, const xl_device *dev,
                   const xl_choice *choice, xl_row *row);
    /* Add the counts of a run beyond its flop and bytes, for the diagnosis;
     * NULL: none. */
    void (*count)(const void *c, const xl_choice *choice, xl_counts *work);
    /* The row's roof; NULL: the roofline's. A row in flop/s is below the
     * arithmetic peak as well. */
    struct bench_roof (*roof)(const void *c, const xl_device *dev,
                              const xl_row *row);
    /* The unit that could do its arithmetic; NULL: roof_usual(). */
    xl_roof (*engine)(const void *c);
    /* Compare a sample of the result with the host. */
    xl_status (*check)(xl_queue *q, const struct case_run *w,
                       struct check_result *out);
    /* Check all of it, once before the timing, where this is fast; NULL: not.
     */
    xl_status (*check_whole)(xl_queue *q, const struct case_run *w,
                             struct check_result *out);
    /* Add values that depend on all rows of a case; NULL: none. */
    void (*relate)(xl_row *const *rows, unsigned n);
};

extern const struct bench_op bench_gemm, bench_qgemm, bench_conv,
    bench_conv_data, bench_conv_filters, bench_softmax, bench_softmax_backward,
    bench_norm, bench_norm_backward, bench_attention, bench_attention_backward,
    bench_qconvert, bench_rotary, bench_expr;

/* Find an op with variants and shapes by its name; NULL after a message. */
const struct bench_op *bench_op_find(const char *name);

/* Time all cases on all chosen devices, as one section of the report; the
 * variants of a case are interleaved. `origin`: cases of the command line are
 * not skipped when they take long, those of the table are. Returns an
 * exit_code. */
enum bench_origin { CASES_OF_TABLE, CASES_OF_USER };
int bench_run(struct session *s, const struct bench_op *op,
              const void *const *cases, unsigned n, enum bench_origin origin);
/* The i-th variant of an op on a device; NULL past the last. */
const char *bench_variant(const struct bench_op *op, const xl_device *dev,
                          unsigned i);

/* The cases of the command line and of the files of --shapes. */
struct bench_cases {
    const void **list; /* each of op->case_bytes */
    size_t n, cap;
    struct shape_file file[OPTION_TIMES]; /* with the names of the cases */
    unsigned n_files;
};
/* Add another accuracy than the full one to a row's parameters. */
void bench_describe_accuracy(xl_accuracy accuracy, xl_row *row);
/* Is there what --accuracy permits, of operands or gradients `of`? false: *why
 * says what is allowed. */
bool bench_has_accuracy(const struct settings *set, const char *of,
                        bool has_split, bool has_fast, char *why, size_t cap);
/* Read them; an exit_code, after a message with the position. */
int bench_cases_read(struct session *s, const struct bench_op *op,
                     struct bench_cases *out);
void bench_cases_clear(struct bench_cases *list);

/* Time the cases of the table that belong to this run (--quick, --full,
 * --dtype, --trans), on the chosen devices. */
int bench_table(struct session *s, const struct bench_op *op);
/* Run a whole command: the cases of the command line and of files, or those of
 * the table when there are none. */
int bench_command(struct session *s, const struct bench_op *op);

#endif
