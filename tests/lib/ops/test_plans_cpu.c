/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_cpu's plans without a device: registers follow the width of vectors,
 * blocks of C meet each element once and stay within the caches they are cut
 * for, scratch holds what the kernels put there, and the self-check's case
 * takes the same programs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "ops/gemm/cpu.h"
#include "ops/variants.h"
#include "support/support.h"

enum { N_SHAPES = 1500, SEED = 11 };

struct machine {
    double units, local_bytes, vector;
};
static const struct machine machines[] = {
    {2, 1 << 20, 16},  {2, 1 << 21, 16}, {64, 1 << 20, 16}, {8, 1 << 15, 8},
    {128, 1 << 18, 8}, {1, 1 << 16, 4},  {4, 1 << 17, 4},
};

static void set(struct xl__limits *l, enum xl__fact_id id, double value)
{
    xl__limits_correct(l, id, value, XL_ASSUMED, "GE-01");
}

static void make_plan(const struct machine *m, struct xl__limits *l)
{
    xl__limits_init(l);
    set(l, XL__F_is_cpu, 1);
    set(l, XL__F_has_f64, 1);
    set(l, XL__F_compute_units, m->units);
    set(l, XL__F_local_mem_bytes, m->local_bytes);
    set(l, XL__F_native_vector_f32, m->vector);
}

static xl_gemm square(size_t side, xl_dtype in, xl_dtype out)
{
    return (xl_gemm){XL_GEMM_INIT,
                     .m = side,
                     .n = side,
                     .k = side,
                     .a = xl_mat_rows(NULL, side, in),
                     .b = xl_mat_rows(NULL, side, in),
                     .c = xl_mat_rows(NULL, side, out),
                     .alpha = 1};
}

static void canonical_of(const xl_gemm *g, struct xl__gemm_canonical *out)
{
    struct xl__call call;
    assert_int_equal(xl__op_gemm.bind(NULL, g, out, &call), XL_OK);
}

/* -- registers ------------------------------------------------------------ */

static void registers(void **state)
{
    static const struct {
        double vector;
        xl_dtype dtype;
        int rm, rn, vw;
    } want[] = {{16, XL_F32, 8, 32, 16}, {8, XL_F32, 4, 24, 8},
                {4, XL_F32, 4, 8, 4},    {16, XL_F16, 8, 32, 16},
                {16, XL_I8, 8, 32, 16},  {16, XL_F64, 8, 16, 8},
                {8, XL_BF16, 4, 24, 8}};
    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const struct machine m = {2, 1 << 20, want[i].vector};
        const xl_dtype out = want[i].dtype == XL_I8 ? XL_I32 : want[i].dtype;
        const xl_gemm g = square(2400, want[i].dtype, out);
        struct xl__gemm_canonical canonical;
        struct xl__params p;
        struct xl__limits l;
        make_plan(&m, &l);
        canonical_of(&g, &canonical);
        assert_null(xl__gemm_cpu.refuses(&l, &canonical));
        xl__gemm_cpu.choose(&l, &canonical, &p);
        assert_int_equal(p.value[XL__CPU_AT_RM], want[i].rm);
        assert_int_equal(p.value[XL__CPU_AT_RN], want[i].rn);
        assert_int_equal(p.value[XL__CPU_AT_VW], want[i].vw);
        xl__limits_clear(&l);
    }
}

static void no_vectors(void **state)
{
    static const struct machine m = {2, 1 << 20, 1};
    const xl_gemm g = square(64, XL_F32, XL_F32);
    struct xl__gemm_canonical canonical;
    struct xl__limits l;
    (void)state;
    make_plan(&m, &l);
    canonical_of(&g, &canonical);
    assert_non_null(xl__gemm_cpu.refuses(&l, &canonical));
    set(&l, XL__F_native_vector_f32, 8);
    assert_null(xl__gemm_cpu.refuses(&l, &canonical));
    set(&l, XL__F_is_cpu, 0);
    assert_non_null(xl__gemm_cpu.refuses(&l, &canonical));
    xl__limits_clear(&l);
}

/* -- random calls --------------------------------------------------------- */

static size_t random_size(struct xl__rng *rng)
{
    const double most = log(5000);
    return (size_t)exp(most * xl__rng_uniform(rng));
}

static xl_mat random_view(struct xl__rng *rng, size_t rows, size_t cols,
                          xl_dtype dtype)
{
    const size_t pad = (size_t)xl__rng_below(rng, 3);
    xl_mat v = xl_mat_rows(NULL, cols + pad, dtype);
    switch (xl__rng_below(rng, 4)) {
    case 0:
        return xl_mat_cols(NULL, rows + pad, dtype);
    case 1:
        v.col_stride = 2;
        v.row_stride = 2 * cols + pad;
        return v;
    default:
        return v;
    }
}

static xl_gemm random_gemm(struct xl__rng *rng)
{
    static const xl_dtype types[][2] = {
        {XL_F32, XL_F32}, {XL_F32, XL_F32}, {XL_F16, XL_F32}, {XL_F16, XL_F16},
        {XL_F64, XL_F64}, {XL_I8, XL_I32},  {XL_I8, XL_F32}};
    const size_t n_types = sizeof types / sizeof *types;
    const xl_dtype *t = types[xl__rng_below(rng, n_types)];
    const size_t far = (size_t)1 << 32;
    xl_gemm g = {XL_GEMM_INIT, .m = random_size(rng), .n = random_size(rng),
                 .k = random_size(rng), .alpha = 1};
    g.a = random_view(rng, g.m, g.k, t[0]);
    g.b = random_view(rng, g.k, g.n, t[0]);
    g.c = random_view(rng, g.m, g.n, t[1]);
    if (xl__rng_below(rng, 3) == 0)
        g.batch = (xl_batch){.count = 2 + xl__rng_below(rng, 99),
                             .a_step = far * xl__rng_below(rng, 2),
                             .b_step = far * xl__rng_below(rng, 2),
                             .c_step = far};
    return g;
}

