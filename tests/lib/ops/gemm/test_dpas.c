/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_dpas on a device that has no matrix engine, by the emulation of
 * cl/common/intel/dpas.clh, for sub-groups of 8 and of 16 items: the packed
 * operands, bit for bit as the extension's text lays fragments out; GEMM's
 * case table; every tile, types, layouts and alignments by turns. The
 * comparison is clbench's own: host sums in double, guard zones around every
 * buffer.
 *
 * XL_TEST_FULL  set: every case, and every tile with all of them */
#include <stdio.h>
#include <stdlib.h>

#include "ops/gemm/engines/dpas.h"
#include "ops/variants.h"
#include "runtime/launch.h"
#include "support/emulated_gemm.h"

enum { SEED = 21 };

static struct test_device t;
static bool takes_all;
static unsigned width; /* of a sub-group */

static int open_device(void **state)
{
    (void)state;
    emulated_open(&t, XL__OP_GEMM, &xl__gemm_dpas);
    emulate_dpas_ops(&t.device->limits, width);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    test_device_close(&t);
    return 0;
}

/* -- packed operands ------------------------------------------------------ */

enum { M = 13, N = 21, K = 37, ROWS = 8, ROW_BYTES = 32, MOST = 1 << 15 };

/* The byte of the matrix that is byte `at` of an instruction's 32 bytes along
 * k, of row (column) x; 0 past the edges. */
static unsigned char byte_of(const unsigned char *lines, size_t extent,
                             size_t x, size_t at, size_t elem)
{
    return x < extent && at < K * elem ? lines[x * K * elem + at] : 0;
}

/* cl_intel_subgroup_matrix_multiply_accumulate: item i of a sub-group has of
 * each row of A the bytes along k from 32 / width i on, and of B the 32 bytes
 * of column i, of which word w has bytes 4 w and on. A block read gives item
 * i element r width + i. The `beside` instructions of a sub-group across k are
 * beside each other. */
static void pack_tile(unsigned char *to, const unsigned char *lines,
                      size_t extent, size_t x, size_t at, size_t elem,
                      bool is_b)
{
    const size_t piece = is_b ? 4 : ROW_BYTES / width;
    const size_t values = is_b ? ROW_BYTES / piece : ROWS;
    for (size_t r = 0; r < values; r++) {
        for (size_t i = 0; i < width; i++) {
            for (size_t b = 0; b < piece; b++)
                *to++ = is_b ? byte_of(lines, extent, x + i,
                                       at + r * piece + b, elem)
                             : byte_of(lines, extent, x + r,
                                       at + i * piece + b, elem);
        }
    }
}

static size_t pack(unsigned char *to, const unsigned char *lines,
                   size_t extent, size_t tile, size_t beside, size_t elem,
                   bool is_b)
{
    const size_t each = is_b ? width : ROWS, team = beside * each;
    size_t n = 0;
    for (size_t x = 0; x < (extent + tile - 1) / tile * tile; x += team) {
        for (size_t at = 0; at < K * elem; at += ROW_BYTES) {
            for (size_t i = 0; i < team; i += each, n += each * ROW_BYTES)
                pack_tile(to + n, lines, extent, x + i, at, elem, is_b);
        }
    }
    return n;
}

static void packing_of(xl_dtype in, bool is_across)
{
    unsigned char a[M * K * 2], b[N * K * 2], lines[N * K * 2];
    unsigned char want[MOST], got[MOST];
    const size_t elem = xl_dtype_bytes(in);
    cl_mem ma, mb, mc, work;
    for (size_t i = 0; i < sizeof a; i++)
        a[i] = (unsigned char)(i * 37 + 1);
    for (size_t i = 0; i < sizeof b; i++)
        b[i] = (unsigned char)(i * 53 + 2);
    assert_int_equal(xl_buffer_create(t.queue, sizeof a, &ma), XL_OK);
    assert_int_equal(xl_buffer_create(t.queue, sizeof b, &mb), XL_OK);
    assert_int_equal(xl_buffer_create(t.queue, M * N * 4, &mc), XL_OK);
    assert_int_equal(xl_buffer_create(t.queue, MOST, &work), XL_OK);
    assert_int_equal(xl_buffer_write(t.queue, ma, 0, a, sizeof a), XL_OK);
    assert_int_equal(xl_buffer_write(t.queue, mb, 0, b, sizeof b), XL_OK);
    const xl_gemm g = {
        XL_GEMM_INIT,
        .m = M,
        .n = N,
        .k = K,
        .alpha = 1,
        .a = is_across ? xl_mat_cols(ma, M, in) : xl_mat_rows(ma, K, in),
        .b = is_across ? xl_mat_rows(mb, N, in) : xl_mat_cols(mb, K, in),
        .c = xl_mat_rows(mc, N, in == XL_I8 ? XL_I32 : XL_F32),
        .workspace = {.buf = work, .bytes = MOST}};
    enum { SMALL = 7 }; /* 2 x 4 instructions of a sub-group */
    emulated.wanted = xl__dpas_listed(
        SMALL, xl__find_matrix_op(&t.device->limits, "dpas", in, in));
    xl__plan_cache_clear(t.queue);
    xl__selections_clear(t.queue->ctx);
    assert_int_equal(xl_gemm_run(t.queue, &g, NULL), XL_OK);
    assert_int_equal(xl_buffer_read(t.queue, work, 0, got, sizeof got), XL_OK);

    const struct xl__dpas_set set = xl__dpas_set_of(&emulated.wanted);
    size_t n = 0;
    for (unsigned side = 0; side < 2; side++) {
        const size_t extent = side ? N : M;
        const unsigned char *from = side ? b : a;
        for (size_t x = 0; x < extent; x++) {
            for (size_t at = 0; at < K * elem; at++)
                lines[x * K * elem + at] =
                    is_across
                        ? from[(at / elem * extent + x) * elem + at % elem]
                        : from[x * K * elem + at];
        }
        n += pack(want + n, lines, extent, side ? set.tn : set.tm,
                  side ? set.rn : set.rm, elem, side);
        assert_true(n <= MOST);
    }
    assert_memory_equal(got, want, n);
    clReleaseMemObject(ma);
    clReleaseMemObject(mb);
    clReleaseMemObject(mc);
    clReleaseMemObject(work);
    emulated.wanted = (struct xl__params){.source = "model"};
}

