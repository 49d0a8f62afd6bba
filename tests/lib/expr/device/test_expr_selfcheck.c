/* SPDX-License-Identifier: Apache-2.0 */
/* Does the self-check of expressions notice? Kernels are read from a copy of
 * cl/ with one mistake each; every one must be found on a real driver before
 * a result reaches the caller, and the unharmed copy must pass. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { ROWS = 7, COLS = 203, PATH = 1200 };

/* A mistake: in a file below cl/common, the first `from` becomes `to`. */
static const struct mistake {
    const char *file, *from, *to, *text, *says;
} mistakes[] = {
    {"expr/math.clh", "1.0f / (1.0f + exp(-x))", "1.00001f / (1.0f + exp(-x))",
     "y = sigmoid(x)", "is"},
    {"expr/expr.clh", "if (k < n)", "if (k <= n)", "y = x + 1", "outside"},
    {"expr/expr.clh", "p[i + min((uint)k, n - 1) * step]", "p[i]", "y = x + 1",
     "is"},
    {"expr/reduce.clh", "#define XL_ABOVE(x, top) ((x) > (top))",
     "#define XL_ABOVE(x, top) ((x) < (top))", "y = argmax(x, axis=1)", "is"},
    {"expr/random.clh", "ROUNDS 10", "ROUNDS 9", "y = rand(3) * x", "is"},
};

static char *read_all(const char *path)
{
    enum { MOST = 1 << 20 };
    char *text = calloc(MOST, 1);
    FILE *f = fopen(path, "rb");
    if (!f || !text || fread(text, 1, MOST - 1, f) == 0)
        fail_msg("cannot read %s", path);
    fclose(f);
    return text;
}

/* The copy's folder; lives until the next call. */
static const char *copied(const struct mistake *m)
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
    char *text = read_all(path), *at = strstr(text, m->from);
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

/* Compile with kernels from the copy; *story: what was said, if it failed. */
static xl_status compile(const char *folder, const char *text, char *story,
                         size_t cap)
{
    const size_t shape[2] = {ROWS, COLS};
    char cl[PATH];
    struct test_device t;
    xl_binding b[2];
    xl_expr *e = NULL;
    snprintf(cl, sizeof cl, "%s/cl", folder);
    const xl_options options = {.cl_dir = cl, .cache_dir = ""};
    test_device_open(&t, &options);
    memset(b, 0, sizeof b);
    b[0].name = "x";
    b[0].tensor = xl_tensor_dense(NULL, XL_F32, 2, shape);
    b[1] = b[0];
    b[1].name = "y";
    const xl_expr_args args = {.bindings = b, .n_bindings = 2};
    const xl_status status = xl_expr_compile(t.queue, text, &args, &e);
    snprintf(story, cap, "%s", xl_error_detail(t.queue));
    xl_expr_destroy(e);
    test_device_close(&t);
    return status;
}

static void test_mistakes(void **state)
{
    char story[1024];
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const struct mistake *m = &mistakes[i];
        assert_status(compile(copied(NULL), m->text, story, sizeof story),
                      XL_OK, story);
        const xl_status status =
            compile(copied(m), m->text, story, sizeof story);
        if (status != XL_UNTRUSTED || !strstr(story, m->says))
            fail_msg("%s for %s in %s: %s, \"%s\"", m->to, m->from, m->file,
                     xl_status_name(status), story);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mistakes)};
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
