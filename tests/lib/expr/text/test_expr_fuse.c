/* SPDX-License-Identifier: Apache-2.0 */
/* Fusion without a device: what becomes one kernel and what does not, its
 * form, sweeps and bytes; and random graphs whose groups, computed on the host
 * one after another, must give the values of the graph (expr_model.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/rng.h"
#include "expr/fuse/fuse.h"
#include "expr/graph/variance.h"
#include "expr/graph/views.h"
#include "support/support.h"
#include "support/test_limits.h"
#include "lib/expr/text/expr_bind.h"
#include "lib/expr/text/expr_model.h"
#include "lib/expr/text/random_statements.h"

/* -- devices ---------------------------------------------------------- */

/* clang-format off */
static const struct machine {
    double is_cpu, units, vector, flop_per_s, bytes_per_s, launch_ns;
} machines[] = {
    /* cpu units vector flop  bytes    launch */
    {0,    132,    1,  6e13,  4.3e12,    2500},
    {1,      2,   16,  2e11,  3e10,      8000},
    /* Extremes: rows are always too few; arithmetic costs all, memory and
     * launches nothing; and the reverse. */
    {0,    1e6,    1,  1e13,  1e12,      1e-6},
    {0,    1e6,    1,  1e3,   1e15,      1e-6},
    {1,      1,    4,  1e15,  1e3,       1e9},
    {0,      1,    1,  1e3,   1e15,      1e-6},
};
/* clang-format on */
enum { GPU, CPU, MANY, SLOW, FAST, SINGLE, N_MACHINES };

static void set_machine(const struct machine *m, struct xl__limits *l)
{
    const struct test_fact facts[] = {
        {XL__F_is_cpu, m->is_cpu},
        {XL__F_is_gpu, !m->is_cpu},
        {XL__F_compute_units, m->units},
        {XL__F_native_vector_f32, m->vector},
        {XL__F_peak_f32_flop_per_s, m->flop_per_s},
        {XL__F_copy_bytes_per_s, m->bytes_per_s},
        {XL__F_launch_ns, m->launch_ns},
        {XL__F_max_wg_size, 1024},
        {XL__F_local_mem_bytes, 49152},
        {XL__F_has_local_mem, 1},
        {XL__F_subgroup_width, 32},
    };
    test_limits(l, facts, sizeof facts / sizeof *facts);
}

/* -- named cases ------------------------------------------------------ */

/* A group as "rows 3: 1 > 1": form, sweeps if more than one, operands read and
 * written. */
static void describe(const struct xl__schedule *plan, struct xl__str *out)
{
    static const char *const form[] = {"map", "rows", "columns", "pieces"};
    for (unsigned i = 0; i < plan->n_groups; i++) {
        const struct xl__group *p = &plan->group[i];
        unsigned written = 0;
        for (unsigned k = 0; k < p->n_operands; k++)
            written += p->operand[k].is_written;
        xl__str_printf(out, "%s%s", i ? "; " : "", form[p->form]);
        if (p->n_sweeps != 1)
            xl__str_printf(out, " %u", p->n_sweeps);
        xl__str_printf(out, ": %u > %u", p->n_operands - written, written);
    }
}

/* Is there a view of an operation by element? */
static bool has_computed_view(const struct xl__graph *g)
{
    for (unsigned i = 0; i < g->n_nodes; i++)
        if (g->node[i].op == XL__E_VIEW &&
            xl__expr_ops[g->node[g->node[i].arg[0]].op].cls == XL__C_MAP)
            return true;
    return false;
}

static void plan_of(unsigned machine, const char *text,
                    const struct xl__signature *s, bool unfused,
                    struct xl__graph *g, struct xl__schedule *plan)
{
    struct xl__error e = {0};
    struct xl__graph written = {0}, viewed = {0};
    struct xl__str why = {0};
    struct xl__limits l;
    set_machine(&machines[machine], &l);
    memset(g, 0, sizeof *g);
    assert_status(test_infer(text, s, &written, &e), XL_OK,
                  xl__str_text(&e.detail));
    assert_status(
        xl__graph_lower_views(&written, s, unfused ? NULL : &l, &viewed, &why),
        XL_OK, "");
    assert_status(xl__graph_lower_variance(&viewed, unfused ? NULL : &l, g),
                  XL_OK, "");
    assert_int_equal(why.len > 0, !unfused && has_computed_view(&written));
    xl__str_clear(&why);
    xl__graph_clear(&written);
    xl__graph_clear(&viewed);
    assert_status(xl__fuse(g, s, &l, unfused, plan, &e), XL_OK,
                  xl__str_text(&e.detail));
    xl__error_clear(&e);
    xl__limits_clear(&l);
}

