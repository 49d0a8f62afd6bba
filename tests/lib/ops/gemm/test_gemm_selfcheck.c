/* SPDX-License-Identifier: Apache-2.0 */
/* Every GEMM variant's self-check, planned without a device: the small case
 * has the steps, kernels and options that it is to test, on a machine that has
 * every kind of matrix instruction and on one that has none. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "ops/gemm/gemm.h"
#include "ops/path/selfcheck_data.h"
#include "support/support.h"
#include "targets/targets.h"
#include "targets/targets.h"

enum { N_SHAPES = 1500, SEED = 11 };

static void set(struct xl__limits *l, enum xl__fact_id id, double value)
{
    xl__limits_correct(l, id, value, XL_ASSUMED, "GE-01");
}

static void make_case(struct xl__limits *l, bool has_matrix)
{
    xl__limits_init(l);
    set(l, XL__F_is_gpu, 1);
    set(l, XL__F_compute_units, 132);
    set(l, XL__F_clock_hz, 1.98e9);
    set(l, XL__F_max_wg_size, 1024);
    set(l, XL__F_local_mem_bytes, 226 * 1024);
    set(l, XL__F_has_local_mem, 1);
    set(l, XL__F_subgroup_width, 32);
    set(l, XL__F_registers_per_cu, 65536);
    set(l, XL__F_simd_per_cu_f32, 128);
    set(l, XL__F_native_vector_f32, 1);
    set(l, XL__F_has_f64, 1);
    set(l, XL__F_max_alloc_bytes, 35e9);
    set(l, XL__F_copy_bytes_per_s, 4e12);
    set(l, XL__F_llc_bytes, 50 << 20);
    if (!has_matrix)
        return;
    xl__nvidia_matrix_engine(90, l);
}

/* -- shapes ----------------------------------------------------------------
 */

static size_t pick(struct xl__rng *rng, const size_t *list, size_t n)
{
    return list[xl__rng_below(rng, n)];
}

static size_t random_size(struct xl__rng *rng)
{
    static const size_t sizes[] = {1,    2,    8,    16,   24,   40,   64,
                                   72,   100,  128,  129,  136,  255,  256,
                                   264,  1000, 1024, 1536, 2048, 2049, 3072,
                                   4095, 4096, 8192, 14336};
    return pick(rng, sizes, sizeof sizes / sizeof *sizes);
}

static xl_mat random_view(struct xl__rng *rng, size_t rows, size_t cols,
                          xl_dtype dtype)
{
    static const size_t pads[] = {0, 0, 0, 0, 0, 0, 16, 64, 8, 1};
    const size_t n = sizeof pads / sizeof *pads;
    const size_t pad = pick(rng, pads, n);
    xl_mat v = xl__rng_below(rng, 2) ? xl_mat_rows(NULL, cols + pad, dtype)
                                     : xl_mat_cols(NULL, rows + pad, dtype);
    v.offset = pick(rng, pads, n);
    return v;
}

/* Of A and B, of C. */
static const xl_dtype types[][2] = {{XL_F16, XL_F16},     {XL_F16, XL_F32},
                                    {XL_BF16, XL_BF16},   {XL_BF16, XL_F16},
                                    {XL_F32, XL_F32},     {XL_F32, XL_F16},
                                    {XL_I8, XL_I32},      {XL_I8, XL_F16},
                                    {XL_F8E4M3, XL_BF16}, {XL_F8E5M2, XL_F32}};
enum { N_TYPES = sizeof types / sizeof *types, N_LISTED = 120 };

static xl_gemm random_gemm(struct xl__rng *rng)
{
    const xl_dtype *t = types[xl__rng_below(rng, N_TYPES)];
    xl_gemm g = {XL_GEMM_INIT, .m = random_size(rng), .n = random_size(rng),
                 .k = random_size(rng), .alpha = 1};
    g.beta = (double)xl__rng_below(rng, 2);
    g.accuracy = (xl_accuracy)xl__rng_below(rng, XL_N_ACCURACIES);
    g.a = random_view(rng, g.m, g.k, t[0]);
    g.b = random_view(rng, g.k, g.n, t[0]);
    g.c = random_view(rng, g.m, g.n, t[1]);
    if (xl__rng_below(rng, 4) == 0) {
        g.batch.count = 5;
        g.batch.a_step = xl__rng_below(rng, 3) ? (size_t)1 << 27 : 0;
        g.batch.b_step = (size_t)1 << 27;
        g.batch.c_step = (size_t)1 << 27;
    }
    return g;
}

/* Aligned products of the sizes that matter, every type and way to lie. */
static xl_gemm listed_gemm(size_t i, const xl_dtype t[2])
{
    static const size_t sizes[][3] = {
        {256, 256, 256},    {1024, 1024, 1024}, {1536, 1536, 1536},
        {2048, 2048, 2048}, {3072, 3072, 3072}, {4096, 4096, 4096},
        {8192, 8192, 8192}, {16, 4096, 4096},   {16, 4096, 14336},
        {64, 4096, 4096},   {128, 14336, 4096}, {4096, 16, 4096},
        {512, 6144, 4096},  {100, 264, 72},     {129, 136, 1000}};
    const size_t *size = sizes[i / 8 % (sizeof sizes / sizeof *sizes)];
    xl_gemm g = {XL_GEMM_INIT, .m = size[0], .n = size[1], .k = size[2],
                 .alpha = 1};
    g.beta = i % 2 == 0;
    g.accuracy = (xl_accuracy)(i % XL_N_ACCURACIES);
    g.a = i / 2 % 2 ? xl_mat_cols(NULL, xl__round_up(g.m, 16), t[0])
                    : xl_mat_rows(NULL, xl__round_up(g.k, 16), t[0]);
    g.b = i / 4 % 2 ? xl_mat_cols(NULL, xl__round_up(g.k, 16), t[0])
                    : xl_mat_rows(NULL, xl__round_up(g.n, 16), t[0]);
    g.c = xl_mat_rows(NULL, xl__round_up(g.n, 16), t[1]);
    return g;
}

