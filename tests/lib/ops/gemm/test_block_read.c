/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_block_read on a device without block reads, by the emulation that holds
 * the elements in the lanes that read them (cl/common/block_read.clh): GEMM's
 * case table with the model's tiles, then every listed set over types, layouts
 * and edges. The comparison is clbench's own: host sums in double, guard zones
 * of NaN around every buffer. And what it refuses.
 *
 * XL_TEST_FULL  set: every case, and every set with all types */
#include <stdio.h>
#include <stdlib.h>

#include "ops/gemm/tiles.h"
#include "ops/variants.h"
#include "runtime/launch.h"
#include "support/emulated_gemm.h"
#include "targets/targets.h"

enum { SEED = 22, BAND = 2, FEW = 3 };

static struct test_device t;
static bool takes_all;

static int open_device(void **state)
{
    (void)state;
    emulated_open(&t, XL__OP_GEMM, &xl__gemm_block_read);
    xl__limits_correct_text(&t.device->limits, XL__F_block_read, "emulated",
                            XL_ASSUMED, "GE-01");
    t.device->limits.model.tiles = &xl__intel_narrow_tiles;
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    test_device_close(&t);
    return 0;
}

static void quick_cases(void **state)
{
    (void)state;
    emulated_gemm_table(&t, takes_all, SEED, 10);
}

/* -- sets ----------------------------------------------------------------- */

static const struct {
    xl_dtype in, out;
    int trans;      /* bit 0: A is transposed, bit 1: B */
    bool columns_c; /* C^T = B^T A^T: of A^T the rows are contiguous */
    size_t over[3]; /* of m, n, k: over two tiles, two tiles, three slices */
} cases[] = {
    {XL_F32, XL_F32, 0, false, {1, 1, 1}},
    {XL_F16, XL_F16, 1, false, {2, 6, 3}},
    {XL_BF16, XL_F32, 0, false, {5, 2, 2}},
    {XL_F32, XL_BF16, 1, false, {3, 7, 5}},
    {XL_F16, XL_F32, 0, false, {0, 0, 0}},
    {XL_BF16, XL_BF16, 1, false, {4, 2, 7}},
    {XL_F32, XL_F32, 3, true, {7, 3, 6}},
};
enum { N_CASES = sizeof cases / sizeof *cases };

static void one_case(const struct xl__tile_set *s, unsigned i)
{
    char text[96];
    const size_t pad = cases[i].in == XL_F32 ? 1 : 2;
    const bool turned = cases[i].columns_c;
    const size_t m = 2u * s->tm - s->rm / 2u + cases[i].over[0];
    const size_t n = 2u * s->tn + cases[i].over[1];
    const size_t k = 3u * s->tk + cases[i].over[2];
    const struct gemm_case c = {
        .name = "over a tile",
        .m = turned ? n : m,
        .n = turned ? m : n,
        .k = k,
        .trans = cases[i].trans,
        .alpha = 2,
        .beta = i % 2 ? 1 : 0,
        .in = cases[i].in,
        .out = cases[i].out,
        /* Lines of 16-bit types are even. */
        .pad_a = pad + (cases[i].trans ? m : k) % pad,
        .pad_b = 3 * pad,
        .pad_c = 1,
        .off_a = pad,
        .off_b = 2 * pad,
        .off_c = 3,
        .columns_c = turned,
        .batch = {i % 2 ? 0 : 2, BATCH_STEPS, 0},
        .bias_relu = cases[i].out == XL_F16,
    };
    static const int where[] = {XL__GEMM_TM, XL__GEMM_TN, XL__GEMM_TK,
                                XL__TILE_RM, XL__TILE_RN, XL__TILE_VW,
                                XL__TILE_ST, XL__TILE_GR, XL__TILE_PARTS};
    const int value[] = {s->tm, s->tn, s->tk, s->rm, s->rn, 4, 1, BAND, 1};
    emulated.wanted = (struct xl__params){.source = "test"};
    for (size_t j = 0; j < sizeof where / sizeof *where; j++)
        emulated.wanted.value[where[j]] = value[j];
    xl__plan_cache_clear(t.queue);
    xl__selections_clear(t.queue->ctx);
    snprintf(text, sizeof text, "%ux%ux%u of %ux%u, case %u", s->tm, s->tn,
             s->tk, s->rm, s->rn, i);
    if (!emulated_gemm(&t, &c, SEED, text))
        fail_msg("%s is not taken: %s", text, xl_error_detail(t.queue));
    emulated.wanted = (struct xl__params){.source = "model"};
}

static void slow_sets(void **state)
{
    const struct xl__tile_sets *const all[] = {&xl__intel_narrow_tiles,
                                               &xl__intel_wide_tiles};
    unsigned n = 0;
    (void)state;
    for (unsigned a = 0; a < 2; a++) {
        t.device->limits.model.tiles = all[a];
        const struct xl__tile_set *s = all[a]->of[XL__TILES_GEMM_BLOCKS];
        for (; s->tm; s++, n++) {
            for (unsigned i = 0; i < N_CASES; i++) {
                if (takes_all || i % FEW == n % FEW)
                    one_case(s, i);
            }
        }
    }
    t.device->limits.model.tiles = &xl__intel_narrow_tiles;
    assert_int_equal(n, 10);
}

/* -- what is refused ------------------------------------------------------ */

static const char *why_not(xl_dtype in, size_t lda, size_t offset_b, bool nt)
{
    static char why[256];
    enum { M = 64, N = 96, K = 80 };
    struct xl__gemm_canonical canonical;
    struct xl__call call;
    xl_gemm g = {XL_GEMM_INIT, .m = M, .n = N, .k = K, .alpha = 1};
    g.a = xl_mat_rows(NULL, lda, in);
    g.b = nt ? xl_mat_cols(NULL, K, in) : xl_mat_rows(NULL, N, in);
    g.b.offset = offset_b;
    g.c = xl_mat_rows(NULL, N, XL_F32);
    assert_int_equal(XL_OK, xl__op_gemm.bind(NULL, &g, &canonical, &call));
    const char *reason =
        xl__gemm_block_read.refuses(&t.device->limits, &canonical);
    snprintf(why, sizeof why, "%s", reason ? reason : "");
    return why;
}

static void quick_refused(void **state)
{
    (void)state;
    assert_string_equal("", why_not(XL_F32, 81, 1, false));
    assert_string_equal("", why_not(XL_F16, 82, 2, false));
    assert_non_null(strstr(why_not(XL_F16, 81, 2, false), "4 bytes"));
    assert_non_null(strstr(why_not(XL_BF16, 82, 1, false), "4 bytes"));
    assert_non_null(strstr(why_not(XL_F32, 80, 0, true), "B's rows"));
    assert_non_null(strstr(why_not(XL_F64, 80, 0, false), "operands"));
    xl__limits_correct_text(&t.device->limits, XL__F_block_read, "",
                            XL_ASSUMED, "GE-01");
    assert_non_null(strstr(why_not(XL_F32, 80, 0, false), "no block reads"));
    xl__limits_correct_text(&t.device->limits, XL__F_block_read, "emulated",
                            XL_ASSUMED, "GE-01");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quick_refused),
        cmocka_unit_test(quick_cases),
        cmocka_unit_test(slow_sets),
    };
    takes_all = getenv("XL_TEST_FULL") != NULL;
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, open_device, close_device);
}
