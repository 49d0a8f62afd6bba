/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of products in parts, on the stub of a device that has all of it: had
 * by those who ask, nothing in the workspace upon something else, the word
 * that decides handed to all who ask it, a self-check of the same programs,
 * and an estimate that counts what is done. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "device/device.h"
#include "targets/targets.h"
#include "ops/path/cost.h"
#include "ops/gemm/engines/split.h"
#include "ops/variants.h"
#include "support/support.h"

enum { N_SHAPES = 400, SEED = 3, LARGE = 4096 };

static struct xl__devices devices = {.targets = &xl__targets};

static const struct xl__limits *limits(void)
{
    return &devices.flat[0]->limits;
}

static const struct variant {
    const struct xl__variant *v;
    const struct xl__split_scheme *scheme;
    double products;
} variants[] = {
    {&xl__gemm_split_f16, &xl__split_f16, 3},
    {&xl__gemm_split_bf16, &xl__split_bf16, 6},
    {&xl__gemm_split_mma_f16, &xl__split_f16, 3},
    {&xl__gemm_split_mma_bf16, &xl__split_bf16, 6},
};
enum { N_VARIANTS = sizeof variants / sizeof *variants };

/* -- descriptors ---------------------------------------------------------- */

/* Rows, columns or neither contiguous, with a gap; `aligned` in bytes. */
static xl_mat view(size_t rows, size_t cols, uint64_t kind, size_t aligned)
{
    const size_t gap = aligned / sizeof(float);
    xl_mat v = xl_mat_rows(NULL, xl__round_up(cols, gap) + gap, XL_F32);
    if (kind == 1)
        v = xl_mat_cols(NULL, xl__round_up(rows, gap) + gap, XL_F32);
    if (kind == 2) {
        v.col_stride = 2;
        v.row_stride = 2 * cols + 1;
    }
    v.offset = kind == 2 ? sizeof(float) : aligned;
    return v;
}

static struct xl__gemm_canonical
canonical(const size_t mnk[3], const uint64_t kind[3], size_t aligned)
{
    struct xl__gemm_canonical c;
    memset(&c, 0, sizeof c);
    c.g.m = mnk[0];
    c.g.n = mnk[1];
    c.g.k = mnk[2];
    c.g.alpha = 1;
    c.g.accuracy = XL_ACCURACY_SPLIT;
    c.g.batch.count = 1;
    c.g.a = view(mnk[0], mnk[2], kind[0], aligned);
    c.g.b = view(mnk[2], mnk[1], kind[1], aligned);
    c.g.c = view(mnk[0], mnk[1], kind[2], aligned);
    return c;
}

static struct xl__gemm_canonical random_case(struct xl__rng *rng)
{
    size_t mnk[3];
    uint64_t kind[3];
    for (unsigned i = 0; i < 3; i++) {
        mnk[i] = 1 + xl__rng_below(rng, 3000) + (i == 2 ? 511 : 0);
        if (xl__rng_below(rng, 2))
            mnk[i] = xl__round_up(mnk[i], 64);
        kind[i] = xl__rng_below(rng, 3);
    }
    return canonical(mnk, kind, (size_t)4 << xl__rng_below(rng, 5));
}

static struct xl__gemm_canonical cube(size_t size)
{
    return canonical((size_t[3]){size, size, size}, (uint64_t[3]){0, 0, 0},
                     64);
}

/* NULL: refused. free() it. */
static struct xl__plan *plan_of(const struct xl__variant *v, const void *c,
                                struct xl__params *params)
{
    if (v->refuses(limits(), c))
        return NULL;
    v->choose(limits(), c, params);
    struct xl__plan *p = calloc(1, sizeof *p);
    assert_non_null(p);
    assert_int_equal(v->plan(limits(), c, params, p), XL_OK);
    return p;
}

/* -- what a plan owes ----------------------------------------------------- */