/* -- the check -------------------------------------------------------------
 */

static void describe(char *out, size_t cap, const xl_gemm *g)
{
    snprintf(out, cap,
             "%s to %s %zux%zux%zu beta %g accuracy %d batch %zu, lines "
             "%zu/%zu %zu/%zu %zu/%zu, aligned %zu %zu %zu",
             xl_dtype_name(g->a.dtype), xl_dtype_name(g->c.dtype), g->m, g->n,
             g->k, g->beta, (int)g->accuracy, g->batch.count, g->a.row_stride,
             g->a.col_stride, g->b.row_stride, g->b.col_stride,
             g->c.row_stride, g->c.col_stride, g->a.offset, g->b.offset,
             g->c.offset);
}

static void compare(const struct xl__variant *v, const xl_gemm *g,
                    const struct xl__plan *p, const struct xl__plan *small)
{
    char text[512];
    describe(text, sizeof text, g);
    if (small->n_steps < p->n_steps)
        fail_msg("%s, %s: %u steps, its trial %u", v->name, text, p->n_steps,
                 small->n_steps);
    for (unsigned i = 0; i < p->n_steps; i++) {
        const struct xl__step *s = &p->step[i], *t = &small->step[i];
        if (strcmp(s->options, t->options) != 0 ||
            strcmp(s->kernel, t->kernel) != 0)
            fail_msg("%s, %s:\n%s%s\nits trial\n%s%s", v->name, text,
                     s->kernel, s->options, t->kernel, t->options);
    }
}

static bool check(const struct xl__limits *l, const struct xl__variant *v,
                  const struct xl__gemm_canonical *g)
{
    struct xl__params params = {.source = "model"};
    struct xl__plan *plans = calloc(2, sizeof *plans);
    struct xl__gemm_canonical small;
    assert_non_null(plans);
    if (v->refuses && v->refuses(l, g)) {
        free(plans);
        return false;
    }
    if (v->choose)
        v->choose(l, g, &params);
    const bool has_plan = v->plan(l, g, &params, &plans[0]) == XL_OK;
    if (has_plan && !plans[0].step[0].external) {
        xl__op_gemm.shrink(g, v, &params, &small);
        const xl_status status = v->plan(l, &small, &params, &plans[1]);
        if (status != XL_OK) {
            char text[512], least[512];
            describe(text, sizeof text, &g->g);
            describe(least, sizeof least, &small.g);
            fail_msg("%s, %s: no plan for its trial, %s", v->name, text,
                     least);
        }
        compare(v, &g->g, &plans[0], &plans[1]);
    }
    free(plans);
    return has_plan;
}

static void trials_on(bool has_matrix)
{
    const struct xl__variant *const *list =
        (has_matrix ? &xl__vendor_nvidia : &xl__vendor_generic)
            ->variants[XL__OP_GEMM];
    struct xl__limits l;
    struct xl__rng rng;
    size_t planned[16] = {0};
    make_case(&l, has_matrix);
    xl__rng_seed(&rng, SEED);
    for (unsigned i = 0; i < N_SHAPES + N_LISTED * N_TYPES; i++) {
        const xl_gemm desc =
            i < N_SHAPES ? random_gemm(&rng)
                         : listed_gemm(i / N_TYPES, types[i % N_TYPES]);
        struct xl__gemm_canonical g;
        struct xl__call call;
        assert_int_equal(XL_OK, xl__op_gemm.bind(NULL, &desc, &g, &call));
        for (size_t v = 0; list[v]; v++)
            planned[v] += check(&l, list[v], &g);
    }
    for (size_t v = 0; list[v]; v++)
        printf("%s: %zu of %d planned\n", list[v]->name, planned[v],
               N_SHAPES + N_LISTED * N_TYPES);
    xl__limits_clear(&l);
}

static void trials_take_the_same_programs(void **state)
{
    (void)state;
    trials_on(true);
    trials_on(false);
}

/* An infinity agrees where the type rounds a value within the bound to it. */
static void infinities_of_narrow_types(void **state)
{
    (void)state;
    assert_true(xl__case_agrees(INFINITY, 75127, 1, XL_F16));
    assert_true(xl__case_agrees(-INFINITY, -75127, 1, XL_F16));
    assert_true(xl__case_agrees(INFINITY, 65510, 20, XL_F16));
    assert_false(xl__case_agrees(INFINITY, 65000, 20, XL_F16));
    assert_false(xl__case_agrees(-INFINITY, 75127, 1, XL_F16));
    assert_false(xl__case_agrees(65504, 75127, 1, XL_F16));
    assert_false(xl__case_agrees(INFINITY, 75127, 1, XL_F32));
    assert_false(xl__case_agrees(NAN, 1, 1, XL_F32));
    assert_true(xl__case_agrees(NAN, NAN, 0, XL_F32));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_take_the_same_programs),
        cmocka_unit_test(infinities_of_narrow_types),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