static void quick_packing(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        packing_of(i / 2 ? XL_I8 : XL_F16, i % 2);
}

/* -- cases ---------------------------------------------------------------- */

static void quick_case_table(void **state)
{
    (void)state;
    if (!takes_all && width == 8)
        skip(); /* slow_tiles has both widths */
    emulated_gemm_table(&t, takes_all, SEED, 4);
}

static const struct {
    xl_dtype in, out;
    int trans; /* bit 0: A, bit 1: B */
} types[] = {
    {XL_F16, XL_F16, 0}, {XL_BF16, XL_F32, 2},  {XL_I8, XL_I32, 3},
    {XL_F16, XL_F32, 1}, {XL_BF16, XL_BF16, 3}, {XL_I8, XL_F32, 0},
};
enum { N_TYPES = sizeof types / sizeof *types };

/* Just over a tile each way, and over a depth; two products, the first of
 * which may share A with the second. */
static void one_tile(size_t i, unsigned j)
{
    char text[64];
    const xl_matrix_op *op = xl__find_matrix_op(&t.device->limits, "dpas",
                                                types[j].in, types[j].in);
    emulated.wanted = xl__dpas_listed(i, op);
    const struct xl__dpas_set set = xl__dpas_set_of(&emulated.wanted);
    const struct gemm_case c = {.name = "over a tile",
                                .m = set.tm + 1 + i % 3,
                                .n = set.tn + 1 + j,
                                .k = 2 * set.tk + 1 + j,
                                .trans = types[j].trans,
                                .alpha = 2,
                                .beta = j % 2 ? 1 : 0,
                                .in = types[j].in,
                                .out = types[j].out,
                                .pad_a = j % 3,
                                .pad_b = i % 2,
                                .pad_c = 1,
                                .off_a = i % 4,
                                .off_b = j % 2,
                                .off_c = 3,
                                .columns_c = j == 3,
                                .batch = {2, BATCH_STEPS, 0},
                                .bias_relu = types[j].out == XL_F16};
    xl__plan_cache_clear(t.queue);
    xl__selections_clear(t.queue->ctx);
    snprintf(text, sizeof text, "width %u, set %zu, type %u", width, i, j);
    if (!emulated_gemm(&t, &c, SEED, text))
        fail_msg("%s is not taken", text);
}

static void slow_tiles(void **state)
{
    (void)state;
    const xl_matrix_op *op =
        xl__find_matrix_op(&t.device->limits, "dpas", XL_F16, XL_F16);
    for (unsigned i = 0; xl__dpas_listed(i, op).value[XL__GEMM_TM]; i++) {
        for (unsigned j = 0; j < N_TYPES; j++) {
            if (test_is_sampled(i + j + width / 16, N_TYPES))
                one_tile(i, j);
        }
    }
    emulated.wanted = (struct xl__params){.source = "model"};
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quick_packing),
        cmocka_unit_test(quick_case_table),
        cmocka_unit_test(slow_tiles),
    };
    int n_failed = 0;
    takes_all = getenv("XL_TEST_FULL") != NULL;
    test_args(argc, argv);
    for (width = 8; width <= 16; width *= 2)
        n_failed += cmocka_run_group_tests(tests, open_device, close_device);
    return n_failed;
}
