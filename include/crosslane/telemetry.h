/* SPDX-License-Identifier: Apache-2.0 */
/* Sensors of a device during operation: load, temperature, clocks, power, and
 * the reasons for a throttled clock. Every value is optional and has a source.
 * OpenCL has no such queries: values are read from the vendor's management
 * library and from files of the operating system, where these exist. */
#ifndef CROSSLANE_TELEMETRY_H
#define CROSSLANE_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include <crosslane/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The sensors, in the units of their names. XX(id, name, unit, help) */
/* clang-format off */
#define XL_SENSOR_MAP(XX)                                                      \
 XX(BUSY,          "busy",                 "1",  "share of the time since the last reading in which the device worked") \
 XX(OTHERS,        "others",               "1",  "share of that time used by other programs") \
 XX(MEMORY_BUSY,   "memory_busy",          "1",  "share of the time in which its memory was read or written") \
 XX(MEMORY_USED,   "memory_used_bytes",    "B",  "memory in use, by all programs") \
 XX(MEMORY_TOTAL,  "memory_total_bytes",   "B",  "size of the memory") \
 XX(CLOCK,         "clock_hz",             "Hz", "clock of its compute units; of a CPU's fastest core") \
 XX(CLOCK_MAX,     "clock_max_hz",         "Hz", "highest value of that clock") \
 XX(MEMORY_CLOCK,  "memory_clock_hz",      "Hz", "clock of its memory") \
 XX(MEMORY_CLOCK_MAX, "memory_clock_max_hz", "Hz", "highest value of that clock") \
 XX(TEMPERATURE,   "temperature_c",        "C",  "temperature of the chip") \
 XX(MEMORY_TEMPERATURE, "memory_temperature_c", "C", "temperature of its memory") \
 XX(POWER,         "power_w",              "W",  "power drawn") \
 XX(POWER_LIMIT,   "power_limit_w",        "W",  "power it is allowed to draw") \
 XX(ENERGY,        "energy_j",             "J",  "energy used since an arbitrary start; it never decreases") \
 XX(PROCESSES,     "processes",            "1",  "other programs that have it open")
/* clang-format on */
typedef enum xl_sensor {
#define XL_SENSOR_ENUM_(id, name, unit, help) XL_SENSOR_##id,
    XL_SENSOR_MAP(XL_SENSOR_ENUM_) XL_N_SENSORS
#undef XL_SENSOR_ENUM_
} xl_sensor;

/* Reasons for a throttled clock. With an alarm the device protects itself, and
 * a measurement shows the cooling or the power supply. A power limit is normal
 * under full load. XX(id, name, is an alarm) */
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

/** One reading of a device. NaN: not available; never 0 for that. */
typedef struct xl_reading {
    uint64_t ns; ///< time of the reading, by a monotonic clock
    double value[XL_N_SENSORS];
    const char *source[XL_N_SENSORS]; ///< of each value; NULL: none. Static
    bool has_throttle;                ///< are the throttle fields valid?
    unsigned throttle;                ///< bit 1 << xl_throttle: active now
    double throttle_ns[XL_N_THROTTLES]; ///< time active; never decreases
    const char *throttle_source;
    double idle_ns, own_ns; ///< time of all units together, idle and used by
                            ///< this program; they never decrease: shares are
                            ///< differences of two readings
    double units;           ///< cores of a CPU; 1 of a GPU
    const char *idle_source;
} xl_reading;

/** Name of a sensor, "clock_hz"; its unit and one line of help in *unit and
 *  *help, where these are not NULL. Static; NULL past the last. */
XL_API const char *xl_sensor_name(xl_sensor sensor, const char **unit,
                                  const char **help);
/** Name of a reason, "thermal limit". Static; NULL past the last. */
XL_API const char *xl_throttle_name(xl_throttle throttle);
XL_API bool xl_throttle_is_alarm(xl_throttle throttle);

typedef struct xl_telemetry xl_telemetry;

/**
 * Find the sources of sensor values for a device, by its PCI address or UUID.
 * Loads the vendor's management library where there is one.
 *
 * @return XL_OK, also when there is no source; XL_BAD_ARGUMENT, XL_NO_MEMORY
 */
XL_API xl_status xl_telemetry_open(const xl_device *dev, xl_telemetry **out);

/** Read all sensors: files and calls of the vendor's library, so do not call
 * it while a computation is timed. Shares are of the time since the last
 *  reading. */
XL_API void xl_telemetry_read(xl_telemetry *t, xl_reading *out);

XL_API void xl_telemetry_close(xl_telemetry *t);

/**
 * Make xl_samples_take() read the sensors of this device: before the first
 * sample, between samples at a low rate and after the last one, never within a
 * sample. The results are in xl_samples.conditions. Off by default.
 */
XL_API void xl_telemetry_watch(xl_device *dev, bool on);

/** Conditions of the device while samples were taken. NaN: not available. */
typedef struct xl_conditions {
    unsigned readings; ///< 0: no reading, and no other field is set
    double span_ns;    ///< from the first reading to the last
    double clock_first_hz, clock_lo_hz, clock_hi_hz, clock_max_hz;
    double memory_clock_hz; ///< the lowest
    double temperature_c;   ///< the highest
    double memory_temperature_c;
    double power_w;         ///< mean where energy is known, else the highest
    double power_limit_w;
    double energy_j; ///< of the span, by a counter
    double memory_used_bytes; ///< the highest
    double others;          ///< share of the span used by other programs
    double processes;       ///< the highest
    bool has_throttle;
    double throttle[XL_N_THROTTLES]; ///< share of the span in which each was
                                     ///< active; 0 when !has_throttle
} xl_conditions;

#ifdef __cplusplus
}
#endif
#endif
