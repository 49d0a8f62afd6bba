/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of an attention case, or of its gradient: all rows are compared
 * with the host in double precision. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "verify/attention_gradients.h"
#include "verify/verify.h"

struct attention_check {
    const struct attention_case *c;
    struct guarded operand[ATTENTION_OPERANDS];
};

/* An element of a mask: one in eight is -inf; of DATA_SPECIALS rows are all
 * -inf, or have one infinity or NaN. Of a gradient such a row has no other
 * keys, to which the NaN would spread. */
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
        if (c->is_backward && i % N_ROWS != N_ROWS - 1)
            return -(double)INFINITY;
    }
    return is_masked ? -(double)INFINITY : normal;
}

static double value_at(const struct attention_case *c, unsigned operand,
                       size_t i, size_t j, struct xl__rng *rng)
{
    enum { OF_BYTES = 32, ALIKE = 32, MAGNITUDES = 4 };
    static const double steepest = 0.25;
    const bool is_kv = operand == ATTENTION_K || operand == ATTENTION_V;
    if (operand >= ATTENTION_Q_ROWS)
        return attention_number(c, operand, i, j);
    if (operand == ATTENTION_K_SCALES || operand == ATTENTION_V_SCALES)
        return (1 + xl__rng_uniform(rng)) / OF_BYTES;
    if (is_kv && c->cache == XL_I8)
        return rint(OF_BYTES * ref_normal(rng));
    /* So few digits that an engine's sums of scores are exact. */
    if (c->dtype == XL_F8E4M3 && operand <= ATTENTION_V)
        return rint(2 * ref_normal(rng)) / 2;
    if (operand == ATTENTION_MASK)
        return mask_value(c, i, j, rng);
    if (operand == ATTENTION_SLOPES)
        return steepest * xl__rng_uniform(rng);
    /* Blocks of keys that are split have factors of their own. */
    if (is_kv && c->accuracy == XL_ACCURACY_SPLIT)
        return ldexp(ref_normal(rng), -(int)(i / ALIKE % MAGNITUDES));
    return ref_normal(rng);
}

static struct attention_ref host_ref(const struct attention_check *t)
{
    struct attention_ref ref = {.c = t->c};
    for (unsigned x = 0; x < ATTENTION_OPERANDS; x++)
        ref.operand[x] = guarded_host(&t->operand[x], false);
    return ref;
}

/* The results of the forward pass, which a gradient reads. */
static void set_forward(struct attention_check *t, struct attention_row *row)
{
    const struct attention_case *c = t->c;
    const struct attention_ref ref = host_ref(t);
    double tol;
    for (size_t r = 0; r < c->n_batch * c->n_heads * c->n_q; r++) {
        const size_t i = r % c->n_q, h = r / c->n_q % c->n_heads,
                     b = r / c->n_q / c->n_heads,
                     line = attention_line(c, ATTENTION_O, b, h, i);
        attention_row(&ref, b, h, i, row);
        for (size_t j = 0; j < c->d; j++)
            guarded_set(&t->operand[ATTENTION_O], line, j,
                        attention_expected(&ref, row, j, &tol));
        guarded_set(&t->operand[ATTENTION_LSE], b * c->n_heads + h, i,
                    row->lse);
    }
}

static xl_status prepare_buffers(struct attention_check *t,
                                 struct attention_row *row,
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
        for (size_t i = 0; !attention_is_result(t->c, x) && i < g->rows; i++) {
            for (size_t j = 0; j < g->cols; j++)
                guarded_set(g, i, j, value_at(t->c, x, i, j, rng));
        }
    }
    if (t->c->is_backward)
        set_forward(t, row);
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

/* A row past the end of its sequence, of a result that is not packed. */
static void check_untouched(const struct attention_check *t,
                            enum attention_operand x, size_t b, size_t h,
                            size_t i, struct check_result *out)
{
    const struct guarded *g = &t->operand[x];
    const struct ref_mat got = guarded_back(g, false),
                         old = guarded_host(g, false);
    struct checked_element e = {.name = attention_names[x], .dtype = g->dtype};
    if (t->c->q_rows == XL_ROWS_PACKED)
        return;
    e.i = attention_line(t->c, x, b, h, i);
    for (e.j = 0; e.j < g->cols; e.j++) {
        check_read(&e, g, &got, e.i, e.j);
        e.expected = ref_at(&old, e.i, e.j);
        check_element(out, &e);
    }
}

