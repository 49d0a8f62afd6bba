/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation and its inverse on a device: what a call refuses; preparations;
 * rows of gradually larger elements, ties and halves of steps; random
 * configurations, bit for bit with the host, between guards. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/rng.h"
#include "support/support.h"
#include "verify/verify.h"

enum { ROWS = 3, COLS = 64, CASES = 40, SEED = 11 };

static struct test_device t;
static cl_mem x, blocks, scales, zeros;

static int open_buffers(void **state)
{
    enum { BYTES = 1 << 16 };
    cl_mem *const all[] = {&x, &blocks, &scales, &zeros};
    (void)state;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        assert_status(xl_buffer_create(t.queue, BYTES, all[i]), XL_OK,
                      xl_error_detail(t.queue));
    return 0;
}

static int close_buffers(void **state)
{
    (void)state;
    clReleaseMemObject(x);
    clReleaseMemObject(blocks);
    clReleaseMemObject(scales);
    clReleaseMemObject(zeros);
    return 0;
}

static xl_qconvert good_call(xl_qformat format)
{
    const bool has_scales = xl_qformat_layout(format)->has_scales;
    return (xl_qconvert){XL_QCONVERT_INIT, .x = xl_mat_rows(x, COLS, XL_F32),
                         .w = {.shape = {format, ROWS, COLS, 32, 2},
                               .blocks.buf = blocks,
                               .scales.buf = has_scales ? scales : NULL,
                               .zeros.buf = format == XL_INT4 ? zeros : NULL,
                               .has_zeros = format == XL_INT4}};
}

static void refuses(const xl_qconvert *c, xl_status want, const char *named)
{
    const xl_status got = xl_qconvert_run(t.queue, c, NULL);
    const char *why = xl_error_detail(t.queue);
    assert_status(got, want, why);
    if (!strstr(why, named))
        fail_msg("'%s' does not name '%s'", why, named);
}

/* Each from the good call, with one member changed. */
#define REFUSES(format, change, status, named)                                \
    do {                                                                      \
        xl_qconvert c = good_call(format);                                    \
        change;                                                               \
        refuses(&c, status, named);                                           \
    } while (0)

static void wrong_members(void **state)
{
    (void)state;
    REFUSES(XL_Q4_0, c.direction = XL_N_QDIRECTIONS, XL_BAD_ARGUMENT,
            "direction");
    REFUSES(XL_Q4_0, c.w.shape.format = XL_N_QFORMATS, XL_BAD_ARGUMENT,
            "format");
    REFUSES(XL_Q4_0, c.w.shape.rows = 0, XL_BAD_SHAPE, "qconvert");
    REFUSES(XL_Q4_K, c.x.row_stride = COLS, XL_BAD_SHAPE, "q4_k");
    REFUSES(XL_INT4, c.w.shape.group = 48, XL_BAD_SHAPE, "group");
    REFUSES(XL_Q4_0, c.w.shape.rows = (size_t)1 << 31, XL_UNSUPPORTED, "2^31");
    REFUSES(XL_Q4_0, c.x.dtype = XL_F64, XL_UNSUPPORTED, "f64");
    REFUSES(XL_Q4_0, c.x.col_stride = 2, XL_UNSUPPORTED, "column stride");
    REFUSES(XL_Q4_0, c.w.offset = 1, XL_BAD_ARGUMENT, "offset");
    REFUSES(XL_Q4_0, c.w.has_zeros = true, XL_BAD_ARGUMENT, "zeros");
    REFUSES(XL_INT4, c.w.scales.buf = NULL, XL_BAD_ARGUMENT, "scales");
    REFUSES(XL_INT4, c.w.zeros_offset = 1 << 16, XL_BUFFER_TOO_SMALL, "zeros");
    REFUSES(XL_Q4_0, c.x.offset = 1 << 14, XL_BUFFER_TOO_SMALL, "x");
    REFUSES(XL_Q4_0, c.w.blocks.buf = x, XL_OVERLAP, "x");
    REFUSES(XL_INT8, c.w.scales.buf = blocks, XL_OVERLAP, "w");
    REFUSES(XL_Q4_0, c.direction = XL_DEQUANTISE;
            c.x.row_stride = COLS - 1, XL_OVERLAP, "x");
    REFUSES(XL_Q4_0, c.variant = "qconvert_none", XL_BAD_ARGUMENT,
            "qconvert_none");
    /* Rows that are read may overlap. */
    xl_qconvert good = good_call(XL_MXFP4);
    good.x.row_stride = 1;
    good.w.offset = 1;
    assert_status(xl_qconvert_run(t.queue, &good, NULL), XL_OK,
                  xl_error_detail(t.queue));
}

static void preparations(void **state)
{
    xl_qconvert c = good_call(XL_INT4);
    size_t bytes = 1;
    (void)state;
    c.x.mem = c.w.blocks = c.w.scales = c.w.zeros = (xl_mem){.buf = NULL};
    assert_status(xl_qconvert_prepare(t.queue, &c), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_qconvert_prepare_range(t.queue, &c, 9), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_qconvert_workspace(t.queue, &c, &bytes), XL_OK,
                  xl_error_detail(t.queue));
    assert_int_equal(bytes, 0);
}

