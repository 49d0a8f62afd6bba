/* SPDX-License-Identifier: Apache-2.0 */
/* Products of f32 in parts against the host in double, by every matrix engine
 * that the device has, or by emulated instructions: within the bound that
 * split_mma.c states, element by element, and by norm no worse than a sum
 * of f32 FMAs in a row, whatever the data; what is not finite as in f32. The
 * emulation adds in f32 rounded to nearest, a chip cuts: the bound is wider
 * than what emulation shows.
 *
 * XL_TEST_FULL  set: clbench's cases in both types of parts */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "cases/gemm_cases.h"
#include "device/device.h"
#include "ops/gemm/engines/wgmma.h"
#include "ops/path/op.h"
#include "ops/variants.h"
#include "cases/host_ops.h"
#include "runtime/launch.h"
#include "support/matrix_ops.h"
#include "support/support.h"
#include "verify/verify.h"

enum { M = 75, N = 70, K = 600, GAP = 6, OFFSET = 4, SEED = 20 };
enum { ROOM = (K + GAP) * 3 * (N + GAP) };
static const float untouched = -7;

static struct test_device t;
static cl_mem mem[3];

/* A and B dense, as they are drawn; C as it comes. */
static float a[M * K], b[K * N], c[M * N];

/* -- data ----------------------------------------------------------------- */

static float normal(struct xl__rng *rng)
{
    return (float)ref_normal(rng);
}

static float from_0_to_1(struct xl__rng *rng)
{
    return (float)xl__rng_uniform(rng);
}

/* Magnitudes over 24 powers of two. */
static float ill_scaled(struct xl__rng *rng)
{
    return ldexpf(normal(rng), (int)xl__rng_below(rng, 25) - 12);
}

static void scale_row(size_t i, float by)
{
    for (size_t l = 0; l < K; l++)
        a[i * K + l] *= by;
}

static void scale_column(size_t j, float by)
{
    for (size_t l = 0; l < K; l++)
        b[l * N + j] *= by;
}

static void extremes(void)
{
    scale_row(3, 1e30f);
    scale_row(4, 1e-38f);
    scale_row(5, 1e-41f);
    scale_row(6, 0);
    scale_column(7, 1e-30f);
    scale_column(8, 1e5f);
    scale_column(9, 0);
}

/* Everything below what f32 holds as normal numbers; sums are not. */
static void subnormal(void)
{
    for (size_t i = 0; i < M; i++)
        scale_row(i, 1e-39f);
    for (size_t j = 0; j < N; j++)
        scale_column(j, 1e35f);
}

/* An element far above the others of its row, which is multiplied by zeros. */
static void one_far_above(void)
{
    for (size_t i = 0; i < M; i++)
        a[i * K + 3] = 1e12f;
    for (size_t j = 0; j < N; j++)
        b[3 * N + j] = 0;
}

/* Two large terms in each sum that cancel. */
static void cancelling(void)
{
    for (size_t i = 0; i < M; i++) {
        const size_t at = i * 7 % (K / 2), other = K - 1 - i;
        a[i * K + at] = 3e3f;
        a[i * K + other] = -3e3f;
    }
    for (size_t j = 0; j < N; j++) {
        for (size_t i = 0; i < M; i++)
            b[(K - 1 - i) * N + j] = b[i * 7 % (K / 2) * N + j];
    }
}

static const struct data {
    const char *name;
    float (*draw)(struct xl__rng *rng);
    void (*change)(void);
    bool by_norm; /* no worse than FMAs in a row; by the bound alone, if not */
} datas[] = {
    {"normal", normal, NULL, true},
    {"uniform", from_0_to_1, NULL, true},
    {"ill-scaled", ill_scaled, NULL, true},
    {"rows and columns of all sizes", normal, extremes, true},
    {"subnormal", normal, subnormal, true},
    {"cancelling", normal, cancelling, true},
    {"one far above its row", normal, one_far_above, false},
};
enum { N_DATAS = sizeof datas / sizeof *datas };

static void draw(const struct data *d, uint64_t seed)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, seed);
    for (size_t i = 0; i < M * K; i++)
        a[i] = d->draw(&rng);
    for (size_t i = 0; i < K * N; i++)
        b[i] = d->draw(&rng);
    if (d->change)
        d->change();
}

/* -- layouts -------------------------------------------------------------- */

/* One letter for each of A, B, C: r rows, c columns, s neither contiguous; a
 * capital: lines on odd places. */
