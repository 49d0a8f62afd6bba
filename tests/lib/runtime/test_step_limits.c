/* SPDX-License-Identifier: Apache-2.0 */
/* What does not fit into a plan is an error and never left out: arguments,
 * words, options, the sources of a tuned set; a kernel may include any number
 * of files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/epilogue.h"
#include "runtime/launch.h"
#include "runtime/store/sources.h"
#include "support/support.h"

static void fill_arguments(struct xl__step *s, bool beyond)
{
    for (unsigned i = 0; i < XL__MAX_ARGS + (beyond ? 1U : 0U); i++)
        xl__arg_u32(s, i);
}

static void fill_words(struct xl__step *s, bool beyond)
{
    const unsigned n = XL__MAX_WORDS + (beyond ? 1U : 0U);
    xl__arg_words(s, n);
    for (unsigned i = 0; i < n; i++)
        xl__arg_u64(s, i);
}

/* " -Daaaa...=1", of which the last byte is the 0. */
static void fill_options(struct xl__step *s, bool beyond)
{
    char name[sizeof s->options];
    const size_t n = sizeof name - sizeof " -D=1" + (beyond ? 1 : 0);
    memset(name, 'a', n);
    name[n] = '\0';
    xl__define(s, name, 1);
}

/* " -DA_", the choice and "=1" take all but the last byte, or that one too. */
static void fill_choice(struct xl__step *s, bool beyond)
{
    char choice[sizeof s->options];
    const size_t n = sizeof s->options - strlen(" -DA_=1") - 1 + beyond;
    memset(choice, 'b', n);
    choice[n] = '\0';
    xl__define_choice(s, "A", choice);
}

/* clang-format off */
static const struct {
    void (*fill)(struct xl__step *s, bool beyond);
    const char *part; /* of the message */
} limits[] = {
    {fill_arguments, "arguments"},
    {fill_words,     "words"},
    {fill_options,   "options"},
    {fill_choice,    "options"},
};
/* clang-format on */

static void steps_that_exceed(void **state)
{
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    struct test_device t;
    struct xl__error error = {0};
    (void)state;
    test_device_open(&t, &options);
    for (unsigned i = 0; i < 2 * sizeof limits / sizeof *limits; i++) {
        const bool beyond = i % 2;
        const struct xl__call call = {.list_bytes = 0};
        struct xl__plan *plan = calloc(1, sizeof *plan);
        struct xl__step *s = &plan->step[0];
        plan->n_steps = 1;
        *s = (struct xl__step){.source = "common/fill.cl",
                               .kernel = "fill",
                               .dims = 1,
                               .global = {1},
                               .local = {1},
                               .slice_dim = -1};
        limits[i / 2].fill(s, beyond);
        test_stub()->reset();
        xl__error_reset(&t.queue->error);
        if (!beyond) {
            assert_status(xl__plan_check(plan, &error), XL_OK,
                          xl__str_text(&error.detail));
        } else {
            assert_status(xl__plan_launch(t.queue, plan, &call, NULL),
                          XL_UNSUPPORTED, xl_error_detail(t.queue));
            assert_int_equal(test_stub()->calls("clBuildProgram"), 0);
            assert_int_equal(test_stub()->calls("clEnqueueNDRangeKernel"), 0);
            if (!strstr(xl_error_detail(t.queue), limits[i / 2].part))
                fail_msg("\"%s\" does not say \"%s\"",
                         xl_error_detail(t.queue), limits[i / 2].part);
        }
        free(plan);
    }
    test_device_close(&t);
    assert_int_equal(test_stub()->live(), 0);
}

/* The sources of a plan fit into the room, or the call fails. */
static void sources_of_a_plan(void **state)
{
    struct xl__tuned_sets sets = {.cl_dir = NULL};
    struct xl__error e = {0};
    char text[256];
    (void)state;
    struct xl__plan *plan = calloc(1, sizeof *plan);
    plan->n_steps = 1;
    plan->step[0].source = "common/fill.cl";
    assert_status(xl__plan_sources(&sets, plan, text, sizeof text, &e), XL_OK,
                  xl__str_text(&e.detail));
    const size_t n = strlen(text);
    assert_status(xl__plan_sources(&sets, plan, text, n + 1, &e), XL_OK,
                  xl__str_text(&e.detail));
    assert_int_equal(strlen(text), n);
    assert_status(xl__plan_sources(&sets, plan, text, n, &e), XL_OVERFLOW,
                  xl__str_text(&e.detail));
    xl__error_clear(&e);
    free(plan);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    test_kernel_path(folder, name, path, sizeof path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void many_includes(void **state)
{
    enum { FILES = 100 };
    char folder[512], name[64], line[64];
    struct xl__str all = {0}, out = {0};
    struct xl__error e = {0};
    (void)state;
    snprintf(folder, sizeof folder, "%s", test_scratch("includes"));
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "part/%u.clh", i);
        snprintf(line, sizeof line, "int part_%u;\n", i);
        write_file(folder, name, line);
        xl__str_printf(&all, "#include \"%s\"\n#include \"%s\"\n", name, name);
    }
    write_file(folder, "whole.cl", xl__str_text(&all));
    const struct xl__kernel_source from = {.cl_dir = folder,
                                           .name = "whole.cl"};
    assert_status(xl__kernel_source_load(&from, &out, &e), XL_OK,
                  xl__str_text(&e.detail));
    xl__str_reset(&all);
    for (unsigned i = 0; i < FILES; i++)
        xl__str_printf(&all, "int part_%u;\n", i);
    assert_string_equal(xl__str_text(&out), xl__str_text(&all));
    xl__str_clear(&all);
    xl__str_clear(&out);
    xl__error_clear(&e);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_that_exceed),
        cmocka_unit_test(sources_of_a_plan),
        cmocka_unit_test(many_includes),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
