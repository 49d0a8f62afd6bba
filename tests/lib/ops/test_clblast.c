/* SPDX-License-Identifier: Apache-2.0 */
/* CLBlast is used only where the application or the call asks for it. On the
 * stub driver; whether CLBlast is installed does not matter. */
#include <string.h>

#include "support/support.h"

enum { SIDE = 64, MOST = 32 };

/* Why gemm_clblast is chosen or refused for a product of f32. */
static const char *why_of(const xl_options *options, const char *variant)
{
    static char why[sizeof((xl_choice *)0)->why];
    const size_t bytes = SIDE * SIDE * sizeof(float);
    xl_choice all[MOST];
    struct test_device t;
    cl_mem mem = NULL;
    unsigned n = 0, at = 0;
    test_device_open(&t, options);
    assert_status(xl_buffer_create(t.queue, bytes, &mem), XL_OK,
                  xl_error_detail(t.queue));
    const xl_mat view = xl_mat_rows(mem, SIDE, XL_F32);
    const xl_gemm g = {XL_GEMM_INIT, .m = SIDE,  .n = SIDE,
                       .k = SIDE,    .alpha = 1, .a = view,
                       .b = view,    .c = view,  .variant = variant};
    (void)xl_gemm_explain(t.queue, &g, all, MOST, &n);
    while (at < n && strcmp(all[at].variant, "gemm_clblast") != 0)
        at++;
    assert_true(at < n);
    strcpy(why, all[at].why);
    clReleaseMemObject(mem);
    test_device_close(&t);
    return why;
}

static void asked_for(void **state)
{
    xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                          .cache_dir = ""};
    (void)state;
    assert_non_null(strstr(why_of(&options, NULL), "use_clblast"));
    assert_null(strstr(why_of(&options, "gemm_clblast"), "use_clblast"));
    options.use_clblast = true;
    assert_null(strstr(why_of(&options, NULL), "use_clblast"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(asked_for)};
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
