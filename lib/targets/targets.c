/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor tables in the order in which they are matched, and the sources of
 * readings. A table matches the platform before the device's ids: a layered
 * runtime passes the vendor id of the chip through but is not the vendor's
 * driver (GE-01). */
#include "targets/targets.h"

static const struct xl__vendor *const vendors[] = {
    &xl__vendor_nvidia,
    &xl__vendor_amd,
    &xl__vendor_intel,
    &xl__vendor_narrow_cpu,
    &xl__vendor_cpu,
    &xl__vendor_generic, /* matches every device */
    NULL,
};

/* A later source fills in only what the earlier ones left unknown. */
static const struct xl__telemetry_source *const telemetry[] = {
    &xl__nvidia_telemetry,
    &xl__amd_telemetry,
    &xl__intel_telemetry,
    &xl__cpu_telemetry,
    NULL,
};

const struct xl__targets xl__targets = {vendors, telemetry};
