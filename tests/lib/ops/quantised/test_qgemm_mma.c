/* SPDX-License-Identifier: Apache-2.0 */
/* qgemm_mma on a device that has no matrix engine, by the emulation that holds
 * the engine's elements in the engine's lanes (cl/common/matrix_emulated.clh):
 * sets of tunables, formats, types and alignments by turns, with sizes beyond
 * a group's tile and slots, and what it refuses. The comparison is clbench's
 * own: host sums in double over the dequantised weights, guard zones around
 * every buffer.
 *
 * XL_TEST_FULL  set: every format with every set */
#include <stdio.h>
#include <stdlib.h>

#include "cases/gemm_cases.h"
#include "runtime/launch.h"
#include "support/emulated_variant.h"
#include "verify/verify.h"

enum { SEED = 21, UNIT = 32, STAGE = 256, TILE = 16 };

static struct test_device t;

static int open_device(void **state)
{
    (void)state;
    emulated_open(&t, XL__OP_QGEMM, &xl__qgemm_mma);
    xl__limits_correct_text(&t.device->limits, XL__F_line_copy, "emulated",
                            XL_KNOWN, "test");
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    test_device_close(&t);
    return 0;
}

/* TM, RM, SK, ST, RT, in the order of the tunables. With RT 2 W is copied by
 * lines: its rows are then at multiples of 16 bytes, and of whole steps. */
static const struct set {
    int tm, rm, sk, st, rt;
} sets[] = {{1, 1, 2, 2, 1}, {2, 2, 1, 3, 1},  {4, 1, 4, 2, 1},
            {8, 2, 2, 2, 1}, {16, 1, 1, 3, 1}, {32, 2, 1, 2, 1},
            {1, 2, 2, 4, 1}, {8, 1, 1, 2, 1},  {1, 1, 2, 2, 2},
            {4, 2, 2, 3, 1}, {8, 1, 2, 3, 2},  {2, 1, 8, 2, 1}};
enum { N_SETS = sizeof sets / sizeof *sets };

/* The format, and units of a group. */
static const struct {
    xl_qformat format;
    size_t group, w_off;
    bool has_zeros;
} weights[] = {
    {XL_Q4_0, 0, 0, false},  {XL_Q5_0, 0, 2, false},  {XL_Q8_0, 0, 6, false},
    {XL_Q6_K, 0, 14, false}, {XL_MXFP4, 0, 1, false}, {XL_INT4, 1, 4, true},
    {XL_INT4, 4, 0, false},  {XL_INT4, 3, 2, true},   {XL_INT8, 0, 10, false},
    {XL_INT4, 8, 6, true},
};
static const xl_dtype types[] = {XL_F16, XL_BF16, XL_F32};
enum { N_WEIGHTS = sizeof weights / sizeof *weights };

/* Rows of A and of W beyond a group's; columns beyond the slots of its teams,
 * which are whole stages of some formats only. */
static struct qgemm_case over(unsigned i_set, unsigned i_weights)
{
    enum { LINES = 8, WHOLE = 16 }; /* sets by lines; units of whole words */
    const struct set *s = &sets[i_set];
    const bool by_lines = i_set >= LINES;
    const size_t group =
        weights[i_weights].group ? weights[i_weights].group : 1;
    const size_t units =
        xl_qformat_layout(weights[i_weights].format)->block > UNIT
            ? STAGE / UNIT
            : group;
    const size_t together = by_lines ? WHOLE : units;
    const size_t least = (size_t)(s->sk * s->st + 1) * STAGE / UNIT + 3;
    return (struct qgemm_case){
        .name = "over",
        .m = (size_t)s->tm + (i_weights % 2),
        .n = (size_t)(s->rm * s->rt * TILE) + 3,
        .k = (least + together - 1) / together * together * UNIT,
        .format = weights[i_weights].format,
        .group = group * UNIT,
        .has_zeros = weights[i_weights].has_zeros,
        .in = types[(i_set + i_weights) % 3],
        .out = i_set % 3 ? XL_F32 : XL_F16,
        .pad = 8,
        .off = by_lines ? WHOLE : 8,
        .off_w = by_lines ? WHOLE * i_weights : weights[i_weights].w_off,
        .columns_c = i_set % 4 == 1,
        .bias_relu = i_set % 2};
}

static void every_set(void **state)
{
    const bool takes_all = getenv("XL_TEST_FULL") != NULL;
    (void)state;
    for (unsigned i = 0; i < N_SETS; i++) {
        const struct set *s = &sets[i];
        emulated.wanted = (struct xl__params){
            .value = {s->tm, s->rm, s->sk, s->st, s->rt}, .source = "test"};
        for (unsigned j = 0; j < N_WEIGHTS; j++) {
            const struct qgemm_case c = over(i, j);
            struct check_result r = {0};
            if (!takes_all && (i + j) % N_SETS != 0)
                continue;
            xl__plan_cache_clear(t.queue);
            xl__selections_clear(t.queue->ctx);
            const xl_status status =
                verify_qgemm(t.queue, &c, "qgemm_mma", SEED, &r);
            if (status != XL_OK || !r.right)
                fail_msg("set %u, weights %u: %s: %s %s", i, j,
                         xl_status_name(status), r.why,
                         xl_error_detail(t.queue));
        }
    }
    emulated.wanted = (struct xl__params){.source = "model"};
}

static void refuses(struct qgemm_case c, const char *why)
{
    struct check_result r = {0};
    const xl_status status = verify_qgemm(t.queue, &c, "qgemm_mma", SEED, &r);
    assert_int_equal(status, XL_UNSUPPORTED);
    assert_non_null(strstr(xl_error_detail(t.queue), why));
}

static void refusals(void **state)
{
    struct qgemm_case c = over(0, 0);
    (void)state;
    c.off = 4;
    refuses(c, "multiples of 16 bytes");
    c = over(3, 0);
    c.pad = 6;
    refuses(c, "multiples of 16 bytes");
    c = over(0, 0);
    c.format = XL_Q4_1;
    refuses(c, "exact");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set),
        cmocka_unit_test(refusals),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, open_device, close_device);
}
