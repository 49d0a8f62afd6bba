/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of GEMM for the variant of emulated_variant.h: host sums in double,
 * guard zones around every buffer. */
#ifndef TESTS_SUPPORT_EMULATED_GEMM_H
#define TESTS_SUPPORT_EMULATED_GEMM_H

#include "cases/gemm_cases.h"
#include "support/emulated_variant.h"
#include "verify/verify.h"

/* True: the result is right; false: the case is not taken; else the test
 * fails. */
static bool emulated_gemm(struct test_device *t, const struct gemm_case *c,
                          uint64_t seed, const char *what)
{
    struct check_result r = {0};
    const int status = verify_gemm(t->queue, c, emulated.own->name, seed, &r);
    if (status == XL_UNSUPPORTED)
        return false;
    if (status != XL_OK || !r.right)
        fail_msg("%s, '%s': %s: %s %s", what, c->name, xl_status_name(status),
                 r.why, xl_error_detail(t->queue));
    return true;
}

/* The case table, of which at least so many are taken. */
static void emulated_gemm_table(struct test_device *t, bool takes_all,
                                uint64_t seed, unsigned least)
{
    const unsigned need = takes_all ? CASE_VERIFY : CASE_VERIFY | CASE_QUICK;
    unsigned n_right = 0, n_refused = 0;
    for (const struct gemm_case *c = gemm_cases; c->name; c++) {
        if ((c->use & need) != need)
            continue;
        if (emulated_gemm(t, c, seed, "the model's tile"))
            n_right++;
        else
            n_refused++;
    }
    print_message("%u cases right, %u not taken\n", n_right, n_refused);
    assert_in_range(n_right, least, 1000);
}

#endif
