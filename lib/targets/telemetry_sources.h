/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of readings, one a vendor. */
#ifndef XL_VENDOR_TELEMETRY_H
#define XL_VENDOR_TELEMETRY_H

#include "device/telemetry.h"

extern const struct xl__telemetry_source xl__nvidia_telemetry,
    xl__amd_telemetry, xl__intel_telemetry, xl__cpu_telemetry;

#endif
