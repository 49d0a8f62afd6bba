/* SPDX-License-Identifier: Apache-2.0 */
/* Run probes and report their rows; for `clbench probe` and the suite. */
#ifndef CLBENCH_PROBES_H
#define CLBENCH_PROBES_H

#include "cli/session.h"

/* Run a probe on all chosen devices, as one section of the report. Returns an
 * exit_code. */
int probes_run(struct session *s, const xl_probe_info *probe);
const xl_probe_info *probes_find(const char *name);

#endif
