/* SPDX-License-Identifier: Apache-2.0 */
/* Work-group trace: which compute unit runs each work-group, and when,
 * recorded by the work-groups of a synthetic kernel themselves. Calls block,
 * as those of measure.h. */
#ifndef CROSSLANE_MEASURE_WORKGROUP_TRACE_H
#define CROSSLANE_MEASURE_WORKGROUP_TRACE_H

#include <crosslane/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { XL_MAX_WATCHED = 1 << 16 };

/**
 * The launch to trace. It models a launch of another kernel: the same number
 * of groups and work-items, the same local memory, and pieces of work
 * distributed as that kernel's tiles: group g computes pieces g, g + n_groups,
 * ... Register use is not modelled, so more groups may be resident on a unit.
 */
typedef struct xl_watch {
    size_t n_pieces; ///< 1 .. XL_MAX_WATCHED
    size_t n_groups; ///< 1 .. n_pieces
    size_t wg_items;
    size_t local_mem_bytes;
    size_t whole;     ///< the first `whole` pieces have full length, the
    double rest_frac; ///< others this fraction of it
    double want_ns;   ///< requested time of the launch; limited to
                      ///< 20 ms
} xl_watch;

/** Compute unit and times of a piece, from the first start on. */
typedef struct xl_piece_record {
    unsigned unit;           ///< from 0 on, in the order of the device's ids
    double start_ns, end_ns; ///< NaN where the units have no common clock
} xl_piece_record;

/** Summary of the launch. */
typedef struct xl_watched {
    unsigned n_units; ///< that computed a piece
    bool has_clock;
    bool is_thread;  ///< a unit is a thread of the driver, identified by
                     ///< the address of its local memory; else it is a
                     ///< hardware id
    double total_ns; ///< first start to last end; without a clock, by the
                     ///< host
    double scaling;  ///< time ratio over work ratio of a full and a half
                     ///< launch: near 1
} xl_watched;

/**
 * Lengthen the launch until it takes the requested time, run it three times,
 * and return the shortest. The results of the groups are checked.
 *
 * @param out  n_pieces of them
 * @return XL_OK; XL_UNSUPPORTED, with the reason in xl_error_detail(q), where
 * a kernel cannot determine its compute unit; XL_WRONG_RESULT;
 *         XL_BAD_ARGUMENT; or an OpenCL code
 */
XL_API xl_status xl_groups_watch(xl_queue *q, const xl_watch *what,
                                 xl_piece_record *out, xl_watched *about);

#ifdef __cplusplus
}
#endif
#endif
