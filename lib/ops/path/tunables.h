/* SPDX-License-Identifier: Apache-2.0 */
/* A variant's tunables as text, "TM=64 TN=64": what files, logs and people
 * call a set. */
#ifndef XL_OPS_PARAMS_H
#define XL_OPS_PARAMS_H

#include "ops/path/op.h"

unsigned xl__params_count(const struct xl__variant *v);
/* All of them; "" when the variant has none. */
void xl__params_text(const struct xl__variant *v, const struct xl__params *p,
                     char *out, size_t cap);
/* A whole set of legal values, in any order, and nothing else: false with a
 * phrase otherwise. Leaves the source as it is. */
bool xl__params_parse(const struct xl__variant *v, const char *text,
                      struct xl__params *out, char *why, size_t why_cap);
bool xl__params_same(const struct xl__variant *v, const struct xl__params *a,
                     const struct xl__params *b);

#endif
