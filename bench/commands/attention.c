/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench attention` and `rotary`: time attention, and the rotary embedding
 * with the append to its cache, of the command line or the case table. */
#include <stdio.h>

#include "commands.h"
#include "tiling/operand_reads.h"
#include "timing/run_cases.h"

static int run_attention(struct session *s)
{
    const struct bench_op *op =
        s->set.backward ? &bench_attention_backward : &bench_attention;
    if (s->set.reads && s->set.backward) {
        fprintf(stderr, "clbench: --reads counts what attention reads, not "
                        "its gradient; leave out --backward\n");
        return EXIT_USAGE;
    }
    if (s->set.reads)
        return operand_reads_run(s, &reads_of_attention);
    return s->set.explain || s->set.as ? explain_run(s, op)
                                       : bench_command(s, op);
}

static const char *const options[] = {
    "device",       "all-devices", "explain",  "as",     "variant",
    "same-kernel",  "dtype",       "accuracy", "causal", "share",
    "window",       "backward",    "reads",    "trace",  "json",
    REPORT_OPTIONS, "seed",        "quick",    "full",   "max-time",
    RUN_OPTIONS,    "roofs",       "strict",   NULL};

const struct command cmd_attention = {
    .name = "attention",
    .summary = "time attention",
    .words = "[SHAPE...]",
    .about =
        "Times softmax(scale Q K^T) V, or with --backward the gradients of Q, "
        "K and V, for each SHAPE, BATCHxHEADSxNxD or "
        "BATCHxHEADSxQUERIESxKEYSxD (D: columns of a head), or for the "
        "built-in cases when none is given. 4 D flop are counted for each "
        "pair of a query and a key that it sees, of the gradients 10 D. Each "
        "result is compared with "
        "the host in double precision, on a sample of rows, before and after "
        "it is timed. --reads counts what is moved with and without a matrix "
        "of scores in memory; 'clbench split attention' shows the load of the "
        "compute units with a mask.\n\n"
        "  clbench attention 4x16x1024x128 --dtype f16 --causal\n"
        "  clbench attention 1x16x1024x64 --causal --backward\n"
        "  clbench attention 8x32x1x4096x128 --share 4 --variant all",
    .options = options,
    .dtypes = "f32|f16|bf16|f8e4m3",
    .min_words = 0,
    .max_words = BENCH_MAX_WORDS,
    .run = run_attention,
};

static int run_rotary(struct session *s)
{
    return s->set.explain || s->set.as ? explain_run(s, &bench_rotary)
                                       : bench_command(s, &bench_rotary);
}

static const char *const rotary_options[] = {
    "device",       "all-devices", "explain", "as",    "variant",
    "same-kernel",  "dtype",       "share",   "trace", "json",
    REPORT_OPTIONS, "seed",        "quick",   "full",  "max-time",
    RUN_OPTIONS,    "roofs",       "strict",  NULL};

const struct command cmd_rotary = {
    .name = "rotary",
    .summary = "time the rotary embedding with the append to the cache",
    .words = "[SHAPE...]",
    .about =
        "Times one kernel that rotates queries and keys by their positions "
        "and stores keys and values in the cache, for each SHAPE, "
        "BATCHxHEADSxTOKENSxD or BATCHxHEADSxTOKENSxKEYSxD (D: columns of a "
        "head; the tokens are the last of the keys), or for the built-in "
        "cases, also with caches of i8 and f8e4m3 in pages, when none is "
        "given. Bytes are those of q, k, v and of what is stored. Each result "
        "is compared with the host in double precision, on a sample of rows, "
        "before and after it is timed.\n\n"
        "  clbench rotary 1x32x4096x128 --share 4 --dtype f16\n"
        "  clbench rotary 8x32x1x4096x128 --share 4 --explain --as h200",
    .options = rotary_options,
    .dtypes = "f32|f16|bf16",
    .min_words = 0,
    .max_words = BENCH_MAX_WORDS,
    .run = run_rotary,
};
