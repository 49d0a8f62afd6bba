/* SPDX-License-Identifier: Apache-2.0 */
/* The values of time models: by class of devices, replaced by a vendor's
 * table, and those of software that renders images against what was measured
 * on it. */
#include <math.h>

#include "ops/gemm/gemm.h"
#include "ops/gemm/tiles.h"
#include "ops/variants.h"
#include "support/support.h"
#include "targets/targets.h"

static void init(struct xl__limits *l, bool is_cpu, bool is_unified)
{
    xl__limits_init(l);
    xl__limits_answer(l, XL__F_is_cpu, is_cpu, NULL);
    xl__limits_answer(l, XL__F_is_gpu, !is_cpu, NULL);
    xl__limits_answer(l, XL__F_host_unified, is_unified, NULL);
}

static void init_llvmpipe(struct xl__limits *l)
{
    enum { UNITS = 8, GROUP = 1024, LOCAL = 32768 };
    init(l, true, true);
    xl__limits_answer_text(l, XL__F_name, "llvmpipe (LLVM 15.0.6, 256 bits)",
                           NULL);
    xl__limits_answer(l, XL__F_compute_units, UNITS, NULL);
    xl__limits_answer(l, XL__F_max_wg_size, GROUP, NULL);
    xl__limits_answer(l, XL__F_local_mem_bytes, LOCAL, NULL);
    xl__limits_answer(l, XL__F_native_vector_f32, 1, NULL);
    xl__vendor_generic.correct(l);
}

static void classes_by_facts(void **state)
{
    static const enum xl__device_class classes[2][2] = {
        {XL__DISCRETE_GPU, XL__INTEGRATED_GPU}, {XL__CPU, XL__CPU}};
    struct xl__limits l;
    (void)state;
    for (int i = 0; i < 4; i++) {
        init(&l, i / 2, i % 2);
        assert_int_equal(xl__device_class(&l), classes[i / 2][i % 2]);
        for (enum xl__model_id id = 0; id < XL__N_MODEL; id++)
            assert_true(xl__model(&l, id) >= 0);
        xl__limits_clear(&l);
    }
    init_llvmpipe(&l);
    assert_int_equal(xl__device_class(&l), XL__SOFTWARE);
    xl__limits_clear(&l);
}

/* Of CPUs so much a unit, where the last level has more; of others that level.
 */
static void caches_keep(void **state)
{
    static const double mib = 1 << 20, units = 2, level = 64 * mib;
    struct xl__limits l;
    (void)state;
    for (int is_cpu = 0; is_cpu < 2; is_cpu++) {
        init(&l, is_cpu, false);
        if (!is_cpu)
            assert_false(xl__exceeds_caches(&l, 1e15)); /* not known */
        xl__limits_answer(&l, XL__F_compute_units, units, NULL);
        xl__limits_answer(&l, XL__F_llc_bytes, level, NULL);
        const double most =
            is_cpu ? units * xl__model(&l, XL__M_kept_bytes) : level;
        assert_true(most <= level);
        assert_false(xl__exceeds_caches(&l, most));
        assert_true(xl__exceeds_caches(&l, most + 1));
        xl__limits_correct(&l, XL__F_llc_bytes, mib, XL_KNOWN, "");
        assert_true(xl__exceeds_caches(&l, mib + 1));
        xl__limits_clear(&l);
    }
}

/* One value, or a list of tiles, as the table of a vendor sets it. */
static void a_vendor_replaces_values(void **state)
{
    static const struct xl__tile_sets own = {.width = 16};
    struct xl__limits l;
    (void)state;
    init(&l, false, false);
    const double band = xl__model(&l, XL__M_band);
    const double wg = xl__model(&l, XL__M_wg);
    l.model.value[XL__M_band] = 2 * band;
    assert_true(xl__model(&l, XL__M_band) == 2 * band);
    assert_true(xl__model(&l, XL__M_wg) == wg);
    assert_int_equal(xl__tiles(&l)->width, 0);
    l.model.tiles = &own;
    assert_ptr_equal(xl__tiles(&l), &own);
    xl__limits_clear(&l);
}

/* Steps that wait for each other are a lower bound of what is computed, and
 * each share of busy units counts, however few they are. */
static void nothing_hides_a_chain(void **state)
{
    static const double near = 1e-9, chain_ns = 5000;
    struct xl__cost w = {
        .flop = 1e6, .flop_frac = 1, .fill = 1, .bytes = 1, .bytes_frac = 1};
    struct xl__limits l;
    const char *bound;
    (void)state;
    init(&l, false, false);
    xl__limits_answer(&l, XL__F_compute_units, 100, NULL);
    assert_true(xl__work_ns(&l, &w, &bound) < chain_ns);
    w.chain_ns = chain_ns;
    assert_true(fabs(xl__work_ns(&l, &w, &bound) / chain_ns - 1) < near);
    assert_string_equal(bound, "fma");
    w.chain_ns = 0;
    w.fill = 1e-4;
    const double few = xl__work_ns(&l, &w, &bound);
    w.fill = 1e-6;
    assert_true(fabs(xl__work_ns(&l, &w, &bound) / few / 100 - 1) < near);
    xl__limits_clear(&l);
}

