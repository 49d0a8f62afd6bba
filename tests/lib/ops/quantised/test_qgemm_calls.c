/* SPDX-License-Identifier: Apache-2.0 */
/* What a product with quantised weights refuses, with the operand or member
 * that is named; preparations without memory and in the background; a NaN in a
 * row of A, and in a scale; activations as bytes and as E4M3, of which each is
 * seen; rows that are normed: zeros, infinities, sizes of numbers, eps, what
 * is said; pairs of matrices; rows of A of 16-bit floats, which some variants
 * convert ahead of the product. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/os/clock.h"
#include "fp8_codes.h"
#include "support/support.h"

enum { M = 2, N = 5, K = 64, PENDING = 1, STEP_NS = 1000000 };
enum { BLOCKS = N * K / 32 * 18, SCALES = N * 2, ZEROS = N };

static struct test_device t;
static cl_mem a, c, blocks, scales, zeros, gain;
static const struct {
    cl_mem *mem;
    size_t bytes;
} all[] = {{&a, M *K * sizeof(float)},
           {&c, M *N * sizeof(float)},
           {&blocks, BLOCKS},
           {&scales, SCALES * 2},
           {&zeros, ZEROS},
           {&gain, K * sizeof(float)}};
enum { N_ALL = sizeof all / sizeof *all };

static int open_buffers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_ALL; i++) {
        void *zero = calloc(1, all[i].bytes);
        assert_non_null(zero);
        assert_status(xl_buffer_create(t.queue, all[i].bytes, all[i].mem),
                      XL_OK, xl_error_detail(t.queue));
        assert_status(
            xl_buffer_write(t.queue, *all[i].mem, 0, zero, all[i].bytes),
            XL_OK, xl_error_detail(t.queue));
        free(zero);
    }
    return 0;
}

static int close_buffers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_ALL; i++)
        clReleaseMemObject(*all[i].mem);
    return 0;
}

static xl_qgemm good_call(xl_qformat format)
{
    const bool is_int4 = format == XL_INT4;
    return (xl_qgemm){XL_QGEMM_INIT, .m = M, .a = xl_mat_rows(a, K, XL_F32),
                      .w = {.shape = {format, N, K, 32, 0},
                            .blocks.buf = blocks,
                            .scales.buf = is_int4 ? scales : NULL,
                            .zeros.buf = is_int4 ? zeros : NULL,
                            .has_zeros = is_int4},
                      .c = xl_mat_rows(c, N, XL_F32)};
}

static void refuses(const xl_qgemm *g, xl_status want, const char *named)
{
    const xl_status got = xl_qgemm_run(t.queue, g, NULL);
    const char *why = xl_error_detail(t.queue);
    assert_status(got, want, why);
    if (!strstr(why, named))
        fail_msg("'%s' does not name '%s'", why, named);
}

/* Each from the good call, with one member changed. */
#define REFUSES(format, change, status, named)                                \
    do {                                                                      \
        xl_qgemm g = good_call(format);                                       \
        change;                                                               \
        refuses(&g, status, named);                                           \
    } while (0)

