/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of gemm_dpas without a device, for the facts of Intel's chips: no
 * engine without the extension, what the kernels ask of sizes and offsets,
 * whole tiles of packed operands, and what is refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/gemm/engines/dpas.h"
#include "ops/variants.h"
#include "support/support.h"
#include "targets/targets.h"

/* clang-format off */
static const struct machine {
    const char *arch;
    double units, hz;
    size_t width;
} machines[] = {
    {"xe-hpg", 512, 2.4e9, 8},
    {"xe-hpc", 512, 1.6e9, 16},
    {"xe2",    160, 2.85e9, 16},
};
/* clang-format on */
#define ENGINE "cl_intel_subgroup_matrix_multiply_accumulate"
#define OTHERS "cl_intel_subgroups_short cl_intel_required_subgroup_size"

static void make_limits(const struct machine *m, const char *extensions,
                        struct xl__limits *l)
{
    xl__limits_init(l);
    xl__limits_correct(l, XL__F_is_gpu, 1, XL_ASSUMED, "GE-01");
    xl__limits_correct(l, XL__F_compute_units, m->units, XL_ASSUMED, "GE-01");
    xl__limits_correct(l, XL__F_clock_hz, m->hz, XL_ASSUMED, "GE-01");
    xl__limits_correct(l, XL__F_max_wg_size, 1024, XL_ASSUMED, "GE-01");
    xl__limits_correct(l, XL__F_max_alloc_bytes, 16e9, XL_ASSUMED, "GE-01");
    xl__limits_correct_text(l, XL__F_extensions, extensions, XL_ASSUMED,
                            "GE-01");
    xl__intel_matrix_engine(m->arch, l);
}

static struct xl__gemm_canonical product(size_t m, size_t n, size_t k,
                                         xl_dtype in)
{
    struct xl__gemm_canonical c = {.g = {.m = m, .n = n, .k = k, .alpha = 1}};
    c.g.a = xl_mat_rows(NULL, k, in);
    c.g.b = xl_mat_rows(NULL, n, in);
    c.g.c = xl_mat_rows(NULL, n, in == XL_I8 ? XL_I32 : XL_F32);
    c.g.batch.count = 1;
    return c;
}

static size_t define_of(const struct xl__step *s, const char *name)
{
    char text[32];
    xl__strfmt(text, sizeof text, " -D%s=", name);
    const char *at = strstr(s->options, text);
    if (!at)
        fail_msg("%s is not defined in %s", name, s->options);
    return strtoul(at + strlen(text), NULL, 10);
}

static void check_plan(const struct machine *machine,
                       const struct xl__limits *l,
                       const struct xl__gemm_canonical *c)
{
    struct xl__params params;
    struct xl__plan *p = calloc(1, sizeof *p);
    assert_non_null(p);
    assert_null(xl__gemm_dpas.refuses(l, c));
    xl__gemm_dpas.choose(l, c, &params);
    assert_int_equal(xl__gemm_dpas.plan(l, c, &params, p), XL_OK);
    assert_int_equal(p->n_steps, 3);
    const struct xl__step *s = &p->step[2];
    const size_t tm = define_of(s, "TM"), tn = define_of(s, "TN");
    const size_t rm = define_of(s, "RM"), rn = define_of(s, "RN");
    const size_t sm = define_of(s, "SM"), sn = define_of(s, "SN");
    const size_t elem = xl_dtype_bytes(c->g.a.dtype);
    assert_int_equal(define_of(s, "DPAS_LANES"), machine->width);
    assert_non_null(strstr(s->options, " -DXL_DPAS_INTEL=1"));
    assert_int_equal(strstr(s->options, "-cl-intel-256-GRF-per-thread") !=
                         NULL,
                     params.value[XL__DPAS_GRF] == XL__DPAS_ALL_REGISTERS);
    assert_true((rm == 1 || rm == 2 || rm == 4 || rm == 6) &&
                (rn == 1 || rn == 2 || rn == 4));
    assert_int_equal(tm, sm * rm * 8);
    assert_int_equal(tn, sn * rn * machine->width);
    assert_int_equal(define_of(s, "TK") * elem, 32);
    assert_int_equal(s->local[0], machine->width * sm * sn);
    assert_int_equal(s->global[0], s->local[0] * xl__ceil_div(c->g.m, tm) *
                                       xl__ceil_div(c->g.n, tn));
    /* Whole tiles, packed one behind the other; no local memory. */
    const size_t depth = xl__round_up(c->g.k * elem, 32);
    assert_int_equal(p->scratch_bytes, depth * (xl__round_up(c->g.m, tm) +
                                                xl__round_up(c->g.n, tn)));
    assert_int_equal(s->local_mem_bytes, 0);
    for (unsigned i = 0; i < 2; i++) {
        const size_t items = p->step[i].global[0] * p->step[i].global[1];
        assert_int_equal(define_of(&p->step[i], "SIDE"), i);
        assert_int_equal(define_of(&p->step[i], "LINES"), i ? rn : rm);
        assert_true(items * 4 >= depth * (i ? xl__round_up(c->g.n, tn)
                                            : xl__round_up(c->g.m, tm)));
    }
    assert_true(isfinite(p->est_ns) && p->est_ns > 0);
    free(p);
}

