/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of gemm_mma without a device, on machines made up here: what the
 * kernel asks of its tile, each chunk of a slice copied by one item, copies
 * and vectors on their alignment, the self-check's case with the same
 * programs; and that the model's choices are of the kind that suits a shape.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/gemm/engines/mma.h"
#include "ops/gemm/selfcheck.h"
#include "ops/path/matrix_engine.h"
#include "ops/variants.h"
#include "support/support.h"
#include "targets/targets.h"

/* -- machines ------------------------------------------------------------- */

/* clang-format off */
static const struct machine {
    unsigned cc;
    double units, hz, local_kib, copy;
} machines[] = {
    /*   units  clock   local  bytes/s */
    {90,  132, 1.98e9,  226,   4.2e12},
    {80,  108, 1.41e9,  162,   1.7e12},
    {86,   20, 1.50e9,   98,   0.3e12},
};
/* clang-format on */
enum { HOPPER };

static void set(struct xl__limits *l, enum xl__fact_id id, double value)
{
    xl__limits_correct(l, id, value, XL_ASSUMED, "GE-01");
}

static void make_plan(const struct machine *m, struct xl__limits *l)
{
    xl__limits_init(l);
    set(l, XL__F_is_gpu, 1);
    set(l, XL__F_compute_units, m->units);
    set(l, XL__F_clock_hz, m->hz);
    set(l, XL__F_max_wg_size, 1024);
    set(l, XL__F_local_mem_bytes, m->local_kib * 1024);
    set(l, XL__F_has_local_mem, 1);
    set(l, XL__F_registers_per_cu, 65536);
    set(l, XL__F_local_banks, 32);
    set(l, XL__F_simd_per_cu_f32, 128);
    set(l, XL__F_copy_bytes_per_s, m->copy);
    set(l, XL__F_launch_ns, 1500);
    xl__nvidia_matrix_engine(m->cc, l);
}

/* -- products ------------------------------------------------------------- */

static const size_t shapes[][3] = {
    {1, 1, 1},        {1, 4096, 4096},   {16, 4096, 4096}, {17, 33, 65},
    {64, 4096, 4096}, {129, 257, 70},    {1000, 1000, 1000},
    {2048, 2048, 64}, {4095, 4095, 513}, {4096, 4096, 4096},
    {8192, 48, 8192}, {40, 8192, 9000},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };
static const xl_dtype types[] = {XL_F16, XL_BF16, XL_F32, XL_I8};
enum { N_TYPES = sizeof types / sizeof *types, N_LIES = 4 };

/* A matrix of lines along its rows or columns, aligned to so many bytes. */
static xl_mat view(size_t rows, size_t cols, bool turned, xl_dtype type,
                   size_t bytes)
{
    const size_t unit = xl__max_size(1, bytes / xl_dtype_bytes(type));
    xl_mat v = turned
                   ? xl_mat_cols(NULL, unit * ((rows / unit + 1) | 1), type)
                   : xl_mat_rows(NULL, unit * ((cols / unit + 1) | 1), type);
    v.offset = unit * xl_dtype_bytes(type);
    return v;
}

/* layouts: bit 0: A, bit 1: B is transposed; bytes: what lines are aligned to. */
static struct xl__gemm_canonical product(const size_t *shape, xl_dtype type,
                                         unsigned layouts, size_t bytes)
{
    const xl_dtype out = type == XL_I8 ? XL_I32 : type;
    struct xl__gemm_canonical c = {.g = {.m = shape[0],
                                         .n = shape[1],
                                         .k = shape[2],
                                         .alpha = 1,
                                         .accuracy = type == XL_F32
                                                         ? XL_ACCURACY_FAST
                                                         : XL_ACCURACY_FULL}};
    c.g.a = view(c.g.m, c.g.k, layouts & 1, type, bytes);
    c.g.b = view(c.g.k, c.g.n, layouts & 2, type, bytes);
    c.g.c = view(c.g.m, c.g.n, false, out, bytes);
    c.g.batch.count = 1;
    return c;
}

static struct xl__plan *plan_of(const struct xl__limits *l,
                                const struct xl__gemm_canonical *c,
                                struct xl__params *params)
{
    struct xl__plan *p = calloc(1, sizeof *p);
    assert_non_null(p);
    assert_null(xl__gemm_mma.refuses(l, c));
    xl__gemm_mma.choose(l, c, params);
    assert_int_equal(xl__gemm_mma.plan(l, c, params, p), XL_OK);
    return p;
}

