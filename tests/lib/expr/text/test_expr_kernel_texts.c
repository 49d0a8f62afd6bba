/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of kernels that are kept by the structure of their groups: random
 * statements, and a few expressions with random sizes, types, strides and
 * alignments. Each group is planned with the texts kept so far and without;
 * texts and steps must be equal. */
#include <string.h>

#include "base/lru.h"
#include "base/rng.h"
#include "expr/fuse/fuse.h"
#include "expr/graph/variance.h"
#include "lib/expr/text/expr_bind.h"
#include "lib/expr/text/random_statements.h"
#include "ops/expression/expression.h"
#include "support/support.h"
#include "support/test_limits.h"

enum { CASES = 8000, LEAST_GOOD = 5000, MOST_KEPT = 200 };
#define PICK(rng, a) ((a)[xl__rng_below(rng, sizeof(a) / sizeof *(a))])

/* A GPU, a CPU with vectors of 16 floats, a GPU with many units, without fma
 * and with little local memory. */
static const struct machine {
    double is_cpu, units, vector, wg, local, fma;
} machines[] = {{0, 132, 1, 1024, 49152, 1},
                {1, 2, 16, 1024, 49152, 1},
                {0, 1e5, 1, 64, 4096, 0}};
enum { N_MACHINES = sizeof machines / sizeof *machines };

static void set_machine(const struct machine *m, struct xl__limits *l)
{
    const struct test_fact facts[] = {
        {XL__F_is_cpu, m->is_cpu},
        {XL__F_is_gpu, !m->is_cpu},
        {XL__F_compute_units, m->units},
        {XL__F_native_vector_f32, m->vector},
        {XL__F_peak_f32_flop_per_s, 6e13},
        {XL__F_copy_bytes_per_s, 4e12},
        {XL__F_launch_ns, 2500},
        {XL__F_max_wg_size, m->wg},
        {XL__F_local_mem_bytes, m->local},
        {XL__F_has_local_mem, 1},
        {XL__F_llc_bytes, 5e7},
        {XL__F_has_fma, m->fma},
    };
    test_limits(l, facts, sizeof facts / sizeof *facts);
}

/* -- expressions of random sizes -------------------------------------- */

static void sized_text(struct xl__rng *r, struct xl__str *out)
{
    static const char *const texts[] = {"y = x * 2 + a",
                                        "y = x * 3 + a",
                                        "y = exp(x) * a",
                                        "y = softmax(x) + a",
                                        "y = x - mean(x) + a",
                                        "y = layer_norm(x, a, a, 1e-5)",
                                        "y = x + rand(7) * a",
                                        "y = x + sum(x * a, axis=0)",
                                        "y = x + var(x * a)",
                                        "y = sum(x, axis=0) * a",
                                        "y = max(x, axis=-1) + a",
                                        "y = x + t * s + a",
                                        "y = permute(x, 1, 0) + a",
                                        "y = x / a + permute(t, 1, 0)"};
    xl__str_add(out, PICK(r, texts));
}

/* Sizes of x; t is its transpose, and y is one of the two. */
static void sized_bind(struct xl__rng *r, const char *text,
                       struct xl__signature *s)
{
    static const unsigned sizes[] = {
        1,   2,   3,    4,   5,   8,    17,   33,   64,     100,     128,
        500, 512, 1000, 999, 640, 1024, 4096, 5000, 100000, 1000000, 1000000};
    static const char *const types[] = {"f32", "f16", "f32", "i32",
                                        "i8",  "f32", "bf16"};
    static const unsigned pads[] = {0, 0, 0, 1, 8};
    struct xl__str spec = {0};
    const unsigned m = PICK(r, sizes), n = PICK(r, sizes);
    const bool is_swapped = strstr(text, "permute(x") != NULL;
    const bool is_row = strstr(text, "= sum(x") != NULL;
    const bool is_column = strstr(text, "= max(") != NULL;
    xl__str_printf(&spec, "x:%s[%u,%u]", PICK(r, types), m, n);
    xl__str_printf(&spec, is_column ? " a:%s[1]" : " a:%s[%u]", PICK(r, types),
                   is_swapped ? m : n);
    if (strstr(text, " t "))
        xl__str_printf(&spec, " t:%s[%u,%u] s:f32", PICK(r, types), m, n);
    if (strstr(text, "permute(t"))
        xl__str_printf(&spec, " t:%s[%u,%u]", PICK(r, types), n, m);
    if (is_row || is_column)
        xl__str_printf(&spec, " y:f32[%u]", is_row ? n : m);
    else
        xl__str_printf(&spec, " y:%s[%u,%u]", PICK(r, types),
                       is_swapped ? n : m, is_swapped ? m : n);
    test_bind(xl__str_text(&spec), s);
    for (unsigned i = 0; i < s->n; i++) {
        struct xl__parameter *b = &s->b[i];
        const size_t step = xl__rng_below(r, 6) == 0 ? 2 : 1;
        b->align = 1u << xl__rng_below(r, 5);
        if (b->n_dims == 2)
            b->stride[0] = (b->stride[0] + PICK(r, pads)) * step;
        if (b->n_dims > 0)
            b->stride[b->n_dims - 1] *= step;
    }
    xl__str_clear(&spec);
}

/* -- both ways -------------------------------------------------------- */

