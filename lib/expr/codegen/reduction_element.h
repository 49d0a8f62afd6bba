/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a kernel of reductions: its settings and its element part, whose
 * names cl/expr/reduction_element.clh defines, and the file of cl/expr that
 * includes them. */
#ifndef XL_EXPR_REDUCTION_ELEMENT_H
#define XL_EXPR_REDUCTION_ELEMENT_H

#include "expr/codegen/reductions.h"

/* Write the text that includes cl/expr/<form>.cl; the kernel is expr_<form>,
 * or expr_<form>_join, which joins its chunks. XL_NO_MEMORY. */
xl_status xl__reduction_write_kernel(struct xl__reduction_writer *r,
                                     const char *form, bool is_join);

#endif
