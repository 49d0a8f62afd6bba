/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring: the sampler, the probes, the roofline and the verdict. Calls here
 * block, and are made by one thread at a time per device. */
#ifndef CROSSLANE_MEASURE_H
#define CROSSLANE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include <crosslane/diagnosis.h>
#include <crosslane/queue.h>
#include <crosslane/telemetry.h>

#ifdef __cplusplus
extern "C" {
#endif

/** When to stop sampling; min_runs, max_runs and max_noise must be set. */
typedef struct xl_sampling {
    unsigned warmup;    ///< runs thrown away first
    unsigned min_runs, max_runs;
    double max_noise;   ///< stop once MAD / median <= this, e.g. 0.01
    double max_s;       ///< stop after this many seconds anyway; 0: no bound
    unsigned patience;  ///< so many times max_s, whatever max_runs (without
                        ///< max_s: so many times max_runs) while the median
                        ///< is not known well enough to be quoted; 0 is 1
    bool cold;          ///< empty the caches before each run
    bool (*stop)(void *arg); ///< asked between runs; NULL: never
    void *stop_arg;
} xl_sampling;

/* Warnings of a row; the texts and advice are clbench's. */
/* clang-format off */
#define XL_WARN_MAP(XX)                                                       \
    XX(NOISY,        "noisy")         /* MAD stayed above max_noise */        \
    XX(TOO_SHORT,    "too-short")     /* a batch stayed under 1 ms */         \
    XX(WALL_CLOCK,   "wall-clock")    /* the event clock was not believed */  \
    XX(CLOCK_DRIFT,  "clock-drift")   /* later runs slower than earlier */    \
    XX(FEW_RUNS,     "few-runs")      /* stopped early by time or request */  \
    XX(OUTLIERS,     "outliers")      /* over 10 % of samples are outliers */ \
    XX(POWER_LIMIT,  "power-limit")   /* the power limit held the clock */    \
    XX(SHARED,       "shared")        /* others took over 10 % of the device */
/* clang-format on */
enum {
#define XL_WARN_BIT_(name, text) XL_WARN_BIT_##name,
    XL_WARN_MAP(XL_WARN_BIT_) XL_N_WARN
#undef XL_WARN_BIT_
};
#define XL_WARN(name) (1u << XL_WARN_BIT_##name)

enum { XL_MAX_SAMPLES = 1024 };

/** What was seen. Times are of one run, in nanoseconds. */
typedef struct xl_samples {
    unsigned runs;       ///< samples taken, at most XL_MAX_SAMPLES
    unsigned batch;      ///< runs in one sample; sample = total / batch, or
                         ///< the middle run where each is timed by itself
    double median_ns, mad_ns, min_ns, p95_ns;
    double lo_ns, hi_ns; ///< 95 % interval of the median
    double overhead_ns;  ///< median of host time minus device time
    double overhead_min_ns; ///< the least: what no busy host explains
    bool wall_clock;     ///< the event clock was not to be believed
    unsigned warnings;   ///< XL_WARN bits
    xl_conditions conditions; ///< of the device meanwhile: telemetry.h
    double ns[XL_MAX_SAMPLES];
} xl_samples;

/**
 * Time one piece of enqueued work until it is steady.
 *
 * @param q        made by xl_queue_create(), or wrapped with profiling on;
 *                 without it the wall clock is used and said
 * @param enqueue  called once a run; must enqueue the same work each time
 * @return XL_OK even when noisy (see out->warnings); XL_CANCELLED when asked
 *         to stop before the first sample; or enqueue's failure
 */
XL_API xl_status xl_samples_take(xl_queue *q, const xl_sampling *how,
                                 xl_status (*enqueue)(xl_queue *q, void *arg),
                                 void *arg, xl_samples *out);

/** What the samples say of a run's time: ns, host_ns and drift of @p work. */
XL_API void xl_counts_set_times(xl_counts *work, const xl_samples *samples);

/** A piece of work to be timed. */
typedef struct xl_piece {
    xl_status (*enqueue)(xl_queue *q, void *arg); ///< as xl_samples_take()
    void *arg;
} xl_piece;

/**
 * Time @p n pieces side by side: a sample of each in turn, until all are
 * steady, so that whatever changes on the machine meets all of them alike.
 * The i-th samples of all belong together. max_s is per piece.
 *
 * @param out  @p n of them
 * @return as xl_samples_take()
 */
XL_API xl_status xl_samples_take_interleaved(xl_queue *q,
                                             const xl_sampling *how,
                                             const xl_piece *pieces,
                                             unsigned n, xl_samples *out);

/** The ceilings a bound is taken from. */
typedef struct xl_roof {
    xl_dtype dtype; ///< of the arithmetic; of a matrix engine, its operands'
    xl_engine engine;
    xl_level level;
    unsigned terms; ///< products of the engine that make one; 0: one
} xl_roof;

/** A bound: a rate, and the ceiling that sets it. */
typedef struct xl_bound {
    double value;     ///< in @p unit; NaN when a ceiling is unknown
    const char *unit; ///< "flop/s" or "B/s"
    const char *name; ///< "fma f32", "copy": the lower ceiling
    xl_source source;
} xl_bound;

/**
 * Bound the rate of an op on a device by the roofline model:
 * min(peak flop/s, flop / bytes * bandwidth). flop 0 gives the bandwidth.
 *
 * @param flop, bytes  of the op, from its Cost line
 * @return XL_OK, or XL_UNSUPPORTED if a peak is unknown: xl_peaks_measure()
 * Source: Williams, Waterman, Patterson, CACM 52(4), 2009.
 */
XL_API xl_status xl_roofline_bound(const xl_device *dev, const xl_roof *roof,
                                   double flop, double bytes, xl_bound *out);

/** Measure, once per device and process, the peaks that xl_roofline_bound()
 *  needs for this dtype; they become facts of the device. About a second. */
XL_API xl_status xl_peaks_measure(xl_queue *q, xl_dtype dtype);

/** Likewise the peak of the matrix engine for products of this type (XL_F32:
 *  rounded to 11 bits) and the bandwidth; @p again: once more.
 *  @return XL_UNSUPPORTED without a matrix engine that can be reached */
XL_API xl_status xl_peaks_measure_matrix(xl_queue *q, xl_dtype dtype,
                                         bool again);

/** Measure them once more, as when a row comes out above its roof: on a busy
 *  machine a peak comes out too low, never too high, so the higher answer
 *  stays. */
XL_API xl_status xl_peaks_measure_again(xl_queue *q, xl_dtype dtype);

typedef enum xl_verdict {
    XL_ROW_OK,
    XL_ROW_SUSPICIOUS, ///< cannot be ruled out, should not be quoted
    XL_ROW_REJECTED,   ///< impossible, or the result was wrong
    XL_ROW_UNSUPPORTED,
    XL_ROW_ERROR
} xl_verdict;

/** "ok", "suspicious", "rejected", "unsupported", "error". Static. */
XL_API const char *xl_verdict_name(xl_verdict verdict);

/** A named setting of a row: m = 1024, trans = "nn". */
typedef struct xl_param {
    char name[16];
    double value;  ///< when text is ""
    char text[40];
    bool is_found; ///< came out of the run, was not asked for: no part of
                   ///< what makes two rows the same row
} xl_param;

enum { XL_MAX_PARAMS = 16 };

/** One measured number: what a table's line or a file's row is made of. */
typedef struct xl_row {
    char op[32];      ///< "gemm", "probe_bandwidth"
    char variant[32]; ///< "gemm_tiled"; of a probe: "copy", "stride"
    xl_param shape[XL_MAX_PARAMS]; ///< sizes: m, n, k; rows, cols; bytes
    unsigned n_shape;
    xl_param params[XL_MAX_PARAMS]; ///< the rest: trans, alpha, stride
    unsigned n_params;
    xl_dtype dtype;   ///< XL_N_DTYPES when it has none
    uint64_t seed;
    xl_samples samples;
    double value;     ///< the figure quoted, in @p unit; NaN: none
    const char *unit; ///< "flop/s", "B/s", "s"
    double flop, bytes; ///< of one run, counted; 0: does not apply
    xl_bound roof;    ///< value NaN: no roof applies
    bool cold;
    xl_verdict verdict;
    char reason[192]; ///< why not ok; of an ok row what its value is; or ""
    unsigned warnings; ///< XL_WARN bits
    xl_diagnosis diagnosis; ///< what limits it
} xl_row;

/** Start a row: all unknown, verdict ok. */
XL_API void xl_row_init(xl_row *row, const char *op, const char *variant);
XL_API void xl_row_shape(xl_row *row, const char *name, double value);
XL_API void xl_row_param(xl_row *row, const char *name, double value);
XL_API void xl_row_param_text(xl_row *row, const char *name, const char *text);
/** A setting that the run itself found: the launch shape that won. */
XL_API void xl_row_found(xl_row *row, const char *name, double value);

/**
 * Give the row its verdict from its samples, value and roof and from what is
 * known of the device: above the bound, clocks that disagree, a median that is
 * not known. A verdict that is already worse stays. lib/measure/verdict.c has
 * the rules.
 */
XL_API void xl_row_judge(xl_row *row, const xl_device *dev);

/** How a probe runs. */
typedef struct xl_probing {
    bool quick;    ///< fewer points and repeats: seconds, not minutes
    uint64_t seed;
    bool (*stop)(void *arg); ///< asked between points; NULL: never
    void *stop_arg;
} xl_probing;

/** One probe. */
typedef struct xl_probe_info {
    const char *name; ///< "bandwidth", "coalescing", ...
    const char *what; ///< what it measures, and how it can be fooled
    bool in_quick;    ///< part of the quick suite
} xl_probe_info;

/** The @p i-th probe, or NULL past the last. Static. */
XL_API const xl_probe_info *xl_probe_at(unsigned i);

/**
 * Run one probe; each row is given to @p each as soon as it is known, judged.
 * What it learned becomes facts of the device.
 *
 * @return XL_OK; XL_BAD_ARGUMENT for an unknown name; XL_UNSUPPORTED when the
 *         device lacks what it needs, with the reason in xl_error_detail(q);
 *         XL_CANCELLED; or an OpenCL code
 */
XL_API xl_status xl_probe_run(xl_queue *q, const char *name,
                              const xl_probing *how,
                              void (*each)(const xl_row *row, void *arg),
                              void *arg);

#ifdef __cplusplus
}
#endif
#endif
