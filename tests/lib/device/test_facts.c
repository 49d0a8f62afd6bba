/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of facts on stub devices: the driver's value, the value in use, and
 * that an implausible value becomes "unknown". */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "device/device.h"
#include "results/listings.h"
#include "targets/targets.h"

#define KIB 1024.0
static const char files[] = XL_TEST_DEVICES
    "/h200.txt," XL_TEST_DEVICES "/mi300x.txt," XL_TEST_DEVICES
    "/rx7900xtx.txt," XL_TEST_DEVICES "/arc-a770.txt," XL_TEST_DEVICES
    "/adreno.txt," XL_TEST_DEVICES "/cooperative.txt," XL_TEST_DEVICES
    "/pocl.txt," XL_TEST_DEVICES "/liar.txt";
enum { N_FILES = 8 };

static struct xl__devices devices = {.targets = &xl__targets};

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

static xl_device *find(const char *name)
{
    struct xl__error e = {0};
    xl_device *dev = NULL;
    xl_status status = xl__devices_find(&devices, name, &dev, &e);

    assert_status(status, XL_OK, xl__str_text(&e.detail));
    xl__error_clear(&e);
    return dev;
}

static xl_fact fact(const char *device, const char *name, xl_source want)
{
    xl_fact out;

    assert_int_equal(xl_device_fact(find(device), name, want, &out), XL_OK);
    return out;
}

/* The rows of the vendor table: of each, what a planner reads is there. */
static void matrix_instructions(void **state)
{
    const xl_device *h200 = find("H200");
    const xl_matrix_op *op = xl_device_matrix_op(h200, 0);
    unsigned n = 0, n_wide = 0;
    (void)state;
    assert_string_equal(op->name, "wgmma");
    assert_int_equal(op->m, 64);
    assert_int_equal(op->n_most, 256);
    assert_int_equal(op->lanes, 128);
    assert_true(op->flop_per_clock == 4096);
    for (; (op = xl_device_matrix_op(h200, n)) != NULL; n++) {
        assert_true(op->m && op->n && op->k && op->lanes);
        assert_true(op->n_most >= op->n && op->n_most % op->n == 0);
        assert_true(op->fragments && op->note && op->flop_per_clock > 0);
        /* 32 bytes along k, whatever the type; half the bytes, twice the
         * rate. */
        assert_int_equal(op->k * xl_dtype_bytes(op->a), 32);
        assert_true(op->flop_per_clock * (double)xl_dtype_bytes(op->a) ==
                    (op->target ? 8192 : 6144));
        n_wide += op->target != NULL;
    }
    assert_int_equal(n, 12);
    assert_int_equal(n_wide, 6);
    op = xl_device_matrix_op(find("gfx942"), 0);
    assert_string_equal(op->fragments, "mfma_32x32");
    assert_int_equal(op->lanes, 64);
    assert_true(op->flop_per_clock == 2048);
    op = xl_device_matrix_op(find("gfx1100"), 0);
    assert_string_equal(op->fragments, "wmma_gfx11");
    assert_int_equal(op->lanes, 32);
    assert_true(op->flop_per_clock == 512);
}

/* Those that a driver states, by its function (GE-37), and the plan. */
static void cooperative_matrices(void **state)
{
    const xl_device *dev = find("Cooperative");
    const xl_matrix_op *op = xl_device_matrix_op(dev, 0);
    (void)state;
    assert_string_equal(op->fragments, "cooperative");
    assert_true(op->a == XL_F16 && op->sum == XL_F32);
    assert_true(op->m == 16 && op->n == 16 && op->k == 16 && op->lanes == 32);
    op = xl_device_matrix_op(dev, 1);
    assert_true(op->a == XL_I8 && op->sum == XL_I32 && op->k == 32);
    assert_null(xl_device_matrix_op(dev, 2));
    assert_null(xl_device_matrix_op(find("Adreno"), 0));
}

static void all_files_are_devices(void **state)
{
    (void)state;
    assert_int_equal(devices.n_flat, N_FILES);
    assert_null(devices.left_out);
}