static void wrong_members(void **state)
{
    (void)state;
    REFUSES(XL_Q4_0, g.m = 0, XL_BAD_SHAPE, "m = 0");
    REFUSES(XL_Q4_0, g.w.shape.rows = 0, XL_BAD_SHAPE, "w 0 x");
    REFUSES(XL_Q4_0, g.w.shape.cols = 48, XL_BAD_SHAPE, "multiple of 32");
    REFUSES(XL_Q4_K, (void)g, XL_BAD_SHAPE, "multiple of 256");
    REFUSES(XL_INT4, g.w.shape.group = 48, XL_BAD_SHAPE, "group 48");
    REFUSES(XL_Q4_0, g.w.shape.format = XL_N_QFORMATS, XL_BAD_ARGUMENT,
            "format");
    REFUSES(XL_Q4_0, g.m = (size_t)1 << 31, XL_UNSUPPORTED, "2^31");
    REFUSES(XL_Q4_0, g.w.offset = 1, XL_BAD_ARGUMENT, "offset");
    REFUSES(XL_Q4_0, g.w.has_zeros = true, XL_BAD_ARGUMENT, "zeros");
    REFUSES(XL_Q4_0, g.accuracy = XL_N_ACCURACIES, XL_BAD_ARGUMENT,
            "accuracy");
    REFUSES(XL_Q4_0, g.activations = XL_N_ACTIVATIONS, XL_BAD_ARGUMENT,
            "activations");
    REFUSES(XL_Q4_0, g.w.blocks.buf = NULL, XL_BAD_ARGUMENT, "w");
    REFUSES(XL_INT4, g.w.scales.buf = NULL, XL_BAD_ARGUMENT, "scales");
    REFUSES(XL_INT4, g.w.zeros.buf = NULL, XL_BAD_ARGUMENT, "zeros");
    REFUSES(XL_Q4_0, g.a.dtype = XL_I8, XL_UNSUPPORTED, "A i8");
    REFUSES(XL_Q4_0, g.c.dtype = XL_I8, XL_UNSUPPORTED, "C i8");
    REFUSES(XL_Q4_0, g.a = xl_mat_cols(a, M, XL_F32), XL_UNSUPPORTED,
            "column stride");
    REFUSES(XL_FP8, g.w.shape.group = 48, XL_BAD_SHAPE, "group 48");
    REFUSES(XL_Q4_0, g.activations = XL_ACTIVATIONS_F8, XL_UNSUPPORTED,
            "must be fp8");
    REFUSES(XL_FP8, g.activations = XL_ACTIVATIONS_F8;
            g.w.shape.group = g.w.shape.group_rows = 32, XL_UNSUPPORTED,
            "must be fp8 with a scale for each row");
    REFUSES(XL_FP8, g.activations = XL_ACTIVATIONS_I8, XL_UNSUPPORTED,
            "integers");
    REFUSES(XL_Q4_0, g.w.offset = 2, XL_BUFFER_TOO_SMALL, "w");
    REFUSES(XL_Q8_0, (void)g, XL_BUFFER_TOO_SMALL, "w");
    REFUSES(XL_INT4, g.w.scales_offset = 1, XL_BUFFER_TOO_SMALL, "scales");
    REFUSES(XL_INT4, g.w.zeros_offset = 1, XL_BUFFER_TOO_SMALL, "zeros");
    REFUSES(XL_Q4_0, g.a.offset = 1, XL_BUFFER_TOO_SMALL, "A");
    REFUSES(XL_Q4_0, g.c.row_stride = 1, XL_OVERLAP, "C");
    REFUSES(XL_Q4_0, g.c.mem.buf = a, XL_OVERLAP, "A");
    REFUSES(XL_Q4_0, g.c.mem.buf = blocks, XL_OVERLAP, "w");
    REFUSES(XL_Q4_0, g.variant = "qgemm_none", XL_BAD_ARGUMENT, "qgemm_none");
    REFUSES(XL_Q4_0, g.epilogue.expr = "sum(y)", XL_BAD_ARGUMENT, "epilogue");
    for (int f = XL_Q4_0; f <= XL_INT4; f += XL_INT4 - XL_Q4_0) {
        const xl_qgemm good = good_call((xl_qformat)f);
        assert_status(xl_qgemm_run(t.queue, &good, NULL), XL_OK,
                      xl_error_detail(t.queue));
    }
}

static void set_status(xl_status status, const char *detail, void *arg)
{
    (void)detail;
    atomic_store((atomic_int *)arg, status);
}

static void preparations(void **state)
{
    xl_qgemm g = good_call(XL_INT4);
    atomic_int status = PENDING;
    (void)state;
    assert_status(xl_qgemm_prepare_async(t.queue, &g, 0, set_status, &status),
                  XL_OK, xl_error_detail(t.queue));
    g.a.mem = g.c.mem = g.w.blocks = g.w.scales = g.w.zeros =
        (xl_mem){.buf = NULL};
    assert_status(xl_qgemm_prepare(t.queue, &g), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_qgemm_prepare_range(t.queue, &g, M + 1), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_qgemm_prepare_range(t.queue, &g, M - 1), XL_BAD_ARGUMENT,
                  "a range that descends");
    while (atomic_load(&status) == PENDING)
        xl__sleep_ns(STEP_NS);
    assert_status(atomic_load(&status), XL_OK, "in the background");
}

