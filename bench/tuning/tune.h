/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench tune`: classes of shapes, the process that tries candidates, what
 * came of it. The search itself is the library's. */
#ifndef CLBENCH_TUNE_H
#define CLBENCH_TUNE_H

#include "cli/subprocess.h"
#include "timing/run_cases.h"

/* -- tune_shapes.c: what is tuned ----------------------------------------- */

enum { TUNE_MAX_CLASSES = 256 };

/* A shape that stands for its class. */
struct tune_class {
    const struct bench_op *op;
    const void *c;   /* the op's case */
    char shape[48];  /* "16x4096x4096", as the command line spells it */
    size_t batch;    /* products of a call; 0: one, and no batch */
    xl_dtype dtype;
    int trans;       /* bit 0: A transposed, bit 1: B; -1: no such thing */
    xl_accuracy accuracy;
    const char *variant; /* NULL: all that there are */
    union {
        xl_gemm gemm;
        xl_softmax softmax;
    } desc;          /* without memory */
};

struct tune_classes {
    struct tune_class list[TUNE_MAX_CLASSES];
    unsigned n;
    struct bench_cases cases; /* what the classes point to */
};

/* The command line's op and shapes, or the default ones. An exit_code, after
 * saying what is wrong. */
int tune_classes_read(struct session *s, struct tune_classes *out);
void tune_classes_clear(struct tune_classes *classes);
/* "16x4096x4096 f16 nt", with only what is not the default; without its type
 * unless `is_typed`. */
void tune_class_text(const struct tune_class *c, bool is_typed, char *out,
                     size_t cap);

/* -- tune_lines.c: what parent and child say to each other ---------------- */

/* Lines are changed by being read. false: it is no such line. */
void tune_ask_write(struct xl__str *out, const xl_candidate *c,
                    double limit_ns);
bool tune_ask_read(char *line, xl_candidate *c, double *limit_ns);
void tune_ready_write(struct xl__str *out);
bool tune_ready_read(const char *line);
void tune_answer_write(struct xl__str *out, const xl_candidate_result *t);
bool tune_answer_read(char *line, xl_candidate_result *t);

#define TUNE_VARIABLE "CLBENCH_TUNE_CHILD" /* set in the child */

/* -- tune_worker.c, tune_child.c: candidates in a process of their own ---- */

struct tune_worker {
    struct session *s;
    const struct tune_class *of;
    xl_queue *q;         /* for systems without child processes */
    struct child *child; /* NULL: none runs now */
};

/* Fits xl_tuning.run_candidate but for its first argument. A candidate that
 * dies takes its process along; the next one gets another. */
xl_status tune_worker_try(struct tune_worker *w, const xl_candidate *c,
                          double limit_ns, xl_candidate_result *out);
void tune_worker_clear(struct tune_worker *w);

/* In the child: was this process started by a worker? Then try what it asks
 * for, on the device and for the class of the command line. */
bool tune_is_child(void);
int tune_be_child(struct session *s, const struct tune_class *c);

/* -- tune_search.c: one class --------------------------------------------- */

/* What was tried in this run. */
struct tune_attempt {
    xl_candidate candidate;
    xl_candidate_result trial;
};

struct tune_result {
    const struct tune_class *of;
    xl_status status; /* of the search; XL_CANCELLED: nothing right yet */
    xl_tuned found;   /* when it is XL_OK */
    struct tune_attempt *attempts;
    size_t n_attempts, cap;
    double took_s;
    bool is_saved;
    char *file;       /* where it was saved; NULL: nobody knows */
};

/* Seconds for a class, and what those behind it are left. */
struct tune_share {
    double own_s, others_s;
};

/* Search the i-th class and save what was found. An exit_code: EXIT_FINE also
 * when nothing was right. tune_result_clear() in any case. */
int tune_search(struct session *s, xl_queue *q, const struct tune_classes *all,
                unsigned i, const struct tune_share *share,
                struct tune_result *out);
/* Only list the candidates. */
int tune_dry_run(struct session *s, xl_queue *q, const struct tune_class *c,
                 struct tune_result *out);
void tune_result_clear(struct tune_result *r);

/* -- tune_report.c: tables and the file ----------------------------------- */

void tune_print(const struct session *s, const struct tune_result *results,
                unsigned n);
void tune_print_candidates(const struct session *s,
                           const struct tune_result *r);
/* The rows and the "tuned" member of the result file. */
void tune_record(struct session *s, const struct tune_result *r);
/* Entries that the device has, in a table; an exit_code. */
int tune_list(struct session *s, xl_queue *q);

#endif
