/* SPDX-License-Identifier: Apache-2.0 */
/* Which unit did what, when. */
#ifndef CLBENCH_TILING_UNIT_LOAD_H
#define CLBENCH_TILING_UNIT_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/explain.h>
#include <crosslane/watch.h>

/* A launch's pieces: out of a device, or out of the model. */
struct split_record {
    xl_piece_record *piece;
    size_t n;
    unsigned units;  /* there are, idle ones too */
    double total_ns; /* of the model, tiles one after the other */
    bool has_clock;
};

/* Equal units, each with room for so many groups at a time, take the next
 * group when they have room; a tile takes `tile_ns`, however many share the
 * unit. False: no memory. */
bool split_model(const xl_tiling *t, unsigned units, unsigned beside,
                 double tile_ns, struct split_record *out);
void split_record_clear(struct split_record *r);

/* Times as shares of the whole launch; NaN without a clock. */
struct split_load {
    unsigned used;        /* units that did a piece */
    unsigned least, most; /* pieces of one of those */
    unsigned beside;      /* pieces that a unit did at one time, at most */
    double busy;          /* mean over all units */
    double busy_least, busy_most; /* of those used */
    double tail;      /* from the first of those used to be done to the end */
    double imbalance; /* the busiest of those used over their mean */
};
/* `busy_of`: room for r->units shares, or NULL. False: no memory. */
bool split_load_of(const struct split_record *r, struct split_load *out,
                   double *busy_of);
/* Share of units at work in each of n equal spans of the launch. False: no
 * memory, or no clock. */
bool split_curve(const struct split_record *r, double *share, unsigned n);

#endif
