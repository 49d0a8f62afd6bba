/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of copied operands, without a device: tiles that cover the copy and no
 * tile more, lines that tensor maps take, two copies in one workspace, and
 * what is refused. */
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "ops/gemm/transpose.h"
#include "support/support.h"

enum { SEED = 3, ROUNDS = 2000, TILE_BYTES = 128, ITEMS_X = 32, ITEMS_Y = 8 };

static struct xl__limits l;

static void set(enum xl__fact_id id, double value)
{
    xl__limits_correct(&l, id, value, XL_ASSUMED, "GE-01");
}

static int device(void **state)
{
    (void)state;
    xl__limits_init(&l);
    set(XL__F_max_wg_size, 1024);
    set(XL__F_local_mem_bytes, 32768);
    set(XL__F_max_alloc_bytes, 0x1p34);
    return 0;
}

static int no_device(void **state)
{
    (void)state;
    xl__limits_clear(&l);
    return 0;
}

static size_t below(struct xl__rng *rng, size_t n)
{
    return 1 + (size_t)xl__rng_below(rng, n);
}

static xl_gemm draw(struct xl__rng *rng)
{
    static const xl_dtype types[] = {XL_I8, XL_F8E5M2, XL_BF16, XL_F32};
    const xl_dtype dtype = types[xl__rng_below(rng, 4)];
    const bool steps = xl__rng_below(rng, 2);
    xl_gemm g = {XL_GEMM_INIT, .m = below(rng, 700), .n = below(rng, 700),
                 .k = below(rng, 700)};
    g.a = (xl_mat){.row_stride = 1, .col_stride = g.m + below(rng, 9),
                   .dtype = dtype, .offset = 4};
    g.b = (xl_mat){.row_stride = g.n + below(rng, 9), .col_stride = 1,
                   .dtype = dtype, .offset = 1};
    g.c = (xl_mat){.row_stride = g.n, .col_stride = 1, .dtype = XL_F32};
    g.batch.count = below(rng, 5);
    if (steps && g.batch.count > 1)
        g.batch.a_step = g.k * g.a.col_stride;
    return g;
}

/* Along one dimension: as many tiles as it takes. */
static void covers(const struct xl__step *s, unsigned d, size_t items,
                   size_t bytes)
{
    assert_int_equal(s->local[d], items);
    assert_int_equal(s->global[d],
                     items * xl__ceil_div(bytes, TILE_BYTES));
}

static void check_step(const struct xl__step *s, const xl_gemm *g,
                       const struct xl__gemm_operand *side,
                       const struct xl__gemm_transpose *turn)
{
    const size_t elem = xl_dtype_bytes(g->a.dtype);
    covers(s, 0, ITEMS_X, side->extent * elem);
    covers(s, 1, ITEMS_Y, turn->line * elem);
    assert_int_equal(s->global[2], turn->step ? g->batch.count : 1);
    assert_true((double)s->local_mem_bytes <=
                xl__num(&l, XL__F_local_mem_bytes));
    assert_true(strlen(s->options) + 1 < sizeof s->options);
    assert_int_equal(s->dims, 3);
}

static void check_place(const xl_gemm *g, const struct xl__gemm_operand *side,
                        size_t taken, const struct xl__gemm_transpose *turn)
{
    const size_t elem = xl_dtype_bytes(g->a.dtype);
    const size_t n = turn->step ? g->batch.count : 1;
    assert_int_equal(turn->line * elem % XL__TRANSPOSE_ALIGN, 0);
    assert_in_range(turn->line * elem, g->k * elem,
                    g->k * elem + XL__TRANSPOSE_ALIGN - 1);
    assert_int_equal(turn->first % turn->line, 0);
    assert_in_range(turn->first * elem, taken, taken + turn->line * elem - 1);
    assert_int_equal(turn->end_bytes,
                     (turn->first + n * side->extent * turn->line) * elem);
    assert_true((double)(turn->end_bytes - turn->first * elem) <=
                turn->moved_bytes);
}

/* Both operands of a product, one behind the other. */
static void two_copies(void **state)
{
    struct xl__rng rng;

    (void)state;
    xl__rng_seed(&rng, SEED);
    for (int round = 0; round < ROUNDS; round++) {
        const xl_gemm g = draw(&rng);
        const struct xl__gemm_oriented s = xl__gemm_orient(&g);
        const size_t taken = (size_t)xl__rng_below(&rng, 3000);
        struct xl__gemm_transpose a, b;
        struct xl__plan p = {.n_steps = 0};
        assert_null(xl__gemm_transpose_refused(&l, &g));
        assert_true(xl__gemm_transpose_layout(&l, &g, &s.a, taken, &a));
        assert_true(xl__gemm_transpose_layout(&l, &g, &s.b, a.end_bytes, &b));
        check_place(&g, &s.a, taken, &a);
        check_place(&g, &s.b, a.end_bytes, &b);
        assert_int_equal(a.line, b.line);
        assert_int_equal(b.first * xl_dtype_bytes(g.a.dtype), a.end_bytes);
        xl__gemm_transpose_add(&g, &s.a, &a, &p);
        xl__gemm_transpose_add(&g, &s.b, &b, &p);
        assert_int_equal(p.n_steps, 2);
        check_step(&p.step[0], &g, &s.a, &a);
        check_step(&p.step[1], &g, &s.b, &b);
    }
}

static void refusals(void **state)
{
    static const cl_ulong at;
    struct xl__rng rng;
    struct xl__gemm_transpose turn;

    (void)state;
    xl__rng_seed(&rng, SEED);
    xl_gemm g = draw(&rng);
    struct xl__gemm_oriented s = xl__gemm_orient(&g);
    g.batch.a_at = &at;
    assert_non_null(xl__gemm_transpose_refused(&l, &g));
    g.batch.a_at = NULL;
    g.a.dtype = XL_F64;
    assert_non_null(xl__gemm_transpose_refused(&l, &g));
    g.a.dtype = XL_I8;
    s.a.extent = SIZE_MAX / g.k; /* one that does not fit, one too large */
    assert_false(xl__gemm_transpose_layout(&l, &g, &s.a, 0, &turn));
    s.a.extent = ((size_t)1 << 35) / g.k;
    assert_false(xl__gemm_transpose_layout(&l, &g, &s.a, 0, &turn));
    set(XL__F_local_mem_bytes, 16384);
    assert_non_null(xl__gemm_transpose_refused(&l, &g));
    g.a.dtype = XL_F16;
    assert_null(xl__gemm_transpose_refused(&l, &g));
    set(XL__F_max_wg_size, 64);
    assert_non_null(xl__gemm_transpose_refused(&l, &g));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_copies, device, no_device),
        cmocka_unit_test_setup_teardown(refusals, device, no_device),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
