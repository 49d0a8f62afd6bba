/* SPDX-License-Identifier: Apache-2.0 */
/* What probes measure does not change what is selected: choices, launches and
 * expected times are the same before and after. On stubs with each fact
 * measured, on PoCL with probes. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "runtime/context.h"
#include "support/support.h"

#include <crosslane/measure.h>

static void add_choices(struct xl__str *s, const xl_choice *c, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        xl__str_printf(s, "  %s %s %s %.17g %zux%zux%zu of %zux%zux%zu\n",
                       c[i].variant, c[i].tunables, c[i].bound, c[i].est_ns,
                       c[i].wg[0], c[i].wg[1], c[i].wg[2], c[i].global[0],
                       c[i].global[1], c[i].global[2]);
}

static void add_gemm(xl_queue *q, struct xl__str *s)
{
    static const size_t sizes[][2] = {{1, 4096}, {100, 100}, {2048, 1024}};
    xl_choice c[16];
    unsigned n;
    for (size_t i = 0; i < 3; i++) {
        const size_t k = 1024;
        xl_gemm g = {XL_GEMM_INIT, .m = sizes[i][0], .n = sizes[i][1], .k = k,
                     .alpha = 1};
        g.a = xl_mat_rows(NULL, k, XL_F32);
        g.b = xl_mat_rows(NULL, g.n, XL_F32);
        g.c = xl_mat_rows(NULL, g.n, XL_F32);
        assert_status(xl_gemm_explain(q, &g, c, 16, &n), XL_OK,
                      xl_error_detail(q));
        xl__str_printf(s, "gemm %zux%zu\n", g.m, g.n);
        add_choices(s, c, n);
    }
}

static void add_softmax(xl_queue *q, struct xl__str *s)
{
    static const size_t cols[] = {7, 1000, 100000};
    xl_choice c[16];
    unsigned n;
    for (size_t i = 0; i < 3; i++) {
        xl_softmax r = {XL_SOFTMAX_INIT, .rows = 64, .cols = cols[i]};
        r.src = r.dst = xl_mat_rows(NULL, r.cols, XL_F32);
        assert_status(xl_softmax_explain(q, &r, c, 16, &n), XL_OK,
                      xl_error_detail(q));
        xl__str_printf(s, "softmax %zu\n", r.cols);
        add_choices(s, c, n);
    }
}

static void add_conv(xl_queue *q, struct xl__str *s)
{
    static const size_t channels[] = {3, 32, 256};
    xl_choice c[16];
    unsigned n;
    for (size_t i = 0; i < 3; i++) {
        xl_conv v = {XL_CONV_INIT,    .n = 1,         .c = channels[i],
                     .h = 28,         .w = 28,        .k = 64,
                     .r = 3,          .s = 3,         .stride_h = 1,
                     .stride_w = 1,   .pad_top = 1,   .pad_left = 1,
                     .pad_bottom = 1, .pad_right = 1, .alpha = 1};
        v.in = v.out = (xl_images){.layout = XL_NCHW, .dtype = XL_F32};
        v.filters = (xl_filters){.layout = XL_KCRS, .dtype = XL_F32};
        assert_status(xl_conv_explain(q, &v, c, 16, &n), XL_OK,
                      xl_error_detail(q));
        xl__str_printf(s, "conv %zu\n", v.c);
        add_choices(s, c, n);
    }
}

static void add_expr(xl_queue *q, struct xl__str *s)
{
    static const char *const texts[] = {"exp(x) + 1", "sum(x, axis=1)",
                                        "sum(x, axis=0)", "softmax(x)"};
    static const struct {
        unsigned n_dims;
        size_t shape[2];
    } outs[] = {{2, {300, 1000}}, {1, {300}}, {1, {1000}}, {2, {300, 1000}}};
    static const size_t shape[] = {300, 1000};
    xl_choice c[16];
    unsigned n;
    for (size_t i = 0; i < 4; i++) {
        const xl_binding names[] = {
            {.name = "x", .tensor = xl_tensor_dense(NULL, XL_F32, 2, shape)},
            {.name = "out",
             .tensor = xl_tensor_dense(NULL, XL_F32, outs[i].n_dims,
                                       outs[i].shape)}};
        const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = names,
                                   .n_bindings = 2};
        xl_expr *e = NULL;
        assert_status(xl_expr_compile(q, texts[i], &args, &e), XL_OK,
                      xl_error_detail(q));
        assert_status(xl_expr_explain(q, e, &args, c, 16, &n), XL_OK,
                      xl_error_detail(q));
        xl__str_printf(s, "%s\n", texts[i]);
        add_choices(s, c, n);
        xl_expr_destroy(e);
    }
}

/* All choices as text; of a new context, which has no plans yet. */
static char *describe_choices(struct test_device *t)
{
    struct xl__str s = {0};
    xl_queue *q;
    assert_int_equal(xl_queue_create(t->lib, t->device, &q), XL_OK);
    add_gemm(q, &s);
    add_softmax(q, &s);
    add_conv(q, &s);
    add_expr(q, &s);
    xl_queue_destroy(q);
    return xl__str_steal(&s);
}

static const xl_options unchecked = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                     .cache_dir = ""};

/* Each number of the list, and each boolean but those that are limits. */
static void stub_facts(void **state)
{
    struct test_device t;
    unsigned n_devices;
    (void)state;
    test_device_open(&t, &unchecked);
    assert_int_equal(xl_device_count(t.lib, &n_devices), XL_OK);
    for (unsigned d = 0; d < n_devices; d++) {
        t.device = xl_device_at(t.lib, d);
        char *before = describe_choices(&t);
        assert_non_null(strstr(before, "gemm_"));
        for (unsigned i = 0; i < XL__N_FACTS; i++)
            xl__limits_measure(&t.device->seen, i,
                               xl__facts[i].kind == XL_FACT_BOOL ? 0 : 3);
        xl_fact fact;
        assert_int_equal(
            xl_device_fact(t.device, "copy_bytes_per_s", XL_UNKNOWN, &fact),
            XL_OK);
        assert_true(fact.value == 3 && fact.source == XL_MEASURED);
        char *after = describe_choices(&t);
        assert_string_equal(before, after);
        free(before);
        free(after);
    }
    test_device_close(&t);
}

static void ignore_row(const xl_row *row, void *arg)
{
    (void)row, (void)arg;
}

/* The probes of the quick suite, or with XL_TEST_FULL all. */
static void probes(void **state)
{
    const xl_probing how = {.quick = true};
    const bool all = getenv("XL_TEST_FULL") != NULL;
    struct test_device t;
    (void)state;
    test_device_open(&t, &unchecked);
    char *before = describe_choices(&t);
    assert_non_null(strstr(before, "gemm_"));
    for (unsigned i = 0; xl_probe_at(i); i++)
        if (all || xl_probe_at(i)->in_quick)
            (void)xl_probe_run(t.queue, xl_probe_at(i)->name, &how, ignore_row,
                               NULL);
    assert_int_equal(t.device->seen.used[XL__F_copy_bytes_per_s].source,
                     XL_MEASURED);
    char *after = describe_choices(&t);
    assert_string_equal(before, after);
    free(before);
    free(after);
    test_device_close(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stub_facts),
                                       cmocka_unit_test(probes)};
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
