/* SPDX-License-Identifier: Apache-2.0 */
/* Several files, or files that have other libraries in them, as one table of
 * ratios: a line a case, a column a library or a file. */
#ifndef CLBENCH_COMPARE_TABLE_H
#define CLBENCH_COMPARE_TABLE_H

#include "compare.h"

/* Times over those of the first file's own rows: above 1, the first file's
 * are the faster. Where a file measured both in turns, that ratio stands.
 * `fail_slower`: as compare's gate, NaN: none; *n_gated: how many are beyond.
 * False: out of memory. */
bool compare_table(const struct result_file *files, size_t n_files,
                   double fail_slower, size_t *n_gated);

#endif
