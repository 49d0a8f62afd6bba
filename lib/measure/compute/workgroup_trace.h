/* SPDX-License-Identifier: Apache-2.0 */
/* What watch.c makes of the groups' records, for its tests. */
#ifndef XL_MEASURE_WATCH_H
#define XL_MEASURE_WATCH_H

#include <crosslane/watch.h>

/* A piece as probe/workgroup_trace.cl writes it. */
struct xl__trace_record {
    cl_ulong unit, start, end, work;
};

/* Units numbered from 0 on, times from the first start, in steps of step_ns.
 * There is a clock when each piece has a start and none ends before. Sets
 * n_units, has_clock and, with a clock, total_ns. False: no memory. */
bool xl__trace_read(const struct xl__trace_record *raw, size_t n,
                    double step_ns, xl_piece_record *out, xl_watched *about);
/* Did every unit do its pieces one after the other? */
bool xl__trace_is_serial(const xl_piece_record *piece, size_t n);

#endif
