/* SPDX-License-Identifier: Apache-2.0 */
/* Which compute unit runs which work-group, and when: groups that keep a
 * record of themselves. Calls here block, as those of measure.h. */
#ifndef CROSSLANE_WATCH_H
#define CROSSLANE_WATCH_H

#include <crosslane/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { XL_MAX_WATCHED = 1 << 16 };

/**
 * What is watched in place of a kernel that keeps no record: a launch of as
 * many groups, of as many items, that hold as much local memory, and do their
 * pieces as it does its tiles: group g does pieces g, g + n_groups, ... Its
 * registers are its own, so more of its groups may fit on a unit.
 */
typedef struct xl_watch {
    size_t n_pieces;        ///< 1 .. XL_MAX_WATCHED
    size_t n_groups;        ///< 1 .. n_pieces
    size_t wg_items;
    size_t local_mem_bytes;
    size_t whole;           ///< pieces of full length; those behind them have
    double rest_frac;       ///< this share of it
    double want_ns;         ///< how long the launch shall take; at most 20 ms
                            ///< are taken
} xl_watch;

/** A piece: where and when. Times count from the first start. */
typedef struct xl_piece_record {
    unsigned unit;           ///< from 0 on, by the number the device gives
    double start_ns, end_ns; ///< NaN where units have no clock in common
} xl_piece_record;

/** The launch as a whole. */
typedef struct xl_watched {
    unsigned n_units;   ///< that did a piece
    bool has_clock;
    bool is_thread;     ///< a unit is a thread of the driver's, told by where
                        ///< its local memory lies; else it is a number that
                        ///< the hardware gives
    double total_ns;    ///< first start to last end; without a clock, by the
                        ///< host
    double scaling;     ///< time against work, half of it compared: near 1
} xl_watched;

/**
 * Run such a launch until it lasts as long as wanted, three times then, and
 * tell of the shortest. What the groups computed is checked.
 *
 * @param out  n_pieces of them
 * @return XL_OK; XL_UNSUPPORTED, with the reason in xl_error_detail(q), where a
 *         kernel cannot learn its unit; XL_WRONG_RESULT; XL_BAD_ARGUMENT; or
 *         an OpenCL code
 */
XL_API xl_status xl_groups_watch(xl_queue *q, const xl_watch *what,
                                 xl_piece_record *out, xl_watched *about);

#ifdef __cplusplus
}
#endif
#endif