/* The kernels' block_at(). */
static size_t block_at(size_t i, size_t size, size_t panel, size_t blocks)
{
    return xl__min_size(size, i * xl__ceil_div(size, panel) / blocks * panel);
}

/* Blocks follow one another without a gap, and none is empty or too large. */
static void check_blocks(size_t size, size_t panel, size_t blocks, size_t most)
{
    assert_int_equal(block_at(0, size, panel, blocks), 0);
    assert_int_equal(block_at(blocks, size, panel, blocks), size);
    for (size_t i = 0; i < blocks; i++) {
        const size_t n = block_at(i + 1, size, panel, blocks) -
                         block_at(i, size, panel, blocks);
        assert_in_range(n, 1, most);
    }
}

static void check_legal(const struct xl__params *p)
{
    for (unsigned i = 0; xl__gemm_cpu.tunables[i].name; i++) {
        const int *legal = xl__gemm_cpu.tunables[i].legal;
        while (*legal && *legal != p->value[i])
            legal++;
        assert_int_not_equal(*legal, 0);
    }
}

static void check_sizes(const struct machine *m, const struct xl__cpu_job *j,
                        const struct xl__plan *p)
{
    const size_t count = j->g->batch.count;
    const size_t panels = j->shares_b ? 1 : count;
    const size_t cols = j->lines_n * j->rn;
    const bool is_cut = j->g->k > j->slice;
    const size_t needs =
        (j->form == XL__CPU_AHEAD ? panels * cols * j->g->k : 0) +
        (j->keeps && is_cut ? count * j->s.m * cols : 0);
    check_blocks(j->s.m, j->rm, j->groups_m, j->in_place ? j->s.m : j->tm);
    check_blocks(j->s.n, j->rn, j->groups_n, j->s.n);
    assert_in_range(j->slice, 1, j->tk);
    assert_true(j->g->a.dtype != XL_I8 || j->slice <= XL__CPU_EXACT);
    assert_true((double)j->local_bytes <= m->local_bytes);
    assert_true(p->scratch_bytes >= needs * j->value_bytes);
    assert_true(j->ld >= j->s.n);
    assert_true(j->form != XL__CPU_UNPACKED || j->s.n >= j->rn);
    assert_int_equal(p->n_steps, j->form == XL__CPU_AHEAD ? 2 : 1);
    const struct xl__step *last = &p->step[p->n_steps - 1];
    assert_int_equal(last->global[0], j->groups_m * j->groups_n);
    assert_int_equal(last->global[1], count);
    if (j->form == XL__CPU_AHEAD) {
        check_blocks(j->s.n, j->rn, j->pack_blocks, j->s.n);
        assert_int_equal(p->step[0].global[1], panels);
        assert_int_equal(p->step[0].global[0],
                         xl__ceil_div(j->g->k, XL__CPU_SLAB) * j->pack_blocks);
    }
    assert_true(isfinite(p->est_ns) && p->est_ns > 0);
}

static void check_small(const struct xl__limits *l,
                        const struct xl__gemm_canonical *g,
                        const struct xl__params *params,
                        const struct xl__plan *p)
{
    struct xl__gemm_canonical small;
    struct xl__plan *q = calloc(1, sizeof *q);
    assert_non_null(q);
    xl__op_gemm.shrink(g, &xl__gemm_cpu, params, &small);
    assert_int_equal(xl__gemm_cpu.plan(l, &small, params, q), XL_OK);
    assert_int_equal(q->n_steps, p->n_steps);
    for (unsigned i = 0; i < p->n_steps; i++)
        assert_string_equal(q->step[i].options, p->step[i].options);
    assert_true(q->flop < 1e9); /* a trial takes the host well under 1 s */
    free(q);
}

static void calls_on(const struct machine *m)
{
    struct xl__rng rng;
    struct xl__limits l;
    struct xl__plan *p = calloc(1, sizeof *p);
    assert_non_null(p);
    xl__rng_seed(&rng, SEED);
    make_plan(m, &l);
    for (unsigned i = 0; i < N_SHAPES; i++) {
        const xl_gemm g = random_gemm(&rng);
        struct xl__gemm_canonical canonical;
        struct xl__params params;
        struct xl__cpu_job j;
        canonical_of(&g, &canonical);
        memset(p, 0, sizeof *p);
        xl__gemm_cpu.choose(&l, &canonical, &params);
        check_legal(&params);
        assert_int_equal(xl__gemm_cpu.plan(&l, &canonical, &params, p), XL_OK);
        assert_true(xl__cpu_job_init(&l, &canonical, &params, &j));
        check_sizes(m, &j, p);
        check_small(&l, &canonical, &params, p);
    }
    xl__limits_clear(&l);
    free(p);
}

static void calls(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        calls_on(&machines[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers),
        cmocka_unit_test(no_vectors),
        cmocka_unit_test(calls),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests_name("plans_cpu", tests, NULL, NULL);
}