struct named {
    unsigned machine;
    const char *spec, *text;
    const char *fused;
    double megabytes;    /* counted by hand */
    const char *unfused; /* NULL: not asked */
};

#define ADAM                                                                  \
    "m = 0.9 * m + 0.1 * g; v = 0.99 * v + 0.01 * g^2;"                       \
    "p = p - lr * m / (sqrt(v) + 1e-8)"
#define ROPE                                                                  \
    "a = x[..., :64]; b = x[..., 64:];"                                       \
    "x[..., :64] = a * c - b * s; x[..., 64:] = b * c + a * s"
#define NORM "relu((x - mean(x, axis=0)) * rsqrt(var(x, axis=0) + 1e-5) * g)"
#define DEEP "tan(erf(tan(erf(tan(erf(tan(erf(tan(erf(b))))))))))"

/* clang-format off */
static const struct named named[] = {
    {GPU, "x:f32[100000000] out:f32[100000000]", "sin(x)^2 + cos(x)^2",
     "map: 1 > 1", 800,
     "map: 1 > 1; map: 1 > 1; map: 1 > 1; map: 1 > 1; map: 2 > 1"},
    {GPU, "x:f32[4096,1000] out:f32[4096,1000]", "softmax(x)",
     "rows 3: 1 > 1", 32.768,
     "rows: 1 > 1; map: 1 > 1; map: 2 > 1; map: 1 > 1; rows: 1 > 1; "
     "map: 1 > 1; map: 2 > 1"},
    {CPU, "x:f32[4096,1000] out:f32[4096,1000]", "softmax(x)",
     "rows 3: 1 > 1", 32.768, NULL},
    {GPU, "x:f32[4096,1000] r:f32[4096,1000] g:f32[1000] b:f32[1000] "
     "h:f32[4096,1000] y:f32[4096,1000]",
     "h = x + r; y = layer_norm(h, g, b, 1e-5)",
     "rows 3: 4 > 2", 65.544, NULL},
    /* A variance of rows that are held is two sweeps, written out or not. */
    {GPU, "x:f32[4096,1000] s:f32[4096,1]", "s = var(x, axis=1)",
     "rows 2: 1 > 1", 16.400384, "rows: 1 > 1"},
    {GPU, "x:f32[4096,1000] s:f32[4096,1]",
     "s = sum((x - mean(x, axis=1))^2, axis=1)",
     "rows 2: 1 > 1", 16.400384, "rows: 1 > 1; map: 1 > 1"},
    {GPU, "x:f16[4096,1000] g:f16[1000] y:f16[4096,1000]",
     "y = rms_norm(x, g, 1e-5)", "rows 2: 2 > 1", 16.386, NULL},
    {GPU, "p:f32[1000000] g:f32[1000000] m:f32[1000000] v:f32[1000000] lr:f32",
     ADAM, "map: 4 > 3", 28, NULL},
    {GPU, "x:f32[1000,1000] u:f32[1000,1000] y:f32[1000,1000]",
     "y = silu(x) * u", "map: 2 > 1", 12, "map: 1 > 1; map: 2 > 1"},
    {GPU, "x:f16[128,64,128] c:f32[128,1,64] s:f32[128,1,64]", ROPE,
     "map: 4 > 2", 4.259840, NULL},
    /* The values of a row are complete before they are stored. */
    {GPU, "x:f32[65536,256] g:f32[256] out:f32[65536,256]", NORM,
     "columns: 1 > 2; map: 4 > 1", 201.331712, NULL},
    {GPU, "x:f32[100000000] s:f32[1]", "s = sum((x - mean(x))^2)",
     "pieces: 1 > 1", 400.000004, NULL},
    {GPU, "x:f32[100000000] s:f32[1]", "s = mean((mean(x) - x)^2)",
     "pieces: 1 > 1", 400.000004, NULL},
    {GPU, "x:f32[1000,1000] s:f32[1000,1]", "s = sqrt(mean(x^2, axis=1) + 1)",
     "rows: 1 > 1", 4.004, "map: 1 > 1; rows: 1 > 1; map: 1 > 1; map: 1 > 1"},
    /* One row: each reduction is a sweep of its own. */
    {GPU, "x:f32[100000000] y:f32[100000000]", "y = softmax(x)",
     "pieces: 1 > 1; pieces: 2 > 1; map: 3 > 1", 1600.00002, NULL},
    /* An output by element together with a sum of it, reduced or not. */
    {GPU, "x:f32[100000000] y:f32[100000000] s:f32[1]",
     "y = x * 2; s = sum(y)", "pieces: 1 > 2", 800.000004, NULL},
    /* Several reductions of one input. */
    {GPU, "x:f32[1000,1000] a:f32[1000,1] b:f32[1000,1] i:i32[1000,1]",
     "a = max(x, axis=1); b = norm2(x * a, axis=1); i = argmax(x, axis=1)",
     "rows 2: 1 > 3", 4.012, NULL},
    /* Rows and columns are two kernels; what needs both is a third. */
    {GPU, "x:f32[4096,4096] a:f32[4096,1] b:f32[1,4096] y:f32[4096,4096]",
     "a = sum(x, axis=1); b = sum(x, axis=0); y = x - a - b",
     "rows: 1 > 1; columns: 1 > 1; map: 3 > 1", 268.500992, NULL},
    /* Outputs of one shape are one kernel, of two shapes separate ones. */
    {GPU, "x:f32[1000] y:f32[1000] u:f32[1000] v:f32[10]",
     "u = x * 2; v = 3; y = x + 1", "map: 1 > 2; map: 0 > 1", 0.01204, NULL},
    /* Read again where it was written, if the model estimates less. */
    {GPU, "x:f32[100000000] y:f32[100000000] s:f32[1] z:f32[100000000]",
     "y = pow(erf(gelu(x)), x); s = sum(y); z = y / s",
     "pieces: 1 > 2; map: 2 > 1", 1600.000008, NULL},
    {GPU, "x:f32[100000000] y:f32[100000000] s:f32[1] z:f32[100000000]",
     "y = x * 2; s = sum(y); z = y / s",
     "pieces: 1 > 2; map: 2 > 1", 1600.000008, NULL},
    /* Arithmetic that broadcasting repeats: hidden by memory, and not. */
    {GPU, "x:f32[8192,4096] b:f32[4096] y:f32[8192,4096]", "y = x * gelu(b)",
     "map: 2 > 1", 268.45184, NULL},
    {GPU, "x:f32[8192,4096] b:f32[4096] y:f32[8192,4096]", "y = x * " DEEP,
     "map: 1 > 1; map: 2 > 1", 268.484608, NULL},
    {SINGLE, "x:f32[4096,1000] u:f32[4096,1] y:f32[4096,1000]",
     "y = softmax(x * exp(u))", "rows 3: 2 > 1", 32.784384, NULL},
    /* Axes of size 1 do not matter. */
    {GPU, "x:f32[1,1000] a:f32[1,1] b:f32[1,1]",
     "a = sum(x); b = max(x, axis=1)", "rows: 1 > 2", 0.004008, NULL},
    /* Nothing in common, neither memory nor axes. */
    {GPU, "x:f32[1000,1000] y:f32[1000,1000] a:f32[1000,1] b:f32[1000,1]",
     "a = sum(x, axis=1); b = sum(y, axis=1)", "rows: 1 > 1; rows: 1 > 1",
     8.008, NULL},
    {GPU, "x:f32[1000,1000] s:f32[1000,1]",
     "s = sum((x - mean(x, axis=0))^2, axis=1)",
     "columns: 1 > 1; rows: 2 > 1", 8.012, NULL},
    /* A tensor that is overwritten while it is read elsewhere is written by a
     * temporary. */
    {GPU, "x:f32[64,64] b:f32[64,64]", "x = b + x", "map: 2 > 1", 0.049152,
     NULL},
    {GPU, "x:f32[64,64] b:f32[64,64]", "x = b + transpose(x)",
     "map: 2 > 1; map: 1 > 1", 0.08192, NULL},
    {GPU, "x:f32[65,64]", "x[1:] = x[:64]", "map: 1 > 1; map: 1 > 1",
     0.065536, NULL},
    {GPU, "x:f32[128,64]", "x[64:] = x[:64]", "map: 1 > 1", 0.032768, NULL},
    {GPU, "x:f32[128,64]", "x[1::2] = x[::2]", "map: 1 > 1", 0.032768, NULL},
    {GPU, "x:f32[64] y:f32[1] z:f32[64]", "z = x + 1; x = x * y; y = sum(x)",
     "rows: 2 > 3", 0.000776, NULL},
    {GPU, "a:f32[10] b:f32[10]", "t = a; a = b; b = t", "map: 2 > 2", 16e-5,
     NULL},
    /* In place, and read again in a second sweep. */
    {GPU, "x:f32[4096,1000] r:f32[4096,1000] y:f32[4096,1000]",
     "x = x + r; y = rms_norm(x, 2, 1e-5)", "rows 2: 2 > 2", 65.536, NULL},
    /* Random numbers are a leaf, and an operation of their own. */
    {GPU, "x:f32[1000] y:f32[1000]", "y = where(rand(1) < 0.5, x, 0)",
     "map: 2 > 1", 0.008, "map: 1 > 1; map: 1 > 1; map: 2 > 1"},
    /* Views of computed values: computed again, or stored if the arithmetic
     * takes longer, for a reshape, and of reductions. */
    {GPU, "x:f32[1000,1000] y:f32[999,1000]", "t = exp(x); y = t[1:] - t[:-1]",
     "map: 2 > 1", 11.988, "map: 1 > 1; map: 2 > 1"},
    {GPU, "x:f32[1000,1000] b:f32[1000] y:f32[1000,1000]",
     "y = transpose(exp(x) + b)[::-1]", "map: 2 > 1", 8.004,
     "map: 1 > 1; map: 2 > 1; map: 1 > 1"},
    {GPU, "b:f32[10000000] y:f32[9999998]",
     "t = " DEEP " + " DEEP "; y = t[1:-1] + t[2:] * t[:-2]",
     "map: 1 > 1; map: 3 > 1", 239.999968, NULL},
    {GPU, "x:f32[100,100] y:f32[50,200]", "y = reshape(exp(x), 50, 200)",
     "map: 1 > 1", 0.08, "map: 1 > 1"},
    {GPU, "x:f32[100,100] y:f32[50,200]",
     "y = reshape(transpose(x), 50, 200) * 2", "map: 1 > 1; map: 1 > 1", 0.16,
     "map: 1 > 1; map: 1 > 1"},
    {GPU, "x:f32[100,100] y:f32[100,1]", "y = sum(x, axis=1)[::-1]",
     "rows: 1 > 1; map: 1 > 1", 0.0412, "rows: 1 > 1; map: 1 > 1"},
    /* A gather shares a kernel with what follows by element; before a
     * reduction it is stored. */
    {GPU, "x:f32[1000,100] i:i32[500] b:f32[100] y:f32[500,100]",
     "y = exp(x[i]) * b", "map: 3 > 1", 0.4024, NULL},
    {GPU, "x:f32[1000,100] i:i32[500] y:f32[500,1]",
     "y = sum(exp(x[i]), axis=1)", "map: 2 > 1; rows: 1 > 1", 0.604, NULL},
    {GPU, "x:f32[1000] i:i32[1000]", "x = x[i]", "map: 2 > 1; map: 1 > 1",
     0.02, NULL},
    /* An output that is viewed is read back. */
    {GPU, "x:f32[1000] y:f32[1000] z:f32[1000,1000]",
     "y = sin(x); z = reshape(y, 1000, 1) * reshape(y, 1, 1000)",
     "map: 1 > 1; map: 2 > 1", 4.016, NULL},
    /* Scalars are computed where they are used. */
    {GPU, "x:f32[1000] y:f32[1000] a:f32 b:f32", "y = x * (a + exp(b))",
     "map: 1 > 1", 0.008, "map: 1 > 1"},
    {GPU, "y:f32[1000] a:f32 b:f32", "y = a * b", "map: 0 > 1", 0.004,
     "map: 0 > 1"},
};
/* clang-format on */

