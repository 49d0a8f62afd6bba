/* SPDX-License-Identifier: Apache-2.0 */
/* Readings from the files of the amdgpu kernel driver below a device's PCI
 * address. The hwmon files have the same names under other drivers.
 * Source: the kernel's gpu/amdgpu/thermal and hwmon/sysfs-interface documents;
 * struct gpu_metrics_v1_3 of kgd_pp_interface.h. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/telemetry_files.h"
#include "targets/targets.h"

/* "0: 500Mhz\n1: 2100Mhz *\n": the line with the star, or the highest. */
static double level_frequency(const char *bytes, bool now)
{
    double best = NAN;
    while (*bytes) {
        const size_t len = strcspn(bytes, "\n");
        const char *colon = memchr(bytes, ':', len);
        const bool is_now = memchr(bytes, '*', len) != NULL;
        const double mhz = colon ? strtod(colon + 1, NULL) : NAN;
        if (mhz > 0 && (!now || is_now) && !(mhz <= best))
            best = mhz;
        bytes += len + (bytes[len] == '\n');
    }
    return best;
}

static double level_now(const char *bytes, size_t len)
{
    (void)len;
    return level_frequency(bytes, true);
}

static double level_most(const char *bytes, size_t len)
{
    (void)len;
    return level_frequency(bytes, false);
}

/* The independent throttle status of dGPUs' metrics: 16 bits each of power,
 * current, temperature, the rest. */
static double read_throttles(const char *bytes, size_t len)
{
    enum { FORMAT = 1, CONTENT = 3, AT = 112, GROUP = 16 };
    static const int of_group[] = {XL_THROTTLE_POWER, XL_THROTTLE_CURRENT,
                                   XL_THROTTLE_THERMAL};
    uint64_t status;
    unsigned out = 0;
    if (len < AT + sizeof status || bytes[2] != FORMAT || bytes[3] != CONTENT)
        return NAN;
    memcpy(&status, bytes + AT, sizeof status);
    for (unsigned i = 0; i < sizeof of_group / sizeof *of_group; i++)
        if (status >> i * GROUP & 0xffff)
            out |= 1u << of_group[i];
    /* Without firmware support every bit is set. */
    return status == UINT64_MAX ? NAN : (double)out;
}

#define PERCENT 0.01
#define MILLI 1e-3
#define MICRO 1e-6
#define MEGA 1e6
#define SENSOR(id) .to = XL__TO_SENSOR, .what = XL_SENSOR_##id, .path

/* clang-format off */
static const struct xl__file_row rows[] = {
    {SENSOR(BUSY) = "gpu_busy_percent", .scale = PERCENT},
    {SENSOR(MEMORY_BUSY) = "mem_busy_percent", .scale = PERCENT},
    {SENSOR(MEMORY_USED) = "mem_info_vram_used"},
    {SENSOR(MEMORY_TOTAL) = "mem_info_vram_total"},
    {SENSOR(CLOCK) = "hwmon/hwmon*/freq1_input"},
    {SENSOR(CLOCK) = "pp_dpm_sclk", .scale = MEGA, .parse = level_now},
    {SENSOR(CLOCK_MAX) = "pp_dpm_sclk", .scale = MEGA, .parse = level_most},
    {SENSOR(MEMORY_CLOCK) = "hwmon/hwmon*/freq2_input"},
    {SENSOR(MEMORY_CLOCK) = "pp_dpm_mclk", .scale = MEGA, .parse = level_now},
    {SENSOR(MEMORY_CLOCK_MAX) = "pp_dpm_mclk", .scale = MEGA,
     .parse = level_most},
    /* The edge sensor; without one, the hot spot. */
    {SENSOR(TEMPERATURE) = "hwmon/hwmon*/temp1_input", .scale = MILLI},
    {SENSOR(TEMPERATURE) = "hwmon/hwmon*/temp2_input", .scale = MILLI},
    {SENSOR(MEMORY_TEMPERATURE) = "hwmon/hwmon*/temp3_input", .scale = MILLI},
    {SENSOR(POWER) = "hwmon/hwmon*/power1_average", .scale = MICRO},
    {SENSOR(POWER) = "hwmon/hwmon*/power1_input", .scale = MICRO},
    {SENSOR(POWER_LIMIT) = "hwmon/hwmon*/power1_cap", .scale = MICRO},
    {.to = XL__TO_THROTTLES, .path = "gpu_metrics", .parse = read_throttles},
};
/* clang-format on */

static const struct xl__file_table table = {"/sys/bus/pci/devices/%", rows,
                                            sizeof rows / sizeof *rows};

const struct xl__telemetry_source xl__amd_telemetry = {
    "amdgpu sysfs", &table, xl__files_open, xl__files_read, xl__files_close};
