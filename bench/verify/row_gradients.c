/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of a gradient over rows: all elements and sums over columns are
 * compared with the host in double precision. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cases/norm_cases.h"
#include "verify/verify.h"

struct gradient_check {
    const struct gradient_case *c;
    struct guarded operand[GRADIENT_OPERANDS];
    /* A row of src and of the gradient; sums of columns and their tolerances,
     * of scale, then of bias. */
    double *x, *g, *sum[2], *tol[2];
};

/* The operand in whose memory this one is. */
static enum gradient_operand place_of(const struct gradient_case *c,
                                      enum gradient_operand x)
{
    static const enum gradient_operand of_dst[] = {GRADIENT_DST, GRADIENT_SRC,
                                                   GRADIENT_GRAD};
    return x == GRADIENT_DST ? of_dst[c->place] : x;
}

static bool has_memory(const struct gradient_case *c, enum gradient_operand x)
{
    return gradient_has(c, x) && place_of(c, x) == x;
}

/* A row of src: of a softmax the result of one of normal values. */
static void fill_row(struct gradient_check *t, size_t i, struct xl__rng *rng)
{
    const struct gradient_case *c = t->c;
    double max;
    for (size_t j = 0; j < c->cols; j++)
        t->x[j] = ref_normal(rng) + c->mean;
    if (c->kind == GRADIENT_SOFTMAX)
        ref_softmax_row(t->x, c->cols, t->g, &max);
    if (c->kind == GRADIENT_LOG)
        ref_log_softmax_row(t->x, c->cols, t->g, &max);
    for (size_t j = 0; j < c->cols; j++)
        guarded_set(&t->operand[GRADIENT_SRC], i, j,
                    gradient_is_norm(c) ? t->x[j] : t->g[j]);
}

static xl_status prepare_buffers(struct gradient_check *t, struct xl__rng *rng)
{
    xl_status status = XL_OK;
    const struct gradient_case *c = t->c;
    for (unsigned x = 0; x < GRADIENT_OPERANDS; x++) {
        const struct guarded_layout at = {gradient_is_rows(x) ? c->rows : 1,
                                          c->cols, c->pad, c->off,
                                          gradient_dtype(c, x)};
        if (!has_memory(c, x))
            continue;
        TRY(guarded_init(&t->operand[x], &at));
        if (x == GRADIENT_SRC) {
            for (size_t i = 0; i < c->rows; i++)
                fill_row(t, i, rng);
        } else if (!gradient_is_result(x)) {
            guarded_fill(&t->operand[x], rng);
        }
    }
fail:
    return status;
}

static xl_status run_case(struct gradient_check *t, xl_queue *q,
                          const char *variant)
{
    xl_status status = XL_OK;
    xl_mat view[GRADIENT_OPERANDS];
    for (unsigned x = 0; x < GRADIENT_OPERANDS; x++) {
        if (has_memory(t->c, x))
            TRY(guarded_upload(&t->operand[x], q));
    }
    for (unsigned x = 0; x < GRADIENT_OPERANDS; x++)
        view[x] = guarded_view(&t->operand[place_of(t->c, x)], false);
    TRY(gradient_run(q, t->c, view, variant));
    for (unsigned x = 0; x < GRADIENT_OPERANDS; x++) {
        if (has_memory(t->c, x))
            TRY(guarded_download(&t->operand[x], q));
    }
fail:
    return status;
}

static double host_at(const struct gradient_check *t, enum gradient_operand x,
                      size_t i, size_t j)
{
    const struct ref_mat m = guarded_host(&t->operand[x], false);
    return ref_at(&m, i, j);
}

static void check_result(const struct gradient_check *t,
                         enum gradient_operand x, struct checked_element *e,
                         struct check_result *out)
{
    const struct guarded *g = &t->operand[place_of(t->c, x)];
    const struct ref_mat got = guarded_back(g, false);
    e->name = gradient_names[x];
    e->dtype = t->c->out;
    check_read(e, g, &got, e->i, e->j);
    check_element(out, e);
}

static void check_row(struct gradient_check *t, size_t i,
                      struct check_result *out)
{
    const struct gradient_case *c = t->c;
    struct checked_element e = {.i = i};
    for (size_t j = 0; j < c->cols; j++) {
        t->x[j] = host_at(t, GRADIENT_SRC, i, j);
        t->g[j] = host_at(t, GRADIENT_GRAD, i, j);
        if (gradient_has(c, GRADIENT_SCALE))
            t->g[j] *= host_at(t, GRADIENT_SCALE, 0, j);
    }
    const struct gradient_row row = gradient_row(c, t->x, t->g);
    for (e.j = 0; e.j < c->cols; e.j++) {
        e.expected = gradient_expected(c, &row, t->x[e.j], t->g[e.j], &e.tol);
        check_result(t, GRADIENT_DST, &e, out);
        for (unsigned k = 0; k < 2; k++)
            gradient_column_add(c, GRADIENT_OF_SCALE + k, t->x[e.j],
                                host_at(t, GRADIENT_GRAD, i, e.j), &row,
                                &t->sum[k][e.j], &t->tol[k][e.j]);
    }
}

static void check_columns(struct gradient_check *t, struct check_result *out)
{
    for (unsigned k = 0; k < 2; k++) {
        struct checked_element e = {.i = 0};
        if (!gradient_has(t->c, GRADIENT_OF_SCALE + k))
            continue;
        for (e.j = 0; e.j < t->c->cols; e.j++) {
            e.expected = t->sum[k][e.j];
            e.tol = gradient_column_tol(t->c, e.expected, t->tol[k][e.j]);
            check_result(t, GRADIENT_OF_SCALE + k, &e, out);
        }
    }
}

xl_status verify_gradient(xl_queue *q, const struct gradient_case *c,
                          const char *variant, unsigned long long seed,
                          struct check_result *out)
{
    struct gradient_check t = {.c = c};
    double *const room = xl__calloc(6 * c->cols, sizeof *room);
    struct xl__rng rng;
    xl_status status = XL_OK;
    check_init(out);
    xl__rng_seed(&rng, seed);
    TRY(room ? XL_OK : XL_NO_MEMORY);
    t.x = room;
    t.g = t.x + c->cols;
    for (unsigned k = 0; k < 2; k++) {
        t.sum[k] = t.g + (1 + 2 * k) * c->cols;
        t.tol[k] = t.sum[k] + c->cols;
    }
    TRY(prepare_buffers(&t, &rng));
    TRY(run_case(&t, q, variant));
    for (size_t i = 0; i < c->rows; i++)
        check_row(&t, i, out);
    check_columns(&t, out);
    for (unsigned x = 0; x < GRADIENT_OPERANDS; x++) {
        if (has_memory(c, x))
            check_guards(out, &t.operand[x], gradient_names[x],
                         gradient_is_result(x) ||
                             x == place_of(c, GRADIENT_DST));
    }
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(room);
    for (unsigned x = 0; x < GRADIENT_OPERANDS; x++)
        guarded_clear(&t.operand[x]);
    return status;
}