static void check_named(const struct named *c, bool unfused)
{
    struct xl__signature s;
    struct xl__graph g;
    struct xl__schedule plan;
    struct xl__str got = {0};
    const char *expected = unfused ? c->unfused : c->fused;
    if (!expected)
        return;
    test_bind(c->spec, &s);
    plan_of(c->machine, c->text, &s, unfused, &g, &plan);
    describe(&plan, &got);
    if (strcmp(xl__str_text(&got), expected) != 0)
        fail_msg("%s\n    is %s\nnot as %s", c->text, xl__str_text(&got),
                 expected);
    if (!unfused && fabs(plan.bytes - c->megabytes * 1e6) > 0.5)
        fail_msg("%s\n%.9g MB, not %.9g", c->text, plan.bytes * 1e-6,
                 c->megabytes);
    xl__str_clear(&got);
    xl__schedule_clear(&plan);
    xl__graph_clear(&g);
}

static void named_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        check_named(&named[i], false);
        check_named(&named[i], true);
    }
}

static void eleven_passes(void **state)
{
    struct xl__signature s;
    struct xl__graph g;
    struct xl__schedule plan;
    (void)state;
    test_bind("x:f32[1000] out:f32[1000]", &s);
    plan_of(GPU, "sin(x)^2 + cos(x)^2", &s, true, &g, &plan);
    assert_int_equal(plan.n_groups, 5);
    assert_true(fabs(plan.bytes - 11 * 4000) < 0.5);
    xl__schedule_clear(&plan);
    xl__graph_clear(&g);
}

