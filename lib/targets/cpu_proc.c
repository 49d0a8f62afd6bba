/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of the host CPU from Linux. Its energy counter is readable by root
 * only on most systems; virtual machines have no sensors. Source: proc(5); the
 * kernel's documents of cpufreq, hwmon, powercap. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/telemetry_files.h"
#include "targets/targets.h"

#define NS_PER_TICK 1e7 /* USER_HZ is 100 wherever Linux runs */
#define NS_PER_MS 1e6
#define KILO 1e3
#define MEGA 1e6
#define MILLI 1e-3
#define MICRO 1e-6
#define KIB 1024.0
#define SENSOR(id) .to = XL__TO_SENSOR, .what = XL_SENSOR_##id, .path

/* /proc/stat, first line: "cpu user nice system idle iowait ...". */
static double idle_ticks(const char *bytes, size_t len)
{
    enum { IDLE = 3, IOWAIT = 4 };
    const char *at = bytes + strcspn(bytes, " ");
    double sum = 0;
    (void)len;
    for (unsigned i = 0; i <= IOWAIT; i++) {
        char *end;
        const double ticks = strtod(at, &end);
        if (end == at)
            return NAN;
        sum += i >= IDLE ? ticks : 0;
        at = end;
    }
    return sum;
}

/* Its lines "cpu0 ...": the cores that are on. */
static double count_cores(const char *bytes, size_t len)
{
    static const char begin[] = "\ncpu";
    unsigned n = 0;
    (void)len;
    while ((bytes = strstr(bytes, begin)) != NULL) {
        bytes += sizeof begin - 1;
        n++;
    }
    return n;
}

/* /proc/self/stat: user and system time, the 12th and 13th field after the
 * program's name in brackets, which may contain blanks and brackets. */
static double own_ticks(const char *bytes, size_t len)
{
    enum { STATE_TO_USER = 11 };
    const char *at = strrchr(bytes, ')');
    char *end;
    (void)len;
    for (unsigned i = 0; at && i <= STATE_TO_USER; i++)
        at = strchr(at + 1, ' ');
    if (!at)
        return NAN;
    const double user = strtod(at, &end);
    return user + strtod(end, NULL);
}

/* The number after a name at the beginning of a line. */
static double read_field(const char *bytes, const char *name)
{
    const char *at = strstr(bytes, name);
    at = at ? strchr(at, ':') : NULL;
    return at ? strtod(at + 1, NULL) : NAN;
}

static double memory_total(const char *bytes, size_t len)
{
    (void)len;
    return read_field(bytes, "MemTotal");
}

/* Memory that is available to programs is not in use, though caches hold it.
 */
static double memory_used(const char *bytes, size_t len)
{
    (void)len;
    return read_field(bytes, "MemTotal") - read_field(bytes, "MemAvailable");
}

static double fastest_core(const char *bytes, size_t len)
{
    static const char name[] = "\ncpu MHz";
    double most = NAN;
    (void)len;
    for (; (bytes = strstr(bytes, name)) != NULL; bytes++)
        most = fmax(most, read_field(bytes, name));
    return most;
}

#define CPUFREQ "/sys/devices/system/cpu/cpu*/cpufreq/"
#define THROTTLE "/sys/devices/system/cpu/cpu*/thermal_throttle/"
#define RAPL "/sys/class/powercap/intel-rapl:*/"
#define CHIP "/sys/class/hwmon/hwmon*/temp1_input"
#define HOT .to = XL__TO_THROTTLE_NS, .what = XL_THROTTLE_THERMAL, .path

/* clang-format off */
static const struct xl__file_row rows[] = {
    {.to = XL__TO_IDLE_NS, .path = "/proc/stat", .scale = NS_PER_TICK,
     .parse = idle_ticks},
    {.to = XL__TO_UNITS, .path = "/proc/stat", .parse = count_cores},
    {.to = XL__TO_OWN_NS, .path = "/proc/self/stat", .scale = NS_PER_TICK,
     .parse = own_ticks},
    {SENSOR(MEMORY_USED) = "/proc/meminfo", .scale = KIB, .parse = memory_used},
    {SENSOR(MEMORY_TOTAL) = "/proc/meminfo", .scale = KIB,
     .parse = memory_total},
    {SENSOR(CLOCK) = CPUFREQ "scaling_cur_freq", .scale = KILO,
     .merge = XL__MOST},
    {SENSOR(CLOCK) = "/proc/cpuinfo", .scale = MEGA, .parse = fastest_core},
    {SENSOR(CLOCK_MAX) = CPUFREQ "cpuinfo_max_freq", .scale = KILO,
     .merge = XL__MOST},
    {SENSOR(TEMPERATURE) = CHIP, .scale = MILLI, .merge = XL__MOST,
     .named = "coretemp"},
    {SENSOR(TEMPERATURE) = CHIP, .scale = MILLI, .merge = XL__MOST,
     .named = "k10temp"},
    {SENSOR(TEMPERATURE) = CHIP, .scale = MILLI, .merge = XL__MOST,
     .named = "cpu"},
    {SENSOR(ENERGY) = RAPL "energy_uj", .scale = MICRO, .merge = XL__SUM,
     .named = "package"},
    {SENSOR(POWER_LIMIT) = RAPL "constraint_0_power_limit_uw", .scale = MICRO,
     .merge = XL__SUM, .named = "package"},
    {HOT = THROTTLE "core_throttle_total_time_ms", .scale = NS_PER_MS,
     .merge = XL__MOST},
    {HOT = THROTTLE "package_throttle_total_time_ms", .scale = NS_PER_MS,
     .merge = XL__MOST},
};
/* clang-format on */

static const struct xl__file_table table = {"", rows,
                                            sizeof rows / sizeof *rows};

const struct xl__telemetry_source xl__cpu_telemetry = {
    "Linux", &table, xl__files_open, xl__files_read, xl__files_close};
