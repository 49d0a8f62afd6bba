/* SPDX-License-Identifier: Apache-2.0 */
/* What a GEMM call makes of batches and groups: products of different sizes in
 * one call against the host, in order and out of order; lists that change from
 * call to call; the gradients of a product; and wrong input, each with its own
 * message. Small integers in f32, so that results are exact: sums stay below
 * 2^24. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/support.h"

enum { FLOATS = 1 << 16, MOST = 40, GUARD = -7 };

static struct test_device t;

/* Three buffers with copies on the host. */
struct floats {
    cl_mem mem;
    float host[FLOATS];
};
static struct floats a, b, c;
static float want[FLOATS];

static void upload(struct floats *x)
{
    assert_status(xl_buffer_write(t.queue, x->mem, 0, x->host,
                                  sizeof x->host),
                  XL_OK, xl_error_detail(t.queue));
}

static void fill(struct floats *x, struct xl__rng *rng)
{
    for (size_t i = 0; i < FLOATS; i++)
        x->host[i] = (float)xl__rng_below(rng, 9) - 4;
    upload(x);
}

static void start(uint64_t seed)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, seed);
    fill(&a, &rng);
    fill(&b, &rng);
    for (size_t i = 0; i < FLOATS; i++)
        c.host[i] = want[i] = GUARD;
    upload(&c);
}

static xl_gemm product(size_t m, size_t n, size_t k, const size_t at[3])
{
    xl_gemm g = {XL_GEMM_INIT, .m = m, .n = n, .k = k, .alpha = 1};
    g.a = xl_mat_rows(a.mem, k, XL_F32);
    g.b = xl_mat_rows(b.mem, n, XL_F32);
    g.c = xl_mat_rows(c.mem, n, XL_F32);
    g.a.offset = at[0];
    g.b.offset = at[1];
    g.c.offset = at[2];
    return g;
}

static void expect(const xl_gemm *g)
{
    for (size_t i = 0; i < g->m; i++) {
        for (size_t j = 0; j < g->n; j++) {
            float sum = 0;
            for (size_t l = 0; l < g->k; l++)
                sum += a.host[g->a.offset + i * g->a.row_stride +
                              l * g->a.col_stride] *
                       b.host[g->b.offset + l * g->b.row_stride +
                              j * g->b.col_stride];
            want[g->c.offset + i * g->c.row_stride + j * g->c.col_stride] =
                sum;
        }
    }
}

static void compare(xl_queue *q)
{
    assert_status(xl_queue_finish(q), XL_OK, xl_error_detail(q));
    assert_status(xl_buffer_read(q, c.mem, 0, c.host, sizeof c.host), XL_OK,
                  xl_error_detail(q));
    for (size_t i = 0; i < FLOATS; i++) {
        if (!(c.host[i] == want[i]))
            fail_msg("element %zu is %g, not %g", i, (double)c.host[i],
                     (double)want[i]);
    }
}

/* Some alike, some not; C's in falling order, with gaps. */
static unsigned make_group(xl_gemm *out)
{
    static const size_t sizes[][3] = {
        {5, 7, 3}, {16, 16, 16}, {5, 7, 3}, {1, 33, 9}, {16, 16, 16},
        {31, 1, 2}, {5, 7, 3}, {16, 16, 16}, {16, 16, 16}, {20, 24, 28}};
    const unsigned n = sizeof sizes / sizeof *sizes;
    size_t at[3] = {11, 3, FLOATS};
    for (unsigned i = 0; i < n; i++) {
        at[0] += 1000;
        at[1] += 700;
        at[2] -= 501;
        out[i] = product(sizes[i][0], sizes[i][1], sizes[i][2], at);
        expect(&out[i]);
    }
    return n;
}

static void run_group(const xl_gemm *g, size_t n)
{
    assert_status(xl_gemm_run_group(t.queue, g, n, NULL), XL_OK,
                  xl_error_detail(t.queue));
    compare(t.queue);
}

static void group(void **state)
{
    (void)state;
    xl_gemm g[MOST];
    start(1);
    run_group(g, make_group(g));
}

