/* SPDX-License-Identifier: Apache-2.0 */
/* The text of kernels that sweep along rows, for whole rows (row_reduction.c)
 * and for chunks of rows (chunked_reduction.c); column_reduction.c uses the
 * kernel's frame. A row has `lines`: its runs of contiguous elements, one for
 * each combination of the outer reduced loops. */
#ifndef XL_EXPR_ROW_REDUCTION_H
#define XL_EXPR_ROW_REDUCTION_H

#include "expr/codegen/reductions.h"

/* Write the head of the text: comment, includes, and the definitions of the
 * states that the kernel uses. `what` begins the comment. */
void xl__rows_write_head(struct xl__reduction_writer *r, const char *what);
/* Open "__kernel ... name(parameters) {". `more` writes parameters that follow
 * the usual ones; NULL: there are none. */
void xl__rows_open_kernel(struct xl__reduction_writer *r, const char *name,
                          void (*more)(struct xl__reduction_writer *));
/* Write the constants of a row: per_line (whole vectors of a line), left
 * (elements behind them), lines (0 where the condition `is_there`, "" or
 * "a ? 0 : ", says that the item has no row), n_row (elements, as a float). */
void xl__rows_write_counts(struct xl__reduction_writer *r,
                           const char *is_there);
/* Declare the local memory in which lanes join their states; its bytes. */
void xl__rows_write_local(struct xl__reduction_writer *r);
size_t xl__rows_local_bytes(const struct xl__reduction_writer *r);
/* Write sweep s over the item's share of the row: sets rN of each state. */
void xl__rows_write_sweep(struct xl__reduction_writer *r, unsigned s);
/* Write the join of sweep s: rN becomes the state of the whole row in every
 * lane. All items of the work-group execute it. */
void xl__rows_write_join(struct xl__reduction_writer *r, unsigned s);

#endif
