/* SPDX-License-Identifier: Apache-2.0 */
/* Packed rows, by each variant that takes them: lengths beside those of tiles,
 * no rows, no keys. Every other sequence is NaN, and so is what lies behind
 * the last: its neighbours' results have none of it, and rows that are of no
 * sequence are not written. Against the host in double precision; every launch
 * gives the same bits.
 *
 * XL_TEST_LAUNCHES  of each case; 2 otherwise
 * XL_TEST_VARIANT   the only variant
 * XL_TEST_FULL      all cases, also by the tiles of long sequences; 2 cases
 *                   otherwise */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/rng.h"
#include "support/support.h"

enum { SEED = 7, HEADS = 4, BEHIND = 40, FEW = 2, MOST = 200, GUARD = 0x5a };

static struct test_device t;

static const int lengths_q[] = {17,  1,  127, 64, 15, 0,
                                193, 16, 65,  63, 0,  130};
static const int lengths_kv[] = {33, 5, 127, 64, 1, 81, 80, 16, 129, 63, 3, 0};
enum { N_BATCH = sizeof lengths_q / sizeof *lengths_q };

/* Of a case: heads lie side by side in a row, or one after the other. `most`
 * is the longest that a sequence could be, by which tiles are chosen. */
struct rows_case {
    xl_dtype dtype;
    size_t d, share, most;
    bool is_causal, beside, has_lse;
};
static const struct rows_case cases[] = {
    {XL_F16, 128, 2, 200, true, true, true},
    {XL_BF16, 64, 1, 5000, true, true, true},
    {XL_F16, 64, 4, 200, false, false, true},
    {XL_F16, 128, 1, 5000, false, true, false},
    {XL_F16, 128, 1, 5000, true, false, true},
    {XL_BF16, 128, 2, 200, false, true, true},
    {XL_F16, 128, 1, 70000, true, true, true},
    {XL_F16, 64, 2, 200, true, true, false},
    {XL_F16, 64, 1, 5000, false, true, true},
    {XL_BF16, 128, 4, 5000, false, false, true},
};

/* An operand on both sides. */
struct rows {
    const int *length;
    size_t heads, cols, n; /* n: rows of all sequences */
    size_t row, head;      /* strides */
    size_t bytes;
    xl_dtype dtype;
    void *host;
    cl_mem mem;
};

static size_t first_of(const int *length, unsigned b)
{
    size_t n = 0;
    for (unsigned s = 0; s < b; s++)
        n += (size_t)length[s];
    return n;
}

static double value_at(const struct rows *r, unsigned b, size_t h, size_t i,
                       size_t c)
{
    return xl__dtype_load(
        r->host, (first_of(r->length, b) + i) * r->row + h * r->head + c,
        r->dtype);
}

static void make_rows(struct rows *r, const int *length, size_t heads,
                      size_t cols, xl_dtype dtype, bool beside)
{
    *r = (struct rows){.length = length,
                       .heads = heads,
                       .cols = cols,
                       .n = first_of(length, N_BATCH),
                       .dtype = dtype};
    const size_t all = r->n + BEHIND;
    r->row = beside ? heads * cols : cols;
    r->head = beside ? cols : all * cols;
    r->bytes = all * heads * cols * xl_dtype_bytes(dtype);
    r->host = malloc(r->bytes);
    assert_non_null(r->host);
    memset(r->host, GUARD, r->bytes);
}

static bool is_nan_of(unsigned b)
{
    return b % 2;
}

static void fill_rows(const struct rows *r, struct xl__rng *rng)
{
    size_t i = 0;
    for (unsigned b = 0; b <= N_BATCH; b++) {
        const size_t end =
            b < N_BATCH ? i + (size_t)r->length[b] : r->n + BEHIND;
        for (; i < end; i++)
            for (size_t h = 0; h < r->heads; h++)
                for (size_t c = 0; c < r->cols; c++)
                    xl__dtype_store(
                        r->host, i * r->row + h * r->head + c, r->dtype,
                        b == N_BATCH || is_nan_of(b) ? (double)NAN
                                                     : xl__rng_normal(rng));
    }
}