/* -- every rounding ------------------------------------------------------- */

enum { MANY_ROWS = 96, MANY_COLS = 512, SHARED_ROWS = 5 };

/* Both signs of the largest magnitude, in either order; of Q8_0 a step is 1,
 * and the others are the float below half of it. */
static float both_signs(size_t i)
{
    const size_t at = (i + i / 32) % 32;
    const float below = at % 2 ? 0x1.fffffep-2f : -0x1.fffffep-2f;
    const float most = i / 32 % 2 ? 127 : -127;
    return at == 0 ? most : at == 1 ? -most : below;
}

/* Of FP8 with a scale of 1 the middle of two elements, or a float beside it. */
static float fp8_tie(struct xl__rng *rng)
{
    enum { LARGEST = 0x7e };
    const uint8_t code = (uint8_t)xl__rng_below(rng, LARGEST);
    const float middle =
        (xl__e4m3_to_f32(code) + xl__e4m3_to_f32((uint8_t)(code + 1))) / 2;
    const float beside = xl__rng_below(rng, 2) ? INFINITY : 0;
    const float v =
        xl__rng_below(rng, 2) ? middle : nextafterf(middle, beside);
    return xl__rng_below(rng, 2) ? v : -v;
}

/* Rows of many scales: of 2^-110 to 2^14, so that scales are normal, subnormal
 * and zero in f16; elements are at halves of steps of several formats, and one
 * float beside them. */
static void make_rows(struct xl__rng *rng, float *to)
{
    static const float steps[] = {8, 15, 16, 31, 32, 63, 127, 12};
    for (size_t i = 0; i < (size_t)MANY_ROWS * MANY_COLS; i++) {
        const size_t row = i / MANY_COLS, unit = i / 32;
        const int at = (int)(row % 64);
        const int power = at < 40 ? at - 25 : 134 - 4 * at;
        const double n = (double)steps[unit % 8];
        const double m = 1 + xl__rng_uniform(rng) * (double)(unit % 3);
        double v = floor(2 * n * (2 * xl__rng_uniform(rng) - 1)) / (2 * n);
        if (i % 32 == unit % 32)
            v = unit % 2 ? 1 : -1;
        float f = (float)(v * m * pow(2, power));
        if (xl__rng_below(rng, 3) == 0)
            f = nextafterf(f, xl__rng_below(rng, 2) ? INFINITY : -INFINITY);
        if (unit % 5 == 0) /* 0 and -0 are the least */
            f = fabsf(f);
        if (unit % 7 == 0)
            f = both_signs(i);
        if (i % MANY_COLS / 64 == 7) /* a block of FP8 by itself */
            f = i % 64 == 5 ? 448 : fp8_tie(rng);
        to[i] = fabsf(f) >= 0x1p-120f ? f : i % 3 ? 0.0f : -0.0f;
    }
}

/* The call's variant makes the bytes that are wanted of each part. One that
 * was struck is a failure, one of another kind of device is not. */
static void check_rounding(const xl_qconvert *call, const size_t n[3],
                           unsigned char *const want[3],
                           unsigned char *const got[3])
{
    const cl_mem mem[] = {call->w.blocks.buf, call->w.scales.buf,
                          call->w.zeros.buf};
    for (unsigned i = 0; i < 3 && n[i]; i++) {
        for (size_t at = 0; at < n[i]; at++)
            got[i][at] = (unsigned char)~want[i][at];
        assert_status(xl_buffer_write(t.queue, mem[i], 0, got[i], n[i]), XL_OK,
                      "");
    }
    const xl_status status = xl_qconvert_run(t.queue, call, NULL);
    if (status == XL_UNSUPPORTED &&
        strstr(xl_error_detail(t.queue), "it is for CPUs"))
        return;
    assert_status(status, XL_OK, xl_error_detail(t.queue));
    for (unsigned i = 0; i < 3 && n[i]; i++) {
        assert_status(xl_buffer_read(t.queue, mem[i], 0, got[i], n[i]), XL_OK,
                      "");
        for (size_t at = 0; at < n[i]; at++)
            if (got[i][at] != want[i][at])
                fail_msg("%s, %s, part %u: byte %zu of row %zu is %d, should "
                         "be %d",
                         call->variant,
                         xl_qformat_layout(call->w.shape.format)->name, i,
                         at % (n[i] / MANY_ROWS), at / (n[i] / MANY_ROWS),
                         got[i][at], want[i][at]);
    }
}