static void each(void (*check)(const struct xl__limits *l,
                               const struct xl__gemm_canonical *c))
{
    static const size_t aligned[] = {64, 8, 4, 1};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct xl__limits l;
        make_plan(&machines[i], &l);
        for (size_t s = 0; s < N_SHAPES; s++) {
            for (unsigned j = 0; j < N_TYPES * N_LIES; j++) {
                const struct xl__gemm_canonical c =
                    product(shapes[s], types[j / N_LIES], j % N_LIES,
                            aligned[(s + j) % 4]);
                check(&l, &c);
            }
        }
        xl__limits_clear(&l);
    }
}

/* -- what the kernel asks ------------------------------------------------- */

static size_t define_of(const struct xl__step *s, const char *name)
{
    char text[32];
    snprintf(text, sizeof text, " -D%s=", name);
    const char *at = strstr(s->options, text);
    if (!at)
        fail_msg("%s is not defined in %s", name, s->options);
    return strtoul(at + strlen(text), NULL, 10);
}

/* The kernel's TAKE_SLICE: chunks of `lines` lines of `line` bytes. */
static void chunks_are_copied_once(size_t items, size_t lines, size_t line)
{
    static unsigned char met[1 << 16];
    const size_t chunks = line / 16, every = items / chunks;
    assert_true(chunks > 0 && every > 0 && items % chunks == 0);
    assert_true(lines * chunks <= sizeof met);
    memset(met, 0, sizeof met);
    for (size_t lid = 0; lid < items; lid++) {
        for (size_t j = 0; j * every < lines; j++) {
            const size_t i = lid / chunks + j * every;
            if (lines % every == 0 || i < lines) {
                assert_true(i < lines);
                met[i * chunks + lid % chunks]++;
            }
        }
    }
    for (size_t i = 0; i < lines * chunks; i++)
        assert_int_equal(met[i], 1);
}

/* Copies of V bytes need lines on multiples of them. */
static void copies_fit(const struct xl__step *s, const char *name,
                       size_t aligned_bytes)
{
    const size_t v = define_of(s, name);
    assert_true(v == 0 || v == 4 || v == 8 || v == 16);
    assert_true(v == 0 || aligned_bytes % v == 0);
}

/* The shape in cl/common/matrix.clh; the depth in bytes. */
enum { LANES = 32, M = 16, N = 8, DEEP = 32 };

static void check_kernel(const struct xl__limits *l,
                         const struct xl__gemm_canonical *c)
{
    struct xl__params params;
    struct xl__plan *p = plan_of(l, c, &params);
    const bool turned = params.value[XL__MMA_TURN] == XL__MMA_TRANSPOSED;
    const struct xl__step *s = p->step;
    while (strcmp(s->kernel, "gemm_mma") != 0)
        s++;
    const size_t bytes = xl_dtype_bytes(c->g.a.dtype);
    const size_t tm = define_of(s, "TM"), tn = define_of(s, "TN");
    const size_t tk = define_of(s, "TK"), deep = tk * bytes;
    const bool across_a = define_of(s, "UA") == 1 && bytes > 1;
    const bool across_b = define_of(s, "UB") == 1 && bytes > 1;
    assert_int_equal(s->local[0], LANES * define_of(s, "SM") *
                                      define_of(s, "SN") * define_of(s, "SK"));
    assert_int_equal(tm % (M * define_of(s, "SM")), 0);
    assert_int_equal(tn % (2 * N * define_of(s, "SN")), 0);
    assert_int_equal(deep % (2 * DEEP * define_of(s, "SK")), 0);
    assert_true(define_of(s, "ST") * deep * (tm + tn) <= s->local_mem_bytes);
    assert_true((double)s->local_mem_bytes <=
                xl__num(l, XL__F_local_mem_bytes));
    chunks_are_copied_once(s->local[0], across_a ? tk : tm,
                           across_a ? tm * bytes : deep);
    chunks_are_copied_once(s->local[0], across_b ? tk : tn,
                           across_b ? tn * bytes : deep);
    copies_fit(s, "VA", turned ? 16 : c->g.a.offset);
    copies_fit(s, "VB", turned ? 16 : c->g.b.offset);
    assert_int_equal(c->g.n % define_of(s, "VC"), 0);
    assert_non_null(strstr(s->options, " -DXL_MMA_PTX=1"));
    assert_null(strstr(s->options, "XL_COPY")); /* the fact is unknown */
    free(p);
}

static void kernels_get_what_they_ask(void **state)
{
    (void)state;
    each(check_kernel);
}

