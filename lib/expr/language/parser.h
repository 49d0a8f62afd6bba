/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of the expression language. */
#ifndef XL_EXPR_PARSER_H
#define XL_EXPR_PARSER_H

#include "expr/language/tree.h"

/* Parse `len` bytes of text, which need not end in 0, into a tree. The caller
 * clears *out with xl__tree_clear(); after an error it is empty. Errors:
 * XL_BAD_ARGUMENT, with line:column, the line and a caret in the message;
 * XL_NO_MEMORY. */
xl_status xl__parse(const char *text, size_t len, struct xl__tree *out,
                    struct xl__error *e);

#endif
