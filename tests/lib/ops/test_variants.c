/* SPDX-License-Identifier: Apache-2.0 */
/* Every variant that the device's vendor table lists, a test each, over the
 * case table: the same cases, host sums in double, tolerances and guard zones
 * as `clbench verify`. All run on one queue, so that each program is built
 * once.
 *
 * XL_TEST_DEVICE   number or part of a name; device 0 otherwise
 * XL_TEST_PLATFORM part of the platform's name: another one is a failure
 * XL_TEST_FULL     set: every case, each program self-checked and cached;
 *                  else a third of the everyday cases, without either, and
 *                  without another library's variants, whose programs take
 * longer to build than all of ours, unless a filter is given */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/gemm_cases.h"
#include "cases/conv_cases.h"
#include "support/support.h"
#include "verify/verify.h"

enum { SEED = 20, MAX_VARIANTS = 16, MAX_TESTS = 7 * MAX_VARIANTS + 1 };

static xl_lib *lib;
static xl_queue *queue;
static bool takes_all, takes_others;

/* What became of one variant's cases. */
struct tally {
    const char *variant;
    unsigned n_seen, n_right, n_refused, n_wrong;
    double worst;
    const char *worst_case;
};

/* Is the case of this run? In everyday runs a variant has every third case,
 * and each case has a third of the variants; a variant has every case until it
 * takes one. */
static bool is_wanted(struct tally *t, unsigned use)
{
    static const char *last;
    static unsigned n_variants;
    const unsigned need = takes_all ? CASE_VERIFY : CASE_VERIFY | CASE_QUICK;
    if (t->variant != last) {
        last = t->variant;
        n_variants++;
    }
    if ((use & need) != need)
        return false;
    return test_is_sampled(n_variants + t->n_seen++, 3) || t->n_right == 0;
}

static void count(struct tally *t, const char *name, int status,
                  const struct check_result *found)
{
    if (status == XL_UNSUPPORTED) {
        t->n_refused++;
        return;
    }
    if (status != XL_OK || !found->right) {
        t->n_wrong++;
        print_error("%s, '%s': %s: %s %s\n", t->variant, name,
                    xl_status_name(status), found->why,
                    xl_error_detail(queue));
        return;
    }
    t->n_right++;
    if (found->worst >= t->worst) {
        t->worst = found->worst;
        t->worst_case = name;
    }
}

static bool is_ours(const char *variant)
{
    return strstr(variant, "clblast") == NULL;
}

/* Another library, or a matrix engine, may be absent; the other variants take
 * something everywhere. */
static bool may_be_absent(const char *variant)
{
    return !is_ours(variant) ||
           !test_has_engine(xl_queue_device(queue), variant);
}

static void judge(const struct tally *t)
{
    print_message("%s: %u cases right, %u wrong, %u not taken; worst error "
                  "%.3f of its tolerance ('%s')\n",
                  t->variant, t->n_right, t->n_wrong, t->n_refused, t->worst,
                  t->worst_case ? t->worst_case : "");
    if (t->n_right == 0 && t->n_wrong == 0 && may_be_absent(t->variant)) {
        print_message("%s\n", xl_error_detail(queue));
        skip();
    }
    assert_int_equal(t->n_wrong, 0);
    assert_int_not_equal(t->n_right, 0);
}

static void one_gemm(void **state)
{
    struct tally t = {.variant = *state};

    for (const struct gemm_case *c = gemm_cases; c->name; c++) {
        struct check_result found = {0};
        if (is_wanted(&t, c->use))
            count(&t, c->name, verify_gemm(queue, c, t.variant, SEED, &found),
                  &found);
    }
    judge(&t);
}

static void one_pass(void **state, xl_conv_pass pass)
{
    struct tally t = {.variant = *state};
    struct conv_case c;
    bool is_there;

    for (unsigned i = 0; conv_case_of_pass(i, pass, &c, &is_there); i++) {
        struct check_result found = {0};
        if (is_there && is_wanted(&t, c.use))
            count(&t, c.name, verify_conv(queue, &c, t.variant, SEED, &found),
                  &found);
    }
    judge(&t);
}

static void one_conv(void **state)
{
    one_pass(state, XL_CONV_FORWARD);
}

static void one_conv_data(void **state)
{
    one_pass(state, XL_CONV_BACKWARD_DATA);
}

static void one_conv_filters(void **state)
{
    one_pass(state, XL_CONV_BACKWARD_FILTERS);
}

static void one_softmax(void **state)
{
    struct tally t = {.variant = *state};

    for (const struct softmax_case *c = softmax_cases; c->name; c++) {
        struct check_result found = {0};
        if (is_wanted(&t, c->use))
            count(&t, c->name,
                  verify_softmax(queue, c, t.variant, SEED, &found), &found);
    }
    judge(&t);
}

static void one_norm(void **state)
{
    struct tally t = {.variant = *state};

    for (const struct norm_case *c = norm_cases; c->name; c++) {
        struct check_result found = {0};
        if (is_wanted(&t, c->use))
            count(&t, c->name, verify_norm(queue, c, t.variant, SEED, &found),
                  &found);
    }
    judge(&t);
}

static void check_gradients(const char *variant, bool is_norm)
{
    struct tally t = {.variant = variant};

    for (const struct gradient_case *c = gradient_cases; c->name; c++) {
        struct check_result found = {0};
        if (is_wanted(&t, c->use) && gradient_is_norm(c) == is_norm)
            count(&t, c->name,
                  verify_gradient(queue, c, t.variant, SEED, &found), &found);
    }
    judge(&t);
}

