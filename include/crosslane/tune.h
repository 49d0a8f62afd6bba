/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning: which variant, with which tunables, is best for a class of shapes,
 * found by measurement on the device and kept in one JSON file per device.
 *
 * A tuned set is complete: a variant and all of its tunables, with its evidence
 * (times, driver, hashes of the kernels). A call of the op looks up the set of
 * the descriptor's shape class and tries it before any other candidate. The
 * user's sets precede the system's, and these precede the library's own. A
 * tuned set is self-checked like any variant. */
#ifndef CROSSLANE_TUNE_H
#define CROSSLANE_TUNE_H

#include <crosslane/attention.h>
#include <crosslane/conv.h>
#include <crosslane/gemm.h>
#include <crosslane/norm.h>
#include <crosslane/qconvert.h>
#include <crosslane/qgemm.h>
#include <crosslane/rotary.h>
#include <crosslane/softmax.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The ops that are tuned. */
typedef enum xl_op_kind {
    XL_OP_GEMM,
    XL_OP_SOFTMAX,
    XL_OP_CONV,
    XL_OP_CONV_DATA,    ///< xl_conv with XL_CONV_BACKWARD_DATA
    XL_OP_CONV_FILTERS, ///< xl_conv with XL_CONV_BACKWARD_FILTERS
    XL_OP_ATTENTION,
    XL_OP_NORM,
    XL_OP_SOFTMAX_BACKWARD,   ///< xl_softmax with is_backward
    XL_OP_NORM_BACKWARD,      ///< xl_norm with is_backward
    XL_OP_ATTENTION_BACKWARD, ///< xl_attention with is_backward
    XL_OP_QGEMM,
    XL_OP_ROTARY,
    XL_OP_QCONVERT,
    XL_N_OPS
} xl_op_kind;

/** A call to tune: one of the ops and its descriptor, whose memory may be
 *  absent. The descriptor is the caller's, and is read during a call only. */
typedef struct xl_problem {
    xl_op_kind op;
    union {
        const xl_gemm *gemm;       ///< XL_OP_GEMM
        const xl_softmax *softmax; ///< XL_OP_SOFTMAX and its gradient
        const xl_conv *conv;       ///< XL_OP_CONV and its backward passes
        const xl_attention *attention; ///< XL_OP_ATTENTION and its gradient
        const xl_norm *norm;       ///< XL_OP_NORM and its gradient
        const xl_qgemm *qgemm;     ///< XL_OP_QGEMM
        const xl_rotary *rotary;   ///< XL_OP_ROTARY
        const xl_qconvert *qconvert; ///< XL_OP_QCONVERT
    } desc;
} xl_problem;

static inline xl_problem xl_problem_gemm(const xl_gemm *g)
{
    xl_problem p;
    p.op = XL_OP_GEMM;
    p.desc.gemm = g;
    return p;
}

static inline xl_problem xl_problem_softmax(const xl_softmax *s)
{
    xl_problem p;
    p.op = s && s->is_backward ? XL_OP_SOFTMAX_BACKWARD : XL_OP_SOFTMAX;
    p.desc.softmax = s;
    return p;
}

static inline xl_problem xl_problem_conv(const xl_conv *c)
{
    xl_problem p;
    p.op = !c || c->pass == XL_CONV_FORWARD   ? XL_OP_CONV
           : c->pass == XL_CONV_BACKWARD_DATA ? XL_OP_CONV_DATA
                                              : XL_OP_CONV_FILTERS;
    p.desc.conv = c;
    return p;
}

static inline xl_problem xl_problem_attention(const xl_attention *a)
{
    xl_problem p;
    p.op = a && a->is_backward ? XL_OP_ATTENTION_BACKWARD : XL_OP_ATTENTION;
    p.desc.attention = a;
    return p;
}

static inline xl_problem xl_problem_norm(const xl_norm *n)
{
    xl_problem p;
    p.op = n && n->is_backward ? XL_OP_NORM_BACKWARD : XL_OP_NORM;
    p.desc.norm = n;
    return p;
}

static inline xl_problem xl_problem_qgemm(const xl_qgemm *g)
{
    xl_problem p;
    p.op = XL_OP_QGEMM;
    p.desc.qgemm = g;
    return p;
}

static inline xl_problem xl_problem_rotary(const xl_rotary *r)
{
    xl_problem p;
    p.op = XL_OP_ROTARY;
    p.desc.rotary = r;
    return p;
}

static inline xl_problem xl_problem_qconvert(const xl_qconvert *c)
{
    xl_problem p;
    p.op = XL_OP_QCONVERT;
    p.desc.qconvert = c;
    return p;
}

/** One way to run an op. */
typedef struct xl_candidate {
    char variant[32];   ///< "gemm_tiled"
    char tunables[160]; ///< "TM=64 TN=64 ...", all of them; "": it has none
    double est_ns;      ///< the model's time; NaN: unknown
} xl_candidate;

typedef enum xl_candidate_end {
    XL_CANDIDATE_RIGHT,   ///< correct, and timed
    XL_CANDIDATE_SLOW,    ///< correct so far; stopped over its time limit
    XL_CANDIDATE_WRONG,   ///< its result differs from the host's
    XL_CANDIDATE_REFUSED, ///< could not be built, or does not fit
    XL_CANDIDATE_CRASHED, ///< its process died
    XL_CANDIDATE_HUNG,    ///< its process was killed by a watchdog
    XL_N_CANDIDATE_ENDS
} xl_candidate_end;