/* The last event says that all is done. */
static void group_out_of_order(void **state)
{
    (void)state;
    cl_int code;
    xl_queue *q;
    cl_context ctx = xl_queue_context(t.queue);
    const cl_queue_properties on[] = {
        CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    cl_command_queue native = clCreateCommandQueueWithProperties(
        ctx, xl_device_cl(t.device), on, &code);
    if (code != CL_SUCCESS)
        skip();
    assert_status(xl_queue_wrap(t.lib, native, &q), XL_OK, "");
    xl_gemm g[MOST];
    start(2);
    const unsigned n = make_group(g);
    cl_event done = NULL, before = clCreateUserEvent(ctx, &code);
    const xl_sync sync = {XL_SYNC_INIT, .n_wait = 1, .wait = &before,
                          .done = &done};
    assert_status(xl_gemm_run_group(q, g, n, &sync), XL_OK,
                  xl_error_detail(q));
    assert_status(xl_buffer_read(t.queue, c.mem, 0, c.host, sizeof c.host),
                  XL_OK, xl_error_detail(t.queue));
    for (size_t i = 0; i < FLOATS; i++) /* no product precedes the event */
        assert_true(c.host[i] == GUARD);
    clSetUserEventStatus(before, CL_COMPLETE);
    clReleaseEvent(before);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    compare(t.queue);
    xl_queue_destroy(q);
    clReleaseCommandQueue(native);
}

/* Batches of one product: the offset of A is in the list. */
static void group_of_lists(void **state)
{
    enum { COUNT = 3, SIDE = 8, GAP = SIDE * SIDE };
    (void)state;
    cl_ulong at[COUNT], zero = 0;
    xl_gemm g[COUNT];
    start(5);
    for (size_t i = 0; i < COUNT; i++) {
        at[i] = i * GAP;
        g[i] = product(SIDE, SIDE, SIDE, (size_t[3]){at[i], 0, i * GAP});
        expect(&g[i]);
        g[i].a.offset = 0;
        g[i].batch = (xl_batch){.count = i % 2, .a_at = &at[i], .b_at = &zero,
                                .c_at = &zero};
    }
    run_group(g, COUNT);
}

/* A, B and C of a product beside each other in one buffer; and C's that are
 * columns of one matrix. As a batch each would span the others. */
static void group_in_one_buffer(void **state)
{
    enum { COUNT = 4, SIDE = 8, GAP = SIDE * SIDE };
    (void)state;
    xl_gemm g[COUNT];
    start(6);
    memcpy(want, a.host, sizeof want);
    for (size_t i = 0; i < COUNT; i++) {
        const size_t at = 3 * GAP * i;
        g[i] = product(SIDE, SIDE, SIDE,
                       (size_t[3]){at, at + GAP, at + 2 * GAP});
        g[i].b.mem.buf = g[i].c.mem.buf = a.mem;
        memcpy(b.host, a.host, sizeof b.host);
        expect(&g[i]);
    }
    assert_status(xl_gemm_run_group(t.queue, g, COUNT, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_read(t.queue, a.mem, 0, a.host, sizeof a.host),
                  XL_OK, xl_error_detail(t.queue));
    assert_memory_equal(a.host, want, sizeof want);
    start(7);
    for (size_t i = 0; i < COUNT; i++) {
        g[i] = product(SIDE, SIDE, SIDE, (size_t[3]){GAP * i, 0, SIDE * i});
        g[i].c.row_stride = COUNT * SIDE;
        expect(&g[i]);
    }
    run_group(g, COUNT);
}

/* -- alpha = 0 ------------------------------------------------------------- */

/* C = beta C with A and B of NaN, then without memory: by each variant, of one
 * product, a batch and a group. */
static void no_product(void **state)
{
    enum { M = 9, N = 11, K = 13, COUNT = 3, GAP = 200 };
    (void)state;
    const xl_binding bias = {.name = "s", .is_scalar = true, .scalar = 5,
                             .tensor = {.dtype = XL_F32}};
    unsigned n = 0;
    start(8);
    for (size_t i = 0; i < FLOATS; i++)
        a.host[i] = NAN;
    upload(&a);
    for (; xl_variant_name(t.device, "gemm", n); n++) {
        xl_gemm g = product(M, N, K, (size_t[3]){1, 2, 3});
        g.b.mem.buf = a.mem;
        g.variant = xl_variant_name(t.device, "gemm", n);
        g.alpha = n % 2 ? 0 : 1e-300; /* 0 as an f32 */
        g.beta = 2;
        if (n % 3 == 1) {
            g.a.mem.buf = g.b.mem.buf = NULL;
            g.batch = (xl_batch){
                .count = COUNT, .a_step = GAP, .b_step = GAP, .c_step = GAP};
        }
        if (n % 3 == 2)
            g.epilogue = (xl_epilogue){"y + s", &bias, 1};
        const size_t count = n % 3 == 1 ? COUNT : 1;
        for (size_t i = 0; i < count * M * N; i++) {
            float *x = &want[3 + i / (M * N) * GAP + i % (M * N)];
            *x = 2 * *x + (n % 3 == 2 ? 5 : 0);
        }
        if (n % 2)
            assert_status(xl_gemm_run(t.queue, &g, NULL), XL_OK,
                          xl_error_detail(t.queue));
        else
            assert_status(xl_gemm_run_group(t.queue, &g, 1, NULL), XL_OK,
                          xl_error_detail(t.queue));
        compare(t.queue);
    }
    assert_true(n > 3);
}

/* The same batch with other lists each time, without waiting between. */
static void lists_change(void **state)
{
    enum { COUNT = 5, TIMES = 4, GAP = 200 };
    (void)state;
    cl_ulong at[3][COUNT];
    start(3);
    for (size_t time = 0; time < TIMES; time++) {
        xl_gemm g = product(9, 11, 13, (size_t[3]){1, 2, 3});
        for (size_t z = 0; z < COUNT; z++) {
            at[0][z] = (z * 7 + time) * GAP;
            at[1][z] = (z * 5 + 2 * time) * GAP;
            at[2][z] = (time * COUNT + z) * GAP;
            const size_t places[] = {1 + (size_t)at[0][z],
                                     2 + (size_t)at[1][z],
                                     3 + (size_t)at[2][z]};
            const xl_gemm one = product(9, 11, 13, places);
            expect(&one);
        }
        g.batch = (xl_batch){
            .count = COUNT, .a_at = at[0], .b_at = at[1], .c_at = at[2]};
        assert_status(xl_gemm_run(t.queue, &g, NULL), XL_OK,
                      xl_error_detail(t.queue));
    }
    compare(t.queue);
}

/* All products share A where its step is 0. */
static void shared_operand(void **state)
{
    enum { COUNT = 3, M = 7, N = 9, K = 5 };
    (void)state;
    start(9);
    xl_gemm g = product(M, N, K, (size_t[3]){0, 0, 0});
    for (size_t z = 0; z < COUNT; z++) {
        const xl_gemm one =
            product(M, N, K, (size_t[3]){0, z * K * N, z * M * N});
        expect(&one);
    }
    g.batch = (xl_batch){.count = COUNT, .b_step = K * N, .c_step = M * N};
    assert_status(xl_gemm_run(t.queue, &g, NULL), XL_OK,
                  xl_error_detail(t.queue));
    compare(t.queue);
}

/* Sums, alpha and beta of i32 wrap. */
static void wrapping(void **state)
{
    enum { N = 16, K = 64 };
    (void)state;
    static const int32_t alpha = INT32_MAX, beta = INT32_MIN;
    signed char x[K * N];
    int32_t old[N * N];
    for (size_t i = 0; i < K * N; i++)
        x[i] = (signed char)(i * 37 % 255 - 127);
    for (size_t i = 0; i < N * N; i++)
        old[i] = (int32_t)((uint32_t)i * 123456789u);
    for (unsigned v = 0; xl_variant_name(t.device, "gemm", v); v++) {
        assert_status(xl_buffer_write(t.queue, a.mem, 0, x, sizeof x), XL_OK,
                      "");
        assert_status(xl_buffer_write(t.queue, c.mem, 0, old, sizeof old),
                      XL_OK, "");
        xl_gemm g = {XL_GEMM_INIT,
                     .m = N,
                     .n = N,
                     .k = K,
                     .alpha = alpha,
                     .beta = beta,
                     .variant = xl_variant_name(t.device, "gemm", v)};
        g.a = xl_mat_rows(a.mem, K, XL_I8);
        g.b = xl_mat_rows(a.mem, N, XL_I8);
        g.c = xl_mat_rows(c.mem, N, XL_I32);
        int32_t got[N * N];
        const xl_status status = xl_gemm_run(t.queue, &g, NULL);
        if (status == XL_UNSUPPORTED)
            continue;
        assert_status(status, XL_OK, xl_error_detail(t.queue));
        assert_status(xl_buffer_read(t.queue, c.mem, 0, got, sizeof got),
                      XL_OK, "");
        for (size_t i = 0; i < N * N; i++) {
            uint32_t sum = 0;
            for (size_t l = 0; l < K; l++)
                sum += (uint32_t)(x[i / N * K + l] * x[l * N + i % N]);
            sum = (uint32_t)alpha * sum + (uint32_t)beta * (uint32_t)old[i];
            if ((uint32_t)got[i] != sum)
                fail_msg("%s: %zu: %d, not %d", g.variant, i, got[i],
                         (int32_t)sum);
        }
    }
}

/* alpha and beta of an f64 product are f64, by every variant that has one. */
static void scalars_of_f64(void **state)
{
    static const double one = 1, alpha = 1 + 0x1p-40, beta = 0x1p-45;
    double got = 0;
    cl_mem mem[3] = {NULL, NULL, NULL};
    unsigned n = 0;
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_status(xl_buffer_create(t.queue, sizeof one, &mem[i]), XL_OK,
                      xl_error_detail(t.queue));
    for (unsigned v = 0; xl_variant_name(t.device, "gemm", v); v++) {
        for (unsigned i = 0; i < 3; i++)
            assert_status(
                xl_buffer_write(t.queue, mem[i], 0, &one, sizeof one), XL_OK,
                xl_error_detail(t.queue));
        const xl_gemm g = {XL_GEMM_INIT,
                           .m = 1,
                           .n = 1,
                           .k = 1,
                           .a = xl_mat_rows(mem[0], 1, XL_F64),
                           .b = xl_mat_rows(mem[1], 1, XL_F64),
                           .c = xl_mat_rows(mem[2], 1, XL_F64),
                           .alpha = alpha,
                           .beta = beta,
                           .variant = xl_variant_name(t.device, "gemm", v)};
        const xl_status status = xl_gemm_run(t.queue, &g, NULL);
        if (status == XL_UNSUPPORTED)
            continue;
        assert_status(status, XL_OK, xl_error_detail(t.queue));
        assert_status(xl_buffer_read(t.queue, mem[2], 0, &got, sizeof got),
                      XL_OK, xl_error_detail(t.queue));
        if (got != alpha + beta)
            fail_msg("%s: %a, not %a", g.variant, got, alpha + beta);
        n++;
    }
    for (unsigned i = 0; i < 3; i++)
        clReleaseMemObject(mem[i]);
    if (n == 0)
        skip(); /* a device without f64 */
}

/* The same call gives the same bits, by every variant. */
static void repeats(void **state)
{
    enum { M = 70, N = 67, K = 129 };
    (void)state;
    struct xl__rng rng;
    xl__rng_seed(&rng, 10);
    for (size_t i = 0; i < FLOATS; i++)
        a.host[i] = (float)(xl__rng_uniform(&rng) - 0.5);
    upload(&a);
    for (unsigned v = 0; xl_variant_name(t.device, "gemm", v); v++) {
        xl_gemm g = product(M, N, K, (size_t[3]){0, 0, 0});
        g.variant = xl_variant_name(t.device, "gemm", v);
        g.b.mem = g.a.mem;
        for (unsigned time = 0; time < 3; time++) {
            const xl_status status = xl_gemm_run(t.queue, &g, NULL);
            if (status == XL_UNSUPPORTED)
                break;
            assert_status(status, XL_OK, xl_error_detail(t.queue));
            assert_status(xl_buffer_read(t.queue, c.mem, 0,
                                         time == 0 ? want : c.host,
                                         M * N * sizeof(float)),
                          XL_OK, "");
            if (time > 0)
                assert_memory_equal(c.host, want, M * N * sizeof(float));
        }
    }
}

/* dA = dC B^T and dB = A^T dC, as in gemm.h: here a is dC and b is
 * B, then a for A and b for dC. */
static void gradients(void **state)
{
    (void)state;
    const size_t m = 19, n = 23, k = 17;
    start(4);
    xl_gemm da = {XL_GEMM_INIT, .m = m, .n = k, .k = n, .alpha = 1};
    da.a = xl_mat_rows(a.mem, n, XL_F32);
    da.b = xl_mat_transposed(xl_mat_rows(b.mem, n, XL_F32));
    da.c = xl_mat_rows(c.mem, k, XL_F32);
    expect(&da);
    assert_status(xl_gemm_run(t.queue, &da, NULL), XL_OK,
                  xl_error_detail(t.queue));
    xl_gemm db = {XL_GEMM_INIT, .m = k, .n = n, .k = m, .alpha = 1};
    db.a = xl_mat_transposed(xl_mat_rows(a.mem, k, XL_F32));
    db.b = xl_mat_rows(b.mem, n, XL_F32);
    db.c = xl_mat_rows(c.mem, n, XL_F32);
    db.c.offset = 1000;
    expect(&db);
    assert_status(xl_gemm_run(t.queue, &db, NULL), XL_OK,
                  xl_error_detail(t.queue));
    compare(t.queue);
}

/* -- 8-bit floats ---------------------------------------------------------- */

/* The value of a code by OFP8's definition. */
static double f8_value(xl_dtype dtype, unsigned code)
{
    const int bits = dtype == XL_F8E4M3 ? 3 : 2;
    const int bias = dtype == XL_F8E4M3 ? 7 : 15;
    const int exponent = (int)(code & 127) >> bits;
    const int mantissa = (int)code & ((1 << bits) - 1);
    const double sign = code > 127 ? -1 : 1;
    if (dtype == XL_F8E4M3 ? (code & 127) == 127 : exponent == 31)
        return dtype == XL_F8E4M3 || mantissa ? (double)NAN
                                              : sign * (double)INFINITY;
    return exponent == 0 ? sign * ldexp(mantissa, 1 - bias - bits)
                         : sign * ldexp(mantissa + (1 << bits),
                                        exponent - bias - bits);
}

/* Every code times every other, which f32 holds exactly; `across`: A and B lie
 * so that vectors are read. */
static void check_codes(xl_dtype dtype, const char *variant, bool across)
{
    enum { N = 256 };
    unsigned char code[N];
    for (unsigned i = 0; i < N; i++)
        code[i] = (unsigned char)i;
    assert_status(xl_buffer_write(t.queue, a.mem, 0, code, N), XL_OK,
                  xl_error_detail(t.queue));
    xl_gemm g = {XL_GEMM_INIT, .m = N,     .n = N,
                 .k = 1,       .alpha = 1, .variant = variant};
    g.a = across ? xl_mat_cols(a.mem, N, dtype) : xl_mat_rows(a.mem, 1, dtype);
    g.b = across ? xl_mat_rows(a.mem, N, dtype) : xl_mat_cols(a.mem, 1, dtype);
    g.c = xl_mat_rows(c.mem, N, XL_F32);
    const xl_status status = xl_gemm_run(t.queue, &g, NULL);
    if (status == XL_UNSUPPORTED)
        return;
    assert_status(status, XL_OK, xl_error_detail(t.queue));
    assert_status(xl_queue_finish(t.queue), XL_OK, xl_error_detail(t.queue));
    assert_status(xl_buffer_read(t.queue, c.mem, 0, c.host, sizeof c.host),
                  XL_OK, xl_error_detail(t.queue));
    for (unsigned i = 0; i < N; i++) {
        for (unsigned j = 0; j < N; j++) {
            const double x = f8_value(dtype, i) * f8_value(dtype, j);
            const double got = (double)c.host[i * N + j];
            if (!(got == x) && !(isnan(got) && isnan(x)))
                fail_msg("%s: %s codes %u and %u give %g, not %g", variant,
                         xl_dtype_name(dtype), i, j, got, x);
        }
    }
}

static void f8_codes(void **state)
{
    (void)state;
    for (unsigned i = 0; xl_variant_name(t.device, "gemm", i); i++) {
        const char *variant = xl_variant_name(t.device, "gemm", i);
        check_codes(XL_F8E4M3, variant, true);
        check_codes(XL_F8E5M2, variant, false);
    }
}

/* -- wrong input ----------------------------------------------------------- */

/* Refused with this status and a message that has `part` in it. */
static void refused(const xl_gemm *g, xl_status status, const char *part)
{
    const xl_status got = xl_gemm_run(t.queue, g, NULL);
    assert_status(got, status, xl_error_detail(t.queue));
    if (!strstr(xl_error_detail(t.queue), part))
        fail_msg("\"%s\" does not say \"%s\"", xl_error_detail(t.queue), part);
}

static void wrong_batches(void **state)
{
    (void)state;
    const size_t at[3] = {0, 0, 0};
    cl_ulong list[3] = {0, 100, 50}, far[3] = {0, 1000, FLOATS};
    xl_gemm g = product(8, 8, 8, at);
    g.batch = (xl_batch){.count = 3, .a_step = 64, .b_step = 64, .c_step = 63};
    refused(&g, XL_OVERLAP, "different products overlap");
    g.batch.c_step = 0;
    refused(&g, XL_OVERLAP, "different products overlap");
    g.batch = (xl_batch){
        .count = 3, .a_step = 64, .b_step = 64, .c_step = FLOATS / 2};
    refused(&g, XL_BUFFER_TOO_SMALL, "C needs");
    g.batch = (xl_batch){
        .count = 3, .a_step = SIZE_MAX / 2, .b_step = 64, .c_step = 64};
    refused(&g, XL_OVERFLOW, "A");
    g.batch = (xl_batch){.count = 3, .a_at = list, .c_at = list};
    refused(&g, XL_BAD_ARGUMENT, "none of them");
    g.batch = (xl_batch){.count = 3, .a_at = list, .b_at = list, .c_at = list};
    refused(&g, XL_OVERLAP, "two offsets");
    g.batch = (xl_batch){.count = 3, .a_at = list, .b_at = list, .c_at = far};
    refused(&g, XL_BUFFER_TOO_SMALL, "C needs");
    g.c.mem = g.a.mem;
    g.batch = (xl_batch){.count = 3, .a_step = 64, .b_step = 64, .c_step = 64};
    refused(&g, XL_OVERLAP, "C overlaps A");
}

static void wrong_types(void **state)
{
    (void)state;
    xl_gemm g = product(8, 8, 8, (size_t[3]){0, 0, 0});
    g.a.dtype = g.b.dtype = XL_I8;
    refused(&g, XL_OK, "");
    g.c.dtype = XL_I32;
    g.alpha = 0.5;
    refused(&g, XL_BAD_SCALAR, "whole number");
    g.alpha = 1;
    g.c.dtype = XL_I8;
    refused(&g, XL_UNSUPPORTED, "C i8");
    g.b.dtype = XL_F32;
    refused(&g, XL_UNSUPPORTED, "A i8, B f32, C i8");
    g.c.dtype = XL_I32;
    refused(&g, XL_UNSUPPORTED, "into i32 where both are i8 or u8");
    g.a.dtype = g.b.dtype = XL_U8;
    g.c.dtype = XL_I8;
    refused(&g, XL_UNSUPPORTED, "A u8");
    g.a.dtype = XL_F64;
    g.b.dtype = XL_F32;
    g.c.dtype = XL_F32;
    refused(&g, XL_UNSUPPORTED, "A f64, B f32");
    g.a.dtype = XL_I32;
    refused(&g, XL_UNSUPPORTED, "A i32");
    g.a.dtype = XL_F8E4M3;
    g.b.dtype = XL_F8E5M2;
    refused(&g, XL_OK, "");
    g.b.dtype = XL_F8E4M3;
    g.c.dtype = XL_F8E4M3;
    refused(&g, XL_UNSUPPORTED, "C f8e4m3");
    g.epilogue.expr = "y";
    refused(&g, XL_UNSUPPORTED, "C f8e4m3 with an epilogue");
    const size_t n = 8;
    const xl_binding bias = {
        .name = "b", .tensor = xl_tensor_dense(a.mem, XL_F8E4M3, 1, &n)};
    g.epilogue = (xl_epilogue){"y + b", &bias, 1};
    g.c.dtype = XL_F32;
    refused(&g, XL_BAD_ARGUMENT, "'b' is bound as f8e4m3");
}

static void wrong_groups(void **state)
{
    (void)state;
    xl_gemm g[2] = {product(8, 8, 8, (size_t[3]){0, 0, 0}),
                    product(8, 8, 8, (size_t[3]){0, 0, 40})};
    assert_status(xl_gemm_run_group(t.queue, g, 0, NULL), XL_BAD_ARGUMENT,
                  "none");
    assert_status(xl_gemm_run_group(t.queue, NULL, 2, NULL), XL_BAD_ARGUMENT,
                  "none");
    assert_status(xl_gemm_run_group(t.queue, g, 2, NULL), XL_OVERLAP,
                  xl_error_detail(t.queue));
    assert_non_null(strstr(xl_error_detail(t.queue), "C of product"));
    g[1].c.offset = 64;
    g[1].k = 0;
    assert_status(xl_gemm_run_group(t.queue, g, 2, NULL), XL_BAD_SHAPE,
                  xl_error_detail(t.queue));
    assert_non_null(strstr(xl_error_detail(t.queue), "product 1"));
    g[1] = product(8, 8, 8, (size_t[3]){0, 0, 64});
    g[1].epilogue.expr = "y + nothing";
    assert_status(xl_gemm_run_group(t.queue, g, 2, NULL), XL_BAD_ARGUMENT,
                  xl_error_detail(t.queue));
    assert_non_null(strstr(xl_error_detail(t.queue), "product 1"));
    g[1] = product(8, 8, 8, (size_t[3]){0, 0, 64});
    g[1].a = g[0].c; /* reads what the other writes */
    assert_status(xl_gemm_run_group(t.queue, g, 2, NULL), XL_OVERLAP,
                  xl_error_detail(t.queue));
    g[1].alpha = 0; /* reads nothing */
    assert_status(xl_gemm_run_group(t.queue, g, 2, NULL), XL_OK,
                  xl_error_detail(t.queue));
}

/* A product whose epilogue reads the C of another, in either order; its own C
 * is allowed. */
static void wrong_group_binding(void **state)
{
    (void)state;
    const size_t size[] = {8, 8};
    xl_binding r = {.name = "r",
                    .tensor = xl_tensor_dense(c.mem, XL_F32, 2, size)};
    xl_gemm g[2] = {product(8, 8, 8, (size_t[3]){0, 0, 0}),
                    product(8, 8, 8, (size_t[3]){0, 0, 64})};
    for (unsigned i = 0; i < 2; i++) {
        g[0].epilogue = g[1].epilogue = (xl_epilogue){0};
        g[i].epilogue = (xl_epilogue){"y + r", &r, 1};
        r.tensor.offset = 64 * (1 - i);
        assert_status(xl_gemm_run_group(t.queue, g, 2, NULL), XL_OVERLAP,
                      xl_error_detail(t.queue));
        assert_non_null(strstr(xl_error_detail(t.queue), "overlaps r of"));
        r.tensor.offset = 64 * i;
        assert_status(xl_gemm_run_group(t.queue, g, 2, NULL), XL_OK,
                      xl_error_detail(t.queue));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group),
        cmocka_unit_test(group_out_of_order),
        cmocka_unit_test(lists_change),
        cmocka_unit_test(gradients),
        cmocka_unit_test(wrong_batches),
        cmocka_unit_test(wrong_types),
        cmocka_unit_test(wrong_groups),
        cmocka_unit_test(f8_codes),
        cmocka_unit_test(no_product),
        cmocka_unit_test(group_of_lists),
        cmocka_unit_test(group_in_one_buffer),
        cmocka_unit_test(shared_operand),
        cmocka_unit_test(wrapping),
        cmocka_unit_test(repeats),
        cmocka_unit_test(scalars_of_f64),
        cmocka_unit_test(wrong_group_binding),
    };
    test_args(argc, argv);
    test_device_open(&t, NULL);
    struct floats *const all[] = {&a, &b, &c};
    for (unsigned i = 0; i < 3; i++)
        assert_status(xl_buffer_create(t.queue, sizeof all[i]->host,
                                       &all[i]->mem),
                      XL_OK, xl_error_detail(t.queue));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < 3; i++)
        clReleaseMemObject(all[i]->mem);
    test_device_close(&t);
    return failed;
}
