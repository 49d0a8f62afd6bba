/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench gemm`: time matrix products, of the command line or the case table;
 * sweeps of sizes; reads of global memory; random shapes against a bound. */
#include "tiling/cliffs.h"
#include "tiling/operand_reads.h"
#include "tiling/sweep.h"
#include "timing/run_cases.h"

static int run_gemm(struct session *s)
{
    if (s->set.list) {
        shape_file_list(stdout);
        return EXIT_FINE;
    }
    if (s->set.sweep)
        return sweep_run(s);
    if (s->set.reads)
        return operand_reads_run(s);
    if (s->set.cliff)
        return cliff_run(s);
    return bench_command(s, &bench_gemm);
}

static const char *const options[] = {
    "device",  "all-devices", "variant",      "same-kernel", "dtype",
    "dtype-b", "trans",       "accuracy",     "batch",       "heads",
    "shapes",  "sweep",       "reads",        "cliff",       "list",
    "trace",   "json",        REPORT_OPTIONS, "seed",        "quick",
    "full",    "max-time",    RUN_OPTIONS,    "roofs",       "strict",
    NULL};

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
        "than their bound.\n\n"
        "  clbench gemm 1000x1023x517 --dtype f16 --trans nt --variant all\n"
        "  clbench gemm 512x512x128 --trans nt --batch 4 --heads 32\n"
        "  clbench gemm --shapes gemm_llm --quick --json llm.json\n"
        "  clbench gemm --sweep n=1780:2060:4 --dtype f16\n"
        "  clbench gemm 2048 --sweep ld=2048:2056\n"
        "  clbench gemm --cliff 200 --seed 7 --max-time 600",
    .options = options,
    .min_words = 0,
    .max_words = BENCH_MAX_WORDS,
    .run = run_gemm,
};
