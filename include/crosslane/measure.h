/* SPDX-License-Identifier: Apache-2.0 */
/* Measurement, in libcrosslane-measure: includes all headers of
 * crosslane/measure. An application that only computes does not need it. */
#ifndef CROSSLANE_MEASURE_H
#define CROSSLANE_MEASURE_H

#include <crosslane/measure/calibrate.h>
#include <crosslane/measure/diagnosis.h>
#include <crosslane/measure/kernel_registers.h>
#include <crosslane/measure/probes.h>
#include <crosslane/measure/roofline.h>
#include <crosslane/measure/row.h>
#include <crosslane/measure/workgroup_trace.h>

#endif