static void one_softmax_gradient(void **state)
{
    check_gradients(*state, false);
}

static void one_norm_gradient(void **state)
{
    check_gradients(*state, true);
}

static void one_attention_gradient(void **state)
{
    struct tally t = {.variant = *state};
    struct attention_case c;

    for (unsigned i = 0; attention_cases[i].name; i++) {
        struct check_result found = {0};
        if (attention_case_of_gradient(i, &c) && is_wanted(&t, c.use))
            count(&t, c.name,
                  verify_attention(queue, &c, t.variant, SEED, &found),
                  &found);
    }
    judge(&t);
}

static void one_qgemm(void **state)
{
    struct tally t = {.variant = *state};

    for (const struct qgemm_case *c = qgemm_cases; c->name; c++) {
        struct check_result found = {0};
        if (is_wanted(&t, c->use))
            count(&t, c->name, verify_qgemm(queue, c, t.variant, SEED, &found),
                  &found);
    }
    judge(&t);
}

static void one_qconvert(void **state)
{
    struct tally t = {.variant = *state};

    for (const struct qconvert_case *c = qconvert_cases; c->of.name; c++) {
        struct check_result found = {0};
        if (is_wanted(&t, c->of.use))
            count(&t, c->of.name,
                  verify_qconvert(queue, c, t.variant, SEED, &found), &found);
    }
    judge(&t);
}

static void one_rotary(void **state)
{
    struct tally t = {.variant = *state};

    for (const struct rotary_case *c = rotary_cases; c->a.name; c++) {
        struct check_result found = {0};
        if (is_wanted(&t, c->a.use))
            count(&t, c->a.name,
                  verify_rotary(queue, c, t.variant, SEED, &found), &found);
    }
    judge(&t);
}

static void one_attention(void **state)
{
    struct tally t = {.variant = *state};

    for (const struct attention_case *c = attention_cases; c->name; c++) {
        struct check_result found = {0};
        if (is_wanted(&t, c->use))
            count(&t, c->name,
                  verify_attention(queue, c, t.variant, SEED, &found), &found);
    }
    judge(&t);
}

/* The library's own choice, through both ops. */
static void logits(void **state)
{
    struct tally t = {.variant = "the best"};
    struct check_result found = {0};

    (void)state;
    count(&t, "logits", verify_precision(queue, SEED, &found), &found);
    judge(&t);
}

/* -- the device ----------------------------------------------------------- */

static bool is_platform(const xl_device *device)
{
    const char *wanted = getenv("XL_TEST_PLATFORM");
    xl_fact platform;
    const char *name = "?";

    if (xl_device_fact(device, "platform", XL_UNKNOWN, &platform) == XL_OK &&
        platform.text)
        name = platform.text;
    printf("on %s\n", name);
    if (!wanted || strstr(name, wanted))
        return true;
    printf("this is not \"%s\"\n", wanted);
    return false;
}

static bool open_device(void)
{
    const xl_options quick = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                              .cache_dir = ""};
    const char *wanted = getenv("XL_TEST_DEVICE");
    xl_device *device = NULL;

    if (xl_open(takes_all ? NULL : &quick, &lib) != XL_OK)
        return false;
    if (xl_device_find(lib, wanted && *wanted ? wanted : "0", &device) !=
            XL_OK ||
        !is_platform(device) ||
        xl_queue_create(lib, device, &queue) != XL_OK) {
        printf("no device to test: %s\n", xl_lib_error(lib));
        return false;
    }
    return true;
}

/* -- the tests, as many as there are variants ----------------------------- */

static size_t add_variants(struct CMUnitTest *tests, const char *op,
                           CMUnitTestFunction run)
{
    const xl_device *device = xl_queue_device(queue);
    size_t n = 0;

    for (unsigned i = 0; i < MAX_VARIANTS; i++) {
        /* CMocka's state is writable by type; nothing here writes to it. */
        union {
            const char *name;
            void *state;
        } variant = {.name = xl_variant_name(device, op, i)};
        if (!variant.name)
            break;
        if (!takes_others && !is_ours(variant.name))
            continue;
        tests[n++] = (struct CMUnitTest){.name = variant.name,
                                         .test_func = run,
                                         .initial_state = variant.state};
    }
    return n;
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[MAX_TESTS] = {cmocka_unit_test(logits)};
    size_t n = 1;
    int result = EXIT_FAILURE;

    takes_all = getenv("XL_TEST_FULL") != NULL;
    test_args(argc, argv);
    takes_others = takes_all || argc > 1;
    if (open_device()) {
        n += add_variants(tests + n, "gemm", one_gemm);
        n += add_variants(tests + n, "conv", one_conv);
        n += add_variants(tests + n, "conv_data", one_conv_data);
        n += add_variants(tests + n, "conv_filters", one_conv_filters);
        n += add_variants(tests + n, "softmax", one_softmax);
        n += add_variants(tests + n, "norm", one_norm);
        n += add_variants(tests + n, "softmax_backward", one_softmax_gradient);
        n += add_variants(tests + n, "norm_backward", one_norm_gradient);
        n += add_variants(tests + n, "attention", one_attention);
        n += add_variants(tests + n, "attention_backward",
                          one_attention_gradient);
        n += add_variants(tests + n, "qgemm", one_qgemm);
        n += add_variants(tests + n, "qconvert", one_qconvert);
        n += add_variants(tests + n, "rotary", one_rotary);
        result = _cmocka_run_group_tests("variants", tests, n, NULL, NULL);
    }
    xl_queue_destroy(queue);
    xl_close(lib);
    return result;
}