static void check_small(const struct xl__limits *l,
                        const struct xl__gemm_canonical *c)
{
    struct xl__params params;
    struct xl__gemm_canonical small;
    struct xl__plan *p = plan_of(l, c, &params);
    struct xl__plan *q = calloc(1, sizeof *q);
    assert_non_null(q);
    xl__gemm_shrink(c, &xl__gemm_mma, &params, &small);
    assert_int_equal(xl__gemm_mma.plan(l, &small, &params, q), XL_OK);
    assert_int_equal(q->n_steps, p->n_steps);
    for (unsigned i = 0; i < p->n_steps; i++) {
        assert_string_equal(q->step[i].kernel, p->step[i].kernel);
        assert_string_equal(q->step[i].options, p->step[i].options);
    }
    free(q);
    free(p);
}

static void small_cases_take_the_same_programs(void **state)
{
    (void)state;
    each(check_small);
}

/* -- the model ------------------------------------------------------------ */

static void large_products_near_the_engine_s_rate(void **state)
{
    static const size_t large[] = {8192, 8192, 8192};
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct xl__limits l;
        make_plan(&machines[i], &l);
        const struct xl__gemm_canonical c = product(large, XL_F16, 0, 64);
        struct xl__params params;
        struct xl__plan *p = plan_of(&l, &c, &params);
        const double rate = p->flop / p->est_ns * 1e9;
        assert_true(rate < xl__mma_rate(&l, xl__mma_op(&l, XL_F16)));
        assert_true(rate > 0.7 * xl__mma_rate(&l, xl__mma_op(&l, XL_F16)));
        free(p);
        xl__limits_clear(&l);
    }
}

/* Few rows: B at most of the memory's rate, in tiles as flat as they go. */
static void few_rows_stream(void **state)
{
    static const size_t decode[] = {16, 14336, 4096};
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct xl__limits l;
        make_plan(&machines[i], &l);
        const struct xl__gemm_canonical c = product(decode, XL_F16, 2, 64);
        struct xl__params params;
        struct xl__plan *p = plan_of(&l, &c, &params);
        assert_int_equal(params.value[XL__GEMM_TM], 16);
        assert_string_equal(p->bound, "memory");
        assert_true(p->bytes / p->est_ns * 1e9 > 0.8 * machines[i].copy);
        free(p);
        xl__limits_clear(&l);
    }
}

/* Odd lines of a large product are written out first; of a small one not. */
static void odd_lines_are_written_out_where_it_pays(void **state)
{
    static const size_t large[] = {4095, 4095, 4095}, small[] = {33, 65, 31};
    struct xl__limits l;
    struct xl__params params;
    (void)state;
    make_plan(&machines[HOPPER], &l);
    struct xl__gemm_canonical c = product(large, XL_F16, 0, 1);
    struct xl__plan *p = plan_of(&l, &c, &params);
    assert_int_equal(params.value[XL__MMA_TURN], XL__MMA_TRANSPOSED);
    assert_true(p->n_steps >= 3);
    free(p);
    c = product(small, XL_F16, 0, 1);
    p = plan_of(&l, &c, &params);
    assert_int_equal(params.value[XL__MMA_TURN], XL__MMA_DIRECT);
    free(p);
    xl__limits_clear(&l);
}

/* Instructions of other shapes and lanes (AMD's MFMA of 64 lanes, its WMMA,
 * Intel's DPAS with 16 lanes): rows, sets of whole instructions and
 * work-groups of whole sub-groups, and a rate. Where the kernels have no code
 * for their fragments the variant says so. */
static void rows_of_other_engines(void **state)
{
    /* clang-format off */
    static const xl_matrix_op rows[] = {
        {.name = "mfma", .fragments = "mfma_32x32", .a = XL_F16, .b = XL_F16, .sum = XL_F32,
         .m = 32, .n = 32, .k = 8, .n_most = 32, .lanes = 64, .flop_per_clock = 2048},
        {.name = "wmma", .fragments = "wmma_gfx11", .a = XL_F16, .b = XL_F16, .sum = XL_F32,
         .m = 16, .n = 16, .k = 16, .n_most = 16, .lanes = 32, .flop_per_clock = 512},
        {.name = "dpas", .fragments = "dpas", .a = XL_BF16, .b = XL_BF16, .sum = XL_F32,
         .m = 8, .n = 16, .k = 16, .n_most = 16, .lanes = 16, .flop_per_clock = 2048}};
    /* clang-format on */
    static const size_t large[] = {4096, 4096, 4096};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const xl_matrix_op *op = &rows[i];
        const xl_matrix_op device[] = {*op, {0}};
        struct xl__limits l;
        make_plan(&machines[HOPPER], &l);
        l.matrix_ops = device;
        const struct xl__gemm_canonical c = product(large, op->a, 0, 64);
        const char *why = xl__gemm_mma.refuses(&l, &c);
        if (strcmp(op->name, "dpas") == 0)
            assert_non_null(strstr(why, "fragments"));
        else
            assert_null(why);
        assert_ptr_equal(xl__find_matrix_op(&l, op->fragments, op->a, op->b),
                         &device[0]);
        assert_true(xl__rate_matrix_op(&l, op) == machines[HOPPER].units *
                                                      machines[HOPPER].hz *
                                                      op->flop_per_clock);
        const struct xl__mma_job job = {
            .op = op, .tiles = {4096, 4096, 4096, 1, op->a, false}};
        const struct xl__cost work = {.flop = xl__gemm_flop(&c.g),
                                      .bytes = xl__gemm_bytes(&c.g)};
        struct xl__params params;
        const double ns = xl__mma_choose(&l, &job, &work, &params);
        const struct xl__mma_set s = xl__mma_set_of(&params);
        assert_true(ns > 0 && ns < INFINITY);
        assert_int_equal(s.tile.tm % (s.sm * op->m), 0);
        assert_int_equal(s.tile.tn % (s.sn * op->n), 0);
        assert_int_equal(s.tile.tk % (s.sk * 2 * xl__mma_step(op).k), 0);
        assert_int_equal(xl__mma_items(op, &s),
                         op->lanes * s.sm * s.sn * s.sk);
        /* No faster than its engine. */
        assert_true(work.flop / ns * 1e9 < xl__rate_matrix_op(&l, op));
        xl__limits_clear(&l);
    }
}

