/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes that the self-check of expressions detects. Kernels are read from a
 * copy of cl/ with one mistake; the self-check must report each of them before
 * a result is returned, and pass with an unchanged copy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { ROWS = 7, COLS = 203, PATH = 1200 };

/* A mistake: in a file below cl/, the first `from` is replaced by `to`; `says`
 * is part of the expected error. */
static const struct mistake {
    const char *file, *from, *to, *text, *says;
} mistakes[] = {
    {"expr/math.clh", "1.0f / (1.0f + XL_EXP(N, -x))",
     "1.00001f / (1.0f + XL_EXP(N, -x))", "y = sigmoid(x)", "is"},
    {"common/exp.clh", "0x1.5557aap-3f", "0x1.5567aap-3f", "y = exp(x)", "is"},
    {"expr/expr.clh", "if (k < n)", "if (k <= n)", "y = x + 1", "outside"},
    {"expr/expr.clh", "p[i + min((uint)k, n - 1) * step]", "p[i]", "y = x + 1",
     "is"},
    {"expr/reduce.clh", "#define XL_ABOVE(x, top) ((x) > (top))",
     "#define XL_ABOVE(x, top) ((x) < (top))", "y = argmax(x, axis=1)", "is"},
    {"expr/random.clh", "ROUNDS 10", "ROUNDS 9", "y = rand(3) * x", "is"},
    {"expr/expr.clh", "return x < 0.0f ? (real##S)(0.0f) : x;",
     "return x > 0.0f ? x : (real##S)(0.0f);", "y = relu(x)", "is 0, not"},
};

static char *read_file(const char *path)
{
    enum { MOST = 1 << 20 };
    char *text = calloc(MOST, 1);
    FILE *f = fopen(path, "rb");
    if (!f || !text || fread(text, 1, MOST - 1, f) == 0)
        fail_msg("cannot read %s", path);
    fclose(f);
    return text;
}

/* Copy cl/, with a mistake (NULL: none); returns the folder of the copy, valid
 * until the next call. */
static const char *copy_kernels(const struct mistake *m)
{
    const char *folder = test_scratch("cl");
    char command[2 * PATH], path[PATH];
    snprintf(command, sizeof command, "cp -r '%s/cl' '%s'",
             XL_TEST_SOURCE_DIR, folder);
    if (system(command) != 0)
        fail_msg("%s failed", command);
    if (!m)
        return folder;
    snprintf(path, sizeof path, "%s/cl/%s", folder, m->file);
    char *text = read_file(path), *at = strstr(text, m->from);
    if (!at)
        fail_msg("%s has no \"%s\" any more", m->file, m->from);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fprintf(f, "%.*s%s%s", (int)(at - text), text, m->to,
            at + strlen(m->from));
    fclose(f);
    free(text);
    return folder;
}

/* Where a driver's x / 0 is not an infinity, the expression is refused. */
static void test_divides_by_zero(void **state)
{
    static const xl_options options = {XL_OPTIONS_INIT, .cache_dir = ""};
    static const float x[4] = {1, -2, 3, -4};
    static const size_t shape[1] = {4};
    float y[4] = {77, 77, 77, 77};
    struct test_device t;
    xl_expr *e = NULL;
    xl_binding b[2] = {{.name = "x"}, {.name = "y"}};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = b,
                               .n_bindings = 2};
    (void)state;
    test_device_open(&t, &options);
    for (unsigned i = 0; i < 2; i++) {
        b[i].tensor = xl_tensor_dense(NULL, XL_F32, 1, shape);
        assert_int_equal(
            xl_buffer_create(t.queue, sizeof x, &b[i].tensor.mem.buf), XL_OK);
        assert_int_equal(xl_buffer_write(t.queue, b[i].tensor.mem.buf, 0,
                                         i == 0 ? x : y, sizeof x),
                         XL_OK);
    }
    const xl_status status = xl_expr_compile(t.queue, "y = x / 0", &args, &e);
    if (status == XL_OK)
        assert_int_equal(xl_expr_run(t.queue, e, &args, NULL), XL_OK);
    xl_expr_destroy(e);
    assert_int_equal(
        xl_buffer_read(t.queue, b[1].tensor.mem.buf, 0, y, sizeof y), XL_OK);
    print_message("x / 0: %s\n", xl_status_name(status));
    for (unsigned i = 0; i < 4 && status != XL_UNTRUSTED; i++)
        assert_true(isinf(y[i]) && (y[i] > 0) == (x[i] > 0));
    for (unsigned i = 0; i < 2; i++)
        clReleaseMemObject(b[i].tensor.mem.buf);
    test_device_close(&t);
}

/* Compile with kernels from the copy; *detail: the error, if it failed. */
static xl_status compile_with(const char *folder, const char *text,
                              char *detail, size_t cap)
{
    const size_t shape[2] = {ROWS, COLS};
    char cl[PATH];
    struct test_device t;
    xl_binding b[2];
    xl_expr *e = NULL;
    snprintf(cl, sizeof cl, "%s/cl", folder);
    const xl_options options = {XL_OPTIONS_INIT, .cl_dir = cl,
                                .cache_dir = ""};
    test_device_open(&t, &options);
    memset(b, 0, sizeof b);
    b[0].name = "x";
    b[0].tensor = xl_tensor_dense(NULL, XL_F32, 2, shape);
    b[1] = b[0];
    b[1].name = "y";
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = b,
                               .n_bindings = 2};
    const xl_status status = xl_expr_compile(t.queue, text, &args, &e);
    snprintf(detail, cap, "%s", xl_error_detail(t.queue));
    xl_expr_destroy(e);
    test_device_close(&t);
    return status;
}

static void test_detects_mistakes(void **state)
{
    char detail[1024];
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const struct mistake *m = &mistakes[i];
        assert_status(
            compile_with(copy_kernels(NULL), m->text, detail, sizeof detail),
            XL_OK, detail);
        const xl_status status =
            compile_with(copy_kernels(m), m->text, detail, sizeof detail);
        if (status != XL_UNTRUSTED || !strstr(detail, m->says))
            fail_msg("%s for %s in %s: %s, \"%s\"", m->to, m->from, m->file,
                     xl_status_name(status), detail);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_detects_mistakes),
                                       cmocka_unit_test(test_divides_by_zero)};
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
