/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that make a source smaller, as texts: comments, the branches that
 * a compiler says it takes, the parts that a kernel reaches. */
#include "support/support.h"

#include <string.h>

#include "verify/bug/source.h"

static void is_text(struct xl__str *got, const char *want)
{
    assert_string_equal(xl__str_text(got), want);
    xl__str_clear(got);
}

static void test_strip(void **state)
{
    struct xl__str out = {0};
    (void)state;
    source_strip("/* a\n * b */ int x; // c\n\n  \nchar *s = \"/*\\\"//\";  \n"
                 "#define A /* d */ 1 \\\n    /* e */ \\\n    + 2\n"
                 "char c = '\"'; /* not ended",
                 &out);
    is_text(&out, "  int x;\nchar *s = \"/*\\\"//\";\n#define A   1 \\\n"
                  "    + 2\nchar c = '\"';\n");
    source_strip("", &out);
    is_text(&out, "");
}

#define NESTED                                                                \
    "a\n#ifdef X\nb\n#if Y \\\n  > 1\nc\n#else\nd\n#endif\ne\n"               \
    "# elif Z\nf\n#else\ng\n#endif\nh\n"

static void test_conditionals(void **state)
{
    struct xl__str out = {0};
    (void)state;
    source_mark("#if 1\na\n#else\nb\n#endif\n", &out);
    is_text(&out, "#if 1\n#define bug_taken_0_\na\n#else\n"
                  "#define bug_taken_1_\nb\n#endif\n"
                  "#ifdef bug_taken_0_\nkernel void bug_taken_0(void) {}\n"
                  "#endif\n"
                  "#ifdef bug_taken_1_\nkernel void bug_taken_1(void) {}\n"
                  "#endif\n");
    static const struct {
        const char *names, *text;
    } taken[] = {
        {"k;bug_taken_0;bug_taken_1", "a\nb\nc\ne\nh\n"},
        {"bug_taken_2;bug_taken_0", "a\nb\nd\ne\nh\n"},
        {"bug_taken_3", "a\nf\nh\n"},
        {"bug_taken_4;k", "a\ng\nh\n"},
        {"bug_taken_0", "a\nb\ne\nh\n"},
        {"bug_taken_44;ibug_taken_3", "a\nh\n"},
    };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        source_take(NESTED, taken[i].names, &out);
        is_text(&out, taken[i].text);
    }
}

#define PRAGMA "#pragma OPENCL EXTENSION x : enable\n"
#define CAT "#define CAT(a, b) a##b\n"
#define LOAD "#define LOAD(T) CAT(LOAD_, T)\n"
#define LOAD_0 "#define LOAD_0 1\n"
#define USED                                                                  \
    "static inline int used(int x)\n{\n#pragma unroll\n    return x;\n}\n"
#define TYPE "typedef struct {\n    int of;\n} type;\n"
#define PAIR "struct pair { int a, b; };\n"
#define KERNEL                                                                \
    "__attribute__((reqd_work_group_size(1, 1, 1)))\n"                        \
    "kernel void one(global int *p)\n{\n    struct pair x;\n"                 \
    "    type t = {LOAD(0)};\n    p[0] = used(t.of);\n}\n"
#define CALL "MADE(2)\n"
#define MADE "#define MADE(n) int made_##n(void) { return n; }\n"

static const char whole[] = PRAGMA CAT LOAD LOAD_0
    "#define LOAD_1 2\n"
    "#define UNUSED 3\n" USED
    "int unused(int x) { return UNUSED + used(x); }\n"
    "typedef int other;\n" TYPE PAIR
    "struct lone {\n    other o;\n};\n" MADE CALL KERNEL
    "kernel void two(global int *p)\n{\n    *p = unused(1);\n}\n";

static void test_parts(void **state)
{
    struct source_parts parts = {.n = 0};
    struct xl__str out = {0};
    (void)state;
    assert_true(source_split(whole, &parts));
    /* No part is lost. */
    size_t len = 0;
    for (size_t i = 0; i < parts.n; i++)
        len += parts.at[i].len;
    assert_int_equal(len, strlen(whole));
    assert_int_equal(source_want(&parts, "one"), 1);
    assert_int_equal(source_want(&parts, "one"), 0);
    source_reach(&parts, &out);
    is_text(&out, PRAGMA CAT LOAD USED TYPE PAIR MADE CALL KERNEL);
    /* As a compiler names what is not there. */
    assert_int_equal(source_want(&parts, "3:1: no 'convert_LOAD_0' here"), 1);
    source_reach(&parts, &out);
    is_text(&out, PRAGMA CAT LOAD LOAD_0 USED TYPE PAIR MADE CALL KERNEL);
    /* A call of a macro has no name; without it, its macro goes. */
    for (size_t i = 0; i < parts.n; i++)
        if (strncmp(parts.at[i].text, CALL, sizeof CALL - 1) == 0) {
            assert_null(parts.at[i].name);
            parts.at[i].is_wanted = false;
        }
    source_reach(&parts, &out);
    is_text(&out, PRAGMA CAT LOAD LOAD_0 USED TYPE PAIR KERNEL);
    source_clear(&parts);
    assert_true(source_split("", &parts));
    assert_int_equal(parts.n, 0);
    source_clear(&parts);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strip),
        cmocka_unit_test(test_conditionals),
        cmocka_unit_test(test_parts),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