static xl_mat make_view(cl_mem of, size_t rows, size_t cols, char how)
{
    const size_t gap = how >= 'a' ? GAP - 2 : GAP - 1;
    xl_mat v = xl_mat_rows(of, cols + gap, XL_F32);
    if (how == 'c' || how == 'C')
        v = xl_mat_cols(of, rows + gap, XL_F32);
    if (how == 's') {
        v.col_stride = 2;
        v.row_stride = 2 * cols + gap;
    }
    v.offset = how >= 'a' ? OFFSET : OFFSET - 1;
    return v;
}

static size_t locate(const xl_mat *v, size_t i, size_t j)
{
    return v->offset + i * v->row_stride + j * v->col_stride;
}

static void put_element(const xl_mat *v, size_t rows, size_t cols, const float *dense)
{
    static float room[ROOM];
    for (size_t i = 0; i < ROOM; i++)
        room[i] = NAN; /* beside the elements */
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++)
            room[locate(v, i, j)] = dense ? dense[i * cols + j] : untouched;
    }
    assert_status(
        xl_buffer_write(t.queue, v->mem.buf, 0, room, sizeof room), XL_OK,
        xl_error_detail(t.queue));
}

/* The result; nothing beside it was written. */
static void take_element(const xl_mat *v)
{
    static float room[ROOM];
    size_t numbers = 0;
    assert_status(xl_buffer_read(t.queue, v->mem.buf, 0, room, sizeof room),
                  XL_OK, xl_error_detail(t.queue));
    for (size_t i = 0; i < M * N; i++) {
        float *at = &room[locate(v, i / N, i % N)];
        c[i] = *at;
        *at = 0;
    }
    for (size_t i = 0; i < ROOM; i++)
        numbers += isnan(room[i]) ? 0 : 1;
    assert_int_equal(numbers, M * N);
}

static xl_gemm product(const char *how)
{
    xl_gemm g = {XL_GEMM_INIT,
                 .m = M,
                 .n = N,
                 .k = K,
                 .alpha = 1,
                 .accuracy = XL_ACCURACY_SPLIT,
                 .a = make_view(mem[0], M, K, how[0]),
                 .b = make_view(mem[1], K, N, how[1]),
                 .c = make_view(mem[2], M, N, how[2])};
    put_element(&g.a, M, K, a);
    put_element(&g.b, K, N, b);
    put_element(&g.c, M, N, NULL);
    return g;
}

/* -- running -------------------------------------------------------------- */

static const struct way {
    const struct xl__variant *v;
    int products; /* that are summed: 3 of f16, 6 of bf16 */
} ways[] = {
    {&xl__gemm_split_mma_f16, 3},
    {&xl__gemm_split_mma_bf16, 6},
    {&xl__gemm_split_f16, 3},
    {&xl__gemm_split_bf16, 6},
};
static size_t n_ways; /* that the device has */

/* With the model's tile; false: it does not take this. */
static bool run_split(const xl_gemm *g, const struct way *way)
{
    const struct xl__limits *l = &t.device->limits;
    struct xl__params params;
    struct xl__op_call w;
    struct xl__plan *plan = xl__calloc(1, sizeof *plan);
    assert_non_null(plan);
    assert_status(xl__op_call_begin(&w, t.queue, &xl__op_gemm, g, true), XL_OK,
                  xl_error_detail(t.queue));
    const bool takes = !way->v->refuses(l, w.key->canonical);
    if (takes) {
        way->v->choose(l, w.key->canonical, &params);
        assert_int_equal(way->v->plan(l, w.key->canonical, &params, plan),
                         XL_OK);
        assert_status(xl__plan_launch(t.queue, plan, &w.call, NULL), XL_OK,
                      xl_error_detail(t.queue));
        assert_status(xl_queue_finish(t.queue), XL_OK,
                      xl_error_detail(t.queue));
        take_element(&g->c);
    }
    xl__op_call_end(&w);
    free(plan);
    return takes;
}

/* -- judging -------------------------------------------------------------- */

/* One element on the host. */
struct element {
    double sum, size;    /* of products; of their magnitudes */
    double most_a, most_b; /* largest magnitudes of row and column */
    float chain;         /* FMAs in a row */
};

static struct element element_of(size_t i, size_t j)
{
    struct element e = {0};
    for (size_t l = 0; l < K; l++) {
        const double x = (double)a[i * K + l], y = (double)b[l * N + j];
        e.sum += x * y;
        e.size += fabs(x * y);
        e.most_a = fmax(e.most_a, fabs(x));
        e.most_b = fmax(e.most_b, fabs(y));
        e.chain = fmaf(a[i * K + l], b[l * N + j], e.chain);
    }
    return e;
}