static void upload_rows(struct rows *r)
{
    assert_status(xl_buffer_create(t.queue, r->bytes, &r->mem), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_write(t.queue, r->mem, 0, r->host, r->bytes),
                  XL_OK, xl_error_detail(t.queue));
}

static void clear_rows(struct rows *r)
{
    clReleaseMemObject(r->mem);
    free(r->host);
}

static xl_heads view_of(const struct rows *r)
{
    return (xl_heads){.mem.buf = r->mem,
                      .stride = {0, r->head, r->row, 1},
                      .dtype = r->dtype};
}

static cl_mem upload_starts(const int *length)
{
    int32_t start[N_BATCH + 1];
    cl_mem mem;
    for (unsigned b = 0; b <= N_BATCH; b++)
        start[b] = (int32_t)first_of(length, b);
    assert_status(xl_buffer_create(t.queue, sizeof start, &mem), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_write(t.queue, mem, 0, start, sizeof start), XL_OK,
                  xl_error_detail(t.queue));
    return mem;
}

/* -- a case --------------------------------------------------------------- */

struct call {
    const struct rows_case *c;
    struct rows q, k, v, o, lse;
    cl_mem starts_q, starts_kv;
    double *want, *size, *want_lse; /* of o: its value, sum p |v| */
};

/* The row of one query and head, and sums of the weights' share of v. */
static void compute_row(const struct call *x, unsigned b, size_t h, size_t i)
{
    const struct rows_case *c = x->c;
    const size_t g = h / c->share, n_q = (size_t)lengths_q[b],
                 n_kv = (size_t)lengths_kv[b],
                 at = (first_of(lengths_q, b) + i) * HEADS + h;
    const size_t seen = !c->is_causal               ? n_kv
                        : i + 1 + n_kv <= n_q       ? 0
                        : i + 1 + n_kv - n_q < n_kv ? i + 1 + n_kv - n_q
                                                    : n_kv;
    double *weight = calloc(n_kv + 1, sizeof *weight), top = -(double)INFINITY,
           sum = 0;
    assert_non_null(weight);
    for (size_t j = 0; j < seen; j++) {
        for (size_t col = 0; col < c->d; col++)
            weight[j] +=
                value_at(&x->q, b, h, i, col) * value_at(&x->k, b, g, j, col);
        weight[j] /= sqrt((double)c->d);
        top = fmax(top, weight[j]);
    }
    for (size_t j = 0; j < seen; j++)
        sum += weight[j] = exp(weight[j] - top);
    x->want_lse[at] = seen ? top + log(sum) : -(double)INFINITY;
    for (size_t col = 0; col < c->d; col++) {
        double *want = &x->want[at * c->d + col];
        double *size = &x->size[at * c->d + col];
        *want = *size = 0;
        for (size_t j = 0; j < seen; j++) {
            const double p = weight[j] / sum;
            *want += p * value_at(&x->v, b, g, j, col);
            *size += p * fabs(value_at(&x->v, b, g, j, col));
        }
    }
    free(weight);
}

static void make_call(struct call *x, const struct rows_case *c)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, SEED);
    *x = (struct call){.c = c};
    make_rows(&x->q, lengths_q, HEADS, c->d, c->dtype, c->beside);
    make_rows(&x->k, lengths_kv, HEADS / c->share, c->d, c->dtype, c->beside);
    make_rows(&x->v, lengths_kv, HEADS / c->share, c->d, c->dtype, c->beside);
    make_rows(&x->o, lengths_q, HEADS, c->d, c->dtype, c->beside);
    make_rows(&x->lse, lengths_q, HEADS, 1, XL_F32, c->beside);
    fill_rows(&x->q, &rng);
    fill_rows(&x->k, &rng);
    fill_rows(&x->v, &rng);
    upload_rows(&x->q);
    upload_rows(&x->k);
    upload_rows(&x->v);
    upload_rows(&x->o);
    upload_rows(&x->lse);
    x->starts_q = upload_starts(lengths_q);
    x->starts_kv = upload_starts(lengths_kv);
    const size_t all = x->q.n * HEADS;
    x->want = calloc(all * c->d, sizeof *x->want);
    x->size = calloc(all * c->d, sizeof *x->size);
    x->want_lse = calloc(all, sizeof *x->want_lse);
    assert_true(x->want && x->size && x->want_lse);
    for (unsigned b = 0; b < N_BATCH; b += 2)
        for (size_t h = 0; h < HEADS; h++)
            for (size_t i = 0; i < (size_t)lengths_q[b]; i++)
                compute_row(x, b, h, i);
}

