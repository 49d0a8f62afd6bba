/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the vendor tables as data: every list ends with the reference,
 * tables are selected by platform first, and corrections cite a note that
 * exists. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/str.h"
#include "ops/variants.h"
#include "targets/targets.h"

#define KIB 1024.0

static size_t count(void)
{
    size_t n = 0;

    while (xl__targets.vendors[n])
        n++;
    return n;
}

static void tables_are_complete(void **state)
{
    (void)state;
    assert_ptr_equal(xl__targets.vendors[count() - 1], &xl__vendor_generic);
    for (size_t i = 0; i < count(); i++) {
        const struct xl__vendor *v = xl__targets.vendors[i];

        assert_non_null(v->name);
        assert_non_null(v->matches);
        assert_non_null(v->build_options);
        if (v->lane_option)
            assert_int_equal(strncmp(v->lane_option, "-D", 2), 0);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(v->name, xl__targets.vendors[j]->name);
    }
}

/* "gemm_ref" for "gemm": the name starts with the op's. */
static bool is_of(const struct xl__variant *v, const char *op)
{
    size_t n = strlen(op);

    return strncmp(v->name, op, n) == 0 && v->name[n] == '_';
}

static void lists_end_in_the_reference(void **state)
{
    static const char *const ops[XL__N_OPS] = {
        "gemm",          "softmax",
        "conv",          "conv_data",
        "conv_filters",  "attention",
        "norm",          "softmax_backward",
        "norm_backward", "attention_backward",
        "qgemm",         "rotary",
        "qconvert"};

    (void)state;
    for (size_t i = 0; i < count(); i++)
        for (size_t op = 0; op < XL__N_OPS; op++) {
            const struct xl__variant *const *list =
                xl__targets.vendors[i]->variants[op];
            size_t n = 0;

            assert_non_null(list);
            for (; list[n]; n++) {
                assert_true(is_of(list[n], ops[op]));
                /* It stands beside its label in 80 columns. */
                assert_in_range(strlen(list[n]->repeats), 10, 59);
                for (size_t j = 0; j < n; j++)
                    assert_string_not_equal(list[n]->name, list[j]->name);
            }
            assert_true(n > 0);
            assert_string_equal(strrchr(list[n - 1]->name, '_'), "_ref");
        }
}

/* -- the pick ------------------------------------------------------------- */

enum type { GPU = 1, CPU = 2, ACCELERATOR = 4 };

static const struct pick {
    const char *platform, *device;
    unsigned type, vendor_id;
    const char *table;
} picks[] = {
    {"NVIDIA CUDA", "NVIDIA H200", GPU, 0x10de, "nvidia"},
    {"AMD Accelerated Parallel Processing", "gfx942", GPU, 0x1002, "amd"},
    {"AMD Accelerated Parallel Processing", "EPYC", CPU, 0x1022, "cpu"},
    {"Intel(R) OpenCL Graphics", "Arc", GPU, 0x8086, "intel"},
    {"Intel(R) OpenCL HD Graphics", "UHD", GPU, 0x8086, "intel"},
    {"Intel(R) OpenCL", "Xeon", CPU, 0x8086, "cpu"},
    {"Intel(R) FPGA Emulation Platform for OpenCL(TM)", "FPGA", ACCELERATOR,
     0x8086, "generic"},
    {"Portable Computing Language", "cpu-haswell", CPU, 0x8086, "cpu"},
    {"Portable Computing Language", "NVIDIA GPU", GPU, 0x10de, "generic"},
    {"rusticl", "Radeon (radeonsi, navi31)", GPU, 0x1002, "generic"},
    {"rusticl", "Mesa Intel(R) Arc", GPU, 0x8086, "generic"},
    {"rusticl", "llvmpipe (LLVM 15.0.6, 256 bits)", CPU, 0, "generic"},
    {"OpenCLOn12", "NVIDIA GeForce", GPU, 0x10de, "generic"},
    {"Apple", "Apple M2", GPU, 0x1027f00, "generic"},
    {"ARM Platform", "Mali-G610 r0p0", GPU, 0xa8670000, "generic"},
    {"Oclgrind", "Oclgrind", GPU | CPU | ACCELERATOR, 0, "generic"},
};

static void make_limits(struct xl__limits *l, const struct pick *p)
{
    xl__limits_init(l);
    xl__limits_answer_text(l, XL__F_platform, p->platform, NULL);
    xl__limits_answer_text(l, XL__F_name, p->device, NULL);
    xl__limits_answer(l, XL__F_vendor_id, p->vendor_id, NULL);
    xl__limits_answer(l, XL__F_is_gpu, (p->type & GPU) != 0, NULL);
    xl__limits_answer(l, XL__F_is_cpu, (p->type & CPU) != 0, NULL);
    xl__limits_answer(l, XL__F_is_accelerator, (p->type & ACCELERATOR) != 0,
                      NULL);
}

