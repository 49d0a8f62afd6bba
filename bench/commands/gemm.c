/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench gemm`, `qgemm` and `qconvert`: time matrix products and the
 * conversion of quantised matrices, of the command line or the
 * case table; of gemm sweeps of sizes; reads of global memory; random shapes
 * against a bound. */
#include <stdio.h>
#include <string.h>

#include "tiling/cliffs.h"
#include "tiling/operand_reads.h"
#include "tiling/sweep.h"
#include "commands.h"
#include "timing/run_cases.h"

/* Three sizes are three cubes here, and one product elsewhere. */
static void hint_sizes(const struct session *s)
{
    const char *const *w = s->set.words;
    if (s->set.n_words != 3 || s->set.quiet)
        return;
    for (unsigned i = 0; i < 3; i++)
        if (w[i][strspn(w[i], "0123456789")])
            return;
    fprintf(stderr,
            "clbench: these are three cubes; one product is %sx%sx%s\n", w[0],
            w[1], w[2]);
}

static int run_gemm(struct session *s)
{
    if (s->set.list) {
        shape_file_list(stdout, s->command->name);
        return EXIT_FINE;
    }
    if (s->set.sweep)
        return sweep_run(s);
    if (s->set.reads)
        return operand_reads_run(s, &reads_of_gemm);
    if (s->set.cliff)
        return cliff_run(s);
    hint_sizes(s);
    return s->set.explain || s->set.as ? explain_run(s, &bench_gemm)
                                       : bench_command(s, &bench_gemm);
}

static const char *const options[] = {
    "device",      "all-devices", "explain", "as",       "variant",
    "same-kernel", "dtype",       "dtype-b", "trans",    "accuracy",
    "batch",       "heads",       "shapes",  "sweep",    "reads",
    "cliff",       "list",        "trace",   "json",     REPORT_OPTIONS,
    "seed",        "quick",       "full",    "max-time", RUN_OPTIONS,
    "roofs",       "strict",      NULL};

const struct command cmd_gemm = {
    .name = "gemm",
    .summary = "time matrix products",
    .words = "[SHAPE...]",
    .about =
        "Times C = A B for each SHAPE, MxNxK or N for a cube, or for the "
        "built-in cases when none is given. Each result is compared with "
        "the host in double precision, on a sample, before and after it is "
        "timed. Built-in cases that take long are skipped with a message; "
        "--full runs them. --shapes takes the cases from a file, such as "
        "those "
        "that come with clbench: gemm_square, gemm_llm, gemm_batched. --sweep "
        "shows the effects of tiles, waves and row alignment, --reads counts "
        "what tiles read, --cliff searches for shapes that are much slower "
        "than their bound. --explain prints what the library would do and "
        "why; "
        "--as implies it.\n\n"
        "  clbench gemm 1000x1023x517 --dtype f16 --trans nt --variant all\n"
        "  clbench gemm 512x512x128 --trans nt --batch 4 --heads 32\n"
        "  clbench gemm --shapes gemm_llm --quick --json llm.json\n"
        "  clbench gemm --sweep n=1780:2060:4 --dtype f16\n"
        "  clbench gemm 2048 --sweep ld=2048:2056\n"
        "  clbench gemm 4096 --explain --as rx-7900-xtx\n"
        "  clbench gemm --cliff 200 --seed 7 --max-time 600",
    .options = options,
    .min_words = 0,
    .max_words = BENCH_MAX_WORDS,
    .run = run_gemm,
};

static int run_qgemm(struct session *s)
{
    return s->set.explain || s->set.as ? explain_run(s, &bench_qgemm)
                                       : bench_command(s, &bench_qgemm);
}

static const char *const qgemm_options[] = {
    "device",       "all-devices", "explain", "as",    "variant",
    "same-kernel",  "dtype",       "format",  "group", "accuracy",
    "activations",  "rms",         "pair",    "trace", "json",
    REPORT_OPTIONS, "seed",        "quick",   "full",  "max-time",
    RUN_OPTIONS,    "roofs",       "strict",  NULL};

const struct command cmd_qgemm = {
    .name = "qgemm",
    .summary = "time products with quantised weights",
    .words = "[SHAPE...]",
    .about =
        "Times C = A W^T for each SHAPE, MxNxK: A has M rows of --dtype, W "
        "has "
        "N rows of K quantised weights in --format. Without a SHAPE the "
        "built-in cases run, layers of a language model that decodes. Up to "
        "16 "
        "rows the value is bytes per second, the weights counted at their "
        "bits, "
        "and the roof is the rate of reading; beyond, flop per second. Each "
        "result is compared with the host in double precision, on a sample, "
        "before and after it is timed.\n\n"
        "  clbench qgemm 1x4096x14336 --format q4_0\n"
        "  clbench qgemm 8x4096x4096 --format int4 --group 64 --dtype f16 "
        "--variant all\n"
        "  clbench qgemm 1x4096x14336 --format q8_0 --activations i8\n"
        "  clbench qgemm 1x14336x4096 --rms --dtype f16 --explain\n"
        "  clbench qgemm 1x28672x4096 --pair\n"
        "  clbench qgemm 1x8192x28672 --format q4_k --explain --as h200",
    .options = qgemm_options,
    .dtypes = "f32|f16|bf16",
    .min_words = 0,
    .max_words = BENCH_MAX_WORDS,
    .run = run_qgemm,
};

static int run_qconvert(struct session *s)
{
    return s->set.explain || s->set.as ? explain_run(s, &bench_qconvert)
                                       : bench_command(s, &bench_qconvert);
}

static const char *const qconvert_options[] = {
    "device",      "all-devices", "explain",      "as",    "variant",
    "same-kernel", "dtype",       "format",       "group", "dequantise",
    "trace",       "json",        REPORT_OPTIONS, "seed",  "quick",
    "full",        "max-time",    RUN_OPTIONS,    "roofs", "strict",
    NULL};

const struct command cmd_qconvert = {
    .name = "qconvert",
    .summary = "time the conversion of quantised matrices",
    .words = "[SHAPE...]",
    .about =
        "Times the quantisation of ROWSxCOLS elements of --dtype to --format "
        "on the device, with --dequantise the inverse. Without a SHAPE the "
        "built-in cases run, a layer of a language model, both ways. The "
        "value is the bytes of both matrices by time. Rows of the result are "
        "compared with the host's, bit for bit, before and after it is "
        "timed.\n\n"
        "  clbench qconvert 4096x14336 --format q4_0 --dtype f16\n"
        "  clbench qconvert 4096x4096 --format int4 --group 64 --variant "
        "all\n"
        "  clbench qconvert 4096x14336 --format q6_k --dequantise --explain "
        "--as h200",
    .options = qconvert_options,
    .dtypes = "f32|f16|bf16",
    .min_words = 0,
    .max_words = BENCH_MAX_WORDS,
    .run = run_qconvert,
};
