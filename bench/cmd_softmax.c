/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench softmax`: row shapes of the user's or of the case table, timed. */
#include <stdio.h>

#include "op_bench.h"
#include "shapes.h"

/* The user's shapes as cases; false after saying what is wrong. */
static bool read_shapes(const struct session *s, struct softmax_case *own,
                        const void **cases)
{
    for (unsigned i = 0; i < s->set.n_words; i++) {
        xl_dtype dtype = s->set.dtype == XL_N_DTYPES ? XL_F32 : s->set.dtype;
        size_t rows_cols[2];
        char why[160];
        if (!shape_rows(s->set.words[i], rows_cols, why, sizeof why)) {
            fprintf(stderr, "clbench: %s\n", why);
            return false;
        }
        own[i] = (struct softmax_case){
            .name = "own", .use = CASE_BENCH, .rows = rows_cols[0],
            .cols = rows_cols[1], .dtype = dtype};
        cases[i] = &own[i];
    }
    return true;
}

static int run(struct session *s)
{
    struct softmax_case own[BENCH_MAX_CASES];
    const void *cases[BENCH_MAX_CASES];
    unsigned n = s->set.n_words;
    if (!read_shapes(s, own, cases))
        return EXIT_USAGE;
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    if (!n)
        n = bench_pick_softmax(s, cases);
    code = bench_run(s, &bench_softmax, cases, n,
                     s->set.n_words ? CASES_OF_USER : CASES_OF_TABLE);
    return code != EXIT_FINE ? code : session_result(s);
}

static const char *const options[] = {
    "device", "all-devices", "variant", "dtype", "json", "seed", "quick",
    "full", "max-time", "strict", NULL};

const struct command cmd_softmax = {
    .name = "softmax",
    .summary = "time softmax over rows",
    .words = "[SHAPE...]",
    .about =
        "Times a softmax over the rows of each SHAPE, ROWSxCOLS, or of the "
        "built-in cases when none is given. One read and one write of the "
        "matrix are counted, so a variant that reads its input twice cannot "
        "look better for it. Every result is compared with the host in "
        "double, on a sample of rows, before and after it is timed.\n\n"
        "  clbench softmax 4096x4096 64x1000000",
    .options = options,
    .min_words = 0,
    .max_words = BENCH_MAX_CASES,
    .run = run,
};