static void check_lines(const struct xl__split_operand *s)
{
    assert_int_equal(s->first % s->line, 0);
    assert_int_equal(s->line % XL__SPLIT_DEPTH, 0);
    assert_int_equal(s->plane % s->line, 0);
}

static void check_workspace(const struct xl__split_layout *p,
                            const struct xl__plan *plan)
{
    const size_t planes = p->scheme.planes, half = sizeof(uint16_t);
    check_lines(&p->a);
    check_lines(&p->b);
    assert_true(p->depth >= ((const xl_gemm *)p->canonical)->k);
    assert_true(p->a.plane >= p->s.m * p->depth);
    assert_true(p->b.plane >= p->s.n * p->depth);
    assert_true(p->a.first + planes * p->a.plane <= p->b.first);
    assert_true((p->b.first + planes * p->b.plane) * half <=
                p->flag * sizeof(float));
    assert_true(p->flag < p->a.words);
    assert_true(p->a.words + (p->a.across ? p->s.m : 0) <= p->b.words);
    assert_true(p->b.words + (p->b.across ? p->s.n : 0) <= p->a.factors);
    assert_true(p->a.factors + p->s.m <= p->b.factors);
    assert_true((p->b.factors + p->s.n) * sizeof(float) <= p->end_bytes);
    assert_true(p->end_bytes <= plan->scratch_bytes);
}

static void check_steps(const struct xl__split_layout *p,
                        const struct xl__plan *plan)
{
    const struct xl__step *clear = &plan->step[0],
                          *plain = &plan->step[plan->n_steps - 1];
    const unsigned before = 3u + p->a.across + p->b.across;
    assert_in_range(plan->n_steps, before + 2, XL__MAX_STEPS);
    assert_string_equal(clear->kernel, "gemm_split_clear");
    assert_int_equal(clear->args[1].as.u, p->flag);
    assert_int_equal(clear->args[2].as.u, p->a.factors - p->flag);
    assert_non_null(strstr(plain->options, "-DGUARD=1"));
    assert_null(strstr(plain->options, "-DCUT=1"));
    assert_int_equal(plain->args[plain->n_args - 1].as.u, p->flag);
    for (unsigned i = 0; i < plan->n_steps; i++) {
        const struct xl__step *s = &plan->step[i];
        assert_true(strlen(s->options) + 1 < sizeof s->options);
        assert_true((double)s->local_mem_bytes <=
                    xl__num(limits(), XL__F_local_mem_bytes));
        for (unsigned d = 0; d < s->dims; d++)
            assert_int_equal(s->global[d] % s->local[d], 0);
    }
}

/* The self-check's case takes the same programs. */
static void check_small(const struct xl__variant *v, const void *c,
                        const struct xl__params *params,
                        const struct xl__plan *plan)
{
    struct xl__gemm_canonical small;
    struct xl__plan *p = calloc(1, sizeof *p);
    assert_non_null(p);
    xl__op_gemm.shrink(c, v, params, &small);
    assert_int_equal(v->plan(limits(), &small, params, p), XL_OK);
    assert_int_equal(p->n_steps, plan->n_steps);
    for (unsigned i = 0; i < p->n_steps; i++) {
        assert_string_equal(p->step[i].options, plan->step[i].options);
        assert_string_equal(p->step[i].kernel, plan->step[i].kernel);
    }
    free(p);
}

static void plans(void **state)
{
    unsigned made[N_VARIANTS] = {0};
    struct xl__rng rng;
    (void)state;
    xl__rng_seed(&rng, SEED);
    for (unsigned i = 0; i < N_SHAPES; i++) {
        const struct xl__gemm_canonical c = random_case(&rng);
        const struct variant *x = &variants[i % N_VARIANTS];
        struct xl__params params;
        struct xl__split_layout p;
        struct xl__plan *plan = plan_of(x->v, &c, &params);
        if (!plan)
            continue;
        made[i % N_VARIANTS]++;
        assert_true(xl__split_layout_init(limits(), &c, XL__SPLIT_BY_ONE,
                                          x->scheme, &p));
        check_workspace(&p, plan);
        check_steps(&p, plan);
        check_small(x->v, &c, &params, plan);
        free(plan);
    }
    for (unsigned i = 0; i < N_VARIANTS; i++)
        assert_true(made[i] > N_SHAPES / N_VARIANTS / 2);
}

