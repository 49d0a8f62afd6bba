/* SPDX-License-Identifier: Apache-2.0 */
/* The list of commands, in the order of the help. A new command is a file
 * commands/x.c, its declaration in commands.h, and an element here. */
#include "commands.h"

const struct command *const commands[] = {
    &cmd_suite,      &cmd_devices,  &cmd_limits,  &cmd_probe,   &cmd_gemm,
    &cmd_qgemm,      &cmd_qconvert, &cmd_conv,    &cmd_softmax, &cmd_norm,
    &cmd_attention,  &cmd_rotary,   &cmd_expr,    &cmd_kernel,  &cmd_pipeline,
    &cmd_roofline,   &cmd_split,    &cmd_plan,    &cmd_model,   &cmd_calibrate,
    &cmd_tune,       &cmd_verify,   &cmd_explain, &cmd_report,  &cmd_compare,
    &cmd_ab,         &cmd_site,     &cmd_top,     &cmd_doctor,  &cmd_cache,
    &cmd_completion, NULL,
};
