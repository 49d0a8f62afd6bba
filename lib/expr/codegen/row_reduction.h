/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps along rows: what form_rows.c and form_pieces.c share. */
#ifndef XL_EXPR_ROW_REDUCTION_H
#define XL_EXPR_ROW_REDUCTION_H

#include "expr/codegen/reductions.h"

/* Head of the text, with the states that its kernels want. */
void xl__rows_write_head(struct xl__reduction_writer *r, const char *what);
/* "__kernel ... name(parameters and more) {". `more`: NULL, or writes them. */
void xl__rows_open_kernel(struct xl__reduction_writer *r, const char *name,
                     void (*more)(struct xl__reduction_writer *));
/* per_line, left, lines, n_row; `is_there`: "" or "a ? 0 : " before lines. */
void xl__rows_write_counts(struct xl__reduction_writer *r, const char *is_there);
/* Local memory of the joins; and its bytes. */
void xl__rows_write_local(struct xl__reduction_writer *r);
size_t xl__rows_local_bytes(const struct xl__reduction_writer *r);
/* One sweep: rN of each state, of this item. */
void xl__rows_write_sweep(struct xl__reduction_writer *r, unsigned s);
/* rN of all lanes, to all lanes. */
void xl__rows_write_join(struct xl__reduction_writer *r, unsigned s);

#endif
