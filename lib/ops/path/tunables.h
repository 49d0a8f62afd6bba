/* SPDX-License-Identifier: Apache-2.0 */
/* The tunables of a variant as text, "TM=64 TN=64", as files and logs have
 * them. */
#ifndef XL_OPS_PARAMS_H
#define XL_OPS_PARAMS_H

#include "ops/path/op.h"

unsigned xl__params_count(const struct xl__variant *v);
/* All of them; "" when the variant has none. */
void xl__params_text(const struct xl__variant *v, const struct xl__params *p,
                     char *out, size_t cap);
/* Parses a complete set of legal values in any order; false, with the reason,
 * where one is missing, unknown or not legal. Does not set the source. */
bool xl__params_parse(const struct xl__variant *v, const char *text,
                      struct xl__params *out, char *why, size_t why_cap);
bool xl__params_same(const struct xl__variant *v, const struct xl__params *a,
                     const struct xl__params *b);

#endif
