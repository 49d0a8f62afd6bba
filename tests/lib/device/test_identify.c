/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of identification: platform, version, architecture, address, sub-group
 * width, vendor table; the order of devices, one device under two platforms,
 * and the search by text. */
#include "support/support.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "device/cl_info.h"
#include "device/device.h"
#include "targets/targets.h"

/* The first card is seen through two drivers. */
static const char files[] = XL_TEST_DEVICES
    "/pocl.txt," XL_TEST_DEVICES "/h200.txt," XL_TEST_DEVICES
    "/mi300x.txt," XL_TEST_DEVICES "/rx7900xtx.txt," XL_TEST_DEVICES
    "/arc-a770.txt," XL_TEST_DEVICES "/adreno.txt," XL_TEST_DEVICES
    "/liar.txt," XL_TEST_DEVICES "/h200.txt";

/* In the flat order: GPUs by platform name and address, then the CPU. */
enum { RX7900XTX, MI300X, A770, LIAR, H200, H200_AGAIN, ADRENO, POCL, N };

static const struct expected {
    const char *name, *table, *arch, *pci, *c_version;
    double width;
    xl_source source;
    const char *dot; /* the way to dot products; NULL: none is known */
} expected[N] = {
    [H200] = {"NVIDIA H200", "nvidia", "sm_90", "0000:00:06.0", "OpenCL C 3.0",
              32, XL_QUERIED, "ptx"},
    [H200_AGAIN] = {"NVIDIA H200", "nvidia", "sm_90", "0000:00:06.0",
                    "OpenCL C 3.0", 32, XL_QUERIED, "ptx"},
    [MI300X] = {"gfx942:sramecc+:xnack-", "amd", "gfx942", "0000:1b:00.0",
                "OpenCL C 2.0", 64, XL_QUERIED, "sdot4"},
    [RX7900XTX] = {"gfx1100", "amd", "gfx1100", "0000:03:00.0", "OpenCL C 2.0",
                   32, XL_QUERIED, "sudot4"},
    [A770] = {"Intel(R) Arc(TM) A770 Graphics", "intel", "xe-hpg",
              "0000:03:00.0", "OpenCL C 3.0", 16, XL_QUERIED, "khr"},
    [ADRENO] = {"QUALCOMM Adreno(TM)", "generic", "adreno-740", "",
                "OpenCL C 3.0", 64, XL_QUERIED, NULL},
    [POCL] = {"cpu-skylake-avx512-Intel(R) Xeon(R) Processor", "cpu",
              "x86_64-pc-linux-gnu-skylake-avx512", "", "OpenCL C 3.0", 1,
              XL_KNOWN, NULL},
    [LIAR] = {"Li\\xe9 \\x1b[31m GPU \\xc3(", "generic", "", "", "", NAN,
              XL_UNKNOWN, NULL},
};

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

static void order_and_identity(void **state)
{
    (void)state;
    assert_int_equal(devices.n_flat, N);
    for (unsigned i = 0; i < N; i++) {
        const xl_device *dev = devices.flat[i];
        const struct xl__limits *l = &dev->limits;

        assert_int_equal(xl_device_index(dev), i);
        assert_string_equal(xl__text(l, XL__F_name), expected[i].name);
        assert_string_equal(xl_device_vendor_table(dev), expected[i].table);
        assert_string_equal(xl__text(l, XL__F_arch), expected[i].arch);
        assert_string_equal(xl__text(l, XL__F_pci), expected[i].pci);
        assert_string_equal(xl__text(l, XL__F_cl_c_version),
                            expected[i].c_version);
    }
}

static void widths_and_their_sources(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N; i++) {
        const struct xl__answer *a =
            &devices.flat[i]->limits.used[XL__F_subgroup_width];

        if (isnan(expected[i].width))
            assert_true(isnan(a->value));
        else
            assert_true(a->value == expected[i].width);
        assert_int_equal(a->source, expected[i].source);
    }
    /* The CPU's own answer is kept: how items fill a vector. */
    assert_true(
        devices.flat[POCL]->limits.queried[XL__F_subgroup_width].value == 8);
}

static void ways_to_dot_products(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N; i++) {
        const char *way = xl__text(&devices.flat[i]->limits, XL__F_dot);
        assert_string_equal(way, expected[i].dot ? expected[i].dot : "");
    }
}

static void uuids_are_written_the_usual_way(void **state)
{
    (void)state;
    assert_string_equal(xl__text(&devices.flat[H200]->limits, XL__F_uuid),
                        "c0ffee00-1122-4433-8555-66778899aabb");
    assert_string_equal(xl__text(&devices.flat[A770]->limits, XL__F_uuid),
                        "8680a056-0800-0000-0300-00000000000a");
    assert_string_equal(xl__text(&devices.flat[LIAR]->limits, XL__F_uuid), "");
}

/* One UUID under two platforms is one card; so is one PCI address, which two
 * of the files share. */
static void the_same_silicon_is_grouped(void **state)
{
    (void)state;
    assert_int_equal(xl_device_same_as(devices.flat[H200]), H200);
    assert_int_equal(xl_device_same_as(devices.flat[H200_AGAIN]), H200);
    assert_int_equal(xl_device_same_as(devices.flat[A770]), RX7900XTX);
    assert_int_equal(xl_device_same_as(devices.flat[MI300X]), MI300X);
    assert_int_equal(xl_device_same_as(devices.flat[LIAR]), LIAR);
    assert_int_equal(xl_device_same_as(devices.flat[POCL]), POCL);
}

