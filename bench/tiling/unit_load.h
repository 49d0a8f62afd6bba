/* SPDX-License-Identifier: Apache-2.0 */
/* Which compute unit ran which piece of a launch and when, measured or
 * modelled, and the load of the units. Measured and modelled records have the
 * same form, so that the same figures and charts are made from both. */
#ifndef CLBENCH_TILING_UNIT_LOAD_H
#define CLBENCH_TILING_UNIT_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/explain.h>
#include <crosslane/measure/workgroup_trace.h>

/* The pieces of a launch. */
struct tiling_record {
    xl_piece_record *piece;
    size_t n;
    unsigned units;  /* of the device, including idle ones */
    double total_ns; /* of the model: one tile takes tile_ns */
    bool has_clock;
};

/* Models a launch on equal units, each of which runs `concurrent` groups at a
 * time; a tile takes `tile_ns`, however many share the unit, piece i work[i]
 * times as long; NULL: whole tiles equally. False: out of memory. Call
 * tiling_record_clear() afterwards. */
bool tiling_model_launch(const xl_tiling *t, unsigned units,
                         unsigned concurrent, double tile_ns,
                         const double *work, struct tiling_record *out);
void tiling_record_clear(struct tiling_record *r);

/* Load of the units. Times are fractions of the launch; NaN without a clock.
 */
struct tiling_load {
    unsigned used;        /* units that ran a piece */
    unsigned least, most; /* pieces of a used unit */
    unsigned concurrent;  /* pieces of a unit at one time, at most */
    double busy;          /* mean over all units */
    double busy_least, busy_most; /* of the used units */
    double tail;      /* from the end of the first used unit to the end */
    double imbalance; /* the busiest used unit over their mean */
};
/* `busy_of`: space for r->units fractions, or NULL. False: out of memory. */
bool tiling_load_of(const struct tiling_record *r, struct tiling_load *out,
                    double *busy_of);
/* Share of active units in each of n equal spans of the launch. False: out of
 * memory, or no clock. */
bool tiling_busy_curve(const struct tiling_record *r, double *share,
                       unsigned n);

#endif
