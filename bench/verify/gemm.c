/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of a GEMM case. Each element of a small result is compared with
 * the host in double precision. Of a large result only some rows and columns
 * are compared, the first and last always among them; of the other elements it
 * is checked that they were written. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "verify/verify.h"

/* Above this number of multiplications a sample is checked. */
static const double MAX_FULL_PRODUCTS = 5e7;
enum { SAMPLE_LINES = 48 };

struct gemm_check {
    const struct gemm_case *c;
    size_t count;
    struct guarded a, b, bias,
        result; /* products one after another, by rows */
    cl_ulong *at;                      /* lists of A, B, C */
    struct ref_mat ra, rb, old,
        got; /* of product z, transposed as in the call */
};

/* The layout of an operand of one product. */
static struct guarded_layout layout_a(const struct gemm_case *c)
{
    const bool t = c->trans & 1;
    return (struct guarded_layout){t ? c->k : c->m, t ? c->m : c->k, c->pad_a,
                                   c->off_a, c->in};
}
static struct guarded_layout layout_b(const struct gemm_case *c)
{
    const bool t = c->trans & 2;
    return (struct guarded_layout){t ? c->n : c->k, t ? c->k : c->n, c->pad_b,
                                   c->off_b, gemm_case_b(c)};
}
static struct guarded_layout layout_c(const struct gemm_case *c)
{
    return (struct guarded_layout){c->columns_c ? c->n : c->m,
                                   c->columns_c ? c->m : c->n, c->pad_c,
                                   c->off_c, c->out};
}

/* Elements between the starts of two products. */
static size_t product_step(const struct guarded_layout *one)
{
    return one->rows * (one->cols + one->pad);
}

static xl_status init_stacked(struct guarded *g, struct guarded_layout one,
                              size_t count)
{
    one.rows *= count;
    return guarded_init(g, &one);
}

/* Along two axes the matrices of one number in their row are together. */
static size_t n_rows(const struct gemm_check *t)
{
    return t->count / BATCH_INNER;
}

static bool has_rows(const struct gemm_check *t)
{
    return t->c->batch.layout == BATCH_HEADS ||
           t->c->batch.layout == BATCH_GROUPED;
}

/* The position of product z in the buffers of A and C. */
static size_t index_of(const struct gemm_check *t, size_t z)
{
    if (has_rows(t))
        return z % BATCH_INNER * n_rows(t) + z / BATCH_INNER;
    return t->c->batch.layout == BATCH_LISTS ? t->count - 1 - z : z;
}

/* The same in that of B. */
static size_t index_of_b(const struct gemm_check *t, size_t z)
{
    if (t->c->batch.layout == BATCH_GROUPED)
        return z % BATCH_INNER / BATCH_SHARE * n_rows(t) + z / BATCH_INNER;
    return t->c->batch.layout == BATCH_SHARED_B ? 0 : index_of(t, z);
}

static xl_status create_lists(struct gemm_check *t)
{
    const struct guarded_layout la = layout_a(t->c), lb = layout_b(t->c),
                                lc = layout_c(t->c);
    if (t->c->batch.layout != BATCH_LISTS)
        return XL_OK;
    t->at = xl__calloc(3 * t->count, sizeof *t->at);
    for (size_t z = 0; t->at && z < t->count; z++) {
        t->at[z] = index_of(t, z) * product_step(&la);
        t->at[t->count + z] = index_of_b(t, z) * product_step(&lb);
        t->at[2 * t->count + z] = index_of(t, z) * product_step(&lc);
    }
    return t->at ? XL_OK : XL_NO_MEMORY;
}

static xl_status prepare_buffers(struct gemm_check *t, struct xl__rng *rng)
{
    const struct gemm_case *c = t->c;
    xl_status status;
    t->count = c->batch.count ? c->batch.count : 1;
    size_t n_b = 0;
    for (size_t z = 0; z < t->count; z++)
        n_b = xl__max_size(n_b, index_of_b(t, z) + 1);
    TRY(init_stacked(&t->a, layout_a(c), t->count));
    if (!c->one_buffer)
        TRY(init_stacked(&t->b, layout_b(c), n_b));
    /* With alpha 0 A and B remain NaN, since they must not be read. */
    if (c->alpha != 0)
        guarded_fill(&t->a, rng);
    if (c->alpha != 0 && !c->one_buffer)
        guarded_fill(&t->b, rng);
    if (c->bias_relu) {
        const struct guarded_layout line = {1, c->n, 0, 0, XL_F32};
        TRY(guarded_init(&t->bias, &line));
        guarded_fill(&t->bias, rng);
    }
    TRY(init_stacked(&t->result, layout_c(c), t->count));
    /* With beta 0 the old C remains NaN, since it must not be read. */
    if (c->beta != 0)
        guarded_fill(&t->result, rng);
    TRY(create_lists(t));
fail:
    return status;
}