static void check_row(const struct attention_check *t,
                      const struct attention_ref *ref, size_t b, size_t h,
                      size_t i, struct attention_row *row,
                      struct check_result *out)
{
    const struct attention_case *c = t->c;
    struct ref_mat got = guarded_back(&t->operand[ATTENTION_O], false);
    struct checked_element e = {.name = "o", .dtype = attention_out(c)};
    if (i >= attention_queries(c, b)) {
        check_untouched(t, ATTENTION_O, b, h, i, out);
        return;
    }
    attention_row(ref, b, h, i, row);
    e.i = attention_line(c, ATTENTION_O, b, h, i);
    for (e.j = 0; e.j < c->d; e.j++) {
        check_read(&e, &t->operand[ATTENTION_O], &got, e.i, e.j);
        e.expected = attention_expected(ref, row, e.j, &e.tol);
        check_element(out, &e);
    }
    if (!attention_has(c, ATTENTION_LSE))
        return;
    got = guarded_back(&t->operand[ATTENTION_LSE], false);
    size_t place = i;
    attention_place(c, ATTENTION_LSE, c->n_q, &b, &place);
    e = (struct checked_element){.name = "lse",
                                 .i = b * c->n_heads + h,
                                 .j = place,
                                 .expected = row->lse,
                                 .tol = row->lse_tol,
                                 .dtype = XL_F32};
    check_read(&e, &t->operand[ATTENTION_LSE], &got, e.i, e.j);
    check_element(out, &e);
}

static void check_results(const struct attention_check *t,
                          struct attention_row *row, struct check_result *out)
{
    const struct attention_case *c = t->c;
    const struct attention_ref ref = host_ref(t);
    for (size_t b = 0; b < c->n_batch; b++) {
        for (size_t h = 0; h < c->n_heads; h++) {
            for (size_t i = 0; i < c->n_q; i++)
                check_row(t, &ref, b, h, i, row, out);
        }
    }
}

/* Row i of a gradient. */
static void check_line(const struct attention_check *t,
                       const struct attention_ref *ref,
                       const struct attention_line_at *at,
                       const struct attention_pair *pair,
                       struct check_result *out)
{
    const struct attention_case *c = t->c;
    const struct ref_mat got = guarded_back(&t->operand[at->operand], false);
    struct checked_element e = {.name = attention_names[at->operand],
                                .dtype = c->dtype};
    e.i = attention_line(c, at->operand, at->b, at->h, at->i);
    for (e.j = 0; e.j < c->d; e.j++) {
        e.got = ref_at(&got, e.i, e.j);
        e.expected = attention_gradient(ref, at, pair, e.j, &e.tol);
        check_element(out, &e);
    }
}

static xl_status check_gradients(const struct attention_check *t,
                                 struct check_result *out)
{
    const struct attention_case *c = t->c;
    const struct attention_ref ref = host_ref(t);
    struct attention_line_at at;
    struct attention_pair *pair =
        xl__calloc(attention_most_pairs(c), sizeof *pair);
    if (!pair)
        return XL_NO_MEMORY;
    for (unsigned x = ATTENTION_GRAD_Q; x <= ATTENTION_GRAD_V; x++) {
        const bool is_q = x == ATTENTION_GRAD_Q;
        const size_t heads = is_q ? c->n_heads : attention_kv_heads(c),
                     rows = is_q ? c->n_q : c->n_kv;
        at.operand = x;
        for (at.b = 0; at.b < c->n_batch; at.b++) {
            for (at.h = 0; at.h < heads; at.h++) {
                for (at.i = 0; at.i < rows; at.i++) {
                    attention_pairs_of(&ref, &at, pair);
                    check_line(t, &ref, &at, pair, out);
                }
            }
        }
    }
    free(pair);
    return XL_OK;
}

xl_status verify_attention(struct xl_queue *q, const struct attention_case *c,
                           const char *variant, unsigned long long seed,
                           struct check_result *out)
{
    struct attention_check t = {.c = c};
    struct attention_row row = {.weight = xl__calloc(c->n_kv, sizeof(double))};
    struct xl__rng rng;
    xl_status status = XL_OK;

    check_init(out);
    xl__rng_seed(&rng, seed);
    TRY(row.weight ? XL_OK : XL_NO_MEMORY);
    TRY(prepare_buffers(&t, &row, &rng));
    TRY(run_case(&t, q, variant));
    if (c->is_backward)
        TRY(check_gradients(&t, out));
    else
        check_results(&t, &row, out);
    for (unsigned x = 0; x < ATTENTION_OPERANDS; x++) {
        if (attention_has(c, x))
            check_guards(out, &t.operand[x], attention_names[x],
                         attention_is_result(c, x));
    }
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(row.weight);
    for (unsigned x = 0; x < ATTENTION_OPERANDS; x++)
        guarded_clear(&t.operand[x]);
    return status;
}
