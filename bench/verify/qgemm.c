/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of a product with quantised weights: every element is compared
 * with the host's sum over the dequantised weights in double precision. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "verify/verify.h"

enum { A, BLOCKS, SCALES, ZEROS, BIAS, GAIN, C, OPERANDS };
static const char *const names[OPERANDS] = {"A",    "w",    "scales", "zeros",
                                            "bias", "gain", "C"};

struct qgemm_check {
    const struct qgemm_case *c;
    struct guarded operand[OPERANDS]; /* rows 0: not there */
    float *w;                         /* n x k, as the device has them */
    double *a, *apart;                /* m x k each: ref_qgemm_row() */
};

static xl_status init_parts(struct qgemm_check *t)
{
    xl_status status = XL_OK;
    const struct qgemm_case *c = t->c;
    const xl_qbytes bytes = qgemm_case_bytes(c);
    const size_t cols = qgemm_case_cols(c);
    const xl_dtype scale = xl_qformat_layout(c->format)->scale_dtype;
    const struct guarded_layout at[OPERANDS] = {
        [A] = {c->m, c->k, c->pad, c->off, c->in},
        [BLOCKS] = {1, bytes.blocks, 0, c->off + c->off_w, XL_U8},
        [SCALES] = {bytes.scales > 0, bytes.scales / xl_dtype_bytes(scale), 0,
                    c->off, scale},
        [ZEROS] = {bytes.zeros > 0, bytes.zeros, 0, c->off, XL_U8},
        [BIAS] = {c->bias_relu, c->n, 0, c->off, XL_F32},
        [GAIN] = {c->gain > 0, c->k, 0, c->off, qgemm_gain_type(c)},
        [C] = {c->columns_c ? cols : c->m, c->columns_c ? c->m : cols, c->pad,
               c->off, c->out}};
    for (unsigned i = 0; i < OPERANDS; i++) {
        if (at[i].rows > 0)
            TRY(guarded_init(&t->operand[i], &at[i]));
    }
fail:
    return status;
}

/* The first byte of a part's elements. */
static void *first_byte(const struct guarded *g)
{
    return g->rows
               ? (unsigned char *)g->host + g->first * xl_dtype_bytes(g->dtype)
               : NULL;
}

static xl_status make_weights(struct qgemm_check *t, struct xl__rng *rng)
{
    xl_status status = XL_OK;
    const struct qgemm_case *c = t->c;
    const xl_qshape shape = qgemm_case_shape(c);
    const xl_qdata data = {first_byte(&t->operand[BLOCKS]),
                           first_byte(&t->operand[SCALES]),
                           first_byte(&t->operand[ZEROS])};
    t->w = xl__calloc(c->n * c->k, sizeof *t->w);
    TRY(t->w ? XL_OK : XL_NO_MEMORY);
    for (size_t i = 0; i < c->n * c->k; i++)
        t->w[i] = (float)ref_normal(rng);
    TRY(xl_qmat_quantise_host(&shape, t->w, &data));
    TRY(xl_qmat_dequantise_host(&shape, &data, t->w));
fail:
    return status;
}

static xl_status run_case(struct qgemm_check *t, xl_queue *q,
                          const char *variant)
{
    xl_status status = XL_OK;
    const struct qgemm_case *c = t->c;
    struct guarded *g = t->operand;
    for (unsigned i = 0; i < OPERANDS; i++) {
        if (g[i].rows)
            TRY(guarded_upload(&g[i], q));
    }
    const xl_binding bias = {.name = "bias",
                             .tensor = {.mem.buf = g[BIAS].mem,
                                        .offset = g[BIAS].first,
                                        .n_dims = 1,
                                        .size = {c->n},
                                        .stride = {1},
                                        .dtype = XL_F32}};
    xl_qgemm call = {XL_QGEMM_INIT,
                     .m = c->m,
                     .a = guarded_view(&g[A], false),
                     .c = guarded_view(&g[C], c->columns_c),
                     .accuracy = c->accuracy,
                     .activations = c->activations,
                     .variant = variant};
    call.w = (xl_qmat){.shape = qgemm_case_shape(c),
                       .blocks.buf = g[BLOCKS].mem,
                       .scales.buf = g[SCALES].mem,
                       .zeros.buf = g[ZEROS].mem,
                       .has_zeros = c->has_zeros,
                       .offset = g[BLOCKS].first,
                       .scales_offset = g[SCALES].first,
                       .zeros_offset = g[ZEROS].first};
    if (c->gain)
        call.norm = (xl_qgemm_norm){
            XL_QGEMM_NORM_RMS, guarded_view(&g[GAIN], false), QGEMM_CASE_EPS};
    if (c->bias_relu)
        call.epilogue = (xl_epilogue){"relu(y + bias)", &bias, 1};
    call.is_pair = c->is_pair;
    if (c->is_pair)
        call.epilogue.expr = QGEMM_CASE_PAIR;
    TRY(xl_qgemm_run(q, &call, NULL));
    for (unsigned i = 0; i < OPERANDS; i++) {
        if (g[i].rows)
            TRY(guarded_download(&g[i], q));
    }
fail:
    return status;
}

