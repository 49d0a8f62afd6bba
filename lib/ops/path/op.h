/* SPDX-License-Identifier: Apache-2.0 */
/* Ops and variants. A variant is one way to compute an op. It plans and does
 * not run: all of it is pure C over limits and a descriptor, so it is tested
 * without a device. One mechanism, op.c, checks, selects, self-checks and
 * launches every op:
 *
 *   descriptor -> check -> bind -> cached plan? -- yes --> set arguments,
 *                                       | no                       enqueue
 *              selection of its class of shapes, by a representative
 *                                       |
 *              in doubt: audition of its best candidates, once a class
 *                                       |
 *              plan of the first one -> build -> self-check -> cache */
#ifndef XL_OPS_OP_H
#define XL_OPS_OP_H

#include <crosslane/explain.h>

#include "base/sized.h"
#include "device/vendor_table.h"
#include "ops/path/selfcheck.h"
#include "ops/path/size_buckets.h"
#include "runtime/background/background.h"

enum {
    XL__MAX_TUNABLES = 16,
    XL__NAME_CAP = 32,
    XL__WHY_CAP = 512,
    XL__KEY_ROOM = 1024 /* of a key that needs no memory of its own */
};

struct xl__tunable {
    const char *name; /* the -D's name: "TM" */
    const char *help;
    int legal[20]; /* ends with 0 */
};

/* A whole set; never merged field by field. */
struct xl__params {
    int value[XL__MAX_TUNABLES];
    const char *source; /* "model"; "tuned: " and the file, alive as long as
                           the library */
};

/* The variant of another op whose plans a variant takes. The call slots of both
 * ops are the same. The self-check is that of the other op, whose programs
 * these are, and its tuned sets apply. */
struct xl__inner {
    const struct xl__op *op;
    const struct xl__variant *variant;
    /* Sets `to`, which is zero, to the canonical descriptor of that op; else
     * the reason why there is none, a static text. */
    const char *(*map)(const void *canonical, void *to);
};

/* One way to compute an op. Immutable. */
struct xl__variant {
    const char *name;    /* "gemm_tiled": log, tuned sets, --variant */
    const char *repeats; /* one sentence: are results equal bit for bit? */
    const struct xl__tunable *tunables; /* ends with a NULL name; or NULL */
    bool is_clblast; /* it needs xl_options.use_clblast, or to be named */
    xl_flop on;      /* the units that execute it; no count */
    /* NULL: applicable; else the reason, a static text. `desc` is the
     * canonical descriptor of the op in all three functions. */
    const char *(*refuses)(const struct xl__limits *, const void *desc);
    /* The model's choice of tunables; NULL when there are none. */
    void (*choose)(const struct xl__limits *, const void *desc,
                   struct xl__params *out);
    /* Fill in the plan. XL_UNSUPPORTED: these params do not fit here. */
    xl_status (*plan)(const struct xl__limits *, const void *desc,
                      const struct xl__params *, struct xl__plan *);
    const struct xl__inner *inner; /* NULL: its plans are its own */
    const void *own; /* what its op knows of it besides; of the op's type */
};

struct xl__op_call; /* below */
struct xl__variant_candidate;

/* Bytes of an op's descriptor, at most. XL__DESCRIPTOR() does not compile
 * where they are exceeded. */
enum { XL__DESC_ROOM = 640 };
/* clang-format off */
#define XL__DESCRIPTOR(type, initialiser)                                     \
    {#type, #initialiser,                                                     \
     sizeof(type) + 0 * sizeof(char[sizeof(type) <= XL__DESC_ROOM ? 1 : -1])}
/* clang-format on */

