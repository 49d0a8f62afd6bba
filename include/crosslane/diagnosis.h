/* SPDX-License-Identifier: Apache-2.0 */
/* What limits a run: its counted work against the measured rates of the
 * device. Each resource has a least time; the largest one explains the run, or
 * what lengthens it does: conflicts, branches, compute units without work. */
#ifndef CROSSLANE_DIAGNOSIS_H
#define CROSSLANE_DIAGNOSIS_H

#include <stdbool.h>

#include <crosslane/device.h>
#include <crosslane/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum xl_engine { XL_ENGINE_FMA, XL_ENGINE_MATRIX } xl_engine;

/** Where bytes come from; "l1" is the first cache of a compute unit. */
typedef enum xl_level {
    XL_LEVEL_DRAM,
    XL_LEVEL_LLC,
    XL_LEVEL_L2, ///< where there is one between the first and the last
    XL_LEVEL_L1,
    XL_LEVEL_LOCAL,
    XL_N_LEVELS
} xl_level;

/* What can limit a run, and what to do then: the one table of both.
 * XX(id, name, advice) */
/* clang-format off */
#define XL_LIMITER_MAP(XX)                                                     \
 XX(UNKNOWN,    "unknown",           "measure more of the device (clbench probe), or count more of the work") \
 XX(TRANSFER,   "transfer",          "keep data on the device from call to call, use pinned memory, or copy in chunks while kernels run") \
 XX(LAUNCH,     "launch",            "do more in a launch: batch the calls, or fuse what follows one another") \
 XX(DRAM,       "DRAM",              "move fewer bytes: fuse what reads them again, or use a narrower type") \
 XX(CACHE,      "cache",             "ask the caches for each byte less often: larger tiles, wider accesses") \
 XX(LOCAL,      "local memory",      "more work on each element that is read: larger tiles of an item, in registers") \
 XX(BANKS,      "bank conflicts",    "pad the lines of local memory by a word, or let neighbours read neighbours") \
 XX(FMA,        "FMA",               "the plain units are at their rate: fewer operations, or a matrix engine where the type allows") \
 XX(ENGINE,     "matrix engine",     "the engine is at its rate: a narrower type, or fewer products") \
 XX(SPECIAL,    "special functions", "fewer of them, native_ ones, or a polynomial on the FMA units") \
 XX(ATOMICS,    "atomics",           "sum within a work-group first, and spread what is left over several words") \
 XX(BARRIERS,   "barriers",          "more work between two barriers, or smaller work-groups") \
 XX(GROUPS,     "too few groups",    "smaller tiles, sums that are cut along k, or several calls in one") \
 XX(DIVERGENCE, "divergence",        "let neighbouring items take the same way: sort by it, or a kernel for each") \
 XX(SPILLS,     "spills",            "fewer values alive at once: smaller tiles of an item, no private arrays that are indexed") \
 XX(THROTTLE,   "throttle",          "let the device cool, look at its power limit and at who else uses it") \
 XX(LATENCY,    "latency",           "more that is independent: more items a unit, more chains an item")
/* clang-format on */
typedef enum xl_limiter {
#define XL_LIMITER_ENUM_(id, name, advice) XL_LIMITER_##id,
    XL_LIMITER_MAP(XL_LIMITER_ENUM_) XL_N_LIMITERS
#undef XL_LIMITER_ENUM_
} xl_limiter;

/** "DRAM", "too few groups", ... Static. */
XL_API const char *xl_limiter_name(xl_limiter limiter);
/** One thing to do about it. Static. */
XL_API const char *xl_limiter_advice(xl_limiter limiter);

enum { XL_MAX_FLOP_KINDS = 2 }; ///< the products first

/** Operations of one kind: what does them, and how many. */
typedef struct xl_flop {
    xl_engine engine;
    xl_dtype dtype;  ///< as in xl_roof
    unsigned terms;  ///< as in xl_roof
    double count;
    bool is_product; ///< of matrices: a matrix engine could do them
    const char *why; ///< why none does; NULL: not known
} xl_flop;

/** What one run does, counted. 0 is none, or not known. */
typedef struct xl_counts {
    double ns;       ///< measured, of one run
    double host_ns;  ///< the same as the host saw it; 0: not known
    double drift;    ///< time of the later runs over that of the first; 0: 1
    double clock;    ///< the clock over its highest, held down; 0: not known
    char held_by[96]; ///< "clock at 1410 of 1980 MHz: power limit"; or ""
    xl_flop flop[XL_MAX_FLOP_KINDS];
    double bytes[XL_N_LEVELS]; ///< asked of each; of the DRAM, what must move
    double footprint_bytes;    ///< what DRAM's bytes touch: a cache that holds
                               ///< it serves hot runs. 0: the same bytes
    bool is_cold;              ///< caches are emptied before each run
    double upload_bytes, download_bytes;
    double special;            ///< special functions of f32
    double atomics, same_atomics; ///< on a word each; all on one
    double barriers;           ///< of one work-group
    double launches;
    double groups, wg_size;
    double resident;  ///< work-groups a compute unit holds at once
    double bank_ways; ///< items that wait for one another at a bank
    double branch_ways; ///< ways that the items of a sub-group part
    double private_bytes; ///< of an item in memory, by the driver: spills
    double spill_bytes;   ///< of all accesses to them; 0: once there and back
} xl_counts;

/** What limits a run. */
typedef struct xl_diagnosis {
    xl_limiter limiter;
    bool is_likely; ///< concluded from what is left, not shown by a count
    double share;   ///< of the time, which the largest need explains; NaN
    double need_ns[XL_N_LIMITERS]; ///< the least time each needs; NaN: unknown
    /** Three numbers that are no one's stand-in: operations and bytes per
     *  second, and the share of the host's time in which the device worked
     *  (NaN: not known). */
    double flop_per_s, bytes_per_s, busy;
    double intensity;   ///< flop a byte of memory; NaN
    char evidence[224]; ///< the counts, rates and times behind it
    char engine[224];   ///< a matrix engine that is there and not used, and
                        ///< why; "" otherwise
} xl_diagnosis;

/** Nothing is known. */
XL_API void xl_diagnosis_init(xl_diagnosis *out);

/** Name what limits a run on a device, by what is known of both. Facts that
 *  nobody measured take no part; plain C, nothing is run. */
XL_API void xl_diagnose(const xl_device *dev, const xl_counts *work,
                        xl_diagnosis *out);

#ifdef __cplusplus
}
#endif
#endif