/* The first table that matches, as a device is given it. */
static const struct xl__vendor *pick_vendor(const struct xl__limits *l)
{
    const struct xl__vendor *const *vendor = xl__targets.vendors;
    while (!(*vendor)->matches(l))
        vendor++;
    return *vendor;
}

static void the_platform_decides(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof picks / sizeof *picks; i++) {
        struct xl__limits l;

        make_limits(&l, &picks[i]);
        assert_string_equal(pick_vendor(&l)->name, picks[i].table);
        xl__limits_clear(&l);
    }
}

/* -- corrections ---------------------------------------------------------- */

/* All of vendor-notes in one text. */
static char *read_notes(void)
{
    static const char *const files[] = {"nvidia", "amd", "intel", "cpu",
                                        "generic"};
    struct xl__str all = {0};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[1024], *text = NULL;
        size_t n;

        (void)snprintf(path, sizeof path, "%s/vendor-notes/%s.md",
                       XL_TEST_SOURCE_DIR, files[i]);
        assert_int_equal(xl__file_read(path, &text, &n), XL_OK);
        xl__str_add(&all, text);
        free(text);
    }
    return xl__str_steal(&all);
}

static void check_sources(const struct xl__limits *l, const char *notes)
{
    for (size_t i = 0; i < XL__N_FACTS; i++) {
        const struct xl__answer *a = &l->used[i];
        char heading[32];

        if (xl__facts[i].kind == XL_FACT_NUMBER ||
            xl__facts[i].kind == XL_FACT_BOOL)
            assert_int_equal(isnan(a->value), a->source == XL_UNKNOWN);
        if (a->source != XL_KNOWN && a->source != XL_ASSUMED && !a->note)
            continue;
        assert_non_null(a->note);
        (void)snprintf(heading, sizeof heading, "### %s ", a->note);
        if (!strstr(notes, heading))
            fail_msg("%s cites %s, which is not in vendor-notes",
                     xl__facts[i].name, a->note);
    }
}

static void corrections_name_their_note(void **state)
{
    static const char *const archs[] = {"",       "sm_90",   "sm_61", "sm_30",
                                        "gfx942", "gfx1100", "xe2",   "other"};
    char *notes = read_notes();

    (void)state;
    assert_non_null(notes);
    for (size_t v = 0; v < count(); v++)
        for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
            for (size_t p = 0; p < sizeof picks / sizeof *picks; p++) {
                struct xl__limits l;

                make_limits(&l, &picks[p]);
                xl__limits_answer_text(&l, XL__F_arch, archs[i], NULL);
                xl__limits_answer(&l, XL__F_cache_bytes, 1e6, NULL);
                if (xl__targets.vendors[v]->correct)
                    xl__targets.vendors[v]->correct(&l);
                check_sources(&l, notes);
                xl__limits_clear(&l);
            }
    free(notes);
}

/* A correction of a device of which nothing is known invents no driver's
 * answer. */
static void nothing_known_is_survived(void **state)
{
    (void)state;
    for (size_t v = 0; v < count(); v++) {
        struct xl__limits l;

        xl__limits_init(&l);
        xl__targets.vendors[v]->correct(&l);
        for (size_t i = 0; i < XL__N_FACTS; i++)
            assert_int_equal(l.queried[i].source, XL_UNKNOWN);
        assert_true(isnan(xl__num(&l, XL__F_compute_units)));
        xl__limits_clear(&l);
    }
}