static void clear_call(struct call *x)
{
    clear_rows(&x->q);
    clear_rows(&x->k);
    clear_rows(&x->v);
    clear_rows(&x->o);
    clear_rows(&x->lse);
    clReleaseMemObject(x->starts_q);
    clReleaseMemObject(x->starts_kv);
    free(x->want);
    free(x->size);
    free(x->want_lse);
}

/* Rows behind those of all sequences are as they were. */
static void check_behind(const struct rows *r, const void *got,
                         const char *variant)
{
    const unsigned char *bytes = got;
    const size_t elem = xl_dtype_bytes(r->dtype);
    for (size_t i = r->n; i < r->n + BEHIND; i++)
        for (size_t h = 0; h < r->heads; h++)
            for (size_t c = 0; c < r->cols * elem; c++)
                if (bytes[(i * r->row + h * r->head) * elem + c] != GUARD)
                    fail_msg("%s wrote to row %zu of %zu", variant, i, r->n);
}

static void check_element(const char *what, double got, double want,
                          double tol, const char *variant, unsigned b,
                          size_t h, size_t i)
{
    const bool is_right = isinf(want) ? got == want : fabs(got - want) <= tol;
    if (!is_right)
        fail_msg("%s: %s of sequence %u (%d x %d), head %zu, row %zu: %g "
                 "instead of %g +- %g",
                 variant, what, b, lengths_q[b], lengths_kv[b], h, i, got,
                 want, tol);
}

/* Twice the rounding of weights and one of the result, of the type, are more
 * than what attention.h states for these lengths. */
static void check_results(const struct call *x, void *o, void *lse,
                          const char *variant)
{
    static const double lse_tol = 1e-3;
    const struct rows_case *c = x->c;
    const double unit = xl__dtype_unit_roundoff(c->dtype);
    struct rows got = x->o, got_lse = x->lse;
    got.host = o;
    got_lse.host = lse;
    for (unsigned b = 0; b < N_BATCH; b += 2)
        for (size_t h = 0; h < HEADS; h++)
            for (size_t i = 0; i < (size_t)lengths_q[b]; i++) {
                const size_t at = (first_of(lengths_q, b) + i) * HEADS + h;
                for (size_t col = 0; col < c->d; col++)
                    check_element("o", value_at(&got, b, h, i, col),
                                  x->want[at * c->d + col],
                                  4 * unit * (x->size[at * c->d + col] + unit),
                                  variant, b, h, i);
                if (c->has_lse)
                    check_element("lse", value_at(&got_lse, b, h, i, 0),
                                  x->want_lse[at], lse_tol, variant, b, h, i);
            }
    check_behind(&x->o, o, variant);
    check_behind(&x->lse, lse, variant);
}

static void print_choice(const xl_attention *a)
{
    xl_choice choice[16];
    unsigned n = 0;
    assert_status(xl_attention_explain(t.queue, a, choice, 16, &n), XL_OK,
                  xl_error_detail(t.queue));
    for (unsigned i = 0; i < n && i < 16; i++)
        if (choice[i].chosen)
            print_message("%s %s d %zu%s: %s, %zu bytes spilled\n",
                          choice[i].variant, xl_dtype_name(a->q.dtype),
                          a->d_head, a->is_causal ? " causal" : "",
                          choice[i].tunables, choice[i].private_bytes);
}