/* Row 1 of A, and the scale of a block of row 2 of W. */
static void not_a_number(xl_activations activations)
{
    enum { ROW_A = 1, ROW_W = 2 };
    static const float nan_f32 = NAN;
    static const unsigned short nan_f16 = 0x7e00;
    const char *name;
    assert_status(xl_buffer_write(t.queue, a, ROW_A * K * sizeof nan_f32,
                                  &nan_f32, sizeof nan_f32),
                  XL_OK, xl_error_detail(t.queue));
    assert_status(xl_buffer_write(t.queue, blocks, ROW_W * (BLOCKS / N),
                                  &nan_f16, sizeof nan_f16),
                  XL_OK, xl_error_detail(t.queue));
    for (unsigned v = 0; (name = xl_variant_name(t.device, "qgemm", v)); v++) {
        xl_qgemm g = good_call(XL_Q4_0);
        float got[M][N];
        g.variant = name;
        g.activations = activations;
        const xl_status status = xl_qgemm_run(t.queue, &g, NULL);
        if (status == XL_UNSUPPORTED) /* f32, on a matrix engine */
            continue;
        assert_status(status, XL_OK, xl_error_detail(t.queue));
        assert_status(xl_buffer_read(t.queue, c, 0, got, sizeof got), XL_OK,
                      xl_error_detail(t.queue));
        for (unsigned i = 0; i < M; i++) {
            for (unsigned j = 0; j < N; j++)
                assert_int_equal(isnan(got[i][j]) != 0,
                                 i == ROW_A || j == ROW_W);
        }
    }
}

static void not_a_number_given(void **state)
{
    (void)state;
    not_a_number(XL_ACTIVATIONS_AS_GIVEN);
}

static void not_a_number_as_bytes(void **state)
{
    (void)state;
    not_a_number(XL_ACTIVATIONS_I8);
}

/* -- rows that are normed ------------------------------------------------- */

static xl_qgemm_norm rms(double eps)
{
    return (xl_qgemm_norm){XL_QGEMM_NORM_RMS, xl_mat_rows(gain, K, XL_F32),
                           eps};
}

static void wrong_norms(void **state)
{
    (void)state;
    REFUSES(XL_Q4_0, g.norm = rms(0);
            g.norm.kind = XL_N_QGEMM_NORM_KINDS, XL_BAD_ARGUMENT, "norm");
    REFUSES(XL_Q4_0, g.norm.kind = XL_QGEMM_NORM_RMS, XL_BAD_ARGUMENT,
            "no gain");
    REFUSES(XL_Q4_0, g.norm = rms(0);
            g.norm.gain.mem.buf = NULL, XL_BAD_ARGUMENT, "gain");
    REFUSES(XL_Q4_0, g.norm = rms(-1), XL_BAD_SCALAR, "eps");
    REFUSES(XL_Q4_0, g.norm = rms((double)NAN), XL_BAD_SCALAR, "eps");
    REFUSES(XL_Q4_0, g.norm = rms(1e-39), XL_BAD_SCALAR, "eps");
    REFUSES(XL_Q4_0, g.norm = rms(0);
            g.norm.gain.dtype = XL_I8, XL_UNSUPPORTED, "i8");
    REFUSES(XL_Q4_0, g.norm = rms(0);
            g.norm.gain.col_stride = 2, XL_UNSUPPORTED, "column stride");
    REFUSES(XL_Q4_0, g.norm = rms(0);
            g.norm.gain.offset = 1, XL_BUFFER_TOO_SMALL, "gain");
    REFUSES(XL_Q4_0, g.norm = rms(0); g.c.mem.buf = gain, XL_OVERLAP, "gain");
}

