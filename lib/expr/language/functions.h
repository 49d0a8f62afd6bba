/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the language: functions, operators, constants and types. */
#ifndef XL_EXPR_WORDS_H
#define XL_EXPR_WORDS_H

#include "expr/language/tree.h"

struct xl__function {
    const char *name;
    enum xl__op_class cls;
    enum xl__expr_op op; /* when row is none */
    enum xl__row_function row;
    unsigned n_args;
};

/* The function or operator of this name that takes n_args; another one of the
 * same name when none does; NULL when there is no such name. */
const struct xl__function *xl__function_find(const char *name, size_t len,
                                             unsigned n_args);
/* Does it take axis=? */
bool xl__function_has_axes(const struct xl__function *f);

/* pi, inf, nan, true, false: a node without a location; false: none of them.
 */
bool xl__constant_find(const char *name, size_t len,
                       struct xl__tree_node *out);

/* f32, f16, ...; false: no type that is computed with. */
bool xl__type_find(const char *name, size_t len, xl_dtype *out);

/* transpose or permute. */
bool xl__is_view_function(const char *name, size_t len);

/* Has it a meaning of its own, so that nothing else can be called so? */
bool xl__is_reserved(const char *name, size_t len);

/* Letters to change, insert or leave out to get from a word to the `len` of a
 * name, XL_EXPR_MAX_NAME at most. */
unsigned xl__edit_distance(const char *word, const char *name, size_t len);

/* The function whose name is nearest to a misspelt one; NULL when none is
 * near. Static. */
const char *xl__nearest_function(const char *name, size_t len);

#endif
