/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes on the command line: "1000x1023x517", "1024" for a cube, "4096x1000"
 * for rows by columns. */
#ifndef CLBENCH_SHAPES_H
#define CLBENCH_SHAPES_H

#include <stdbool.h>
#include <stddef.h>

/* Read "MxNxK" or "N" (a cube). False: *why, of `cap` bytes, is the message.
 */
bool shape_gemm(const char *text, size_t mnk[3], char *why, size_t cap);
/* Read "ROWSxCOLS" or "N" (a square). */
bool shape_rows(const char *text, size_t rows_cols[2], char *why, size_t cap);

/* Read `n` sizes separated by x, or one for all. `form`: for the message,
 * "BATCHxSEQUENCExHIDDEN". */
bool shape_sizes(const char *text, const char *form, size_t *dim, unsigned n,
                 char *why, size_t cap);

#endif