/* A row is multiplied by its weights of 1 and a gain of 2: its C is the sum of
 * the normed row. x: every element of the row, but the last where it is not
 * equal. */
static void normed_rows(void **state)
{
    enum { UNIT = 32, BLOCK = 34, ONE = 0x3c00 };
    static const struct {
        float x, last;
        double eps;
        float want; /* NaN: all of the row */
    } rows[] = {{0, 0, 0, 0},
                {3, 3, 0, 2 * K},
                {-0x1p-20f, -0x1p-20f, 0, -2 * K * 0x1p-20f / 3.1622777e-3f},
                {1, 1, 3, K},
                {0x1p60f, 0x1p60f, 0, 2 * K},
                {1, INFINITY, 0, NAN},
                {1, -INFINITY, 0, NAN},
                {1, NAN, 0, NAN},
                {1, 0x1p65f, 0, NAN}};
    static const float share = 1e-4f;
    unsigned char w[N * K / UNIT * BLOCK];
    float two[K];
    const char *name;
    cl_mem mem;
    (void)state;
    for (size_t i = 0; i < sizeof w; i++)
        w[i] = i % BLOCK == 0 ? 0 : i % BLOCK == 1 ? ONE >> 8 : 1;
    for (size_t l = 0; l < K; l++)
        two[l] = 2;
    assert_status(xl_buffer_create(t.queue, sizeof w, &mem), XL_OK, "w");
    assert_status(xl_buffer_write(t.queue, mem, 0, w, sizeof w), XL_OK, "w");
    assert_status(xl_buffer_write(t.queue, gain, 0, two, sizeof two), XL_OK,
                  "gain");
    for (unsigned v = 0; (name = xl_variant_name(t.device, "qgemm", v)); v++) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            float x[M][K], y[M][N];
            xl_qgemm g = good_call(XL_Q8_0);
            g.w.blocks.buf = mem;
            g.variant = name;
            g.norm = rms(rows[i].eps);
            for (size_t l = 0; l < K; l++) {
                x[0][l] = 1;
                x[1][l] = l + 1 < K ? rows[i].x : rows[i].last;
            }
            assert_status(xl_buffer_write(t.queue, a, 0, x, sizeof x), XL_OK,
                          "A");
            const xl_status status = xl_qgemm_run(t.queue, &g, NULL);
            if (status == XL_UNSUPPORTED)
                break;
            assert_status(status, XL_OK, xl_error_detail(t.queue));
            assert_status(xl_buffer_read(t.queue, c, 0, y, sizeof y), XL_OK,
                          "C");
            for (size_t j = 0; j < N; j++) {
                const float of_ones =
                    2 * K /
                    sqrtf((float)(1 + (rows[i].eps > 0 ? rows[i].eps : 1e-5)));
                const float want = rows[i].want, got = y[1][j];
                if (!(fabsf(y[0][j] - of_ones) <= share * of_ones) ||
                    !(isnan(want) ? isnan(got)
                                  : fabsf(got - want) <= share * fabsf(want)))
                    fail_msg("%s, row %zu: %g and %g, not %g and %g", name, i,
                             (double)y[0][j], (double)got, (double)of_ones,
                             (double)want);
            }
        }
    }
    clReleaseMemObject(mem);
}

