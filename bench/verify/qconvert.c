/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of quantisation and its inverse: every byte that is written is
 * compared with the host's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/error.h"
#include "verify/verify.h"

struct qconvert_check {
    const struct qconvert_case *c;
    struct guarded operand[QCONVERT_OPERANDS]; /* parts of w as bytes */
    void *expected[QCONVERT_OPERANDS];         /* of results; NULL: none */
    float *x;                                  /* n x k */
};

static xl_status init_operands(struct qconvert_check *t)
{
    xl_status status = XL_OK;
    const struct qgemm_case *c = &t->c->of;
    for (unsigned i = 0; i < QCONVERT_OPERANDS; i++) {
        const size_t bytes = i == QCONVERT_X ? 0 : qconvert_bytes(t->c, i);
        const struct guarded_layout at =
            i == QCONVERT_X
                ? (struct guarded_layout){c->n, c->k, c->pad, c->off, c->in}
                : (struct guarded_layout){1, bytes, 0, c->off, XL_U8};
        if (i != QCONVERT_X && bytes == 0)
            continue;
        TRY(guarded_init(&t->operand[i], &at));
        if (!qconvert_is_result(t->c, i))
            continue;
        t->expected[i] = xl__calloc(at.rows * at.cols, sizeof(float));
        TRY(t->expected[i] ? XL_OK : XL_NO_MEMORY);
    }
fail:
    return status;
}

static unsigned char *first_byte(const struct guarded *g)
{
    return g->rows
               ? (unsigned char *)g->host + g->first * xl_dtype_bytes(g->dtype)
               : NULL;
}

/* Units of 32 columns of zeros, of one size, small, large and normal ones. */
static double value_at(size_t i, struct xl__rng *rng)
{
    enum { KINDS = 11, ZEROS = 1, EQUAL, SMALL, LARGE };
    static const double equal = 0.75, small = 0x1p-13, large = 0x1p7;
    const double v = ref_normal(rng);
    switch (i / 32 % KINDS) {
    case ZEROS:
        return 0;
    case EQUAL:
        return v < 0 ? -equal : equal;
    case SMALL:
        return v * small;
    case LARGE:
        return v * large;
    default:
        return v;
    }
}

static xl_status make_values(struct qconvert_check *t, struct xl__rng *rng)
{
    xl_status status = XL_OK;
    const struct qconvert_case *c = t->c;
    const xl_qshape shape = qgemm_case_shape(&c->of);
    struct guarded *x = &t->operand[QCONVERT_X];
    void *to[QCONVERT_OPERANDS];
    const size_t n = c->of.n * c->of.k;
    t->x = xl__calloc(n, sizeof *t->x);
    TRY(t->x ? XL_OK : XL_NO_MEMORY);
    for (size_t i = 0; i < n; i++) {
        unsigned char stored[sizeof(float)];
        xl__dtype_store(stored, 0, c->of.in, value_at(i, rng));
        t->x[i] = (float)xl__dtype_load(stored, 0, c->of.in);
        if (!c->is_dequantise)
            guarded_set(x, i / c->of.k, i % c->of.k, (double)t->x[i]);
    }
    for (unsigned i = 0; i < QCONVERT_OPERANDS; i++)
        to[i] = t->expected[i] ? t->expected[i] : first_byte(&t->operand[i]);
    const xl_qdata data = {to[QCONVERT_BLOCKS], to[QCONVERT_SCALES],
                           to[QCONVERT_ZEROS]};
    TRY(xl_qmat_quantise_host(&shape, t->x, &data));
    if (c->is_dequantise) {
        TRY(xl_qmat_dequantise_host(&shape, &data, t->x));
        for (size_t i = 0; i < n; i++)
            xl__dtype_store(t->expected[QCONVERT_X], i, c->of.in,
                            (double)t->x[i]);
    }
fail:
    return status;
}

static xl_status run_case(struct qconvert_check *t, xl_queue *q,
                          const char *variant)
{
    xl_status status = XL_OK;
    cl_mem mem[QCONVERT_OPERANDS] = {NULL};
    size_t first[QCONVERT_OPERANDS] = {0};
    for (unsigned i = 0; i < QCONVERT_OPERANDS; i++) {
        struct guarded *g = &t->operand[i];
        if (g->rows == 0)
            continue;
        TRY(guarded_upload(g, q));
        mem[i] = g->mem;
        first[i] = g->first * xl_dtype_bytes(g->dtype);
    }
    const xl_qconvert call =
        qconvert_call(t->c, mem, first, t->operand[QCONVERT_X].ld, variant);
    TRY(xl_qconvert_run(q, &call, NULL));
    for (unsigned i = 0; i < QCONVERT_OPERANDS; i++) {
        if (t->operand[i].rows)
            TRY(guarded_download(&t->operand[i], q));
    }
fail:
    return status;
}

static void check_all(const struct qconvert_check *t, struct check_result *out)
{
    for (unsigned x = 0; x < QCONVERT_OPERANDS; x++) {
        const struct guarded *g = &t->operand[x];
        const size_t size = xl_dtype_bytes(g->dtype);
        const unsigned char *expected = t->expected[x], *back = g->back;
        if (g->rows == 0)
            continue;
        check_guards(out, g, qconvert_names[x], expected != NULL);
        for (size_t i = 0; expected && i < g->rows * g->cols; i++) {
            const size_t at = g->first + i / g->cols * g->ld + i % g->cols;
            struct checked_element e = {.name = qconvert_names[x],
                                        .i = i / g->cols,
                                        .j = i % g->cols,
                                        .dtype = g->dtype,
                                        .mem = g->mem,
                                        .at = at};
            e.got = ref_load(g->back, at, g->dtype);
            e.expected = ref_load(t->expected[x], i, g->dtype);
            /* Bits decide: 0 and -0 are two results. */
            if (e.got == e.expected &&
                memcmp(back + at * size, expected + i * size, size) != 0)
                e.expected = NAN;
            check_element(out, &e);
        }
    }
}

xl_status verify_qconvert(xl_queue *q, const struct qconvert_case *c,
                          const char *variant, unsigned long long seed,
                          struct check_result *out)
{
    struct qconvert_check t = {.c = c};
    struct xl__rng rng;
    xl_status status = XL_OK;
    check_init(out);
    xl__rng_seed(&rng, seed);
    TRY(init_operands(&t));
    TRY(make_values(&t, &rng));
    TRY(run_case(&t, q, variant));
    check_all(&t, out);
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(t.x);
    for (unsigned i = 0; i < QCONVERT_OPERANDS; i++) {
        free(t.expected[i]);
        guarded_clear(&t.operand[i]);
    }
    return status;
}