/* -- who gets them -------------------------------------------------------- */

static const char *chosen(const struct xl__gemm_canonical *c)
{
    const struct xl__selecting what = {
        .dev = devices.flat[0], .op = &xl__op_gemm, .canonical = c};
    struct xl__variant_candidate *list;
    struct xl__error e = {0};
    unsigned n;
    assert_int_equal(xl__select(&what, &list, &n, &e), XL_OK);
    const char *name = list[0].variant->name;
    xl__variant_candidates_free(list, n);
    return name;
}

static void only_when_asked(void **state)
{
    (void)state;
    struct xl__gemm_canonical c = cube(LARGE);
    assert_string_equal(chosen(&c), "gemm_split");
    c.g.accuracy = XL_ACCURACY_FULL;
    assert_null(strstr(chosen(&c), "split"));
    for (unsigned i = 0; i < N_VARIANTS; i++)
        assert_non_null(variants[i].v->refuses(limits(), &c));
    c = cube(256); /* no more accurate than f32 */
    assert_null(strstr(chosen(&c), "split"));
    c = cube(LARGE);
    c.g.batch.count = 2;
    c.g.batch.a_step = c.g.batch.b_step = c.g.batch.c_step = 1 << 30;
    assert_null(strstr(chosen(&c), "split"));
}

/* What strikes one variant leaves the others their programs. */
static void programs_apart(void **state)
{
    const struct xl__gemm_canonical c = cube(LARGE);
    struct xl__plan *p[N_VARIANTS];
    struct xl__params params;
    (void)state;
    for (unsigned i = 0; i < N_VARIANTS; i++) {
        p[i] = plan_of(variants[i].v, &c, &params);
        assert_non_null(p[i]);
        for (unsigned j = 0; j < i; j++) {
            for (unsigned x = 0; x < p[i]->n_steps; x++) {
                for (unsigned y = 0; y < p[j]->n_steps; y++)
                    assert_string_not_equal(p[i]->step[x].options,
                                            p[j]->step[y].options);
            }
        }
    }
    for (unsigned i = 0; i < N_VARIANTS; i++)
        free(p[i]);
}

/* Not below what memory and the engine take by their rates, not far above. */
static void estimates(void **state)
{
    static const double slack = 2.5, far = 4096.0 * 4096.0, ns_per_s = 1e9;
    const struct xl__gemm_canonical c = cube(LARGE);
    (void)state;
    for (unsigned i = 0; i < N_VARIANTS; i++) {
        const struct variant *x = &variants[i];
        struct xl__params params;
        struct xl__plan *plan = plan_of(x->v, &c, &params);
        assert_non_null(plan);
        const double written = 2 * x->scheme->planes;
        const double moved = far * (4 + written + 8 + written);
        const double least =
            ns_per_s * (moved / xl__rate_memory(limits()) +
                        x->products * xl__gemm_flop(&c.g) /
                            xl__rate_matrix(limits(), x->scheme->in));
        assert_true(plan->est_ns > least);
        assert_true(plan->est_ns < slack * least);
        assert_true(plan->flop == xl__gemm_flop(&c.g));
        free(plan);
    }
}

/* -- the device ----------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    return xl__devices_enumerate(&devices, NULL);
}

static int teardown(void **state)
{
    (void)state;
    xl__devices_clear(&devices);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans),
        cmocka_unit_test(only_when_asked),
        cmocka_unit_test(programs_apart),
        cmocka_unit_test(estimates),
    };
    test_setenv("XL_STUB_DEVICE", XL_TEST_DEVICES "/h200.txt");
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, setup, teardown);
}
