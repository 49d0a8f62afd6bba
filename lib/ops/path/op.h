/* SPDX-License-Identifier: Apache-2.0 */
/* What an op and a variant are. A variant plans, it does not run: everything
 * in it is pure C over limits and a descriptor, so it is tested with no
 * device. One mechanism (op.c) checks, selects, self-checks and launches for
 * every op. */
#ifndef XL_OPS_OP_H
#define XL_OPS_OP_H

#include <crosslane/explain.h>

#include "device/vendor_table.h"
#include "runtime/launch.h"

enum { XL__MAX_TUNABLES = 16 };

struct xl__tunable {
    const char *name;   /* the -D's name: "TM" */
    const char *help;
    int legal[20];      /* ends with 0 */
};

/* A whole set; never merged field by field. */
struct xl__params {
    int value[XL__MAX_TUNABLES];
    const char *source; /* "model"; "tuned: " and the file, alive as long as
                           the library */
};

/* One way to compute an op. Immutable. */
struct xl__variant {
    const char *name;   /* "gemm_tiled": log, tuned sets, --variant */
    const char *repeats; /* bit for bit the same each time? one sentence */
    const struct xl__tunable *tunables; /* ends with a NULL name; or NULL */
    bool has_plain; /* programs of its own where C is not read (beta = 0) */
    /* Products are a matrix engine's: how many of its own make one, 0: none;
     * and of what type where it is not the operands'. */
    unsigned engine_terms;
    xl_dtype engine_parts; /* if engine_terms > 1 */
    /* NULL: applicable; else why not, in one static phrase. `desc` is the
     * op's canonical descriptor throughout. */
    const char *(*refuses)(const struct xl__limits *, const void *desc);
    /* The model's choice of tunables; NULL when there are none. */
    void (*choose)(const struct xl__limits *, const void *desc,
                   struct xl__params *out);
    /* Fill in the plan. XL_UNSUPPORTED: these params do not fit here. */
    xl_status (*plan)(const struct xl__limits *, const void *desc,
                      const struct xl__params *, struct xl__plan *);
};

/* A small case like the caller's, for the self-check: its data on the host and
 * how to judge the result. */
struct xl__trial;

struct xl__op {
    enum xl__op_id id;
    const char *name;   /* "gemm" */
    size_t canonical_bytes;
    /* Is the descriptor right? Shapes and scalars always; memory extents and
     * overlaps only when `with_memory`. */
    xl_status (*check)(xl_queue *q, const void *desc, bool with_memory);
    /* Split: what the plan depends on goes into `canonical` (memory, offsets
     * and scalars blanked, alignments kept; padding zeroed, so it can be
     * compared by memcmp), what does not into `call`. */
    xl_status (*bind)(xl_queue *q, const void *desc, void *canonical,
                      struct xl__call *call);
    const char *(*forced)(const void *desc); /* variant's name or NULL */
    /* The class of shapes that share a tuned set, as a readable text. */
    void (*shape_class)(const void *canonical, struct xl__str *out);
    xl_mem (*workspace)(const void *desc);
    /* Fill a small odd-sized canonical descriptor that takes the same program
     * as `canonical` with `params`; NULL params allowed for variants without. */
    void (*shrink)(const void *canonical, const struct xl__variant *variant,
                   const struct xl__params *params, void *small);
    /* Host memory for the small case: inputs random by a fixed seed, the
     * result's place filled with a guard pattern; what `small` points to may
     * be changed to the case's own. Then the judgement, in double: true, or
     * false with a phrase. The tuner has a canonical descriptor of full size
     * tried likewise; XL_UNSUPPORTED: this one can only be tried small. */
    xl_status (*trial_init)(void *small, struct xl__trial *t);
    bool (*trial_judge)(const void *small, const struct xl__trial *t,
                        char *why, size_t why_cap);
};

enum { XL__TRIAL_MEMS = XL__MAX_MEMS };

struct xl__trial {
    struct xl__call call;  /* values set; mem is filled in by selfcheck.c */
    void *host[XL__TRIAL_MEMS];   /* NULL: slot unused */
    size_t bytes[XL__TRIAL_MEMS];
    unsigned result;       /* slot of the result */
    size_t every;          /* judge one element in about so many; 0: all */
    void *own;             /* heap memory of the case's: freed with it */
};

/* select.c: one candidate of a device's list for a canonical descriptor. */
struct xl__candidate {
    const struct xl__variant *variant;
    const struct xl__tuned_set *tuned; /* NULL: the model's params */
    char note[160];           /* of a tuned one: stale, or why refused */
    const char *refused;      /* NULL: it can run */
    struct xl__params params;
    struct xl__plan *plan;    /* heap; NULL when refused */
    unsigned rank;            /* place in the vendor's list */
};

/* What is to be selected for. */
struct xl__selecting {
    struct xl_lib *lib;        /* its tuned sets count; NULL: none */
    const struct xl_device *dev;
    const struct xl__op *op;
    const void *canonical;
    const char *forced;        /* NULL, or only that variant may stand */
};

/* Every variant of the vendor's list, planned: first what was tuned for the
 * descriptor's class, then the applicable ones by estimate (ties: list order),
 * the refused last. free each plan and the array: xl__candidates_free(). */
xl_status xl__select(const struct xl__selecting *what,
                     struct xl__candidate **out, unsigned *n,
                     struct xl__error *e);
void xl__candidates_free(struct xl__candidate *c, unsigned n);

/* selfcheck.c: has this ready plan's program agreed with the host once? Runs
 * the small case if nobody knows yet. Sets *trusted; the reason of a failure
 * goes to the log and `why`. */
xl_status xl__selfcheck(xl_queue *q, const struct xl__op *op,
                        const void *canonical,
                        const struct xl__candidate *candidate,
                        const struct xl__cached_plan *ready, bool *trusted,
                        char *why, size_t why_cap);

/* op.c: the one path. */
xl_status xl__op_run(xl_queue *q, const struct xl__op *op, const void *desc,
                     const xl_sync *sync);
xl_status xl__op_prepare(xl_queue *q, const struct xl__op *op,
                         const void *desc);
xl_status xl__op_workspace(xl_queue *q, const struct xl__op *op,
                           const void *desc, size_t *bytes);
xl_status xl__op_explain(xl_queue *q, const struct xl__op *op,
                         const void *desc, xl_choice *out, unsigned cap,
                         unsigned *n);

#endif
