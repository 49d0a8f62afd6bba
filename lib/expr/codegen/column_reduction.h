/* SPDX-License-Identifier: Apache-2.0 */
/* Columns: what form_columns.c and form_columns_text.c share. */
#ifndef XL_EXPR_FORM_COLUMNS_H
#define XL_EXPR_FORM_COLUMNS_H

#include "expr/codegen/reduce_rows.h"

/* The text of the kernel over columns (or chunks of them), and of the one that
 * joins chunks. */
void xl__columns_text(struct xl__reducing *r);
void xl__columns_join_text(struct xl__reducing *r);

#endif
