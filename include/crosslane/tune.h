/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning: which variant, with which tunables, is best for a class of shapes,
 * found by trial on the device and kept in one JSON file per device.
 *
 * A tuned set is a whole one: a variant and all of its tunables, with its
 * evidence. Calls of the op find it by the descriptor's class and try it before
 * any other; what the user tuned stands before the system's sets, those before
 * the ones in the library. It is self-checked like any variant. */
#ifndef CROSSLANE_TUNE_H
#define CROSSLANE_TUNE_H

#include <crosslane/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One way to run an op. */
typedef struct xl_candidate {
    char variant[32];   ///< "gemm_tiled"
    char tunables[160]; ///< "TM=64 TN=64 ...", all of them; "": it has none
    double est_ns;      ///< the model's time; NaN: unknown
} xl_candidate;

typedef enum xl_candidate_end {
    XL_CANDIDATE_RIGHT,   ///< right, and timed
    XL_CANDIDATE_SLOW,    ///< right as far as it went; given up over its limit
    XL_CANDIDATE_WRONG,   ///< disagreed with the host
    XL_CANDIDATE_REFUSED, ///< could not be built, or does not fit
    XL_CANDIDATE_CRASHED, ///< its process died
    XL_CANDIDATE_HUNG,    ///< its process was killed by a watchdog
    XL_N_CANDIDATE_ENDS
} xl_candidate_end;

/** "right", "slow", ...; "?" for no such end. Static. */
XL_API const char *xl_candidate_end_name(xl_candidate_end end);

/** What came of trying a candidate. */
typedef struct xl_candidate_result {
    xl_candidate_end end;
    unsigned runs;
    double median_ns, mad_ns; ///< NaN unless right
    char why[192];            ///< of an end that is not right
} xl_candidate_result;

/** Where a search stands. */
typedef struct xl_tune_progress {
    unsigned n_candidates; ///< that plan() let through
    unsigned n_tried, n_lost;
    double elapsed_s, left_s; ///< left: of the budget or the list
    const xl_candidate *now;  ///< about to be tried; NULL: re-timing
    const xl_candidate *best; ///< NULL: none yet
    double best_ns;
} xl_tune_progress;

/** How to search. Zero in an optional field is its default. */
typedef struct xl_tuning {
    double budget_s;     ///< 0: 300
    /** Runs one candidate as xl_tune_candidate() does, for example in a process
     *  of its own. A failure ends the search, as does XL_CANCELLED and stop();
     *  a candidate that crashes is a result, not a failure. NULL:
     *  xl_tune_candidate() on the queue. */
    xl_status (*run_candidate)(void *arg, const xl_candidate *c,
                               double limit_ns, xl_candidate_result *out);
    void (*progress)(void *arg, const xl_tune_progress *p); ///< or NULL
    bool (*stop)(void *arg); ///< asked between candidates; NULL: never
    void *arg;
    /** Optional: a file to which each result is appended as it comes, a line
     *  each. What it holds already for this class, driver and library is not
     *  tried again; a torn last line is dropped. */
    const char *journal;
} xl_tuning;

enum { XL_TUNED_PAIRS = 64 };

/** What a search found. */
typedef struct xl_tuned {
    char shape_class[128];  ///< what it is the best of
    xl_candidate best, model; ///< found; and what the model would take
    double best_ns, best_mad_ns, model_ns; ///< re-timed, side by side
    double gain;            ///< median of model over best, pair by pair
    double gain_lo, gain_hi; ///< its 95 % interval
    unsigned n_pairs;       ///< times of both, the i-th of them in turn
    double best_run_ns[XL_TUNED_PAIRS], model_run_ns[XL_TUNED_PAIRS];
    unsigned n_space;       ///< points of the tunables
    unsigned n_candidates, n_tried, n_lost, n_resumed;
    bool is_complete;       ///< nothing was left when the budget ended
} xl_tuned;

/**
 * Try one candidate for a call: plan, build, compare the descriptor's own
 * shape's self-check with the host, then time it on data of its own.
 *
 * @param op        "gemm", "conv", "softmax"
 * @param desc      the op's descriptor; its memory may be absent
 * @param limit_ns  give up once it is surely slower; 0: no limit
 * @return XL_OK whatever came of the candidate: out->end says. XL_BAD_ARGUMENT
 *         for an unknown op or variant, or tunables that are not its own
 */
XL_API xl_status xl_tune_candidate(xl_queue *q, const char *op,
                                   const void *desc, const xl_candidate *c,
                                   double limit_ns, xl_candidate_result *out);

/**
 * Search: candidates that plan() lets through, in the order of the model's
 * times, each given up at three times the best so far; what is best is timed
 * again beside the runner-up and the model's choice, and stands if it is
 * faster than that beyond the noise: else the model's choice does. Blocks.
 * Nothing is saved: xl_tuned_save().
 *
 * @return XL_OK also when the budget ended it (is_complete); XL_CANCELLED when
 *         asked to stop before anything was right; XL_UNSUPPORTED: no candidate
 *         is right here
 */
XL_API xl_status xl_tune(xl_queue *q, const char *op, const void *desc,
                         const xl_tuning *how, xl_tuned *out);

/** Put a result into the user's file for this queue's device, or into the file
 *  at @p path: read, merge, write under a lock; the file is whole at any time.
 *  Calls on queues made later use it. XL_IO: the reason is in the detail. */
XL_API xl_status xl_tuned_save(xl_queue *q, const char *op, const void *desc,
                               const xl_tuned *result, const char *path);

/** The user's folder of those files, or NULL: there is none, and a result can
 *  only be saved to a path. Lives with @p lib. */
XL_API const char *xl_tuned_dir(const xl_lib *lib);

/** One entry that concerns a device. Strings live until the callback ends. */
typedef struct xl_tuned_entry {
    const char *op, *shape_class, *variant, *tunables;
    const char *origin;    ///< the file, or "shipped"
    const char *driver, *date;
    double median_ns, mad_ns, gain;
    bool is_stale;         ///< of another driver or other kernels: still
                           ///< used as long as it passes the self-check, and
                           ///< tried early when its class is tuned anew
    bool is_shadowed;      ///< a stronger origin has the class too
} xl_tuned_entry;

XL_API xl_status xl_tuned_list(xl_queue *q,
                               void (*each)(const xl_tuned_entry *, void *),
                               void *arg);

#ifdef __cplusplus
}
#endif
#endif