static void assert_same(const struct xl__plan *a, const struct xl__plan *b,
                        const char *text)
{
    assert_int_equal(a->n_steps, b->n_steps);
    for (unsigned i = 0; i < a->n_steps; i++) {
        const struct xl__step *s = &a->step[i], *t = &b->step[i];
        if (strcmp(s->text, t->text) != 0)
            fail_msg("%s: kept\n%s\nwritten\n%s", text, s->text, t->text);
        assert_string_equal(s->kernel, t->kernel);
        assert_string_equal(s->options, t->options);
        assert_int_equal(s->global[0], t->global[0]);
        assert_int_equal(s->local[0], t->local[0]);
        assert_int_equal(s->local_mem_bytes, t->local_mem_bytes);
        assert_int_equal(s->n_args, t->n_args);
        assert_memory_equal(s->args, t->args, s->n_args * sizeof *s->args);
    }
}

/* Plans a group in both ways; true: its texts were kept. */
static bool plan_both(struct xl__lru *texts, const struct xl__graph *g,
                      const struct xl__limits *l, const struct xl__schedule *s,
                      unsigned i, const char *text)
{
    static struct xl__plan plans[2];
    struct xl__code codes[2] = {{{{0}}}, {{{0}}}};
    struct xl__canonical_group c;
    if (texts->n >= MOST_KEPT)
        xl__lru_clear(texts);
    const size_t n = texts->n;
    memset(plans, 0, sizeof plans);
    assert_int_equal(xl__canonical_group_init(g, &s->group[i], &c), XL_OK);
    const xl_status status =
        xl__group_plan(&c.g, l, &c.group, s, &codes[0], &plans[0]);
    assert_int_equal(
        xl__expr_plan_group(texts, &c, l, s, &codes[1], &plans[1]), status);
    if (status == XL_OK)
        assert_same(&plans[1], &plans[0], text);
    xl__code_clear(&codes[0]);
    xl__code_clear(&codes[1]);
    xl__canonical_group_clear(&c);
    return status == XL_OK && texts->n == n;
}

/* Plans all groups of an expression in both ways. False: it is refused. */
static bool plan_groups(struct xl__lru *texts, const struct machine *machine,
                        const char *text, const struct xl__signature *s,
                        bool unfused, unsigned *n_kept)
{
    struct xl__graph g = {0}, lowered = {0};
    struct xl__error e = {0};
    struct xl__schedule schedule;
    struct xl__limits l;
    set_machine(machine, &l);
    const bool good = test_infer(text, s, &g, &e) == XL_OK;
    if (good) {
        assert_int_equal(
            xl__graph_lower_variance(&g, unfused ? NULL : &l, &lowered),
            XL_OK);
        assert_int_equal(xl__fuse(&lowered, s, &l, unfused, &schedule, &e),
                         XL_OK);
        for (unsigned i = 0; i < schedule.n_groups; i++)
            *n_kept += plan_both(texts, &lowered, &l, &schedule, i, text);
        xl__schedule_clear(&schedule);
    }
    xl__graph_clear(&g);
    xl__graph_clear(&lowered);
    xl__error_clear(&e);
    xl__limits_clear(&l);
    return good;
}

static bool random_case(struct xl__lru *texts, const struct machine *machine,
                        uint64_t seed, unsigned *n_kept)
{
    struct xl__rng r;
    struct xl__str text = {0};
    struct xl__signature s;
    xl__rng_seed(&r, seed);
    const bool is_sized = seed % 4 != 0;
    (is_sized ? sized_text : random_statements_text)(&r, &text);
    (is_sized ? sized_bind : random_statements_bind)(&r, xl__str_text(&text),
                                                     &s);
    s.fast_math = xl__rng_below(&r, 2) != 0;
    const bool good = plan_groups(texts, machine, xl__str_text(&text), &s,
                                  xl__rng_below(&r, 3) == 0, n_kept);
    xl__str_clear(&text);
    return good;
}

static void both_ways(void **state)
{
    struct xl__lru texts[N_MACHINES] = {{0}};
    unsigned n_good = 0, n_kept = 0;
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++)
        n_good += random_case(&texts[seed / 4 % N_MACHINES],
                              &machines[seed / 4 % N_MACHINES], seed, &n_kept);
    for (unsigned i = 0; i < N_MACHINES; i++)
        xl__lru_clear(&texts[i]);
    assert_true(n_good >= LEAST_GOOD);
    assert_true(n_kept >= CASES / 5);
}

/* A column c is loaded once a row; as wide as x, with a stride of 0, it is
 * loaded with the elements. All else of the two groups is equal. */
static void columns_of_stride_0(void **state)
{
    static const char text[] = "y = softmax(x * c)";
    struct xl__lru texts = {0};
    unsigned n_kept = 0;
    struct xl__signature s;
    (void)state;
    test_bind("x:f32[640,100] c:f32[640,1] y:f32[640,100]", &s);
    for (unsigned i = 0; i < 2; i++)
        assert_true(
            plan_groups(&texts, &machines[0], text, &s, false, &n_kept));
    assert_int_equal(n_kept, 1);
    s.b[1].size[1] = 100;
    s.b[1].stride[1] = 0;
    assert_true(plan_groups(&texts, &machines[0], text, &s, false, &n_kept));
    assert_int_equal(n_kept, 1);
    xl__lru_clear(&texts);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways),
        cmocka_unit_test(columns_of_stride_0),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