struct xl__op {
    enum xl__op_id id;
    const char *name; /* "gemm" */
    struct xl__sized descriptor; /* XL__DESCRIPTOR() of the public one */
    /* The caller's descriptor with all members of this library, made in `full`
     * where they are not in it; NULL: an error. Without this function the
     * public one is all of it. */
    const void *(*read)(const void *given, void *full, struct xl__error *e);
    size_t canonical_bytes; /* of the canonical descriptor */
    /* More of them, of what this descriptor lists; NULL: none. */
    size_t (*listed_bytes)(const void *desc);
    /* Checks the descriptor: shapes and scalars always, memory extents and
     * overlaps only if `with_memory`. */
    xl_status (*check)(xl_queue *q, const void *desc, bool with_memory);
    /* Splits the descriptor: everything that the plan depends on goes into
     * `canonical` (without memory, offsets and scalars, with alignments;
     * padding is zero, so that memcmp() compares it), the rest with the
     * workspace into `call`. */
    xl_status (*bind)(xl_queue *q, const void *desc, void *canonical,
                      struct xl__call *call);
    const char *(*forced)(const void *desc); /* variant's name or NULL */
    /* An op with generated kernels has variants of its own, best first, and
     * its plans may be several. They are planned one after the other until one
     * can be used, for the call's own sizes; the members from `represent` on
     * are then not set. */
    const struct xl__variant *const *variants; /* ends with NULL */
    /* Sets w->own, from which all variants are planned. Once for a call whose
     * plan is not cached. */
    xl_status (*analyse)(struct xl__op_call *w);
    void (*clear_analysis)(void *own);
    /* Sets c->plan. XL_UNSUPPORTED: it does not apply, with the reason in
     * *why. */
    xl_status (*plan)(struct xl__op_call *w, struct xl__variant_candidate *c,
                      struct xl__error *why);
    /* The case of plan number i of a candidate: struct xl__checked. */
    xl_status (*make_case)(const void *canonical,
                           const struct xl__variant_candidate *c, unsigned i,
                           const struct xl__limits *l,
                           struct xl__selfcheck_case *t,
                           struct xl__plan *plan);
    /* The smallest or largest descriptor of a class, whose selection holds for
     * all of it: sizes by xl__size_end(), all else that variants depend on as
     * in `canonical`. */
    void (*represent)(const void *canonical, enum xl__class_end end,
                      void *representative);
    /* The class of shapes that share a tuned set, as a readable text. */
    void (*shape_class)(const void *canonical, struct xl__str *out);
    /* Halve the largest size of a canonical descriptor, dense from then on, for
     * an audition; false: there is no smaller case of the kind. NULL: the op
     * has no auditions. */
    bool (*halve)(void *canonical);
    /* Fill a small odd-sized canonical descriptor that takes the same program
     * as `canonical` with `params`; NULL params allowed for variants without.
     */
    void (*shrink)(const void *canonical, const struct xl__variant *variant,
                   const struct xl__params *params, void *small);
    /* Makes the case of `small`, which it may change: random inputs of a fixed
     * seed, guards around the result. Called with a canonical descriptor of
     * full size by the tuner; XL_UNSUPPORTED: there is no case of this size.
     */
    xl_status (*case_init)(void *small, struct xl__selfcheck_case *t);
    size_t range_at; /* offset of the size_t of xl__op_prepare_range() */
    /* Replaces what the public descriptor points to by what `k` keeps. */
    void (*keep)(struct xl__kept *k, void *desc);
};

/* select.c: one candidate of a device's list for a canonical descriptor. */
struct xl__variant_candidate {
    const struct xl__variant *variant;
    const struct xl__tuned_set *tuned; /* NULL: the model's params */
    const struct xl__audition_result *audition; /* that it won; or NULL */
    char note[256]; /* of a tuned set: stale, or the reason of a refusal; else
                       tiles that it had before, and why they were refused */
    const char *refused; /* NULL: it can run */
    bool is_forced;      /* the call names it */
    char *struck; /* why it failed or does not apply in this call, on the heap;
                     NULL: it did not */
    struct xl__params params;
    /* Of a class: the model's params at its least sizes, where they differ.
     * That of the two with the lesser estimate is taken. */
    bool has_least;
    struct xl__params least;
    struct xl__refused_tiles tiles; /* that the model's params had before */
    struct xl__plan *plan; /* xl__plan_destroy(); NULL when refused or not
                              planned yet */
    unsigned rank;         /* index in the vendor's list */
};

/* The input of a selection. */
struct xl__selecting {
    struct xl_lib *lib; /* its tuned sets count; NULL: none */
    const struct xl_device *dev;
    const struct xl__op *op;
    const void *canonical;
    const void *tuned_for; /* whose shape class finds the tuned sets; NULL:
                              that of `canonical` */
    const char *forced;    /* NULL, or the only variant that may be used */
    const struct xl__audition_result *audition; /* of that class; or NULL */
};

/* The variants of an op on a device, ending with NULL. */
const struct xl__variant *const *xl__op_variants(const struct xl__op *op,
                                                 const struct xl_device *dev);
/* Plans every variant of the list, except of an op with a plan() of its own.
 * Order: tuned sets of the descriptor's class, the winner of its audition,
 * then applicable variants by estimate (none, or ties: list order), then
 * refused ones.
 * xl__variant_candidates_free() frees the result. */
xl_status xl__select(const struct xl__selecting *what,
                     struct xl__variant_candidate **out, unsigned *n,
                     struct xl__error *e);
/* Why a variant cannot be used for this descriptor; NULL: it can. */
const char *xl__variant_refusal(const struct xl__selecting *what,
                                const struct xl__variant *v);
void xl__variant_candidates_free(struct xl__variant_candidate *c, unsigned n);
/* Plan a candidate with the params that it has, of two the better ones.
 * XL_UNSUPPORTED, with the reason in c->refused: it does not apply. */
xl_status xl__variant_candidate_plan(const struct xl__limits *l,
                                     const void *canonical,
                                     struct xl__variant_candidate *c,
                                     struct xl__error *e);
/* The model's choice of a variant without these tiles: rows and columns are
 * its first two tunables. XL_UNSUPPORTED: it is one of them. Choices that look
 * for tiles that fit the device need no more for this. */
xl_status xl__variant_choose_other(const struct xl__limits *l,
                                   const void *canonical,
                                   const struct xl__variant *v,
                                   const struct xl__refused_tiles *tiles,
                                   struct xl__params *out);

