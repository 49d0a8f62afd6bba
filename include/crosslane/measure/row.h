/* SPDX-License-Identifier: Apache-2.0 */
/* A row: one measurement with its bound, verdict and diagnosis. */
#ifndef CROSSLANE_MEASURE_ROW_H
#define CROSSLANE_MEASURE_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include <crosslane/measure/roofline.h>
#include <crosslane/sampling.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    double value; ///< when text is ""
    char text[40];
    bool is_found; ///< a result of the run, not a setting: not compared when
                   ///< rows of two runs are matched
} xl_param;

enum { XL_MAX_PARAMS = 16 };

/** What the largest launch of a run takes of the device; NaN: not known. */
typedef struct xl_launch_use {
    double groups, wg_size; ///< work-groups, and the items of each
    double groups_per_unit; ///< work-groups over compute units
    double local_bytes;     ///< local memory of a work-group
    double private_bytes;   ///< private memory of an item, by the driver:
                            ///< what found no register, spills
    double registers, spill_bytes; ///< as in xl_choice
} xl_launch_use;

/** One measurement: a row of a table and of a result file. */
typedef struct xl_row {
    char op[32];      ///< "gemm", "probe_bandwidth"
    char variant[32]; ///< "gemm_tiled"; of a probe: "copy", "stride"
    xl_param shape[XL_MAX_PARAMS]; ///< sizes: m, n, k; rows, cols; bytes
    unsigned n_shape;
    xl_param params[XL_MAX_PARAMS]; ///< other settings: trans, alpha, stride
    unsigned n_params;
    xl_dtype dtype; ///< XL_N_DTYPES when it has none
    uint64_t seed;
    xl_samples samples;
    double value;       ///< the reported number, in @p unit; NaN: none
    const char *unit;   ///< "flop/s", "B/s", "s"
    double flop, bytes; ///< of one run, counted; 0: does not apply
    xl_bound roof;      ///< value NaN: no roof applies
    bool cold;
    xl_verdict verdict;
    char reason[512];  ///< reason of the verdict; of an ok row a note on its
                       ///< value, or ""; a longer one ends with "..."
    unsigned warnings; ///< XL_WARN bits
    xl_launch_use launch;
    xl_diagnosis diagnosis; ///< what limits it
} xl_row;

/** Start a row: all unknown, verdict ok. Here and below, a name or a text that
 *  does not fit ends with "...". One shape or parameter more than
 *  XL_MAX_PARAMS makes the row an error, since it is not kept. */
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

/** Set ns, host_ns, drift, clock and held_by of @p counts from the samples. */
XL_API void xl_counts_set_times(xl_counts *counts, const xl_samples *samples);

#ifdef __cplusplus
}
#endif
#endif
