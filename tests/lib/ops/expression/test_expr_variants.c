/* SPDX-License-Identifier: Apache-2.0 */
/* The order of an expression's variants, on stubs of four devices: by the
 * model, the unfused variant is never better than the fused one, so that it is
 * planned only in its place. Random expressions of many sizes. */
#include "base/str.h"
#include "lib/ops/expression/expr_random.h"
#include "support/support.h"

enum { SEED = 1, N_CASES = 400, N_VARIANTS = 2 };

static void compare_variants(xl_queue *q, struct expr_case *c)
{
    xl_expr_args args;
    xl_expr *e = NULL;
    xl_choice all[N_VARIANTS];
    unsigned n = 0;
    case_args(c, NULL, &args);
    assert_status(xl_expr_compile(q, xl__str_text(&c->text), &args, &e), XL_OK,
                  xl_error_detail(q));
    assert_status(xl_expr_explain(q, e, &args, all, N_VARIANTS, &n), XL_OK,
                  xl_error_detail(q));
    assert_int_equal(n, N_VARIANTS);
    assert_string_equal(all[0].variant, "expr_fused");
    assert_true(all[0].chosen);
    assert_string_equal(all[1].variant, "expr_unfused");
    if (all[0].est_ns > all[1].est_ns || all[0].n_steps > all[1].n_steps)
        fail_msg("%s: fused %g ns in %u launches, unfused %g ns in %u",
                 xl__str_text(&c->text), all[0].est_ns, all[0].n_steps,
                 all[1].est_ns, all[1].n_steps);
    xl_expr_destroy(e);
}

static void order(void **state)
{
    static const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                       .cache_dir = ""};
    static const size_t most[] = {3000, 300000, 3000000};
    xl_lib *lib;
    unsigned n_devices;
    (void)state;
    assert_int_equal(xl_open(&options, &lib), XL_OK);
    assert_int_equal(xl_device_count(lib, &n_devices), XL_OK);
    for (unsigned d = 0; d < n_devices; d++) {
        xl_queue *q;
        assert_int_equal(xl_queue_create(lib, xl_device_at(lib, d), &q),
                         XL_OK);
        for (uint64_t seed = SEED; seed < SEED + N_CASES; seed++) {
            struct expr_case c;
            random_case(&c, seed, most[seed % 3]);
            compare_variants(q, &c);
            case_clear(&c);
        }
        xl_queue_destroy(q);
    }
    xl_close(lib);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
