/* SPDX-License-Identifier: Apache-2.0 */
/* The budget of a kernel: expressions that would be one large kernel are
 * several, each with accumulators that fit into an item's registers and with a
 * text of bounded length, and they compute the same. */
#include <stdio.h>
#include <string.h>

#include "expr/codegen/forms.h"
#include "expr/codegen/reductions.h"
#include "expr/fuse/fuse.h"
#include "expr/graph/infer.h"
#include "expr/graph/variance.h"
#include "lib/expr/text/expr_bind.h"
#include "lib/expr/text/expr_model.h"
#include "support/support.h"
#include "support/test_limits.h"

enum {
    REGISTERS = 192,       /* of an item, for values; budget.c */
    VECTOR = 4,            /* elements of an access, at least */
    TEXT_BYTES = 64 << 10, /* of a kernel */
    TEXT_CAP = 1 << 15     /* of an expression */
};

struct large {
    const char *head, *term; /* head, then n terms */
    const char *nested;      /* then this, and n times " * 1.5)"; or NULL */
    unsigned n;
    const char *spec;
    unsigned min_groups, max_groups;
};

/* clang-format off */
static const struct large cases[] = {
    {"y = 0", " + mean(x * %u.5, axis=-1)", NULL, 300,
     "x:f32[8,64] y:f32[8,1]", 12, 24},
    {"y = 0", " + mean(x * %u.5, axis=0)", NULL, 300,
     "x:f32[64,8] y:f32[1,8]", 12, 24},
    {"y = 0", " + mean(x * %u.5)", NULL, 120,
     "x:f32[65536] y:f32[1]", 5, 10},
    {"y = 0", " + var(x * %u.5, axis=-1)", NULL, 60,
     "x:f32[8,64] y:f32[8,1]", 5, 20},
    {"y = x", " + sin(x * %u.5)", NULL, 300,
     "x:f32[8,64] y:f32[8,64]", 13, 20},
    {"y = ", "softmax(", "x", 190,
     "x:f32[4,64] y:f32[4,64]", 45, 100},
    {"y = ", "softmax(", "x", 3,
     "x:f32[4,64] y:f32[4,64]", 1, 1},
};
/* clang-format on */
enum { N_CASES = sizeof cases / sizeof *cases };

static void write_text(const struct large *c, char *text)
{
    size_t n = (size_t)snprintf(text, TEXT_CAP, "%s", c->head);
    for (unsigned i = 0; i < c->n; i++)
        n += (size_t)snprintf(text + n, TEXT_CAP - n, c->term, i + 1);
    if (c->nested)
        n += (size_t)snprintf(text + n, TEXT_CAP - n, "%s", c->nested);
    for (unsigned i = 0; c->nested && i < c->n; i++)
        n += (size_t)snprintf(text + n, TEXT_CAP - n, " * 1.5)");
    assert_true(n < TEXT_CAP);
}

/* An H200, and a CPU with vectors of 16 floats. */
static void set_device(bool is_cpu, struct xl__limits *l)
{
    const struct test_fact facts[] = {
        {XL__F_is_cpu, is_cpu},
        {XL__F_is_gpu, !is_cpu},
        {XL__F_compute_units, is_cpu ? 2 : 132},
        {XL__F_native_vector_f32, is_cpu ? 16 : 1},
        {XL__F_peak_f32_flop_per_s, is_cpu ? 2e11 : 6e13},
        {XL__F_copy_bytes_per_s, is_cpu ? 3e10 : 4.3e12},
        {XL__F_launch_ns, is_cpu ? 8000 : 2500},
        {XL__F_max_wg_size, 1024},
        {XL__F_local_mem_bytes, 49152},
        {XL__F_registers_per_item, is_cpu ? -1 : 255},
    };
    test_limits(l, facts, sizeof facts / sizeof *facts);
}

/* The words of the accumulators of each sweep, with vectors of VECTOR. */
static void check_accumulators(const struct xl__graph *g,
                               const struct xl__group *group)
{
    for (unsigned s = 0; s < group->n_sweeps; s++) {
        unsigned words = 0;
        for (unsigned i = 0; i < group->n_values; i++) {
            const struct xl__value *v = &group->value[i];
            bool is_loaded = false;
            for (unsigned k = 0; k < group->n_operands; k++)
                is_loaded |= !group->operand[k].is_written &&
                             group->operand[k].node == v->node;
            if (v->sweep == s && !is_loaded &&
                xl__is_reduction(&g->node[v->node]))
                words += xl__reduction_words(g, v->node);
        }
        assert_true(words * VECTOR <= REGISTERS);
    }
}

static void check_texts(const struct xl__graph *g, const struct xl__limits *l,
                        const struct xl__schedule *s)
{
    static struct xl__plan plan;
    for (unsigned i = 0; i < s->n_groups; i++) {
        struct xl__code code = {0};
        plan = (struct xl__plan){0};
        check_accumulators(g, &s->group[i]);
        assert_status(xl__group_plan(g, l, &s->group[i], s, &code, &plan),
                      XL_OK, "");
        for (unsigned k = 0; k < plan.n_steps; k++)
            assert_true(strlen(plan.step[k].text) <= TEXT_BYTES);
        xl__code_clear(&code);
    }
}

static void check_case(const struct large *c, bool is_cpu)
{
    static char text[TEXT_CAP];
    struct xl__signature s;
    struct xl__graph g = {0}, lowered = {0};
    struct xl__schedule plan;
    struct xl__error e = {0};
    struct xl__limits l;
    write_text(c, text);
    test_bind(c->spec, &s);
    set_device(is_cpu, &l);
    assert_status(test_infer(text, &s, &g, &e), XL_OK,
                  xl__str_text(&e.detail));
    assert_status(xl__graph_lower_variance(&g, &l, &lowered), XL_OK, "");
    assert_status(xl__fuse(&lowered, &s, &l, false, &plan, &e), XL_OK,
                  xl__str_text(&e.detail));
    if (plan.n_groups < c->min_groups || plan.n_groups > c->max_groups)
        fail_msg("%.40s..., %s: %u kernels, expected %u to %u", text,
                 is_cpu ? "CPU" : "GPU", plan.n_groups, c->min_groups,
                 c->max_groups);
    model_check(&lowered, &s, &plan, text);
    model_compare(&lowered, &s, &plan, text, c->n);
    check_texts(&lowered, &l, &plan);
    xl__schedule_clear(&plan);
    xl__graph_clear(&g);
    xl__graph_clear(&lowered);
    xl__error_clear(&e);
    xl__limits_clear(&l);
}

static void test_gpu(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_CASES; i++)
        check_case(&cases[i], false);
}

static void test_cpu(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_CASES; i++)
        check_case(&cases[i], true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpu),
        cmocka_unit_test(test_cpu),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
