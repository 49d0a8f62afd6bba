/* SPDX-License-Identifier: Apache-2.0 */
/* Running probes into the report; `clbench probe` and the suite share it. */
#ifndef CLBENCH_PROBES_H
#define CLBENCH_PROBES_H

#include "cli/session.h"

/* Run one probe on every chosen device as one part of the report. */
int probes_run(struct session *s, const xl_probe_info *probe);
const xl_probe_info *probes_find(const char *name);

#endif