static void plans_fit_the_kernels(void **state)
{
    static const size_t shapes[][3] = {
        {1, 1, 1},       {17, 33, 65},     {1000, 1000, 1000},
        {8, 4096, 4096}, {4096, 16, 4096}, {4096, 4096, 4096},
    };
    static const xl_dtype types[] = {XL_F16, XL_BF16, XL_I8};
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct xl__limits l;
        make_limits(&machines[i], ENGINE " " OTHERS, &l);
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
                const struct xl__gemm_canonical c = product(
                    shapes[s][0], shapes[s][1], shapes[s][2], types[t]);
                check_plan(&machines[i], &l, &c);
            }
        }
        xl__limits_clear(&l);
    }
}

static void large_products_have_large_tiles(void **state)
{
    const struct xl__gemm_canonical large = product(8192, 8192, 8192, XL_F16);
    const struct xl__gemm_canonical little = product(64, 64, 4096, XL_F16);
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct xl__limits l;
        struct xl__params p;
        make_limits(&machines[i], ENGINE " " OTHERS, &l);
        xl__gemm_dpas.choose(&l, &large, &p);
        assert_int_equal(p.value[XL__DPAS_RM] * p.value[XL__DPAS_RN], 24);
        xl__gemm_dpas.choose(&l, &little, &p);
        assert_true(p.value[XL__DPAS_RM] * p.value[XL__DPAS_RN] <= 4);
        xl__limits_clear(&l);
    }
}

static void what_is_refused(void **state)
{
    struct xl__limits l;
    struct xl__plan *p = calloc(1, sizeof *p);
    struct xl__params params;
    struct xl__gemm_canonical c = product(64, 64, 64, XL_F32);
    (void)state;
    assert_non_null(p);
    make_limits(&machines[0], ENGINE " " OTHERS, &l);
    assert_non_null(strstr(xl__gemm_dpas.refuses(&l, &c), "f16, bf16 and i8"));
    c = product(64, 64, 64, XL_F16);
    c.g.batch.inner = 2;
    assert_non_null(strstr(xl__gemm_dpas.refuses(&l, &c), "cannot be packed"));
    /* Offsets of packed operands are counted in 32 bits. */
    c = product(40000, 40000, 40000, XL_F16);
    assert_null(xl__gemm_dpas.refuses(&l, &c));
    xl__gemm_dpas.choose(&l, &c, &params);
    assert_int_equal(xl__gemm_dpas.plan(&l, &c, &params, p), XL_UNSUPPORTED);
    xl__limits_clear(&l);

    make_limits(&machines[0], OTHERS, &l);
    c = product(64, 64, 64, XL_F16);
    assert_non_null(strstr(xl__gemm_dpas.refuses(&l, &c),
                           "no systolic matrix instruction"));
    xl__limits_clear(&l);
    free(p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_fit_the_kernels),
        cmocka_unit_test(large_products_have_large_tiles),
        cmocka_unit_test(what_is_refused),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
