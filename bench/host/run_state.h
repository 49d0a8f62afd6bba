/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a run: did other programs use the devices while it measured?
 * Their share is counted from the beginning of the run, so one state holds for
 * all of its rows. */
#ifndef CLBENCH_RUN_STATE_H
#define CLBENCH_RUN_STATE_H

#include <crosslane/telemetry.h>

#include "base/str.h"

struct run_state {
    xl_telemetry *sensors; /* of the first device that counts; NULL: none */
    xl_reading first;
    double load;           /* of the host, at the beginning; negative: unknown */
    unsigned n_cores;
    double others;         /* share of the device so far; NaN: not counted */
    bool is_known, is_busy;
};

/* Begin: look at the devices for a quarter of a second. */
void run_state_begin(struct run_state *r, xl_device *const *devices,
                     unsigned n);
/* Count up to now. */
void run_state_update(struct run_state *r);
/* Append "QUIET (load 0.3 on 2 cores, others 1 %)", or "BUSY (...)". */
void run_state_format(const struct run_state *r, struct xl__str *out);
void run_state_end(struct run_state *r);

#endif