/** "right", "slow", ...; "?" for no such end. Static. */
XL_API const char *xl_candidate_end_name(xl_candidate_end end);

/** Result of one candidate. */
typedef struct xl_candidate_result {
    xl_candidate_end end;
    unsigned runs;
    double median_ns, mad_ns; ///< NaN unless XL_CANDIDATE_RIGHT
    char why[512];            ///< reason of any other end; a longer one ends
                              ///< with "..."
} xl_candidate_result;

/** Progress of a search. */
typedef struct xl_tune_progress {
    unsigned n_candidates; ///< accepted by plan()
    unsigned n_tried, n_lost;
    double elapsed_s, left_s; ///< left: of the budget or the list
    const xl_candidate *now;  ///< tried next; NULL: the best are timed again
    const xl_candidate *best; ///< NULL: none yet
    double best_ns;
} xl_tune_progress;

/** How to search. Zero in an optional field is its default. */
typedef struct xl_tuning {
    size_t size; ///< XL_TUNING_INIT
    double budget_s;     ///< 0: 300
    /** Runs one candidate as xl_tune_candidate() does, for example in a process
     *  of its own. A failure ends the search, as does XL_CANCELLED and stop();
     *  a candidate that crashes is a result, not a failure. NULL:
     *  xl_tune_candidate() on the queue. */
    xl_status (*run_candidate)(void *arg, const xl_candidate *c,
                               double limit_ns, xl_candidate_result *out);
    void (*progress)(void *arg, const xl_tune_progress *p); ///< or NULL
    bool (*stop)(void *arg); ///< called between candidates; true ends the
                             ///< search; NULL: never
    void *arg;
    /** Optional: a file to which each result is appended as one line. Results
     *  that it already contains for this class, driver and library are reused;
     *  an incomplete last line is ignored. */
    const char *journal;
} xl_tuning;
#define XL_TUNING_INIT XL_SIZED(xl_tuning)

enum { XL_TUNED_PAIRS = 64 };

/** Result of a search. */
typedef struct xl_tuned {
    char shape_class[128];  ///< the class that it is for
    xl_candidate best, model; ///< the best found; and the model's choice
    double best_ns, best_mad_ns, model_ns; ///< timed again, interleaved
    double gain;            ///< model's time over best's, median of the pairs
    double gain_lo, gain_hi; ///< its 95 % interval
    unsigned n_pairs;       ///< times of both; the i-th of each form a pair
    double best_run_ns[XL_TUNED_PAIRS], model_run_ns[XL_TUNED_PAIRS];
    unsigned n_space;       ///< points in the space of tunables
    unsigned n_candidates, n_tried, n_lost, n_resumed;
    bool is_complete;       ///< all candidates were tried within the budget
} xl_tuned;

/**
 * Try one candidate for a call: plan, build, compare the result for the
 * descriptor's own shape with the host's, then time it on generated data.
 *
 * @param p         xl_problem_gemm(), ...
 * @param limit_ns  stop once it is certainly slower; 0: no limit
 * @return XL_OK for every end of the candidate, which is in out->end;
 *         XL_BAD_ARGUMENT for an unknown op or variant, a descriptor of NULL,
 *         or tunables that the variant does not have
 */
XL_API xl_status xl_tune_candidate(xl_queue *q, xl_problem p,
                                   const xl_candidate *c, double limit_ns,
                                   xl_candidate_result *out);

/**
 * Search for the best candidate. Candidates accepted by plan() are tried in the
 * order of the model's times; each is stopped at three times the best time so
 * far. The best one is then timed again, interleaved with the runner-up and the
 * model's choice; where it is not faster than the model's choice by more than
 * the noise, the model's choice is the result. Blocks. Nothing is saved: call
 * xl_tuned_save().
 *
 * @return XL_OK also when the budget ended the search (is_complete);
 *         XL_CANCELLED when stopped before any candidate was correct;
 *         XL_UNSUPPORTED when no candidate is correct on this device
 */
XL_API xl_status xl_tune(xl_queue *q, xl_problem p, const xl_tuning *how,
                         xl_tuned *out);

/** Save a result in the user's file for this queue's device, or in the file at
 *  @p path. The file is read, merged and replaced under a lock, so it is
 *  complete at any time. Calls on queues that are created later use the result.
 *  XL_IO: the reason is in the detail. */
XL_API xl_status xl_tuned_save(xl_queue *q, xl_problem p,
                               const xl_tuned *result, const char *path);

/** The user's folder of these files; NULL when there is none and a result can
 *  only be saved to a path. Valid as long as @p lib. */
XL_API const char *xl_tuned_dir(const xl_lib *lib);

/** One entry for a device. The strings are valid during the callback. */
typedef struct xl_tuned_entry {
    const char *op, *shape_class, *variant, *tunables;
    const char *origin;    ///< the file, or "shipped"
    const char *driver, *date;
    double median_ns, mad_ns, gain;
    bool is_stale;         ///< tuned with another driver or other kernels:
                           ///< still used if it passes the self-check, and
                           ///< tried early when its class is tuned again
    bool is_shadowed;      ///< an origin of higher priority has the class too
} xl_tuned_entry;

XL_API xl_status xl_tuned_list(xl_queue *q,
                               void (*each)(const xl_tuned_entry *, void *),
                               void *arg);

#ifdef __cplusplus
}
#endif
#endif
