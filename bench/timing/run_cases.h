/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that times an op: cases x devices x variants -> checked, judged
 * rows. An op's side of it is one struct of functions (op_gemm.c, ...). */
#ifndef CLBENCH_OP_BENCH_H
#define CLBENCH_OP_BENCH_H

#include "base/rng.h"
#include "cases/gemm_cases.h"
#include "cli/session.h"
#include "cases/shape_file.h"

enum {
    BENCH_BUFFERS = XL_EXPR_MAX_BINDINGS,
    BENCH_MAX_WORDS = 64,
    BENCH_MAX_CHOICES = 16
};

/* One buffer of a case; 0 elements: not used. */
struct bench_buffer {
    size_t elems;
    xl_dtype dtype;
    bool is_input, is_result; /* both: changed in place */
    bool has_gaps; /* between its lines, which nobody writes */
};

static inline struct bench_buffer bench_input(size_t elems, xl_dtype dtype)
{
    return (struct bench_buffer){elems, dtype, true, false, false};
}

static inline struct bench_buffer bench_result(size_t elems, xl_dtype dtype,
                                               bool has_gaps)
{
    return (struct bench_buffer){elems, dtype, false, true, has_gaps};
}

/* What a result is full of before a run: NaN in f32, f16 and bf16. */
#define BENCH_NAN_WORD UINT32_C(0x7fc57fc5)

/* A case's memory: the host's copy of the inputs as they are before a run,
 * and one device's buffers. */
struct bench_data {
    struct bench_buffer buffer[BENCH_BUFFERS];
    void *host[BENCH_BUFFERS]; /* NULL: no input */
    cl_mem mem[BENCH_BUFFERS];
    uint64_t seed;
};

/* What is run: a case on its memory, in one variant. */
struct bench_work {
    const void *c;
    const struct bench_data *data;
    const char *variant; /* NULL: the library's choice */
    void *state;         /* of the op's own, made by open() */
};

/* A bandwidth as a roof: its fact, and its name in the report. One that is no
 * bound tells a share alone: a row above it may be right. */
struct bench_roof {
    const char *fact, *name;
    bool is_bound;
};

struct bench_op {
    const char *name;  /* "gemm" */
    const char *title; /* "GEMM" */
    const char *note;  /* how its value is counted */
    size_t case_bytes; /* of one case: struct gemm_case, ... */
    const char *const *variants; /* NULL-terminated; NULL: the device's own
                                    list, xl_variant_name() */
    bool runs_all;     /* without --variant every variant is run */
    /* A user's word, with --dtype and the like, as a case; false: why. */
    bool (*parse)(const struct settings *set, const char *word, void *c,
                  char *why, size_t why_cap);
    /* Copy row i of the case table to c; false past the last; *wanted: in
     * this run? */
    bool (*table)(const struct session *s, unsigned i, void *c, bool *wanted);
    void (*layout)(const void *c, struct bench_buffer *buffers);
    /* Fill input i; NULL: near-normal numbers. */
    void (*fill)(const void *c, unsigned i, void *host, struct xl__rng *rng);
    /* Shape, parameters, dtype, flop and bytes; the row's unit. */
    void (*describe)(const void *c, xl_row *row);
    /* What a variant needs for its runs: sets w->state. Both NULL: nothing. */
    xl_status (*open)(xl_queue *q, struct bench_work *w);
    void (*close)(struct bench_work *w);
    xl_status (*run)(xl_queue *q, const struct bench_work *w);
    xl_status (*explain)(xl_queue *q, const struct bench_work *w,
                         xl_choice *out, unsigned *n);
    /* What the row owes to the variant that will run; NULL: nothing. */
    void (*chosen)(const void *c, const xl_device *dev,
                   const xl_choice *choice, xl_row *row);
    /* What a run asks of caches and units beyond its flop and bytes, for the
     * diagnosis; NULL: nothing. */
    void (*count)(const void *c, const xl_choice *choice, xl_counts *work);
    /* The row's roof; NULL: the roofline's. */
    struct bench_roof (*roof)(const void *c);
    /* What its arithmetic could be done on; NULL: roof_usual(). */
    xl_roof (*engine)(const void *c);
    /* Compare a sample of the result with the host. */
    xl_status (*check)(xl_queue *q, const struct bench_work *w,
                       struct check_result *out);
    /* All of it, once before the timing, where that is quick; NULL: not. */
    xl_status (*check_whole)(xl_queue *q, const struct bench_work *w,
                             struct check_result *out);
    /* What the timed rows of one case say together; NULL: nothing. */
    void (*relate)(xl_row *const *rows, unsigned n);
};

extern const struct bench_op bench_gemm, bench_conv, bench_softmax, bench_expr;

/* The op of a name, of those that have variants and shapes; NULL after saying
 * which there are. */
const struct bench_op *bench_op_find(const char *name);

/* A part of the report: time every case on every chosen device, the variants
 * of a case in turns. `origin` says whether the cases are the user's own
 * (never skipped for being long) or the table's. */
enum bench_origin { CASES_OF_TABLE, CASES_OF_USER };
int bench_run(struct session *s, const struct bench_op *op,
              const void *const *cases, unsigned n, enum bench_origin origin);
/* The i-th variant of an op on a device, NULL past the last. */
const char *bench_variant(const struct bench_op *op, const xl_device *dev,
                          unsigned i);

/* op_cases.c: the cases of the words and of the files of --shapes. */
struct bench_cases {
    const void **list; /* each of op->case_bytes */
    size_t n, cap;
    struct shape_file file[OPTION_TIMES]; /* whose names the cases have */
    unsigned n_files;
};
/* An exit_code, after saying what is wrong and where. */
int bench_cases_read(struct session *s, const struct bench_op *op,
                     struct bench_cases *out);
void bench_cases_clear(struct bench_cases *list);

/* The table's cases for this run's extent, --dtype and --trans, on the devices
 * chosen already. */
int bench_table(struct session *s, const struct bench_op *op);
/* A whole command: the words' and files' cases, or the table's when there are
 * none. */
int bench_command(struct session *s, const struct bench_op *op);

/* op_data.c: random data for every input, the same on every device. */
xl_status bench_data_init(struct bench_data *data, const struct bench_op *op,
                          const void *c, uint64_t seed);
void bench_data_clear(struct bench_data *data);
/* One device's buffers, with the inputs in them. Release also after a
 * failure. */
xl_status bench_data_upload(xl_queue *q, struct bench_data *data);
void bench_data_release(struct bench_data *data);
/* Results full of NaN; those changed in place as they were. */
xl_status bench_data_reset(xl_queue *q, const struct bench_data *data);

/* op_pace.c: what earlier rows showed of a variant's speed, to foresee the
 * next. */
struct pace {
    const xl_device *dev;
    char variant[32];
    xl_dtype dtype;
    double ns_per_work;
};
enum { MAX_PACES = 32 };
struct paces {
    struct pace list[MAX_PACES];
    unsigned n;
};
void pace_note(struct paces *p, const xl_device *dev, const xl_row *row,
               double ns);
/* The time that a row will take; `otherwise` when none like it was seen. */
double pace_foresee(const struct paces *p, const xl_device *dev,
                    const xl_row *row, double otherwise);

#endif
