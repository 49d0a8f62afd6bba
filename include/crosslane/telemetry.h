/* SPDX-License-Identifier: Apache-2.0 */
/* What the system tells of a device while it works: how busy and how warm it
 * is, its clocks, its power, what holds its clock down. Every reading is
 * optional, and says who told it. OpenCL has no such queries: the vendor's
 * management library or the operating system's files are asked, and neither
 * is needed. */
#ifndef CROSSLANE_TELEMETRY_H
#define CROSSLANE_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include <crosslane/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What may be known, in the units of the names. XX(id, name, unit, help) */
/* clang-format off */
#define XL_SENSOR_MAP(XX)                                                      \
 XX(BUSY,          "busy",                 "1",  "share of the time since the last reading in which the device worked") \
 XX(OTHERS,        "others",               "1",  "share of that time which other programs took") \
 XX(MEMORY_BUSY,   "memory_busy",          "1",  "share of the time in which its memory was read or written") \
 XX(MEMORY_USED,   "memory_used_bytes",    "B",  "memory in use, by all programs") \
 XX(MEMORY_TOTAL,  "memory_total_bytes",   "B",  "memory there is") \
 XX(CLOCK,         "clock_hz",             "Hz", "clock of its compute units; of a CPU's fastest core") \
 XX(CLOCK_MAX,     "clock_max_hz",         "Hz", "the highest that clock goes") \
 XX(MEMORY_CLOCK,  "memory_clock_hz",      "Hz", "clock of its memory") \
 XX(MEMORY_CLOCK_MAX, "memory_clock_max_hz", "Hz", "the highest that clock goes") \
 XX(TEMPERATURE,   "temperature_c",        "C",  "temperature of the chip") \
 XX(MEMORY_TEMPERATURE, "memory_temperature_c", "C", "temperature of its memory") \
 XX(POWER,         "power_w",              "W",  "power drawn") \
 XX(POWER_LIMIT,   "power_limit_w",        "W",  "power it is allowed to draw") \
 XX(ENERGY,        "energy_j",             "J",  "energy taken since some time before; it only grows") \
 XX(PROCESSES,     "processes",            "1",  "other programs that have it open")
/* clang-format on */
typedef enum xl_sensor {
#define XL_SENSOR_ENUM_(id, name, unit, help) XL_SENSOR_##id,
    XL_SENSOR_MAP(XL_SENSOR_ENUM_) XL_N_SENSORS
#undef XL_SENSOR_ENUM_
} xl_sensor;

/* What can hold a clock down. An alarm is a device that protects itself: what
 * is measured then is the cooling or the supply. A power limit is how a device
 * is meant to run under full load. XX(id, name, is an alarm) */
/* clang-format off */
#define XL_THROTTLE_MAP(XX)                                                    \
 XX(THERMAL,     "thermal limit",     true)                                    \
 XX(HARDWARE,    "hardware slowdown", true)                                    \
 XX(POWER_BRAKE, "power brake",       true)                                    \
 XX(POWER,       "power limit",       false)                                   \
 XX(CURRENT,     "current limit",     false)                                   \
 XX(SETTING,     "clock setting",     false)                                   \
 XX(SYNC,        "sync boost",        false)                                   \
 XX(IDLE,        "idle",              false)
/* clang-format on */
typedef enum xl_throttle {
#define XL_THROTTLE_ENUM_(id, name, is_alarm) XL_THROTTLE_##id,
    XL_THROTTLE_MAP(XL_THROTTLE_ENUM_) XL_N_THROTTLES
#undef XL_THROTTLE_ENUM_
} xl_throttle;

/** One look at a device. NaN: nobody tells; never 0 for that. */
typedef struct xl_reading {
    uint64_t ns; ///< when, by a clock that only goes forward
    double value[XL_N_SENSORS];
    const char *source[XL_N_SENSORS]; ///< who told it; NULL: nobody. Static
    bool has_throttle;                ///< is what follows known?
    unsigned throttle;                ///< bit 1 << xl_throttle: holds now
    double throttle_ns[XL_N_THROTTLES]; ///< for how long it has; only grows
    const char *throttle_source;
    double idle_ns, own_ns; ///< of all units together, idle and for this
                            ///< program; they only grow: shares are made of
                            ///< two readings
    double units;           ///< cores of a CPU; 1 of a GPU
    const char *idle_source;
} xl_reading;

/** "clock_hz"; with its unit and a line of help when not NULL. Static; NULL
 *  past the last. */
XL_API const char *xl_sensor_name(xl_sensor sensor, const char **unit,
                                  const char **help);
/** "thermal limit". Static; NULL past the last. */
XL_API const char *xl_throttle_name(xl_throttle throttle);
XL_API bool xl_throttle_is_alarm(xl_throttle throttle);

typedef struct xl_telemetry xl_telemetry;

/**
 * Find who can tell of a device, by its PCI address or UUID. Loads the
 * vendor's management library if there is one, which can take a second.
 *
 * @return XL_OK, also when nobody knows anything; XL_BAD_ARGUMENT,
 *         XL_NO_MEMORY
 */
XL_API xl_status xl_telemetry_open(const xl_device *dev, xl_telemetry **out);

/** Look now. Takes from some 10 us to milliseconds: nothing to be done while
 *  something is timed. Shares are of the time since the last look. */
XL_API void xl_telemetry_read(xl_telemetry *t, xl_reading *out);

XL_API void xl_telemetry_close(xl_telemetry *t);

/**
 * From now on xl_samples_take() looks at this device as well: before the first
 * sample, between samples at a low rate, after the last one, never within one.
 * What it saw is in xl_samples.conditions. Off when a device is new.
 */
XL_API void xl_telemetry_watch(xl_device *dev, bool on);

/** The device while samples were taken. NaN: nobody tells. */
typedef struct xl_conditions {
    unsigned readings; ///< 0: nobody looked, and nothing else is set
    double span_ns;    ///< from the first to the last
    double clock_first_hz, clock_lo_hz, clock_hi_hz, clock_max_hz;
    double memory_clock_hz; ///< the lowest
    double temperature_c;   ///< the highest
    double memory_temperature_c;
    double power_w;         ///< mean where energy is counted, else the highest
    double power_limit_w;
    double memory_used_bytes; ///< the most
    double others;          ///< share of the span that other programs took
    double processes;       ///< the most
    bool has_throttle;
    double throttle[XL_N_THROTTLES]; ///< share of the span in which it held;
                                     ///< 0 when !has_throttle
} xl_conditions;

#ifdef __cplusplus
}
#endif
#endif
