/* SPDX-License-Identifier: Apache-2.0 */
/* The ceilings of a device as a table: which fact each is, and which probe
 * measures it. */
#ifndef CLBENCH_PEAKS_H
#define CLBENCH_PEAKS_H

#include "results/ceilings.h"

struct session;
struct xl_device;
struct json_t;

/* Have those measured that are not yet, quickly. An exit_code. */
int ceilings_measure(struct session *s, struct xl_device *dev);
/* Rates, sources, ridges: for people, and for files. */
void ceilings_print(const struct xl_device *dev);
struct json_t *ceilings_json(const struct xl_device *dev);

#endif
