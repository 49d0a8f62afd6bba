/* SPDX-License-Identifier: Apache-2.0 */
/* What the headers state of a call's needs: only the first call of its kind
 * builds, and _prepare() does that without memory; memory is allocated for
 * scratch and lists of offsets only, once; a failure in the middle of a group.
 * Runs on the stub driver, as an H200. */
#include <string.h>

#include "device/device.h"
#include "support/support.h"

enum { SIDE = 256, MOST_SIDE = 4096, MEMS = 3 };

static struct test_device t;
static cl_mem mem[MEMS];

static xl_gemm make_gemm(xl_accuracy accuracy)
{
    xl_gemm g = {XL_GEMM_INIT, .m = SIDE,  .n = SIDE,
                 .k = SIDE,    .alpha = 1, .accuracy = accuracy};
    g.a = xl_mat_rows(mem[0], SIDE, XL_F32);
    g.b = xl_mat_rows(mem[1], SIDE, XL_F32);
    g.c = xl_mat_rows(mem[2], SIDE, XL_F32);
    return g;
}

static xl_conv make_conv(void)
{
    xl_conv c = {XL_CONV_INIT, .n = 1, .c = 8, .h = 16,   .w = 16,
                 .k = 8,       .r = 3, .s = 3, .alpha = 1};
    c.in.mem.buf = mem[0];
    c.filters.mem.buf = mem[1];
    c.out.mem.buf = mem[2];
    return c;
}

static xl_softmax make_softmax(void)
{
    return (xl_softmax){XL_SOFTMAX_INIT, .rows = SIDE, .cols = SIDE,
                        .src = xl_mat_rows(mem[0], SIDE, XL_F32),
                        .dst = xl_mat_rows(mem[2], SIDE, XL_F32)};
}

static void ok(xl_status status)
{
    assert_status(status, XL_OK, xl_error_detail(t.queue));
}

static unsigned long built(void)
{
    return test_stub()->calls("clBuildProgram") +
           test_stub()->calls("clCreateKernel");
}

static unsigned long allocated(void)
{
    return test_stub()->calls("clCreateBuffer") +
           test_stub()->calls("clEnqueueWriteBuffer");
}

/* -- builds ----------------------------------------------------------------
 */

static void prepare_then_run(const xl_gemm *g)
{
    xl_gemm bare = *g;
    bare.a.mem.buf = bare.b.mem.buf = bare.c.mem.buf = NULL;
    ok(xl_gemm_prepare(t.queue, &bare));
    test_stub()->reset();
    ok(xl_gemm_run(t.queue, g, NULL));
    assert_int_equal(built(), 0);
}

static void prepared(void **state)
{
    (void)state;
    xl_gemm g = make_gemm(XL_ACCURACY_FULL);
    prepare_then_run(&g);
    g.alpha = 0; /* another plan, of which alpha's value is no part */
    prepare_then_run(&g);
    g.alpha = g.beta = -7.5;
    prepare_then_run(&g);
    g.beta = 3;
    test_stub()->reset();
    ok(xl_gemm_run(t.queue, &g, NULL));
    assert_int_equal(built(), 0);
    const xl_conv c = make_conv();
    xl_conv bare_c = c;
    bare_c.in.mem.buf = bare_c.filters.mem.buf = bare_c.out.mem.buf = NULL;
    ok(xl_conv_prepare(t.queue, &bare_c));
    const xl_softmax s = make_softmax();
    xl_softmax bare_s = s;
    bare_s.src.mem.buf = bare_s.dst.mem.buf = NULL;
    ok(xl_softmax_prepare(t.queue, &bare_s));
    test_stub()->reset();
    ok(xl_conv_run(t.queue, &c, NULL));
    ok(xl_softmax_run(t.queue, &s, NULL));
    assert_int_equal(built(), 0);
}

/* -- memory ----------------------------------------------------------------
 */

/* The operands' terms need scratch. */
static void workspace(void **state)
{
    (void)state;
    size_t bytes = 0, none = 1;
    xl_gemm g = make_gemm(XL_ACCURACY_FULL);
    g.variant = "gemm_ref";
    ok(xl_gemm_workspace(t.queue, &g, &none));
    assert_int_equal(none, 0);
    g = make_gemm(XL_ACCURACY_SPLIT);
    g.m = g.n = g.k = MOST_SIDE;
    g.a = g.b = g.c = xl_mat_rows(NULL, MOST_SIDE, XL_F32);
    g.a.mem.buf = g.b.mem.buf = mem[0];
    g.c.mem.buf = mem[2];
    ok(xl_gemm_workspace(t.queue, &g, &bytes));
    assert_int_not_equal(bytes, 0);
    cl_int code;
    cl_context ctx = xl_queue_context(t.queue);
    cl_mem own = clCreateBuffer(ctx, CL_MEM_READ_WRITE, bytes, NULL, &code);
    cl_mem less =
        clCreateBuffer(ctx, CL_MEM_READ_WRITE, bytes - 1, NULL, &code);
    g.workspace.buf = less;
    assert_status(xl_gemm_run(t.queue, &g, NULL), XL_BUFFER_TOO_SMALL,
                  xl_error_detail(t.queue));
    g.workspace.buf = own;
    test_stub()->reset();
    ok(xl_gemm_run(t.queue, &g, NULL));
    assert_int_equal(allocated(), 0);
    g.workspace.buf = NULL;
    ok(xl_gemm_run(t.queue, &g, NULL));
    assert_int_equal(allocated(), 1);
    ok(xl_gemm_run(t.queue, &g, NULL));
    assert_int_equal(allocated(), 1); /* the queue keeps it */
    g.workspace.buf = less;
    ok(xl_gemm_run_group(t.queue, &g, 1, NULL)); /* not used */
    clReleaseMemObject(own);
    clReleaseMemObject(less);
}

