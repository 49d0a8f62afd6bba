/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline: the bound of a computation by the measured peaks of a device.
 * Calls that measure block; one thread at a time per device. */
#ifndef CROSSLANE_MEASURE_ROOFLINE_H
#define CROSSLANE_MEASURE_ROOFLINE_H

#include <crosslane/measure/diagnosis.h>
#include <crosslane/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

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
 *  needs for this dtype; xl_device_fact() then returns them. */
XL_API xl_status xl_peaks_measure(xl_queue *q, xl_dtype dtype);

/** The same for the peak of the matrix engine with operands of this type
 *  (XL_F32: rounded to 11 bits) and the bandwidth. @p again: measure
 *  once more.
 *  @return XL_UNSUPPORTED where kernels cannot use a matrix engine */
XL_API xl_status xl_peaks_measure_matrix(xl_queue *q, xl_dtype dtype,
                                         bool again);

/** Measure the peaks once more, for example after a row exceeded its bound. A
 *  busy machine lowers a measured peak and never raises it, so the higher
 *  result is kept. */
XL_API xl_status xl_peaks_measure_again(xl_queue *q, xl_dtype dtype);

/** Measure the peak that set a bound again, in short bursts, until its rate
 *  exceeds @p wanted (NaN: none is enough) or max_s seconds are over. Where a
 *  burst is not possible, as for memory, the probe runs again. The higher
 *  result is kept.
 *  @return XL_OK, also when nothing rose; XL_BAD_ARGUMENT; or an OpenCL code */
XL_API xl_status xl_roof_measure(xl_queue *q, const xl_bound *bound,
                                 double wanted, double max_s);

/** The bound of the arithmetic by units, lanes and the stated clock, whatever
 *  was measured. The source is the least certain of the three.
 *  @return XL_OK, or XL_UNSUPPORTED if one of them is unknown */
XL_API xl_status xl_roofline_theoretical(const xl_device *dev,
                                         const xl_roof *roof, xl_bound *out);

/* -- kept roofs ------------------------------------------------------------
 * The best peaks that runs on a device have seen, by device, driver and clock
 * state, in the program cache (crosslane/cache.h). The library selects
 * variants without them. */

typedef struct xl_kept_roof {
    char device[128]; ///< its name
    char fact[32];    ///< "peak_f32_flop_per_s"
    double value;     ///< in the fact's unit
    char date[24];    ///< "2026-11-21T23:03:23Z"
    char conditions[96]; ///< as xl_roofs_save() got them
} xl_kept_roof;

/** Raise the measured peaks of the queue's device to those that are kept.
 *  @return XL_OK; XL_UNSUPPORTED: none are kept; XL_BAD_ARGUMENT,
 *          XL_NO_MEMORY */
XL_API xl_status xl_roofs_load(xl_queue *q);
/** Keep the measured peaks that are higher than the kept ones.
 *  @param conditions  one line: the state of the machine */
XL_API xl_status xl_roofs_save(xl_queue *q, const char *conditions);
/** Those of all devices. @return as xl_cache_list() */
XL_API xl_status xl_roofs_list(xl_lib *lib,
                               void (*each)(const xl_kept_roof *roof,
                                            void *arg),
                               void *arg);
/** @param n_removed  devices; NULL allowed */
XL_API xl_status xl_roofs_remove(xl_lib *lib, uint64_t *n_removed);

#ifdef __cplusplus
}
#endif
#endif