/* Views of the same memory under two names. */
static void aliases(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"y = x * b", "map: 2 > 1"},
        {"y = transpose(x) + b", "map: 2 > 1; map: 1 > 1"},
        {"y = b * 2; b = x + 1", "map: 2 > 2"},
        {"y = 1; b = transpose(x)", "map: 1 > 2; map: 1 > 1"},
        {"y = softmax(x + b)", "rows 3: 2 > 1"},
        {"y = x + 1; b[:,0:1] = sum(x + b, axis=1)",
         "rows: 2 > 2; map: 1 > 1"},
        {"y = x * (b[:,0:1] + sum(x, axis=1)); b[:,0:1] = max(x, axis=1)",
         "rows 2: 2 > 2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct xl__signature s;
        struct xl__graph g;
        struct xl__schedule plan;
        struct xl__str got = {0};
        test_bind("x:f32[8,8] y:f32[8,8] b:f32[8,8]", &s);
        s.b[1].same_as = 0;
        plan_of(GPU, cases[i].text, &s, false, &g, &plan);
        describe(&plan, &got);
        assert_string_equal(xl__str_text(&got), cases[i].expected);
        model_check(&g, &s, &plan, cases[i].text);
        model_compare(&g, &s, &plan, cases[i].text, i);
        xl__str_clear(&got);
        xl__schedule_clear(&plan);
        xl__graph_clear(&g);
    }
}