/* What is used, where from, and what the driver says (NaN: nothing). */
static const struct expected {
    const char *device, *fact;
    double used;
    xl_source source;
    double queried;
    const char *note;
} table[] = {
    {"H200", "compute_units", 132, XL_QUERIED, 132, NULL},
    {"H200", "clock_hz", 1.98e9, XL_QUERIED, 1.98e9, NULL},
    {"H200", "global_mem_bytes", 150109880320.0, XL_QUERIED, 150109880320.0,
     NULL},
    {"H200", "local_mem_bytes", 226 * KIB, XL_KNOWN, 48 * KIB, "NV-01"},
    {"H200", "local_mem_dynamic_bytes", 48 * KIB, XL_QUERIED, 48 * KIB, NULL},
    {"H200", "has_local_mem", 1, XL_QUERIED, 1, NULL},
    {"H200", "has_f16_arith", 1, XL_KNOWN, 0, "NV-06"},
    {"H200", "has_f64", 1, XL_QUERIED, 1, NULL},
    {"H200", "has_svm", 1, XL_QUERIED, 1, NULL},
    {"H200", "has_subgroups", 0, XL_QUERIED, 0, NULL},
    {"H200", "has_watchdog", 0, XL_QUERIED, 0, NULL},
    {"H200", "ecc", 1, XL_QUERIED, 1, NULL},
    {"H200", "host_unified", 0, XL_QUERIED, 0, NULL},
    {"H200", "local_banks", 32, XL_KNOWN, NAN, "NV-04"},
    {"H200", "transaction_bytes", 32, XL_KNOWN, NAN, "NV-04"},
    {"H200", "simd_per_cu_f32", 128, XL_KNOWN, NAN, "NV-03"},
    {"H200", "registers_per_cu", 65536, XL_KNOWN, NAN, "NV-04"},
    {"H200", "llc_bytes", 50 * KIB *KIB, XL_KNOWN, NAN, "NV-07"},
    {"H200", "mem_align_bytes", 512, XL_QUERIED, 512, NULL},
    {"H200", "timer_step_ns", 1000, XL_QUERIED, 1000, NULL},
    {"H200", "max_arg_bytes", 32764, XL_QUERIED, 32764, NULL},
    {"gfx942", "compute_units", 304, XL_QUERIED, 304, NULL},
    {"gfx942", "max_wg_size", 1024, XL_QUERIED, 256, "AM-03"},
    {"gfx942", "local_banks", 32, XL_QUERIED, 32, NULL},
    {"gfx942", "simd_per_cu_f32", 128, XL_KNOWN, NAN, "AM-05"},
    {"gfx942", "registers_per_cu", 131072, XL_KNOWN, NAN, "AM-07"},
    {"gfx942", "llc_bytes", 256 * KIB *KIB, XL_KNOWN, NAN, "AM-09"},
    {"gfx942", "has_watchdog", NAN, XL_UNKNOWN, NAN, NULL},
    {"gfx1100", "compute_units", 96, XL_KNOWN, 48, "AM-04"},
    {"gfx1100", "max_wg_size", 1024, XL_QUERIED, 256, "AM-03"},
    {"gfx1100", "registers_per_cu", 98304, XL_KNOWN, NAN, "AM-07"},
    {"A770", "compute_units", 512, XL_QUERIED, 512, NULL},
    {"A770", "simd_per_cu_f32", 8, XL_KNOWN, NAN, "IN-03"},
    {"A770", "registers_per_cu", 8192, XL_KNOWN, NAN, "IN-04"},
    {"A770", "llc_bytes", 16 * KIB *KIB, XL_QUERIED, NAN, "IN-06"},
    {"A770", "has_f64", 0, XL_QUERIED, 0, NULL},
    {"A770", "has_f16_arith", 1, XL_QUERIED, 1, NULL},
    {"A770", "has_watchdog", 1, XL_ASSUMED, NAN, "IN-05"},
    {"Adreno", "compute_units", 6, XL_QUERIED, 6, NULL},
    {"Adreno", "has_watchdog", 1, XL_KNOWN, NAN, "GE-13"},
    {"Adreno", "host_unified", 1, XL_QUERIED, 1, NULL},
    {"Adreno", "transaction_bytes", 64, XL_ASSUMED, NAN, "GE-08"},
    {"Xeon", "has_local_mem", 0, XL_KNOWN, 0, "CP-02"},
    {"Xeon", "native_vector_f32", 16, XL_QUERIED, 16, NULL},
    {"Xeon", "simd_per_cu_f32", 32, XL_ASSUMED, NAN, "CP-05"},
    {"Xeon", "llc_bytes", 314572800, XL_QUERIED, NAN, "CP-06"},
    {"Xeon", "has_watchdog", 0, XL_KNOWN, NAN, "CP-07"},
    {"Xeon", "is_cpu", 1, XL_QUERIED, 1, NULL},
    {"Xeon", "is_gpu", 0, XL_QUERIED, 0, NULL},
};

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void facts_are_as_documented(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct expected *x = &table[i];
        xl_fact used = fact(x->device, x->fact, XL_UNKNOWN);
        xl_fact queried = fact(x->device, x->fact, XL_QUERIED);

        if (!same(used.value, x->used) || used.source != x->source ||
            !same(queried.value, x->queried) || !xl__streq(used.note, x->note))
            fail_msg("%s %s: %g %s %s, driver %g", x->device, x->fact,
                     used.value, xl_source_name(used.source),
                     used.note ? used.note : "-", queried.value);
    }
}

