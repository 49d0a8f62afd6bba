/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a kernel of reductions: its settings and its element part, whose
 * names cl/expr/reduction_element.clh defines, and the file of cl/expr that
 * includes them. */
#ifndef XL_EXPR_REDUCTION_ELEMENT_H
#define XL_EXPR_REDUCTION_ELEMENT_H

#include "expr/codegen/reductions.h"

/* Write the text of a launch, unless r->m.out has it. XL_NO_MEMORY. */
xl_status xl__reduction_write_kernel(struct xl__reduction_writer *r,
                                     const struct xl__reduction_launch *how);

#endif
