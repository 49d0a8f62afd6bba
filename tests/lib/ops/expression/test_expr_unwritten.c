/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that write nothing: on the stub driver the self-check of every
 * expression fails, also where no result has a finite error bound. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "lib/ops/expression/expr_random.h"
#include "support/support.h"

enum { SEED = 1, N_RANDOM = 60, MAX_ELEMS = 3000 };

static struct test_device t;

static void expect_untrusted(struct expr_case *c)
{
    xl_expr_args args;
    xl_expr *e = NULL;
    case_args(c, NULL, &args);
    const xl_status status =
        xl_expr_compile(t.queue, xl__str_text(&c->text), &args, &e);
    if (status != XL_UNTRUSTED)
        fail_msg("%s: %s %s", xl__str_text(&c->text), xl_status_name(status),
                 xl_error_detail(t.queue));
    xl_expr_destroy(e);
    case_clear(c);
}

static void named(void **state)
{
    static const char *const texts[][2] = {
        {"y = x / 0", "x f32 7,203; y f32 7,203"},
        {"y = x / 0", "x f16 7,203; y f16 7,203"},
        {"y = 0 / (x - x)", "x f32 7,203; y f32 7,203"},
        {"y = 1 / (x - x)", "x f32 7,203; y f32 7,203"},
        {"y = rsqrt(x - x)", "x f32 7,203; y f32 7,203"},
        {"y = x * 0", "x f32 7,203; y f32 7,203"},
        {"y = x", "x i8 7,203; y i8 7,203"},
        {"y = floor(1e7 * sum(x, axis=1))", "x f32 7,203; y f32 7"},
        {"y = argmax(exp(x), axis=1)", "x f32 7,203; y i32 7"},
        {"y = sum(x, axis=0)", "x f32 307,20; y f32 20"},
        {"y = any(x > 9)", "x f32 100000; y bool 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct expr_case c;
        case_init(&c, SEED, texts[i][0]);
        case_bind(&c, texts[i][1]);
        expect_untrusted(&c);
    }
}

static void any(void **state)
{
    (void)state;
    for (uint64_t seed = SEED; seed < SEED + N_RANDOM; seed++) {
        struct expr_case c;
        random_case(&c, seed, MAX_ELEMS);
        expect_untrusted(&c);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named),
        cmocka_unit_test(any),
    };
    const xl_options options = {XL_OPTIONS_INIT,
                                .cache_dir = ""}; /* no verdicts */
    test_args(argc, argv);
    return test_run_on_device(tests, &t, &options);
}
