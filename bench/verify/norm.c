/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of a norm's case: all rows are compared with the host in double
 * precision. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cases/norm_cases.h"
#include "verify/verify.h"

struct norm_check {
    const struct norm_case *c;
    struct guarded operand[NORM_OPERANDS];
};

static const char *const names[NORM_OPERANDS] = {"src", "dst",   "residual",
                                                 "sum", "scale", "bias"};

/* The operand in whose memory this one is. */
static enum norm_operand place_of(const struct norm_case *c,
                                  enum norm_operand x)
{
    const bool in_place = c->with & NORM_IN_PLACE;
    return in_place && x == NORM_DST   ? NORM_SRC
           : in_place && x == NORM_SUM ? NORM_RESIDUAL
                                       : x;
}

static bool has_memory(const struct norm_case *c, enum norm_operand x)
{
    return norm_has(c, x) && place_of(c, x) == x;
}

/* The rows of DATA_SPECIALS, by their index modulo 4. */
static double special_value(size_t i, size_t j, size_t cols, double normal)
{
    enum { ROW_EQUAL, ROW_INF, ROW_NAN, N_ROWS = 4 };
    static const double equal = 0.099975586; /* not the type's own */
    const size_t at = cols / 3;
    switch (i % N_ROWS) {
    case ROW_EQUAL:
        return equal;
    case ROW_INF:
        return j == at ? -INFINITY : normal;
    case ROW_NAN:
        return j == at ? (double)NAN : normal;
    default:
        return normal;
    }
}

static xl_status prepare_buffers(struct norm_check *t, struct xl__rng *rng)
{
    xl_status status = XL_OK;
    const struct norm_case *c = t->c;
    for (unsigned x = 0; x < NORM_OPERANDS; x++) {
        const struct guarded_layout at = {norm_is_rows(x) ? c->rows : 1,
                                          c->cols, c->pad, c->off,
                                          norm_dtype(c, x)};
        struct guarded *g = &t->operand[x];
        if (!has_memory(c, x))
            continue;
        TRY(guarded_init(g, &at));
        for (size_t i = 0; i < g->rows && x != NORM_DST && x != NORM_SUM;
             i++) {
            for (size_t j = 0; j < g->cols; j++) {
                const double normal =
                    ref_normal(rng) + (x == NORM_SRC ? c->mean : 0);
                const bool is_special =
                    x == NORM_SRC && c->data == DATA_SPECIALS;
                guarded_set(g, i, j,
                            is_special ? special_value(i, j, c->cols, normal)
                                       : normal);
            }
        }
    }
fail:
    return status;
}

static xl_status run_case(struct norm_check *t, xl_queue *q,
                          const char *variant)
{
    xl_status status = XL_OK;
    xl_mat view[NORM_OPERANDS];
    for (unsigned x = 0; x < NORM_OPERANDS; x++) {
        if (has_memory(t->c, x))
            TRY(guarded_upload(&t->operand[x], q));
    }
    for (unsigned x = 0; x < NORM_OPERANDS; x++) {
        if (norm_has(t->c, x))
            view[x] = guarded_view(&t->operand[place_of(t->c, x)], false);
    }
    const xl_norm n = norm_call(t->c, view, variant);
    TRY(xl_norm_run(q, &n, NULL));
    for (unsigned x = 0; x < NORM_OPERANDS; x++) {
        if (has_memory(t->c, x))
            TRY(guarded_download(&t->operand[x], q));
    }
fail:
    return status;
}

/* An element of an operand as it was uploaded; `otherwise` without it. */
static double host_at(const struct norm_check *t, enum norm_operand x,
                      size_t i, size_t j, double otherwise)
{
    if (!norm_has(t->c, x))
        return otherwise;
    const struct ref_mat m = guarded_host(&t->operand[x], false);
    return ref_at(&m, i, j);
}

static void check_result(const struct norm_check *t, enum norm_operand x,
                         struct checked_element *e, struct check_result *out)
{
    const struct guarded *g = &t->operand[place_of(t->c, x)];
    const struct ref_mat got = guarded_back(g, false);
    e->name = names[x];
    e->dtype = t->c->out;
    check_read(e, g, &got, e->i, e->j);
    check_element(out, e);
}

static void check_row(const struct norm_check *t, size_t i, double *x,
                      struct check_result *out)
{
    const struct norm_case *c = t->c;
    struct checked_element e = {.i = i};
    for (size_t j = 0; j < c->cols; j++) {
        const volatile float sum = (float)host_at(t, NORM_SRC, i, j, 0) +
                                   (float)host_at(t, NORM_RESIDUAL, i, j, 0);
        x[j] = (double)sum;
    }
    const struct norm_row row = norm_row(c, x);
    for (e.j = 0; e.j < c->cols; e.j++) {
        const double bias = host_at(t, NORM_BIAS, 0, e.j, 0);
        e.expected = norm_expected(
            c, &row, x[e.j], host_at(t, NORM_SCALE, 0, e.j, 1), bias, &e.tol);
        if (c->kind == XL_NORM_LAYER && c->data == DATA_SPECIALS &&
            i % 4 == 0) { /* equal values: exactly bias */
            e.expected = bias;
            e.tol = c->out == XL_F32 ? 0 : ref_roundoff(c->out) * fabs(bias);
        }
        check_result(t, NORM_DST, &e, out);
        if (!norm_has(c, NORM_SUM))
            continue;
        e.expected = x[e.j];
        e.tol = c->out == XL_F32
                    ? 0
                    : ref_roundoff(c->out) * fabs(x[e.j]) + ref_floor(c->out);
        check_result(t, NORM_SUM, &e, out);
    }
}

xl_status verify_norm(xl_queue *q, const struct norm_case *c,
                      const char *variant, unsigned long long seed,
                      struct check_result *out)
{
    struct norm_check t = {.c = c};
    double *x = xl__calloc(c->cols, sizeof *x);
    struct xl__rng rng;
    xl_status status = XL_OK;
    check_init(out);
    xl__rng_seed(&rng, seed);
    TRY(x ? XL_OK : XL_NO_MEMORY);
    TRY(prepare_buffers(&t, &rng));
    TRY(run_case(&t, q, variant));
    for (size_t i = 0; i < c->rows; i++)
        check_row(&t, i, x, out);
    for (unsigned k = 0; k < NORM_OPERANDS; k++) {
        const bool is_result = k == NORM_DST || k == NORM_SUM ||
                               (c->with & NORM_IN_PLACE && k <= NORM_SUM);
        if (has_memory(c, k))
            check_guards(out, &t.operand[k], names[k], is_result);
    }
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(x);
    for (unsigned k = 0; k < NORM_OPERANDS; k++)
        guarded_clear(&t.operand[k]);
    return status;
}
