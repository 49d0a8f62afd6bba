/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of clbench; `clbench x` is in commands/x.c. */
#ifndef CLBENCH_COMMANDS_H
#define CLBENCH_COMMANDS_H

#include "cli/command.h"

struct bench_op;

/* Print all facts of the chosen devices: `devices --verbose`. */
int limits_run(struct session *s);
/* Explain each case of the command line: OP --explain. */
int explain_run(struct session *s, const struct bench_op *op);

extern const struct command cmd_suite, cmd_devices, cmd_limits, cmd_probe,
    cmd_gemm, cmd_qgemm, cmd_qconvert, cmd_rotary, cmd_softmax, cmd_norm,
    cmd_attention, cmd_expr, cmd_verify, cmd_explain, cmd_compare, cmd_doctor,
    cmd_cache, cmd_calibrate, cmd_completion, cmd_conv, cmd_split,
    cmd_pipeline, cmd_roofline, cmd_tune, cmd_top, cmd_plan, cmd_report,
    cmd_ab, cmd_kernel, cmd_site, cmd_model;
extern const struct command *const commands[]; /* NULL-terminated */

#endif