static xl_status make_rows(struct qgemm_check *t)
{
    xl_status status = XL_OK;
    const struct qgemm_case *c = t->c;
    const struct ref_mat a = guarded_host(&t->operand[A], false),
                         gain = guarded_host(&t->operand[GAIN], false);
    t->a = xl__calloc(2 * c->m * c->k, sizeof *t->a);
    TRY(t->a ? XL_OK : XL_NO_MEMORY);
    t->apart = t->a + c->m * c->k;
    for (size_t i = 0; i < c->m; i++)
        ref_qgemm_row(c, &a, i, c->gain ? &gain : NULL, t->a + i * c->k,
                      t->apart + i * c->k);
fail:
    return status;
}

static void check_all(const struct qgemm_check *t, struct check_result *out)
{
    const struct qgemm_case *c = t->c;
    const struct ref_mat bias = guarded_host(&t->operand[BIAS], false),
                         got = guarded_back(&t->operand[C], c->columns_c);
    const size_t cols = qgemm_case_cols(c);
    for (size_t i = 0; i < c->m; i++) {
        for (size_t j = 0; j < cols; j++) {
            struct checked_element e = {
                .name = "C", .i = i, .j = j, .dtype = c->out};
            const double *x = t->a + i * c->k, *apart = t->apart + i * c->k;
            const float *w = t->w + j * c->k;
            e.expected = ref_qgemm_product(c, x, apart, w, &e.tol);
            if (c->is_pair)
                ref_qgemm_join(c, x, apart, w + cols * c->k, &e.expected,
                               &e.tol);
            if (c->bias_relu) {
                e.expected += ref_at(&bias, 0, j);
                e.tol += ref_roundoff(XL_F32) * fabs(e.expected);
                e.expected = fmax(0, e.expected);
            }
            if (c->out != XL_F32)
                e.tol += ref_roundoff(c->out) * (fabs(e.expected) + e.tol) +
                         ref_floor(c->out);
            check_read(&e, &t->operand[C], &got, i, j);
            check_element(out, &e);
        }
    }
    for (unsigned i = 0; i < OPERANDS; i++) {
        if (t->operand[i].rows)
            check_guards(out, &t->operand[i], names[i], i == C);
    }
}

xl_status verify_qgemm(xl_queue *q, const struct qgemm_case *c,
                       const char *variant, unsigned long long seed,
                       struct check_result *out)
{
    struct qgemm_check t = {.c = c};
    struct xl__rng rng;
    xl_status status = XL_OK;
    check_init(out);
    xl__rng_seed(&rng, seed);
    TRY(init_parts(&t));
    guarded_fill(&t.operand[A], &rng);
    if (c->bias_relu)
        guarded_fill(&t.operand[BIAS], &rng);
    if (c->gain)
        guarded_fill(&t.operand[GAIN], &rng);
    TRY(make_weights(&t, &rng));
    TRY(make_rows(&t));
    TRY(run_case(&t, q, variant));
    check_all(&t, out);
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    free(t.w);
    free(t.a);
    for (unsigned i = 0; i < OPERANDS; i++)
        guarded_clear(&t.operand[i]);
    return status;
}
