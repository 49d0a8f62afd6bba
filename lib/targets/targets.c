/* SPDX-License-Identifier: Apache-2.0 */
/* The tables in the order they are asked. The platform decides before the
 * device's ids do: a layered runtime passes the chip's vendor id through but
 * is not the vendor's own driver (GE-01). */
#include "targets/targets.h"


static const struct xl__vendor *const vendors[] = {
    &xl__vendor_nvidia,
    &xl__vendor_amd,
    &xl__vendor_intel,
    &xl__vendor_cpu,
    &xl__vendor_generic, /* takes anything */
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
