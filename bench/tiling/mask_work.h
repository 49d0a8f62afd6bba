/* SPDX-License-Identifier: Apache-2.0 */
/* The work of the groups of attention whose mask lets queries see different
 * numbers of keys: a causal one, a window. */
#ifndef CLBENCH_TILING_MASK_WORK_H
#define CLBENCH_TILING_MASK_WORK_H

#include "cases/attention/attention_cases.h"
#include "tiling/tiles.h"

/* Those of a case. */
struct attention_sizes attention_sizes_of(const struct attention_case *c);

/* The keys that the `block` rows of each piece of the launch see, over their
 * mean, in the order in which the variant's groups begin; a group of its own
 * for each in *t. To be freed; NULL: out of memory, or which rows a group has
 * is not known, as where groups divide the keys. */
double *mask_work(const struct attention_sizes *a, const char *variant,
                  size_t block, xl_tiling *t);

#endif
