/* SPDX-License-Identifier: Apache-2.0 */
/* Every variant on a few odd cases so small that a simulator of a device gets
 * through them, and that a device of one work-item does, too. The comparison
 * is clbench's own: host sums in double, guard zones around every buffer.
 * test_variants.c has the whole table of cases. */
#include <stdlib.h>
#include <string.h>

#include "cases/gemm_cases.h"
#include "support/support.h"
#include "verify/verify.h"

enum { SEED = 20, MAX_VARIANTS = 16 };

/* clang-format off */
/* name     use        m   n   k  trans alpha beta in      out     pads     offsets  columns one    data */
static const struct gemm_case gemms[] = {
    {"nn",   CASE_VERIFY, 17, 19, 23, 0,  1,   0,   XL_F32,  XL_F32,  0, 0, 0, 0, 0, 0, false, false, DATA_NORMAL, CASE_ONE},
    {"tn",   CASE_VERIFY, 19, 17, 5,  1,  1,   1,   XL_F32,  XL_F32,  1, 2, 3, 3, 2, 1, false, false, DATA_NORMAL, CASE_ONE},
    {"nt",   CASE_VERIFY, 33, 2,  31, 2, -0.5, 0.5, XL_F16,  XL_F32,  0, 0, 0, 0, 0, 0, false, false, DATA_NORMAL, CASE_ONE},
    {"tt",   CASE_VERIFY, 1,  33, 9,  3,  1,   0,   XL_BF16, XL_BF16, 0, 0, 0, 0, 0, 0, true,  false, DATA_NORMAL, CASE_ONE},
    {"one",  CASE_VERIFY, 1,  1,  1,  0,  2,   1,   XL_F32,  XL_F32,  0, 0, 0, 0, 0, 0, false, false, DATA_NORMAL, CASE_ONE},
    {"full", CASE_VERIFY, 32, 32, 32, 0,  1,   0,   XL_F32,  XL_F32,  0, 0, 0, 0, 0, 0, false, false, DATA_NORMAL, CASE_ONE},
    {NULL,   0,           0,  0,  0,  0,  0,   0,   XL_F32,  XL_F32,  0, 0, 0, 0, 0, 0, false, false, DATA_NORMAL, CASE_ONE},
};
/* name         use        rows cols dtype   scale mask in place pad off data log */
static const struct softmax_case softmaxes[] = {
    {"one",      CASE_VERIFY, 3, 1,   XL_F32,  0,   0, false, 0, 0, DATA_NORMAL, false},
    {"short",    CASE_VERIFY, 9, 33,  XL_F32,  0.5, 0, false, 1, 3, DATA_NORMAL, false},
    {"mask",     CASE_VERIFY, 5, 37,  XL_F16,  0,   1, false, 0, 0, DATA_NORMAL, false},
    {"in place", CASE_VERIFY, 2, 300, XL_BF16, 0,   2, true,  0, 0, DATA_NORMAL, false},
    {"specials", CASE_VERIFY, 8, 65,  XL_F32,  0,   0, false, 0, 0, DATA_SPECIALS, false},
    {"long",     CASE_VERIFY, 1, 900, XL_F32,  0,   0, false, 0, 0, DATA_NORMAL, false},
    {"log",      CASE_VERIFY, 5, 37,  XL_F16,  0,   0, false, 0, 0, DATA_SPECIALS, true},
    {"log long", CASE_VERIFY, 1, 900, XL_F32,  0,   0, false, 0, 0, DATA_NORMAL, true},
    {NULL,       0,           0, 0,   XL_F32,  0,   0, false, 0, 0, DATA_NORMAL, false},
};
/* clang-format on */

static struct test_device t;
static bool is_simulator;

/* A case that this variant takes came out right; false when it does not. */
static bool judge(xl_status status, const struct check_result *result,
                  const char *variant, const char *name)
{
    if (status == XL_UNSUPPORTED) {
        print_message("%s does not take %s: %s\n", variant, name,
                      xl_error_detail(t.queue));
        return false;
    }
    if (status != XL_OK || !result->right)
        fail_msg("%s, %s: %s: %s %s", variant, name, xl_status_name(status),
                 result->why, xl_error_detail(t.queue));
    return true;
}

/* Only what runs kernels of ours: another library's are its own business. */
static bool is_ours(const char *variant)
{
    return strstr(variant, "clblast") == NULL;
}

static void every_gemm(void **state)
{
    unsigned n_right = 0;

    (void)state;
    for (unsigned i = 0; i < MAX_VARIANTS; i++) {
        const char *variant = xl_variant_name(t.device, "gemm", i);
        if (!variant || !is_ours(variant))
            continue;
        unsigned n = 0;
        for (const struct gemm_case *c = gemms; c->name; c++) {
            struct check_result r;
            const int status = verify_gemm(t.queue, c, variant, SEED, &r);
            n += judge(status, &r, variant, c->name);
        }
        print_message("%s: %u cases right\n", variant, n);
        n_right += n;
    }
    /* The reference takes everything. */
    assert_in_range(n_right, sizeof gemms / sizeof *gemms - 1, 1000);
}

static void every_softmax(void **state)
{
    unsigned n_right = 0;

    (void)state;
    for (unsigned i = 0; i < MAX_VARIANTS; i++) {
        const char *variant = xl_variant_name(t.device, "softmax", i);
        if (!variant)
            continue;
        unsigned n = 0;
        for (const struct softmax_case *c = softmaxes; c->name; c++) {
            struct check_result r;
            /* In place, work-items past the end of a row read what others
             * write, and throw it away: a race in name that the simulator
             * cannot tell from a true one. */
            if (is_simulator && c->in_place)
                continue;
            const int status = verify_softmax(t.queue, c, variant, SEED, &r);
            n += judge(status, &r, variant, c->name);
        }
        print_message("%s: %u cases right\n", variant, n);
        n_right += n;
    }
    assert_in_range(n_right, sizeof softmaxes / sizeof *softmaxes - 2, 1000);
}

static int open_device(void **state)
{
    /* The cases are the check. */
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    xl_fact name;

    (void)state;
    test_device_open(&t, &options);
    if (xl_device_fact(t.device, "platform", XL_UNKNOWN, &name) == XL_OK &&
        name.text) {
        print_message("on %s\n", name.text);
        is_simulator = strcmp(name.text, "Oclgrind") == 0;
    }
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    test_device_close(&t);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gemm),
        cmocka_unit_test(every_softmax),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, open_device, close_device);
}
