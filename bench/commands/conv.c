/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench conv`: time convolutions, of the command line or the case table. */
#include "commands.h"
#include "timing/run_cases.h"

static int run_conv(struct session *s)
{
    if (s->set.list) {
        shape_file_list(stdout, s->command->name);
        return EXIT_FINE;
    }
    static const struct bench_op *const passes[] = {
        &bench_conv, &bench_conv_data, &bench_conv_filters};
    const struct bench_op *op = passes[s->set.pass];
    return s->set.explain || s->set.as ? explain_run(s, op)
                                       : bench_command(s, op);
}

static const char *const options[] = {
    "device",      "all-devices", "explain",      "as",       "variant",
    "same-kernel", "dtype",       "pass",         "layout",   "stride",
    "pad",         "dilation",    "groups",       "shapes",   "list",
    "trace",       "json",        REPORT_OPTIONS, "seed",     "quick",
    "full",        "max-time",    RUN_OPTIONS,    "accuracy", "roofs",
    "strict",      NULL};

const struct command cmd_conv = {
    .name = "conv",
    .summary = "time convolutions",
    .words = "[SHAPE...]",
    .about =
        "Times a convolution, or with --pass a gradient, for each SHAPE, "
        "NxHxWxC:KxRxS (images, "
        "their rows, columns and channels; filters, their rows and columns), "
        "or for the built-in cases when none is given. The order of a SHAPE "
        "does not describe memory: --layout does. Each result is compared "
        "with "
        "the host in double precision, on a sample, before and after it is "
        "timed. --shapes takes the cases from a file, such as those that come "
        "with clbench: conv_resnet50, conv_mobilenet.\n\n"
        "  clbench conv 32x56x56x64:64x3x3 --pad 1 --layout nhwc\n"
        "  clbench conv 8x28x28x128:128x3x3 --pad 1 --pass backward-data\n"
        "  clbench conv --shapes conv_resnet50 --variant all --json r.json",
    .options = options,
    .dtypes = "f32|f16|bf16|f64|i8",
    .min_words = 0,
    .max_words = BENCH_MAX_WORDS,
    .run = run_conv,
};