/* What is said of a call with a norm, and its steps. */
static void norm_is_explained(void **state)
{
    enum { MOST = 16 };
    xl_choice *choice = calloc(MOST, sizeof *choice);
    unsigned n = 0;
    (void)state;
    assert_non_null(choice);
    for (int is_bytes = 0; is_bytes < 2; is_bytes++) {
        xl_qgemm g = good_call(XL_Q4_0);
        size_t bytes;
        g.norm = rms(0);
        g.activations = is_bytes ? XL_ACTIVATIONS_I8 : XL_ACTIVATIONS_AS_GIVEN;
        assert_status(xl_qgemm_explain(t.queue, &g, choice, MOST, &n), XL_OK,
                      xl_error_detail(t.queue));
        assert_status(xl_qgemm_workspace(t.queue, &g, &bytes), XL_OK,
                      xl_error_detail(t.queue));
        for (unsigned i = 0; i < n && i < MOST; i++) {
            const bool is_within =
                strstr(choice[i].why, "the kernel norms A") != NULL;
            const bool is_apart = strstr(choice[i].why, "A is normed") != NULL;
            if (choice[i].n_steps == 0)
                continue;
            assert_true(is_within != is_apart);
            assert_int_equal(choice[i].n_steps == 1, is_within);
            assert_int_equal(choice[i].scratch_bytes == 0, is_within);
            if (choice[i].chosen)
                assert_int_equal(choice[i].scratch_bytes, bytes);
            if (strcmp(choice[i].variant, "qgemm_cpu") == 0 || is_bytes)
                assert_false(is_within);
        }
        assert_in_range(n, 1, MOST);
    }
    free(choice);
}

/* -- two matrices --------------------------------------------------------- */

static void wrong_pairs(void **state)
{
    (void)state;
    REFUSES(XL_Q4_0, g.is_pair = true;
            g.epilogue.expr = "y * y2", XL_BAD_SHAPE, "w has 5 rows");
    REFUSES(XL_Q4_0, g.is_pair = true;
            g.w.shape.rows = 4, XL_BAD_ARGUMENT, "no epilogue");
    REFUSES(XL_Q4_0, g.is_pair = true; g.w.shape.rows = 4;
            g.epilogue.expr = "relu(y)", XL_BAD_ARGUMENT, "'y2' is bound");
    REFUSES(XL_Q4_0, g.epilogue.expr = "y * y2", XL_BAD_ARGUMENT, "y2");
    REFUSES(XL_FP8, g.is_pair = true; g.w.shape.rows = 4; g.w.shape.group = 0;
            g.epilogue.expr = "y * y2";
            g.activations = XL_ACTIVATIONS_F8, XL_UNSUPPORTED, "a pair");
    REFUSES(XL_Q4_0, g.is_pair = true; g.w.shape.rows = 4;
            g.epilogue.expr = "y * y2"; g.c.mem.buf = blocks, XL_OVERLAP, "w");
}

/* Rows of weights 1, 2 and 10, 20 beside an A of ones; as many operands as an
 * epilogue has at most. */
static void pairs(void **state)
{
    enum { UNIT = 32, BLOCK = 34, ONE = 0x3c00, ROWS = 4 };
    enum { MOST = XL_EPILOGUE_MAX_BINDINGS };
    static const char codes[ROWS] = {1, 2, 10, 20};
    unsigned char w[ROWS * K / UNIT * BLOCK];
    char name[MOST][8], expr[512] = "y2 - y";
    xl_binding more[MOST];
    float ones[M][K];
    const char *variant;
    cl_mem mem;
    unsigned n = 0;
    (void)state;
    for (size_t i = 0; i < sizeof w; i++)
        w[i] = i % BLOCK == 0   ? 0
               : i % BLOCK == 1 ? ONE >> 8
                                : (unsigned char)codes[i / (sizeof w / ROWS)];
    for (size_t i = 0; i < (size_t)M * K; i++)
        ones[i / K][i % K] = 1;
    for (unsigned k = 0; k < MOST; k++) {
        snprintf(name[k], sizeof name[k], "s%u", k);
        snprintf(expr + strlen(expr), sizeof expr - strlen(expr), " + %s",
                 name[k]);
        more[k] =
            (xl_binding){.name = name[k], .is_scalar = true, .scalar = k + 1};
    }
    assert_status(xl_buffer_create(t.queue, sizeof w, &mem), XL_OK, "w");
    assert_status(xl_buffer_write(t.queue, mem, 0, w, sizeof w), XL_OK, "w");
    assert_status(xl_buffer_write(t.queue, a, 0, ones, sizeof ones), XL_OK,
                  "A");
    for (unsigned v = 0; (variant = xl_variant_name(t.device, "qgemm", v));
         v++) {
        xl_qgemm g = good_call(XL_Q8_0);
        float y[M][N];
        g.w.blocks.buf = mem;
        g.w.shape.rows = ROWS;
        g.variant = variant;
        g.is_pair = true;
        g.epilogue = (xl_epilogue){expr, more, MOST};
        const xl_status status = xl_qgemm_run(t.queue, &g, NULL);
        if (status == XL_UNSUPPORTED)
            continue;
        assert_status(status, XL_OK, xl_error_detail(t.queue));
        assert_status(xl_buffer_read(t.queue, c, 0, y, sizeof y), XL_OK, "C");
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < ROWS / 2; j++)
                assert_true(y[i][j] == (float)(K * (codes[2 + j] - codes[j]) +
                                               MOST * (MOST + 1) / 2));
        n++;
    }
    assert_true(n >= 2);
    clReleaseMemObject(mem);
}

