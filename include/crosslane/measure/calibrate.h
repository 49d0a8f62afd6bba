/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a device profile (crosslane/profile.h). */
#ifndef CROSSLANE_MEASURE_CALIBRATE_H
#define CROSSLANE_MEASURE_CALIBRATE_H

#include <crosslane/profile.h>
#include <crosslane/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Measure the rates by which variants are selected: bandwidth, peaks of the FMA
 * units, cost of a launch. Takes some seconds and blocks;
 * another load on the device lowers the rates. Nothing is saved and no choice
 * changes: xl_profile_save().
 *
 * @param q    one thread at a time per device
 * @param out  the profile; undefined after a failure
 * @return XL_OK; XL_BAD_ARGUMENT (a NULL); XL_UNSUPPORTED: no rate could be
 *         measured; or an OpenCL code. The reason is in xl_error_detail(q)
 */
XL_API xl_status xl_calibrate(xl_queue *q, xl_profile *out);

#ifdef __cplusplus
}
#endif
#endif
