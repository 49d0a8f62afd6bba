/* SPDX-License-Identifier: Apache-2.0 */
/* The architecture of a file of ggml as the fields of config.json, so that one
 * function reads both. */
#ifndef CLBENCH_PLANNER_GGUF_CONFIG_H
#define CLBENCH_PLANNER_GGUF_CONFIG_H

#include <jansson.h>

#include "planner/gguf/container.h"

/* NULL: *why has the key that is missing or not supported. The caller releases
 * it. */
json_t *gguf_config(const struct gguf *g, struct xl__str *why);
/* Are the two numbers of a pair of the rotary embedding beside each other in
 * the rows of queries and keys? Else they are in the halves of a head. */
bool gguf_has_adjacent_pairs(const struct gguf *g);

#endif
