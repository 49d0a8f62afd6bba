/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench gemm --reads`: what tiles of growing size read from global memory,
 * counted, and what they reach, measured. */
#ifndef CLBENCH_GEMM_READS_H
#define CLBENCH_GEMM_READS_H

#include "cli/session.h"

/* The whole command; an exit_code. */
int reads_run(struct session *s);

#endif
