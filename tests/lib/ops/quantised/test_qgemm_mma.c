/* SPDX-License-Identifier: Apache-2.0 */
/* qgemm_mma and qgemm_skinny on a device that has no matrix engine, by the
 * emulation that holds the engine's elements in the engine's lanes
 * (cl/common/matrix/emulated.clh): sets of tunables, formats, types and
 * alignments by turns, with sizes beyond a group's tile and slots, and what it
 * refuses. The comparison is clbench's own: host sums in double over the
 * dequantised weights, guard zones around every buffer.
 *
 * XL_TEST_FULL  set: every format with every set */
#include <stdio.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "cases/gemm_cases.h"
#include "fp8_codes.h"
#include "runtime/launch.h"
#include "support/emulated_variant.h"
#include "verify/verify.h"

enum { SEED = 21, UNIT = 32, STAGE = 256, TILE = 16 };

static struct test_device t;

static int open_device(const struct xl__variant *variant)
{
    emulated_open(&t, XL__OP_QGEMM, variant);
    xl__limits_correct_text(&t.device->limits, XL__F_line_copy, "emulated",
                            XL_KNOWN, "test");
    return 0;
}

static int open_mma(void **state)
{
    (void)state;
    return open_device(&xl__qgemm_mma);
}

static int open_skinny(void **state)
{
    (void)state;
    return open_device(&xl__qgemm_skinny);
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

/* TM, TILES, SK, ST. */
static const struct skinny_set {
    int tm, tiles, sk, st;
} skinny_sets[] = {{1, 8, 2, 2},  {2, 1, 4, 3}, {4, 2, 2, 4}, {8, 1, 8, 2},
                   {1, 1, 16, 2}, {8, 2, 4, 3}, {2, 2, 6, 3}};
enum { N_SKINNY = sizeof skinny_sets / sizeof *skinny_sets };

/* The format, units of a group, and of FP8 its rows. */
static const struct {
    xl_qformat format;
    size_t group, w_off;
    bool has_zeros;
    size_t group_rows;
} weights[] = {
    {XL_Q4_0, 0, 0, false, 0},  {XL_Q5_0, 0, 2, false, 0},
    {XL_Q8_0, 0, 6, false, 0},  {XL_Q6_K, 0, 14, false, 0},
    {XL_MXFP4, 0, 1, false, 0}, {XL_INT4, 1, 4, true, 0},
    {XL_INT4, 4, 0, false, 0},  {XL_INT4, 3, 2, true, 0},
    {XL_INT8, 0, 10, false, 0}, {XL_INT4, 8, 6, true, 0},
    {XL_FP8, 4, 2, false, 5},   {XL_FP8, 0, 10, false, 1},
};
static const xl_dtype types[] = {XL_F16, XL_BF16, XL_F32};
enum { N_WEIGHTS = sizeof weights / sizeof *weights };

/* Units whose blocks are multiples of 16 bytes, of whole groups. */
static size_t whole_units(unsigned i_weights)
{
    return weights[i_weights].format == XL_Q6_K ? 64
           : weights[i_weights].group % 3 == 0  ? 48
                                                : 16;
}

/* Are copies of lines whole? Of Q6_K's blocks of 210 bytes by eight. */
static bool has_lines(unsigned i_weights, int sk)
{
    return weights[i_weights].format != XL_Q6_K || sk % 8 == 0;
}

enum { LINES = 8, LINE = 16 }; /* first set by lines; bytes of a line */

/* Rows of A and of W beyond a group's; columns beyond the slots of its teams,
 * which are whole stages of some formats only. */
static struct qgemm_case over(unsigned i_set, unsigned i_weights)
{
    const struct set *s = &sets[i_set];
    const bool by_lines = i_set >= LINES;
    const size_t group =
        weights[i_weights].group ? weights[i_weights].group : 1;
    const size_t units =
        xl_qformat_layout(weights[i_weights].format)->block > UNIT
            ? STAGE / UNIT
            : group;
    const size_t together = by_lines ? whole_units(i_weights) : units;
    const size_t least = (size_t)(s->sk * s->st + 1) * STAGE / UNIT + 3;
    const bool is_pair = i_weights % 4 < 2;
    return (struct qgemm_case){
        .name = "over",
        .m = (size_t)s->tm + (i_weights % 2),
        .n = (size_t)(s->rm * s->rt * TILE) + 3 + is_pair,
        .k = (least + together - 1) / together * together * UNIT,
        .format = weights[i_weights].format,
        .group = weights[i_weights].group * UNIT,
        .group_rows = weights[i_weights].group_rows,
        .has_zeros = weights[i_weights].has_zeros,
        .in = types[(i_set + i_weights) % 3],
        .out = i_set % 3 ? XL_F32 : XL_F16,
        .pad = 8,
        .off = by_lines ? LINE : 8,
        .off_w = by_lines ? LINE * i_weights : weights[i_weights].w_off,
        .columns_c = i_set % 4 == 1,
        .bias_relu = i_set % 2 && !is_pair,
        .gain = i_weights % 3 == 2 ? 1 + types[i_set % 3] : 0,
        .is_pair = is_pair};
}

static void check(const struct qgemm_case *c, const char *variant,
                  unsigned i_set, unsigned i_weights)
{
    struct check_result r = {0};
    xl__plan_cache_clear(t.queue);
    xl__selections_clear(t.queue->ctx);
    const xl_status status = verify_qgemm(t.queue, c, variant, SEED, &r);
    if (status != XL_OK || !r.right)
        fail_msg("%s, set %u, weights %u: %s: %s %s", variant, i_set,
                 i_weights, xl_status_name(status), r.why,
                 xl_error_detail(t.queue));
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
            if ((i < LINES || has_lines(j, s->sk)) &&
                (takes_all || (i + j) % N_SETS == 0))
                check(&c, "qgemm_mma", i, j);
        }
    }
    emulated.wanted = (struct xl__params){.source = "model"};
}

