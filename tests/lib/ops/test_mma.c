/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_mma on a device that has no matrix engine, by the emulation that holds
 * the engine's elements in the engine's lanes (cl/common/matrix/emulated.clh):
 * GEMM's case table, then every tile of the model, types, layouts and
 * alignments by turns. The comparison is clbench's own: host sums in double,
 * guard zones around every buffer.
 *
 * XL_TEST_FULL  set: every case, and every tile with all of them
 * XL_TEST_ARCH  an architecture of AMD whose instructions are emulated, or
 *               the matrices of a driver (emulate_chip()) */
#include <stdio.h>
#include <stdlib.h>

#include "ops/gemm/engines/mma.h"
#include "ops/variants.h"
#include "runtime/launch.h"
#include "support/emulated_gemm.h"

enum { SEED = 20 };

static struct test_device t;
static bool takes_all;
static const char *arch; /* NULL: mma.sync */

static int open_device(void **state)
{
    (void)state;
    emulated_open(&t, XL__OP_GEMM, &xl__gemm_mma);
    if (arch)
        emulate_chip(&t.device->limits, arch);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    test_device_close(&t);
    return 0;
}

static void case_table(void **state)
{
    (void)state;
    emulated_gemm_table(&t, takes_all, SEED, 5);
}

/* -- tiles ---------------------------------------------------------------- */

static const struct {
    xl_dtype in, out;
    int trans; /* bit 0: A, bit 1: B */
} types[] = {
    {XL_F16, XL_F16, 0}, {XL_BF16, XL_F32, 2}, {XL_F32, XL_F32, 0},
    {XL_I8, XL_I32, 2},  {XL_F16, XL_F32, 1},  {XL_BF16, XL_BF16, 3},
    {XL_F32, XL_F16, 3}, {XL_I8, XL_F32, 1},
};
enum { N_TYPES = sizeof types / sizeof *types };

/* What lines are aligned to, in elements: copies of 16, 8, 4 bytes, none. */
static const size_t aligned[] = {16, 4, 2, 1};
enum { N_ALIGNED = sizeof aligned / sizeof *aligned, BAND = 8 };

/* Just over a tile each way, four slices and a bit; the second product of
 * two, with what it needs to be read, and an epilogue now and then. */
static struct gemm_case over(const struct xl__params *p, unsigned i_type,
                             unsigned i_aligned)
{
    const size_t unit = aligned[i_aligned], pad = unit < 16 ? unit : 0;
    return (struct gemm_case){.name = "over a tile",
                              .m = (size_t)p->value[XL__GEMM_TM] + unit,
                              .n = (size_t)p->value[XL__GEMM_TN] + unit,
                              .k = 4 * (size_t)p->value[XL__GEMM_TK] + unit,
                              .trans = types[i_type].trans,
                              .alpha = 2,
                              .beta = i_type % 2 ? 1 : 0,
                              .in = types[i_type].in,
                              .out = types[i_type].out,
                              .pad_a = pad,
                              .pad_b = 3 * pad,
                              .pad_c = pad,
                              .off_a = pad,
                              .off_b = pad,
                              .off_c = pad,
                              .columns_c = i_type == 4,
                              .batch = {2, BATCH_STEPS, 0},
                              .bias_relu = types[i_type].out == XL_F16,
                              .accuracy = XL_ACCURACY_FAST};
}

/* Whether it is taken. */
static bool one_tile(size_t i, unsigned i_type, unsigned i_aligned, int parts,
                     int turn)
{
    char text[128];
    emulated.wanted = xl__mma_listed(&t.device->limits, i, types[i_type].in);
    emulated.wanted.value[XL__MMA_GR] = BAND;
    emulated.wanted.value[XL__MMA_PARTS] = parts;
    emulated.wanted.value[XL__MMA_TURN] = turn;
    const struct gemm_case c = over(&emulated.wanted, i_type, i_aligned);
    xl__plan_cache_clear(t.queue);
    xl__selections_clear(t.queue->ctx);
    snprintf(text, sizeof text,
             "set %zu, type %u, alignment %u, PARTS=%d TURN=%d", i, i_type,
             i_aligned, parts, turn);
    return emulated_gemm(&t, &c, SEED, text);
}

static void every_tile(void **state)
{
    unsigned n_plain = 0, n_turned = 0;
    (void)state;
    for (unsigned i = 0;
         xl__mma_listed(&t.device->limits, i, XL_F16).value[XL__GEMM_TM];
         i++) {
        for (unsigned j = 0; j < N_TYPES; j++) {
            const unsigned i_aligned = (i + i / N_TYPES + j / 2) % N_ALIGNED;
            const int parts = 1 + (int)(i / 2 + j) % 2;
            /* Each type by turns; AMD's engines have none for f32. */
            const bool is_turn =
                arch ? (j == i % N_TYPES || j == (i + 2) % N_TYPES) &&
                           types[j].in != XL_F32
                     : j == i % N_TYPES;
            if (!takes_all && !is_turn)
                continue;
            n_plain += one_tile(i, j, i_aligned, parts, XL__MMA_DIRECT);
            n_turned += one_tile(i, j, i_aligned, parts, XL__MMA_TRANSPOSED);
        }
    }
    print_message("%u as they lie, %u written out first\n", n_plain,
                  n_turned);
    assert_in_range(n_plain, 8, 1000);
    assert_in_range(n_turned, 2, 1000);
    emulated.wanted = (struct xl__params){.source = "model"};
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_table),
        cmocka_unit_test(every_tile),
    };
    takes_all = getenv("XL_TEST_FULL") != NULL;
    arch = getenv("XL_TEST_ARCH");
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, open_device, close_device);
}