static void lists_and_texts(void **state)
{
    xl_fact sizes = fact("H200", "max_wi_sizes", XL_UNKNOWN);
    xl_fact name = fact("H200", "name", XL_UNKNOWN);

    (void)state;
    assert_int_equal(sizes.kind, XL_FACT_LIST);
    assert_int_equal(sizes.n_list, 3);
    assert_true(sizes.list[0] == 1024 && sizes.list[2] == 64);
    assert_true(isnan(sizes.value));
    assert_int_equal(name.kind, XL_FACT_TEXT);
    assert_string_equal(name.text, "NVIDIA H200");
    assert_true(isnan(name.value));
    assert_string_equal(fact("H200", "driver", XL_UNKNOWN).text, "580.159.04");
    assert_null(fact("H200", "name", XL_MEASURED).text);
    assert_string_equal(fact("H200", "unit_id", XL_UNKNOWN).text, "ptx");
    assert_string_equal(fact("gfx942", "unit_id", XL_UNKNOWN).text, "amdgcn");
    assert_string_equal(fact("A770", "unit_id", XL_UNKNOWN).text, "intel");
    assert_string_equal(fact("A770", "unit_id", XL_UNKNOWN).note, "IN-09");
    assert_null(fact("Adreno", "unit_id", XL_UNKNOWN).text);
}

/* Unknown is NaN, NULL or no list; never 0. And a note says where every
 * number comes from that the driver did not give. */
static void unknown_is_never_a_number(void **state)
{
    (void)state;
    for (unsigned d = 0; d < devices.n_flat; d++) {
        const char *name;

        for (unsigned i = 0; (name = xl_fact_name(i, NULL)) != NULL; i++) {
            xl_fact f;

            assert_int_equal(
                xl_device_fact(devices.flat[d], name, XL_UNKNOWN, &f), XL_OK);
            bool known = !isnan(f.value) || f.text || f.n_list;
            assert_int_equal(known, f.source != XL_UNKNOWN);
            if (f.source == XL_KNOWN || f.source == XL_ASSUMED)
                assert_non_null(f.note);
        }
    }
}

static void lies_become_unknown(void **state)
{
    static const char *const wrong[] = {
        "compute_units",    "clock_hz",
        "max_wg_size",      "global_mem_bytes",
        "max_alloc_bytes",  "cache_bytes",
        "cache_line_bytes", "local_mem_bytes",
        "mem_align_bytes",  "has_local_mem",
        "address_bits",     "native_vector_f32",
        "subgroup_width",   "timer_step_ns",
        "max_arg_bytes",    "ecc",
        "host_unified",     "vendor_id",
        "local_banks",
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        xl_fact used = fact("GPU", wrong[i], XL_UNKNOWN);

        if (!isnan(used.value) || used.source != XL_UNKNOWN)
            fail_msg("%s is believed: %g", wrong[i], used.value);
        assert_true(isnan(fact("GPU", wrong[i], XL_QUERIED).value));
    }
    assert_int_equal(fact("GPU", "max_wi_sizes", XL_UNKNOWN).n_list, 0);
    assert_null(fact("GPU", "driver", XL_UNKNOWN).text);
    assert_null(fact("GPU", "uuid", XL_UNKNOWN).text);
    assert_null(fact("GPU", "pci", XL_UNKNOWN).text);
    assert_null(fact("GPU", "arch", XL_UNKNOWN).text);
}

