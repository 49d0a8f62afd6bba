/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of tests of typed graphs. Bindings are written in short: "x:f32[4,5]
 * n:i32 y:f16[4]" is a tensor x, a scalar n and a tensor y, all of them dense.
 */
#ifndef XL_TESTS_EXPR_BIND_H
#define XL_TESTS_EXPR_BIND_H

#include "expr/language/tree.h"

/* Read bindings; fails the test when they cannot be read. */
void test_bind(const char *spec, struct xl__signature *out);

/* Parse and infer. The caller clears `g` after XL_OK. */
xl_status test_infer(const char *text, const struct xl__signature *s,
                     struct xl__graph *g, struct xl__error *e);

/* A text, its bindings, and the expected graph: "y = x + 1: f32[4]; 3 nodes".
 */
struct test_golden {
    const char *text, *spec, *expected;
};
/* Fails the test when a graph differs from the expected one. */
void test_golden(const struct test_golden *golden, size_t n, bool is_fast);
#define TEST_GOLDEN(table, is_fast)                                           \
    test_golden(table, sizeof(table) / sizeof *(table), is_fast)

#endif
