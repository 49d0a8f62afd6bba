/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench gemm`: shapes of the user's or of the case table, timed. */
#include <stdio.h>

#include "op_bench.h"
#include "shapes.h"

/* The user's shapes as cases; false after saying what is wrong. */
static bool read_shapes(const struct session *s, struct gemm_case *own,
                        const void **cases)
{
    for (unsigned i = 0; i < s->set.n_words; i++) {
        xl_dtype dtype = s->set.dtype == XL_N_DTYPES ? XL_F32 : s->set.dtype;
        size_t mnk[3];
        char why[160];
        if (!shape_gemm(s->set.words[i], mnk, why, sizeof why)) {
            fprintf(stderr, "clbench: %s\n", why);
            return false;
        }
        own[i] = (struct gemm_case){
            .name = "own", .use = CASE_BENCH, .m = mnk[0], .n = mnk[1],
            .k = mnk[2], .trans = s->set.trans < 0 ? 0 : s->set.trans,
            .alpha = 1, .in = dtype, .out = dtype};
        cases[i] = &own[i];
    }
    return true;
}

static int run(struct session *s)
{
    struct gemm_case own[BENCH_MAX_CASES];
    const void *cases[BENCH_MAX_CASES];
    unsigned n = s->set.n_words;
    if (!read_shapes(s, own, cases))
        return EXIT_USAGE;
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    if (!n)
        n = bench_pick_gemm(s, cases);
    code = bench_run(s, &bench_gemm, cases, n,
                     s->set.n_words ? CASES_OF_USER : CASES_OF_TABLE);
    return code != EXIT_FINE ? code : session_result(s);
}

static const char *const options[] = {
    "device", "all-devices", "variant", "dtype", "trans", "json", "seed",
    "quick", "full", "max-time", "strict", NULL};

const struct command cmd_gemm = {
    .name = "gemm",
    .summary = "time matrix products",
    .words = "[SHAPE...]",
    .about =
        "Times C = A B for each SHAPE, MxNxK or N for a cube, or for the "
        "built-in cases when none is given. Every result is compared with "
        "the host in double, on a sample, before and after it is timed. "
        "Built-in cases that would take long are skipped with a line that "
        "says so; --full runs them.\n\n"
        "  clbench gemm 1000x1023x517 --dtype f16 --trans nt --variant all",
    .options = options,
    .min_words = 0,
    .max_words = BENCH_MAX_CASES,
    .run = run,
};
