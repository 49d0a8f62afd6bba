/* SPDX-License-Identifier: Apache-2.0 */
/* The emulated matrix instructions (cl/common/mma_emulated.clh) and gemm_mma
 * upon them, on a device that has none: lane maps, layouts in local memory and
 * packing are those of the engine. First gemm_mma over GEMM's case table, then
 * every tile of its model; the comparison is clbench's own: host sums in
 * double, guard zones around every buffer.
 *
 * XL_TEST_FULL  set: every case */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "device/device.h"
#include "ops/variants.h"
#include "support.h"

enum { SEED = 20 };

static struct test_device t;
static struct xl__vendor vendor; /* the device's, with gemm_mma in its list */

static const struct xl__variant *const gemm[] = {&xl__gemm_mma, &xl__gemm_ref,
                                                 NULL};

static int open_device(void **state)
{
    const xl_options quick = {.skip_selfcheck = true, .cache_dir = ""};
    (void)state;
    test_device_open(&t, &quick);
    vendor = *t.device->vendor;
    vendor.variants[XL__OP_GEMM] = gemm;
    t.device->vendor = &vendor;
    xl__limits_correct_text(&t.device->limits, XL__F_mma, "emulated",
                            XL_ASSUMED, "GE-01");
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    test_device_close(&t);
    return 0;
}

static void cases(void **state)
{
    const unsigned need =
        getenv("XL_TEST_FULL") ? CASE_VERIFY : CASE_VERIFY | CASE_QUICK;
    unsigned n_right = 0, n_refused = 0;
    (void)state;
    for (const struct gemm_case *c = gemm_cases; c->name; c++) {
        struct check_result r = {0};
        if ((c->use & need) != need)
            continue;
        const int status = verify_gemm(t.queue, c, "gemm_mma", SEED, &r);
        if (status == XL_UNSUPPORTED) {
            n_refused++;
            print_message("refused %s: %s\n", c->name, xl_error_detail(t.queue));
            continue;
        }
        print_message("%s %d\n", c->name, r.right);
        if (status != XL_OK || !r.right)
            fail_msg("'%s': %s: %s %s", c->name, xl_status_name(status),
                     r.why, xl_error_detail(t.queue));
        n_right++;
    }
    print_message("%u cases right, %u not taken\n", n_right, n_refused);
    assert_int_not_equal(n_right, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, open_device, close_device);
}