static const struct by_arch {
    const struct xl__vendor *vendor;
    const char *arch;
    enum xl__fact_id fact;
    double before, after;
    xl_source source;
} by_arch[] = {
    {&xl__vendor_nvidia, "sm_90", XL__F_local_mem_bytes, 48 * KIB, 226 * KIB,
     XL_KNOWN},
    {&xl__vendor_nvidia, "sm_86", XL__F_local_mem_bytes, 48 * KIB, 98 * KIB,
     XL_ASSUMED},
    {&xl__vendor_nvidia, "sm_103", XL__F_local_mem_bytes, 48 * KIB, 226 * KIB,
     XL_ASSUMED},
    {&xl__vendor_nvidia, "sm_61", XL__F_local_mem_bytes, 48 * KIB, 48 * KIB,
     XL_QUERIED},
    {&xl__vendor_nvidia, "sm_90", XL__F_local_mem_bytes, 512 * KIB, 512 * KIB,
     XL_QUERIED}, /* a driver that says more is believed */
    {&xl__vendor_nvidia, "sm_80", XL__F_simd_per_cu_f32, NAN, 64, XL_KNOWN},
    {&xl__vendor_nvidia, "sm_37", XL__F_simd_per_cu_f32, NAN, 192, XL_KNOWN},
    {&xl__vendor_nvidia, "sm_20", XL__F_simd_per_cu_f32, NAN, 32, XL_KNOWN},
    {&xl__vendor_amd, "gfx1100", XL__F_compute_units, 48, 96, XL_KNOWN},
    {&xl__vendor_amd, "gfx1201", XL__F_compute_units, 32, 64, XL_KNOWN},
    {&xl__vendor_amd, "gfx90a", XL__F_compute_units, 110, 110, XL_QUERIED},
    {&xl__vendor_amd, "gfx1250", XL__F_compute_units, 64, 64, XL_QUERIED},
    {&xl__vendor_amd, "gfx906", XL__F_subgroup_width, NAN, 64, XL_KNOWN},
    {&xl__vendor_amd, "gfx1030", XL__F_subgroup_width, NAN, 32, XL_KNOWN},
    {&xl__vendor_amd, "gfx950", XL__F_local_banks, NAN, 64, XL_KNOWN},
    {&xl__vendor_amd, "gfx950", XL__F_local_banks, 32, 32, XL_QUERIED},
    {&xl__vendor_intel, "xe2", XL__F_simd_per_cu_f32, NAN, 16, XL_KNOWN},
    {&xl__vendor_intel, "ip-40.1", XL__F_simd_per_cu_f32, NAN, 8, XL_ASSUMED},
    {&xl__vendor_cpu, "", XL__F_subgroup_width, 8, 1, XL_KNOWN},
};

static void corrections_follow_the_architecture(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof by_arch / sizeof *by_arch; i++) {
        const struct by_arch *x = &by_arch[i];
        struct xl__limits l;

        xl__limits_init(&l);
        xl__limits_answer_text(&l, XL__F_arch, x->arch, NULL);
        xl__limits_answer(&l, x->fact, x->before, NULL);
        x->vendor->correct(&l);
        if (xl__num(&l, x->fact) != x->after ||
            l.used[x->fact].source != x->source)
            fail_msg("%s %s: %g %s", x->arch, xl__facts[x->fact].name,
                     xl__num(&l, x->fact),
                     xl_source_name(l.used[x->fact].source));
        xl__limits_clear(&l);
    }
}

/* Half arithmetic that is not listed: new drivers on chips where it pays. */
static void half_arithmetic_by_driver(void **state)
{
    static const struct {
        const char *arch, *driver;
        double has;
    } cases[] = {
        {"sm_90", "580.159.04", 1}, {"sm_75", "520.61", 1},
        {"sm_75", "470.82", 0},     {"sm_61", "580.10", 0},
        {"sm_52", "580.10", 0},     {"sm_90", "", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct xl__limits l;

        xl__limits_init(&l);
        xl__limits_answer_text(&l, XL__F_arch, cases[i].arch, NULL);
        xl__limits_answer_text(&l, XL__F_driver, cases[i].driver, NULL);
        xl__limits_answer(&l, XL__F_has_f16_arith, 0, NULL);
        xl__vendor_nvidia.correct(&l);
        assert_true(xl__num(&l, XL__F_has_f16_arith) == cases[i].has);
        xl__limits_clear(&l);
    }
}

/* Mesa's CPU device is as wide as its name says; its clock is not believed. */
static void names_that_tell(void **state)
{
    struct xl__limits l;

    (void)state;
    xl__limits_init(&l);
    xl__limits_answer_text(&l, XL__F_platform, "rusticl", NULL);
    xl__limits_answer_text(&l, XL__F_name, "llvmpipe (LLVM 15.0.6, 256 bits)",
                           NULL);
    xl__limits_answer(&l, XL__F_subgroup_width, 32, NULL);
    xl__limits_answer(&l, XL__F_clock_hz, 3e8, NULL);
    xl__vendor_generic.correct(&l);
    assert_true(xl__num(&l, XL__F_subgroup_width) == 8);
    assert_true(l.queried[XL__F_subgroup_width].value == 32);
    assert_true(isnan(xl__num(&l, XL__F_clock_hz)));
    assert_true(l.queried[XL__F_clock_hz].value == 3e8);
    xl__limits_clear(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_complete),
        cmocka_unit_test(lists_end_in_the_reference),
        cmocka_unit_test(the_platform_decides),
        cmocka_unit_test(corrections_name_their_note),
        cmocka_unit_test(nothing_known_is_survived),
        cmocka_unit_test(corrections_follow_the_architecture),
        cmocka_unit_test(half_arithmetic_by_driver),
        cmocka_unit_test(names_that_tell),
    };

    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
