/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench gemm --reads`: operand reads of tiles of several sizes, computed,
 * and the rates they reach, measured. */
#ifndef CLBENCH_TILING_OPERAND_READS_H
#define CLBENCH_TILING_OPERAND_READS_H

#include "cli/session.h"

/* Runs the command; an exit_code. */
int operand_reads_run(struct session *s);

#endif
