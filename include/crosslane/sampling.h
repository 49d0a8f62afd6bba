/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler: runs a computation until the median of its times is known.
 * Calls block; one thread at a time per device. */
#ifndef CROSSLANE_SAMPLING_H
#define CROSSLANE_SAMPLING_H

#include <stdbool.h>

#include <crosslane/queue.h>
#include <crosslane/telemetry.h>

#ifdef __cplusplus
extern "C" {
#endif

/** When to stop sampling. min_runs, max_runs and max_noise must be set. */
typedef struct xl_sampling {
    size_t size; ///< XL_SAMPLING_INIT
    unsigned warmup; ///< runs before the first sample, not counted
    unsigned min_runs, max_runs;
    double max_noise;  ///< stop once MAD / median <= this, e.g. 0.01
    double max_s;      ///< stop after this many seconds anyway; 0: no bound
    unsigned patience; ///< go on for up to patience x max_s, beyond max_runs
                       ///< (without max_s: patience x max_runs), while the
                       ///< interval of the median is too wide to be
                       ///< reported; 0 is 1
    bool cold; ///< before each run write a buffer of twice the last-level
               ///< cache (128 MiB where its size is not known; at most the
               ///< largest buffer), and wait; a sample is one run
    bool (*stop)(void *arg); ///< called between runs; true ends the sampling;
                             ///< NULL: never
    void *stop_arg;
    double min_s; ///< go on for at least this many seconds, whatever max_runs
                  ///< and max_s, but for XL_MAX_SAMPLES samples at most; 0:
                  ///< no bound
} xl_sampling;
#define XL_SAMPLING_INIT XL_SIZED(xl_sampling)

/* Warnings of a row. clbench has a sentence and advice for each. */
/* clang-format off */
#define XL_WARN_MAP(XX)                                                       \
    XX(NOISY,        "noisy")         /* MAD stayed above max_noise */        \
    XX(TOO_SHORT,    "too-short")     /* a batch stayed under 1 ms */         \
    XX(WALL_CLOCK,   "wall-clock")    /* the event clock is not reliable */   \
    XX(CLOCK_DRIFT,  "clock-drift")   /* later runs slower than earlier */    \
    XX(FEW_RUNS,     "few-runs")      /* stopped early by time or request */  \
    XX(OUTLIERS,     "outliers")      /* over 10 % of samples are outliers */ \
    XX(POWER_LIMIT,  "power-limit")   /* the power limit held the clock */    \
    XX(SHARED,       "shared")        /* other programs used over 10 % */
/* clang-format on */
enum {
#define XL_WARN_BIT_(name, text) XL_WARN_BIT_##name,
    XL_WARN_MAP(XL_WARN_BIT_) XL_N_WARN
#undef XL_WARN_BIT_
};
#define XL_WARN(name) (1u << XL_WARN_BIT_##name)

enum { XL_MAX_SAMPLES = 1024 };

/** Samples and their statistics. Times are of one run, in nanoseconds. */
typedef struct xl_samples {
    unsigned runs;  ///< samples taken, at most XL_MAX_SAMPLES
    unsigned batch; ///< runs per sample; sample = total / batch, or the
                    ///< median run where each run is timed separately
    unsigned warmup; ///< runs before the first sample, as they were asked for
    double spent_s;  ///< time of all samples, with the emptying of caches
    double median_ns, mad_ns, min_ns, p95_ns;
    double lo_ns, hi_ns;    ///< 95 % interval of the median
    double overhead_ns;     ///< median of host time minus device time
    double overhead_min_ns; ///< minimum of the same: free of host noise
    bool wall_clock;   ///< timed by the host: the event clock is unreliable
    unsigned warnings; ///< XL_WARN bits
    xl_conditions conditions; ///< of the device during sampling: telemetry.h
    double ns[XL_MAX_SAMPLES];
} xl_samples;

/**
 * Time one enqueued computation until the median is stable.
 *
 * @param q        made by xl_queue_create(), or wrapped with profiling on;
 *                 without profiling the host's clock is used, with a warning
 * @param enqueue  called once per run; must enqueue the same commands each
 * time
 * @return XL_OK also when noisy (see out->warnings); XL_CANCELLED when stop()
 *         is true before the first sample; or the status of enqueue()
 */
XL_API xl_status xl_samples_take(xl_queue *q, const xl_sampling *how,
                                 xl_status (*enqueue)(xl_queue *q, void *arg),
                                 void *arg, xl_samples *out);

/** A computation to be timed. */
typedef struct xl_piece {
    xl_status (*enqueue)(xl_queue *q, void *arg); ///< as xl_samples_take()
    void *arg;
} xl_piece;

/**
 * Time @p n computations interleaved: one sample of each, then the next one of
 * each, until all medians are stable. A change of the machine (clock, other
 * programs) then affects all of them equally, and their i-th samples form
 * pairs. max_s is per computation.
 *
 * @param out  @p n of them
 * @return as xl_samples_take()
 */
XL_API xl_status xl_samples_take_interleaved(xl_queue *q,
                                             const xl_sampling *how,
                                             const xl_piece *pieces,
                                             unsigned n, xl_samples *out);

#ifdef __cplusplus
}
#endif
#endif
