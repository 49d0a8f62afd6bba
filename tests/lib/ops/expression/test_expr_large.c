/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions that are too large for one kernel: compiled from cold caches,
 * and right against the host. Their time is bounded by the job's timeout
 * alone. */
#include "base/str.h"
#include "lib/ops/expression/expr_case.h"
#include "support/support.h"

enum { MEANS = 300, DEEP = 190, LEVELS = 3 };

static struct test_device t;

static void check(const struct xl__str *text, const char *binds)
{
    struct expr_case c;
    case_init(&c, text->len, xl__str_text(text));
    case_bind(&c, binds);
    assert_true(case_right(&c, t.queue, "expr_fused"));
    case_clear(&c);
}

static void test_means(void **state)
{
    struct xl__str text = {0};
    (void)state;
    xl__str_add(&text, "out = 0");
    for (unsigned i = 1; i <= MEANS; i++)
        xl__str_printf(&text, " + mean(x * %u.5, axis=-1)", i);
    check(&text, "x f32 37,143; out f32 37,1");
    xl__str_clear(&text);
}

static void check_softmax(unsigned levels)
{
    struct xl__str text = {0};
    xl__str_add(&text, "out = ");
    for (unsigned i = 0; i < levels; i++)
        xl__str_add(&text, "softmax(");
    xl__str_add(&text, "x");
    for (unsigned i = 0; i < levels; i++)
        xl__str_add(&text, " * 1.5)");
    check(&text, "x f32 37,143; out f32 37,143");
    xl__str_clear(&text);
}

static void test_softmax(void **state)
{
    (void)state;
    check_softmax(LEVELS);
}

static void test_nested_softmax(void **state)
{
    (void)state;
    check_softmax(DEEP);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_nested_softmax),
    };
    test_args(argc, argv);
    return test_run_on_device(tests, &t, NULL);
}