static void a_liar_can_be_used_with_care(void **state)
{
    const xl_device *liar = find("GPU");
    const struct xl__limits *l = &liar->limits;

    (void)state;
    assert_string_equal(xl_device_vendor_table(liar), "generic");
    assert_true(xl__is(l, XL__F_is_gpu));
    assert_false(xl__is(l, XL__F_has_local_mem));
    assert_false(xl__is(l, XL__F_has_f16_arith)); /* "cl_khr_fp16x" */
    assert_false(xl__is(l, XL__F_has_f64));
    assert_true(xl__is(l, XL__F_has_watchdog));
    assert_int_equal(xl__size_or(l, XL__F_max_wg_size, 1), 1);
    assert_true(xl__num_or(l, XL__F_compute_units, 1) == 1);
    assert_string_equal(xl__text(l, XL__F_driver), "");
}

static void strange_bytes_are_escaped(void **state)
{
    (void)state;
    assert_string_equal(fact("GPU", "name", XL_UNKNOWN).text,
                        "Li\\xe9 \\x1b[31m GPU \\xc3(");
    assert_string_equal(fact("GPU", "platform", XL_UNKNOWN).text,
                        "Liar\\xff\\x1b[31m");
    assert_string_equal(fact("GPU", "vendor", XL_UNKNOWN).text, "Noend");
}

static void bad_questions_are_refused(void **state)
{
    const char *help = NULL;
    xl_fact out;

    (void)state;
    assert_int_equal(xl_device_fact(find("H200"), "colour", XL_UNKNOWN, &out),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_device_fact(find("H200"), "name", XL_KNOWN, &out),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_device_fact(NULL, "name", XL_UNKNOWN, &out),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_device_fact(find("H200"), NULL, XL_UNKNOWN, &out),
                     XL_BAD_ARGUMENT);
    assert_null(xl_fact_name(XL__N_FACTS, &help));
    assert_string_equal(xl_fact_name(0, &help), "name");
    assert_non_null(help);
}

static void a_measurement_wins_and_the_answer_stays(void **state)
{
    struct xl__limits *l = &find("A770")->limits;

    (void)state;
    xl__limits_measure(l, XL__F_subgroup_width, NAN);
    assert_int_equal(l->used[XL__F_subgroup_width].source, XL_QUERIED);
    xl__limits_measure(l, XL__F_subgroup_width, 32);
    assert_true(xl__num(l, XL__F_subgroup_width) == 32);
    assert_int_equal(l->used[XL__F_subgroup_width].source, XL_MEASURED);
    assert_true(l->queried[XL__F_subgroup_width].value == 16);
    assert_true(l->measured[XL__F_subgroup_width].value == 32);
    /* A correction can withdraw what is known. */
    xl__limits_correct(l, XL__F_clock_hz, NAN, XL_KNOWN, "GE-03");
    assert_int_equal(l->used[XL__F_clock_hz].source, XL_UNKNOWN);
}

/* The identity of a card, which a listing leaves out, and what `clinfo` does
 * not print. */
static bool is_of_listing(const char *name)
{
    static const char *const others[] = {"uuid", "pci", "dot"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0)
            return false;
    return true;
}

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* A listing of a device gives the facts that its driver gives. */
static void a_listing_has_the_facts_of_the_device(void **state)
{
    static const char *const pairs[][2] = {
        {"H200", "h200"},          {"gfx942", "mi300x"},
        {"gfx1100", "rx-7900-xtx"}, {"A770", "arc-a770"},
        {"Adreno", "adreno-740"},  {"cpu-", "pocl-epyc"}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct xl__devices listed = {.targets = &xl__targets};
        struct xl__str why = {0};
        const char *name;
        assert_true(embedded_read(device_texts, "listing", NULL,
                                  pairs[i][1], &listed.listing, &why));
        assert_int_equal(xl__devices_enumerate(&listed, NULL), XL_OK);
        for (unsigned k = 0; (name = xl_fact_name(k, NULL)) != NULL; k++) {
            const struct xl__answer *a = &find(pairs[i][0])->limits.used[k];
            const struct xl__answer *b = &listed.flat[0]->limits.used[k];
            if (is_of_listing(name) &&
                (!is_same(a->value, b->value) ||
                 !xl__streq(a->text, b->text) || a->source != b->source ||
                 a->n_list != b->n_list ||
                 memcmp(a->list, b->list, sizeof a->list)))
                fail_msg("%s: %s: %g %s, listed %g %s", pairs[i][1], name,
                         a->value, a->text, b->value, b->text);
        }
        assert_string_equal(xl_device_vendor_table(listed.flat[0]),
                            xl_device_vendor_table(find(pairs[i][0])));
        xl__devices_clear(&listed);
    }
}

