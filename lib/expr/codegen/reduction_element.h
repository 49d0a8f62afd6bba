/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a kernel of reductions: its settings and its element part, whose
 * names cl/expr/reduction_element.clh defines, and the file of cl/expr that
 * includes them. */
#ifndef XL_EXPR_REDUCTION_ELEMENT_H
#define XL_EXPR_REDUCTION_ELEMENT_H

#include "expr/codegen/reductions.h"

/* Write the text. `form` is the name of the file: rows, chunks or columns; the
 * kernel is expr_<form>, or if is_join, which joins its chunks,
 * expr_<form>_join. XL_NO_MEMORY. */
xl_status xl__reduction_write_kernel(struct xl__reduction_writer *r,
                                     const char *form, bool is_join);

#endif