static void lists(void **state)
{
    enum { COUNT = 3 };
    (void)state;
    cl_ulong at[COUNT] = {0, SIDE * SIDE, 2 * SIDE * SIDE}, zero[COUNT] = {0};
    xl_gemm g = make_gemm(XL_ACCURACY_FULL);
    g.batch =
        (xl_batch){.count = COUNT, .a_at = zero, .b_at = zero, .c_at = at};
    ok(xl_gemm_run(t.queue, &g, NULL));
    test_stub()->reset();
    ok(xl_gemm_run(t.queue, &g, NULL));
    assert_int_equal(allocated(), 0); /* the copy is kept */
    at[1] = 3 * SIDE * SIDE;
    ok(xl_gemm_run(t.queue, &g, NULL));
    assert_int_not_equal(allocated(), 0);
}

/* -- failures --------------------------------------------------------------
 */

/* The second launch of a group fails: there is no event, and the message has
 * the index of its product. */
static void group_fails_later(void **state)
{
    (void)state;
    xl_gemm g[2] = {make_gemm(XL_ACCURACY_FULL), make_gemm(XL_ACCURACY_FULL)};
    g[0].variant = g[1].variant = "gemm_ref";
    g[1].c.offset = SIDE * SIDE;
    g[1].alpha = 2;
    cl_event done = NULL;
    const xl_sync sync = {XL_SYNC_INIT, .done = &done};
    ok(xl_gemm_run_group(t.queue, g, 2, NULL));
    test_stub()->reset();
    test_stub()->arm("clEnqueueNDRangeKernel", 2, CL_OUT_OF_RESOURCES);
    assert_int_not_equal(xl_gemm_run_group(t.queue, g, 2, &sync), XL_OK);
    assert_true(test_stub()->fired());
    assert_non_null(strstr(xl_error_detail(t.queue), "product "));
    assert_null(done);
    test_stub()->reset();
    g[1].variant = "gemm_none";
    assert_status(xl_gemm_run_group(t.queue, g, 2, NULL), XL_BAD_ARGUMENT,
                  xl_error_detail(t.queue));
    assert_non_null(strstr(xl_error_detail(t.queue), "product 1: "));
}

/* -- names and sizes -------------------------------------------------------
 */

static void names_and_sizes(void **state)
{
    (void)state;
    static const char *const ops[] = {"gemm", "conv", "softmax"};
    for (unsigned i = 0; i < 3; i++) {
        unsigned n = 0;
        while (xl_variant_name(t.device, ops[i], n))
            n++;
        assert_true(n > 0);
        assert_null(xl_variant_name(t.device, ops[i], n + 1));
    }
    assert_null(xl_variant_name(t.device, "none", 0));
    size_t p = 1, q = 1;
    xl_conv c = make_conv();
    c.dilation_w = 9;
    assert_int_equal(xl_conv_out_size(&c, &p, &q), XL_BAD_SHAPE);
    assert_int_equal(p + q, 0);
    p = q = 1;
    c.pad_left = SIZE_MAX;
    assert_int_equal(xl_conv_out_size(&c, &p, &q), XL_OVERFLOW);
    assert_int_equal(p + q, 0);
}

/* -- explain ---------------------------------------------------------------
 */

enum { MOST_CHOICES = 16 };

/* All choices are counted, as many as there is room for are written; one is
 * chosen, and what it needs is built. */
static void check_choices(const xl_choice *all, unsigned n,
                          const xl_choice *two, unsigned n_of_two)
{
    unsigned chosen = 0;
    assert_in_range(n, 2, MOST_CHOICES);
    assert_int_equal(n_of_two, n);
    for (unsigned i = 0; i < n; i++) {
        chosen += all[i].chosen;
        assert_int_not_equal(all[i].variant[0], '\0');
        assert_int_not_equal(all[i].why[0], '\0');
        assert_true(i == 0 || all[i].est_ns != all[i].est_ns ||
                    all[i].est_ns >= all[0].est_ns || all[i].chosen);
    }
    assert_int_equal(chosen, 1);
    assert_string_equal(two[0].variant, all[0].variant);
    assert_int_equal(two[1].variant[0], '#');
}