static void roundings(void **state)
{
    enum { N = MANY_ROWS * MANY_COLS };
    struct xl__rng rng;
    float *in = malloc(N * sizeof *in);
    cl_mem src;
    (void)state;
    assert_non_null(in);
    xl__rng_seed(&rng, SEED);
    make_rows(&rng, in);
    assert_status(xl_buffer_create(t.queue, N * sizeof *in, &src), XL_OK, "");
    assert_status(xl_buffer_write(t.queue, src, 0, in, N * sizeof *in), XL_OK,
                  "");
    for (int f = 0; f < XL_N_QFORMATS; f++) {
        const xl_qshape shape = {(xl_qformat)f, MANY_ROWS, MANY_COLS, 64,
                                 SHARED_ROWS};
        xl_qbytes bytes;
        assert_int_equal(xl_qshape_bytes(&shape, &bytes), XL_OK);
        const size_t n[] = {bytes.blocks, bytes.scales, bytes.zeros};
        unsigned char *want[3] = {NULL}, *got[3] = {NULL};
        cl_mem mem[3] = {NULL};
        for (unsigned i = 0; i < 3 && n[i]; i++) {
            want[i] = calloc(1, n[i]);
            got[i] = calloc(1, n[i]);
            assert_true(want[i] && got[i]);
            assert_status(xl_buffer_create(t.queue, n[i], &mem[i]), XL_OK, "");
        }
        const xl_qdata data = {want[0], want[1], want[2]};
        assert_int_equal(xl_qmat_quantise_host(&shape, in, &data), XL_OK);
        xl_qconvert call = {XL_QCONVERT_INIT,
                            .x = xl_mat_rows(src, MANY_COLS, XL_F32),
                            .w = {.shape = shape,
                                  .blocks.buf = mem[0],
                                  .scales.buf = mem[1],
                                  .zeros.buf = mem[2],
                                  .has_zeros = n[2] > 0}};
        const char *variant;
        for (unsigned v = 0;
             (variant = xl_variant_name(t.device, "qconvert", v)); v++) {
            call.variant = variant;
            check_rounding(&call, n, want, got);
        }
        for (unsigned i = 0; i < 3 && n[i]; i++) {
            clReleaseMemObject(mem[i]);
            free(want[i]);
            free(got[i]);
        }
    }
    clReleaseMemObject(src);
    free(in);
}

/* -- random configurations ------------------------------------------------ */

static size_t up_to(struct xl__rng *rng, size_t n)
{
    return (size_t)xl__rng_below(rng, n + 1);
}

/* The formats and directions in turn. */
static struct qconvert_case random_case(struct xl__rng *rng, unsigned i)
{
    static const xl_dtype types[] = {XL_F32, XL_F16, XL_BF16};
    const xl_qformat format = (xl_qformat)(i / 2 % XL_N_QFORMATS);
    const size_t block = xl_qformat_layout(format)->block,
                 group = 32 * (1 + up_to(rng, 4));
    const bool is_int4 = format == XL_INT4, is_fp8 = format == XL_FP8;
    struct qconvert_case c = {
        .of = {.name = "random",
               .m = 1,
               .n = 1 + up_to(rng, 9),
               .k = is_int4 || is_fp8 ? group * (1 + up_to(rng, 20))
                            : block * (1 + up_to(rng, 3000 / block)),
               .format = format,
               .group = is_fp8 && up_to(rng, 2) == 0 ? 0 : group,
               .group_rows = up_to(rng, 5),
               .has_zeros = is_int4 && up_to(rng, 2) > 0,
               .in = types[up_to(rng, 2)],
               .pad = up_to(rng, 9),
               .off = 4 * up_to(rng, 5)},
        .is_dequantise = i % 2};
    c.of.out = c.of.in;
    return c;
}

static void random_configurations(void **state)
{
    /* NULL: the device's first, which of CPUs is another one. */
    static const char *const variants[] = {NULL, NULL, "qconvert_units",
                                           "qconvert_ref"};
    const char *asked = getenv("XL_TEST_CASES");
    const unsigned n = asked ? (unsigned)strtoul(asked, NULL, 10) : CASES;
    struct xl__rng rng;
    (void)state;
    xl__rng_seed(&rng, SEED);
    for (unsigned i = 0; i < n; i++) {
        const struct qconvert_case c = random_case(&rng, i);
        struct check_result found;
        const char *variant = variants[up_to(&rng, 3)];
        const xl_status status =
            verify_qconvert(t.queue, &c, variant, SEED + i, &found);
        if (status != XL_OK)
            fail_msg("%s, configuration %u, %zux%zu %s/%zu %s zeros %d pad "
                     "%zu off %zu inverse %d: %s %s",
                     variant ? variant : "-", i, c.of.n, c.of.k,
                     xl_qformat_layout(c.of.format)->name, c.of.group,
                     xl_dtype_name(c.of.in), c.of.has_zeros, c.of.pad,
                     c.of.off, c.is_dequantise, xl_status_text(status),
                     status == XL_WRONG_RESULT ? found.why
                                               : xl_error_detail(t.queue));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(wrong_members, open_buffers,
                                        close_buffers),
        cmocka_unit_test_setup_teardown(preparations, open_buffers,
                                        close_buffers),
        cmocka_unit_test(roundings), cmocka_unit_test(random_configurations)};
    test_args(argc, argv);
    return test_run_on_device(tests, &t, NULL);
}