/* The matrices that a driver states: no rate is known, which is then that of
 * FMA units; programs have the shape and OpenCL C 3.0; kernels that need to know
 * where elements are refuse. */
static void a_driver_s_matrices(void **state)
{
    static const size_t large[] = {1000, 1000, 1000};
    struct xl__limits l;
    struct xl__params params = {.source = "model"};
    struct xl__plan *p = calloc(1, sizeof *p);
    (void)state;
    assert_non_null(p);
    make_plan(&machines[HOPPER], &l);
    l.matrix_ops = NULL;
    set(&l, XL__F_subgroup_width, 32);
    l.cooperative[0] = (xl_matrix_op){.name = "coop_mat",
                                      .fragments = "cooperative",
                                      .code = "cooperative",
                                      .a = XL_F16,
                                      .b = XL_F16,
                                      .sum = XL_F32,
                                      .m = 8,
                                      .n = 16,
                                      .k = 16};
    l.cooperative[1] = (xl_matrix_op){.name = NULL};
    xl__cooperative_engine(&l);
    const struct xl__gemm_canonical c = product(large, XL_F16, 0, 64);
    assert_null(xl__gemm_mma.refuses(&l, &c));
    xl__gemm_mma.choose(&l, &c, &params);
    assert_int_equal(xl__gemm_mma.plan(&l, &c, &params, p), XL_OK);
    assert_non_null(strstr(p->step[0].options,
                           " -DXL_MMA_COOPERATIVE=1"
                           " -DMMA_FRAGMENTS_COOPERATIVE=1 -DCOOP_M=8"
                           " -DCOOP_N=16 -DCOOP_K=16 -DCOOP_LANES=32"
                           " -cl-std=CL3.0"));
    assert_non_null(strstr(xl__mma_sums_refused(&l, XL_F16), "only the"));
    assert_non_null(strstr(xl__mma_rows_refused(&l, XL_F16), "rows"));
    assert_true(xl__mma_rate(&l, l.matrix_ops) > 0);
    free(p);
    xl__limits_clear(&l);
}

static void refusals(void **state)
{
    struct xl__limits l;
    (void)state;
    make_plan(&machines[HOPPER], &l);
    struct xl__gemm_canonical c = product(shapes[3], XL_F32, 0, 4);
    assert_null(xl__gemm_mma.refuses(&l, &c));
    c.g.accuracy = XL_ACCURACY_FULL;
    assert_non_null(strstr(xl__gemm_mma.refuses(&l, &c), "XL_ACCURACY_FAST"));
    c = product(shapes[3], XL_F64, 0, 8);
    assert_non_null(strstr(xl__gemm_mma.refuses(&l, &c), "f16, bf16"));
    c = product(shapes[3], XL_F16, 0, 4);
    l.matrix_ops = NULL;
    assert_non_null(strstr(xl__gemm_mma.refuses(&l, &c), "no matrix instructions"));
    xl__limits_clear(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_get_what_they_ask),
        cmocka_unit_test(small_cases_take_the_same_programs),
        cmocka_unit_test(large_products_near_the_engine_s_rate),
        cmocka_unit_test(few_rows_stream),
        cmocka_unit_test(odd_lines_are_written_out_where_it_pays),
        cmocka_unit_test(rows_of_other_engines),
        cmocka_unit_test(a_driver_s_matrices),
        cmocka_unit_test(refusals),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
