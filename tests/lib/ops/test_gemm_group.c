/* SPDX-License-Identifier: Apache-2.0 */
/* Which products of a group share a launch: those that differ in nothing but
 * their offsets. Runs on the stub driver, as an H200: there accuracy decides
 * the kernel. */
#include <string.h>

#include "support/support.h"

enum { SIDE = 512, COUNT = 2, MOST = 8 };

static struct test_device t;
static cl_mem mem[3];
static char launched[MOST][32];
static unsigned n_launched;

static double note_launch(void *arg, const struct xl_launch *launch)
{
    (void)arg;
    if (n_launched < MOST)
        strncpy(launched[n_launched++], launch->kernel,
                sizeof launched[0] - 1);
    return 0;
}

static void run_pair(const xl_gemm *g, unsigned n)
{
    memset(launched, 0, sizeof launched);
    n_launched = 0;
    assert_status(xl_gemm_run_group(t.queue, g, n, NULL), XL_OK,
                  xl_error_detail(t.queue));
}

static xl_gemm product(unsigned i)
{
    xl_gemm g = {XL_GEMM_INIT, .m = SIDE, .n = SIDE, .k = SIDE, .alpha = 1};
    g.a = xl_mat_rows(mem[0], SIDE, XL_F32);
    g.b = xl_mat_rows(mem[1], SIDE, XL_F32);
    g.c = xl_mat_rows(mem[2], SIDE, XL_F32);
    g.c.offset = (size_t)SIDE * SIDE * i;
    return g;
}

/* Each product alone runs the kernels that it runs in the group. */
static void accuracy(void **state)
{
    (void)state;
    xl_gemm g[COUNT] = {product(0), product(1)};
    char alone[COUNT][32];
    g[0].accuracy = XL_ACCURACY_FAST;
    for (unsigned i = 0; i < COUNT; i++) {
        run_pair(&g[i], 1);
        assert_int_equal(n_launched, 1);
        memcpy(alone[i], launched[0], sizeof alone[i]);
    }
    assert_string_not_equal(alone[0], alone[1]);
    run_pair(g, COUNT);
    assert_int_equal(n_launched, COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        assert_true(strcmp(alone[i], launched[0]) == 0 ||
                    strcmp(alone[i], launched[1]) == 0);
}

static void other_alpha(xl_gemm *g)
{
    g->alpha = 2;
}
static void other_beta(xl_gemm *g)
{
    g->beta = 1;
}
static void other_variant(xl_gemm *g)
{
    g->variant = "gemm_ref";
}
static void other_memory(xl_gemm *g)
{
    g->a.mem.buf = mem[1];
}
static void other_layout(xl_gemm *g)
{
    g->a = xl_mat_transposed(g->a);
}
static void other_text(xl_gemm *g)
{
    g->epilogue.expr = "relu(y)";
}
static void no_alpha(xl_gemm *g)
{
    g->alpha = 0;
}

/* clang-format off */
static const struct {
    const char *what;
    void (*change)(xl_gemm *g);
} changes[] = {
    {"alpha", other_alpha},   {"beta", other_beta},
    {"variant", other_variant}, {"memory", other_memory},
    {"layout", other_layout}, {"epilogue", other_text},
    {"no product", no_alpha},
};
/* clang-format on */

static void differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        xl_gemm g[COUNT] = {product(0), product(1)};
        changes[i].change(&g[1]);
        run_pair(g, COUNT);
        if (n_launched < COUNT)
            fail_msg("%s: one launch", changes[i].what);
    }
}

/* Equal epilogues at different addresses, and offsets that are listed. */
static void equals(void **state)
{
    (void)state;
    const xl_binding s[] = {
        {.name = "s", .is_scalar = true, .tensor = {.dtype = XL_F32}},
        {.name = "s", .is_scalar = true, .tensor = {.dtype = XL_F32}}};
    static const char texts[][8] = {"y + s", "y + s"};
    cl_ulong at = (cl_ulong)SIDE * SIDE, zero = 0;
    xl_gemm g[COUNT] = {product(0), product(0)};
    for (unsigned i = 0; i < COUNT; i++)
        g[i].epilogue = (xl_epilogue){texts[i], &s[i], 1};
    g[1].batch =
        (xl_batch){.count = 1, .a_at = &zero, .b_at = &zero, .c_at = &at};
    run_pair(g, COUNT);
    assert_int_equal(n_launched, 1);
}

static unsigned long long no_time(void)
{
    return 0;
}
static void no_sleep(unsigned long long ns)
{
    (void)ns;
}

int main(int argc, char **argv)
{
    static const struct xl_clock clock = {no_time, no_sleep};
    static const struct xl_model model = {.takes = note_launch,
                                          .clock = &clock};
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accuracy),
        cmocka_unit_test(differences),
        cmocka_unit_test(equals),
    };
    test_args(argc, argv);
    test_device_open(&t, &options);
    for (unsigned i = 0; i < 3; i++)
        assert_status(xl_buffer_create(t.queue,
                                       COUNT * SIDE * SIDE * sizeof(float),
                                       &mem[i]),
                      XL_OK, xl_error_detail(t.queue));
    test_stub()->model(&model);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    test_stub()->model(NULL);
    for (unsigned i = 0; i < 3; i++)
        clReleaseMemObject(mem[i]);
    test_device_close(&t);
    return failed;
}