/* -- loops ------------------------------------------------------------ */

static const struct nest {
    const char *spec, *text;
    unsigned n;
    size_t size[4];
    size_t first[4]; /* strides of the first operand */
    unsigned align;  /* of the first operand */
} nests[] = {
    {"x:f32[4,5,6] y:f32[4,5,6]", "y = x + 1", 1, {120}, {1}, 16},
    {"x:f32[4,1,6] y:f32[4,5,6]", "y = x + 1", 3, {4, 5, 6}, {6, 0, 1}, 2},
    {"x:f32[1,6] y:f32[4,5,6]", "y = x + 1", 2, {20, 6}, {0, 1}, 16},
    {"x:f32[6,5] y:f32[5,6]", "y = transpose(x)", 2, {5, 6}, {1, 5}, 1},
    {"x:f32[9,8] y:f32[8,8]", "y = x[1:]", 1, {64}, {1}, 8},
    {"x:f32[8,8] y:f32[8,4]", "y = x[:, 4:]", 2, {8, 4}, {8, 1}, 4},
    {"x:f32[1] y:f32[1]", "y = x + 1", 1, {1}, {0}, 16},
    {"x:f32[4,5,6] y:f32[4,1,1]",
     "y = sum(x, axis=(1,2))",
     2,
     {4, 30},
     {30, 1},
     2},
    {"x:f32[4,5,6] y:f32[1,5,1]",
     "y = sum(x, axis=(0,2))",
     3,
     {5, 4, 6},
     {6, 30, 1},
     2},
    {"x:f32[4,5,6] y:f32[1,1,6]",
     "y = sum(x, axis=(0,1))",
     2,
     {20, 6},
     {6, 1},
     2},
    {"x:f32[4,5,6] y:f32[4,1,6]",
     "y = sum(x, axis=1)",
     3,
     {4, 5, 6},
     {30, 6, 1},
     2},
    /* Reduced loops follow memory, except where an index is required. */
    {"x:f32[6,5] y:f32[1,1]", "y = sum(transpose(x))", 1, {30}, {1}, 16},
    {"x:f32[6,5] y:i32[1,1]",
     "y = argmax(transpose(x))",
     2,
     {5, 6},
     {1, 5},
     1},
};