/* Integers of which a sum is exact, so that each variant's result is that of
 * the host: rows of A are at odd elements, or at multiples of 16 bytes, with
 * more columns than a group converts. */
static void narrow_rows(void **state)
{
    enum { UNIT = 32, BLOCK = 34, ONE = 0x3c, COLS = 5 * UNIT, MOST_GAP = 32 };
    enum { ROWS = 3, SPREAD = 9 };
    static const xl_dtype types[] = {XL_F16, XL_BF16};
    unsigned char w[N][COLS / UNIT][BLOCK] = {{{0}}};
    unsigned short x[ROWS * (COLS + MOST_GAP)] = {0};
    float want[ROWS][N], got[ROWS][N] = {{0}};
    cl_mem mem[] = {fp8_upload(t.queue, w, sizeof w),
                    fp8_upload(t.queue, x, sizeof x),
                    fp8_upload(t.queue, got, sizeof got)};
    const char *variant;
    unsigned n = 0;
    (void)state;
    for (size_t j = 0; j < N; j++)
        for (size_t l = 0; l < COLS; l++) {
            w[j][l / UNIT][1] = ONE;
            w[j][l / UNIT][2 + l % UNIT] = (unsigned char)((j + l) % SPREAD);
        }
    assert_status(xl_buffer_write(t.queue, mem[0], 0, w, sizeof w), XL_OK,
                  "w");
    for (unsigned of = 0; of < 4; of++) {
        const xl_dtype type = types[of % 2];
        const size_t gap = of < 2 ? 1 : MOST_GAP, first = of < 2 ? 1 : 0,
                     stride = COLS + gap;
        for (size_t i = 0; i < ROWS; i++) {
            for (size_t l = 0; l < stride; l++)
                xl__dtype_store(x, i * stride + l, type, NAN);
            for (size_t l = 0; l < COLS; l++)
                xl__dtype_store(x, first + i * stride + l, type,
                                (double)((3 * i + 5 * l) % SPREAD) - 4);
            for (size_t j = 0; j < N; j++) {
                want[i][j] = 0;
                for (size_t l = 0; l < COLS; l++)
                    want[i][j] += (float)((j + l) % SPREAD) *
                                  ((float)((3 * i + 5 * l) % SPREAD) - 4);
            }
        }
        assert_status(xl_buffer_write(t.queue, mem[1], 0, x, sizeof x), XL_OK,
                      "A");
        for (unsigned v = 0; (variant = xl_variant_name(t.device, "qgemm", v));
             v++) {
            xl_qgemm g = {
                XL_QGEMM_INIT,
                .m = ROWS,
                .a = xl_mat_rows(mem[1], stride, type),
                .w = {.shape = {XL_Q8_0, N, COLS, 0, 0}, .blocks.buf = mem[0]},
                .c = xl_mat_rows(mem[2], N, XL_F32),
                .variant = variant};
            g.a.offset = first;
            const xl_status status = xl_qgemm_run(t.queue, &g, NULL);
            if (status == XL_UNSUPPORTED)
                continue;
            assert_status(status, XL_OK, xl_error_detail(t.queue));
            assert_status(xl_buffer_read(t.queue, mem[2], 0, got, sizeof got),
                          XL_OK, "C");
            if (memcmp(got, want, sizeof want) != 0)
                fail_msg("%s, %s: C(0, 0) is %g, not %g", variant,
                         xl_dtype_name(type), (double)got[0][0],
                         (double)want[0][0]);
            n++;
        }
    }
    assert_true(n >= 4 * 3);
    for (unsigned i = 0; i < sizeof mem / sizeof *mem; i++)
        clReleaseMemObject(mem[i]);
}