static bool run_variant(struct call *x, const char *variant, unsigned n)
{
    const struct rows_case *c = x->c;
    const size_t most = getenv("XL_TEST_FULL") ? c->most : MOST;
    const xl_sequences q_rows = {.kind = XL_ROWS_PACKED,
                                 .numbers = {.mem.buf = x->starts_q,
                                             .dtype = XL_I32},
                                 .n_total = x->q.n},
                       kv_rows = {.kind = XL_ROWS_PACKED,
                                  .numbers = {.mem.buf = x->starts_kv,
                                              .dtype = XL_I32},
                                  .n_total = x->k.n};
    const xl_heads lse = view_of(&x->lse);
    const xl_attention a = {XL_ATTENTION_INIT,
                            .n_batch = N_BATCH,
                            .n_heads = HEADS,
                            .n_kv_heads = HEADS / c->share,
                            .n_q = most,
                            .n_kv = most,
                            .d_head = c->d,
                            .q = view_of(&x->q),
                            .k = view_of(&x->k),
                            .v = view_of(&x->v),
                            .o = view_of(&x->o),
                            .is_causal = c->is_causal,
                            .lse = c->has_lse ? &lse : NULL,
                            .variant = variant,
                            .q_rows = &q_rows,
                            .kv_rows = &kv_rows};
    void *first[] = {malloc(x->o.bytes), malloc(x->lse.bytes)},
         *next[] = {malloc(x->o.bytes), malloc(x->lse.bytes)};
    const struct rows *result[] = {&x->o, &x->lse};
    bool is_taken = true;
    assert_true(first[0] && first[1] && next[0] && next[1]);
    for (unsigned i = 0; i < n; i++) {
        void **to = i == 0 ? first : next;
        for (unsigned r = 0; r < 2; r++)
            assert_status(xl_buffer_write(t.queue, result[r]->mem, 0,
                                          result[r]->host, result[r]->bytes),
                          XL_OK, xl_error_detail(t.queue));
        const xl_status status = xl_attention_run(t.queue, &a, NULL);
        if (status == XL_UNSUPPORTED) {
            is_taken = false;
            break;
        }
        assert_status(status, XL_OK, xl_error_detail(t.queue));
        for (unsigned r = 0; r < 2; r++)
            assert_status(xl_buffer_read(t.queue, result[r]->mem, 0, to[r],
                                         result[r]->bytes),
                          XL_OK, xl_error_detail(t.queue));
        if (i == 0) {
            check_results(x, first[0], first[1], variant);
            print_choice(&a);
        } else if (memcmp(first[0], next[0], x->o.bytes) ||
                   memcmp(first[1], next[1], x->lse.bytes)) {
            fail_msg("%s: launch %u differs", variant, i);
        }
    }
    free(first[0]);
    free(first[1]);
    free(next[0]);
    free(next[1]);
    return is_taken;
}

static void packed_rows(void **state)
{
    const char *asked = getenv("XL_TEST_LAUNCHES"),
               *only = getenv("XL_TEST_VARIANT"), *variant;
    const unsigned n = asked ? (unsigned)strtoul(asked, NULL, 10) : 2;
    const size_t n_cases = sizeof cases / sizeof *cases;
    unsigned n_run = 0;
    (void)state;
    for (size_t i = 0; i < n_cases; i++) {
        struct call x;
        if (!test_is_sampled(i, (n_cases + FEW - 1) / FEW))
            continue;
        make_call(&x, &cases[i]);
        for (unsigned v = 0;
             (variant = xl_variant_name(t.device, "attention", v)); v++)
            if (!only || strcmp(only, variant) == 0)
                n_run += run_variant(&x, variant, n);
        clear_call(&x);
    }
    assert_true(n_run > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(packed_rows)};
    const xl_options quick = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                              .cache_dir = ""};
    test_args(argc, argv);
    return test_run_on_device(tests, &t, &quick);
}