/* op.c: xl__selfcheck() of the programs of a candidate's plan number i. */
xl_status xl__op_selfcheck(xl_queue *q, const struct xl__op *op,
                           const void *canonical,
                           const struct xl__variant_candidate *candidate,
                           unsigned i, const struct xl__cached_plan *ready,
                           bool *trusted, char *why, size_t why_cap);

/* op.c: the calls of every op. */
xl_status xl__op_run(xl_queue *q, const struct xl__op *op, const void *desc,
                     const xl_sync *sync);
/* The same for a descriptor that needs no check. */
xl_status xl__op_run_checked(xl_queue *q, const struct xl__op *op,
                             const void *desc, const xl_sync *sync);
xl_status xl__op_prepare(xl_queue *q, const struct xl__op *op,
                         const void *desc);
/* For all values of the size_t at op->range_at, from the descriptor's own to
 * `last`. */
xl_status xl__op_prepare_range(xl_queue *q, const struct xl__op *op,
                               const void *desc, size_t last);
/* The same in the background; last 0: the descriptor's own value alone. */
xl_status xl__op_prepare_async(xl_queue *q, const struct xl__op *op,
                               const void *desc, size_t last, xl_prepared done,
                               void *arg);
xl_status xl__op_workspace(xl_queue *q, const struct xl__op *op,
                           const void *desc, size_t *bytes);
xl_status xl__op_explain(xl_queue *q, const struct xl__op *op,
                         const void *desc, xl_choice *out, unsigned cap,
                         unsigned *n);

/* One call of an op, from its descriptor on: shared by op.c, explain.c and the
 * tuner. */

/* The key of a cached plan. The variant's name is copied, so that equal names
 * at different addresses are one key. */
struct xl__op_key {
    char forced[XL__NAME_CAP]; /* "": the best */
    uint32_t op, has_large;    /* a buffer that is large for the device */
    uint64_t canonical[];
};

struct xl__op_call {
    xl_queue *q;
    const struct xl__op *op;
    const void *desc; /* with all members of this library */
    uint64_t full[XL__DESC_ROOM / sizeof(uint64_t)]; /* room for it */
    struct xl__op_key *key; /* in `room`, or on the heap */
    size_t key_bytes;
    struct xl__call call;
    struct xl__variant_candidate *list; /* NULL until selected */
    unsigned n;
    bool is_of_class; /* the list is that of the class of shapes */
    unsigned rival;   /* then the candidate that is first at the least sizes */
    bool is_provisional; /* a candidate failed without a verdict, or the
                            audition has not ended */
    const struct xl__audition_result *audition; /* of the class; or NULL */
    void *own;           /* of an op with generated kernels */
    uint64_t room[XL__KEY_ROOM / sizeof(uint64_t)];
};

/* Of w->key->canonical. */
size_t xl__op_call_canonical_bytes(const struct xl__op_call *w);
/* NULL: the best. */
const char *xl__op_call_forced(const struct xl__op_call *w);
/* Check and bind the caller's descriptor. */
xl_status xl__op_call_begin(struct xl__op_call *w, xl_queue *q,
                            const struct xl__op *op, const void *desc,
                            bool with_memory);
/* The candidates for the call's class of shapes, without plans: class.c. They
 * are selected once for the queues of a context, which keeps the 1024 classes
 * used last. Of an op with variants of its own: all of these, after an
 * analysis. */
xl_status xl__op_call_select(struct xl__op_call *w);
/* audition.c: set w->audition to what is known of the call's class. */
void xl__op_call_recall(struct xl__op_call *w);
/* Hold an audition of the selected candidates if the choice is in doubt, and
 * select again; in the background, start one. One that fails changes nothing.
 */
xl_status xl__op_call_audition(struct xl__op_call *w);
/* The candidates for the call's own sizes, with plans. */
xl_status xl__op_call_select_exact(struct xl__op_call *w);
/* Plan the first candidate of a class's list: the one of the least or of the
 * largest sizes that is better for the call's. XL_UNSUPPORTED: it does not
 * apply. */
xl_status xl__op_call_plan_first(struct xl__op_call *w);
/* class.c: plan a candidate whose tile cannot be built, for the reason `why`,
 * with the next best one, and keep that for its class. XL_UNSUPPORTED: there
 * is none. */
xl_status xl__op_call_retile(const struct xl__op_call *w, const char *why,
                             struct xl__variant_candidate *c);
/* Plan a candidate for the call's sizes. XL_UNSUPPORTED: it does not apply,
 * with the reason in c->refused. */
xl_status xl__op_call_plan(struct xl__op_call *w,
                           struct xl__variant_candidate *c);
/* Plan, build and check the candidates in order; *out is that of the first one
 * without a failure, *chosen its index in the list. Where one of the class
 * does not apply to the call's sizes, the list becomes that of these sizes.
 * The caller destroys *out. */
xl_status xl__op_call_first_good(struct xl__op_call *w,
                                 struct xl__cached_plan **out,
                                 unsigned *chosen);
/* Frees what it has; after begin, whatever its status. */
void xl__op_call_end(struct xl__op_call *w);

#endif