/* A up to 6e4, and B so small that sums are near the limit of f16. */
static void scale_operands(struct gemm_check *t, struct xl__rng *rng)
{
    static const double largest = 6e4, other = 0.3;
    for (size_t i = 0; i < t->a.rows * t->a.cols; i++)
        guarded_set(&t->a, i / t->a.cols, i % t->a.cols,
                    largest * (2 * xl__rng_uniform(rng) - 1));
    for (size_t i = 0; i < t->b.rows * t->b.cols; i++)
        guarded_set(&t->b, i / t->b.cols, i % t->b.cols,
                    other * ref_normal(rng));
}

static xl_batch batch_of(const struct gemm_check *t)
{
    const struct guarded_layout la = layout_a(t->c), lb = layout_b(t->c),
                                lc = layout_c(t->c);
    xl_batch b = {.count = t->c->batch.count};
    if (t->at) {
        b.a_at = t->at;
        b.b_at = t->at + t->count;
        b.c_at = t->at + 2 * t->count;
        return b;
    }
    b.a_step = product_step(&la);
    b.b_step = t->c->batch.layout == BATCH_SHARED_B ? 0 : product_step(&lb);
    b.c_step = product_step(&lc);
    if (has_rows(t)) {
        b.inner = BATCH_INNER;
        b.a_inner = n_rows(t) * b.a_step;
        b.b_inner = n_rows(t) * b.b_step;
        b.c_inner = n_rows(t) * b.c_step;
        b.b_share = t->c->batch.layout == BATCH_GROUPED ? BATCH_SHARE : 1;
    }
    return b;
}

/* Call a function for each buffer that the case has. */
static xl_status for_each_buffer(struct gemm_check *t, xl_queue *q,
                                 xl_status (*move)(struct guarded *g,
                                                   xl_queue *q))
{
    struct guarded *const all[] = {&t->a, &t->b, &t->bias, &t->result};
    xl_status status = XL_OK;
    for (unsigned i = 0; i < 4; i++) {
        if (all[i]->host)
            TRY(move(all[i], q));
    }
fail:
    return status;
}

static xl_status run_case(struct gemm_check *t, xl_queue *q,
                          const char *variant)
{
    const struct gemm_case *c = t->c;
    bool ta = c->trans & 1, tb = c->trans & 2;
    xl_status status;
    TRY(for_each_buffer(t, q, guarded_upload));
    xl_gemm g = {XL_GEMM_INIT,
                 .m = c->m,
                 .n = c->n,
                 .k = c->k,
                 .a = guarded_view(&t->a, ta),
                 .b = c->one_buffer ? guarded_view(&t->a, !ta)
                                    : guarded_view(&t->b, tb),
                 .c = guarded_view(&t->result, c->columns_c),
                 .alpha = c->alpha,
                 .beta = c->beta,
                 .variant = variant,
                 .batch = batch_of(t),
                 .accuracy = c->accuracy};
    char text[EPILOGUE_CAP];
    xl_binding bias = {.name = "bias"};
    if (c->bias_relu) {
        bias.tensor = xl_tensor_dense(t->bias.mem, XL_F32, 1, &c->n);
        bias.tensor.offset = t->bias.first;
        epilogue_text(c->out, "relu(y + bias)", text);
        g.epilogue = (xl_epilogue){text, &bias, 1};
    }
    TRY(xl_gemm_run(q, &g, NULL));
    TRY(for_each_buffer(t, q, guarded_download));
fail:
    return status;
}

/* Set the views to product z. */
static void select_product(struct gemm_check *t, size_t z)
{
    const struct gemm_case *c = t->c;
    const struct guarded_layout la = layout_a(c), lb = layout_b(c),
                                lc = layout_c(c);
    bool ta = c->trans & 1, tb = c->trans & 2;
    const size_t at = index_of(t, z);
    t->ra = guarded_host(&t->a, ta);
    t->rb = c->one_buffer ? guarded_host(&t->a, !ta) : guarded_host(&t->b, tb);
    t->old = guarded_host(&t->result, c->columns_c);
    t->got = guarded_back(&t->result, c->columns_c);
    t->ra.offset += at * product_step(&la);
    t->rb.offset += index_of_b(t, z) * product_step(&lb);
    t->old.offset += at * product_step(&lc);
    t->got.offset += at * product_step(&lc);
}

