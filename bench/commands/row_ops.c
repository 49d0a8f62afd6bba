/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench softmax`, `clbench norm`: time an op over rows, of the command line
 * or the case table. */
#include "commands.h"
#include "timing/run_cases.h"

static int run_softmax(struct session *s)
{
    const struct bench_op *op =
        s->set.backward ? &bench_softmax_backward : &bench_softmax;
    return s->set.explain || s->set.as ? explain_run(s, op)
                                       : bench_command(s, op);
}

static const char *const options[] = {
    "device",      "all-devices",  "explain", "as",       "variant",
    "same-kernel", "dtype",        "log",     "backward", "trace",
    "json",        REPORT_OPTIONS, "seed",    "quick",    "full",
    "max-time",    RUN_OPTIONS,    "roofs",   "strict",   NULL};

const struct command cmd_softmax = {
    .name = "softmax",
    .summary = "time softmax over rows",
    .words = "[SHAPE...]",
    .about =
        "Times a softmax, or with --backward its gradient, over the rows of "
        "each SHAPE, ROWSxCOLS, or of the built-in cases when none is given. "
        "One read and one write of the matrix are counted, of a gradient two "
        "reads, so a variant that reads its input twice does not "
        "reach a higher rate by it. Each result is compared with the host in "
        "double precision, on a sample of rows, before and after it is "
        "timed.\n\n"
        "  clbench softmax 4096x4096 64x1000000\n"
        "  clbench softmax 8192x32000 --log --dtype f16\n"
        "  clbench softmax 8192x32000 --log --backward",
    .options = options,
    .dtypes = "f32|f16|bf16",
    .min_words = 0,
    .max_words = BENCH_MAX_WORDS,
    .run = run_softmax,
};

static int run_norm(struct session *s)
{
    const struct bench_op *op =
        s->set.backward ? &bench_norm_backward : &bench_norm;
    return s->set.explain || s->set.as ? explain_run(s, op)
                                       : bench_command(s, op);
}

static const char *const norm_options[] = {
    "device",      "all-devices", "explain",      "as",       "variant",
    "same-kernel", "dtype",       "rms",          "backward", "residual",
    "trace",       "json",        REPORT_OPTIONS, "seed",     "quick",
    "full",        "max-time",    RUN_OPTIONS,    "roofs",    "strict",
    NULL};

const struct command cmd_norm = {
    .name = "norm",
    .summary = "time layer norm or RMS norm over rows",
    .words = "[SHAPE...]",
    .about =
        "Times a layer norm with scale and bias, or with --rms an RMS norm "
        "with scale, over the rows of each SHAPE, ROWSxCOLS, or of the "
        "built-in cases when none is given; with --backward its gradients, "
        "those of scale and bias too. One read and one write of the "
        "matrix are counted, with --residual two of each, with --backward two "
        "reads. Each result is "
        "compared with the host in double precision, on a sample of rows, "
        "before and after it is timed.\n\n"
        "  clbench norm 4096x4096 65536x128\n"
        "  clbench norm 8192x5120 --rms --residual --dtype f16\n"
        "  clbench norm 16384x1024 --backward",
    .options = norm_options,
    .dtypes = "f32|f16|bf16",
    .min_words = 0,
    .max_words = BENCH_MAX_WORDS,
    .run = run_norm,
};
