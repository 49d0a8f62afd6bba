/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of the rotary embedding with the append to the cache: all that
 * tokens store is compared with the host in double precision, and all else
 * must be as it was. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "verify/verify.h"

struct rotary_check {
    const struct rotary_case *c;
    struct guarded operand[ROTARY_OPERANDS];
    unsigned char *is_stored[ROTARY_OPERANDS]; /* rows of results */
};

static double value_at(const struct rotary_case *c, enum rotary_operand x,
                       size_t i, size_t j, struct xl__rng *rng)
{
    enum { CODES = 64 };
    if (x >= ROTARY_Q_ROWS && x <= ROTARY_PAGES)
        return rotary_number(c, x, i, j);
    if (x == ROTARY_FACTORS)
        return 1 + (double)j * xl__rng_uniform(rng);
    if ((x == ROTARY_K_CACHE || x == ROTARY_V_CACHE) && c->a.cache == XL_I8)
        return (double)xl__rng_below(rng, CODES);
    return ref_normal(rng);
}

static xl_status prepare_buffers(struct rotary_check *t, struct xl__rng *rng)
{
    xl_status status = XL_OK;
    for (unsigned x = 0; x < ROTARY_OPERANDS; x++) {
        const struct attention_lines lines = rotary_lines(t->c, x);
        const struct guarded_layout at = {lines.rows, lines.cols, t->c->a.pad,
                                          t->c->a.off, lines.dtype};
        struct guarded *g = &t->operand[x];
        if (!rotary_has(t->c, x))
            continue;
        TRY(guarded_init(g, &at));
        t->is_stored[x] = xl__calloc(g->rows, 1);
        TRY(t->is_stored[x] ? XL_OK : XL_NO_MEMORY);
        for (size_t i = 0; i < g->rows; i++)
            for (size_t j = 0; j < g->cols; j++)
                guarded_set(g, i, j, value_at(t->c, x, i, j, rng));
    }
fail:
    return status;
}

static xl_status run_case(struct rotary_check *t, xl_queue *q,
                          const char *variant)
{
    xl_status status = XL_OK;
    struct rotary_memory at = {.ld = {0}};
    struct rotary_call call;
    for (unsigned x = 0; x < ROTARY_OPERANDS; x++) {
        if (rotary_has(t->c, x))
            TRY(guarded_upload(&t->operand[x], q));
        at.mem[x] = t->operand[x].mem;
        at.first[x] = t->operand[x].first;
        at.ld[x] = t->operand[x].ld;
    }
    rotary_call_init(&call, t->c, &at, variant);
    TRY(xl_rotary_run(q, &call.r, NULL));
    for (unsigned x = 0; x < ROTARY_OPERANDS; x++) {
        if (rotary_has(t->c, x))
            TRY(guarded_download(&t->operand[x], q));
    }
fail:
    return status;
}

static void check_stored(struct rotary_check *t, enum rotary_operand x,
                         size_t line, const double *value, const double *tol,
                         struct check_result *out)
{
    const struct guarded *g = &t->operand[x];
    const struct ref_mat got = guarded_back(g, false);
    struct checked_element e = {
        .name = rotary_names[x], .i = line, .dtype = g->dtype};
    for (e.j = 0; e.j < g->cols; e.j++) {
        check_read(&e, g, &got, line, e.j);
        e.expected = value[e.j];
        e.tol = tol[e.j];
        check_element(out, &e);
    }
    t->is_stored[x][line] = 1;
}

/* What token i of sequence b stores of head h of q, k or v. */
static void check_row(struct rotary_check *t, const struct rotary_ref *ref,
                      enum rotary_operand x, const size_t at[3],
                      struct rotary_row *row, struct check_result *out)
{
    const struct rotary_case *c = t->c;
    const enum rotary_operand scales = x + ROTARY_K_SCALES - ROTARY_K,
                              to = x == ROTARY_Q && c->in_place
                                       ? ROTARY_Q
                                       : x + ROTARY_Q_OUT;
    const size_t b = at[0], h = at[1], i = at[2];
    size_t place;
    if (!rotary_position(c, b, i, &place))
        return;
    rotary_row(ref, x, b, h, i, row);
    if (x == ROTARY_Q)
        place = i;
    check_stored(t, to, rotary_line(c, to, b, h, place), row->value, row->tol,
                 out);
    if (x != ROTARY_Q && rotary_has(c, scales))
        check_stored(t, scales, rotary_line(c, scales, b, h, place),
                     &row->scale, &row->scale_tol, out);
}

static void check_others(const struct rotary_check *t, enum rotary_operand x,
                         struct check_result *out)
{
    const struct guarded *g = &t->operand[x];
    const struct ref_mat got = guarded_back(g, false),
                         old = guarded_host(g, false);
    struct checked_element e = {.name = rotary_names[x], .dtype = g->dtype};
    for (e.i = 0; e.i < g->rows; e.i++) {
        for (e.j = 0; !t->is_stored[x][e.i] && e.j < g->cols; e.j++) {
            check_read(&e, g, &got, e.i, e.j);
            e.expected = ref_at(&old, e.i, e.j);
            check_element(out, &e);
        }
    }
}

static void check_all(struct rotary_check *t, struct rotary_row *row,
                      struct check_result *out)
{
    const struct rotary_case *c = t->c;
    struct rotary_ref ref = {.c = c};
    for (unsigned x = 0; x < ROTARY_OPERANDS; x++)
        ref.operand[x] = guarded_host(&t->operand[x], false);
    for (unsigned x = ROTARY_Q; x <= ROTARY_V; x++) {
        const size_t heads =
            x == ROTARY_Q ? c->a.n_heads : attention_kv_heads(&c->a);
        for (size_t r = 0;
             rotary_has(c, x) && r < c->a.n_batch * heads * c->a.n_q; r++) {
            const size_t at[3] = {r / c->a.n_q / heads, r / c->a.n_q % heads,
                                  r % c->a.n_q};
            check_row(t, &ref, x, at, row, out);
        }
    }
    for (unsigned x = 0; x < ROTARY_OPERANDS; x++) {
        const bool is_result =
            rotary_is_result(x) || (x == ROTARY_Q && c->in_place);
        if (!rotary_has(c, x))
            continue;
        if (is_result)
            check_others(t, x, out);
        check_guards(out, &t->operand[x], rotary_names[x], is_result);
    }
}

xl_status verify_rotary(xl_queue *q, const struct rotary_case *c,
                        const char *variant, unsigned long long seed,
                        struct check_result *out)
{
    struct rotary_check t = {.c = c};
    struct rotary_row row = {.value = xl__calloc(c->a.d, sizeof(double)),
                             .tol = xl__calloc(c->a.d, sizeof(double))};
    struct xl__rng rng;
    xl_status status = XL_OK;
    check_init(out);
    xl__rng_seed(&rng, seed);
    TRY(row.value && row.tol ? XL_OK : XL_NO_MEMORY);
    TRY(prepare_buffers(&t, &rng));
    TRY(run_case(&t, q, variant));
    check_all(&t, &row, out);
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(row.value);
    free(row.tol);
    for (unsigned x = 0; x < ROTARY_OPERANDS; x++) {
        guarded_clear(&t.operand[x]);
        free(t.is_stored[x]);
    }
    return status;
}
