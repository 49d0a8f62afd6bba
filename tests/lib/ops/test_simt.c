/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_simt with the tiles that it is for, which a device of threads would
 * never choose: each of these sets over GEMM's case table, which is the only
 * place where they meet edges, odd lines and alignments of all kinds. The
 * comparison is clbench's own: host sums in double, guard zones around every
 * buffer. Slices as copies of their own are done at once here, in the order
 * and to the places that they have elsewhere.
 *
 * XL_TEST_FULL  set: every case */
#include <stdio.h>
#include <stdlib.h>

#include "cases/gemm_cases.h"
#include "device/device.h"
#include "ops/path/tunables.h"
#include "ops/variants.h"
#include "support/support.h"
#include "verify/verify.h"

enum { SEED = 20 };

static const char *const sets[] = {
    "TM=128 TN=256 TK=8 RM=16 RN=8 VW=4 ST=2 GR=8 PARTS=1 COPY=1",
    "TM=128 TN=128 TK=16 RM=16 RN=8 VW=4 ST=2 GR=4 PARTS=2 COPY=1",
    "TM=64 TN=128 TK=8 RM=8 RN=8 VW=4 ST=2 GR=1 PARTS=8 COPY=1",
    "TM=256 TN=64 TK=4 RM=8 RN=16 VW=2 ST=2 GR=16 PARTS=1 COPY=1",
    "TM=128 TN=128 TK=8 RM=16 RN=8 VW=4 ST=2 GR=8 PARTS=1 COPY=2",
    "TM=64 TN=64 TK=8 RM=8 RN=8 VW=4 ST=3 GR=8 PARTS=4 COPY=2",
    "TM=32 TN=64 TK=16 RM=4 RN=4 VW=2 ST=4 GR=2 PARTS=1 COPY=2",
};

static const char *now; /* the set that is chosen */

static void choose(const struct xl__limits *l, const void *desc,
                   struct xl__params *out)
{
    char why[128] = "";
    (void)l;
    (void)desc;
    if (!xl__params_parse(&xl__gemm_simt, now, out, why, sizeof why))
        fail_msg("%s: %s", now, why);
}

/* A device whose only choice is this. */
static void open_device(struct test_device *t, struct xl__vendor *vendor,
                        struct xl__variant *only,
                        const struct xl__variant **list)
{
    const xl_options quick = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                              .cache_dir = ""};
    test_device_open(t, &quick);
    *only = xl__gemm_simt;
    only->choose = choose;
    list[0] = only;
    list[1] = &xl__gemm_ref;
    *vendor = *t->device->vendor;
    vendor->variants[XL__OP_GEMM] = list;
    t->device->vendor = vendor;
    xl__limits_correct_text(&t->device->limits, XL__F_async_copy, "emulated",
                            XL_ASSUMED, "GE-01");
}

static void cases(void **state)
{
    static struct xl__variant only;
    static struct xl__vendor vendor;
    static const struct xl__variant *list[3];
    const unsigned need =
        getenv("XL_TEST_FULL") ? CASE_VERIFY : CASE_VERIFY | CASE_QUICK;
    struct test_device t;
    static unsigned n_sets;
    unsigned n_seen = n_sets++, n_right = 0, n_refused = 0;
    now = *state;
    open_device(&t, &vendor, &only, list);
    for (const struct gemm_case *c = gemm_cases; c->name; c++) {
        struct check_result r = {0};
        if ((c->use & need) != need || !test_is_sampled(n_seen++, 4))
            continue;
        const int status = verify_gemm(t.queue, c, "gemm_simt", SEED, &r);
        if (status == XL_UNSUPPORTED) {
            n_refused++;
            continue;
        }
        if (status != XL_OK || !r.right)
            fail_msg("'%s': %s: %s %s", c->name, xl_status_name(status),
                     r.why, xl_error_detail(t.queue));
        n_right++;
    }
    print_message("%u cases right, %u not taken\n", n_right, n_refused);
    assert_int_not_equal(n_right, 0);
    test_device_close(&t);
}

int main(int argc, char **argv)
{
    enum { N = sizeof sets / sizeof *sets };
    struct CMUnitTest tests[N];
    for (unsigned i = 0; i < N; i++)
        tests[i] = (struct CMUnitTest){sets[i], cases, NULL, NULL,
                                       (void *)(size_t)sets[i]};
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
