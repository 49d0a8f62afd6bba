/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of an attention case: all rows are compared with the host in
 * double precision. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cases/attention_cases.h"
#include "verify/verify.h"

struct attention_check {
    const struct attention_case *c;
    struct guarded operand[ATTENTION_OPERANDS];
};

static bool is_result(unsigned i)
{
    return i == ATTENTION_O || i == ATTENTION_LSE;
}

/* An element of a mask: one in eight is -inf; of DATA_SPECIALS rows are all
 * -inf, or have one infinity or NaN. */
static double mask_value(const struct attention_case *c, size_t i, size_t j,
                         struct xl__rng *rng)
{
    enum { ONE_IN = 8, ROW_ALL_MASKED = 0, ROW_INF, ROW_NAN, N_ROWS = 4 };
    const bool is_masked = xl__rng_below(rng, ONE_IN) == 0;
    const double normal = ref_normal(rng);
    if (c->data == DATA_SPECIALS) {
        if (i % N_ROWS == ROW_ALL_MASKED)
            return -(double)INFINITY;
        if (j == c->n_kv / 3 && i % N_ROWS == ROW_INF)
            return (double)INFINITY;
        if (j == c->n_kv / 3 && i % N_ROWS == ROW_NAN)
            return (double)NAN;
    }
    return is_masked ? -(double)INFINITY : normal;
}

static double value_at(const struct attention_case *c, unsigned operand,
                       size_t i, size_t j, struct xl__rng *rng)
{
    static const double steepest = 0.25;
    if (operand == ATTENTION_MASK)
        return mask_value(c, i, j, rng);
    if (operand == ATTENTION_SLOPES)
        return steepest * xl__rng_uniform(rng);
    return ref_normal(rng);
}

static xl_status prepare_buffers(struct attention_check *t,
                                 struct xl__rng *rng)
{
    xl_status status = XL_OK;
    for (unsigned x = 0; x < ATTENTION_OPERANDS; x++) {
        const struct attention_lines lines = attention_lines(t->c, x);
        const struct guarded_layout at = {lines.rows, lines.cols, t->c->pad,
                                          t->c->off, lines.dtype};
        struct guarded *g = &t->operand[x];
        if (!attention_has(t->c, x))
            continue;
        TRY(guarded_init(g, &at));
        for (size_t i = 0; !is_result(x) && i < g->rows; i++) {
            for (size_t j = 0; j < g->cols; j++)
                guarded_set(g, i, j, value_at(t->c, x, i, j, rng));
        }
    }
fail:
    return status;
}

static xl_status run_case(struct attention_check *t, xl_queue *q,
                          const char *variant)
{
    xl_status status = XL_OK;
    struct attention_memory at = {.ld = {0}};
    struct attention_call call;
    for (unsigned x = 0; x < ATTENTION_OPERANDS; x++) {
        if (attention_has(t->c, x))
            TRY(guarded_upload(&t->operand[x], q));
        at.mem[x] = t->operand[x].mem;
        at.first[x] = t->operand[x].first;
        at.ld[x] = t->operand[x].ld;
    }
    attention_call_init(&call, t->c, &at, variant);
    TRY(xl_attention_run(q, &call.a, NULL));
    for (unsigned x = 0; x < ATTENTION_OPERANDS; x++) {
        if (attention_has(t->c, x))
            TRY(guarded_download(&t->operand[x], q));
    }
fail:
    return status;
}

static void check_row(const struct attention_check *t,
                      const struct attention_ref *ref,
                      const struct attention_row *row, size_t i,
                      struct check_result *out)
{
    const struct attention_case *c = t->c;
    struct ref_mat got = guarded_back(&t->operand[ATTENTION_O], false);
    struct checked_element e = {.name = "o", .dtype = c->dtype};
    e.i = attention_line(c, ATTENTION_O, row->b, row->h, i);
    for (e.j = 0; e.j < c->d; e.j++) {
        check_read(&e, &t->operand[ATTENTION_O], &got, e.i, e.j);
        e.expected = attention_expected(ref, row, e.j, &e.tol);
        check_element(out, &e);
    }
    if (!attention_has(c, ATTENTION_LSE))
        return;
    got = guarded_back(&t->operand[ATTENTION_LSE], false);
    e = (struct checked_element){.name = "lse",
                                 .i = row->b * c->n_heads + row->h,
                                 .j = i,
                                 .expected = row->lse,
                                 .tol = row->lse_tol,
                                 .dtype = XL_F32};
    check_read(&e, &t->operand[ATTENTION_LSE], &got, e.i, e.j);
    check_element(out, &e);
}

static void check_all(const struct attention_check *t, double *weight,
                      struct check_result *out)
{
    static const char *const names[] = {"q",      "k",     "v",     "o",
                                        "lse",    "mask",  "slopes", "sinks",
                                        "slope", "at"};
    const struct attention_case *c = t->c;
    struct attention_ref ref = {.c = c};
    struct attention_row row = {.weight = weight};
    for (unsigned x = 0; x < ATTENTION_OPERANDS; x++)
        ref.operand[x] = guarded_host(&t->operand[x], false);
    for (size_t b = 0; b < c->n_batch; b++) {
        for (size_t h = 0; h < c->n_heads; h++) {
            for (size_t i = 0; i < c->n_q; i++) {
                attention_row(&ref, b, h, i, &row);
                check_row(t, &ref, &row, i, out);
            }
        }
    }
    for (unsigned x = 0; x < ATTENTION_OPERANDS; x++) {
        if (attention_has(c, x))
            check_guards(out, &t->operand[x], names[x], is_result(x));
    }
}

xl_status verify_attention(struct xl_queue *q, const struct attention_case *c,
                           const char *variant, unsigned long long seed,
                           struct check_result *out)
{
    struct attention_check t = {.c = c};
    double *weight = xl__calloc(c->n_kv, sizeof *weight);
    struct xl__rng rng;
    xl_status status = XL_OK;

    check_init(out);
    xl__rng_seed(&rng, seed);
    TRY(weight ? XL_OK : XL_NO_MEMORY);
    TRY(prepare_buffers(&t, &rng));
    TRY(run_case(&t, q, variant));
    check_all(&t, weight, out);
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(weight);
    for (unsigned x = 0; x < ATTENTION_OPERANDS; x++)
        guarded_clear(&t.operand[x]);
    return status;
}