static double bound(const struct element *e, int products)
{
    enum { PROMOTED = 64 };
    static const double least = 0x1p-149;
    return (products * 0x1p-18 + ceil((double)K / PROMOTED) * 0x1p-24 +
            0x1p-20) *
               e->size +
           0x1p-37 * K * e->most_a * e->most_b + least;
}

static void judge(const struct data *d, const char *how,
                  const struct way *way)
{
    const int products = way->products;
    double error = 0, chain = 0, norm = 0, worst = 0;
    for (size_t i = 0; i < M * N; i++) {
        const struct element e = element_of(i / N, i % N);
        const double off = (double)c[i] - e.sum;
        if (!(fabs(off) <= bound(&e, products)))
            fail_msg("%s, %s, %s: C(%zu, %zu) is %.9g, not %.9g (within "
                     "%.2g)",
                     way->v->name, d->name, how, i / N, i % N, (double)c[i],
                     e.sum, bound(&e, products));
        if (e.size > 0)
            worst = fmax(worst, fabs(off) / bound(&e, products));
        error += off * off;
        chain += pow((double)e.chain - e.sum, 2);
        norm += e.sum * e.sum;
    }
    error = sqrt(error / norm);
    chain = sqrt(chain / norm);
    print_message("%s, %s, %s: %.2e of the norm, in a row %.2e; %.3f of the "
                  "bound\n",
                  way->v->name, d->name, how, error, chain, worst);
    assert_true(error <= chain || !d->by_norm);
}

static void all_data(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_DATAS; i++) {
        draw(&datas[i], i);
        for (size_t way = 0; way < n_ways; way++) {
            const xl_gemm g = product("rrr");
            assert_true(run_split(&g, &ways[way]));
            judge(&datas[i], "rrr", &ways[way]);
        }
    }
}

static void all_layouts(void **state)
{
    static const char *const hows[] = {"rrr", "rcr", "crr", "ccr", "rrc",
                                       "ccc", "crc", "RRR", "CCC", "sss",
                                       "RcS"};
    (void)state;
    draw(&datas[0], 1);
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
        for (size_t way = 0; way < n_ways; way += 2) {
            const xl_gemm g = product(hows[i]);
            if (run_split(&g, &ways[way]))
                judge(&datas[0], hows[i], &ways[way]);
        }
    }
}

/* -- what is not finite --------------------------------------------------- */

static void check_specials(const struct way *way)
{
    const xl_gemm g = product("rrr");
    assert_true(run_split(&g, way));
    for (size_t i = 0; i < M * N; i++) {
        const struct element e = element_of(i / N, i % N);
        const double want = (double)e.chain, got = (double)c[i];
        if (isnan(want) ? !isnan(got)
            : isinf(want)
                ? got != want
                : !(fabs(got - e.sum) <= K * 0x1p-24 * e.size))
            fail_msg("%s: C(%zu, %zu) is %g, not %g", way->v->name, i / N,
                     i % N, got, want);
    }
}

static void not_finite(void **state)
{
    static const float odd[] = {INFINITY, -INFINITY, NAN};
    enum { N_ODD = sizeof odd / sizeof *odd };
    (void)state;
    for (size_t i = 0; i < 2 * N_ODD * n_ways; i++) {
        const float x = odd[i / n_ways / 2];
        draw(&datas[0], i);
        if (i / n_ways % 2)
            a[5 * K + K - 1] = x;
        else
            b[(K - 1) * N + 2] = x;
        check_specials(&ways[i % n_ways]);
    }
    /* The word is cleared for the next call. */
    draw(&datas[0], 1);
    for (size_t way = 0; way < n_ways; way++) {
        const xl_gemm g = product("rrr");
        assert_true(run_split(&g, &ways[way]));
        judge(&datas[0], "after", &ways[way]);
    }
}

/* -- the public way ------------------------------------------------------- */

