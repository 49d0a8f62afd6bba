/* SPDX-License-Identifier: Apache-2.0 */
/* What `clbench top` saw, as JSON Lines: a head, then a line for each device
 * at each look. */
#ifndef CLBENCH_TOP_LOG_H
#define CLBENCH_TOP_LOG_H

#include <stdbool.h>
#include <stdio.h>

#include "results/telemetry.h"

struct session;

struct top_log {
    struct session *s;
    FILE *to; /* NULL: none is wanted */
};

/* By --json. These say why not. */
bool top_log_open(struct top_log *log, struct session *s);
bool top_log_close(struct top_log *log);

void top_log_head(struct top_log *log, const struct telemetry_device *d,
                  unsigned n, double interval_s);
/* False: there is no room for more. */
bool top_log_readings(struct top_log *log, const struct telemetry_device *d,
                      unsigned n);

#endif
