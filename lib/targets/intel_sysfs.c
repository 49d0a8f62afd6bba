/* SPDX-License-Identifier: Apache-2.0 */
/* Readings from the files of the i915 and xe kernel drivers below a device's
 * PCI address. Idleness is derived from the time in the deepest sleep state.
 * Source: the kernel's ABI documents sysfs-driver-intel-i915-hwmon,
 * sysfs-driver-intel-xe-hwmon, and those of their gt folders. */
#include "device/telemetry_files.h"
#include "targets/targets.h"

#define NS_PER_MS 1e6
#define MILLI 1e-3
#define MICRO 1e-6
#define MEGA 1e6
#define SENSOR(id) .to = XL__TO_SENSOR, .what = XL_SENSOR_##id, .path
#define HELD_BY(id) .to = XL__TO_THROTTLE, .what = XL_THROTTLE_##id, .path
#define I915 "drm/card*/gt/gt0/"
#define XE "tile0/gt0/"

/* clang-format off */
static const struct xl__file_row rows[] = {
    {SENSOR(CLOCK) = I915 "rps_act_freq_mhz", .scale = MEGA},
    {SENSOR(CLOCK) = "drm/card*/gt_act_freq_mhz", .scale = MEGA},
    {SENSOR(CLOCK) = XE "freq0/act_freq", .scale = MEGA},
    {SENSOR(CLOCK_MAX) = I915 "rps_RP0_freq_mhz", .scale = MEGA},
    {SENSOR(CLOCK_MAX) = "drm/card*/gt_RP0_freq_mhz", .scale = MEGA},
    {SENSOR(CLOCK_MAX) = XE "freq0/rp0_freq", .scale = MEGA},
    {.to = XL__TO_IDLE_NS, .path = I915 "rc6_residency_ms", .scale = NS_PER_MS},
    {.to = XL__TO_IDLE_NS, .path = XE "gtidle/idle_residency_ms",
     .scale = NS_PER_MS},
    {SENSOR(ENERGY) = "hwmon/hwmon*/energy1_input", .scale = MICRO},
    {SENSOR(POWER_LIMIT) = "hwmon/hwmon*/power1_max", .scale = MICRO},
    {SENSOR(TEMPERATURE) = "hwmon/hwmon*/temp2_input", .scale = MILLI},
    {SENSOR(MEMORY_TEMPERATURE) = "hwmon/hwmon*/temp3_input", .scale = MILLI},
    {HELD_BY(POWER) = I915 "throttle_reason_pl1"},
    {HELD_BY(POWER) = I915 "throttle_reason_pl2"},
    {HELD_BY(CURRENT) = I915 "throttle_reason_pl4"},
    {HELD_BY(CURRENT) = I915 "throttle_reason_vr_tdc"},
    {HELD_BY(THERMAL) = I915 "throttle_reason_thermal"},
    {HELD_BY(THERMAL) = I915 "throttle_reason_vr_thermalert"},
    {HELD_BY(HARDWARE) = I915 "throttle_reason_prochot"},
    {HELD_BY(POWER) = XE "freq0/throttle/reason_pl1"},
    {HELD_BY(POWER) = XE "freq0/throttle/reason_pl2"},
    {HELD_BY(CURRENT) = XE "freq0/throttle/reason_pl4"},
    {HELD_BY(CURRENT) = XE "freq0/throttle/reason_vr_tdc"},
    {HELD_BY(THERMAL) = XE "freq0/throttle/reason_thermal"},
    {HELD_BY(THERMAL) = XE "freq0/throttle/reason_vr_thermalert"},
    {HELD_BY(HARDWARE) = XE "freq0/throttle/reason_prochot"},
};
/* clang-format on */

static const struct xl__file_table table = {"/sys/bus/pci/devices/%", rows,
                                            sizeof rows / sizeof *rows};

const struct xl__telemetry_source xl__intel_telemetry = {
    "i915 or xe sysfs", &table, xl__files_open, xl__files_read,
    xl__files_close};