static const struct search {
    const char *text;
    xl_status status;
    unsigned index;
} searches[] = {
    {"0", XL_OK, RX7900XTX},
    {"7", XL_OK, POCL},
    {"gfx942", XL_OK, MI300X},
    {"GFX1100", XL_OK, RX7900XTX}, /* letters' case does not matter */
    {"arc", XL_OK, A770},
    {"xeon", XL_OK, POCL},
    {"0000:1b:00.0", XL_OK, MI300X},
    {"0000:1B:00.0", XL_OK, MI300X},
    {"1b:00.0", XL_OK, MI300X},
    {"8680A056-0800-0000-0300-00000000000A", XL_OK, A770},
    {"h200", XL_AMBIGUOUS, 0},
    {"c0ffee00-1122-4433-8555-66778899aabb", XL_AMBIGUOUS, 0},
    {"03:00.0", XL_AMBIGUOUS, 0},
    {"8", XL_NO_DEVICE, 0},
    {"99", XL_NO_DEVICE, 0},
    {"99999999999999999999999", XL_NO_DEVICE, 0},
    {"", XL_NO_DEVICE, 0},
    {"no such thing", XL_NO_DEVICE, 0},
    {"-1", XL_NO_DEVICE, 0},
};

static void devices_are_found_by_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
        const struct search *s = &searches[i];
        struct xl__error e = {0};
        xl_device *dev = NULL;

        assert_status(xl__devices_find(&devices, s->text, &dev, &e), s->status,
                      s->text);
        if (s->status == XL_OK) {
            assert_int_equal(xl_device_index(dev), s->index);
        } else {
            const char *message = xl__str_text(&e.detail);

            assert_null(dev);
            assert_int_equal(e.status, s->status);
            assert_non_null(strstr(message, s->text));
            assert_non_null(
                strstr(message, "\n  4  NVIDIA H200  (NVIDIA CUDA)"));
            assert_non_null(strstr(message, "\n  7  cpu-skylake"));
        }
        xl__error_clear(&e);
    }
}

/* A device that came with a caller's queue gets its number when the caller
 * counts the devices, and stays where it is. */
static void a_caller_s_device_is_adopted(void **state)
{
    struct xl__devices list = {.targets = &xl__targets};
    cl_device_id id = xl_device_cl(devices.flat[A770]);
    xl_device *met = NULL, *again = NULL;

    (void)state;
    assert_int_equal(xl__devices_of(&list, id, &met, NULL), XL_OK);
    assert_int_equal(xl__devices_of(&list, id, &again, NULL), XL_OK);
    assert_ptr_equal(met, again);
    assert_int_equal(list.n_extra, 1);
    assert_int_equal(xl_device_index(met), UINT_MAX);
    assert_int_equal(xl_device_same_as(met), UINT_MAX);
    assert_int_equal(xl__devices_enumerate(&list, NULL), XL_OK);
    assert_int_equal(list.n_extra, 0);
    assert_int_equal(list.n_flat, N);
    assert_ptr_equal(list.flat[A770], met);
    assert_int_equal(xl_device_index(met), A770);
    assert_int_equal(xl__devices_of(&list, id, &again, NULL), XL_OK);
    assert_ptr_equal(met, again);
    xl__devices_clear(&list);
    assert_int_equal(list.n_flat, 0);
}

static void a_device_that_answers_nothing_is_left_out(void **state)
{
    const struct xl_control *stub = test_stub();
    struct xl__error e = {0};
    struct xl__devices list = {.targets = &xl__targets};

    (void)state;
    stub->reset();
    stub->arm("clRetainDevice", 1, CL_INVALID_DEVICE);
    assert_int_equal(xl__devices_of(&list, xl_device_cl(devices.flat[H200]),
                                    &(xl_device *){NULL}, &e),
                     CL_INVALID_DEVICE);
    assert_non_null(strstr(xl__str_text(&e.detail), "CL_INVALID_DEVICE"));
    assert_int_equal(list.n_extra, 0);
    stub->reset();
    xl__error_clear(&e);
    xl__devices_clear(&list);
}

static void codes_have_names(void **state)
{
    struct xl__error e = {0};

    (void)state;
    assert_string_equal(xl__cl_name(CL_SUCCESS), "CL_SUCCESS");
    assert_string_equal(xl__cl_name(CL_OUT_OF_RESOURCES),
                        "CL_OUT_OF_RESOURCES");
    assert_string_equal(xl__cl_name(CL_MAX_SIZE_RESTRICTION_EXCEEDED),
                        "CL_MAX_SIZE_RESTRICTION_EXCEEDED");
    assert_string_equal(xl__cl_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
    assert_null(xl__cl_name(-20));
    assert_null(xl__cl_name(-7000));
    assert_int_equal(xl__cl_check(&e, CL_SUCCESS, "f()", "a.c", 1), XL_OK);
    assert_int_equal(xl__cl_check(&e, CL_INVALID_VALUE, "f()", "a.c", 7),
                     CL_INVALID_VALUE);
    assert_string_equal(xl__str_text(&e.detail),
                        "CL_INVALID_VALUE (-30) from f() at a.c:7");
    /* The first failure wins. */
    assert_int_equal(xl__cl_check(&e, -5, "g()", "a.c", 8), -5);
    assert_int_equal(e.status, CL_INVALID_VALUE);
    xl__error_clear(&e);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_identity),
        cmocka_unit_test(widths_and_their_sources),
        cmocka_unit_test(ways_to_dot_products),
        cmocka_unit_test(uuids_are_written_the_usual_way),
        cmocka_unit_test(the_same_silicon_is_grouped),
        cmocka_unit_test(devices_are_found_by_text),
        cmocka_unit_test(a_caller_s_device_is_adopted),
        cmocka_unit_test(a_device_that_answers_nothing_is_left_out),
        cmocka_unit_test(codes_have_names),
    };

    test_args(argc, argv);
    test_setenv("XL_STUB_DEVICE", files);
    return cmocka_run_group_tests(tests, setup, teardown);
}