static void loops(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        struct xl__signature s;
        struct xl__graph g;
        struct xl__schedule plan;
        test_bind(nests[i].spec, &s);
        s.b[0].align = 64;
        plan_of(GPU, nests[i].text, &s, false, &g, &plan);
        const struct xl__group *p = &plan.group[0];
        assert_int_equal(plan.n_groups, 1);
        if (p->n_loops != nests[i].n)
            fail_msg("%s: %u loops", nests[i].text, p->n_loops);
        for (unsigned d = 0; d < p->n_loops; d++) {
            assert_int_equal(p->loop[d].size, nests[i].size[d]);
            assert_int_equal(p->operand[0].stride[d], nests[i].first[d]);
        }
        assert_int_equal(p->operand[0].align, nests[i].align);
        xl__schedule_clear(&plan);
        xl__graph_clear(&g);
    }
}

/* An output of transposed layout is written in its own order. */
static void other_order(void **state)
{
    struct xl__signature s;
    struct xl__graph g;
    struct xl__schedule plan;
    (void)state;
    test_bind("x:f32[5,6] y:f32[5,6]", &s);
    s.b[1].stride[0] = 1;
    s.b[1].stride[1] = 5;
    plan_of(GPU, "y = x + 1", &s, false, &g, &plan);
    const struct xl__group *p = &plan.group[0];
    assert_int_equal(p->n_loops, 2);
    assert_int_equal(p->loop[0].size, 6);
    assert_int_equal(p->operand[0].stride[0], 1);
    assert_int_equal(p->operand[0].stride[1], 6);
    assert_int_equal(p->operand[1].stride[0], 5);
    assert_int_equal(p->operand[1].stride[1], 1);
    xl__schedule_clear(&plan);
    xl__graph_clear(&g);
}

/* -- more than a kernel can hold -------------------------------------- */

/* sum(a1 + a2 + ...) and each of so many outputs. */
static void wide(void **state)
{
    enum { INPUTS = 30, SIDE = 4 };
    static const char *const text[] = {"o = ", "o = sum(", "o[:,:1] = sum("};
    (void)state;
    for (unsigned i = 0; i < 3 * N_MACHINES; i++) {
        struct xl__str spec = {0}, line = {0};
        struct xl__signature s;
        struct xl__graph g;
        struct xl__schedule plan;
        const unsigned kind = i % 3;
        xl__str_add(&line, text[kind]);
        for (unsigned n = 0; n < INPUTS; n++) {
            xl__str_printf(&spec, "a%u:f32[%d,%d] ", n, SIDE, SIDE);
            xl__str_printf(&line, "%sa%u * %u", n ? " + " : "", n, n);
        }
        xl__str_printf(&spec, "o:f32[%d,%d]", SIDE, SIDE);
        if (kind > 0)
            xl__str_add(&line, ", axis=1)");
        test_bind(xl__str_text(&spec), &s);
        plan_of(i / 3, xl__str_text(&line), &s, false, &g, &plan);
        assert_in_range(plan.n_groups, 2, 4);
        model_check(&g, &s, &plan, xl__str_text(&line));
        model_compare(&g, &s, &plan, xl__str_text(&line), i);
        xl__str_clear(&spec);
        xl__str_clear(&line);
        xl__schedule_clear(&plan);
        xl__graph_clear(&g);
    }
}

