/* SPDX-License-Identifier: Apache-2.0 */
/* What limits a run: its counts of operations and bytes, divided by the
 * measured rates of the device. Each resource r needs at least
 *
 *   need_ns(r) = count(r) / rate(r)
 *
 * and the resource with the largest need limits the run, or the cause that
 * lengthens this need: bank conflicts, divergent branches, idle compute units.
 * Where the counts explain less than half of the measured time, no limiter is
 * named. */
#ifndef CROSSLANE_MEASURE_DIAGNOSIS_H
#define CROSSLANE_MEASURE_DIAGNOSIS_H

#include <stdbool.h>

#include <crosslane/device.h>
#include <crosslane/explain.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Level of the memory hierarchy that serves an access; "l1" is the first
 *  cache of a compute unit. */
typedef enum xl_level {
    XL_LEVEL_DRAM,
    XL_LEVEL_LLC,
    XL_LEVEL_L2, ///< where there is one between the first and the last
    XL_LEVEL_L1,
    XL_LEVEL_LOCAL,
    XL_N_LEVELS
} xl_level;

/* What can limit a run, with what its caller can do. XX(id, name, advice) */
/* clang-format off */
#define XL_LIMITER_MAP(XX)                                                     \
 XX(UNKNOWN,    "not explained",     "") \
 XX(TRANSFER,   "transfer",          "keep data on the device from call to call, use pinned memory, or copy in chunks while kernels run") \
 XX(LAUNCH,     "launch",            "do more in a call: batch the calls, fuse consecutive ones, or record and replay them") \
 XX(DRAM,       "DRAM",              "move fewer bytes: fuse the operations that read them again, or use a narrower type") \
 XX(CACHE,      "cache",             "use a narrower type, or tune: larger tiles read each byte less often") \
 XX(LOCAL,      "local memory",      "use a narrower type, or tune: larger register tiles read each element less often") \
 XX(BANKS,      "bank conflicts",    "tune, or pad the rows of the data by an element") \
 XX(FMA,        "FMA",               "the FMA units are at their peak: fewer operations, or a type and accuracy that a matrix engine has") \
 XX(ENGINE,     "matrix engine",     "the matrix engine is at its peak: a narrower type, or fewer products") \
 XX(SPECIAL,    "special functions", "fewer special functions, or permit native ones (fast math)") \
 XX(CONVERT,    "conversions",       "a type that the units compute in, which needs no conversion, or one that a matrix engine takes") \
 XX(ATOMICS,    "atomics",           "tune: fewer slices that are added to one result") \
 XX(BARRIERS,   "barriers",          "tune: larger slices between two barriers, or smaller work-groups") \
 XX(GROUPS,     "too few groups",    "batch several calls in one, or tune: smaller tiles, sums split along k") \
 XX(DIVERGENCE, "divergence",        "sort the data so that neighbouring elements take the same branch") \
 XX(SPILLS,     "spills",            "tune: smaller register tiles") \
 XX(THROTTLE,   "throttle",          "let the device cool, check its power limit and which other programs use it")
/* clang-format on */
typedef enum xl_limiter {
#define XL_LIMITER_ENUM_(id, name, advice) XL_LIMITER_##id,
    XL_LIMITER_MAP(XL_LIMITER_ENUM_) XL_N_LIMITERS
#undef XL_LIMITER_ENUM_
} xl_limiter;

/** "DRAM", "too few groups", "not explained". Static. */
XL_API const char *xl_limiter_name(xl_limiter limiter);
/** What the caller can do, one sentence; "" where nothing is named. Static. */
XL_API const char *xl_limiter_advice(xl_limiter limiter);

enum { XL_MAX_FLOP_KINDS = 2 }; ///< products of matrices first

/** Counts of one run, with its times. 0: none, or not known. */
typedef struct xl_counts {
    double ns;        ///< measured, of one run
    double host_ns;   ///< the same by the host's clock; 0: not known
    double drift;     ///< time of the later runs over that of the first; 0: 1
    double clock;     ///< throttled clock over the highest; 0: not known
    char held_by[96]; ///< "clock at 1410 of 1980 MHz: power limit"; or ""
    xl_flop flop[XL_MAX_FLOP_KINDS];
    double bytes[XL_N_LEVELS]; ///< requested from each level; of DRAM, the
                               ///< least that must move
    double footprint_bytes;    ///< distinct bytes among DRAM's: a cache that
                               ///< holds them serves hot runs. 0: all of them
    bool is_cold;              ///< caches are emptied before each run
    double upload_bytes, download_bytes;
    double special;               ///< special functions of f32
    double conversions;           ///< of elements, to f32 and from it
    double atomics, same_atomics; ///< each on its own word; all on one word
    double barriers;              ///< of one work-group
    double launches;
    double groups, wg_size;
    double resident;      ///< work-groups resident on a compute unit
    double bank_ways;     ///< work-items that access one bank: 2 is a two-way
                          ///< conflict
    double branch_ways;   ///< branches that the items of a sub-group take
    double private_bytes; ///< private memory of a work-item, by the driver:
                          ///< spills
    double spill_bytes;   ///< of all accesses to spilled values; 0: each is
                          ///< written and read once
} xl_counts;

/** What limits a run. */
typedef struct xl_diagnosis {
    xl_limiter limiter;
    double share;   ///< largest need over the measured time; NaN: unknown
    double need_ns[XL_N_LIMITERS]; ///< the least time each needs; NaN: unknown
    /** Achieved rates, and the share of the host's time in which the device
     *  was busy (NaN: not known). */
    double flop_per_s, bytes_per_s, busy;
    double intensity;   ///< flop a byte of memory; NaN
    char evidence[224]; ///< the counts, rates and times behind it
    char engine[224];   ///< a matrix engine that exists and is not used, and
                        ///< why; "" otherwise
} xl_diagnosis;

/** Set all fields to unknown. */
XL_API void xl_diagnosis_init(xl_diagnosis *out);

/** Determine what limits a run from its counts and the device's facts. Rates
 *  that are unknown are left out. Computed on the host; nothing is run. */
XL_API void xl_diagnose(const xl_device *dev, const xl_counts *counts,
                        xl_diagnosis *out);

#ifdef __cplusplus
}
#endif
#endif