static double estimate(const struct xl__limits *l, const struct xl__variant *v,
                       xl_dtype in, size_t m, size_t n, size_t k)
{
    struct xl__gemm_canonical c;
    struct xl__call call;
    struct xl__params p = {.source = "model"};
    const xl_gemm g = {XL_GEMM_INIT,
                       .m = m,
                       .n = n,
                       .k = k,
                       .alpha = 1,
                       .a = xl_mat_rows((cl_mem)&c, k, in),
                       .b = xl_mat_rows((cl_mem)&c, n, in),
                       .c = xl_mat_rows((cl_mem)&c, n, in)};
    struct xl__plan *plan = calloc(1, sizeof *plan);
    assert_non_null(plan);
    memset(&call, 0, sizeof call);
    assert_int_equal(XL_OK, xl__op_gemm.bind(NULL, &g, &c, &call));
    if (v->choose)
        v->choose(l, &c, &p);
    assert_int_equal(XL_OK, v->plan(l, &c, &p, plan));
    const double ns = plan->est_ns;
    xl__plan_destroy(plan);
    return ns;
}

/* Times on llvmpipe, GE-33: half of the time of its two cores. They were
 * shared and ran at half their speed or less, so 4 is the least factor that
 * can be required. */
static void software_is_slow(void **state)
{
    static const double factor = 4;
    static const struct {
        const struct xl__variant *variant;
        size_t m, n, k;
        double ns;
    } measured[] = {{&xl__gemm_tiled, 256, 256, 256, 21e6},
                    {&xl__gemm_tiled, 512, 512, 512, 150e6},
                    {&xl__gemm_simt, 256, 256, 256, 29e6},
                    {&xl__gemm_ref, 256, 256, 256, 125e6},
                    {&xl__gemm_ref, 512, 512, 512, 1.2e9},
                    {&xl__gemm_skinny, 4, 1024, 1024, 14e6},
                    {&xl__gemm_skinny, 1, 4096, 1024, 28e6}};
    struct xl__limits l;
    (void)state;
    init_llvmpipe(&l);
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const double ns =
            estimate(&l, measured[i].variant, XL_F32, measured[i].m,
                     measured[i].n, measured[i].k);
        if (fmax(ns / measured[i].ns, measured[i].ns / ns) > factor)
            fail_msg("%s: %g ns are estimated, %g measured",
                     measured[i].variant->name, ns, measured[i].ns);
    }
    xl__limits_clear(&l);
}

/* A product of doubles by the rate of doubles, where compute limits it: half
 * of that of floats if no fact states it. Packing counts in flop too, and
 * blocks are chosen by bytes, hence the margin. */
static void doubles_by_their_rate(void **state)
{
    enum { UNITS = 4, GROUP = 4096, LOCAL = 1 << 18, VECTOR = 8, SIZE = 1024 };
    static const double f32 = 100e9, margin = 1.5;
    static const struct {
        double f64, times;
    } rates[] = {{NAN, 2}, {25e9, 4}, {100e9, 1}};
    struct xl__limits l;
    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        init(&l, true, true);
        xl__limits_answer(&l, XL__F_compute_units, UNITS, NULL);
        xl__limits_answer(&l, XL__F_max_wg_size, GROUP, NULL);
        xl__limits_answer(&l, XL__F_local_mem_bytes, LOCAL, NULL);
        xl__limits_answer(&l, XL__F_native_vector_f32, VECTOR, NULL);
        xl__limits_answer(&l, XL__F_has_f64, 1, NULL);
        xl__limits_correct(&l, XL__F_peak_f32_flop_per_s, f32, XL_CALIBRATED,
                           NULL);
        xl__limits_correct(&l, XL__F_peak_f64_flop_per_s, rates[i].f64,
                           XL_CALIBRATED, NULL);
        const double ratio =
            estimate(&l, &xl__gemm_cpu, XL_F64, SIZE, SIZE, SIZE) /
            estimate(&l, &xl__gemm_cpu, XL_F32, SIZE, SIZE, SIZE);
        assert_true(ratio < rates[i].times * margin &&
                    ratio > rates[i].times / margin);
        xl__limits_clear(&l);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_by_facts),
        cmocka_unit_test(caches_keep),
        cmocka_unit_test(a_vendor_replaces_values),
        cmocka_unit_test(nothing_hides_a_chain),
        cmocka_unit_test(software_is_slow),
        cmocka_unit_test(doubles_by_their_rate),
    };

    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
