/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench tune`: the classes of shapes that are tuned, and the search of one
 * class. The search algorithm is the library's, xl_tune(). */
#ifndef CLBENCH_TUNING_SEARCH_H
#define CLBENCH_TUNING_SEARCH_H

#include "cases/attention/rotary_cases.h"
#include "cases/quantised/qconvert_cases.h"
#include "timing/run_cases.h"

/* -- classes of shapes -----------------------------------------------------
 */

enum { TUNE_MAX_CLASSES = 256 };

/* A shape that represents its class. */
struct tune_class {
    const struct bench_op *op;
    const void *c;  /* the op's case */
    char shape[48]; /* "16x4096x4096", as the command line spells it */
    size_t batch;   /* products of a call; 0: one, and no batch */
    xl_dtype dtype;
    int trans; /* bit 0: A transposed, bit 1: B; -1: no such thing */
    bool is_log;               /* softmax */
    bool is_rms, has_residual; /* norm; is_rms also qgemm */
    const char *format;        /* qgemm, qconvert; or NULL */
    size_t group;              /* of these, of int4; or 1 */
    bool is_dequantise;        /* qconvert */
    xl_accuracy accuracy;
    xl_activations activations; /* qgemm */
    const char *variant; /* NULL: all */
    union {
        xl_gemm gemm;
        xl_softmax softmax;
        xl_norm norm;
        struct attention_call attention; /* refers to itself */
        xl_qgemm qgemm;
        xl_qconvert qconvert;
        struct rotary_call rotary; /* likewise */
    } desc; /* the call, without memory */
};

struct tune_classes {
    struct tune_class list[TUNE_MAX_CLASSES];
    unsigned n;
    struct bench_cases cases; /* owns what the classes point to */
};

/* Read the op and the shapes of the command line, or the default shapes. An
 * exit_code, after a message. tune_classes_clear() in any case. */
int tune_classes_read(struct session *s, struct tune_classes *out);
void tune_classes_clear(struct tune_classes *classes);
/* The call, whose descriptor is the class's. */
xl_problem tune_class_problem(const struct tune_class *c);
/* "16x4096x4096 f16 nt": only what differs from the defaults; the type only if
 * `is_typed`. */
void tune_class_text(const struct tune_class *c, bool is_typed, char *out,
                     size_t cap);

/* -- one class -------------------------------------------------------------
 */

/* A candidate that ran, with its result. */
struct tune_attempt {
    xl_candidate candidate;
    xl_candidate_result result;
};

struct tune_result {
    const struct tune_class *of;
    xl_status status; /* of the search; XL_CANCELLED: no right candidate
                         yet */
    xl_tuned found;   /* when it is XL_OK */
    struct tune_attempt *attempts;
    size_t n_attempts, cap;
    double took_s;
    bool is_saved;
    char *file; /* where it was saved; NULL: unknown */
};

/* The time for a class, and the time left for the classes after it. */
struct tune_share {
    double own_s, others_s;
};

/* Search the i-th class and save the result. An exit_code; EXIT_FINE also when
 * no candidate was right. tune_result_clear() in any case. */
int tune_search(struct session *s, xl_queue *q, const struct tune_classes *all,
                unsigned i, const struct tune_share *share,
                struct tune_result *out);
/* Only list the candidates, without running them. */
int tune_dry_run(struct session *s, xl_queue *q, const struct tune_class *c,
                 struct tune_result *out);
void tune_result_clear(struct tune_result *r);

#endif
