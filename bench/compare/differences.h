/* SPDX-License-Identifier: Apache-2.0 */
/* Describes how two result sets differ in chip, driver, version and
 * conditions, and what the comparison found. Each function appends text. */
#ifndef CLBENCH_COMPARE_DIFFERENCES_H
#define CLBENCH_COMPARE_DIFFERENCES_H

#include "base/str.h"
#include "compare/compare.h"

/* True if most rows of b are expected to have the times of a. */
bool compare_is_alike(const struct result_set *a, const struct result_set *b);
/* "s1.json and 2 more: NVIDIA H200, NVIDIA CUDA 580.159, clbench 0.1.0,
 * 2026-11-22T07:08:15Z" */
void compare_describe_set(const struct result_set *set, struct xl__str *out);
/* One sentence. */
void compare_describe_relation(const struct comparison *c,
                               struct xl__str *out);
/* The size of the noise and its source, one sentence. */
void compare_describe_noise(const struct comparison *c, struct xl__str *out);
/* Conditions that may explain a difference (load, environment variables): a
 * sentence each, followed by a blank; nothing if there are none. */
void compare_describe_conditions(const struct comparison *c,
                                 struct xl__str *out);
/* The change of all rows, if it is certain: a sentence, and a blank. */
void compare_describe_common(const struct comparison *c, struct xl__str *out);
/* "gemm: b is 1.31x slower (5 of 5 rows).", a line for each op that differs,
 * and for each row of other ops. */
void compare_describe_findings(const struct comparison *c,
                               struct xl__str *out);
/* "9 rows compared: 3 SLOWER, 1 FASTER, ..." */
void compare_describe_calls(const struct comparison *c, struct xl__str *out);

#endif
