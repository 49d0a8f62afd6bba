/* SPDX-License-Identifier: Apache-2.0 */
/* Everybody who tells of devices while they work, in the order they are asked:
 * what one has told, the next need not. */
#include "targets/telemetry_sources.h"

const struct xl__telemetry_source *const xl__telemetry_sources[] = {
    &xl__nvidia_telemetry,
    &xl__amd_telemetry,
    &xl__intel_telemetry,
    &xl__cpu_telemetry,
    NULL,
};