/* relu(-2 A B + 0.5 C + a bias a row), in a workspace of the caller's. */
static void call(const struct way *way, cl_mem bias)
{
    size_t bytes;
    cl_int code;
    xl_binding binding = {.name = "bias"};
    binding.tensor = xl_tensor_dense(bias, XL_F32, 2, (size_t[]){M, 1});
    xl_gemm g = product("rcc");
    g.variant = way->v->name;
    g.alpha = -2;
    g.beta = 0.5;
    g.epilogue = (xl_epilogue){"relu(y + bias)", &binding, 1};
    assert_status(xl_gemm_workspace(t.queue, &g, &bytes), XL_OK,
                  xl_error_detail(t.queue));
    assert_true(bytes > (M + N) * K * 4);
    g.workspace.buf = clCreateBuffer(xl_queue_context(t.queue),
                                     CL_MEM_READ_WRITE, bytes, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_status(xl_gemm_run(t.queue, &g, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_queue_finish(t.queue), XL_OK, xl_error_detail(t.queue));
    take_element(&g.c);
    clReleaseMemObject(g.workspace.buf);
}

/* Self-checked. */
static void called(void **state)
{
    static float column[M];
    cl_int code;
    (void)state;
    draw(&datas[0], 2);
    for (size_t i = 0; i < M; i++)
        column[i] = (float)i;
    cl_mem bias = clCreateBuffer(xl_queue_context(t.queue),
                                 CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                 sizeof column, column, &code);
    assert_int_equal(code, CL_SUCCESS);
    for (size_t way = 0; way < n_ways; way += 2) {
        call(&ways[way], bias);
        for (size_t i = 0; i < M * N; i++) {
            const struct element e = element_of(i / N, i % N);
            const double want =
                fmax(0, -2 * e.sum + 0.5 * (double)untouched +
                            (double)column[i / N]);
            assert_true(fabs((double)c[i] - want) <=
                        3 * bound(&e, ways[way].products) +
                            4 * 0x1p-24 * fabs(want) + 1e-5);
        }
    }
    clReleaseMemObject(bias);
}

/* clbench's cases, with its guards; one of them has too few terms. */
static void case_table(void **state)
{
    const size_t step = getenv("XL_TEST_FULL") ? 1 : 2;
    unsigned n_right = 0, n_refused = 0;
    (void)state;
    for (const struct gemm_case *x = gemm_cases; x->name; x++) {
        if (x->accuracy != XL_ACCURACY_SPLIT)
            continue;
        for (size_t way = 0; way < n_ways; way += step) {
            struct check_result r = {0};
            const char *name = ways[way].v->name;
            const int status = verify_gemm(t.queue, x, name, SEED, &r);
            n_right += status == XL_OK;
            n_refused += status == XL_UNSUPPORTED;
            if (status == XL_OK)
                print_message("%s, %s: %.3f of the tolerance\n", name, x->name,
                              r.worst);
            else if (status != XL_UNSUPPORTED)
                fail_msg("%s, %s: %s %s", name, x->name, r.why,
                         xl_error_detail(t.queue));
        }
    }
    assert_true(n_right > 2);
    assert_int_equal(n_refused, n_ways / step);
}

/* Who does not ask does not get it, however small the estimate. */
static void not_asked(void **state)
{
    (void)state;
    draw(&datas[0], 3);
    xl_gemm g = product("rrr");
    g.variant = ways[0].v->name;
    g.accuracy = XL_ACCURACY_FULL;
    assert_int_equal(xl_gemm_run(t.queue, &g, NULL), XL_UNSUPPORTED);
    assert_non_null(strstr(xl_error_detail(t.queue), "XL_ACCURACY_SPLIT"));
    g.accuracy = XL_ACCURACY_SPLIT;
    g.k = 8;
    assert_int_equal(xl_gemm_run(t.queue, &g, NULL), XL_UNSUPPORTED);
}

/* -- the device ----------------------------------------------------------- */

static const struct xl__variant *const variants[] = {
    &xl__gemm_split_mma_f16, &xl__gemm_split_mma_bf16, &xl__gemm_split_f16,
    &xl__gemm_split_bf16,    &xl__gemm_tiled,          &xl__gemm_ref,
    NULL};
static struct xl__vendor vendor;

static int setup(void **state)
{
    (void)state;
    test_device_open(&t, NULL);
    vendor = *t.device->vendor;
    vendor.variants[XL__OP_GEMM] = variants;
    t.device->vendor = &vendor;
    if (!t.device->limits.matrix_ops)
        emulate_matrix_ops(&t.device->limits);
    n_ways = xl__wgmma_op(&t.device->limits, XL_F16) ? 4 : 2;
    for (size_t i = 0; i < 3; i++)
        assert_status(xl_buffer_create(t.queue, ROOM * sizeof(float), &mem[i]),
                      XL_OK, xl_error_detail(t.queue));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        clReleaseMemObject(mem[i]);
    test_device_close(&t);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_data),   cmocka_unit_test(all_layouts),
        cmocka_unit_test(not_finite), cmocka_unit_test(called),
        cmocka_unit_test(case_table), cmocka_unit_test(not_asked),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, setup, teardown);
}