static void explained(void **state)
{
    xl_choice all[MOST_CHOICES], two[2];
    unsigned n = 0, n_of_two = 0;
    const xl_gemm g = make_gemm(XL_ACCURACY_FULL);
    const xl_softmax s = make_softmax();
    const xl_conv c = make_conv();
    (void)state;
    memset(two, '#', sizeof two);
    ok(xl_gemm_explain(t.queue, &g, NULL, 0, &n_of_two));
    ok(xl_gemm_explain(t.queue, &g, all, MOST_CHOICES, &n));
    ok(xl_gemm_explain(t.queue, &g, two, 1, &n_of_two));
    check_choices(all, n, two, n_of_two);
    ok(xl_softmax_explain(t.queue, &s, all, MOST_CHOICES, &n));
    ok(xl_softmax_explain(t.queue, &s, two, 1, &n_of_two));
    check_choices(all, n, two, n_of_two);
    ok(xl_conv_explain(t.queue, &c, all, MOST_CHOICES, &n));
    ok(xl_conv_explain(t.queue, &c, two, 1, &n_of_two));
    check_choices(all, n, two, n_of_two);
    test_stub()->reset();
    ok(xl_gemm_run(t.queue, &g, NULL));
    ok(xl_softmax_run(t.queue, &s, NULL));
    ok(xl_conv_run(t.queue, &c, NULL));
    assert_int_equal(test_stub()->calls("clBuildProgram"), 0);
}

/* Where no variant can run, each says why, and none is chosen. */
static void explained_refusals(void **state)
{
    xl_choice all[MOST_CHOICES];
    unsigned n = 0;
    xl_gemm g = make_gemm(XL_ACCURACY_FULL);
    (void)state;
    g.variant = "gemm_skinny"; /* of few rows or columns alone */
    assert_status(xl_gemm_explain(t.queue, &g, all, MOST_CHOICES, &n),
                  XL_UNSUPPORTED, xl_error_detail(t.queue));
    assert_true(n > 0);
    for (unsigned i = 0; i < n; i++) {
        assert_false(all[i].chosen);
        assert_int_not_equal(all[i].why[0], '\0');
    }
}

/* -- scratch --------------------------------------------------------------- */

static const xl_choice *explain(const xl_gemm *g, const char *variant)
{
    static xl_choice c[32];
    unsigned n;
    ok(xl_gemm_explain(t.queue, g, c, 32, &n));
    for (unsigned i = 0; i < n; i++)
        if (variant ? strcmp(c[i].variant, variant) == 0 : c[i].chosen)
            return &c[i];
    fail_msg("no such variant");
    return NULL;
}

/* A quarter of the memory is allowed, one byte more is not, unless the call
 * names the variant. */
static void large_scratch(void **state)
{
    struct xl__limits *l = &t.device->limits;
    const double memory = xl__num(l, XL__F_global_mem_bytes);
    xl_gemm g = make_gemm(XL_ACCURACY_SPLIT);
    (void)state;
    g.m = g.n = g.k = MOST_SIDE;
    g.a = g.b = g.c = xl_mat_rows(NULL, MOST_SIDE, XL_F32);
    const xl_choice before = *explain(&g, NULL);
    const double scratch = (double)before.scratch_bytes;
    assert_true(scratch > 0);
    xl__limits_correct(l, XL__F_global_mem_bytes, 4 * scratch, XL_KNOWN, NULL);
    assert_string_equal(explain(&g, NULL)->variant, before.variant);
    xl__limits_correct(l, XL__F_global_mem_bytes, 4 * scratch - 4, XL_KNOWN,
                       NULL);
    assert_true((double)explain(&g, NULL)->scratch_bytes < scratch);
    size_t bytes; /* likewise of what runs, without the plan of before */
    ok(xl_queue_trim(t.queue));
    ok(xl_gemm_workspace(t.queue, &g, &bytes));
    assert_true((double)bytes < scratch);
    const xl_choice *refused = explain(&g, before.variant);
    assert_false(refused->chosen);
    assert_non_null(strstr(refused->why, "scratch is more than a quarter"));
    g.variant = before.variant;
    assert_true(explain(&g, before.variant)->chosen);
    xl__limits_correct(l, XL__F_global_mem_bytes, memory, XL_KNOWN, NULL);
}

int main(int argc, char **argv)
{
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prepared),
        cmocka_unit_test(workspace),
        cmocka_unit_test(lists),
        cmocka_unit_test(names_and_sizes),
        cmocka_unit_test(group_fails_later),
        cmocka_unit_test(explained),
        cmocka_unit_test(explained_refusals),
        cmocka_unit_test(large_scratch),
    };
    test_args(argc, argv);
    test_device_open(&t, &options);
    for (unsigned i = 0; i < MEMS; i++)
        ok(xl_buffer_create(t.queue, MOST_SIDE * MOST_SIDE * sizeof(float),
                            &mem[i]));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < MEMS; i++)
        clReleaseMemObject(mem[i]);
    test_device_close(&t);
    return failed;
}