static void check_product_element(const struct gemm_check *t,
                                  const size_t at[2], const double sum_mag[2],
                                  struct check_result *out)
{
    const struct gemm_case *c = t->c;
    struct ref_gemm_scale s = {
        c->k, c->alpha, c->beta, gemm_case_rounds_as(c), c->out, c->accuracy};
    struct checked_element e = {
        .name = "C", .i = at[0], .j = at[1], .dtype = c->out};
    e.expected = ref_gemm_expected(&s, sum_mag[0], sum_mag[1],
                                   ref_at(&t->old, at[0], at[1]), &e.tol);
    if (c->bias_relu) {
        const double bias = ref_load(t->bias.host, t->bias.first + at[1],
                                     XL_F32);
        e.expected = fmax(0, e.expected + bias);
        /* the sum with the bias rounds once more, and so does what is
         * stored, which may be larger than y */
        e.tol += ref_roundoff(XL_F32) * (fabs(e.expected) + fabs(bias));
        e.expected = ref_epilogue_stored(e.expected, c->out, &e.tol);
    }
    check_read(&e, &t->result, &t->got, at[0], at[1]);
    check_element(out, &e);
}

static xl_status check_all(const struct gemm_check *t,
                           struct check_result *out)
{
    const struct gemm_case *c = t->c;
    size_t n = c->n, k = c->k;
    double *a = xl__calloc(c->m, k * sizeof *a);
    double *b = xl__calloc(k, n * sizeof *b);
    double *line = xl__calloc(n, 2 * sizeof *line);
    xl_status status = a && b && line ? XL_OK : XL_NO_MEMORY;
    if (status != XL_OK)
        goto fail;
    ref_dense(&t->ra, c->m, k, a);
    ref_dense(&t->rb, k, n, b);
    for (size_t i = 0; i < c->m; i++) {
        ref_gemm_row(a + i * k, b, n, k, line, line + n);
        for (size_t j = 0; j < n; j++)
            check_product_element(t, (size_t[2]){i, j},
                                  (double[2]){line[j], line[n + j]}, out);
    }
fail:
    free(a);
    free(b);
    free(line);
    return status;
}

/* The i-th row or column of the sample: first, last, then at random. */
static size_t sample_line(size_t i, size_t n, struct xl__rng *rng)
{
    return i == 0 ? 0 : i == 1 ? n - 1 : (size_t)xl__rng_below(rng, n);
}

static void check_sample(const struct gemm_check *t, struct xl__rng *rng,
                         struct check_result *out)
{
    const struct gemm_case *c = t->c;
    size_t column[SAMPLE_LINES];
    for (size_t j = 0; j < SAMPLE_LINES; j++)
        column[j] = sample_line(j, c->n, rng);
    for (size_t i = 0; i < SAMPLE_LINES; i++) {
        size_t row = sample_line(i, c->m, rng);
        for (size_t j = 0; j < SAMPLE_LINES; j++) {
            size_t at[2] = {row, column[j]};
            double sum_mag[2];
            ref_gemm_dot(&t->ra, &t->rb, at, c->k, &sum_mag[0], &sum_mag[1]);
            check_product_element(t, at, sum_mag, out);
        }
    }
    for (size_t i = 0; i < c->m * c->n && out->right; i++) {
        struct checked_element e = {.name = "C",
                                    .i = i / c->n,
                                    .j = i % c->n,
                                    .tol = 1,
                                    .dtype = c->out};
        check_read(&e, &t->result, &t->got, e.i, e.j);
        if (isnan(e.got))
            check_element(out, &e);
    }
}

/* Check all elements of a product where it is small, else a sample. */
static xl_status check_product(struct gemm_check *t, struct xl__rng *rng,
                               struct check_result *out)
{
    const struct gemm_case *c = t->c;
    const double work = (double)c->m * (double)c->n * (double)c->k;
    if (work <= MAX_FULL_PRODUCTS)
        return check_all(t, out);
    check_sample(t, rng, out);
    return XL_OK;
}

static void clear_buffers(struct gemm_check *t)
{
    guarded_clear(&t->a);
    guarded_clear(&t->b);
    guarded_clear(&t->bias);
    guarded_clear(&t->result);
    free(t->at);
}

xl_status verify_gemm(struct xl_queue *q, const struct gemm_case *c,
                      const char *variant, unsigned long long seed,
                      struct check_result *out)
{
    struct gemm_check t = {.c = c};
    struct xl__rng rng;
    xl_status status;

    check_init(out);
    if (is_other_without_sum(c->alpha, variant, "gemm_ref"))
        return XL_UNSUPPORTED;
    xl__rng_seed(&rng, seed);
    TRY(prepare_buffers(&t, &rng));
    if (c->data == DATA_LARGE)
        scale_operands(&t, &rng);
    TRY(run_case(&t, q, variant));
    for (size_t z = 0; z < t.count && out->right; z++) {
        select_product(&t, z);
        TRY(check_product(&t, &rng, out));
    }
    check_guards(out, &t.a, "A", false);
    if (!c->one_buffer)
        check_guards(out, &t.b, "B", false);
    check_guards(out, &t.result, "C", true);
    status = out->right ? XL_OK : XL_WRONG_RESULT;
fail:
    clear_buffers(&t);
    return status;
}