/* W is 1 in column `l` of each row and 0 elsewhere, so that C is the element
 * of A that is multiplied. */
static void see_bytes(const char *variant, size_t l, float got[M])
{
    enum { BLOCK = 34, UNIT = 32, ONE = 0x3c00 };
    unsigned char w[N * K / UNIT * BLOCK] = {0};
    xl_qgemm g = good_call(XL_Q8_0);
    float y[M][N];
    cl_mem mem;
    for (size_t b = 0; b < sizeof w / BLOCK; b++)
        w[b * BLOCK + 1] = ONE >> 8;
    for (size_t j = 0; j < N; j++)
        w[(j * K + l) / UNIT * BLOCK + 2 + l % UNIT] = 1;
    assert_status(xl_buffer_create(t.queue, sizeof w, &mem), XL_OK, "w");
    assert_status(xl_buffer_write(t.queue, mem, 0, w, sizeof w), XL_OK, "w");
    g.w.blocks.buf = mem;
    g.variant = variant;
    g.activations = XL_ACTIVATIONS_I8;
    assert_status(xl_qgemm_run(t.queue, &g, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_read(t.queue, c, 0, y, sizeof y), XL_OK, "C");
    clReleaseMemObject(mem);
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 1; j < N; j++)
            assert_true(y[i][j] == y[i][0] ||
                        (isnan(y[i][j]) && isnan(y[i][0])));
        got[i] = y[i][0];
    }
}

/* A group of a largest magnitude 127 has scale 1: elements are rounded to
 * integers, in the middle of two to the even one. A group below 2^-90 is 0,
 * and one with an infinity NaN; the one beside it is as it was. */
static void bytes_are_as_stated(void **state)
{
    enum { UNIT = 32 };
    static const struct {
        size_t at;
        float given, want;
    } sees[] = {{0, -127, -127},   {1, 0.5f, 0},      {2, 1.5f, 2},
                {3, -2.5f, -2},    {4, -3.5f, -4},    {5, 0.499f, 0},
                {6, 100.51f, 101}, {31, 126.4f, 126}, {32, 0x1p-91f, 0},
                {33, -0x1p-95f, 0}};
    enum { N_SEES = sizeof sees / sizeof *sees };
    const char *name;
    (void)state;
    for (unsigned v = 0; (name = xl_variant_name(t.device, "qgemm", v)); v++) {
        float x[M][K] = {{0}}, got[M];
        xl_qgemm g = good_call(XL_Q4_0);
        g.variant = name;
        g.activations = XL_ACTIVATIONS_I8;
        if (xl_qgemm_prepare(t.queue, &g) == XL_UNSUPPORTED)
            continue;
        for (size_t i = 0; i < N_SEES; i++)
            x[1][sees[i].at] = sees[i].given;
        x[0][UNIT + 1] = INFINITY;
        x[0][1] = 3;
        assert_status(xl_buffer_write(t.queue, a, 0, x, sizeof x), XL_OK,
                      xl_error_detail(t.queue));
        for (size_t i = 0; i < N_SEES; i++) {
            see_bytes(name, sees[i].at, got);
            if (got[1] != sees[i].want)
                fail_msg("%s: %g became %g", name, (double)sees[i].given,
                         (double)got[1]);
            assert_true(isnan(got[0])); /* its row */
        }
    }
}