/* Columns of whole steps and not, and more tiles than the sums that the groups
 * of this device keep. */
static struct qgemm_case over_skinny(unsigned i_set, unsigned i_weights)
{
    enum { GROUPS = 2, MOST_TILES = 5 };
    const struct skinny_set *s = &skinny_sets[i_set];
    const size_t tiles = xl__min_size(MOST_TILES, (size_t)s->tiles + 1);
    struct qgemm_case c = over(N_SETS - 1, i_weights);
    const size_t whole = whole_units(i_weights);
    const size_t least = (size_t)(s->sk + 1) * STAGE / UNIT + 3;
    c.k = i_weights % 2 ? xl__round_up(least, whole) * UNIT
                        : (size_t)(2 * s->sk) * STAGE;
    c.m = (size_t)s->tm + (s->tm < 8 && i_weights % 2);
    c.n = tiles * GROUPS * TILE + 3 + c.is_pair;
    c.in = types[(i_set + i_weights) % 3];
    c.out = i_set % 3 ? XL_F32 : XL_F16;
    c.columns_c = i_set % 4 == 1;
    c.bias_relu = i_set % 2 && !c.is_pair;
    c.gain = i_weights / 2 % 2 ? 0 : 1 + types[(i_set + 1) % 3];
    return c;
}

static void every_skinny_set(void **state)
{
    const bool takes_all = getenv("XL_TEST_FULL") != NULL;
    (void)state;
    for (unsigned i = 0; i < N_SKINNY; i++) {
        const struct skinny_set *s = &skinny_sets[i];
        emulated.wanted = (struct xl__params){
            .value = {s->tm, s->tiles, s->sk, s->st}, .source = "test"};
        for (unsigned j = 0; j < N_WEIGHTS; j++) {
            const struct qgemm_case c = over_skinny(i, j);
            if (has_lines(j, s->sk) && (takes_all || (i + j) % N_SKINNY == 0))
                check(&c, "qgemm_skinny", i, j);
        }
    }
    emulated.wanted = (struct xl__params){.source = "model"};
}

/* f32 is by pairs of bf16. */
static void every_code_mma(void **state)
{
    (void)state;
    assert_status(fp8_check_codes(t.queue, XL_F16, "qgemm_mma"), XL_OK,
                  xl_error_detail(t.queue));
}

static void every_code_skinny(void **state)
{
    (void)state;
    assert_status(fp8_check_codes(t.queue, XL_F32, "qgemm_skinny"), XL_OK,
                  xl_error_detail(t.queue));
}

/* Rows of W of a self-check's case begin where the call's do. */
static void checks_are_aligned(void **state)
{
    enum { WORD = 16, ROWS = 64 };
    static const struct xl__variant *const variants[] = {&xl__qgemm_mma,
                                                         &xl__qgemm_skinny};
    (void)state;
    for (unsigned i = 0; i < N_WEIGHTS * 2; i++) {
        const xl_qlayout *f = xl_qformat_layout(weights[i / 2].format);
        const struct xl__qgemm_canonical c = {.m = 4,
                                              .n = ROWS,
                                              .k = (size_t)ROWS * STAGE,
                                              .format = weights[i / 2].format,
                                              .group = (size_t)ROWS * STAGE,
                                              .w_aligned = WORD};
        const struct xl__params p =
            i % 2 ? (struct xl__params){.value = {4, 2, 16, 2}}
                  : (struct xl__params){.value = {4, 2, 8, 2, 1}};
        struct xl__qgemm_canonical small;
        xl__qgemm_shrink(&c, variants[i % 2], &p, &small);
        assert_int_equal(small.k % f->block, 0);
        assert_int_equal(small.k / f->block * f->block_bytes % WORD, 0);
    }
}

static void refuses(struct qgemm_case c, const char *variant, const char *why)
{
    struct check_result r = {0};
    const xl_status status = verify_qgemm(t.queue, &c, variant, SEED, &r);
    assert_int_equal(status, XL_UNSUPPORTED);
    assert_non_null(strstr(xl_error_detail(t.queue), why));
}

static void refusals(void **state)
{
    struct qgemm_case c = over(0, 0);
    (void)state;
    c.off = 4;
    refuses(c, "qgemm_mma", "multiples of 16 bytes");
    c = over(3, 0);
    c.pad = 6;
    refuses(c, "qgemm_mma", "multiples of 16 bytes");
    c = over(0, 0);
    c.format = XL_Q4_1;
    refuses(c, "qgemm_mma", "exact");
}

static void skinny_refusals(void **state)
{
    struct qgemm_case c = over_skinny(0, 0);
    (void)state;
    c.m = 9;
    refuses(c, "qgemm_skinny", "more than 8 rows");
    c = over_skinny(0, 0);
    c.off_w = 2;
    refuses(c, "qgemm_skinny", "rows of W");
    c = over_skinny(0, 0);
    c.format = XL_Q4_1;
    refuses(c, "qgemm_skinny", "exact");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest mma[] = {
        cmocka_unit_test(every_set),
        cmocka_unit_test(every_code_mma),
        cmocka_unit_test(checks_are_aligned),
        cmocka_unit_test(refusals),
    };
    const struct CMUnitTest skinny[] = {
        cmocka_unit_test(every_skinny_set),
        cmocka_unit_test(every_code_skinny),
        cmocka_unit_test(skinny_refusals),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(mma, open_mma, close_device) |
           cmocka_run_group_tests(skinny, open_skinny, close_device);
}