/* One input, and many values that are live at once. */
static void alive(void **state)
{
    enum { VALUES = 100 };
    struct xl__str line = {0};
    struct xl__signature s;
    struct xl__graph g;
    struct xl__schedule plan;
    (void)state;
    xl__str_add(&line, "y = ");
    for (unsigned n = 0; n < VALUES; n++)
        xl__str_printf(&line, "sin(x * %u) + (", n + 2);
    xl__str_add(&line, "x");
    for (unsigned n = 0; n < VALUES; n++)
        xl__str_add(&line, ")");
    test_bind("x:f32[10] y:f32[10]", &s);
    plan_of(GPU, xl__str_text(&line), &s, false, &g, &plan);
    assert_in_range(plan.n_groups, 2, 6);
    model_check(&g, &s, &plan, xl__str_text(&line));
    model_compare(&g, &s, &plan, xl__str_text(&line), 1);
    xl__str_clear(&line);
    xl__schedule_clear(&plan);
    xl__graph_clear(&g);
}

/* -- random graphs ---------------------------------------------------- */

enum { CASES = 3000, LEAST_GOOD = 2000 };

static bool random_case(uint64_t seed, bool unfused)
{
    struct xl__rng r;
    struct xl__str text = {0};
    struct xl__signature s;
    struct xl__graph g = {0};
    struct xl__error e = {0};
    struct xl__schedule plan;
    struct xl__limits l;
    xl__rng_seed(&r, seed);
    random_statements_text(&r, &text);
    random_statements_bind(&r, xl__str_text(&text), &s);
    set_machine(&machines[seed % N_MACHINES], &l);
    const bool good = test_infer(xl__str_text(&text), &s, &g, &e) == XL_OK;
    if (good) {
        assert_int_equal(xl__fuse(&g, &s, &l, unfused, &plan, &e), XL_OK);
        model_check(&g, &s, &plan, xl__str_text(&text));
        model_compare(&g, &s, &plan, xl__str_text(&text), seed);
        xl__schedule_clear(&plan);
    }
    xl__graph_clear(&g);
    xl__error_clear(&e);
    xl__str_clear(&text);
    xl__limits_clear(&l);
    return good;
}

static void random_graphs(void **state)
{
    unsigned n_good = 0;
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++)
        n_good += random_case(seed, false) + random_case(seed, true);
    assert_true(n_good >= LEAST_GOOD);
}

/* -- time ------------------------------------------------------------- */

/* Thirty operations; parse to source is limited to 1 ms, of which this is a
 * part. */
static void plan_time(void **state)
{
    enum { TRIES = 20 };
#if !defined(__SANITIZE_ADDRESS__)
    static const double most_ns = 2e5;
#endif
    static const char text[] =
        "i = sigmoid(a + b); f = sigmoid(c + d); g = tanh(a * d);"
        "o = sigmoid(b + c * a); k = f * k + i * g; y = o * tanh(k);"
        "z = softmax(y * a + b) * layer_norm(k, d, c, 1e-5)";
    struct xl__signature s;
    struct xl__graph g = {0};
    struct xl__error e = {0};
    struct xl__limits l;
    double best_ns = INFINITY;
    (void)state;
    test_bind("a:f32[64,64] b:f32[64,64] c:f32[64] d:f32[64] k:f32[64,64] "
              "y:f32[64,64] z:f32[64,64]",
              &s);
    set_machine(&machines[GPU], &l);
    assert_status(test_infer(text, &s, &g, &e), XL_OK,
                  xl__str_text(&e.detail));
    for (unsigned i = 0; i < TRIES; i++) {
        struct xl__schedule plan;
        const uint64_t start = xl__thread_cpu_ns();
        assert_int_equal(xl__fuse(&g, &s, &l, false, &plan, &e), XL_OK);
        best_ns = fmin(best_ns, (double)(xl__thread_cpu_ns() - start));
        assert_int_equal(plan.n_groups, 1);
        xl__schedule_clear(&plan);
    }
    print_message("%u nodes: %.1f us\n", g.n_nodes, best_ns * 1e-3);
#if !defined(__SANITIZE_ADDRESS__) /* of the product, without sanitizers */
    assert_true(best_ns < most_ns * test_slowness());
#endif
    xl__graph_clear(&g);
    xl__limits_clear(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_cases), cmocka_unit_test(eleven_passes),
        cmocka_unit_test(aliases),     cmocka_unit_test(loops),
        cmocka_unit_test(wide),        cmocka_unit_test(other_order),
        cmocka_unit_test(alive),       cmocka_unit_test(random_graphs),
        cmocka_unit_test(plan_time),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