/* A row of a largest magnitude 448 has scale 1, and its elements become the
 * E4M3 next to them. Row 0 has an infinity and is NaN; row 2 is below 2^-90.
 * Row j of W is 1 in the column of sees[j] and 0 elsewhere, with scale j + 1.
 */
static void e4m3_is_as_stated(void **state)
{
    enum { ROWS = 3, ONE = 0x38 };
    static const struct {
        size_t at;
        float given, want;
    } sees[] = {{0, -448, -448},        {1, 17, 16},   {2, 19, 20},
                {3, -25, -24},          {4, 27, 28},   {5, 0x1p-10f, 0},
                {6, 0x3p-10f, 0x1p-8f}, {7, 433, 448}, {63, -5.4f, -5.5f}};
    enum { N_SEES = sizeof sees / sizeof *sees };
    float x[ROWS][K] = {{0}}, d[N_SEES], got[ROWS][N_SEES] = {{0}};
    unsigned char w[N_SEES][K] = {{0}};
    const char *name;
    unsigned ran = 0;
    (void)state;
    x[0][1] = INFINITY;
    for (size_t j = 0; j < N_SEES; j++) {
        x[1][sees[j].at] = sees[j].given;
        x[2][sees[j].at] = sees[j].given * 0x1p-100f;
        w[j][sees[j].at] = ONE;
        d[j] = (float)(j + 1);
    }
    cl_mem mem[] = {fp8_upload(t.queue, x, sizeof x),
                    fp8_upload(t.queue, w, sizeof w),
                    fp8_upload(t.queue, d, sizeof d),
                    fp8_upload(t.queue, got, sizeof got)};
    for (unsigned v = 0; (name = xl_variant_name(t.device, "qgemm", v)); v++) {
        const xl_qgemm g = {XL_QGEMM_INIT,
                            .m = ROWS,
                            .a = xl_mat_rows(mem[0], K, XL_F32),
                            .w = {.shape = {XL_FP8, N_SEES, K, 0, 1},
                                  .blocks.buf = mem[1],
                                  .scales.buf = mem[2]},
                            .c = xl_mat_rows(mem[3], N_SEES, XL_F32),
                            .variant = name,
                            .activations = XL_ACTIVATIONS_F8};
        const xl_status status = xl_qgemm_run(t.queue, &g, NULL);
        if (status == XL_UNSUPPORTED)
            continue;
        assert_status(status, XL_OK, xl_error_detail(t.queue));
        assert_status(xl_buffer_read(t.queue, mem[3], 0, got, sizeof got),
                      XL_OK, xl_error_detail(t.queue));
        for (size_t j = 0; j < N_SEES; j++) {
            if (got[1][j] != sees[j].want * d[j])
                fail_msg("%s: %g became %g", name, (double)sees[j].given,
                         (double)(got[1][j] / d[j]));
            assert_true(isnan(got[0][j]) && got[2][j] == 0);
        }
        ran++;
    }
    assert_int_not_equal(ran, 0);
    for (unsigned i = 0; i < sizeof mem / sizeof *mem; i++)
        clReleaseMemObject(mem[i]);
}

static void every_code_of_fp8(void **state)
{
    enum { LEAST = 2 };
    static const xl_dtype types[] = {XL_F32, XL_F16, XL_BF16};
    const char *name;
    unsigned ran = 0;
    (void)state;
    for (unsigned v = 0; (name = xl_variant_name(t.device, "qgemm", v)); v++)
        ran += fp8_check_codes(t.queue, types[v % 3], name) == XL_OK;
    assert_in_range(ran, LEAST, 100);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(wrong_members, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(preparations, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(not_a_number_given, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(not_a_number_as_bytes, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(bytes_are_as_stated, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(wrong_norms, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(normed_rows, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(norm_is_explained, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(wrong_pairs, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(pairs, open_buffers, close_buffers),
        cmocka_unit_test(narrow_rows),
        cmocka_unit_test(e4m3_is_as_stated),
        cmocka_unit_test(every_code_of_fp8)};
    test_args(argc, argv);
    return test_run_on_device(tests, &t, NULL);
}
