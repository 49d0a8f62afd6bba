/* SPDX-License-Identifier: Apache-2.0 */
/* Measurement: the sampler, the probes, the roofline bound and the verdict on a
 * measured row. Calls block; one thread at a time per device. */
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
    unsigned warmup;    ///< runs before the first sample, not counted
    unsigned min_runs, max_runs;
    double max_noise;   ///< stop once MAD / median <= this, e.g. 0.01
    double max_s;       ///< stop after this many seconds anyway; 0: no bound
    unsigned patience;  ///< go on for up to patience x max_s, beyond max_runs
                        ///< (without max_s: patience x max_runs), while the
                        ///< interval of the median is too wide to be
                        ///< reported; 0 is 1
    bool cold;          ///< empty the caches before each run
    bool (*stop)(void *arg); ///< called between runs; true ends the sampling;
                             ///< NULL: never
    void *stop_arg;
} xl_sampling;

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
    unsigned runs;       ///< samples taken, at most XL_MAX_SAMPLES
    unsigned batch;      ///< runs per sample; sample = total / batch, or the
                         ///< median run where each run is timed separately
    double median_ns, mad_ns, min_ns, p95_ns;
    double lo_ns, hi_ns; ///< 95 % interval of the median
    double overhead_ns;  ///< median of host time minus device time
    double overhead_min_ns; ///< minimum of the same: free of host noise
    bool wall_clock;     ///< timed by the host: the event clock is unreliable
    unsigned warnings;   ///< XL_WARN bits
    xl_conditions conditions; ///< of the device during sampling: telemetry.h
    double ns[XL_MAX_SAMPLES];
} xl_samples;

/**
 * Time one enqueued computation until the median is stable.
 *
 * @param q        made by xl_queue_create(), or wrapped with profiling on;
 *                 without profiling the host's clock is used, with a warning
 * @param enqueue  called once per run; must enqueue the same commands each time
 * @return XL_OK also when noisy (see out->warnings); XL_CANCELLED when stop()
 *         is true before the first sample; or the status of enqueue()
 */
XL_API xl_status xl_samples_take(xl_queue *q, const xl_sampling *how,
                                 xl_status (*enqueue)(xl_queue *q, void *arg),
                                 void *arg, xl_samples *out);

/** Set ns, host_ns, drift, clock and held_by of @p counts from the samples. */
XL_API void xl_counts_set_times(xl_counts *counts, const xl_samples *samples);

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

/** The ceilings of a bound. */
typedef struct xl_roof {
    xl_dtype dtype; ///< of the arithmetic; of a matrix engine, its operands'
    xl_engine engine;
    xl_level level;
    unsigned terms; ///< engine products per product, where operands are
                    ///< split into terms; 0: one
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

/** The same for the peak of the matrix engine with operands of this type
 *  (XL_F32: rounded to 11 bits) and the bandwidth. @p again: measure once more.
 *  @return XL_UNSUPPORTED where kernels cannot use a matrix engine */
XL_API xl_status xl_peaks_measure_matrix(xl_queue *q, xl_dtype dtype,
                                         bool again);

/** Measure the peaks once more, for example after a row exceeded its bound. A
 *  busy machine lowers a measured peak and never raises it, so the higher
 *  result is kept. */
XL_API xl_status xl_peaks_measure_again(xl_queue *q, xl_dtype dtype);

typedef enum xl_verdict {
    XL_ROW_OK,
    XL_ROW_SUSPICIOUS, ///< possible but doubtful: do not report it
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
    bool is_found; ///< a result of the run, not a setting: not compared when
                   ///< rows of two runs are matched
} xl_param;

enum { XL_MAX_PARAMS = 16 };

/** One measurement: a row of a table and of a result file. */
typedef struct xl_row {
    char op[32];      ///< "gemm", "probe_bandwidth"
    char variant[32]; ///< "gemm_tiled"; of a probe: "copy", "stride"
    xl_param shape[XL_MAX_PARAMS]; ///< sizes: m, n, k; rows, cols; bytes
    unsigned n_shape;
    xl_param params[XL_MAX_PARAMS]; ///< other settings: trans, alpha, stride
    unsigned n_params;
    xl_dtype dtype;   ///< XL_N_DTYPES when it has none
    uint64_t seed;
    xl_samples samples;
    double value;     ///< the reported number, in @p unit; NaN: none
    const char *unit; ///< "flop/s", "B/s", "s"
    double flop, bytes; ///< of one run, counted; 0: does not apply
    xl_bound roof;    ///< value NaN: no roof applies
    bool cold;
    xl_verdict verdict;
    char reason[192]; ///< reason of the verdict; of an ok row a note on its
                      ///< value, or ""
    unsigned warnings; ///< XL_WARN bits
    xl_diagnosis diagnosis; ///< what limits it
} xl_row;

/** Start a row: all unknown, verdict ok. */
XL_API void xl_row_init(xl_row *row, const char *op, const char *variant);
XL_API void xl_row_shape(xl_row *row, const char *name, double value);
XL_API void xl_row_param(xl_row *row, const char *name, double value);
XL_API void xl_row_param_text(xl_row *row, const char *name, const char *text);
/** A parameter that the run itself found, such as the best launch size. */
XL_API void xl_row_found(xl_row *row, const char *name, double value);

/**
 * Set the row's verdict from its samples, value, bound and the device's facts:
 * above the bound, clocks that disagree, a median that is too uncertain. A
 * verdict that is already worse is kept. The rules are in
 * lib/measure/verdict.c.
 */
XL_API void xl_row_judge(xl_row *row, const xl_device *dev);

/** How a probe runs. */
typedef struct xl_probing {
    bool quick;    ///< fewer points and repeats: seconds, not minutes
    uint64_t seed;
    bool (*stop)(void *arg); ///< called between points; true ends the probe;
                             ///< NULL: never
    void *stop_arg;
} xl_probing;

/** One probe. */
typedef struct xl_probe_info {
    const char *name; ///< "bandwidth", "coalescing", ...
    const char *what; ///< what it measures, and what can falsify it
    bool in_quick;    ///< part of the quick suite
} xl_probe_info;

/** The @p i-th probe, or NULL past the last. Static. */
XL_API const xl_probe_info *xl_probe_at(unsigned i);

/**
 * Run one probe. Each row is passed to @p each as soon as it is measured, with
 * its verdict. Results of the probe become facts of the device.
 *
 * @return XL_OK; XL_BAD_ARGUMENT for an unknown name; XL_UNSUPPORTED when the
 *         device lacks a feature, with the reason in xl_error_detail(q);
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