/* GE-32: of a GPU with waves of 64, 32 is a mode, 1 is not. */
static void a_contradiction_is_reported_and_not_used(void **state)
{
    struct xl__limits *l = &find("gfx942")->limits;
    (void)state;
    xl__limits_measure(l, XL__F_subgroup_width, 1);
    assert_true(xl__num(l, XL__F_subgroup_width) == 64);
    assert_int_equal(l->used[XL__F_subgroup_width].source, XL_QUERIED);
    assert_true(l->measured[XL__F_subgroup_width].value == 1);
    assert_string_equal(l->measured[XL__F_subgroup_width].note, "GE-32");
    xl__limits_measure(l, XL__F_subgroup_width, 32);
    assert_true(xl__num(l, XL__F_subgroup_width) == 32);
    assert_null(l->measured[XL__F_subgroup_width].note);
    /* A CPU's work-items are alone. */
    l = &find("cpu-")->limits;
    xl__limits_measure(l, XL__F_subgroup_width, 1);
    assert_int_equal(l->used[XL__F_subgroup_width].source, XL_MEASURED);
}

/* Whichever query fails, the devices are there, less that one fact; or less
 * one device, and then it is said which. */
static void any_query_may_fail(void **state)
{
    const struct xl_control *stub = test_stub();
    unsigned long n_calls;

    (void)state;
    stub->reset();
    {
        struct xl__devices all = {.targets = &xl__targets};
        assert_int_equal(xl__devices_enumerate(&all, NULL), XL_OK);
        xl__devices_clear(&all);
    }
    n_calls = stub->calls("clGetDeviceInfo");
    assert_true(n_calls > N_FILES * XL__N_FACTS / 2);
    for (unsigned n = 1; n <= n_calls; n++) {
        struct xl__devices some = {.targets = &xl__targets};

        stub->reset();
        stub->arm("clGetDeviceInfo", n, CL_OUT_OF_HOST_MEMORY);
        assert_int_equal(xl__devices_enumerate(&some, NULL), XL_OK);
        assert_true(stub->fired());
        if (some.n_flat != N_FILES) {
            assert_int_equal(some.n_flat, N_FILES - 1);
            assert_non_null(some.left_out);
        }
        xl__devices_clear(&some);
    }
    stub->reset();
}

static void one_platform_may_fail(void **state)
{
    static const char *const calls[] = {"clGetDeviceIDs", "clGetPlatformInfo",
                                        "clRetainDevice"};
    const struct xl_control *stub = test_stub();

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (unsigned n = 1; n <= N_FILES; n++) {
            struct xl__devices some = {.targets = &xl__targets};

            stub->reset();
            stub->arm(calls[i], n, CL_OUT_OF_RESOURCES);
            assert_int_equal(xl__devices_enumerate(&some, NULL), XL_OK);
            assert_true(some.n_flat >= N_FILES - 1);
            assert_int_equal(some.n_flat < N_FILES, some.left_out != NULL);
            if (some.left_out)
                assert_non_null(strstr(some.left_out, "CL_OUT_OF_RESOURCES"));
            xl__devices_clear(&some);
        }
    stub->reset();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_instructions),
        cmocka_unit_test(cooperative_matrices),
        cmocka_unit_test(all_files_are_devices),
        cmocka_unit_test(facts_are_as_documented),
        cmocka_unit_test(lists_and_texts),
        cmocka_unit_test(unknown_is_never_a_number),
        cmocka_unit_test(lies_become_unknown),
        cmocka_unit_test(a_liar_can_be_used_with_care),
        cmocka_unit_test(strange_bytes_are_escaped),
        cmocka_unit_test(bad_questions_are_refused),
        cmocka_unit_test(a_listing_has_the_facts_of_the_device),
        cmocka_unit_test(a_contradiction_is_reported_and_not_used),
        cmocka_unit_test(a_measurement_wins_and_the_answer_stays),
        cmocka_unit_test(any_query_may_fail),
        cmocka_unit_test(one_platform_may_fail),
    };

    test_args(argc, argv);
    test_setenv("XL_STUB_DEVICE", files);
    return cmocka_run_group_tests(tests, setup, teardown);
}
