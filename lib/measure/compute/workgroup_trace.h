/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the records of work-groups, for tests. */
#ifndef XL_MEASURE_WORKGROUP_TRACE_H
#define XL_MEASURE_WORKGROUP_TRACE_H

#include <crosslane/measure/workgroup_trace.h>

/* The record of a chunk of work, as probe/workgroup_trace.cl writes it. */
struct xl__trace_record {
    cl_ulong unit, start, end, work;
};

/* Converts records: units are numbered from 0, times count from the first
 * start, in steps of step_ns. There is a clock if every chunk has a start and
 * none ends before its start. Sets n_units, has_clock and, with a clock,
 * total_ns. False: out of memory. */
bool xl__trace_read(const struct xl__trace_record *raw, size_t n,
                    double step_ns, xl_piece_record *out, xl_watched *about);
/* Did every unit execute its chunks one after the other? */
bool xl__trace_is_serial(const xl_piece_record *piece, size_t n);

#endif
