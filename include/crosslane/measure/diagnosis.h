/* SPDX-License-Identifier: Apache-2.0 */
/* What limits a run: its counts of operations and bytes, divided by the
 * measured rates of the device. Each resource r needs at least
 *
 *   need_ns(r) = count(r) / rate(r)
 *
 * and the resource with the largest need limits the run. Where that need is
 * far below the measured time, the run is limited by an effect that lengthens
 * it: bank conflicts, divergent branches, idle compute units, latency. */
#ifndef CROSSLANE_MEASURE_DIAGNOSIS_H
#define CROSSLANE_MEASURE_DIAGNOSIS_H

#include <stdbool.h>

#include <crosslane/device.h>
#include <crosslane/flop.h>

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

/* What can limit a run, with advice to the user. XX(id, name, advice) */
/* clang-format off */
#define XL_LIMITER_MAP(XX)                                                     \
 XX(UNKNOWN,    "unknown",           "measure more of the device (clbench probe), or count more of the run") \
 XX(TRANSFER,   "transfer",          "keep data on the device from call to call, use pinned memory, or copy in chunks while kernels run") \
 XX(LAUNCH,     "launch",            "do more in a launch: batch the calls, or fuse consecutive ones") \
 XX(DRAM,       "DRAM",              "move fewer bytes: fuse the kernels that read them again, or use a narrower type") \
 XX(CACHE,      "cache",             "read each byte from the caches less often: larger tiles, wider accesses") \
 XX(LOCAL,      "local memory",      "use each element that is read more often: larger register tiles of a work-item") \
 XX(BANKS,      "bank conflicts",    "pad the rows of local memory by a word, or let neighbouring items read neighbouring words") \
 XX(FMA,        "FMA",               "the FMA units are at their peak: fewer operations, or a matrix engine where the type allows it") \
 XX(ENGINE,     "matrix engine",     "the matrix engine is at its peak: a narrower type, or fewer products") \
 XX(SPECIAL,    "special functions", "fewer special functions, native_ functions, or a polynomial on the FMA units") \
 XX(ATOMICS,    "atomics",           "sum within a work-group first, and spread the remaining atomics over several words") \
 XX(BARRIERS,   "barriers",          "more operations between two barriers, or smaller work-groups") \
 XX(GROUPS,     "too few groups",    "smaller tiles, sums split along k, or several calls in one") \
 XX(DIVERGENCE, "divergence",        "let neighbouring items take the same branch: sort by it, or use a kernel for each branch") \
 XX(SPILLS,     "spills",            "fewer live values: smaller register tiles of a work-item, no private arrays that are indexed") \
 XX(THROTTLE,   "throttle",          "let the device cool, check its power limit and which other programs use it") \
 XX(LATENCY,    "latency",           "more independent operations: more work-items per compute unit, more chains per work-item")
/* clang-format on */
typedef enum xl_limiter {
#define XL_LIMITER_ENUM_(id, name, advice) XL_LIMITER_##id,
    XL_LIMITER_MAP(XL_LIMITER_ENUM_) XL_N_LIMITERS
#undef XL_LIMITER_ENUM_
} xl_limiter;

/** "DRAM", "too few groups", ... Static. */
XL_API const char *xl_limiter_name(xl_limiter limiter);
/** Advice for it, one sentence. Static. */
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
    bool is_likely; ///< inferred by elimination, not shown by a count
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
