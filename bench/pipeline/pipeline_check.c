/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline's result against the host. A few rows of it are followed through
 * all stages in double, each with how far off it may be by then, so that
 * nothing between the stages has to be read back. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "pipeline/pipeline_work.h"
#include "cases/host_ops.h"
#include "verify/verify.h"

enum { SAMPLE_ROWS = 64 };
static const double most_work = 1 << 26; /* products, for all rows */

/* As many as are quick, at least one. */
static size_t sample_rows(const struct pipe_work *w, size_t rows)
{
    double row = 1;
    for (unsigned i = 0; i < w->n_stages; i++)
        row += w->stage[i].flop / (double)w->stage[i].rows;
    const double n = most_work / row;
    const size_t most = xl__min_size(rows, SAMPLE_ROWS);
    return n < 1 ? 1 : n > (double)most ? most : (size_t)n;
}

static size_t widest(const struct pipe_work *w)
{
    size_t cols = 0;
    for (unsigned i = 0; i < w->n_stages; i++)
        cols = xl__max_size(cols, w->stage[i].cols);
    return cols;
}

/* Two lines: what a stage reads, and what it makes. */
struct lines {
    double *want[2], *tol[2];
};

static bool lines_init(struct lines *l, size_t cols)
{
    for (unsigned i = 0; i < 2; i++) {
        l->want[i] = xl__calloc(cols, sizeof(double));
        l->tol[i] = xl__calloc(cols, sizeof(double));
    }
    return l->want[0] && l->want[1] && l->tol[0] && l->tol[1];
}

static void lines_clear(struct lines *l)
{
    for (unsigned i = 0; i < 2; i++) {
        free(l->want[i]);
        free(l->tol[i]);
    }
}

static void check_row(const struct pipe_work *w, const void *const *inputs,
                      const void *result, size_t row, const struct lines *l,
                      struct check_result *out)
{
    struct pipe_line line = {.item = row / w->rows, .row = row % w->rows,
                             .host = inputs};
    unsigned to = 0;
    for (unsigned i = 0; i < w->n_stages; i++, to = 1 - to) {
        const struct pipe_stage *st = &w->stage[i];
        line.want = l->want[1 - to];
        line.tol = l->tol[1 - to];
        st->kind->follow(w, st, &line, l->want[to], l->tol[to]);
    }
    to = 1 - to; /* the last that was made */
    for (size_t j = 0; j < w->cols; j++) {
        struct checked_element e = {.name = w->tensor[pipe_output(w)].name,
                                    .i = row,
                                    .j = j,
                                    .expected = l->want[to][j],
                                    .tol = l->tol[to][j],
                                    .dtype = w->dtype};
        e.got = ref_load(result, row * w->cols + j, w->dtype);
        check_element(out, &e);
    }
}

xl_status pipe_check(const struct pipe_work *w, const void *const *inputs,
                     const void *result, uint64_t seed,
                     struct check_result *out)
{
    xl_status status = XL_OK;
    struct lines lines = {{NULL, NULL}, {NULL, NULL}};
    struct xl__rng rng;
    const size_t rows = w->items * w->rows, n = sample_rows(w, rows);
    check_init(out);
    xl__rng_seed(&rng, seed);
    TRY(lines_init(&lines, widest(w)) ? XL_OK : XL_NO_MEMORY);
    for (size_t s = 0; s < n && out->right; s++) {
        /* One of each of n parts, so that no chunk goes unseen. */
        const size_t row =
            s + 1 == n ? rows - 1
                       : s * (rows / n) +
                             (size_t)xl__rng_below(&rng, rows / n);
        check_row(w, inputs, result, row, &lines, out);
    }
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    lines_clear(&lines);
    return status;
}
