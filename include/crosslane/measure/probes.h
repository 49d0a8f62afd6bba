/* SPDX-License-Identifier: Apache-2.0 */
/* Probes: each measures one property of a device and reports rows. Calls
 * block; one thread at a time per device. */
#ifndef CROSSLANE_MEASURE_PROBES_H
#define CROSSLANE_MEASURE_PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include <crosslane/measure/row.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a probe runs. */
typedef struct xl_probing {
    bool quick; ///< fewer points and repeats: seconds, not minutes
    uint64_t seed;
    bool (*stop)(void *arg); ///< called between points; true ends the probe;
                             ///< NULL: never
    void *stop_arg;
    unsigned runs; ///< samples of a point; 0: the probe's choice
    const unsigned *warmup; ///< runs before them; NULL: the probe's choice
    double min_s; ///< least seconds of a point, as in xl_sampling; 0: none
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
 * its verdict. Results of the probe are then what xl_device_fact() returns;
 * the library selects variants and tiles without them.
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
